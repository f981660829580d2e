package analyse_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
)

func TestCheckBlind(t *testing.T) {
	of := func(diffs ...analyse.Number) analyse.BlindResult {
		r := analyse.BlindResult{By: "Example Ltd.", Kit: strings.Repeat("b", 64), Data: strings.Repeat("a", 64), BeganAt: "2026-11-20T10:04:05.6Z"}
		for i, d := range diffs {
			r.Comparisons = append(r.Comparisons, analyse.BlindComparison{A: "ctn", B: "idiomatic", Metric: fmt.Sprint("metric", i), Diff: d, Low: d - 0.1, High: d + 0.1, Level: 0.95, P: 0.02, Pairs: 5, Least: d, Most: d})
		}
		return r
	}
	with := func(change func(c *analyse.BlindComparison)) analyse.BlindResult {
		r := of(0.1, 0.2)
		change(&r.Comparisons[1])
		return r
	}
	u := analyse.Undefined()
	nameless, short, noMetric, noKit := of(0.1), of(0.1), of(0.1), of(0.1)
	noKit.Kit = ""
	timeless, former := of(0.1), of(0.1)
	timeless.BeganAt, former.BeganAt, former.Comparisons[0].Level = "", "", 0
	nameless.By, short.Data, noMetric.Comparisons[0].Metric = " ", "abc", ""
	for _, c := range []struct {
		name, format string
		result       analyse.BlindResult
		want         string
	}{
		{"a difference", analyse.BlindFormat, of(0.1), ""},
		{"an undefined one among others, as kits write it", analyse.BlindFormat, of(0.1, analyse.Undefined()), ""},
		{"none but undefined ones, which leave rules undecided", analyse.BlindFormat, of(analyse.Undefined()), ""},
		{"no comparison", analyse.BlindFormat, of(), "no comparisons"},
		{"another format", "scruple-blind/2", of(0.1), `want "scruple-blind/4": a kit of this version`},
		{"the format before, without a beginning and levels", "scruple-blind/3", former, ""},
		{"no beginning", analyse.BlindFormat, timeless, "began_at is missing"},
		{"no level", analyse.BlindFormat, with(func(c *analyse.BlindComparison) { c.Level = 0 }), "comparisons[1]: level is 0"},
		{"a level in percent", analyse.BlindFormat, with(func(c *analyse.BlindComparison) { c.Level = 95 }), "level is 95"},
		{"nobody", analyse.BlindFormat, nameless, "by is missing"},
		{"a short hash", analyse.BlindFormat, short, `data_sha256 is "abc"`},
		{"no kit", analyse.BlindFormat, noKit, `kit_sha256 is ""`},
		{"no metric", analyse.BlindFormat, noMetric, "comparisons[0]"},
		{"no interval and no p", analyse.BlindFormat, with(func(c *analyse.BlindComparison) { c.Low, c.High, c.P = u, u, u }), ""},
		{"no variation", analyse.BlindFormat, with(func(c *analyse.BlindComparison) { c.Low, c.High, c.P = c.Diff, c.Diff, 0 }), ""},
		{"a difference outside its interval", analyse.BlindFormat, with(func(c *analyse.BlindComparison) { c.Diff, c.Low, c.High = 7, 8, 9 }), "comparisons[1]: diff 7 is not between low 8 and high 9"},
		{"ends in the wrong order", analyse.BlindFormat, with(func(c *analyse.BlindComparison) { c.Low, c.High = 0.3, 0.1 }), "is not between"},
		{"a p-value above 1", analyse.BlindFormat, with(func(c *analyse.BlindComparison) { c.P = 4 }), "p is 4: want 0 to 1"},
		{"one below 0", analyse.BlindFormat, with(func(c *analyse.BlindComparison) { c.P = -1 }), "p is -1"},
		{"more pairs than documents", analyse.BlindFormat, with(func(c *analyse.BlindComparison) { c.Pairs = 10 }), "10 pairs of 9 documents"},
		{"fewer than none", analyse.BlindFormat, with(func(c *analyse.BlindComparison) { c.Pairs = -1 }), "-1 pairs of 9 documents"},
		{"fewer missing scores than none", analyse.BlindFormat, with(func(c *analyse.BlindComparison) { c.Unscored = -5 }), "unscored is -5"},
		{"missing scores, which leave the pairs", analyse.BlindFormat, with(func(c *analyse.BlindComparison) { c.Unscored, c.Least, c.Most = 1, 0, 0.19 }), ""},
		{"missing scores at their worst above those at their best", analyse.BlindFormat, with(func(c *analyse.BlindComparison) { c.Unscored, c.Least, c.Most = 1, 0.9, 0.5 }), "least 0.9 and most 0.5"},
		{"another difference without missing scores", analyse.BlindFormat, with(func(c *analyse.BlindComparison) { c.Least, c.Most = 0.1, 0.3 }), "least 0.1 and most 0.3 of diff 0.2 with 0 missing scores"},
		{"one end of an interval", analyse.BlindFormat, with(func(c *analyse.BlindComparison) { c.Low = u }), "is not between"},
		{"four pairs", analyse.BlindFormat, with(func(c *analyse.BlindComparison) { c.Pairs = 4 }), "a difference of 4 pairs"},
		{"four pairs, without numbers", analyse.BlindFormat, with(func(c *analyse.BlindComparison) { *c = c.WithoutNumbers(); c.Pairs = 4 }), ""},
		{"a comparison twice, the other way round", analyse.BlindFormat, with(func(c *analyse.BlindComparison) { c.A, c.B, c.Metric = c.B, c.A, "metric0" }), "compared by metric0 twice"},
	} {
		c.result.Documents = 9
		err := (&analyse.BlindFile{Format: c.format, BlindResult: c.result}).Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	older := &analyse.BlindFile{Format: analyse.BlindFormat, BlindResult: of(0.1)}
	if err := older.Check(); err == nil || !strings.Contains(err.Error(), "documents is missing") {
		t.Errorf("without a number of documents: %v", err)
	}
}
