package stats

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFormula(t *testing.T) {
	for _, c := range []struct {
		text string
		want Formula
	}{
		{"score ~ 1", Formula{Response: "score"}},
		{"score ~ kernel", Formula{Response: "score", Fixed: []string{"kernel"}}},
		{"score ~ kernel + difficulty + (1|document) + (1|doc_type)",
			Formula{"score", []string{"kernel", "difficulty"}, []string{"document", "doc_type"}}},
		{"y~1+x+( 1 | g )", Formula{"y", []string{"x"}, []string{"g"}}},
		{"y ~ (1|a:b)", Formula{Response: "y", Random: []string{"a:b"}}},
		{"y ~ (1|a/b/c)", Formula{Response: "y", Random: []string{"a", "a:b", "a:b:c"}}},
		{"`a score` ~ `doc type` + (1|`the document`)", Formula{"a score", []string{"doc type"}, []string{"the document"}}},
	} {
		got, err := ParseFormula(c.text)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", c.text, err, diff)
		}
	}
}

func TestParseFormulaRefuses(t *testing.T) {
	for text, reason := range map[string]string{
		"":                          "a column's name",
		"score":                     `"~" after the response`,
		"score ~":                   "a column's name",
		"score ~ kernel +":          "ends where",
		"score ~ kernel * doc":      "interactions",
		"score ~ kernel:doc":        "interactions",
		"score ~ log(x)":            "transformations",
		"score ~ 0 + kernel":        "without an intercept",
		"score ~ kernel - 1":        `"- 1" where "+"`,
		"score ~ (kernel|document)": "not random slopes",
		"score ~ (1+kernel|doc)":    "not random slopes",
		"score ~ (1||doc)":          "grouping factor",
		"score ~ (1|doc":            `ends where ")"`,
		"score ~ (1|doc)(1|x)":      `"(1|x)" where "+"`,
		"score ~ kernel + kernel":   "duplicate",
		"score ~ (1|doc) + (1|doc)": "duplicate",
		"score ~ score":             "on both sides",
		"`x ~ 1":                    "must be closed",
	} {
		if _, err := ParseFormula(text); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: got %v, want %q", text, err, reason)
		}
	}
}

// FuzzParseFormula: whatever a user writes is read or refused, and what is
// read is written so that it reads back the same.
func FuzzParseFormula(f *testing.F) {
	for _, s := range []string{"score ~ kernel + (1|document)", "`a b` ~ (1|a/b:c)", "y~-", "y ~ (1|", "ü ~ é", "y ~ x(", "y ~ 1 + 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseFormula(text)
		if err != nil {
			return
		}
		b, err := ParseFormula(a.String())
		if diff := cmp.Diff(a, b); err != nil || diff != "" {
			t.Fatalf("%q reads as %q, and that: %v\n%s", text, a.String(), err, diff)
		}
	})
}

func TestFrame(t *testing.T) {
	f := NewFrame(4)
	check(t, f.AddFactor("size", []string{"10", "9", "b", "9"}, nil))
	check(t, f.AddFactor("arm", []string{"x", "y", "x", "y"}, []string{"y", "unused", "x"}))
	size, err := f.Factor("size")
	check(t, err)
	if diff := cmp.Diff(Factor{[]string{"9", "10", "b"}, []int32{1, 0, 2, 0}}, size); diff != "" {
		t.Error("levels are not sorted, numbers by value:", diff)
	}
	arm, err := f.Factor("arm")
	check(t, err)
	if diff := cmp.Diff(Factor{[]string{"y", "x"}, []int32{1, 0, 1, 0}}, arm); diff != "" {
		t.Error("given levels do not keep their order, empty ones dropped:", diff)
	}
	both, err := f.Factor("arm:size")
	check(t, err)
	if diff := cmp.Diff(Factor{[]string{"y:9", "x:10", "x:b"}, []int32{1, 0, 2, 0}}, both); diff != "" {
		t.Error("combinations:", diff)
	}
	for what, err := range map[string]error{
		"unknown level": f.AddFactor("a", []string{"x", "y", "x", "z"}, []string{"x", "y"}),
		"level twice":   f.AddFactor("b", []string{"x", "x", "x", "x"}, []string{"x", "x"}),
		"other length":  f.AddNumbers("c", []float64{1}),
		"name taken":    f.AddNumbers("arm", []float64{1, 2, 3, 4}),
	} {
		if err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
}

// TestDesignDropsAliased: later columns that earlier ones make up are dropped,
// exact in binary or not.
func TestDesignDropsAliased(t *testing.T) {
	f := NewFrame(6)
	check(t, f.AddNumbers("x", []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.7}))
	check(t, f.AddNumbers("third", []float64{0.1 / 3, 0.2 / 3, 0.1, 0.4 / 3, 0.5 / 3, 0.7 / 3}))
	check(t, f.AddNumbers("constant", []float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1}))
	check(t, f.AddFactor("a", []string{"p", "q", "r", "p", "q", "r"}, nil))
	check(t, f.AddFactor("b", []string{"1", "2", "2", "1", "2", "2"}, nil))
	d, err := newDesignMatrix(f, []string{"x", "third", "constant", "a", "b"})
	check(t, err)
	if diff := cmp.Diff([]string{"third", "constant", "b2"}, d.Dropped); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"(Intercept)", "x", "aq", "ar"}, d.Names); diff != "" {
		t.Error(diff)
	}
}
