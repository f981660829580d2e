// Package power says what rules need: before a run how many items they take if nothing
// goes wrong, and how often they would be met if the arms had stated true scores; after
// it how many items a rule would have taken that is undecided. It simulates scores, and
// analyses and decides them with the code of a run, so it promises what the gate will do.
//
// The package must not know any suite, store or model. It performs no trials.
package power

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
)

// A Design is a study without its answers.
type Design struct {
	Suite    *eval.Suite
	Items    []eval.Item
	Arms     []eval.Arm
	Question analyse.Question
	Rules    *gate.Rules
}

// A Need is the number of items that a rule takes at the least.
type Need struct {
	Rule gate.Rule
	// Perfect is the number of items at which the rule holds if every arm has only the
	// best scores, as rules about one arm, non-inferiority and equivalence can; 0 if not
	// found up to [MostItems].
	Perfect int
	// Alone reports that the rule reads one arm only, and scores of items: more faults never
	// help it, so below Perfect it cannot hold. Of pooled rates an item has one opportunity
	// at Perfect, and may have more.
	Alone bool
	// Other reports that the rule asks for other scores than the best, such as a smallest number of
	// calls: the best exclude it, or others meet it. How many items it takes is not known.
	Other bool
}

// MostItems is the number of items up to which needs are searched. Rules that need
// more ask for margins of less than a thousandth.
const MostItems = 5000

// Needs returns what each rule takes. A design without rules has none.
func (d Design) Needs() ([]Need, error) {
	rules := d.Rules.All()
	if len(rules) == 0 || len(d.Items) == 0 {
		return nil, nil
	}
	d = d.rough()
	known := map[int]*analyse.Analysis{} // with the best scores, by number of items
	var failed error
	best := func(n int) *analyse.Analysis {
		if known[n] == nil && failed == nil {
			known[n], failed = d.extreme(n, 1)
		}
		return known[n]
	}
	var needs []Need
	var others []*analyse.Analysis // of MostItems with the worst scores, and with the best and the worst in turn
	for _, r := range rules {
		holds := func(n int) bool { a := best(n); return failed == nil && r.Holds(a) }
		perfect := 0
		if holds(MostItems) {
			upTo := 1 // few are analysed in less time, and most rules take few
			for upTo < MostItems && !holds(upTo) {
				upTo = min(2*upTo, MostItems)
			}
			least := upTo/2 + 1
			perfect = least + sort.Search(upTo-least, func(more int) bool { return holds(least + more) })
		}
		if failed != nil {
			return nil, failed
		}
		alone := len(r.Arms) == 1
		for alone && perfect == 0 && len(others) < 2 {
			a, err := d.extreme(MostItems, 2*len(others))
			if err != nil {
				return nil, err
			}
			others = append(others, a)
		}
		other := alone && perfect == 0 && slices.ContainsFunc(others, r.Holds)
		if alone && perfect == 0 && r.Fails(known[MostItems]) { // as the worst scores do, if none can meet its only limit
			limits := strings.Count(r.That, "<") + strings.Count(r.That, ">")
			other = limits != 1 || slices.ContainsFunc(others, func(a *analyse.Analysis) bool { return !r.Fails(a) })
		}
		r.Apart = append(slices.Clone(r.Apart), d.Estimated(r)...)
		needs = append(needs, Need{r, perfect, alone && len(r.Apart) == 0 && !d.pools(r) && !other, other})
	}
	return needs, nil
}

// rough is what is relevant, analysed in less time: an interval of scores without differences
// does not depend on many resamples, nor on the variances that a mixed model estimates.
func (d Design) rough() Design {
	d = d.relevant()
	d.Question.Study.Resamples = min(d.Question.Study.Resamples, 1000)
	if d.Question.Study.Method == "mixed_effects" {
		d.Question.Study.Method = "auto"
	}
	return d
}

// Scores returns what an arm has of a metric on each item of a run, in the order of their ids.
type Scores func(arm, metric string) (num, den []float64)

