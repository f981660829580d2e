package analyse_test

import (
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
)

func TestCheckBlind(t *testing.T) {
	of := func(diffs ...analyse.Number) analyse.BlindResult {
		r := analyse.BlindResult{By: "Example Ltd.", Kit: strings.Repeat("b", 64), Data: strings.Repeat("a", 64)}
		for _, d := range diffs {
			r.Comparisons = append(r.Comparisons, analyse.BlindComparison{A: "ctn", B: "idiomatic", Metric: "composite", Diff: d})
		}
		return r
	}
	nameless, short, noMetric, noKit := of(0.1), of(0.1), of(0.1), of(0.1)
	noKit.Kit = ""
	nameless.By, short.Data, noMetric.Comparisons[0].Metric = " ", "abc", ""
	for _, c := range []struct {
		name, format string
		result       analyse.BlindResult
		want         string
	}{
		{"a difference", analyse.BlindFormat, of(0.1), ""},
		{"an undefined one among others, as kits write it", analyse.BlindFormat, of(0.1, analyse.Undefined()), ""},
		{"none but undefined ones", analyse.BlindFormat, of(analyse.Undefined()), "no comparison has a difference"},
		{"no comparison", analyse.BlindFormat, of(), "no comparisons"},
		{"another format", "scruple-blind/9", of(0.1), "scruple-blind/9"},
		{"nobody", analyse.BlindFormat, nameless, "by is missing"},
		{"a short hash", analyse.BlindFormat, short, `data_sha256 is "abc"`},
		{"no kit", analyse.BlindFormat, noKit, `kit_sha256 is ""`},
		{"no metric", analyse.BlindFormat, noMetric, "comparisons[0]"},
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
