package evalout

import (
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Calls of trials without an outcome are skipped, not those after them, and an answer that was
// taken from another call is of the time of the run.
func TestOTelSkipsCallsOfTrialsWithoutAnOutcome(t *testing.T) {
	trial := func(item string) eval.Trial { return eval.Trial{Item: item, Arm: "x", Replicate: 1} }
	r := Run{ID: "r", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Place: func(t eval.Trial) int { return int(t.Item[0]) }}
	trials := func(yield func(eval.ScoredTrial, error) bool) {
		for _, item := range []string{"b", "c"} { // c asks nothing
			if t := (eval.ScoredTrial{}); func() bool { t.Trial = trial(item); return !yield(t, nil) }() {
				return
			}
		}
	}
	calls := func(yield func(eval.Call, error) bool) {
		for _, item := range []string{"a", "b", "d"} {
			c := eval.Call{Trial: trial(item), Model: "m"}
			if item == "b" { // whose line has been read in no time, and at no cost
				c.Provider = "outputs"
			}
			if !yield(c, nil) {
				return
			}
		}
	}
	var sent strings.Builder
	spans, skipped, err := OTel(func(b []byte) error { sent.Write(b); return nil }, r, trials, calls, false)
	if err != nil || spans != 3 || skipped != 2 {
		t.Errorf("%d spans, %d calls skipped, %v; want 3 and 2", spans, skipped, err)
	}
	if s := sent.String(); strings.Contains(s, "gen_ai.usage") || strings.Contains(s, "cost") {
		t.Errorf("usage of an answer from a file: %s", s)
	}
	if strings.Contains(sent.String(), `"startTimeUnixNano":"0"`) {
		t.Errorf("a span of 1970: %s", sent.String())
	}
}
