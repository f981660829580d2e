package run

import (
	"math"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
)

type told struct{ left time.Duration }

func (*told) Event(Event)           {}
func (l *told) Progress(p Progress) { l.left = p.Left }

// What is left is at least the longest wait for a retry.
func TestLeftHasTheWaitsForRetries(t *testing.T) {
	seen := &told{}
	w := &watch{observer: seen, begun: time.Now(), progress: Progress{Arms: []ArmPlan{{Arm: "a", Planned: 2, Done: 1}}}}
	w.event(Event{Kind: "retry", Wait: time.Hour})
	w.event(Event{Kind: "retry", Wait: time.Second})
	w.tell(&ledger{}, false)
	if seen.left < 59*time.Minute {
		t.Errorf("about %v left during a wait of an hour", seen.left)
	}
}

// Calls without a price are counted, and add nothing to the cost of their arm.
func TestProgressHasTheCostOfAnArm(t *testing.T) {
	w := &watch{index: map[string]int{"a": 0}, progress: Progress{Arms: []ArmPlan{{Arm: "a"}}}}
	for _, cost := range []float64{0, 0.25, math.NaN(), 0.25} {
		w.answered(&eval.Call{Trial: eval.Trial{Arm: "a"}, CostUSD: cost})
	}
	if a := w.progress.Arms[0]; a.Cost != 0.5 || a.Unpriced != 1 {
		t.Errorf("$%v and %d calls without a price, want $0.5 and 1", a.Cost, a.Unpriced)
	}
}

// Tokens of the prompt and of the answer are taken from the allowance, of which one was taken before.
func TestTokensPerMinuteAreOfBothWays(t *testing.T) {
	p := newPace(&Closing{}, 0, 60000)
	now := time.Now()
	p.tokens.ReserveN(now, 1)
	p.Used(eval.Usage{Input: 20000, Output: 50000})
	if left := p.tokens.TokensAt(now); left > -9000 || left < -11000 {
		t.Errorf("%v tokens are left of 60000 after 70000", left)
	}
}
