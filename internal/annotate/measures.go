package annotate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/measure"
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
// passages cannot be counted (Hripcsak & Rothschild 2005, JAMIA 12), and
// kappa of characters, marked or not.
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
	Kappa   = "character_kappa"
	Borders = "same_borders"       // of passages
	Alpha   = "krippendorff_alpha" // of numbers
	Shift   = "shift"              // the mean of the second numbers less the first
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

// A pairing is the answers of two series to a question, by subject.
type pairing struct {
	subjects []Subject
	a, b     []*Event
}

func (p pairing) items() []string {
	items := make([]string, len(p.subjects))
	for i, s := range p.subjects {
		items[i] = s.Item
	}
	return items
}

// labels are the answers as labels.
func (p pairing) labels(t study.Task, q *study.Question) (a, b []string) {
	open := unanswered(t, *q)
	for i := range p.subjects {
		a, b = append(a, cmp.Or(p.a[i].label(t, *q), open)), append(b, cmp.Or(p.b[i].label(t, *q), open))
	}
	return a, b
}

// numbers are the answers to a question about a number.
func (p pairing) numbers(q *study.Question) (a, b []float64) {
	for i := range p.subjects {
		x, _ := valueOf[float64](p.a[i].Answer, q.Name)
		y, _ := valueOf[float64](p.b[i].Answer, q.Name)
		a, b = append(a, x), append(b, y)
	}
	return a, b
}

// sums adds numbers of subjects by item: the units of an item are not independent.
func (p pairing) sums(of func(i int) (num, den float64)) (nums, dens []float64, err error) {
	num, den := make([]float64, len(p.subjects)), make([]float64, len(p.subjects))
	for i := range num {
		num[i], den[i] = of(i)
	}
	return stats.SumByCluster(num, den, p.items())
}

// addRatio adds a share of sums over items.
func (g *Agreement) addRatio(p pairing, key, name string, of func(i int) (num, den float64)) error {
	nums, dens, err := p.sums(of)
	if err != nil {
		return err
	}
	r, err := stats.RatioOfSums(nums, dens, level)
	g.Measures = append(g.Measures, Measure{key, name, r.Value, r.CI.Clamp(0, 1), fmt.Sprintf("  (%g of %g)", r.Num, r.Den)})
	return err
}

// addSets adds the share of what both have in what either has.
func (g *Agreement) addSets(p pairing, name string, set func(*Event) []string) error {
	return g.addRatio(p, Overlap, name, func(i int) (num, den float64) {
		a, b := set(p.a[i]), set(p.b[i])
		for _, x := range a {
			if slices.Contains(b, x) {
				num++
			}
		}
		return num, float64(len(a)+len(b)) - num
	})
}

// codeSets compares the sets of codes of failures, for kappa of the primary code alone
// counts the same codes in another order as a difference.
func (g *Agreement) codeSets(t study.Task, q *study.Question, p pairing) error {
	if t.Kind != "failure" || q.Name != codePlaces[0] {
		return nil
	}
	return g.addSets(p, "codes that both gave, in any place", func(e *Event) []string { return e.Answer.codes() })
}

// resamples of the intervals without a formula.
const resamples = 2000

// addResampled adds a statistic of subjects, with an interval of a bootstrap over items.
func (g *Agreement) addResampled(p pairing, key, name string, statistic func(subjects []int) float64) error {
	var groups [][]int
	every, at := make([]int, len(p.subjects)), map[string]int{}
	for i, item := range p.items() {
		every[i] = i
		k, ok := at[item]
		if !ok {
			k = len(groups)
			at[item], groups = k, append(groups, nil)
		}
		groups[k] = append(groups[k], i)
	}
	m := Measure{Key: key, Name: name, Value: statistic(every), CI: stats.Interval{Low: math.NaN(), High: math.NaN(), Level: level}}
	var err error
	if len(groups) > 1 && !math.IsNaN(m.Value) {
		var b stats.Bootstrap
		b, err = stats.BootstrapClusters(len(groups), func(drawn []int) float64 {
			var subjects []int
			for _, k := range drawn {
				subjects = append(subjects, groups[k]...)
			}
			return statistic(subjects)
		}, stats.BootstrapOptions{Resamples: resamples, Level: level, Seed: 1, Workers: 1})
		if m.CI = b.BCa.Clamp(-1, 1); math.IsNaN(b.BCa.Low) {
			m.CI = b.Percentile.Clamp(-1, 1)
		}
	}
	g.Measures = append(g.Measures, m)
	return err
}

