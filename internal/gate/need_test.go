package gate_test

import (
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/gate"
)

// TestNeedOfOneRule: of two rules that are open for the same cause, each gets its own
// number of items in the reasons of the verdict.
func TestNeedOfOneRule(t *testing.T) {
	v := gate.Verdict{
		Conditions: []gate.Condition{{Name: "not worse", Reason: "too few data"}, {Name: "better", Reason: "too few data"}},
		Reasons:    []string{`"not worse" cannot be decided: too few data`, `"better" cannot be decided: too few data`},
	}
	v.Need(0, 73, 5000)
	v.Need(1, 0, 5000)
	for i, want := range []string{"about 73 items", "would not hold with up to 5000 items"} {
		if r := v.Reasons[i]; !strings.Contains(r, want) || !strings.HasSuffix(r, v.Conditions[i].Reason) || strings.Count(r, "if ") != 1 {
			t.Errorf("%s: want %s", r, want)
		}
	}
}
