package plan

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/stats/dist"
)

// An Estimate is what an arm would ask, scaled from a sample of its trials.
// They are tried with a model that answers as the suite foresees, or with an
// empty answer where it does not: steps that depend on such answers are
// missing. Output is counted at its limit. A real run may ask more, where
// answers are worse, and write less.
//
// A margin is half the width of the 95 % interval of a total over all items,
// from the variation between the trials tried (Student's t, with the correction
// for a finite population: Cochran, Sampling Techniques, 1977, 2.8). It is NaN
// where one of several trials was tried. How another vocabulary than the
// counter's would count is not in it.
type Estimate struct {
	Arm          string
	Trials       int
	Calls        int
	InputTokens  int
	InputMargin  float64
	OutputTokens int
	CostUSD      float64 // NaN where a price is missing
	CostMargin   float64
	Sampled      int // trials tried; arms of one shape share them
}

// A Pricer knows what tokens of a model cost, in US dollars; NaN where it does
// not.
type Pricer func(modelID string, u eval.Usage) float64

// A Counter counts the tokens of a text.
type Counter func(text string) int

const (
	// assumedOutput is the output counted for a request that sets no limit.
	assumedOutput = 1024
	// sampledTrials bounds the trials tried over all arms, and sampledPerShape
	// those of one shape, so that planning a study of many arms stays fast.
	sampledTrials   = 320
	sampledPerShape = 50
	leastPerShape   = 4
)

// An Estimator estimates what the arms of a bench would ask.
type Estimator struct {
	Bench      eval.Bench
	Replicates int
	// Gold is the arm that answers from gold: a judge is foreseen to be asked as
	// much as for its answers. "" means there is no judge.
	Gold  string
	Count Counter
	Price Pricer
}

// Estimates gives the estimate of each arm, and that of all together.
func (e *Estimator) Estimates(ctx context.Context) (perArm []Estimate, all Estimate, err error) {
	arms, items := e.Bench.Arms(), e.Bench.Items()
	shapes := map[string][]eval.Arm{}
	var order []string
	for _, arm := range arms {
		s := shapeOf(arm)
		if shapes[s] == nil && e.asks(arm) {
			order = append(order, s)
		}
		shapes[s] = append(shapes[s], arm)
	}
	sample := max(leastPerShape, min(sampledPerShape, sampledTrials/max(1, len(order))))
	byShape := map[string]Estimate{}
	var input, cost float64 // variances
	for i, s := range order {
		one, err := e.try(ctx, shapes[s][0], spread(items, sample, i), len(items))
		if err != nil {
			return nil, all, err
		}
		byShape[s] = one
		// Arms that share a sample err together.
		n := float64(len(shapes[s]))
		input += n * n * one.InputMargin * one.InputMargin
		cost += n * n * one.CostMargin * one.CostMargin
	}
	for _, arm := range arms {
		one := byShape[shapeOf(arm)]
		one.Arm, one.Trials = arm.ID, len(items)*e.Replicates
		perArm = append(perArm, one)
		all.Trials += one.Trials
		all.Calls += one.Calls
		all.InputTokens += one.InputTokens
		all.OutputTokens += one.OutputTokens
		all.CostUSD += one.CostUSD
	}
	all.Arm, all.InputMargin, all.CostMargin = "all", math.Sqrt(input), math.Sqrt(cost)
	return perArm, all, nil
}

func shapeOf(arm eval.Arm) string {
	if arm.Shape == "" {
		return "arm " + arm.ID
	}
	return "shape " + arm.Shape
}

// asks reports whether trials of an arm can lead to calls.
func (e *Estimator) asks(arm eval.Arm) bool { return arm.Model != "" || e.Gold != "" }

// spread takes n items, or all, at even distances. Each round starts elsewhere
// (Weyl's sequence of the golden ratio), so that the samples of different shapes
// are different items, and together cover the list evenly.
func spread(items []eval.Item, n, round int) []eval.Item {
	const golden = 0.6180339887498949
	n = min(n, len(items))
	_, start := math.Modf(float64(round) * golden)
	out := make([]eval.Item, n)
	for k := range out {
		out[k] = items[int((float64(k)+start)*float64(len(items))/float64(n))]
	}
	return out
}

