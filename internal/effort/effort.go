// Package effort has the metrics that every suite has: what an answer takes, in money, time,
// calls and tokens, and what replicates say of each other, as pass@k. A study has those that
// it names.
//
// The package is arithmetic on calls of the journal and on scores of the suite: it must not
// know the store, a suite or a clock.
package effort

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
)

// The names of what one answer takes, which are also the columns of data with it. Costs are
// in US dollars and latencies in seconds.
const (
	Cost      = "cost"
	Latency   = "latency"
	Calls     = "calls"
	TokensIn  = "tokens_in"
	TokensOut = "tokens_out"
)

// The names of the metrics that are made of these and of the first primary metric. pass@k
// and pass^k have a number for k.
const (
	latency50    = "latency_p50"
	latency95    = "latency_p95"
	costPerPoint = "cost_per_point"
	flakiness    = "flakiness"
	passAny      = "pass@"
	passAll      = "pass^"
)

var columns = []string{Cost, Latency, Calls, TokensIn, TokensOut}

// Columns lists the names of what one answer takes.
func Columns() []string { return slices.Clone(columns) }

// Offered lists the metrics that a study of so many replicates may name. primary is its first
// primary metric; those that compare replicates need one of yes or no, and pass@k and pass^k one of
// which higher is better.
func Offered(primary eval.Metric, replicates int) []eval.Metric {
	of := func(name, title, doc, formula string) eval.Metric {
		return eval.Metric{Name: name, Title: title, Doc: doc, Formula: formula, Max: math.Inf(1), Kind: eval.Scoring, Pooling: eval.MeanOfItems}
	}
	estimated := func(m eval.Metric, estimate func([]eval.Counted) float64) eval.Metric {
		m.Pooling, m.Estimate = eval.ByEstimator, estimate
		return m
	}
	priced := func(m eval.Metric) eval.Metric { m.Priced = true; return m }
	judged := func(m eval.Metric) eval.Metric { // as the primary metric is
		if m.Judge = primary.Judge; m.Judge.Judged() {
			m.Judge = eval.JudgeElse
		}
		return m
	}
	list := []eval.Metric{
		priced(of(Cost, "Cost", "What the calls of an answer cost, in US dollars. Calls of judges are not in it, and answers from another run have the cost that they had there.", "sum of the calls, by tokens and price")),
		of(Latency, "Latency", "Seconds that an answer took: the sum of its calls, of each the attempt that succeeded.", "sum of the calls"),
		of(Calls, "Calls", "Calls of an answer, without those of judges.", "count"),
		of(TokensIn, "Input tokens", "Input tokens of an answer, cached ones included.", "sum of the calls"),
		of(TokensOut, "Output tokens", "Output tokens of an answer, thinking included.", "sum of the calls"),
		estimated(of(latency50, "Latency, median", "Seconds within which half of the answers came.", "the value at place ⌈n/2⌉"), quantile(50)),
		estimated(of(latency95, "Latency, 95 %", "Seconds within which 95 % of the answers came.", "the value at place ⌈0.95 n⌉"), quantile(95)),
	}
	if primary.HigherIsBetter && primary.Min == 0 && primary.Estimate == nil {
		list = append(list, estimated(judged(priced(of(costPerPoint, "Cost per point", "US dollars for one point of "+primary.Title+": a right answer, if it is right or wrong.", "sum of costs / sum of scores"))), perPoint))
	}
	if !primary.Binary || replicates < 2 {
		return list
	}
	m := of(flakiness, "Flakiness", "How often two replicates of an item differ: one passes by "+primary.Title+" and the other does not.", "2·c·(n−c) / (n·(n−1)) of c passes in n replicates")
	m.Max = 1
	list = append(list, judged(m))
	for k := 2; k <= replicates && primary.HigherIsBetter; k++ { // else a pass is the bad event
		if k > 10 && k%10 != 0 && k != replicates {
			continue
		}
		at, all := of(passAny+strconv.Itoa(k), fmt.Sprintf("Pass@%d", k), fmt.Sprintf("Probability that at least one of %d replicates passes by %s.", k, primary.Title), "1 − C(n−c, k)/C(n, k) of c passes in n replicates"),
			of(passAll+strconv.Itoa(k), fmt.Sprintf("Pass^%d", k), fmt.Sprintf("Probability that all of %d replicates pass by %s.", k, primary.Title), "C(c, k)/C(n, k) of c passes in n replicates")
		at.Source, all.Source = "Chen et al. 2021, Codex", "Yao et al. 2024, τ-bench"
		at.Max, all.Max, at.HigherIsBetter, all.HigherIsBetter = 1, 1, true, true
		list = append(list, judged(at), judged(all))
	}
	return list
}

