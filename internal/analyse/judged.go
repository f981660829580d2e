package analyse

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/stats"
)

// judged are the units of an arm that a metric counts, with what the judge and people say of them, and
// those that need no judge.
type judged struct {
	units      stats.Judged
	by         bool // people judged some
	differ, of int  // units that people left open, and those that people judged
}

func (c *Collector) judged(x armScores, s selection) (j judged) {
	if len(x.arm.rated) == 0 || x.metric.Judge != eval.JudgeYes && x.metric.Judge != eval.JudgeNo {
		return j
	}
	in := make(map[string]int, len(s.items))
	for _, i := range s.items {
		in[c.items[i].ID] = i
	}
	rest := slices.Clone(x.values)
	for _, r := range x.arm.rated {
		i, here := in[r.Trial.Item]
		if !here {
			continue
		}
		verdict, human := label(r.Yes, x.metric.Judge), math.NaN()
		if r.Human != nil {
			human, j.by = label(*r.Human, x.metric.Judge), true
		}
		if r.Differ {
			j.differ++
		}
		if r.Differ || r.Human != nil {
			j.of++
		}
		j.units.Add(int(c.clusters.of[i]), verdict, human)
		rest[i].num, rest[i].den = rest[i].num-verdict, rest[i].den-1
	}
	for _, i := range s.items {
		if rest[i].den < -noise {
			j.by = false // more units than the metric counts
			return j
		}
		for range int(math.Round(rest[i].den)) {
			j.units.Add(int(c.clusters.of[i]), math.NaN(), rest[i].num/rest[i].den)
		}
	}
	return j
}

// leftOut says that people left some of the units open that they judged, if they did.
func leftOut(differ, of int) []string {
	if differ == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %s that people judged are left out, since people differ on them or skipped them: the others are no random sample; answer those that were skipped, and decide with `scruple annotate --adjudicate`", differ, text.Plural(of, "unit", "units"))}
}

// label is 1 for what the metric counts, else 0.
func label(yes bool, counts eval.JudgeUse) float64 {
	if yes == (counts == eval.JudgeYes) {
		return 1
	}
	return 0
}

// byJudge says that an estimate depends on a judge, if it does: alone until people correct
// it, which they can where the metric counts single verdicts.
func (e *Estimate) byJudge(x armScores) {
	e.JudgeAlone = x.metric.Judge.Judged() && len(x.arm.Judges) > 0
	e.Combined = e.JudgeAlone && (x.metric.Estimate != nil || x.metric.Judge == eval.JudgeElse)
}

// correct corrects an estimate by what people say of some of its units.
func (c *Collector) correct(e *Estimate, x armScores, s selection, level float64) error {
	j := c.judged(x, s)
	e.Disputed, e.Warnings = j.differ, append(e.Warnings, leftOut(j.differ, j.of)...)
	if !j.by {
		return nil
	}
	r, err := stats.CorrectedRate(j.units, stats.Judged{}, level)
	if err != nil {
		return fmt.Errorf("correcting by what people say: %w", err)
	}
	if r.Undefined != "" {
		e.Warnings = append(e.Warnings, "by the judge alone, not corrected by people: "+r.Undefined)
		return nil
	}
	e.JudgeAlone = false
	e.ByJudge = &eval.Measured{Value: e.Value, Low: e.Low, High: e.High, N: r.Labelled}
	e.Bounds, e.Method = boundsOf(r.Value, r.CI), "prediction-powered"
	e.Warnings = append(e.Warnings, append([]string{correctedBy(r.Labelled, "by the judge alone it is "+short(e.ByJudge.Value))}, r.Warnings...)...)
	return nil
}

// correctedBy says how many units people judged.
func correctedBy(labelled int, alone string) string {
	return fmt.Sprintf("corrected by what people say of %s; %s", text.Plural(labelled, "unit", "units"), alone)
}

func short(x Number) string { return fmt.Sprintf("%.3g", float64(x)) }

