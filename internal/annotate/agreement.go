package annotate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

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
	Task, Question string
	A, B           string // names of the series
	Again          bool   // one person twice
	Automatic      bool   // a person and the automatic result
	Target         *float64
	N              int // subjects
	Same           int // with equal answers
	SameCI         stats.Interval

	// Of labels. A set of options is one label.
	Labels []string
	Table  [][]int
	Cohen  stats.Kappa
	// Intraclass is Fleiss' kappa of two ratings, which is Scott's pi: unlike Cohen's it
	// does not forgive a drift of the margins.
	Intraclass   stats.Fleiss
	IntraclassCI stats.Interval
	AC1          stats.Gwet

	// Overlap is of options that both chose, in options that either chose; or of
	// characters that both marked.
	Overlap *Measure
	Kappa   *Measure // of characters
	Borders *Measure // of passages with the same borders
	Alpha   *Measure // of numbers
	Shift   *Measure // the mean of the second numbers less the first

	ByLabel []LabelAgreement
	ByUnit  []UnitAgreement
	Notes   []string
}

// A Measure is a number with its interval, NaN where there is none.
type Measure struct {
	Name  string
	Value float64
	CI    stats.Interval
	Note  string
}

// A LabelAgreement is the agreement on one label: of the times that either series
// has it, how often both do, 2a/(2a+b+c), and kappa of this label against all others.
// Both counts subjects, or characters of passages.
type LabelAgreement struct {
	Label string
	Both  int
	Share float64
	Kappa float64 // NaN of passages, or undefined
}

// A UnitAgreement is the agreement on one unit of the items, such as a field.
type UnitAgreement struct {
	Unit    string
	N, Same int
	SameCI  stats.Interval // Wilson's
	// Kappa is Cohen's of labels, and Overlap that of passages; else NaN.
	Kappa, Overlap float64
}

const level = 0.95

// small is the number of subjects below which an agreement is called a screen.
const small = 50

