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

// An Estimate is the expected usage of an arm, scaled from a sample of its trials.
// The sample is simulated with the answers that the suite predicts, or with empty
// answers, so later steps that depend on an answer may be missing. Output is
// counted at its limit, or assumed where a model has none. A real run may send more requests and produce less output.
//
// A margin is half the width of the 95 % interval of a total over all items,
// from the variation between the trials tried: Student's t, with the correction
// for a finite population, and Satterthwaite's degrees of freedom for sums over
// arms (Cochran, Sampling Techniques, 1977, 2.8 and 5.4). It is NaN if only one of
// several trials was sampled. It does not include the error of using another
// tokenizer than the model's.
type Estimate struct {
	Arm          string
	Trials       int
	Calls        int
	JudgeCalls   int // of Calls
	InputTokens  int
	InputMargin  float64
	OutputTokens int
	CostUSD      float64 // NaN if a price is missing, or a program answers, whose tokens are not counted either
	CostMargin   float64
	Sampled      int // trials tried; arms of one shape share them
	Loads        Loads

	input, cost variance
}

// A Pricer returns the cost of a model's tokens in US dollars; NaN if unknown.
type Pricer func(modelID string, u eval.Usage) float64

// A Counter counts the tokens of a text.
type Counter func(text string) int

const (
	// AssumedOutput is the output counted for a request that sets no limit, which may have more.
	AssumedOutput = 1024
	// sampledTrials bounds the trials tried over all arms, and sampledPerShape
	// those of one shape, so that planning a study of many arms stays fast.
	sampledTrials   = 280
	sampledPerShape = 50
	leastPerShape   = 4
	// countedTrials and leastCounted bound in the same way those whose texts are
	// counted. The others are taken to have as many tokens a byte: within an arm
	// that hardly varies, and counting is most of the work.
	countedTrials = 80
	leastCounted  = 2
)

// An Estimator estimates the usage of the arms of a bench.
type Estimator struct {
	Bench      eval.Bench
	Replicates int
	// Gold is the arm that answers from gold; the calls of a judge are estimated
	// from its answers, or without one from those that the suite predicts.
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
		if asks := arm.Model != "" || len(arm.Judges) > 0; asks && shapes[s] == nil {
			order = append(order, s)
		}
		shapes[s] = append(shapes[s], arm)
	}
	sample := max(leastPerShape, min(sampledPerShape, sampledTrials/max(1, len(order))))
	counted := max(leastCounted, countedTrials/max(1, len(order)))
	byShape := map[string]Estimate{}
	for i, s := range order {
		one, err := e.try(ctx, shapes[s][0], spread(items, sample, i), counted, len(items))
		if err != nil {
			return nil, all, err
		}
		byShape[s] = one
		n := float64(len(shapes[s])) // arms that share a sample err together
		all.input.add(one.input, n)
		all.cost.add(one.cost, n)
	}
	for _, arm := range arms {
		one := byShape[shapeOf(arm)]
		one.Arm, one.Trials = arm.ID, len(items)*e.Replicates
		perArm = append(perArm, one)
		all.Trials += one.Trials
		all.Calls += one.Calls
		all.JudgeCalls += one.JudgeCalls
		all.InputTokens += one.InputTokens
		all.OutputTokens += one.OutputTokens
		all.CostUSD += one.CostUSD
		all.Loads = all.Loads.plus(one.Loads, 1)
	}
	all.Arm, all.InputMargin, all.CostMargin = "all", all.input.margin(), all.cost.margin()
	return perArm, all, nil
}

// A variance is that of an estimated total: of is the variance, and df its
// square over its degrees of freedom, which adds up where variances do.
type variance struct{ of, df float64 }

// add adds the variance of n times an independent total.
func (v *variance) add(w variance, n float64) {
	v.of += n * n * w.of
	v.df += n * n * n * n * w.df
}

func (v variance) margin() float64 {
	if v.of == 0 {
		return 0
	}
	return dist.StudentT{DF: v.of * v.of / v.df}.Quantile(0.975) * math.Sqrt(v.of)
}

// shapeOf returns what arms have in common that share a sample.
func shapeOf(arm eval.Arm) string {
	if arm.Shape == "" {
		return "arm " + arm.ID
	}
	return "shape " + arm.Shape
}

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

