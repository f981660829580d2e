package report

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
)

func TestSplit(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		marks      []eval.Mark
		want       []segment
	}{
		{"no marks", "abc", nil, []segment{{Text: "abc"}}},
		{"no text", "", []eval.Mark{{Start: 0, End: 4, Kind: "gold"}}, nil},
		{"overlap is cut at its borders", "abcdef", []eval.Mark{
			{Start: 0, End: 4, Kind: "answer", Label: "x"}, {Start: 2, End: 6, Kind: "gold", Label: "y"},
		}, []segment{
			{Text: "ab", Answer: true},
			{Text: "cd", Answer: true, Gold: true, Labels: []string{"x"}},
			{Text: "ef", Gold: true, Labels: []string{"y"}},
		}},
		{"one inside the other", "abcdef", []eval.Mark{
			{Start: 0, End: 6, Kind: "answer"}, {Start: 2, End: 3, Kind: "gold"},
		}, []segment{
			{Text: "ab", Answer: true}, {Text: "c", Answer: true, Gold: true}, {Text: "def", Answer: true},
		}},
		{"both", "abc", []eval.Mark{{Start: 1, End: 2, Kind: "both"}},
			[]segment{{Text: "a"}, {Text: "b", Answer: true, Gold: true}, {Text: "c"}}},
		{"outside the text", "abc", []eval.Mark{{Start: -3, End: 1, Kind: "gold"}, {Start: 9, End: 12, Kind: "gold"}},
			[]segment{{Text: "a", Gold: true}, {Text: "bc"}}},
		{"half a character is widened", "aéb", []eval.Mark{{Start: 2, End: 3, Kind: "answer"}},
			[]segment{{Text: "a"}, {Text: "é", Answer: true}, {Text: "b"}}},
		{"empty and reversed", "abc", []eval.Mark{{Start: 1, End: 1, Kind: "gold"}, {Start: 2, End: 1, Kind: "gold"}},
			[]segment{{Text: "abc"}}},
		{"two of one label", "abc", []eval.Mark{{Start: 0, End: 3, Kind: "gold", Label: "x"}, {Start: 1, End: 3, Kind: "answer", Label: "x"}},
			[]segment{{Text: "a", Gold: true}, {Text: "bc", Answer: true, Gold: true, Labels: []string{"x"}}}},
	} {
		got := split(tc.text, tc.marks)
		for i := range got {
			got[i].Units = "" // see TestTrialPart
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func drawText(t *rapid.T, most int) string {
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "word ", "\n", "é", "שלום", "🙂", "\x00", "<b>", "\xff", "\r\n", strings.Repeat("long text ", 40),
	}), 0, most).Draw(t, "text")
	return strings.Join(parts, "")
}

func drawMarks(t *rapid.T, length int) []eval.Mark {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) eval.Mark {
		start := rapid.IntRange(-3, length+3).Draw(t, "start")
		return eval.Mark{
			Start: start,
			End:   start + rapid.IntRange(-2, 60).Draw(t, "length"),
			Kind:  rapid.SampledFrom([]string{"answer", "gold", "both", "?"}).Draw(t, "kind"),
			Label: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "label"),
		}
	}), 0, 8).Draw(t, "marks")
}

func joined(segments []segment) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString(s.Text)
	}
	return b.String()
}

// For any marks: the segments together are the page, none is empty, each is wholly
// inside or outside a mark, and none splits a character.
func TestSegmentsAreThePage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawText(t, 12)
		marks := drawMarks(t, len(text))
		checkSegments(t, text, marks)
	})
}

type fataler interface{ Fatalf(string, ...any) }

func checkSegments(t fataler, text string, marks []eval.Mark) {
	for i := range marks {
		marks[i].Label = strconv.Itoa(i)
	}
	segments := split(text, marks)
	if joined(segments) != text {
		t.Fatalf("segments of %q join to %q", text, joined(segments))
	}
	at := 0
	for _, s := range segments {
		if s.Text == "" {
			t.Fatalf("an empty segment at %d of %q", at, text)
		}
		if utf8.ValidString(text) && !utf8.ValidString(s.Text) {
			t.Fatalf("segment %q cuts a character of %q", s.Text, text)
		}
		units := ""
		for _, m := range within(text, marks) {
			covers, touches := m.Start <= at && at+len(s.Text) <= m.End, m.Start < at+len(s.Text) && at < m.End
			if covers != touches {
				t.Fatalf("mark %+v covers segment %q at %d only in part", m, s.Text, at)
			}
			if covers && (m.Kind != "gold" && !s.Answer || m.Kind != "answer" && !s.Gold) {
				t.Fatalf("segment %q does not show mark %+v", s.Text, m)
			}
			if covers {
				units += m.Label + "\n"
			}
		}
		if s.Units != units {
			t.Fatalf("segment %q has the units %q, want %q", s.Text, s.Units, units)
		}
		at += len(s.Text)
	}
}

