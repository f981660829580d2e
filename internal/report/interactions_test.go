package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
)

// TestInteractions: what the report says of a difference that depends on a factor, of one
// for which there is no evidence, of one without a test, and on DEV.
func TestInteractions(t *testing.T) {
	u := analyse.Undefined()
	pair := analyse.DiffOfDiff{First: "m1", Second: "m2", Reading: analyse.Reading{Diff: 0.05, Low: -0.01, High: 0.11, P: 0.2, PAdjusted: 0.2, EquivLow: 0, EquivHigh: 0.1}, Items: 40}
	base := analyse.Interaction{A: "ctn", B: "plain", Metric: "composite", Factor: "model", Level: 0.95, P: 0.2, Method: "the method",
		Levels: []analyse.LevelDiff{{Name: "m1", Diff: 0.10, Items: 40}, {Name: "m2", Diff: 0.05, Items: 40}}, Pairs: []analyse.DiffOfDiff{pair}}
	for name, test := range map[string]struct {
		change func(*analyse.Interaction, *Report)
		want   []string
	}{
		"no evidence": {func(*analyse.Interaction, *Report) {}, []string{"depend on model?", "No evidence that it does, p = 0.200 (the method)", "differ by less than 0.100.", "m1\u00a0+0.100", "m1 − m2"}},
		"evidence":    {func(r *analyse.Interaction, _ *Report) { r.P = 0.01 }, []string{"Yes: the differences differ between levels, p = 0.010"}},
		"no test": {func(r *analyse.Interaction, _ *Report) {
			r.P, r.Pairs, r.Warnings = u, nil, []string{"no test: too few"}
		}, []string{"Not tested: no test: too few."}},
		"dev": {func(r *analyse.Interaction, report *Report) {
			r.P, r.Pairs, report.Analysis.Run.Split = u, nil, "dev"
		}, []string{"DEV is for exploring: no test is made.", "m1\u00a0+0.100"}},
		"many": {func(r *analyse.Interaction, _ *Report) {
			for i := range 20 {
				next := pair
				next.Second = fmt.Sprint("x", i)
				r.Pairs = append(r.Pairs, next)
			}
		}, []string{"The 12 pairs of levels with the smallest p of 21"}},
	} {
		r := load(t, "study")
		i := base
		i.Metric = r.Analysis.Metrics[0].Name
		test.change(&i, &r)
		r.Analysis.Interactions = []analyse.Interaction{i}
		out := strings.Join(strings.Fields(strings.NewReplacer("\\", "").Replace(render(t, r, Markdown))), " ")
		for _, want := range test.want {
			if !strings.Contains(out, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%s: %q is not in the report: %.1500s", name, want, out[max(0, strings.Index(out, "depend on")-100):])
			}
		}
	}
}