// quantile is the value at place ⌈n·percent/100⌉ of the first column of rows.
func quantile(percent int) func(rows []eval.Counted) float64 {
	return func(rows []eval.Counted) float64 {
		if len(rows) == 0 {
			return math.NaN()
		}
		list, n := slices.Clone(rows), 0
		for _, r := range rows {
			n += int(r.N)
		}
		slices.SortFunc(list, func(a, b eval.Counted) int { return cmp.Compare(a.Row[0], b.Row[0]) })
		place, i := (n*percent+99)/100, 0
		for place -= int(list[0].N); place > 0; place -= int(list[i].N) {
			i++
		}
		return list[i].Row[0]
	}
}

// perPoint is the sum of costs over the sum of scores: without a point it is infinite, and NaN if
// nothing was paid.
func perPoint(rows []eval.Counted) float64 {
	cost, points := 0.0, 0.0
	for _, r := range rows {
		cost, points = cost+r.N*r.Row[0], points+r.N*r.Row[1]
	}
	return cost / max(0, points)
}

// An Adder adds the scores of the metrics that a study names to those of the suite.
type Adder struct {
	Metrics []eval.Metric
	Primary eval.Metric
	Unnamed []string // metrics of the suite that the study does not name
	scores  []eval.Score
}

// Add returns the scores of a case with those of the metrics, in the order of [eval.Scored],
// and without those of the suite for metrics that the study does not name. They are valid
// until the next call. taken is what each of its trials took.
func (a *Adder) Add(s eval.Scored, taken []eval.Taken) []eval.Score {
	a.scores = a.scores[:0]
	rest := s.Scores
	var passes, answered, unknown int
	for i := range s.Trials {
		t := &s.Trials[i]
		if t.Outcome.Kind == eval.Failed {
			continue
		}
		from := len(a.scores)
		own := rest
		for len(rest) > 0 && rest[0].Replicate == t.Trial.Replicate {
			if name := rest[0].Metric; !slices.Contains(a.Unnamed, name) && (!slices.Contains(columns, name) || a.names(name)) {
				a.scores = append(a.scores, rest[0])
			}
			rest = rest[1:]
		}
		points, why := a.points(a.scores[from:])
		a.took(own[:len(own)-len(rest)], t.Trial.Replicate, taken[i], points, why)
		switch answered++; {
		case why != "":
			unknown++
		case points == 1:
			passes++
		}
	}
	a.scores = append(a.scores, rest...) // of the whole case
	if answered > 0 {
		a.replicates(answered, passes, unknown, len(s.Trials)-answered)
	}
	return a.scores
}

func (a *Adder) names(metric string) bool {
	return slices.ContainsFunc(a.Metrics, func(m eval.Metric) bool { return m.Name == metric })
}

// points is the share of the first primary metric of a trial, or why there is none.
func (a *Adder) points(scores []eval.Score) (points float64, why string) {
	var sum eval.Fraction
	for _, s := range scores {
		switch {
		case s.Metric != a.Primary.Name:
		case s.Unscored != "":
			return 0, s.Unscored
		default:
			sum.Num, sum.Den = sum.Num+s.Num, sum.Den+s.Den
		}
	}
	if sum.Den == 0 {
		return 0, "no score of " + a.Primary.Name
	}
	return sum.Num / sum.Den, ""
}

