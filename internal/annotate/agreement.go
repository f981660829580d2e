package annotate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

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

// add adds a measure, unless it could not be computed.
func (g *Agreement) add(m Measure, err error) error {
	if err == nil {
		g.Measures = append(g.Measures, m)
	}
	return err
}

// MarshalJSON writes the number and its interval, undefined ones as null.
func (m Measure) MarshalJSON() ([]byte, error) {
	return json.Marshal(eval.Measured{Value: eval.Number(m.Value), Low: eval.Number(m.CI.Low), High: eval.Number(m.CI.High)})
}

// share is the share of equal answers.
func share(same, n int, ci stats.Interval) Measure {
	return Measure{Equal, "agreement", float64(same) / float64(n), ci, fmt.Sprintf("  (%d of %d)", same, n)}
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

// resamples of the intervals without a formula.
const resamples = 2000

// doubleCoded is the share of equal gold that double annotation aims at.
const doubleCoded = 0.80

// A pairing is the answers of two series to a question, by subject.
type pairing struct {
	subjects []Subject
	a, b     []*Event
}

// Agreements compares all pairs of people, and the rounds of each person, on each
// question but those for text. A task that makes gold has also a comparison of the gold
// as a whole. The source shows the texts of passages.
func (r *Result) Agreements(source Source) ([]Agreement, error) {
	var list []Agreement
	add := func(v *Work, pass int, w *Work, passW int) error {
		if makesGold(r.Task) {
			if err := r.compare(&list, source, nil, v, pass, w, passW); err != nil {
				return err
			}
		}
		for _, q := range r.Task.Ask {
			if q.Type == "text" {
				continue
			}
			if err := r.compare(&list, source, &q, v, pass, w, passW); err != nil {
				return err
			}
		}
		return nil
	}
	for i, w := range r.Everyone {
		for _, v := range r.Everyone[i+1:] {
			if err := add(w, passFirst, v, passFirst); err != nil {
				return nil, err
			}
		}
		if err := add(w, passFirst, w, passAgain); err != nil {
			return nil, err
		}
	}
	return list, r.compareAutomatic(&list, source)
}

// compare adds the comparison of two series on a question, or on gold as a whole.
func (r *Result) compare(list *[]Agreement, source Source, q *study.Question, v *Work, pass int, w *Work, passW int) error {
	var p pairing
	open := 0
	for _, s := range r.queue.Subjects {
		x, y := v.given[slot{s, pass}], w.given[slot{s, passW}]
		if x == nil || y == nil || x.First == nil || y.First == nil || x.First.Sighted || y.First.Sighted ||
			q != nil && (!q.Applies(x.First.Answer.Text) || !q.Applies(y.First.Answer.Text)) {
			continue
		}
		if q != nil && q.Type == "number" {
			_, okA := x.First.Answer.number(q.Name)
			if _, okB := y.First.Answer.number(q.Name); !okA || !okB {
				open++
				continue
			}
		}
		p.subjects, p.a, p.b = append(p.subjects, s), append(p.a, x.First), append(p.b, y.First)
	}
	if len(p.subjects) == 0 {
		return nil
	}
	g := Agreement{Task: r.Task.Name, Question: "Gold: the same value, or none", A: v.Person, B: w.Person, N: len(p.subjects), Target: r.Task.Target}
	if v == w {
		g.Again, g.A, g.B = true, v.Person+", first", v.Person+", again"
	}
	if open > 0 {
		g.Notes = append(g.Notes, text.Plural(open, "subject without a number of both is", "subjects without a number of both are")+" not compared")
	}
	if err := g.compute(r.Task, source, q, p); err != nil {
		return fmt.Errorf("agreement of %s and %s in task %s: %w", g.A, g.B, g.Task, err)
	}
	*list = append(*list, g)
	return nil
}

func (g *Agreement) compute(t study.Task, source Source, q *study.Question, p pairing) (err error) {
	var equal func(i int) bool
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
		g.Question = q.Text
		equal = func(i int) bool { return sameSpans(p.a[i].Answer.Spans(q.Name), p.b[i].Answer.Spans(q.Name)) }
		err = g.passages(t, source, q, p)
	case q.Type == "number":
		g.Question = q.Text
		a, b := p.numbers(q)
		equal = func(i int) bool { return a[i] == b[i] }
		err = g.numbers(a, b, p)
	default:
		g.Question = q.Text
		a, b := make([]string, g.N), make([]string, g.N)
		for i := range a {
			a[i], b[i] = p.a[i].labelled(t, *q), p.b[i].labelled(t, *q)
		}
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
	if err := g.same(p.subjects, equal); err != nil {
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

// same counts equal answers. Units of an item are not independent.
func (g *Agreement) same(subjects []Subject, equal func(int) bool) error {
	num, den, items := make([]float64, g.N), make([]float64, g.N), make([]string, g.N)
	for i, s := range subjects {
		den[i], items[i] = 1, s.Item
		if equal(i) {
			num[i] = 1
			g.Same++
		}
	}
	nums, dens, err := stats.SumByCluster(num, den, items)
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

// labelled is the label of an answer, also of one that was left open.
func (e *Event) labelled(t study.Task, q study.Question) string {
	return cmp.Or(e.label(t, q), unanswered(t, q))
}

// labelsOf are all labels that could be given, and the sets that were.
func labelsOf(t study.Task, q study.Question, a, b []string) []string {
	if q.Type == "choice" && t.Of != "pair" {
		if open := unanswered(t, q); slices.Contains(a, open) || slices.Contains(b, open) {
			return append(slices.Clone(q.Options), open)
		}
		return q.Options
	}
	labels := []string{}
	if q.Type == "choice" {
		labels = append(slices.Clone(t.Arms), "tie")
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
	cohen, err := stats.CohenKappa(g.Table, stats.Unweighted, level)
	if err != nil {
		return err
	}
	fleiss, err := stats.FleissKappa(counts)
	if err != nil {
		return err
	}
	ac1, err := stats.GwetAC1(counts, level)
	if err != nil {
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

// addLabel adds the agreement on a label that the series have or have not.
func (g *Agreement) addLabel(label string, a, b func(int) bool) error {
	table := [][]int{{0, 0}, {0, 0}}
	for i := range g.N {
		table[yesFirst(a(i))][yesFirst(b(i))]++
	}
	both, either := table[0][0], 2*table[0][0]+table[0][1]+table[1][0]
	if either == 0 {
		return nil
	}
	k, err := stats.CohenKappa(table, stats.Unweighted, level)
	g.ByLabel = append(g.ByLabel, LabelAgreement{label, both, eval.Number(2 * float64(both) / float64(either)), eval.Number(k.Kappa)})
	return err
}

// yesFirst is the place of an answer in a table of yes and no.
func yesFirst(yes bool) int {
	if yes {
		return 0
	}
	return 1
}

// options compares the sets of a question with several answers option by option.
func (g *Agreement) options(q *study.Question, p pairing) error {
	g.ByLabel = nil // of sets
	num, den := make([]float64, g.N), make([]float64, g.N)
	a, b := make([][]string, g.N), make([][]string, g.N)
	for i := range g.N {
		a[i], b[i] = p.a[i].Answer.list(q.Name), p.b[i].Answer.list(q.Name)
		for _, o := range q.Options {
			inA, inB := slices.Contains(a[i], o), slices.Contains(b[i], o)
			if inA && inB {
				num[i]++
			}
			if inA || inB {
				den[i]++
			}
		}
	}
	for _, o := range q.Options {
		if err := g.addLabel(o, func(i int) bool { return slices.Contains(a[i], o) }, func(i int) bool { return slices.Contains(b[i], o) }); err != nil {
			return err
		}
	}
	return g.add(p.ratio(Overlap, "options that both chose", num, den))
}

// ratio is a share of sums over items.
func (p pairing) ratio(key, name string, num, den []float64) (Measure, error) {
	nums, dens, err := stats.SumByCluster(num, den, p.items())
	if err != nil {
		return Measure{}, err
	}
	r, err := stats.RatioOfSums(nums, dens, level)
	return Measure{Key: key, Name: name, Value: r.Value, CI: r.CI.Clamp(0, 1), Note: fmt.Sprintf("  (%g of %g)", r.Num, r.Den)}, err
}

func (p pairing) items() []string {
	items := make([]string, len(p.subjects))
	for i, s := range p.subjects {
		items[i] = s.Item
	}
	return items
}

// resampled is a statistic of subjects, with an interval of a bootstrap over items: the units of
// one are not independent.
func (p pairing) resampled(key, name string, statistic func(subjects []int) float64) (Measure, error) {
	var groups [][]int
	every, at := make([]int, len(p.subjects)), map[string]int{}
	for i, item := range p.items() {
		every[i] = i
		k, ok := at[item]
		if !ok {
			k = len(groups)
			at[item] = k
			groups = append(groups, nil)
		}
		groups[k] = append(groups[k], i)
	}
	m := Measure{Key: key, Name: name, Value: statistic(every), CI: stats.Interval{Low: math.NaN(), High: math.NaN(), Level: level}}
	if len(groups) < 2 || math.IsNaN(m.Value) {
		return m, nil
	}
	b, err := stats.BootstrapClusters(len(groups), func(drawn []int) float64 {
		var subjects []int
		for _, k := range drawn {
			subjects = append(subjects, groups[k]...)
		}
		return statistic(subjects)
	}, stats.BootstrapOptions{Resamples: resamples, Level: level, Seed: 1, Workers: 1})
	if m.CI = b.BCa.Clamp(-1, 1); math.IsNaN(b.BCa.Low) {
		m.CI = b.Percentile.Clamp(-1, 1)
	}
	return m, err
}

// numbers are the answers of both series to a question about a number.
func (p pairing) numbers(q *study.Question) (a, b []float64) {
	for i := range p.subjects {
		x, _ := p.a[i].Answer.number(q.Name)
		y, _ := p.b[i].Answer.number(q.Name)
		a, b = append(a, x), append(b, y)
	}
	return a, b
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
	if err := g.add(p.resampled(Alpha, "Krippendorff's alpha", func(subjects []int) float64 {
		var ratings [2][]float64
		for _, i := range subjects {
			ratings[0], ratings[1] = append(ratings[0], a[i]), append(ratings[1], b[i])
		}
		k, err := stats.KrippendorffAlpha(ratings[:], stats.IntervalScale)
		if err != nil {
			return math.NaN() // the numbers were accepted above
		}
		return k.Alpha
	})); err != nil {
		return err
	}
	shift, ones := make([]float64, g.N), make([]float64, g.N)
	for i := range g.N {
		shift[i], ones[i] = b[i]-a[i], 1
	}
	shifts, counts, err := stats.SumByCluster(shift, ones, p.items())
	if err != nil {
		return err
	}
	mean, err := stats.RatioOfSums(shifts, counts, level)
	return g.add(Measure{Key: Shift, Name: "second less first", Value: mean.Value, CI: mean.CI}, err)
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
		var a, b []string
		shared, marks := 0, 0
		for _, i := range of[name] {
			if equal(i) {
				u.Same++
			}
			switch {
			case q == nil:
			case q.Type == "span":
				of, other := characters(p.a[i].Answer.Spans(q.Name)), characters(p.b[i].Answer.Spans(q.Name))
				marks += len(of) + len(other)
				for c := range of {
					if other[c] {
						shared += 2
					}
				}
			case len(g.Labels) > 0:
				a, b = append(a, p.a[i].labelled(t, *q)), append(b, p.b[i].labelled(t, *q))
			}
		}
		u.Equal = share(u.Same, u.N, stats.Wilson(u.Same, u.N, level))
		if marks > 0 {
			u.Overlap = eval.Number(float64(shared) / float64(marks))
		}
		if len(a) > 0 {
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

// Kind says who is compared.
func (g *Agreement) Kind() string {
	switch {
	case g.Automatic:
		return "automatic result and person"
	case g.Again:
		return "the same person twice"
	}
	return "two people"
}

// String is the agreement as text.
func (g *Agreement) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s: %s and %s (%s), n = %d\n", g.Task, g.Question, g.A, g.B, g.Kind(), g.N)
	wide := 0
	for _, m := range g.Measures {
		wide = max(wide, len(m.Name))
	}
	line := func(m Measure) {
		if math.IsNaN(m.Value) {
			fmt.Fprintf(&b, "  %-*s undefined%s\n", wide, m.Name, m.Note)
			return
		}
		fmt.Fprintf(&b, "  %-*s %6.3f", wide, m.Name, m.Value)
		if !math.IsNaN(m.CI.Low) {
			fmt.Fprintf(&b, "  95 %% [%.3f, %.3f]", m.CI.Low, m.CI.High)
		}
		b.WriteString(m.Note + "\n")
	}
	none := stats.Interval{Low: math.NaN()}
	for _, m := range g.Measures {
		line(m)
	}
	for _, l := range g.ByLabel {
		note := ""
		if l.Kappa.Defined() {
			note = fmt.Sprintf("  kappa %.3f", l.Kappa)
		}
		line(Measure{Name: "on " + l.Label, Value: float64(l.Share), CI: none, Note: note})
	}
	for _, u := range g.ByUnit {
		note := u.Equal.Note
		if u.Kappa.Defined() {
			note += fmt.Sprintf("  kappa %.3f", u.Kappa)
		}
		if u.Overlap.Defined() {
			note += fmt.Sprintf("  overlap %.3f", u.Overlap)
		}
		line(Measure{Name: u.Unit, Value: u.Equal.Value, CI: u.Equal.CI, Note: note})
	}
	if len(g.Labels) > 0 {
		wide := 0
		for _, l := range g.Labels {
			wide = max(wide, len([]rune(l)))
		}
		fmt.Fprintf(&b, "  %-*s  %s\n", wide, "", g.B+":")
		for i, l := range g.Labels {
			fmt.Fprintf(&b, "  %-*s ", wide, l)
			for j := range g.Labels {
				fmt.Fprintf(&b, " %6d", g.Table[i][j])
			}
			legend := ""
			if i == 0 {
				legend = "rows: " + g.A + "; columns in the same order"
			}
			fmt.Fprintf(&b, "   %s\n", legend)
		}
	}
	for _, n := range g.Notes {
		fmt.Fprintf(&b, "  %s\n", n)
	}
	return b.String()
}