// differenceByPeople corrects a comparison of two arms on the items that both have, if people judged
// units of both. What the judge alone says stays beside it.
func (c *Collector) differenceByPeople(r *Comparison, k contest, s selection, t tester) error {
	a, b := c.judged(k.a, s), c.judged(k.b, s)
	r.warn(leftOut(a.differ+b.differ, a.of+b.of)...)
	if !a.by || !b.by {
		return nil
	}
	d, err := stats.CorrectedDifference(a.units, b.units, t.level)
	if err != nil {
		return err
	}
	if d.Undefined != "" {
		r.warn("by the judge alone, not corrected by people: " + d.Undefined)
		return nil
	}
	alone := r.Reading
	alone.PAdjusted = Undefined()
	r.MeanA, r.MeanB, r.Diff = Number(d.A.Value), Number(d.B.Value), Number(d.Diff)
	r.Effect = Effect{Undefined(), Undefined(), Undefined()}
	r.Wins, r.Ties, r.Losses = Undefined(), Undefined(), Undefined()
	if t.q.Run.Exploratory() {
		return nil
	}
	r.ByJudge = &alone
	t.fill(r, reading{method: "difference of rates, prediction-powered", diff: Number(d.Diff), t: Number(d.T), df: Number(d.DF), Reading: stats.Reading{P: d.P, Interval: d.Interval}})
	r.warn(correctedBy(d.A.Labelled+d.B.Labelled, "by the judge alone the difference is "+short(alone.Diff)))
	return nil
}

// Moved is the estimate if the judge erred by the opposite of a number more than it does, whatever its
// missing scores are.
func (e Estimate) Moved(by Number) Estimate {
	move := func(b Bounds) Bounds { return Bounds{b.Value + by, b.Low + by, b.High + by} }
	e.Bounds = move(e.Bounds)
	e.Least, e.Most = both(e.Least, e.Most, move)
	return e
}

// Moved is the comparison if the judge's errors on the arms differed by the opposite of a
// number more than they do, whatever its missing scores are. Its p-values say only whether the interval excludes 0.
func (c Comparison) Moved(by Number) Comparison {
	c.Least, c.Most = both(c.Least, c.Most, func(c Comparison) Comparison { return c.Moved(by) })
	c.Diff, c.Low, c.High, c.EquivLow, c.EquivHigh = c.Diff+by, c.Low+by, c.High+by, c.EquivLow+by, c.EquivHigh+by
	if c.P.Defined() {
		c.P = 1
		if c.Low > 0 || c.High < 0 {
			c.P = 0
		}
	}
	if c.PAdjusted.Defined() {
		c.PAdjusted = c.P
	}
	return c
}

// nameJudges gives the arms their judges and the versions of the models that answered, if some differ.
func (c *Collector) nameJudges(a *Analysis, answered []eval.ArmVersion) {
	arms := slices.Clone(a.Arms)
	differ := false
	for i := range arms {
		x := &arms[i]
		x.Judges = c.arms[c.armIdx[x.ID]].Judges
		for _, v := range answered {
			if v.Arm == x.ID && v.Version != "" {
				x.JudgeVersions = append(x.JudgeVersions, v.Version)
			}
		}
		slices.Sort(x.JudgeVersions)
		differ = differ || slices.ContainsFunc(arms[:i], func(y Arm) bool { return x.JudgedUnlike(y) != "" })
	}
	if differ {
		a.Arms = arms
	}
}

// JudgedUnlike says how the judges of an arm differ from those of another, "" if they do not.
func (a Arm) JudgedUnlike(b Arm) string {
	differ := func(is string, x, y []string) string {
		if len(x) == 0 || len(y) == 0 || slices.Equal(x, y) {
			return ""
		}
		return fmt.Sprintf("the judges differ (%s %s for %s, and %s for %s)", is, strings.Join(x, ", "), a.ID, strings.Join(y, ", "), b.ID)
	}
	return cmp.Or(differ("judged by", a.Judges, b.Judges), differ("by version", a.JudgeVersions, b.JudgeVersions))
}

// markJudges marks the comparisons that rest on judges who differ between the arms: by name, by
// the version of the model that answered, or by what the runs know. What people corrected does
// not rest on them. Metrics of the scorer rest on it alone, of which a run has one.
func (c *Collector) markJudges(a *Analysis, q Question) {
	for i := range a.Comparisons {
		r := &a.Comparisons[i]
		pair := [2]string{r.A, r.B}
		switch use := c.suite.Metrics[c.metric[r.Metric]].Judge; {
		case use == eval.ByScorer && r.Diff.Defined():
			r.JudgesDiffer = within("the scorers differ", q.ScorersDiffer[pair])
		case use.Judged() && r.ByJudge == nil:
			x, _ := a.Arm(r.A)
			y, _ := a.Arm(r.B)
			r.JudgesDiffer = cmp.Or(within("the judges differ", q.JudgesDiffer[pair]), x.JudgedUnlike(y))
		}
		if r.JudgesDiffer != "" {
			r.Warnings = append(r.Warnings, r.JudgesDiffer+": the difference may be theirs, there is no verdict on it")
		}
	}
}

