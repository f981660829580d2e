package annotate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"unicode"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/stats"
)

// An Agreement compares two series of answers to one question: of two people, or of
// one person at two times. Only blind first answers count.
//
// What is computed depends on the question. Labels have kappas. Sets of options have
// also the share of options that both chose. Numbers have Krippendorff's alpha. Passages
// have the share of marked characters that both marked, 2a/(2a+b+c), since unmarked
// passages cannot be counted (Hripcsak & Rothschild 2005, JAMIA 12).
type Agreement struct {
	Task      string   `json:"task"`
	Question  string   `json:"question"`
	A         string   `json:"a"` // names of the series
	B         string   `json:"b"`
	Again     bool     `json:"again"`     // one person twice
	Automatic bool     `json:"automatic"` // a person and the automatic result
	Target    *float64 `json:"target,omitempty"`
	N         int      `json:"n"` // subjects
	Same      int      `json:"-"` // with equal answers

	// Of labels. A set of options is one label.
	Labels []string `json:"labels,omitempty"`
	Table  [][]int  `json:"table,omitempty"`

	// Measures are in the order in which they are shown. The first, of equal answers, always
	// exists.
	Measures []Measure    `json:"-"`
	Max      *eval.Number `json:"-"` // largest possible kappa with these margins

	ByLabel []LabelAgreement `json:"by_label,omitempty"`
	ByUnit  []UnitAgreement  `json:"by_unit,omitempty"`
	Notes   []string         `json:"notes,omitempty"`
}

// MarshalJSON has a key for each measure.
func (g Agreement) MarshalJSON() ([]byte, error) {
	type plain Agreement
	keys := map[string]any{}
	for _, m := range g.Measures {
		keys[m.Key] = m
	}
	if g.Max != nil {
		keys["cohen_kappa_max"] = *g.Max
	}
	return jsonv2.Marshal(struct {
		Facts    plain          `json:",inline"`
		Measures map[string]any `json:",inline"`
	}{plain(g), keys}, jsonv2.Deterministic(true))
}

// The keys of the measures.
const (
	Equal = "agreement" // share of subjects with equal answers
	Cohen = "cohen_kappa"
	// Intraclass is Fleiss' kappa of two ratings, which is Scott's pi: unlike Cohen's it
	// does not forgive a drift of the margins.
	Intraclass = "intraclass_kappa"
	AC1        = "gwet_ac1"
	// Overlap is of options that both chose, in options that either chose; or of
	// characters that both marked.
	Overlap = "overlap"
	Alpha   = "krippendorff_alpha" // of numbers
)

// A Measure is a number with its interval, NaN where there is none.
type Measure struct {
	Key   string
	Name  string
	Value float64
	CI    stats.Interval
	Note  string
}

// Measure is the measure of a key, or nil.
func (g *Agreement) Measure(key string) *Measure {
	if i := slices.IndexFunc(g.Measures, func(m Measure) bool { return m.Key == key }); i >= 0 {
		return &g.Measures[i]
	}
	return nil
}

// MarshalJSON writes the number and its interval, undefined ones as null.
func (m Measure) MarshalJSON() ([]byte, error) {
	return json.Marshal(eval.Measured{Value: eval.Number(m.Value), Low: eval.Number(m.CI.Low), High: eval.Number(m.CI.High)})
}

// Interval is the interval as text, "" if there is none.
func (m Measure) Interval() string {
	if math.IsNaN(m.Value) || math.IsNaN(m.CI.Low) {
		return ""
	}
	return fmt.Sprintf("%.3f to %.3f", m.CI.Low, m.CI.High)
}

// A LabelAgreement is the agreement on one label: of the times that either series
// has it, how often both do, 2a/(2a+b+c), and kappa of this label against all others.
// Both counts subjects, or characters of passages.
type LabelAgreement struct {
	Label string      `json:"label"`
	Both  int         `json:"both"`
	Share eval.Number `json:"share"`
	Kappa eval.Number `json:"kappa"` // undefined of passages
}