// BenchmarkSplit: the time per mark must hardly grow with the number of marks.
func BenchmarkSplit(b *testing.B) {
	for _, n := range []int{1000, 16_000} {
		var marks []eval.Mark
		for i := range n {
			marks = append(marks, eval.Mark{Start: 10 * i, End: 10*i + 5, Kind: "gold"}, eval.Mark{Start: 10*i + 1, End: 10*i + 6, Kind: "answer"})
		}
		text := strings.Repeat("Anna ran. ", n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				split(text, marks)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*2*n), "ns/mark")
		})
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("aéb", 0, 2, 1, 3)
	f.Add("\x00\xffשלום", -1, 99, 3, 4)
	f.Fuzz(func(t *testing.T, text string, start1, end1, start2, end2 int) {
		checkSegments(t, text, []eval.Mark{
			{Start: start1, End: end1, Kind: "answer", Label: text}, {Start: start2, End: end2, Kind: "gold"},
		})
	})
}

// An excerpt shows every mark in order and counts every skipped character; two gaps
// always have text between them.
func TestExcerptLosesNothingUnsaid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawText(t, 30)
		segments := split(text, drawMarks(t, len(text)))
		pieces := excerpt(segments)
		total, rest := 0, text
		var marked, shown []segment
		for i, p := range pieces {
			if p.Skipped > 0 && (len(p.Segments) > 0 || i > 0 && pieces[i-1].Skipped > 0) {
				t.Fatalf("piece %d is a gap beside a gap, or a gap with text", i)
			}
			part := joined(p.Segments)
			total += p.Skipped + utf8.RuneCountInString(part)
			at := strings.Index(rest, part)
			if at < 0 {
				t.Fatalf("piece %q is not in the page after what came before", part)
			}
			rest = rest[at+len(part):]
			shown = append(shown, p.Segments...)
		}
		if total != utf8.RuneCountInString(text) {
			t.Fatalf("%d characters shown or counted, the page has %d", total, utf8.RuneCountInString(text))
		}
		isMarked := func(s segment) bool { return !s.Marked() }
		marked = slices.DeleteFunc(slices.Clone(segments), isMarked)
		if got := slices.DeleteFunc(slices.Clone(shown), isMarked); len(pieces) > 0 && joined(got) != joined(marked) {
			t.Fatalf("marked text shown %q, want %q", joined(got), joined(marked))
		}
	})
}

func TestExcerpt(t *testing.T) {
	short := split(strings.Repeat("word ", 100), nil)
	if got := excerpt(short); len(got) != 1 || got[0].Skipped != 0 {
		t.Errorf("a page of 500 characters is cut: %v", got)
	}
	text := strings.Repeat("word ", 1000) + "HERE" + strings.Repeat(" word", 1000)
	pieces := excerpt(split(text, []eval.Mark{{Start: 5000, End: 5004, Kind: "gold"}}))
	if len(pieces) != 3 || pieces[0].Skipped == 0 || pieces[2].Skipped == 0 {
		t.Fatalf("want a gap, the mark with its surroundings, a gap: %v", pieces)
	}
	if got := utf8.RuneCountInString(joined(pieces[1].Segments)); got < around || got > 2*around+4 {
		t.Errorf("%d characters shown round a mark of 4", got)
	}
	if got := pieces[0].Gap(); got != "… 4,760 characters not shown …" {
		t.Errorf("gap: %q", got)
	}
	unmarked := excerpt(split(text, nil))
	if len(unmarked) != 2 || unmarked[1].Skipped == 0 {
		t.Errorf("a long page without marks: want its beginning and a gap, got %d pieces", len(unmarked))
	}
}

// A metric that only describes has no direction.
func TestNoDirection(t *testing.T) {
	t.Parallel()
	r := load(t, "study")
	m := &r.Analysis.Metrics[0]
	m.NoDirection = true
	out := render(t, r, Markdown)
	if !strings.Contains(out, "Direction: neither higher nor lower is better") || strings.Contains(out, m.Title+" ↑") || strings.Contains(out, m.Title+" ↓") {
		t.Error("the report gives a metric without direction one")
	}
}