// within writes a fact with its details, "" without any.
func within(fact, details string) string {
	if details == "" {
		return ""
	}
	return fact + " (" + details + ")"
}

// A Rated is what a judge says of a unit, and what people say of it.
type Rated struct {
	eval.Rating
	Cluster string // of the item
	Human   *bool  // nil: no person said anything, or people left it open
	Differ  bool   // people differ without a decision, or all of them skipped it
}

// Ratings are those of one judge.
type Ratings struct {
	Judge  string
	Rated  []Rated
	Beside int // units that people judged and the judge did not
}

// byArm are the ratings of each arm.
func (r *Ratings) byArm() map[string][]Rated {
	of := map[string][]Rated{}
	for _, x := range r.Rated {
		of[x.Trial.Arm] = append(of[x.Trial.Arm], x)
	}
	return of
}

// JudgeAndPeople compares a judge with people who judged a sample of the same units.
type JudgeAndPeople struct {
	Judge      string `json:"judge"`
	Units      int    `json:"units"`                          // that the judge judged
	Beside     int    `json:"people_without_judge,omitempty"` // units that people judged and the judge did not
	Clusters   int    `json:"clusters"`                       // of the units that both judged; the interval of the agreement is theirs
	Both       int    `json:"both_yes"`
	JudgeOnly  int    `json:"judge_only_yes"`
	PeopleOnly int    `json:"people_only_yes"`
	Neither    int    `json:"both_no"`
	Agreement  Number `json:"agreement"`
	AgreeLow   Number `json:"agreement_low"`
	AgreeHigh  Number `json:"agreement_high"`
	Kappa      Number `json:"kappa"`
	Low        Number `json:"kappa_low"`
	High       Number `json:"kappa_high"`
	// Errors of the judge by type of unit.
	Types    []JudgeErrors   `json:"types,omitempty"`
	Rates    []CorrectedRate `json:"rates,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
}

// N is the number of units that people and the judge judged.
func (j *JudgeAndPeople) N() int { return j.Both + j.JudgeOnly + j.PeopleOnly + j.Neither }

// JudgeErrors counts a judge's errors on units of a type.
type JudgeErrors struct {
	Type     string `json:"type"`
	N        int    `json:"n"`
	FalseYes int    `json:"false_yes"`
	FalseNo  int    `json:"false_no"`
}

// A CorrectedRate is the share of yes in all units of an arm: by the judge, by people
// in the sample, and by the judge corrected by the sample (PPI++).
type CorrectedRate struct {
	Arm       string   `json:"arm"`
	Units     int      `json:"units"`
	Labelled  int      `json:"labelled"`
	Judge     Number   `json:"judge"`
	People    Number   `json:"people"`
	Corrected Number   `json:"corrected"`
	Low       Number   `json:"low"`
	High      Number   `json:"high"`
	Warnings  []string `json:"warnings,omitempty"`
}

// judgeAndPeople returns nil if people judged none of the units. If they differ on all that they
// judged, it says so and has no measure.
func judgeAndPeople(r *Ratings, level float64) (*JudgeAndPeople, error) {
	j := &JudgeAndPeople{Judge: r.Judge, Units: len(r.Rated), Beside: r.Beside}
	byType := map[string]*JudgeErrors{}
	var arms []string
	var same, units []float64 // of each cluster
	differ, clusters := 0, numbering{}
	for _, x := range r.Rated {
		if x.Differ {
			differ++
		}
		if !slices.Contains(arms, x.Trial.Arm) {
			arms = append(arms, x.Trial.Arm)
		}
		if x.Human == nil {
			continue
		}
		t := byType[x.Type]
		if t == nil {
			t = &JudgeErrors{Type: x.Type}
			byType[x.Type] = t
		}
		t.N++
		k := clusters.of(x.Cluster)
		if k == len(units) {
			same, units = append(same, 0), append(units, 0)
		}
		units[k]++
		if x.Yes == *x.Human {
			same[k]++
		}
		switch {
		case x.Yes && *x.Human:
			j.Both++
		case x.Yes:
			j.JudgeOnly++
			t.FalseYes++
		case *x.Human:
			j.PeopleOnly++
			t.FalseNo++
		default:
			j.Neither++
		}
	}
	j.Warnings = leftOut(differ, differ+j.N())
	switch {
	case j.N() == 0 && differ == 0 && j.Beside == 0:
		return nil, nil
	case j.N() == 0:
		j.Agreement, j.AgreeLow, j.AgreeHigh = Undefined(), Undefined(), Undefined()
		j.Kappa, j.Low, j.High = Undefined(), Undefined(), Undefined()
		return j, nil
	}
	kappa, err := stats.CohenKappa([][]int{{j.Both, j.JudgeOnly}, {j.PeopleOnly, j.Neither}}, stats.Unweighted, level)
	if err != nil {
		return nil, fmt.Errorf("comparing judge %s with people: %w", r.Judge, err)
	}
	ci := kappa.Interval().Clamp(-1, 1)
	j.Kappa, j.Low, j.High = Number(kappa.Kappa), Number(ci.Low), Number(ci.High)
	agreement, err := stats.ProportionOfSums(same, units, float64(j.N()), level)
	if err != nil {
		return nil, fmt.Errorf("comparing judge %s with people: %w", r.Judge, err)
	}
	j.Clusters = len(units)
	j.Agreement, j.AgreeLow, j.AgreeHigh = Number(kappa.Agreement), Number(agreement.CI.Low), Number(agreement.CI.High)
	if kappa.Undefined != "" {
		j.Warnings = append(j.Warnings, "kappa is undefined: "+kappa.Undefined)
	}
	for _, t := range byType {
		j.Types = append(j.Types, *t)
	}
	slices.SortFunc(j.Types, func(a, b JudgeErrors) int { return cmp.Compare(a.Type, b.Type) })
	byArm := r.byArm()
	for _, arm := range arms {
		rate, err := correctedRate(byArm[arm], level)
		if err != nil {
			return nil, fmt.Errorf("correcting the rate of arm %s: %w", arm, err)
		}
		if rate.Arm = arm; rate.Labelled > 0 {
			j.Rates = append(j.Rates, rate)
		}
	}
	return j, nil
}

func correctedRate(units []Rated, level float64) (CorrectedRate, error) {
	r, err := stats.CorrectedRate(asVerdicts(units), stats.Judged{}, level)
	rate := CorrectedRate{Units: len(units), Labelled: r.Labelled}
	if err != nil || rate.Labelled == 0 {
		return rate, err
	}
	rate.Judge, rate.People, rate.Corrected = Number(r.Judge), Number(r.People), Number(r.Value)
	rate.Low, rate.High, rate.Warnings = Number(r.CI.Low), Number(r.CI.High), r.Warnings
	if r.Undefined != "" {
		rate.Warnings = append(rate.Warnings, r.Undefined)
	}
	return rate, nil
}

// asVerdicts are units as verdicts of yes.
func asVerdicts(units []Rated) (j stats.Judged) {
	clusters := numbering{}
	for _, x := range units {
		human := math.NaN()
		if x.Human != nil {
			human = label(*x.Human, eval.JudgeYes)
		}
		j.Add(clusters.of(x.Cluster), label(x.Yes, eval.JudgeYes), human)
	}
	return j
}

// correctedByJudge estimates the mean human label of claims that a judge labelled 0 or
// 1, from other claims that people labelled too.
func correctedByJudge(units stats.Judged, known []eval.LabelledTwice, level float64) (eval.Measured, bool) {
	var elsewhere stats.Judged
	clusters := numbering{}
	for _, l := range known {
		elsewhere.Add(clusters.of(l.Cluster), l.Judge, l.Human)
	}
	n := len(units.Judge)
	if n == 0 || len(known) == 0 {
		return eval.Measured{}, false
	}
	r, err := stats.CorrectedRate(units, elsewhere, level)
	return eval.Measured{Value: Number(r.Value), Low: Number(r.CI.Low), High: Number(r.CI.High), N: n}, err == nil && r.Undefined == ""
}

// A numbering numbers clusters in order of appearance.
type numbering map[string]int

func (n numbering) of(cluster string) int {
	k, ok := n[cluster]
	if !ok {
		k = len(n)
		n[cluster] = k
	}
	return k
}