// try performs an arm's trials of a sample of the items, counts the texts of the
// first, and scales what all ask to all items and replicates.
func (e *Estimator) try(ctx context.Context, arm eval.Arm, sample []eval.Item, counted, items int) (Estimate, error) {
	n := len(sample)
	var bytes, tokens int
	loads := Loads{}
	count := func(text string) int { return countPieces(e.Count, text) }
	byRatio := func(text string) int { return round(float64(len(text)) * float64(tokens) / float64(bytes)) }
	input, cost := make([]float64, n), make([]float64, n)
	for k, item := range sample {
		t := eval.Trial{Item: item.ID, Arm: arm.ID, Replicate: 1}
		tally := &dryAsker{count: count, price: e.Price, stage: eval.StageRun, loads: Loads{}}
		if k >= counted && bytes > 0 {
			tally.count = byRatio
		}
		if err := e.dry(ctx, arm, t, tally); err != nil {
			return Estimate{}, err
		}
		loads = loads.plus(tally.loads, 1)
		if k < counted {
			bytes += tally.bytes
			tokens += tally.tokens
		}
		all := tally.loads.of(eval.StageRun).Plus(tally.loads.of(eval.StageJudge), 1)
		input[k], cost[k] = all.Input, all.costUSD()
	}
	if n == 0 {
		return Estimate{}, nil
	}
	scale := float64(items*e.Replicates) / float64(n)
	judge := loads.of(eval.StageJudge)
	all := loads.of(eval.StageRun).Plus(judge, 1)
	out := Estimate{Sampled: n, Calls: round(all.Calls * scale), JudgeCalls: round(judge.Calls * scale), OutputTokens: round(all.Output * scale),
		Loads: Loads{}.plus(loads, scale)}
	total, v := scaled(input, items, e.Replicates)
	out.InputTokens, out.input, out.InputMargin = round(total), v, v.margin()
	out.CostUSD, out.cost = scaled(cost, items, e.Replicates)
	out.CostMargin = out.cost.margin()
	return out, nil
}

// dry simulates a trial and judges the answer from gold, or the predicted one if no arm
// answers from gold. Baselines answer alone.
func (e *Estimator) dry(ctx context.Context, arm eval.Arm, t eval.Trial, ask *dryAsker) error {
	outcome, err := e.Bench.Perform(ctx, t, ask)
	if err != nil {
		return fmt.Errorf("trying %v without a model: %w", t, err)
	}
	if len(arm.Judges) == 0 {
		return nil
	}
	if e.Gold != "" && arm.Role != eval.RoleBaseline {
		outcome, err = e.Bench.Perform(ctx, eval.Trial{Item: t.Item, Arm: e.Gold, Replicate: 1}, ask)
	}
	ask.stage = eval.StageJudge
	if err == nil {
		_, err = e.Bench.Judge(ctx, t, outcome, ask)
	}
	if err != nil {
		return fmt.Errorf("trying to judge %v without a model: %w", t, err)
	}
	return nil
}

// scaled is the total over all items from the values of some.
func scaled(xs []float64, items, replicates int) (float64, variance) {
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
		return mean * trials, variance{}
	case len(xs) < 2:
		return mean * trials, variance{math.NaN(), math.NaN()}
	}
	unseen := 1 - n/float64(items)
	of := trials * trials * squares / (n - 1) / n * unseen
	return mean * trials, variance{of, of * of / (n - 1)}
}

func round(x float64) int { return int(math.Round(x)) }

const (
	pieces    = 6
	pieceSize = 128
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

// A dryAsker counts requests and returns predicted answers.
type dryAsker struct {
	count Counter
	price Pricer
	stage eval.Stage

	mu            sync.Mutex
	loads         Loads
	bytes, tokens int // of the texts alone
}

// usageOf is what a request takes: its tokens, and the most that its answer may have, of which some are assumed.
func usageOf(r eval.Request, count Counter) (u eval.Usage, assumed int) {
	texts, parts := []string{r.System}, len(r.Messages)+len(r.Tools)
	for _, m := range r.Messages {
		texts = append(texts, m.Content)
	}
	for _, t := range r.Tools {
		texts = append(texts, t.Name, t.Description, string(t.Parameters))
	}
	if r.Schema != nil {
		texts, parts = append(texts, string(r.Schema.JSON)), parts+1
	}
	in := 4 * parts // role and borders
	for _, text := range texts {
		in += count(text)
	}
	out := r.MaxTokens
	if out == 0 {
		out, assumed = AssumedOutput, AssumedOutput
	}
	out += r.Allowance + r.Reasoning.Budget // Anthropic's limit is raised by a budget that reaches it
	return eval.Usage{Input: in, Output: out, CachedInInput: true, ReasoningInOutput: true}, assumed
}

func (d *dryAsker) Ask(_ context.Context, _ string, r eval.Request) (eval.Response, error) {
	if strings.HasPrefix(r.Model, eval.PipelinePrefix) { // a program, also the study's scorer, whose tokens and scores are its own, or stored answers
		if cost := d.price(r.Model, eval.Usage{}); math.IsNaN(cost) {
			d.add(r, Load{Calls: 1, Picodollars: cost}, 0, 0)
		}
		return eval.Response{}, nil
	}
	bytes, tokens := 0, 0
	u, assumed := usageOf(r, func(text string) int {
		n := d.count(text)
		bytes, tokens = bytes+len(text), tokens+n
		return n
	})
	d.add(r, Load{1, float64(u.Input), float64(u.Output), float64(assumed), math.Round(d.price(r.Model, u) * 1e12)}, bytes, tokens)
	if r.Foreseen != nil {
		return eval.Response{Text: r.Foreseen(), Stop: eval.StopEnd}, nil
	}
	return eval.Response{}, nil
}

func (d *dryAsker) add(r eval.Request, l Load, bytes, tokens int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := Party{r.Model, d.stage}
	d.loads[p], d.bytes, d.tokens = d.loads[p].Plus(l, 1), d.bytes+bytes, d.tokens+tokens
}