// took adds what a trial took. own are its scores: a suite whose data say what an answer took
// scores it itself.
func (a *Adder) took(own []eval.Score, replicate int, t eval.Taken, points float64, why string) {
	for _, m := range a.Metrics {
		s := eval.Score{Replicate: replicate, Metric: m.Name, Den: 1}
		switch m.Name {
		case Cost, Latency, Calls, TokensIn, TokensOut:
			x, unknown, scored := valueOf(own, t, m.Name)
			if scored {
				continue
			}
			s.Num, s.Unscored = x, unknown
		case latency50, latency95:
			x, unknown, _ := valueOf(own, t, Latency)
			s.Row, s.Unscored = eval.Row{x}, unknown
		case costPerPoint:
			x, unknown, _ := valueOf(own, t, Cost)
			s.Row, s.Unscored = eval.Row{x, points}, cmp.Or(unknown, why)
		default:
			continue
		}
		if s.Unscored != "" {
			s.Num, s.Row = 0, nil
		}
		a.scores = append(a.scores, s)
	}
}

// valueOf is what a trial took of one kind, or why it is not known: what the suite scored, or else
// what the calls took.
func valueOf(own []eval.Score, t eval.Taken, name string) (x float64, unknown string, scored bool) {
	if i := slices.IndexFunc(own, func(s eval.Score) bool { return s.Metric == name }); i >= 0 {
		return own[i].Num, own[i].Unscored, true
	}
	x, unknown = of(t, name)
	return x, unknown, false
}

// of is what the calls of a trial took of one kind, or why it is not known. A trial without a call took
// nothing, unless its answer was made elsewhere.
func of(t eval.Taken, name string) (float64, string) {
	switch {
	case t.Given:
		return 0, "the answer is from a file, which does not say what it took"
	case t.Calls == 0:
		return 0, ""
	case name == Calls:
		return float64(t.Calls), ""
	case name == Cost && math.IsNaN(t.CostUSD):
		return 0, "the price of a call is not known"
	case name == Cost:
		return t.CostUSD, ""
	case name == Latency:
		return t.Seconds, ""
	case t.Uncounted:
		return 0, "a call does not say how many tokens it took"
	case name == TokensIn:
		return float64(t.TokensIn), ""
	}
	return float64(t.TokensOut), ""
}

// Known is what a trial took by column, as far as it is known: the scores of a suite whose data say
// it, else its calls. Of an answer without a call nothing is known: it was made elsewhere, or not
// measured.
func Known(t eval.ScoredTrial) map[string]float64 {
	known := map[string]float64{}
	for _, name := range columns {
		x, unknown, scored := valueOf(t.Scores, t.Taken, name)
		if unknown == "" && (scored || t.Taken.Calls > 0) {
			known[name] = x
		}
	}
	return known
}

// replicates adds what n replicates say of each other, c of which pass. Those that are not
// known, and those that failed, leave the case unscored.
func (a *Adder) replicates(n, c, unknown, failed int) {
	for _, m := range a.Metrics {
		k, err := strconv.Atoi(strings.TrimPrefix(strings.TrimPrefix(m.Name, passAny), passAll))
		if m.Name == flakiness {
			k = 2
		} else if err != nil {
			continue
		}
		s := eval.Score{Metric: m.Name, Den: 1}
		switch {
		case failed > 0:
			s.Unscored = "a replicate failed"
		case unknown > 0:
			s.Unscored = fmt.Sprintf("a replicate has no score of %s", a.Primary.Name)
		case n < k:
			s.Unscored = fmt.Sprintf("fewer than %d replicates were answered", k)
		case m.Name == flakiness:
			s.Num = 2 * float64(c) * float64(n-c) / (float64(n) * float64(n-1))
		case strings.HasPrefix(m.Name, passAny):
			s.Num = 1 - drawn(n, n-c, k)
		default:
			s.Num = drawn(n, c, k)
		}
		a.scores = append(a.scores, s)
	}
}

// drawn is the probability that k of n, drawn without replacement, are all among c of them.
func drawn(n, c, k int) float64 {
	p := 1.0
	for i := range k {
		p *= float64(max(0, c-i)) / float64(n-i)
	}
	return p
}
