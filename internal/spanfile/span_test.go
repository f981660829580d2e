package spanfile_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/spanfile"
)

func texts() *rapid.Generator[string] {
	return rapid.StringOf(rapid.SampledFrom([]rune("ab ñ🪁é\n*𝄞中")))
}

// Offsets survive the way to each unit and back, and each unit counts what it
// says.
func TestUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := texts().Draw(t, "text")
		r := spanfile.NewRuler(text)
		runes := []rune(text)
		if r.Len() != len(runes) {
			t.Fatalf("%d code points, want %d", r.Len(), len(runes))
		}
		for i := 0; i <= len(runes); i++ {
			before := string(runes[:i])
			for u, want := range map[spanfile.Unit]int{spanfile.CodePoints: i, spanfile.Bytes: len(before), spanfile.UTF16: len(utf16.Encode(runes[:i]))} {
				if got := r.In(i, u); got != want {
					t.Fatalf("%d in %s is %d, want %d", i, u, got, want)
				}
				if got := r.Point(want, u); got != i {
					t.Fatalf("%s %d is %d, want %d", u, want, got, i)
				}
			}
		}
		for _, u := range []spanfile.Unit{spanfile.CodePoints, spanfile.Bytes, spanfile.UTF16} {
			if r.Point(-1, u) != -1 || r.Point(r.In(r.Len(), u)+1, u) != -1 {
				t.Fatalf("%s: offsets outside the text have a place", u)
			}
		}
	})
}

// A span is placed where its text is: there, at the nearest occurrence, or
// nowhere.
func TestPlace(t *testing.T) {
	const text = "a kite 🪁 and a kite"
	for _, test := range []struct {
		in         spanfile.Span
		start, end int
		note       string
	}{
		{spanfile.Span{Text: "kite", Start: 2, End: 6}, 2, 6, ""},
		{spanfile.Span{Text: "kite", Start: 3, End: 7}, 2, 6, spanfile.Realigned},
		{spanfile.Span{Text: "kite", Start: 14, End: 18}, 15, 19, spanfile.Realigned},
		{spanfile.Span{Text: "kite", Start: -1, End: 900}, 2, 6, spanfile.Realigned},
		{spanfile.Span{Text: "a", Start: 1, End: 2}, 0, 1, spanfile.Realigned},
		{spanfile.Span{Text: "bird", Start: 2, End: 6}, -1, -1, spanfile.Unaligned},
		{spanfile.Span{Start: 7, End: 8}, 7, 8, ""},
		{spanfile.Span{Start: 7, End: 7}, -1, -1, spanfile.Unaligned},
	} {
		s := test.in
		note := spanfile.NewRuler(text).Place(&s)
		if s.Start != test.start || s.End != test.end || note != test.note {
			t.Errorf("%+v → %+v, %q", test.in, s, note)
		}
	}
}

// The nearest occurrence is the nearest of all, by trying all.
func TestPlaceNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("aab🪁"))).Draw(t, "text")
		want := rapid.StringOfN(rapid.SampledFrom([]rune("ab🪁")), 1, 3, -1).Draw(t, "span")
		s := spanfile.Span{Text: want, Start: rapid.IntRange(-3, 20).Draw(t, "start")}
		s.End = s.Start + utf8.RuneCountInString(want)
		at, runes, best := s.Start, []rune(text), -1
		for i := range runes {
			if strings.HasPrefix(string(runes[i:]), want) && (best < 0 || max(i-at, at-i) < max(best-at, at-best)) {
				best = i
			}
		}
		note := spanfile.NewRuler(text).Place(&s)
		if s.Start != best || (note == spanfile.Unaligned) != (best < 0) || (note == "") != (best >= 0 && best == at) {
			t.Fatalf("%+v, %q, want start %d", s, note, best)
		}
	})
}