// mostAnalysed bounds what [Design.Takes] analyses, in items times comparisons: some
// seconds.
const mostAnalysed = 60_000

// Takes returns how many items it takes until each rule holds, if further items come out
// like those of a run, in clusters of their own; 0 if they do not at most items, the largest
// number that was analysed. In large studies the numbers are rough.
func (d Design) Takes(rules []gate.Rule, of Scores) (takes []int, most int, err error) {
	d = d.rough()
	repeated := d.repeated(of)
	takes = make([]int, len(rules))
	below := slices.Repeat([]int{len(d.Items)}, len(rules)) // the largest number that is too small
	left := mostAnalysed / max(1, len(d.Question.Comparisons))
	try := func(n int) (bool, error) {
		if left -= n; left < 0 && most > 0 {
			return false, nil
		}
		a, err := repeated(n)
		if err != nil {
			return false, err
		}
		most = max(most, n)
		for i, r := range rules {
			switch {
			case n <= below[i] || takes[i] > 0 && n >= takes[i]:
			case r.Holds(a):
				takes[i] = n
			default:
				below[i] = n
			}
		}
		return true, nil
	}
	for n := len(d.Items); n < MostItems && slices.Contains(takes, 0); {
		n = min(2*n, MostItems)
		if ok, err := try(n); err != nil || !ok {
			return takes, most, err
		}
	}
	for i := range rules {
		for takes[i] > below[i]+1 {
			if ok, err := try((takes[i] + below[i]) / 2); err != nil || !ok {
				return takes, most, err
			}
		}
	}
	return takes, most, nil
}

// repeated analyses n items that come out like those of a run.
func (d Design) repeated(of Scores) func(n int) (*analyse.Analysis, error) {
	d.Items = slices.SortedFunc(slices.Values(d.Items), func(a, b eval.Item) int { return strings.Compare(a.ID, b.ID) }) // as in scores
	type fractions struct{ num, den []float64 }
	known := map[[2]int]fractions{}
	for a, arm := range d.Arms {
		for m, metric := range d.Suite.Metrics {
			num, den := of(arm.ID, metric.Name)
			known[[2]int{m, a}] = fractions{num, den}
		}
	}
	return func(n int) (*analyse.Analysis, error) {
		more := d.resized(n)
		return more.collect(analyse.Listed(more.Items), func(metric, arm, item int) (num, den float64) {
			f := known[[2]int{metric, arm}]
			return f.num[item%len(d.Items)], f.den[item%len(d.Items)]
		})
	}
}

// Estimated returns the metrics of a rule that an estimator computes from more than scores,
// which are not simulated.
func (d Design) Estimated(r gate.Rule) (names []string) {
	for _, m := range d.Suite.Metrics {
		if m.Estimate != nil && slices.ContainsFunc(r.Read(), func(e [2]string) bool { return e[1] == m.Name }) {
			names = append(names, m.Name)
		}
	}
	return names
}

// pools reports whether a rule reads a pooled rate.
func (d Design) pools(r gate.Rule) bool {
	return slices.ContainsFunc(r.Estimates, func(e [2]string) bool {
		return slices.ContainsFunc(d.Suite.Metrics, func(m eval.Metric) bool { return m.Name == e[1] && m.Pooling == eval.RatioOfSums })
	})
}

// extreme analyses a study of n items in which one item of every few, in every arm, has the best
// scores, and the others the worst; 0 is none.
func (d Design) extreme(n, every int) (*analyse.Analysis, error) {
	d = d.resized(n)
	return d.collect(analyse.Listed(d.Items), func(metric, _, item int) (num, den float64) {
		m, unbounded := d.Suite.Metrics[metric], 1e9
		if m.Counts { // which are analysed event by event
			unbounded = 100
		}
		if best := every > 0 && item%every == 0; best == m.HigherIsBetter {
			return min(m.Max, unbounded), 1
		}
		return max(m.Min, -unbounded), 1
	})
}