// share is the share of equal answers.
func share(same, n int, ci stats.Interval) Measure {
	return Measure{Equal, "agreement", float64(same) / float64(n), ci, fmt.Sprintf("  (%d of %d)", same, n)}
}

// same counts equal answers, and puts their share first.
func (g *Agreement) same(p pairing, equal func(int) bool) error {
	nums, dens, err := p.sums(func(i int) (num, den float64) {
		if equal(i) {
			g.Same++
			num = 1
		}
		return num, 1
	})
	if err != nil {
		return err
	}
	ratio, err := stats.ProportionOfSums(nums, dens, float64(g.N), level)
	if math.IsNaN(ratio.CI.Low) { // of one item
		ratio.CI = stats.Wilson(g.Same, g.N, level)
	}
	g.Measures = slices.Insert(g.Measures, 0, share(g.Same, g.N, ratio.CI))
	if len(nums) < g.N && len(g.Labels) > 0 {
		g.Notes = append(g.Notes, "the intervals of kappa and AC1 count units of one item as independent; that of the percentage does not")
	}
	return err
}

// unanswered is the label of a question that was left open. It is not an option.
func unanswered(t study.Task, q study.Question) string {
	name := "no answer"
	for slices.Contains(q.Options, name) || slices.Contains(t.Arms, name) {
		name = "(" + name + ")"
	}
	return name
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

func (g *Agreement) labels(a, b []string) (err error) {
	if g.Table, err = stats.KappaTable(a, b, g.Labels); err != nil {
		return err
	}
	counts := make([][]int, g.N)
	for i := range a {
		counts[i] = make([]int, len(g.Labels))
		counts[i][slices.Index(g.Labels, a[i])]++
		counts[i][slices.Index(g.Labels, b[i])]++
	}
	cohen, errCohen := stats.CohenKappa(g.Table, stats.Unweighted, level)
	fleiss, errFleiss := stats.FleissKappa(counts)
	ac1, errAC1 := stats.GwetAC1(counts, level)
	if err := cmp.Or(errCohen, errFleiss, errAC1); err != nil {
		return err
	}
	largest, note := eval.Number(cohen.Max), ""
	if largest.Defined() {
		note = fmt.Sprintf("  (largest possible %.3f)", largest)
	}
	g.Max = &largest
	g.Measures = append(g.Measures, Measure{Cohen, "Cohen's kappa", cohen.Kappa, cohen.Interval().Clamp(-1, 1), note},
		Measure{Intraclass, "intraclass kappa", fleiss.Kappa, fleiss.Interval(level).Clamp(-1, 1), ""}, Measure{AC1, "Gwet's AC1", ac1.AC1, ac1.CI, ""})
	for _, l := range g.Labels {
		if err := g.addLabel(l, func(i int) bool { return a[i] == l }, func(i int) bool { return b[i] == l }); err != nil {
			return err
		}
	}
	if cohen.Undefined != "" {
		note := "kappa is undefined: " + cohen.Undefined + "; read the percentage"
		if ac1.Undefined == "" {
			note += " and AC1"
		}
		g.Notes = append(g.Notes, note)
	}
	if g.Target != nil && !math.IsNaN(cohen.Kappa) {
		g.Notes = append(g.Notes, g.Standing())
	}
	return nil
}

// addLabel adds the agreement on a label that the series have or have not.
func (g *Agreement) addLabel(label string, a, b func(int) bool) error {
	table := [][]int{{0, 0}, {0, 0}}
	for i := range g.N {
		table[1-one(a(i))][1-one(b(i))]++ // yes first
	}
	both := table[0][0]
	k, err := stats.CohenKappa(table, stats.Unweighted, level)
	g.byLabel(label, both, 2*both+table[0][1]+table[1][0], eval.Number(k.Kappa))
	return err
}

// byLabel adds a label unless neither series has it; marks are of the two together.
func (g *Agreement) byLabel(label string, both, marks int, kappa eval.Number) {
	if marks > 0 {
		g.ByLabel = append(g.ByLabel, LabelAgreement{label, both, eval.Number(2 * float64(both) / float64(marks)), kappa})
	}
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// options compares the sets of a question with several answers option by option.
func (g *Agreement) options(q *study.Question, p pairing) error {
	g.ByLabel = nil // of sets
	set := func(e *Event) []string { return e.Answer.list(q.Name) }
	for _, o := range q.Options {
		has := func(of []*Event) func(int) bool {
			return func(i int) bool { return slices.Contains(set(of[i]), o) }
		}
		if err := g.addLabel(o, has(p.a), has(p.b)); err != nil {
			return err
		}
	}
	return g.addSets(p, "options that both chose", set)
}

// numbers compares numbers on the interval scale.
func (g *Agreement) numbers(a, b []float64, p pairing) error {
	k, err := stats.KrippendorffAlpha([][]float64{a, b}, stats.IntervalScale)
	if err != nil {
		return err
	}
	if k.Undefined != "" {
		g.Notes = append(g.Notes, "alpha is undefined: "+k.Undefined+"; read the percentage")
	}
	if err := g.addResampled(p, Alpha, "Krippendorff's alpha", func(subjects []int) float64 {
		var ratings [2][]float64
		for _, i := range subjects {
			ratings[0], ratings[1] = append(ratings[0], a[i]), append(ratings[1], b[i])
		}
		k, err := stats.KrippendorffAlpha(ratings[:], stats.IntervalScale)
		if err != nil {
			return math.NaN() // the numbers were accepted above
		}
		return k.Alpha
	}); err != nil {
		return err
	}
	shifts, counts, err := p.sums(func(i int) (num, den float64) { return b[i] - a[i], 1 })
	if err != nil {
		return err
	}
	mean, err := stats.RatioOfSums(shifts, counts, level)
	g.Measures = append(g.Measures, Measure{Key: Shift, Name: "second less first", Value: mean.Value, CI: mean.CI})
	return err
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
		at := s.Start
		for _, c := range s.Text {
			if !unicode.IsSpace(c) {
				set[marked{s.Page, at, s.Label}] = true
			}
			at++
		}
	}
	return set
}

// common counts the characters that both marked.
func common(a, b map[marked]bool) (n int) {
	for c := range a {
		if b[c] {
			n++
		}
	}
	return n
}

func unlabelled(set map[marked]bool) map[marked]bool {
	plain := map[marked]bool{}
	for c := range set {
		plain[marked{page: c.page, at: c.at}] = true
	}
	return plain
}

// borders counts the passages that both have.
func borders(a, b []Span) (n int) {
	rest := slices.Clone(b)
	for _, s := range a {
		if i := slices.Index(rest, s); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
			n++
		}
	}
	return n
}