// Spans without offsets with the same text get its occurrences in turn.
func TestFind(t *testing.T) {
	r := spanfile.NewRuler("é pan, pan é")
	var spans []spanfile.Span
	for _, want := range []int{2, 7, -1} {
		s := spanfile.Span{Text: "pan", Start: -1, End: -1}
		note := r.Find(&s, spans)
		if s.Start != want || (note == spanfile.Unaligned) != (want < 0) {
			t.Errorf("%+v %q, want %d", s, note, want)
		}
		spans = append(spans, s)
	}
	for _, want := range []int{7, 2, -1} { // in another role: the words can be both
		s := spanfile.Span{Text: "pan", Role: "food", Start: -1, End: -1}
		note := r.Find(&s, spans)
		if s.Start != want || (note == spanfile.Unaligned) != (want < 0) {
			t.Errorf("%+v %q, want %d", s, note, want)
		}
		spans = append(spans, s)
	}
}

// Find places each span as a search through all earlier ones does.
func TestFindSimple(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("aab🪁")), 1, 12, -1).Draw(t, "text")
		r := spanfile.NewRuler(text)
		var earlier []spanfile.Span
		for range rapid.IntRange(1, 40).Draw(t, "spans") {
			s := spanfile.Span{Text: rapid.StringOfN(rapid.SampledFrom([]rune("ab🪁")), 0, 2, -1).Draw(t, "span"),
				Role: rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "role"), Start: -1, End: -1}
			if rapid.IntRange(0, 3).Draw(t, "how") == 0 {
				s.Start = rapid.IntRange(-1, 12).Draw(t, "start")
				s.End = s.Start + 1
				r.Place(&s)
			} else {
				want := s
				note := find(r, &want, earlier)
				if got := r.Find(&s, earlier); s != want || got != note {
					t.Fatalf("%+v, %q, want %+v, %q", s, got, want, note)
				}
			}
			if rapid.IntRange(0, 5).Draw(t, "kept") > 0 {
				earlier = append(earlier, s)
			}
		}
	})
}

// find is Ruler.Find without its memory.
func find(r *spanfile.Ruler, s *spanfile.Span, earlier []spanfile.Span) string {
	from := 0
	for _, e := range earlier {
		if e.Text == s.Text && e.Placed() {
			from = max(from, r.Byte(e.Start)+1)
		}
	}
	if i := strings.Index(r.Text[from:], s.Text); i >= 0 && s.Text != "" {
		s.Start = r.Point(from+i, spanfile.Bytes)
		s.End = s.Start + utf8.RuneCountInString(s.Text)
		return ""
	}
	for _, e := range slices.Backward(earlier) {
		if e.Text == s.Text && e.Placed() && !slices.ContainsFunc(earlier, func(o spanfile.Span) bool { return o.Start == e.Start && o.End == e.End && o.Role == s.Role }) {
			s.Start, s.End = e.Start, e.End
			return ""
		}
	}
	return spanfile.Unaligned
}

// A looping model repeats one text. The time per span must not grow with their number.
func BenchmarkFind(b *testing.B) {
	for _, n := range []int{1000, 16000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			text := strings.Repeat("Anna ran. ", n)
			for b.Loop() {
				r, spans := spanfile.NewRuler(text), []spanfile.Span(nil)
				for i := range 4 * n { // every place in two roles, then as many again
					s := spanfile.Span{Text: "Anna", Role: strconv.Itoa(i / n % 2)}
					r.Find(&s, spans)
					spans = append(spans, s)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*4*n), "ns/span")
		})
	}
}

// Lower case keeps offsets, whatever the text.
func TestLower(t *testing.T) {
	if got := spanfile.Lower("Straße \u0130 ÀÉ 273 \u212a \u023a"); got != "straße \u0130 àé 273 \u212a \u023a" {
		t.Errorf("got %q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		if lower := spanfile.Lower(s); len(lower) != len(s) || spanfile.Lower(lower) != lower {
			t.Fatalf("%q → %q", s, lower)
		}
	})
}
