package plan_test

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/stats/dist"
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

func (twice) Arms() []eval.Arm { return []eval.Arm{{ID: "x", Model: "m"}} }

func letters(s string) int { return len(s) }

// TestEstimateForesees: steps that depend on answers are counted where the
// suite foresees these, whatever order they come in.
func TestEstimateForesees(t *testing.T) {
	price := 0.1
	e := plan.Estimator{Bench: twice{}, Replicates: 3, Count: letters, Price: func(string, eval.Usage) float64 { return price }}
	perArm, all, err := e.Estimates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	one := perArm[0]
	if one.Trials != 6 || one.Calls != 24 || one.InputTokens != 6*(4+3*2) || one.OutputTokens != 240 || !(math.Abs(one.CostUSD-2.4) <= 1e-12) {
		t.Errorf("%+v", one)
	}
	if one.Sampled != 2 || one.InputMargin != 0 { // both items were tried: nothing is left to vary
		t.Errorf("%+v", one)
	}
	if all.InputTokens != one.InputTokens || all.Calls != one.Calls || all.Arm != "all" {
		t.Errorf("all arms: %+v", all)
	}
	price, e.Replicates = math.NaN(), 1
	perArm, all, err = e.Estimates(t.Context())
	if err != nil || !math.IsNaN(perArm[0].CostUSD) || !math.IsNaN(all.CostUSD) || perArm[0].Calls != 8 {
		t.Errorf("%+v, %v", perArm, err)
	}
}

// asksFor sends one request for each item.
type asksFor struct {
	eval.Bench
	request eval.Request
}

func (asksFor) Items() []eval.Item { return []eval.Item{{ID: "a"}} }
func (asksFor) Arms() []eval.Arm   { return []eval.Arm{{ID: "x", Model: "m"}} }

func (a asksFor) Perform(ctx context.Context, _ eval.Trial, ask eval.Asker) (eval.Outcome, error) {
	_, err := ask.Ask(ctx, "only", a.request)
	return eval.Outcome{Kind: eval.OK}, err
}

// All that is sent is counted, and output at the limit that a provider may be sent.
func TestEstimateCountsWhatIsSent(t *testing.T) {
	for _, c := range []struct {
		request                eval.Request
		input, output, assumed int
	}{
		{eval.Request{System: "12", MaxTokens: 10}, 2, 10, 0},
		{eval.Request{Messages: []eval.Message{{Content: "123"}}, MaxTokens: 10, Allowance: 20}, 7, 30, 0},
		{eval.Request{MaxTokens: 2048, Reasoning: eval.Reasoning{Budget: 16000}}, 0, 18048, 0},
		{eval.Request{MaxTokens: 10, Allowance: 20, Reasoning: eval.Reasoning{Budget: 40}}, 0, 70, 0},
		{eval.Request{Schema: &eval.Schema{JSON: []byte(`{"a":1}`)}, MaxTokens: 1}, 4 + 7, 1, 0},
		{eval.Request{Tools: []eval.Tool{{Name: "ab", Description: "c", Parameters: []byte(`{}`)}}, MaxTokens: 1}, 4 + 5, 1, 0},
		{eval.Request{System: "12", Reasoning: eval.Reasoning{Budget: 5}}, 2, 1029, 1024},
	} {
		c.request.Model = "m"
		e := plan.Estimator{Bench: asksFor{request: c.request}, Replicates: 1, Count: letters, Price: func(string, eval.Usage) float64 { return 1 }}
		_, all, err := e.Estimates(t.Context())
		if load := all.Loads[plan.Party{Model: "m", Stage: eval.StageRun}]; err != nil || all.InputTokens != c.input || all.OutputTokens != c.output || load.Assumed != float64(c.assumed) {
			t.Errorf("%+v: %d input, %d output, %v assumed, want %d, %d, %d (%v)", c.request, all.InputTokens, all.OutputTokens, load.Assumed, c.input, c.output, c.assumed, err)
		}
	}
}

// uneven asks of item i a prompt of i letters, and counts what is tried.
type uneven struct {
	eval.Bench
	items int
	arms  []eval.Arm
	tried *int
}

