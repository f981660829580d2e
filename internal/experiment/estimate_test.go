package experiment_test

import (
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/experiment"
)

// TestNeededOfDifference: a rule about a difference in a pooled rate asks for a difference,
// as one in a mean does. It was said to be impossible with any number of items.
func TestNeededOfDifference(t *testing.T) {
	for _, metrics := range [][]string{nil, {"f1"}} {
		plan := experiment.RulePlan{Opportunities: metrics, Scores: true, Differ: true}
		if got := plan.Needed(10); !strings.HasPrefix(got, "asks for a difference") {
			t.Errorf("opportunities %v: %s", metrics, got)
		}
	}
}
