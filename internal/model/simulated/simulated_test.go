package simulated

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

func ask(item string, replicate int, s Sheet) *eval.Request {
	return &eval.Request{Model: "sim", Provider: "simulated", Item: item, Replicate: replicate, Payload: Encode(s)}
}

func answer(t testing.TB, c *Client, r *eval.Request) string {
	t.Helper()
	response, err := c.Complete(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return response.Text
}

// letters is a sheet in which every part shows what became of it as a letter.
func letters(parts int, kinds ...string) Sheet {
	p := Part{Right: "r", Alternatives: map[string]string{}}
	for _, k := range kinds {
		p.Alternatives[k] = map[string]string{Miss: "m", Wrong: "w", Invent: "i", Fabricate: "f"}[k]
	}
	s := Sheet{Parts: make([]Part, parts)}
	for i := range s.Parts {
		s.Parts[i] = p
	}
	return s
}

func TestComplete(t *testing.T) {
	s := Sheet{Prefix: "[", Separator: ", ", Suffix: "]", Malformed: "sorry", Parts: []Part{
		{Right: `"a"`, Alternatives: map[string]string{Miss: "null"}},
		{Right: `"<b>"`, Alternatives: map[string]string{Wrong: `"c"`, Fabricate: `"q"`}},
		{Right: "null", Alternatives: map[string]string{Invent: `"d"`}},
	}}
	tests := []struct {
		skill Skill
		want  string
	}{
		{Skill{}, `["a", "<b>", null]`},
		{Skill{Miss: 1}, `[null, "<b>", null]`},
		{Skill{Wrong: 1}, `["a", "c", null]`},
		{Skill{Invent: 1}, `["a", "<b>", "d"]`},
		{Skill{Fabricate: 1}, `["a", "q", null]`},
		{Skill{Miss: 1, Wrong: 1, Invent: 1, Fabricate: 1}, `[null, "c", "d"]`}, // wrong is tried before fabricate
		{Skill{Miss: 1, Malformed: 1}, "sorry"},
	}
	r := ask("doc", 1, s)
	r.System, r.Messages = "12345", []eval.Message{{Role: "user", Content: "678"}, {Role: "user", Content: "9"}}
	for _, tt := range tests {
		got, err := New(tt.skill, 42).Complete(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		want := eval.Response{Text: tt.want, Stop: eval.StopEnd, StopReason: "end", ModelVersion: "simulated-1", RequestID: "simulated-" + r.Key(),
			Usage: eval.Usage{Input: 3, Output: (len(tt.want) + 3) / 4}} // 9 bytes are 3 tokens
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v: %s", tt.skill, diff)
		}
	}
}

func TestCompleteCutsOffWithoutAMalformedAnswer(t *testing.T) {
	s := Sheet{Prefix: "é", Suffix: "}", Parts: []Part{{Right: "äöü"}}}
	whole := "éäöü}"
	for i := range 100 {
		got := answer(t, New(Skill{Malformed: 1}, 42), ask("doc", i+1, s))
		if !strings.HasPrefix(whole, got) || got == whole || !utf8.ValidString(got) {
			t.Errorf("%q is not the beginning of %q", got, whole)
		}
	}
	if got := answer(t, New(Skill{Malformed: 1}, 42), ask("doc", 1, Sheet{})); got != "" {
		t.Errorf("an empty sheet gives %q", got)
	}
	for _, u := range []float64{0, 0.5, 1 - 0x1p-53} { // the last times 3 is rounded up to 3
		if got := cut("abc", u); len(got) > 2 {
			t.Errorf("cut(%v) = %q", u, got)
		}
	}
}

func TestCompleteNeedsASheet(t *testing.T) {
	for name, payload := range map[string]string{"no payload": "", "prose": "hello", "a pipeline's payload": `{"document_id":"doc"}`, "null": "null", "a list": "[]"} {
		_, err := New(Skill{}, 42).Complete(t.Context(), &eval.Request{Model: "sim", Item: "doc", Payload: json.RawMessage(payload)})
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != eval.ErrBadRequest || !strings.Contains(e.Message, `model "sim" is simulated`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEncodeRefusesUnknownKinds(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, `simulated: part 1 has an alternative of unknown kind "mis"`) {
			t.Errorf("panic %q", got)
		}
	}()
	Encode(Sheet{Parts: []Part{{}, {Alternatives: map[string]string{"mis": "x"}}}})
}

// TestStream pins the draws, since runs that are continued rely on them. The
// numbers come from another program, written in Python with hashlib and struct:
//
//	base = sha256(seed as >q, then version, model and key, each after its length as >Q)
//	u = (first >Q of sha256(base, index as >Q, purpose) >> 11) / 2**53
func TestStream(t *testing.T) {
	tests := []struct {
		seed                int64
		model, key, purpose string
		index               int
		want                float64
	}{
		{42, "sim", "0123456789abcdef", "part", 0, 0.3478658842646163},
		{42, "sim", "0123456789abcdef", "part", 1, 0.9782650148100976},
		{42, "sim", "0123456789abcdef", "malformed", 0, 0.9409111206725337},
		{-1, "", "", "part", 0, 0.3842061492180435},
		{42, "sim0", "123456789abcdef", "part", 0, 0.9654799766979207}, // borders count
	}
	for _, tt := range tests {
		if got := newStream(tt.seed, tt.model, tt.key).at(tt.purpose, tt.index); got != tt.want {
			t.Errorf("seed %d, %q, %q, %s %d: %v, want %v", tt.seed, tt.model, tt.key, tt.purpose, tt.index, got, tt.want)
		}
	}
}

// binomialBounds gives the narrowest lo and hi with P(X < lo) and P(X > hi)
// each at most tail, for X binomial, by adding up exact probabilities.
func binomialBounds(n int, p, tail float64) (lo, hi int) {
	if p == 0 || p == 1 {
		return int(p) * n, int(p) * n
	}
	logGamma := func(x int) float64 { v, _ := math.Lgamma(float64(x)); return v }
	pmf := func(k int) float64 {
		return math.Exp(logGamma(n+1) - logGamma(k+1) - logGamma(n-k+1) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	}
	sum := 0.0
	for lo = 0; sum+pmf(lo) <= tail; lo++ {
		sum += pmf(lo)
	}
	sum = 0
	for hi = n; sum+pmf(hi) <= tail; hi-- {
		sum += pmf(hi)
	}
	return lo, hi
}

// TestBinomialBounds: for 10 tosses P(X ≤ 1) = 11/1024 and P(X ≤ 2) = 56/1024.
func TestBinomialBounds(t *testing.T) {
	if lo, hi := binomialBounds(10, 0.5, 0.025); lo != 2 || hi != 8 {
		t.Errorf("10 tosses lie within %d to %d, want 2 to 8", lo, hi)
	}
	if lo, hi := binomialBounds(10, 0.5, 0.06); lo != 3 || hi != 7 {
		t.Errorf("10 tosses lie within %d to %d, want 3 to 7", lo, hi)
	}
}

// within fails when a count out of n is not what rate p leads to: the seed is
// fixed, so this is decided once and for all, not now and then.
func within(t *testing.T, what string, count, n int, p float64) {
	t.Helper()
	if lo, hi := binomialBounds(n, p, 0.005); count < lo || count > hi {
		t.Errorf("%s: %d of %d, want %d to %d for a rate of %v", what, count, n, lo, hi, p)
	}
}

const draws = 20_000

// TestRatesAreKept: each error happens at its stated rate wherever it is
// possible, whichever others are possible too, and never elsewhere.
func TestRatesAreKept(t *testing.T) {
	skill := Skill{Miss: 0.07, Wrong: 0.12, Invent: 0.3, Fabricate: 0.01}
	c := New(skill, 42)
	for _, kinds := range [][]string{{Miss, Wrong, Invent, Fabricate}, {Miss, Wrong, Fabricate}, {Wrong}, {Fabricate}, {Invent}, {Miss, Invent}, {}} {
		text := answer(t, c, ask("doc", 1, letters(draws, kinds...)))
		left := 1.0
		for _, r := range rates(skill) {
			p := 0.0
			if strings.Contains(strings.Join(kinds, " "), r.kind) {
				p = r.p
			}
			left -= p
			within(t, fmt.Sprintf("%s of %v", r.kind, kinds), strings.Count(text, r.kind[:1]), draws, p)
		}
		within(t, fmt.Sprintf("right of %v", kinds), strings.Count(text, "r"), draws, max(left, 0))
	}
}

// TestRatesAreKeptOverRequests: the same holds for one part of many requests,
// for the share of malformed answers, and for what both share.
func TestRatesAreKeptOverRequests(t *testing.T) {
	c := New(Skill{Miss: 0.2, Malformed: 0.05}, 7)
	s := letters(2, Miss)
	s.Malformed = "?"
	first, second, both, malformed := 0, 0, 0, 0
	for i := range draws {
		switch answer(t, c, ask(fmt.Sprintf("doc-%d", i), 1, s)) {
		case "mr":
			first++
		case "rm":
			second++
		case "mm":
			first, second, both = first+1, second+1, both+1
		case "?":
			malformed++
		}
	}
	within(t, "malformed", malformed, draws, 0.05)
	readable := draws - malformed
	within(t, "first part missed", first, readable, 0.2)
	within(t, "second part missed", second, readable, 0.2)
	within(t, "both parts missed", both, readable, 0.04) // independent of each other
}

// TestRepeatsAreIndependent: replicates, seeds and models that are alike in
// all else agree about a part as often as chance has it: 2·0.5·0.5 = 0.5.
func TestRepeatsAreIndependent(t *testing.T) {
	skill := Skill{Miss: 0.5}
	s := letters(draws, Miss)
	base := answer(t, New(skill, 42), ask("doc", 1, s))
	renamed := ask("doc", 1, s)
	renamed.Model = "sim2"
	for what, other := range map[string]string{
		"another replicate": answer(t, New(skill, 42), ask("doc", 2, s)),
		"another item":      answer(t, New(skill, 42), ask("doc2", 1, s)),
		"another seed":      answer(t, New(skill, 43), ask("doc", 1, s)),
		"another model":     answer(t, New(skill, 42), renamed),
		"the part before":   base[draws-1:] + base[:draws-1],
	} {
		same := 0
		for i := range draws {
			if base[i] == other[i] {
				same++
			}
		}
		within(t, what, same, draws, 0.5)
	}
}

// TestEqualRequestsGetEqualAnswers: whatever the skill and the sheet, an answer
// depends on seed and request alone, not on what was asked before or is asked
// at the same time; and every part is its right text or one of its
// alternatives.
func TestEqualRequestsGetEqualAnswers(t *testing.T) {
	rate := rapid.Float64Range(0, 1)
	text := rapid.StringMatching(`[a-z<"]{0,4}`)
	rapid.Check(t, func(t *rapid.T) {
		skill := Skill{Miss: rate.Draw(t, "miss"), Wrong: rate.Draw(t, "wrong"), Invent: rate.Draw(t, "invent"), Fabricate: rate.Draw(t, "fabricate"), Malformed: rate.Draw(t, "malformed")}
		seed := rapid.Int64().Draw(t, "seed")
		sheet := Sheet{Prefix: "(", Separator: "|", Suffix: ")", Malformed: "?", Parts: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Part {
			return Part{text.Draw(t, "right"), rapid.MapOf(rapid.SampledFrom([]string{Miss, Wrong, Invent, Fabricate}), text).Draw(t, "alternatives")}
		}), 1, 5).Draw(t, "parts")}
		const requests = 5
		ask := func(i int) *eval.Request { return ask("doc", i+1, sheet) }
		var first [requests]string
		for i := range requests {
			r, err := New(skill, seed).Complete(t.Context(), ask(i))
			if err != nil {
				t.Fatal(err)
			}
			first[i] = r.Text
			if r.Text == "?" {
				continue
			}
			got := strings.Split(strings.Trim(r.Text, "()"), "|")
			for j, p := range sheet.Parts {
				possible := got[j] == p.Right
				for _, alternative := range p.Alternatives {
					possible = possible || got[j] == alternative
				}
				if !possible {
					t.Fatalf("part %d of %q is none of %+v", j, r.Text, p)
				}
			}
		}
		c := New(skill, seed)
		var wg sync.WaitGroup
		for i := range requests {
			wg.Go(func() {
				if r, err := c.Complete(t.Context(), ask(requests-1-i)); err != nil || r.Text != first[requests-1-i] {
					t.Errorf("got %q, %v, want %q again", r.Text, err, first[requests-1-i])
				}
			})
		}
		wg.Wait()
	})
}

func TestSkillCheck(t *testing.T) {
	tests := []struct {
		skill Skill
		says  string
	}{
		{Skill{}, ""},
		{Skill{Miss: 0.7, Wrong: 0.2, Fabricate: 0.1, Invent: 1, Malformed: 1}, ""}, // adds up to 1 within rounding
		{Skill{Miss: 1.1}, "miss is 1.1: want a probability"},
		{Skill{Wrong: -0.1}, "wrong is -0.1"},
		{Skill{Invent: math.NaN()}, "invent is NaN"},
		{Skill{Fabricate: math.Inf(1)}, "fabricate is +Inf"},
		{Skill{Malformed: 2}, "malformed is 2"},
		{Skill{Miss: 0.6, Wrong: 0.6}, "sum to 1.2"},
	}
	for _, tt := range tests {
		err := Check(tt.skill)
		if got := fmt.Sprint(err); tt.says == "" && err != nil || tt.says != "" && !strings.Contains(got, tt.says) {
			t.Errorf("%+v: %v, want %q", tt.skill, err, tt.says)
		}
	}
}

// FuzzDecode: a payload is part of a request and may be anything.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(Encode(letters(2, Miss, Fabricate))), 0.5)
	f.Add([]byte(`{"parts":[{"alternatives":{"other":"x"}}]}`), 1.0)
	f.Add([]byte(`{"prefix":"\ud800"}`), 0.0)
	f.Fuzz(func(t *testing.T, payload []byte, rate float64) {
		c := New(Skill{Miss: rate, Wrong: rate, Invent: rate, Fabricate: rate, Malformed: rate}, 42)
		r := &eval.Request{Model: "sim", Item: "doc", Payload: payload}
		first, err := c.Complete(t.Context(), r)
		if err != nil {
			return
		}
		if !utf8.ValidString(first.Text) {
			t.Errorf("answer %q is not UTF-8", first.Text)
		}
		if again, err := c.Complete(t.Context(), r); err != nil || again.Text != first.Text {
			t.Errorf("got %q, %v, then %q", again.Text, err, first.Text)
		}
	})
}