func (u uneven) Items() []eval.Item { return itemsNamed(u.items, "") }

func (u uneven) Arms() []eval.Arm { return u.arms }

func (u uneven) Perform(ctx context.Context, t eval.Trial, ask eval.Asker) (eval.Outcome, error) {
	*u.tried++
	i, err := strconv.Atoi(t.Item)
	if err != nil {
		return eval.Outcome{}, err
	}
	_, err = ask.Ask(ctx, "only", eval.Request{Model: "m", System: strings.Repeat("x", i), MaxTokens: 1})
	return eval.Outcome{Kind: eval.OK}, err
}

// TestEstimateMargin: the margin holds the truth, and is the textbook's.
func TestEstimateMargin(t *testing.T) {
	const items = 999
	var tried int
	e := plan.Estimator{Bench: uneven{items: items, arms: []eval.Arm{{ID: "a", Model: "m"}}, tried: &tried}, Replicates: 2, Count: letters,
		Price: func(_ string, u eval.Usage) float64 { return float64(u.Input) }}
	perArm, _, err := e.Estimates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	one := perArm[0]
	truth := float64(items * (items - 1)) // 2 × the sum of 0 … 998
	if off := math.Abs(float64(one.InputTokens) - truth); off > one.InputMargin || one.InputMargin > truth/4 || one.Sampled != 50 {
		t.Errorf("estimate %d ± %.0f from %d trials, the truth is %.0f", one.InputTokens, one.InputMargin, one.Sampled, truth)
	}
	// By hand: 50 values 0, 19, 39, …, 979 with n − 1 in the variance.
	var xs []float64
	mean, squares := 0.0, 0.0
	for k := range 50 {
		xs = append(xs, float64(k*items/50))
		mean += xs[k] / 50
	}
	for _, x := range xs {
		squares += (x - mean) * (x - mean)
	}
	const t49 = 2.009575 // R: qt(0.975, 49)
	want := t49 * 2 * items * math.Sqrt(squares/49/50*(1-50.0/items))
	if !(math.Abs(one.InputMargin-want) <= 1e-5*want) || !(math.Abs(one.CostMargin-want) <= 1e-5*want) {
		t.Errorf("margins %g and %g, want %g", one.InputMargin, one.CostMargin, want)
	}
}

// TestEstimateSharesShapes: arms of one shape are tried once, arms that ask
// nothing never, and many shapes get fewer trials each.
func TestEstimateSharesShapes(t *testing.T) {
	var arms []eval.Arm
	for i := range 40 {
		for _, attack := range []string{"clean", "typo"} {
			arms = append(arms, eval.Arm{ID: fmt.Sprint(i, attack), Model: "m", Shape: fmt.Sprint("method ", i)})
		}
	}
	arms = append(arms, eval.Arm{ID: "local"})
	var tried int
	e := plan.Estimator{Bench: uneven{items: 1000, arms: arms, tried: &tried}, Replicates: 1, Count: letters, Price: func(string, eval.Usage) float64 { return 1 }}
	perArm, all, err := e.Estimates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if tried != 280 { // 40 shapes × 7 trials
		t.Errorf("%d trials tried", tried)
	}
	if perArm[0].InputTokens == 0 || perArm[0].Sampled != 7 || perArm[0].InputTokens != perArm[1].InputTokens || perArm[1].Arm != "0typo" {
		t.Errorf("%+v %+v", perArm[0], perArm[1])
	}
	if local := perArm[80]; local.Trials != 1000 || local.Calls != 0 || local.Sampled != 0 {
		t.Errorf("an arm that asks nothing: %+v", local)
	}
	// Variances of shapes add up, those of the arms of a shape fourfold; degrees
	// of freedom are Satterthwaite's, between 6 and 240.
	const t6 = 2.446912 // R: qt(0.975, 6)
	var sum, squares float64
	for i := 0; i < 80; i += 2 {
		v := 4 * math.Pow(perArm[i].InputMargin/t6, 2)
		sum += v
		squares += v * v / 6
	}
	want := dist.StudentT{DF: sum * sum / squares}.Quantile(0.975) * math.Sqrt(sum)
	if !(math.Abs(all.InputMargin-want) <= 1e-6*want) || sum*sum/squares < 100 {
		t.Errorf("margin of all is %g, want %g", all.InputMargin, want)
	}
}

