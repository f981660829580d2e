package plan_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
)

// twice asks again, in parallel, for each word of the first answer.
type twice struct{ eval.Bench }

func (twice) Items() []eval.Item { return []eval.Item{{ID: "a"}, {ID: "b"}} }

func (twice) Perform(ctx context.Context, t eval.Trial, ask eval.Asker) (eval.Outcome, error) {
	r, err := ask.Ask(ctx, "first", eval.Request{Model: "m", System: "1234", MaxTokens: 10, Foreseen: func() string { return "xxx" }})
	if err != nil {
		return eval.Outcome{}, err
	}
	var wg sync.WaitGroup
	for i := range r.Text {
		wg.Go(func() {
			ask.Ask(ctx, fmt.Sprint("then", i), eval.Request{Model: "m", System: "12", MaxTokens: 10})
		})
	}
	wg.Wait()
	return eval.Outcome{Kind: eval.OK}, nil
}

// TestEstimateForesees: steps that depend on answers are counted where the
// suite foresees these, whatever order they come in.
func TestEstimateForesees(t *testing.T) {
	price := func(string, eval.Usage) float64 { return 0.1 }
	e, err := plan.EstimateArm(t.Context(), twice{}, eval.Arm{ID: "x"}, "", 3, 50, func(s string) int { return len(s) }, price)
	if err != nil {
		t.Fatal(err)
	}
	if e.Trials != 6 || e.Calls != 24 || e.InputTokens != 6*(4+3*2) || e.OutputTokens != 240 || math.Abs(e.CostUSD-2.4) > 1e-12 {
		t.Errorf("%+v", e)
	}
	e, err = plan.EstimateArm(t.Context(), twice{}, eval.Arm{ID: "x"}, "", 1, 50, func(s string) int { return len(s) }, func(string, eval.Usage) float64 { return math.NaN() })
	if err != nil || !math.IsNaN(e.CostUSD) || e.Calls != 8 {
		t.Errorf("%+v, %v", e, err)
	}
}