// passages compares marked passages by their characters and by their borders.
func (g *Agreement) passages(t study.Task, source Shower, q *study.Question, p pairing) error {
	a, b := make([]map[marked]bool, g.N), make([]map[marked]bool, g.N)
	tables := make([][2][2]float64, g.N) // of characters: marked by the first, by the second
	stale := 0
	for i, s := range p.subjects {
		a[i], b[i] = characters(p.a[i].Answer.Spans(q.Name)), characters(p.b[i].Answer.Spans(q.Name))
		shown, err := show(t, source, s, p.a[i].Swapped)
		if err != nil || shown.Hash() != p.a[i].Shown {
			stale++
			continue
		}
		plainA, plainB := unlabelled(a[i]), unlabelled(b[i])
		for _, page := range shown.Pages {
			at := 0
			for _, c := range page.Text {
				if m := (marked{page: page.Number, at: at}); !unicode.IsSpace(c) {
					tables[i][1-one(plainA[m])][1-one(plainB[m])]++
				}
				at++
			}
		}
	}
	if err := g.addRatio(p, Overlap, "characters that both marked", func(i int) (num, den float64) {
		return float64(2 * common(a[i], b[i])), float64(len(a[i]) + len(b[i]))
	}); err != nil {
		return err
	}
	for _, l := range q.Options {
		both, marks := 0, 0
		for i := range a {
			for c := range a[i] {
				if c.label == l {
					marks++
					both += one(b[i][c])
				}
			}
			for c := range b[i] {
				marks += one(c.label == l)
			}
		}
		g.byLabel(l, both, marks, eval.Undefined())
	}
	if stale > 0 {
		g.Notes = append(g.Notes, fmt.Sprintf("kappa of characters without %s: the study shows something else now", text.Plural(stale, "subject", "subjects")))
	}
	if err := g.addResampled(p, Kappa, "Cohen's kappa of characters", func(subjects []int) float64 {
		var t [2][2]float64
		for _, i := range subjects {
			for x := range 2 {
				for y := range 2 {
					t[x][y] += tables[i][x][y]
				}
			}
		}
		return measure.Kappa(t[0][0], t[0][1], t[1][0], t[1][1])
	}); err != nil {
		return err
	}
	return g.addRatio(p, Borders, "passages with the same borders", func(i int) (num, den float64) {
		a, b := p.a[i].Answer.Spans(q.Name), p.b[i].Answer.Spans(q.Name)
		return float64(2 * borders(a, b)), float64(len(a) + len(b))
	})
}