// try performs an arm's trials of a sample of the items, and scales what they
// ask to all items and replicates.
func (e *Estimator) try(ctx context.Context, arm eval.Arm, sample []eval.Item, items int) (Estimate, error) {
	n := len(sample)
	var calls, output int
	input, cost := make([]float64, n), make([]float64, n)
	for k, item := range sample {
		t := eval.Trial{Item: item.ID, Arm: arm.ID, Replicate: 1}
		tally := &dryAsker{count: e.Count, price: e.Price}
		if err := e.dry(ctx, arm, t, tally); err != nil {
			return Estimate{}, err
		}
		calls += tally.calls
		output += tally.output
		input[k] = float64(tally.input)
		cost[k] = float64(tally.picodollars) / 1e12
		if tally.unpriced {
			cost[k] = math.NaN()
		}
	}
	if n == 0 {
		return Estimate{}, nil
	}
	scale := float64(items*e.Replicates) / float64(n)
	out := Estimate{Sampled: n, Calls: round(float64(calls) * scale), OutputTokens: round(float64(output) * scale)}
	tokens, margin := scaled(input, items, e.Replicates)
	out.InputTokens, out.InputMargin = round(tokens), margin
	out.CostUSD, out.CostMargin = scaled(cost, items, e.Replicates)
	return out, nil
}

// dry performs a trial, and judges the answer from gold.
func (e *Estimator) dry(ctx context.Context, arm eval.Arm, t eval.Trial, ask eval.Asker) error {
	if _, err := e.Bench.Perform(ctx, t, ask); err != nil {
		return fmt.Errorf("trying %v without a model: %w", t, err)
	}
	if e.Gold == "" || arm.Role == eval.RoleBaseline {
		return nil
	}
	right, err := e.Bench.Perform(ctx, eval.Trial{Item: t.Item, Arm: e.Gold, Replicate: 1}, ask)
	if err == nil {
		_, err = e.Bench.Judge(ctx, t, right, ask)
	}
	if err != nil {
		return fmt.Errorf("trying to judge %v without a model: %w", t, err)
	}
	return nil
}

// scaled is the total over all items, with its margin, from the values of some.
func scaled(xs []float64, items, replicates int) (total, margin float64) {
	n := float64(len(xs))
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	mean, squares := sum/n, 0.0
	for _, x := range xs {
		squares += (x - mean) * (x - mean)
	}
	trials := float64(items * replicates)
	switch {
	case len(xs) == items:
		return mean * trials, 0
	case len(xs) < 2:
		return mean * trials, math.NaN()
	}
	unseen := 1 - n/float64(items)
	se := trials * math.Sqrt(squares/(n-1)/n*unseen)
	return mean * trials, dist.StudentT{DF: n - 1}.Quantile(0.975) * se
}

func round(x float64) int { return int(math.Round(x)) }

const (
	pieces    = 6
	pieceSize = 256
)

// countPieces counts a long text by pieces spread over it, and scales to its
// length: within a text, tokens a byte hardly vary. Pieces begin and end before
// a word, where tokens do too.
func countPieces(count Counter, text string) int {
	if len(text) <= 2*pieces*pieceSize {
		return count(text)
	}
	tokens, counted := 0, 0
	for k := range pieces {
		from := k * len(text) / pieces
		piece := text[from : from+pieceSize]
		first, last := strings.IndexByte(piece, ' '), strings.LastIndexByte(piece, ' ')
		if first < 0 || first == last {
			return count(text) // no words to cut at
		}
		tokens += count(piece[first:last])
		counted += last - first
	}
	return round(float64(tokens) / float64(counted) * float64(len(text)))
}

// A dryAsker counts what it is asked and answers what is foreseen.
type dryAsker struct {
	count Counter
	price Pricer

	mu                   sync.Mutex
	calls, input, output int
	picodollars          int64 // an integer, so that the order of parallel steps does not matter
	unpriced             bool
}

func (d *dryAsker) Ask(_ context.Context, _ string, r eval.Request) (eval.Response, error) {
	if r.Payload != nil && r.Messages == nil { // a pipeline outside: its tokens are its own
		return eval.Response{}, nil
	}
	in := countPieces(d.count, r.System)
	for _, m := range r.Messages {
		in += countPieces(d.count, m.Content) + 4 // role and borders
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