// A UnitAgreement is the agreement on one unit of the items, such as a field.
type UnitAgreement struct {
	Unit  string  `json:"unit"`
	N     int     `json:"n"`
	Same  int     `json:"-"`
	Equal Measure `json:"agreement"` // Wilson's interval
	// Kappa is Cohen's of labels, and Overlap that of passages; else undefined.
	Kappa   eval.Number `json:"kappa"`
	Overlap eval.Number `json:"overlap"`
}

const level = 0.95

// small is the number of subjects below which an agreement is called a screen.
const small = 50

// doubleCoded is the share of equal gold that double annotation aims at.
const doubleCoded = 0.80

// A pair is the answers of two series to a subject.
type pair struct {
	subject Subject
	a, b    *Event
}

// both are what a function gives of the answers of each series.
func both[T any](pairs []pair, of func(*Event) T) (a, b []T) {
	for _, p := range pairs {
		a, b = append(a, of(p.a)), append(b, of(p.b))
	}
	return a, b
}

// equals compares the answers of two series, pair by pair.
func equals[T comparable](a, b []T) []bool {
	same := make([]bool, len(a))
	for i := range a {
		same[i] = a[i] == b[i]
	}
	return same
}

// A comparison computes an agreement from the answers to a question, or to all questions about
// gold without one.
type comparison struct {
	*Agreement
	task  study.Task
	q     *study.Question
	pairs []pair
	err   error // the first one of the statistics
}

func (c *comparison) check(err error) { c.err = cmp.Or(c.err, err) }

// compute sets the measures, with notes before that on few subjects.
func (g *Agreement) compute(t study.Task, source Source, q *study.Question, pairs []pair, notes ...string) error {
	c := &comparison{Agreement: g, task: t, q: q, pairs: pairs}
	equal := make([]bool, len(pairs))
	for i, p := range pairs {
		is, err := same(t, source, q, p.a, p.b)
		c.check(err)
		equal[i] = is
	}
	switch {
	case q == nil: // the suite says no more than that
	case q.Type == "span":
		c.passages()
	case q.Type == "number":
		c.numbers()
	default:
		c.choices()
	}
	c.same(equal)
	if t.Of == "unit" {
		c.units(equal)
	}
	if q == nil {
		g.Notes = append(g.Notes, double(g.Measures[0].CI))
	}
	g.Notes = append(g.Notes, notes...)
	if g.N < small {
		text.AddCount(&g.Notes, g.N, "subject", "subjects", ": a screen, not a measurement; the interval says what is known")
	}
	return c.err
}

func (c *comparison) items() []string {
	items := make([]string, len(c.pairs))
	for i, p := range c.pairs {
		items[i] = p.subject.Item
	}
	return items
}

// sums adds numbers of subjects by item: the units of an item are not independent.
func (c *comparison) sums(of func(i int) (num, den float64)) (nums, dens []float64) {
	num, den := make([]float64, len(c.pairs)), make([]float64, len(c.pairs))
	for i := range num {
		num[i], den[i] = of(i)
	}
	nums, dens, err := stats.SumByCluster(num, den, c.items())
	c.check(err)
	return nums, dens
}

// addRatio adds a share of sums over items.
func (c *comparison) addRatio(key, name string, of func(i int) (num, den float64)) {
	nums, dens := c.sums(of)
	r, err := stats.RatioOfSums(nums, dens, level)
	c.check(err)
	note := fmt.Sprintf("  (%g of %g)", r.Num, r.Den)
	c.Measures = append(c.Measures, Measure{key, name, r.Value, r.CI.Clamp(0, 1), note})
}

// addSets adds the share of what both have in what either has.
func (c *comparison) addSets(name string, set func(*Event) []string) {
	c.addRatio(Overlap, name, func(i int) (num, den float64) {
		a, b := set(c.pairs[i].a), set(c.pairs[i].b)
		for _, x := range a {
			num += float64(one(slices.Contains(b, x)))
		}
		return num, float64(len(a)+len(b)) - num
	})
}

