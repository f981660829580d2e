package main

import (
	"fmt"
	"slices"
	"strings"
)

// icc is the intraclass correlation of all cells with clusters.
const icc = 0.2

// A truth is what is true of the data of a cell, and decides whether a pass is
// right.
type truth string

const (
	noDifference truth = "null"   // no arm differs from the base, and the rule asks for more than 0
	atMargin     truth = "margin" // the arm is worse by the margin, and the rule asks for less
	effect       truth = "effect" // the first arm is better: a pass is right
	rareLosses   truth = "losses" // the arm never wins and loses rarely, by more than the rule allows
	atLimit      truth = "limit"  // the rate is the limit, and the rule asks for less
)

// A cell is one kind of study that is simulated many times.
type cell struct {
	name    string
	method  string // planned test; "" without comparisons
	design  design
	metric  string
	truth   truth
	diffs   []float64 // true differences of the arms to the base
	rate    float64   // true rate of a cell without comparisons
	margin  float64   // of the rule
	rule    string
	compare []string // arms compared with the base
	assume  string   // what plan is told of the scores, in YAML; "" for no promise
	source  func() source
	looks   int // at shares of the items, until one passes; 0: one look at all
	special
}

// What is special of a cell.
type special struct {
	biased  bool // no intervals cover the truth together, such as where scores are missing
	classes bool // each comparison is an outcome of its own that passes, instead of one rule for any
	// named: the verdict must say what it rests on. A pass that says so is none.
	named bool
}

// right reports whether a pass is the right verdict.
func (c cell) right() bool { return c.truth == effect }

// base is the arm that others are compared with.
const base = "b"

// arms lists the arms in the order of the source.
func (c cell) arms() []string {
	if c.method == "" {
		return []string{"a"}
	}
	return append(append([]string{}, c.compare...), base)
}

// A measure is how scores look, with the differences that are simulated.
type measure struct {
	name   string
	metric string
	base   float64 // mean of the base
	margin float64
	effect map[string]float64 // by design, for a power of about 0.7 to 0.9
	draw   func(d design, base float64, diffs []float64, icc float64) source
}

var (
	eight     = design{"8x5", 8, 5}
	thirty    = design{"30x2", 30, 2}
	unrelated = design{"none", 60, 1}

	measures = []measure{
		{"binary", passed, 0.6, 0.1, map[string]float64{"8x5": 0.3, "30x2": 0.2, "none": 0.2}, dichotomous},
		{"continuous", score, 0.41, 0.05, map[string]float64{"8x5": 0.08, "30x2": 0.05, "none": 0.05}, continuous},
	}
)

// cells lists all cells.
func cells() []cell {
	var list []cell
	for _, method := range []string{"auto", "permutation", "mixed_effects"} {
		for _, d := range []design{eight, thirty, unrelated} {
			for _, m := range measures {
				for _, comparisons := range []int{1, 3} {
					list = append(list, m.cell(method, d, noDifference, make([]float64, comparisons)))
					diffs := make([]float64, comparisons)
					diffs[0] = m.effect[d.name]
					list = append(list, m.cell(method, d, effect, diffs))
				}
				list = append(list, m.cell(method, d, atMargin, []float64{-m.margin}))
			}
		}
	}
	for _, method := range []string{"auto", "permutation"} {
		for _, n := range []int{20, 100} {
			for _, margin := range []float64{0.01, 0.02} {
				list = append(list, fewDiscordant(method, n, margin))
			}
		}
	}
	for _, d := range []design{eight, thirty, {"100x5", 100, 5}, {"200x1", 200, 1}} {
		for _, limit := range []float64{0.02, 0.05, 0.10} {
			list = append(list, rateAtLimit(d, limit))
		}
	}
	return slices.Concat(list, hardCells(), ruleCells())
}

// cell is a cell in which some arms are compared with the base. The study asks
// whether any of them is better.
func (m measure) cell(method string, d design, t truth, diffs []float64) cell {
	c := cell{name: fmt.Sprintf("%s/%s/%s/%d/%s", method, d.name, m.name, len(diffs), t),
		method: method, design: d, metric: m.metric, truth: t, diffs: diffs, compare: []string{"a"},
		source: func() source { return m.draw(d, m.base, diffs, icc) }}
	if len(diffs) > 1 {
		c.compare = nil
		for k := range diffs {
			c.compare = append(c.compare, fmt.Sprintf("a%d", k+1))
		}
	}
	if t == atMargin {
		c.margin = m.margin
	}
	c.rule = better(" || ", c.compare, c.metric, c.margin)
	if t == effect {
		c.assume = m.assumption(d, c)
	}
	return c
}

// assumption states the moments of the scores for plan.
func (m measure) assumption(d design, c cell) string {
	sd, correlation := spread(m.metric, m.base, c.diffs[0])
	between := icc
	if d.size == 1 {
		between = 0
	}
	scores := []string{fmt.Sprintf("{arm: %s, metric: %s, value: %v}", base, m.metric, m.base)}
	for k, arm := range c.compare {
		scores = append(scores, fmt.Sprintf("{arm: %s, metric: %s, value: %v}", arm, m.metric, m.base+c.diffs[k]))
	}
	return fmt.Sprintf("assume: [{name: truth, icc: %v, correlation: %v, sd: %v, scores: [%s]}]\n", between, correlation, sd, strings.Join(scores, ", "))
}

// better is the rule that any (||) or all (&&) of the arms are better than the base, or
// worse by less than a margin.
func better(join string, arms []string, metric string, margin float64) string {
	var parts []string
	for _, a := range arms {
		parts = append(parts, fmt.Sprintf("diff_low('%s', '%s', '%s') > %v", a, base, metric, 0-margin))
	}
	return strings.Join(parts, join)
}

// fewDiscordant is a cell of independent items in which the arm loses 3 % of
// items and wins none.
func fewDiscordant(method string, n int, margin float64) cell {
	const loss = 0.03
	return cell{name: fmt.Sprintf("%s/n%d/binary/1/losses-%v", method, n, margin), method: method, design: design{fmt.Sprintf("n%d", n), n, 1},
		metric: passed, truth: rareLosses, diffs: []float64{-loss}, margin: margin, compare: []string{"a"},
		rule: better("", []string{"a"}, passed, margin), source: func() source { return losses(n, loss) }}
}

// rateAtLimit is a cell of one arm whose rate is the limit that the rule sets.
// Items are documents with several opportunities.
func rateAtLimit(d design, limit float64) cell {
	return cell{name: fmt.Sprintf("rate/%s/limit-%v", d.name, limit), design: d, metric: rate, truth: atLimit, rate: limit,
		rule: fmt.Sprintf("high('a', 'rate') < %v", limit), source: func() source { return opportunities(d, limit, icc) }}
}

// ruleCells are rules of several comparisons beside those of any of three, which
// [measure.cell] makes: two that must hold, of which one is null or both are effects, and
// three outcomes of which any passes. Chance has one try at the first and three at the last.
func ruleCells() (list []cell) {
	m := measures[0]
	for _, second := range []float64{0.2, 0} {
		c := m.cell("auto", unrelated, noDifference, []float64{0.2, second})
		c.biased = true // they are not corrected
		c.name, c.rule = fmt.Sprintf("and/none/binary/2/%v-%v", c.diffs[0], second), better(" && ", c.compare, c.metric, 0)
		if second > 0 {
			c.truth = effect
			c.assume = m.assumption(unrelated, c)
		}
		list = append(list, c)
	}
	c := m.cell("auto", unrelated, noDifference, make([]float64, 3))
	c.name, c.classes = "outcomes/none/binary/3/null", true
	return append(list, c)
}