// units compares the answers unit by unit.
func (g *Agreement) units(t study.Task, q *study.Question, p pairing, equal func(int) bool) error {
	of := map[string][]int{}
	var names []string
	for i, s := range p.subjects {
		if of[s.Unit] == nil {
			names = append(names, s.Unit)
		}
		of[s.Unit] = append(of[s.Unit], i)
	}
	for _, name := range names {
		u := UnitAgreement{Unit: name, N: len(of[name]), Kappa: eval.Undefined(), Overlap: eval.Undefined()}
		var own pairing
		both, marks := 0, 0
		for _, i := range of[name] {
			own.subjects, own.a, own.b = append(own.subjects, p.subjects[i]), append(own.a, p.a[i]), append(own.b, p.b[i])
			u.Same += one(equal(i))
			if q != nil && q.Type == "span" {
				a, b := characters(p.a[i].Answer.Spans(q.Name)), characters(p.b[i].Answer.Spans(q.Name))
				both, marks = both+common(a, b), marks+len(a)+len(b)
			}
		}
		u.Equal = share(u.Same, u.N, stats.Wilson(u.Same, u.N, level))
		if marks > 0 {
			u.Overlap = eval.Number(float64(2*both) / float64(marks))
		}
		if len(g.Labels) > 0 {
			a, b := own.labels(t, q)
			table, err := stats.KappaTable(a, b, g.Labels)
			if err != nil {
				return err
			}
			k, err := stats.CohenKappa(table, stats.Unweighted, level)
			if err != nil {
				return err
			}
			u.Kappa = eval.Number(k.Kappa)
		}
		g.ByUnit = append(g.ByUnit, u)
	}
	return nil
}

func (g *Agreement) compute(t study.Task, source Source, q *study.Question, p pairing) (err error) {
	var equal func(i int) bool
	if q != nil {
		g.Question = q.Text
	}
	switch {
	case q == nil:
		same := make([]bool, g.N)
		for i, s := range p.subjects {
			if same[i], err = source.Same(s.Item, p.a[i].Answer.unitGold(s.Unit), p.b[i].Answer.unitGold(s.Unit)); err != nil {
				return err
			}
		}
		equal = func(i int) bool { return same[i] }
	case q.Type == "span":
		equal = func(i int) bool {
			a, b := p.a[i].Answer.Spans(q.Name), p.b[i].Answer.Spans(q.Name)
			return len(a) == len(b) && borders(a, b) == len(a)
		}
		err = g.passages(t, source, q, p)
	case q.Type == "number":
		a, b := p.numbers(q)
		equal = func(i int) bool { return a[i] == b[i] }
		err = g.numbers(a, b, p)
	default:
		a, b := p.labels(t, q)
		equal = func(i int) bool { return a[i] == b[i] }
		g.Labels = labelsOf(t, *q, a, b)
		if err = g.labels(a, b); err == nil && q.Type == "several" {
			err = g.options(q, p)
		} else if err == nil {
			err = g.codeSets(t, q, p)
		}
	}
	if err != nil {
		return err
	}
	if err := g.same(p, equal); err != nil {
		return err
	}
	if t.Of == "unit" {
		if err := g.units(t, q, p, equal); err != nil {
			return err
		}
	}
	if q == nil {
		g.Notes = append(g.Notes, double(g.Measures[0].CI))
	}
	g.small()
	return nil
}

func (g *Agreement) small() {
	if g.N < small {
		g.Notes = append(g.Notes, fmt.Sprintf("%s: a screen, not a measurement; the interval says what is known", text.Plural(g.N, "subject", "subjects")))
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

// Met reports whether kappa reaches the target. ok is false without a target or kappa.
func (g *Agreement) Met() (met, ok bool) {
	kappa := g.Measure(Cohen)
	if g.Target == nil || kappa == nil || math.IsNaN(kappa.Value) {
		return false, false
	}
	const rounding = 1e-12 // 0.8 from whole numbers may be a bit less
	return kappa.Value >= *g.Target-rounding, true
}

// Standing compares kappa and its interval with the target.
func (g *Agreement) Standing() string {
	met, ok := g.Met()
	if !ok {
		return "kappa is undefined: it cannot be compared with a target"
	}
	s := fmt.Sprintf("kappa reaches the target of %.2f", *g.Target)
	if !met {
		s = fmt.Sprintf("kappa is below the target of %.2f", *g.Target)
	}
	switch ci := g.Measure(Cohen).CI; {
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
func decimals(x float64) string {
	if math.IsNaN(x) {
		return "undefined"
	}
	return fmt.Sprintf("%.3f", x)
}