// resampling is of the intervals without a formula, by items.
var resampling = stats.BootstrapOptions{Resamples: 2000, Level: level, Seed: 1, Workers: 1}

// share is the share of equal answers.
func share(same, n int, ci stats.Interval) Measure {
	return Measure{Equal, "agreement", float64(same) / float64(n), ci, fmt.Sprintf("  (%d of %d)", same, n)}
}

// same counts equal answers, and puts their share first.
func (c *comparison) same(equal []bool) {
	nums, dens := c.sums(func(i int) (num, den float64) {
		c.Same += one(equal[i])
		return float64(one(equal[i])), 1
	})
	ratio, err := stats.ProportionOfSums(nums, dens, float64(c.N), level)
	c.check(err)
	if math.IsNaN(ratio.CI.Low) { // of one item
		ratio.CI = stats.Wilson(c.Same, c.N, level)
	}
	c.Measures = slices.Insert(c.Measures, 0, share(c.Same, c.N, ratio.CI))
	if len(nums) < c.N && len(c.Labels) > 0 {
		c.Notes = append(c.Notes, "the intervals of kappa and AC1 count units of one item as independent; that of the percentage does not")
	}
}

// choices compares labels, and sets of options also option by option.
func (c *comparison) choices() {
	a, b := both(c.pairs, c.label)
	c.Labels = labelsOf(c.task, *c.q, a, b)
	c.labels(a, b)
	if c.q.Type != "several" {
		c.codeSets()
		return
	}
	c.ByLabel = nil // of sets
	chosen := func(e *Event) []string { return e.Answer.List(c.q.Name) }
	for _, o := range c.q.Options {
		x, y := both(c.pairs, func(e *Event) bool { return slices.Contains(chosen(e), o) })
		c.addLabel(o, x, y)
	}
	c.addSets("options that both chose", chosen)
}

// codeSets compares the sets of codes that people gave to failures, for kappa of the primary code
// alone counts the same codes in another order as a difference.
func (c *comparison) codeSets() {
	if c.task.Kind == "failure" && c.q.Name == codePlaces[0] && !c.Automatic {
		c.addSets("codes that both gave, in any place", func(e *Event) []string { return e.Answer.codes() })
	}
}

// label is an answer as a label. That of a question that was left open is not an option.
func (c *comparison) label(e *Event) string {
	open := "no answer"
	for slices.Contains(c.q.Options, open) || slices.Contains(c.task.Arms, open) {
		open = "(" + open + ")"
	}
	return cmp.Or(e.label(c.task, *c.q), open)
}

// labelsOf are all labels that could be given, and the sets that were.
func labelsOf(t study.Task, q study.Question, a, b []string) []string {
	labels := []string{}
	switch {
	case q.Type == "choice" && t.Of == "pair":
		labels = append(slices.Clone(t.Arms), "tie")
	case q.Type == "choice":
		labels = slices.Clone(q.Options)
	}
	for _, l := range slices.Concat(a, b) {
		if !slices.Contains(labels, l) {
			labels = append(labels, l)
		}
	}
	if q.Type == "several" {
		slices.Sort(labels)
	}
	return labels
}

// cohen is Cohen's kappa of labels.
func (c *comparison) cohen(a, b []string) (stats.Kappa, [][]int) {
	table, err := stats.KappaTable(a, b, c.Labels)
	c.check(err)
	k, err := stats.CohenKappa(table, stats.Unweighted, level)
	c.check(err)
	return k, table
}