// TestEstimateCountsPieces: a long text is counted in part and comes out as it
// would in full.
func TestEstimateCountsPieces(t *testing.T) {
	long := strings.Repeat("some words of a document, 12 of them in each of its lines\n", 5000)
	counted := 0
	words := func(s string) int { counted += len(s); return strings.Count(s, " ") }
	e := plan.Estimator{Bench: says{text: long}, Replicates: 1, Count: words, Price: func(string, eval.Usage) float64 { return 1 }}
	perArm, _, err := e.Estimates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Count(long, " ")
	if off := math.Abs(float64(perArm[0].InputTokens-want)) / float64(want); off > 0.02 || counted > len(long)/10 {
		t.Errorf("%d tokens, counting %d of %d bytes; the whole text has %d", perArm[0].InputTokens, counted, len(long), want)
	}
	unbroken := plan.Estimator{Bench: says{text: strings.Repeat("x", 100_000)}, Replicates: 1, Count: letters, Price: e.Price}
	perArm, _, err = unbroken.Estimates(t.Context())
	if err != nil || perArm[0].InputTokens != 100_000 {
		t.Errorf("a text without words: %+v, %v", perArm, err)
	}
}

// says is a bench of one item that is asked with a text.
type says struct {
	eval.Bench
	text string
}

func (says) Items() []eval.Item { return itemsNamed(1, "") }

func (says) Arms() []eval.Arm { return []eval.Arm{{ID: "a", Model: "m"}} }

func (s says) Perform(ctx context.Context, _ eval.Trial, ask eval.Asker) (eval.Outcome, error) {
	_, err := ask.Ask(ctx, "only", eval.Request{Model: "m", System: s.text, MaxTokens: 1})
	return eval.Outcome{Kind: eval.OK}, err
}

// judging is a bench whose judge is asked about each word of an answer; no arm answers
// from gold.
type judging struct{ twice }

func (judging) Arms() []eval.Arm {
	return []eval.Arm{{ID: "x", Model: "m", Judges: []string{"j"}}, {ID: "from a file", Judges: []string{"j"}}, {ID: "null", Role: eval.RoleBaseline, Judges: []string{"j"}}}
}

func (judging) Perform(ctx context.Context, t eval.Trial, ask eval.Asker) (eval.Outcome, error) {
	if t.Arm != "x" {
		return eval.Outcome{Kind: eval.OK, Data: []byte("a b c")}, nil
	}
	r, err := ask.Ask(ctx, "only", eval.Request{Model: "m", System: "1", MaxTokens: 1, Foreseen: func() string { return "a b" }})
	return eval.Outcome{Kind: eval.OK, Data: []byte(r.Text)}, err
}

func (judging) Judge(ctx context.Context, t eval.Trial, o eval.Outcome, ask eval.Asker) ([]eval.Verdict, error) {
	for _, word := range strings.Fields(string(o.Data)) {
		if _, err := ask.Ask(ctx, word, eval.Request{Model: "j", System: word, MaxTokens: 1}); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// TestEstimateJudges: without an arm that answers from gold, the judge's calls are those
// about predicted answers. Baselines are judged too.
func TestEstimateJudges(t *testing.T) {
	e := plan.Estimator{Bench: judging{}, Replicates: 1, Count: letters, Price: func(string, eval.Usage) float64 { return 0 }}
	perArm, all, err := e.Estimates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ calls, judge int }{{2 + 4, 4}, {6, 6}, {6, 6}} { // of two items
		if perArm[i].Calls != want.calls || perArm[i].JudgeCalls != want.judge {
			t.Errorf("%+v, want %+v", perArm[i], want)
		}
	}
	if all.Calls != 18 || all.JudgeCalls != 16 {
		t.Errorf("all arms: %+v", all)
	}
}
