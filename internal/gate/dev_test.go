package gate_test

import (
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/study"
)

// A run on DEV decides nothing. One without a split that has items of DEV decides by
// values; it has no tests.
func TestItemsOfDev(t *testing.T) {
	for _, c := range []struct {
		that  string
		split string
		want  gate.State
		why   string
	}{
		{"value('ctn','composite') > 0.7", "", gate.Pass, ""},
		{"diff('ctn','plain','composite') > 0", "", gate.Pass, ""},
		{"p('ctn','plain','composite') < 0.05", "", gate.Undecided, "p(ctn, plain, composite) is undefined: " + analyse.Descriptive},
		{"diff_low('ctn','plain','composite') > 0", "", gate.Undecided, "diff_low(ctn, plain, composite) is undefined: " + analyse.Descriptive},
		{"value('ctn','composite') > 0.7", study.SplitDev, gate.Undecided, ""},
	} {
		a := analysis(0.1, 0.01, 0.8)
		a.Run.Split, a.Run.Dev = c.split, 3
		k := &a.Comparisons[0]
		k.Reading = analyse.Untested(k.Diff, analyse.Descriptive)
		v := compile(t, rule(c.that)).Decide(a)
		if v.State != c.want {
			t.Errorf("split %q, %s: %s, want %s (%v)", c.split, c.that, v.State, c.want, v.Reasons)
		}
		if c.why != "" && v.Conditions[0].Reason != c.why {
			t.Errorf("%s: undecided because %q, want %q", c.that, v.Conditions[0].Reason, c.why)
		}
	}
}