func (c *comparison) labels(a, b []string) {
	counts := make([][]int, c.N)
	for i := range a {
		counts[i] = make([]int, len(c.Labels))
		counts[i][slices.Index(c.Labels, a[i])]++
		counts[i][slices.Index(c.Labels, b[i])]++
	}
	cohen, table := c.cohen(a, b)
	fleiss, err := stats.FleissKappa(counts)
	c.check(err)
	ac1, err := stats.GwetAC1(counts, level)
	c.check(err)
	largest, note := eval.Number(cohen.Max), ""
	if largest.Defined() {
		note = fmt.Sprintf("  (largest possible %.3f)", largest)
	}
	c.Table, c.Max = table, &largest
	c.Measures = append(c.Measures, Measure{Cohen, "Cohen's kappa", cohen.Kappa, cohen.Interval().Clamp(-1, 1), note},
		Measure{Intraclass, "intraclass kappa", fleiss.Kappa, fleiss.Interval(level).Clamp(-1, 1), ""}, Measure{AC1, "Gwet's AC1", ac1.AC1, ac1.CI, ""})
	for _, l := range c.Labels {
		c.addLabel(l, equals(a, slices.Repeat([]string{l}, c.N)), equals(b, slices.Repeat([]string{l}, c.N)))
	}
	if cohen.Undefined != "" {
		note := "kappa is undefined: " + cohen.Undefined + "; read the percentage"
		if ac1.Undefined == "" {
			note += " and AC1"
		}
		c.Notes = append(c.Notes, note)
	}
	if c.Target != nil && !math.IsNaN(cohen.Kappa) {
		c.Notes = append(c.Notes, c.Standing())
	}
}

// addLabel adds the agreement on a label that answers have or have not.
func (c *comparison) addLabel(label string, a, b []bool) {
	table := [][]int{{0, 0}, {0, 0}}
	for i := range a {
		table[1-one(a[i])][1-one(b[i])]++ // yes first
	}
	k, err := stats.CohenKappa(table, stats.Unweighted, level)
	c.check(err)
	c.byLabel(label, table[0][0], 2*table[0][0]+table[0][1]+table[1][0], eval.Number(k.Kappa))
}

// byLabel adds a label unless neither series has it; marks are of the two together.
func (g *Agreement) byLabel(label string, both, marks int, kappa eval.Number) {
	if marks > 0 {
		g.ByLabel = append(g.ByLabel, LabelAgreement{label, both, dice(both, marks), kappa})
	}
}

// dice is 2a/(2a+b+c) of marks that both made and of all.
func dice(both, marks int) eval.Number { return eval.Number(2 * float64(both) / float64(marks)) }

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// numbers compares numbers on the interval scale.
func (c *comparison) numbers() {
	a, b := both(c.pairs, func(e *Event) float64 {
		x, _ := valueOf[float64](e.Answer, c.q.Name)
		return x
	})
	ratings := [][]float64{a, b}
	k, err := stats.KrippendorffAlpha(ratings, stats.IntervalScale)
	c.check(err)
	alpha := Measure{Key: Alpha, Name: "Krippendorff's alpha", Value: k.Alpha, CI: stats.Interval{Low: math.NaN(), High: math.NaN(), Level: level}}
	if k.Undefined != "" {
		c.Notes = append(c.Notes, "alpha is undefined: "+k.Undefined+"; read the percentage")
	} else if b, err := stats.KrippendorffClusterBootstrap(ratings, c.items(), stats.IntervalScale, resampling); err != nil {
		c.Notes = append(c.Notes, "alpha has no interval: "+err.Error()) // of tens of thousands of subjects
	} else {
		alpha.CI = b.BCa.Clamp(-1, 1)
	}
	c.Measures = append(c.Measures, alpha)
}

// A character of a page with a label.
type marked struct {
	page, at int
	label    string
}

// characters are the marked characters that are not white space.
func characters(spans []Span) map[marked]bool {
	set := map[marked]bool{}
	for _, s := range spans {
		for at, c := range []rune(s.Text) {
			if !unicode.IsSpace(c) {
				set[marked{s.Page, s.Start + at, s.Label}] = true
			}
		}
	}
	return set
}

// common counts the marked characters that both passages have, and those of the two together.
func common(x, y []Span) (both, marks int) {
	a, b := characters(x), characters(y)
	for c := range a {
		both += one(b[c])
	}
	return both, len(a) + len(b)
}

// labelled are the passages with a label.
func labelled(spans []Span, label string) []Span {
	return slices.DeleteFunc(slices.Clone(spans), func(s Span) bool { return s.Label != label })
}

