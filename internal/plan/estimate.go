package plan

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
)

// An Estimate is what one arm would ask, from trying a sample of its trials
// with a model that answers as the suite foresees, or nothing where it does
// not: steps that depend on such answers are missing. Output is counted at its
// limit. A real run may ask more, where answers are worse, and write less.
type Estimate struct {
	Arm          string  `json:"arm"`
	Trials       int     `json:"trials"`
	Calls        int     `json:"calls"`
	InputTokens  int     `json:"input_tokens"`
	OutputTokens int     `json:"max_output_tokens"`
	CostUSD      float64 `json:"max_cost_usd"` // NaN where no price is known
	Sampled      int     `json:"sampled"`
}

// A Pricer knows what tokens of a model cost, in US dollars; NaN where it does
// not.
type Pricer func(modelID string, u eval.Usage) float64

// A Counter counts the tokens of a text.
type Counter func(text string) int

// assumedOutput is the output counted for a request that sets no limit.
const assumedOutput = 1024

// EstimateArm tries at most sample trials of an arm.
//
// What a judge would be asked is foreseen from gold: as much as it is asked of
// the arm that answers from gold, named by gold; "" means there is no judge.
func EstimateArm(ctx context.Context, bench eval.Bench, arm eval.Arm, gold string, replicates, sample int, count Counter, price Pricer) (Estimate, error) {
	items := bench.Items()
	e := Estimate{Arm: arm.ID, Trials: len(items) * replicates}
	step := max(1, len(items)/max(1, sample))
	tally := &dryAsker{count: count, price: price}
	for i := 0; i < len(items); i += step {
		t := eval.Trial{Item: items[i].ID, Arm: arm.ID, Replicate: 1}
		if _, err := bench.Perform(ctx, t, tally); err != nil {
			return e, fmt.Errorf("trying %v without a model: %w", t, err)
		}
		e.Sampled++
		if gold == "" || arm.Role == eval.RoleBaseline {
			continue
		}
		right, err := bench.Perform(ctx, eval.Trial{Item: t.Item, Arm: gold, Replicate: 1}, tally)
		if err == nil {
			_, err = bench.Judge(ctx, t, right, tally)
		}
		if err != nil {
			return e, fmt.Errorf("trying to judge %v without a model: %w", t, err)
		}
	}
	if e.Sampled == 0 {
		return e, nil
	}
	scale := float64(e.Trials) / float64(e.Sampled)
	e.Calls = int(math.Round(float64(tally.calls) * scale))
	e.InputTokens = int(math.Round(float64(tally.input) * scale))
	e.OutputTokens = int(math.Round(float64(tally.output) * scale))
	e.CostUSD = float64(tally.picodollars) / 1e12 * scale
	if tally.unpriced {
		e.CostUSD = math.NaN()
	}
	return e, nil
}

// A dryAsker counts what it is asked and answers what is foreseen.
type dryAsker struct {
	count Counter
	price Pricer

	mu                   sync.Mutex
	calls, input, output int
	picodollars          int64 // whole, so that the order of parallel steps does not matter
	unpriced             bool
}

func (d *dryAsker) Ask(_ context.Context, _ string, r eval.Request) (eval.Response, error) {
	if r.Payload != nil && r.Messages == nil { // a pipeline outside: its tokens are its own
		return eval.Response{}, nil
	}
	in := d.count(r.System)
	for _, m := range r.Messages {
		in += d.count(m.Content) + 4 // role and borders
	}
	out := r.MaxTokens + r.Allowance
	if out == 0 {
		out = assumedOutput
	}
	cost := d.price(r.Model, eval.Usage{Input: in, Output: out, CachedInInput: true, ReasoningInOutput: true})
	d.mu.Lock()
	d.calls++
	d.input += in
	d.output += out
	if math.IsNaN(cost) {
		d.unpriced = true
	} else {
		d.picodollars += int64(math.Round(cost * 1e12))
	}
	d.mu.Unlock()
	if r.Foreseen != nil {
		return eval.Response{Text: r.Foreseen(), Stop: eval.StopEnd}, nil
	}
	return eval.Response{}, nil
}