// relevant keeps what the rules read and what corrects it: the primary comparisons
// on the primary metrics.
func (d Design) relevant() Design {
	q := d.Question
	var arms []string
	metrics := slices.Clone(q.Primary)
	pairs := slices.DeleteFunc(slices.Clone(q.Comparisons), func(p analyse.Pair) bool { return !p.Primary })
	for i := range pairs {
		if len(pairs[i].Metrics) == 0 {
			pairs[i].Metrics = q.Primary
		}
	}
	for _, r := range d.Rules.All() {
		arms = append(arms, r.Arms...)
		for _, e := range r.Read() {
			metrics = append(metrics, e[1])
		}
		for _, p := range r.Pairs {
			same := func(x analyse.Pair) bool {
				return slices.Contains(x.Metrics, p[2]) && x.Of(p[0], p[1])
			}
			if !slices.ContainsFunc(pairs, same) {
				pairs = append(pairs, analyse.Pair{A: p[0], B: p[1], Metrics: []string{p[2]}})
			}
		}
	}
	for _, p := range pairs {
		arms, metrics = append(arms, p.A, p.B), append(metrics, p.Metrics...)
	}
	suite := *d.Suite
	suite.Metrics = slices.DeleteFunc(slices.Clone(suite.Metrics), func(m eval.Metric) bool { return !slices.Contains(metrics, m.Name) })
	d.Suite = &suite
	d.Arms = slices.DeleteFunc(slices.Clone(d.Arms), func(a eval.Arm) bool { return !slices.Contains(arms, a.ID) })
	for i := range d.Arms {
		d.Arms[i].Judges = nil // scores are simulated as if people had judged
	}
	q.JudgesDiffer, q.ScorersDiffer = nil, nil
	q.Comparisons, q.Secondary, q.Samples, q.Calibration, q.Overall = pairs, nil, 0, nil, true
	q.NoEffect = !slices.ContainsFunc(d.Rules.All(), func(r gate.Rule) bool { return r.Effect })
	q.Run = analyse.Run{Items: len(d.Items), Replicates: 1, Seed: q.Run.Seed, MaxFailed: 1}
	d.Question = q
	return d
}

// resized returns the design with n items: the first ones, or copies of all in new
// clusters.
func (d Design) resized(n int) Design {
	items := make([]eval.Item, n)
	for i := range items {
		it := d.Items[i%len(d.Items)]
		if round := i / len(d.Items); round > 0 {
			it.ID = fmt.Sprintf("%s copy %d", it.ID, round)
			if it.Cluster != "" {
				it.Cluster = fmt.Sprintf("%s copy %d", it.Cluster, round)
			}
		}
		items[i] = it
	}
	d.Items, d.Question.Run.Items = items, n
	return d
}

// A score returns the fraction of an arm's item.
type score func(metric, arm, item int) (num, den float64)

// collect analyses scores as those of a run.
func (d Design) collect(order analyse.Order, of score) (*analyse.Analysis, error) {
	c := analyse.NewCollector(d.Suite, d.Items, d.Arms, order)
	answered := []eval.Judged{{Outcome: eval.Outcome{Kind: eval.OK}}}
	scores := make([]eval.Score, 0, len(d.Suite.Metrics)) // of one case: the collector keeps none
	for a, arm := range d.Arms {
		for i, it := range d.Items {
			answered[0].Trial = eval.Trial{Item: it.ID, Arm: arm.ID, Replicate: 1}
			s := eval.Scored{Case: eval.Case{Item: it.ID, Arm: arm.ID}, Scores: scores}
			for m, metric := range d.Suite.Metrics {
				if num, den := of(m, a, i); den > 0 && metric.Estimate == nil {
					s.Scores = append(s.Scores, eval.Score{Replicate: 1, Metric: metric.Name, Num: num, Den: den})
				}
			}
			if len(s.Scores) > 0 { // else it failed in the run whose scores these are
				s.Trials = answered
			}
			c.Add(s)
		}
	}
	d.Question.Run.Planned = len(d.Items) * len(d.Arms)
	return c.Analyse(d.Question, analyse.Sources{})
}