// borders counts the passages that both have, whatever their values and records.
func borders(a, b []Span) (n int) {
	only := func(s Span) Span { return Span{Page: s.Page, Start: s.Start, End: s.End, Label: s.Label} }
	rest := map[Span]int{}
	for _, s := range b {
		rest[only(s)]++
	}
	for _, s := range a {
		if rest[only(s)] > 0 {
			rest[only(s)]--
			n++
		}
	}
	return n
}

func (c *comparison) spans(e *Event) []Span { return e.Answer.Spans(c.q.Name) }

// passages compares marked passages by their characters.
func (c *comparison) passages() {
	a, b := both(c.pairs, c.spans)
	c.addRatio(Overlap, "characters that both marked", func(i int) (num, den float64) {
		both, marks := common(a[i], b[i])
		return float64(2 * both), float64(marks)
	})
	for _, l := range c.q.Options {
		both, marks := 0, 0
		for i := range a {
			own, all := common(labelled(a[i], l), labelled(b[i], l))
			both, marks = both+own, marks+all
		}
		c.byLabel(l, both, marks, eval.Undefined())
	}
}

// units compares the answers unit by unit.
func (c *comparison) units(equal []bool) {
	var names []string
	of := map[string][]pair{}
	same, marked := map[string]int{}, map[string][2]int{}
	for i, p := range c.pairs {
		name := p.subject.Unit
		if of[name] == nil {
			names = append(names, name)
		}
		of[name] = append(of[name], p)
		same[name] += one(equal[i])
		if c.q != nil && c.q.Type == "span" {
			both, marks := common(c.spans(p.a), c.spans(p.b))
			marked[name] = [2]int{marked[name][0] + both, marked[name][1] + marks}
		}
	}
	for _, name := range names {
		u := UnitAgreement{Unit: name, N: len(of[name]), Same: same[name], Kappa: eval.Undefined(), Overlap: eval.Undefined()}
		u.Equal = share(u.Same, u.N, stats.Wilson(u.Same, u.N, level))
		if m := marked[name]; m[1] > 0 {
			u.Overlap = dice(m[0], m[1])
		}
		if len(c.Labels) > 0 {
			k, _ := c.cohen(both(of[name], c.label))
			u.Kappa = eval.Number(k.Kappa)
		}
		c.ByUnit = append(c.ByUnit, u)
	}
}

// double says what an interval says of the aim of double annotation.
func double(ci stats.Interval) string {
	said := "undecided, the interval has values on both sides"
	switch {
	case ci.Low > doubleCoded:
		said = "met"
	case ci.High <= doubleCoded:
		said = "not met"
	}
	return fmt.Sprintf("aim of double annotation, more than %.0f %%: %s", 100*doubleCoded, said)
}

// Standing compares kappa and its interval with the target.
func (g *Agreement) Standing() string {
	kappa := g.Measure(Cohen)
	if g.Target == nil || kappa == nil || math.IsNaN(kappa.Value) {
		return "kappa is undefined: it cannot be compared with a target"
	}
	const rounding = 1e-12 // 0.8 from whole numbers may be a bit less
	met := kappa.Value >= *g.Target-rounding
	s := fmt.Sprintf("kappa %s the target of %.2f", map[bool]string{true: "reaches", false: "is below"}[met], *g.Target)
	switch ci := kappa.CI; {
	case math.IsNaN(ci.Low):
		s += "; it has no interval here, see that of the percentage"
	case ci.Low >= *g.Target:
		s += ", and so does its whole interval"
	case ci.High < *g.Target:
		s += ", and so is its whole interval"
	default:
		s += "; its interval has values on both sides, so the true value may be on either"
	}
	return s
}

// decimals is a number with three decimals, "undefined" for NaN.
func decimals(number any) string {
	x := reflect.ValueOf(number).Float()
	if math.IsNaN(x) {
		return "undefined"
	}
	return fmt.Sprintf("%.3f", x)
}