// resamples of the intervals of alpha and of kappa of characters.
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
	if r.queue.Strata != nil {
		for _, w := range r.Everyone {
			if err := r.compareAutomatic(&list, w); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// compareAutomatic compares the first answers of a person about the subjects that were
// drawn for it with the automatic result, if the groups of the queue are options of the
// first question. Groups that are none are counted as the last option, as a second
// agreement without them shows.
func (r *Result) compareAutomatic(list *[]Agreement, w *Work) error {
	q := r.Task.Ask[0]
	if q.Type != "choice" || !slices.ContainsFunc(r.queue.Strata, func(s string) bool { return slices.Contains(q.Options, s) }) {
		return nil
	}
	last := q.Options[len(q.Options)-1]
	var auto, person, autoDecided, personDecided []string
	others := map[string]int{}
	for _, i := range r.queue.Check {
		g := w.given[slot{r.queue.Subjects[i], passFirst}]
		if g == nil || g.First == nil || g.First.Sighted {
			continue
		}
		said, stratum := g.First.label(r.Task, q), r.queue.Strata[i]
		if slices.Contains(q.Options, stratum) {
			autoDecided, personDecided = append(autoDecided, stratum), append(personDecided, said)
		} else {
			others[stratum]++
			stratum = last
		}
		auto, person = append(auto, stratum), append(person, said)
	}
	if len(auto) == 0 {
		return nil
	}
	add := func(name string, a, b []string, notes ...string) error {
		g := Agreement{Task: r.Task.Name, Question: q.Text, A: name, B: w.Person, N: len(a), Automatic: true, Target: r.Task.Target, Labels: q.Options}
		for i := range a {
			g.Same += 1 - place01(a[i] == b[i])
		}
		g.SameCI = stats.Wilson(g.Same, g.N, level)
		if err := g.labels(a, b); err != nil {
			return fmt.Errorf("agreement of %s and %s in task %s: %w", g.A, g.B, g.Task, err)
		}
		g.Notes = append(g.Notes, notes...)
		g.small()
		*list = append(*list, g)
		return nil
	}
	var counted []string
	for _, name := range slices.Sorted(maps.Keys(others)) {
		counted = append(counted, fmt.Sprintf("%s: the automatic result is %s, which counts as %s", text.Plural(others[name], "subject", "subjects"), name, last))
	}
	if err := add("automatic", auto, person, counted...); err != nil || len(counted) == 0 || len(autoDecided) == 0 {
		return err
	}
	return add("automatic, decided ones", autoDecided, personDecided)
}

// compare adds the comparison of two series on a question, or on gold as a whole.
func (r *Result) compare(list *[]Agreement, source Source, q *study.Question, v *Work, pass int, w *Work, passW int) error {
	var p pairing
	for _, s := range r.queue.Subjects {
		x, y := v.given[slot{s, pass}], w.given[slot{s, passW}]
		if x == nil || y == nil || x.First == nil || y.First == nil || x.First.Sighted || y.First.Sighted ||
			q != nil && (!q.Applies(x.First.Answer.Text) || !q.Applies(y.First.Answer.Text)) {
			continue
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
		equal = func(i int) bool { return p.a[i].Answer.number(q.Name) == p.b[i].Answer.number(q.Name) }
		err = g.numbers(q, p)
	default:
		g.Question = q.Text
		a, b := make([]string, g.N), make([]string, g.N)
		for i := range a {
			a[i], b[i] = cmp.Or(p.a[i].label(t, *q), unanswered), cmp.Or(p.b[i].label(t, *q), unanswered)
		}
		equal = func(i int) bool { return a[i] == b[i] }
		g.Labels = labelsOf(t, *q, a, b)
		if err = g.labels(a, b); err == nil && q.Type == "several" {
			err = g.options(q, p)
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
		g.Notes = append(g.Notes, double(g.SameCI))
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
	g.SameCI = ratio.CI
	if math.IsNaN(g.SameCI.Low) { // of one item
		g.SameCI = stats.Wilson(g.Same, g.N, level)
	}
	if len(nums) < g.N && len(g.Labels) > 0 {
		g.Notes = append(g.Notes, "the intervals of kappa and AC1 count units of one item as independent; that of the percentage does not")
	}
	return err
}

// unanswered is the label of a question that was left open.
const unanswered = "none"

// labelsOf are all labels that could be given, and the sets that were.
func labelsOf(t study.Task, q study.Question, a, b []string) []string {
	if q.Type == "choice" && t.Of != "pair" {
		if slices.Contains(a, unanswered) || slices.Contains(b, unanswered) {
			return append(slices.Clone(q.Options), unanswered)
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
	if g.Cohen, err = stats.CohenKappa(g.Table, stats.Unweighted, level); err != nil {
		return err
	}
	g.Cohen.CI = g.Cohen.CI.Clamp(-1, 1)
	if g.Intraclass, err = stats.FleissKappa(counts); err != nil {
		return err
	}
	g.IntraclassCI = g.Intraclass.Interval(level).Clamp(-1, 1)
	if g.AC1, err = stats.GwetAC1(counts, level); err != nil {
		return err
	}
	for _, l := range g.Labels {
		if err := g.addLabel(l, func(i int) bool { return a[i] == l }, func(i int) bool { return b[i] == l }); err != nil {
			return err
		}
	}
	if g.Cohen.Undefined != "" {
		g.Notes = append(g.Notes, "kappa is undefined: "+g.Cohen.Undefined+"; read the percentage"+map[bool]string{true: " and AC1"}[g.AC1.Undefined == ""])
	}
	if g.Target != nil && !math.IsNaN(g.Cohen.Kappa) {
		g.Notes = append(g.Notes, g.Standing())
	}
	return nil
}

// Met reports whether kappa reaches the target. ok is false without a target or kappa.
func (g *Agreement) Met() (met, ok bool) {
	if g.Target == nil || math.IsNaN(g.Cohen.Kappa) {
		return false, false
	}
	const rounding = 1e-12 // 0.8 from whole numbers may be a bit less
	return g.Cohen.Kappa >= *g.Target-rounding, true
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
	switch ci := g.Cohen.CI; {
	case math.IsNaN(ci.Low):
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
		table[place01(a(i))][place01(b(i))]++
	}
	both, either := table[0][0], 2*table[0][0]+table[0][1]+table[1][0]
	if either == 0 {
		return nil
	}
	k, err := stats.CohenKappa(table, stats.Unweighted, level)
	g.ByLabel = append(g.ByLabel, LabelAgreement{label, both, 2 * float64(both) / float64(either), k.Kappa})
	return err
}

func place01(yes bool) int {
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
	var err error
	g.Overlap, err = p.ratio("options that both chose", num, den)
	return err
}

// ratio is a share of sums over items.
func (p pairing) ratio(name string, num, den []float64) (*Measure, error) {
	nums, dens, err := stats.SumByCluster(num, den, p.items())
	if err != nil {
		return nil, err
	}
	r, err := stats.RatioOfSums(nums, dens, level)
	return &Measure{Name: name, Value: r.Value, CI: r.CI.Clamp(0, 1), Note: fmt.Sprintf("  (%g of %g)", r.Num, r.Den)}, err
}

func (p pairing) items() []string {
	items := make([]string, len(p.subjects))
	for i, s := range p.subjects {
		items[i] = s.Item
	}
	return items
}

// bootstrapOptions are those of the intervals without a formula.
var bootstrapOptions = stats.BootstrapOptions{Resamples: resamples, Level: level, Seed: 1, Workers: 1}

// numbers compares numbers on the interval scale.
func (g *Agreement) numbers(q *study.Question, p pairing) error {
	ratings := [][]float64{make([]float64, g.N), make([]float64, g.N)}
	shift, ones := make([]float64, g.N), make([]float64, g.N)
	for i := range g.N {
		ratings[0][i], ratings[1][i] = p.a[i].Answer.number(q.Name), p.b[i].Answer.number(q.Name)
		shift[i], ones[i] = ratings[1][i]-ratings[0][i], 1
	}
	none := stats.Interval{Low: math.NaN(), High: math.NaN(), Level: level}
	k, err := stats.KrippendorffAlpha(ratings, stats.IntervalScale)
	if err != nil {
		return err
	}
	g.Alpha = &Measure{Name: "Krippendorff's alpha", Value: k.Alpha, CI: none}
	if k.Undefined != "" {
		g.Notes = append(g.Notes, "alpha is undefined: "+k.Undefined+"; read the percentage")
	} else if b, err := stats.KrippendorffBootstrap(ratings, stats.IntervalScale, bootstrapOptions); err != nil {
		return err
	} else {
		g.Alpha.CI = resampled(b)
	}
	mean, err := stats.RatioOfSums(shift, ones, level)
	g.Shift = &Measure{Name: "second less first", Value: mean.Value, CI: mean.CI}
	return err
}

// resampled is the interval of a bootstrap.
func resampled(b stats.Bootstrap) stats.Interval {
	if !math.IsNaN(b.BCa.Low) {
		return b.BCa.Clamp(-1, 1)
	}
	return b.Percentile.Clamp(-1, 1)
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

func sameSpans(a, b []Span) bool { return len(a) == len(b) && borders(a, b) == len(a) }

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
func (g *Agreement) passages(t study.Task, source Source, q *study.Question, p pairing) (err error) {
	num, den := make([]float64, g.N), make([]float64, g.N)
	exact, all := make([]float64, g.N), make([]float64, g.N)
	tables := make([][2][2]float64, g.N) // of characters: marked by the first, by the second
	both, either := map[string]int{}, map[string]int{}
	stale := 0
	for i, s := range p.subjects {
		of, other := p.a[i].Answer.Spans(q.Name), p.b[i].Answer.Spans(q.Name)
		exact[i], all[i] = float64(2*borders(of, other)), float64(len(of)+len(other))
		a, b := characters(of), characters(other)
		for c := range a {
			either[c.label]++
			den[i]++
			if b[c] {
				both[c.label]++
				num[i] += 2
			}
		}
		for c := range b {
			either[c.label]++
			den[i]++
		}
		shown, err := show(t, source, s, p.a[i].Swapped)
		if err != nil || shown.Hash() != p.a[i].Shown {
			stale++
			continue
		}
		plainA, plainB := unlabelled(a), unlabelled(b)
		for _, page := range shown.Pages {
			at := 0
			for _, c := range page.Text {
				if !unicode.IsSpace(c) {
					m := marked{page: page.Number, at: at}
					tables[i][place01(plainA[m])][place01(plainB[m])]++
				}
				at++
			}
		}
	}
	if g.Overlap, err = p.ratio("characters that both marked", num, den); err != nil {
		return err
	}
	if g.Borders, err = p.ratio("passages with the same borders", exact, all); err != nil {
		return err
	}
	for _, l := range append(slices.Clone(q.Options), "") {
		if either[l] > 0 && l != "" {
			g.ByLabel = append(g.ByLabel, LabelAgreement{l, both[l], 2 * float64(both[l]) / float64(either[l]), math.NaN()})
		}
	}
	if stale > 0 {
		g.Notes = append(g.Notes, fmt.Sprintf("kappa of characters without %s: the study shows something else now", text.Plural(stale, "subject", "subjects")))
	}
	return g.kappaOf(tables, p)
}

func unlabelled(set map[marked]bool) map[marked]bool {
	plain := map[marked]bool{}
	for c := range set {
		plain[marked{page: c.page, at: c.at}] = true
	}
	return plain
}

// kappaOf is Cohen's kappa of the sum of tables, with an interval by resampling items.
func (g *Agreement) kappaOf(tables [][2][2]float64, p pairing) error {
	var clusters [][2][2]float64
	at := map[string]int{}
	for i, item := range p.items() {
		k, ok := at[item]
		if !ok {
			k = len(clusters)
			at[item] = k
			clusters = append(clusters, [2][2]float64{})
		}
		for x := range 2 {
			for y := range 2 {
				clusters[k][x][y] += tables[i][x][y]
			}
		}
	}
	kappa := func(drawn []int) float64 {
		var t [2][2]float64
		for _, k := range drawn {
			for x := range 2 {
				for y := range 2 {
					t[x][y] += clusters[k][x][y]
				}
			}
		}
		n := t[0][0] + t[0][1] + t[1][0] + t[1][1]
		byA, byB := (t[0][0]+t[0][1])/n, (t[0][0]+t[1][0])/n
		chance := byA*byB + (1-byA)*(1-byB)
		if chance == 1 {
			return math.NaN()
		}
		return ((t[0][0]+t[1][1])/n - chance) / (1 - chance)
	}
	every := make([]int, len(clusters))
	for i := range every {
		every[i] = i
	}
	g.Kappa = &Measure{Name: "Cohen's kappa of characters", Value: kappa(every), CI: stats.Interval{Low: math.NaN(), High: math.NaN(), Level: level}}
	if len(clusters) < 2 || math.IsNaN(g.Kappa.Value) {
		return nil
	}
	b, err := stats.BootstrapClusters(len(clusters), kappa, bootstrapOptions)
	g.Kappa.CI = resampled(b)
	return err
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
		u := UnitAgreement{Unit: name, N: len(of[name]), Kappa: math.NaN(), Overlap: math.NaN()}
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
				a, b = append(a, p.a[i].label(t, *q)), append(b, p.b[i].label(t, *q))
			}
		}
		u.SameCI = stats.Wilson(u.Same, u.N, level)
		if marks > 0 {
			u.Overlap = float64(shared) / float64(marks)
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
			u.Kappa = k.Kappa
		}
		g.ByUnit = append(g.ByUnit, u)
	}
	return nil
}

// Measures are the numbers of an agreement in the order in which they are shown.
func (g *Agreement) Measures() []Measure {
	list := []Measure{{"agreement", float64(g.Same) / float64(g.N), g.SameCI, fmt.Sprintf("  (%d of %d)", g.Same, g.N)}}
	if len(g.Labels) > 0 {
		largest := ""
		if !math.IsNaN(g.Cohen.Max) {
			largest = fmt.Sprintf("  (largest possible %.3f)", g.Cohen.Max)
		}
		list = append(list, Measure{"Cohen's kappa", g.Cohen.Kappa, g.Cohen.CI, largest},
			Measure{"intraclass kappa", g.Intraclass.Kappa, g.IntraclassCI, ""}, Measure{"Gwet's AC1", g.AC1.AC1, g.AC1.CI, ""})
	}
	for _, m := range []*Measure{g.Overlap, g.Kappa, g.Borders, g.Alpha, g.Shift} {
		if m != nil {
			list = append(list, *m)
		}
	}
	return list
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

// MarshalJSON writes undefined numbers as null.
func (g Agreement) MarshalJSON() ([]byte, error) {
	measured := func(value float64, ci stats.Interval) *eval.Measured {
		return &eval.Measured{Value: eval.Number(value), Low: eval.Number(ci.Low), High: eval.Number(ci.High)}
	}
	of := func(m *Measure) *eval.Measured {
		if m == nil {
			return nil
		}
		return measured(m.Value, m.CI)
	}
	type byLabel struct {
		Label string      `json:"label"`
		Both  int         `json:"both"`
		Share eval.Number `json:"share"`
		Kappa eval.Number `json:"kappa"`
	}
	type byUnit struct {
		Unit      string         `json:"unit"`
		N         int            `json:"n"`
		Agreement *eval.Measured `json:"agreement"`
		Kappa     eval.Number    `json:"kappa"`
		Overlap   eval.Number    `json:"overlap"`
	}
	out := struct {
		Task       string         `json:"task"`
		Question   string         `json:"question"`
		A          string         `json:"a"`
		B          string         `json:"b"`
		Again      bool           `json:"again"`
		Automatic  bool           `json:"automatic"`
		Target     *float64       `json:"target,omitempty"`
		N          int            `json:"n"`
		Labels     []string       `json:"labels,omitempty"`
		Table      [][]int        `json:"table,omitempty"`
		Agreement  *eval.Measured `json:"agreement"`
		Cohen      *eval.Measured `json:"cohen_kappa,omitempty"`
		Max        *eval.Number   `json:"cohen_kappa_max,omitempty"`
		Intraclass *eval.Measured `json:"intraclass_kappa,omitempty"`
		AC1        *eval.Measured `json:"gwet_ac1,omitempty"`
		Overlap    *eval.Measured `json:"overlap,omitempty"`
		Kappa      *eval.Measured `json:"character_kappa,omitempty"`
		Borders    *eval.Measured `json:"same_borders,omitempty"`
		Alpha      *eval.Measured `json:"krippendorff_alpha,omitempty"`
		Shift      *eval.Measured `json:"shift,omitempty"`
		ByLabel    []byLabel      `json:"by_label,omitempty"`
		ByUnit     []byUnit       `json:"by_unit,omitempty"`
		Notes      []string       `json:"notes,omitempty"`
	}{Task: g.Task, Question: g.Question, A: g.A, B: g.B, Again: g.Again, Automatic: g.Automatic, Target: g.Target, N: g.N, Labels: g.Labels, Table: g.Table,
		Agreement: measured(float64(g.Same)/float64(g.N), g.SameCI), Overlap: of(g.Overlap), Kappa: of(g.Kappa), Borders: of(g.Borders), Alpha: of(g.Alpha), Shift: of(g.Shift), Notes: g.Notes}
	if len(g.Labels) > 0 {
		limit := eval.Number(g.Cohen.Max)
		out.Cohen, out.Max, out.Intraclass, out.AC1 = measured(g.Cohen.Kappa, g.Cohen.CI), &limit, measured(g.Intraclass.Kappa, g.IntraclassCI), measured(g.AC1.AC1, g.AC1.CI)
	}
	for _, l := range g.ByLabel {
		out.ByLabel = append(out.ByLabel, byLabel{l.Label, l.Both, eval.Number(l.Share), eval.Number(l.Kappa)})
	}
	for _, u := range g.ByUnit {
		out.ByUnit = append(out.ByUnit, byUnit{u.Unit, u.N, measured(float64(u.Same)/float64(u.N), u.SameCI), eval.Number(u.Kappa), eval.Number(u.Overlap)})
	}
	return json.Marshal(out)
}

// String is the agreement as text.
func (g *Agreement) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s: %s and %s (%s), n = %d\n", g.Task, g.Question, g.A, g.B, g.Kind(), g.N)
	wide := 0
	for _, m := range g.Measures() {
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
	for _, m := range g.Measures() {
		line(m)
	}
	for _, l := range g.ByLabel {
		note := ""
		if !math.IsNaN(l.Kappa) {
			note = fmt.Sprintf("  kappa %.3f", l.Kappa)
		}
		line(Measure{"on " + l.Label, l.Share, none, note})
	}
	for _, u := range g.ByUnit {
		note := fmt.Sprintf("  (%d of %d)", u.Same, u.N)
		if !math.IsNaN(u.Kappa) {
			note += fmt.Sprintf("  kappa %.3f", u.Kappa)
		}
		if !math.IsNaN(u.Overlap) {
			note += fmt.Sprintf("  overlap %.3f", u.Overlap)
		}
		line(Measure{u.Unit, float64(u.Same) / float64(u.N), u.SameCI, note})
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
			fmt.Fprintf(&b, "   %s\n", map[bool]string{true: "rows: " + g.A + "; columns in the same order"}[i == 0])
		}
	}
	for _, n := range g.Notes {
		fmt.Fprintf(&b, "  %s\n", n)
	}
	return b.String()
}

// A Position is how often a person preferred the answer that was shown first, of the
// pairs that they judged blind and without a tie. Without an effect of the position it
// is a half: each pair's sides are drawn.
type Position struct {
	Task    string         `json:"task"`
	Person  string         `json:"person"`
	Pairs   int            `json:"pairs"`
	Swapped int            `json:"swapped"` // with the second arm first
	Ties    int            `json:"ties"`
	First   int            `json:"first"` // the answer shown first was preferred
	CI      stats.Interval `json:"-"`     // of the share in pairs without a tie, Wilson's
}

// Positions returns the effect of the position, by person, of a task about pairs.
func (r *Result) Positions() (list []Position) {
	if r.Task.Of != "pair" || r.Task.Ask[0].Type != "choice" {
		return nil
	}
	for _, w := range r.Everyone {
		p := Position{Task: r.Task.Name, Person: w.Person}
		for _, k := range w.order {
			g := w.given[k]
			if k.pass == passAdjudicate || g.First == nil || g.First.Sighted {
				continue
			}
			p.Pairs++
			if g.First.Swapped {
				p.Swapped++
			}
			switch g.First.Answer.Text(r.Task.Ask[0].Name) {
			case "A":
				p.First++
			case "B":
			default:
				p.Ties++
			}
		}
		if p.Pairs > 0 {
			p.CI = stats.Wilson(p.First, p.Pairs-p.Ties, level)
			list = append(list, p)
		}
	}
	return list
}

// Share is the share of the answers shown first in those preferred.
func (p Position) Share() float64 { return float64(p.First) / float64(p.Pairs-p.Ties) }

// String is the position effect as text.
func (p Position) String() string {
	decided := p.Pairs - p.Ties
	s := fmt.Sprintf("%s, position: %s judged %s, %d with the second arm first; %s", p.Task, p.Person, text.Plural(p.Pairs, "pair", "pairs"), p.Swapped, text.Plural(p.Ties, "tie", "ties"))
	if decided == 0 {
		return s
	}
	s += fmt.Sprintf("; the answer shown first was preferred in %d of %d: %.3f, 95 %% [%.3f, %.3f]", p.First, decided, p.Share(), p.CI.Low, p.CI.High)
	if p.CI.Low > 0.5 || p.CI.High < 0.5 {
		s += "; the position has an effect, which the drawn sides spread over both arms"
	}
	return s
}
