package gate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// unscored says why missing scores leave a rule of a state undecided; "" if they do not. Either too
// many are missing of an arm and metric that the rule reads, or it would be decided
// otherwise if they were the lowest or the highest possible.
func (r Rule) unscored(a *analyse.Analysis, state State) string {
	missing, n, why := r.missing(a)
	if why != "" {
		return why
	}
	gaps, apart := r.gaps(a)
	for _, g := range gaps {
		if g.said != "" {
			missing = with(missing, g.said)
		}
		n[g.arm] = max(n[g.arm], g.failed)
	}
	if len(missing) == 0 || state == Undecided {
		return ""
	}
	if len(gaps) > mostCorners && apart {
		return fmt.Sprintf("scores are missing of too many results to try all of their ends together (more than %d); split the rule. Missing: %s", mostCorners, strings.Join(missing, ", "))
	}
	for _, way := range corners(len(gaps)) {
		var c Condition
		if r.settle(&c, filled(a, gaps, way)); c.State == state {
			continue
		}
		answers, all := "answers", 0 // 0: they are of the run that this one replicates
		for _, of := range n {
			all += of
		}
		if all > 0 {
			answers = text.Plural(all, "answer", "answers")
		}
		return answers + " without a score could reverse this: " + strings.Join(missing, ", ")
	}
	return ""
}

// missing says which scores of the run a rule lacks, and how many of each arm, or why that leaves it undecided
// whatever they are.
func (r Rule) missing(a *analyse.Analysis) (missing []string, n map[string]int, why string) {
	n = map[string]int{}
	for _, e := range a.Estimates {
		if e.Stratum != nil || e.Unscored == 0 || !r.readsScores(e.Arm, e.Metric) {
			continue
		}
		if why := tooMany(a, e); why != "" {
			return nil, nil, why
		}
		n[e.Arm] = max(n[e.Arm], e.Unscored)
		said := fmt.Sprintf("%d of %s of %s (%s)", e.Unscored, e.Metric, e.Arm, reasons(e))
		missing = append(missing, said)
		switch {
		case e.Least == nil:
			return nil, nil, said + " has no score, and there is no lowest and highest one to try instead"
		case slices.Contains(r.across, e.Metric):
			return nil, nil, said + " has no score, and what these would do to a comparison across a factor is not known: retry them, or let the rule read the differences themselves"
		}
	}
	for _, x := range r.calls {
		if x.arms() != 2 || x.outside || !x.in(nil) {
			continue
		}
		if c, has := a.Comparison(x.args[0], x.args[1], x.args[2]); has && c.Least == nil && lacks(a, c) {
			return nil, nil, fmt.Sprintf("%s has no score, and what these would do to the difference of %s and %s is not known: retry them", strings.Join(missing, ", "), c.A, c.B)
		}
	}
	return missing, n, ""
}

// tooMany says that an arm lacks more scores of a metric than the study allows; "" if not.
func tooMany(a *analyse.Analysis, e analyse.Estimate) string {
	if float64(e.UnscoredShare) <= a.Study.MaxUnscored {
		return ""
	}
	return fmt.Sprintf("%.1f %% of %s of %s has no score (%s: %s), the limit is %.1f %%", 100*e.UnscoredShare, e.Metric, e.Arm, text.Plural(e.Unscored, "entry", "entries"), reasons(e), 100*a.Study.MaxUnscored)
}

// reasons joins the most frequent reasons for missing scores.
func reasons(e analyse.Estimate) string {
	const few = 2
	var list []string
	for _, r := range e.Reasons {
		list = append(list, r.Name)
	}
	if len(list) > few {
		return strings.Join(list[:few], "; ") + " …"
	}
	return strings.Join(list, "; ")
}

// A gap is a result that lacks scores, such as an estimate: it can be at its least, and at its most.
type gap struct {
	of     string // what is at its ends, to know it again
	set    func(at *analyse.Analysis, most bool)
	said   string // what is missing, unless estimates over all items say it
	arm    string // of which so many trials failed
	failed int
}

// gapsOf are those of the elements of a list that have two ends, with what they lack.
func gapsOf[T any](kind string, list func(*analyse.Analysis) []T, a *analyse.Analysis, ends func(T) (least, most *T, said string)) (gaps []gap) {
	for i, x := range list(a) {
		if least, most, said := ends(x); least != nil {
			gaps = append(gaps, gap{of: fmt.Sprint(kind, i), said: said, set: func(at *analyse.Analysis, high bool) {
				list(at)[i] = *least
				if high {
					list(at)[i] = *most
				}
			}})
		}
	}
	return gaps
}

func (x call) ofEstimates(a *analyse.Analysis) []gap {
	return gapsOf("estimate", func(a *analyse.Analysis) []analyse.Estimate { return a.Estimates }, a, func(e analyse.Estimate) (least, most *analyse.Estimate, said string) {
		if e.Least == nil || e.Arm != x.args[0] || e.Metric != x.args[1] || !x.in(e.Stratum) {
			return nil, nil, ""
		}
		low, high := e, e
		spread(&low, false)
		spread(&high, true)
		low.Bounds, high.Bounds = *e.Least, *e.Most
		return &low, &high, ""
	})
}

func (x call) ofComparisons(a *analyse.Analysis) []gap {
	return gapsOf("comparison", func(a *analyse.Analysis) []analyse.Comparison { return a.Comparisons }, a, func(c analyse.Comparison) (least, most *analyse.Comparison, said string) {
		if !x.compares(c.A, c.B, c.Metric) || !x.in(c.Stratum) {
			return nil, nil, ""
		}
		return c.Least, c.Most, ""
	})
}

func (x call) ofChanges(a *analyse.Analysis) []gap {
	return gapsOf("change", func(a *analyse.Analysis) []analyse.Replication { return a.Replications }, a, func(c analyse.Replication) (least, most *analyse.Replication, said string) {
		if !x.compares(c.A, c.B, c.Metric) || !x.in(c.Stratum) {
			return nil, nil, ""
		}
		return c.Least, c.Most, fmt.Sprintf("some of %s here or in run %s", c.Metric, c.Run)
	})
}

func (x call) ofBlind(a *analyse.Analysis) (gaps []gap) {
	for i, b := range a.Blind {
		gaps = append(gaps, gapsOf(fmt.Sprint("blind", i, " "), func(a *analyse.Analysis) []analyse.BlindComparison { return a.Blind[i].Comparisons }, a, func(c analyse.BlindComparison) (least, most *analyse.BlindComparison, said string) {
			if b.Documents == 0 || !x.compares(c.A, c.B, c.Metric) || !c.Diff.Defined() || c.Least == c.Most {
				return nil, nil, ""
			}
			low, high := c, c
			low.Diff, high.Diff = c.Least, c.Most
			return &low, &high, fmt.Sprintf("%d of %s in the blind validation of %s", c.Unscored, c.Metric, b.By)
		})...)
	}
	return gaps
}

// ofAnswers are the failed trials of an arm: any of them could be of the kind of which a call reads the
// share in the answers.
func (x call) ofAnswers(a *analyse.Analysis) (gaps []gap) {
	i := slices.IndexFunc(a.Arms, func(arm analyse.Arm) bool { return arm.ID == x.args[0] && arm.Failed > 0 })
	if i < 0 || x.name == string(eval.Failed) {
		return nil
	}
	was := a.Arms[i]
	return []gap{{of: x.String(), said: fmt.Sprintf("%s of %s failed", text.Plural(was.Failed, "trial", "trials"), was.ID), arm: was.ID, failed: was.Failed, set: func(at *analyse.Analysis, most bool) {
		arm := &at.Arms[i]
		if arm.Answers() == was.Answers() {
			arm.OK += was.Failed
		}
		if most && arm.OK > was.OK { // else they are of the other kind
			arm.OK -= was.Failed
			*map[string]*int{string(eval.Malformed): &arm.Malformed, string(eval.Refused): &arm.Refused}[x.name] += was.Failed
		}
	}}}
}

// gaps are those of all that a rule reads. They go apart if it reads several results with gaps: then it
// may depend on one at its least and another at its most. The largest or the smallest of strata is at its end
// where all of them are.
func (r Rule) gaps(a *analyse.Analysis) (gaps []gap, apart bool) {
	results := 0
	for _, x := range r.calls {
		if x.gaps == nil {
			continue
		}
		found := x.gaps(x, a)
		if len(found) > 0 {
			results++
			apart = results > 1 || x.name == "p_min" // which leaves out strata by their differences
		}
		for _, g := range found {
			if !slices.ContainsFunc(gaps, func(o gap) bool { return o.of == g.of }) {
				gaps = append(gaps, g)
			}
		}
	}
	return gaps, apart
}

// in reports whether a call reads results of a stratum; nil: of all items.
func (x call) in(stratum *eval.Level) bool {
	switch {
	case x.takes("stratum"):
		return stratum != nil && stratum.Name == x.args[len(x.args)-1]
	case x.takes("stratum=value"):
		return stratum != nil && stratum.Name+"="+stratum.Value == x.args[len(x.args)-1]
	}
	return stratum == nil
}

// compares reports whether a call names a comparison, either way round.
func (x call) compares(a, b, metric string) bool {
	return same([3]string{a, b, metric})([3]string(x.args[:3]))
}

// mostCorners bounds the gaps of a rule whose ends are combined.
const mostCorners = 10

// corners are the ways in which each of some gaps is at its least, false, or at its most. Of more than
// mostCorners they are those in which all are at the same end.
func corners(gaps int) (ways [][]bool) {
	if gaps > mostCorners {
		return [][]bool{slices.Repeat([]bool{false}, gaps), slices.Repeat([]bool{true}, gaps)}
	}
	for mask := range 1 << gaps {
		way := make([]bool, gaps)
		for i := range way {
			way[i] = mask>>i&1 == 1
		}
		ways = append(ways, way)
	}
	return ways
}

// filled returns the analysis with its gaps at their ends.
func filled(a *analyse.Analysis, gaps []gap, most []bool) *analyse.Analysis {
	at := *a
	at.Arms, at.Estimates, at.Comparisons, at.Replications, at.Blind = slices.Clone(a.Arms), slices.Clone(a.Estimates), slices.Clone(a.Comparisons), slices.Clone(a.Replications), slices.Clone(a.Blind)
	for i := range at.Blind {
		at.Blind[i].Comparisons = slices.Clone(at.Blind[i].Comparisons)
	}
	for i, g := range gaps {
		g.set(&at, most[i])
	}
	return &at
}

// lacks reports whether scores that a comparison takes are missing.
func lacks(a *analyse.Analysis, c analyse.Comparison) bool {
	return slices.ContainsFunc([]string{c.A, c.B}, func(arm string) bool {
		e, _ := a.Estimate(arm, c.Metric)
		return e.Unscored > 0
	})
}

// spread sets the number of items of an estimate and their standard deviation to an end of what they
// can be: m further scores in a range of width R add at most m·R² to the sum of squares.
func spread(e *analyse.Estimate, high bool) {
	n, f := float64(e.Items), float64(e.UnscoredShare)
	squares := (n - 1) * float64(e.SD) * float64(e.SD)
	further := n * f / (1 - f)
	if high {
		width := float64(e.Most.Value-e.Least.Value) / f
		squares += further * width * width
		e.Items += e.Unscored
	}
	if f > 0 && f < 1 {
		e.SD = analyse.Number(math.Sqrt(squares / (n + further - 1)))
	}
}

// readsScores reports whether a rule reads a metric of an arm.
func (r Rule) readsScores(arm, metric string) bool {
	return slices.Contains(r.Estimates, [2]string{arm, metric}) || slices.Contains(r.across, metric) ||
		slices.ContainsFunc(r.Pairs, func(p [3]string) bool { return p[2] == metric && (p[0] == arm || p[1] == arm) })
}

// unread names the arms whose scores a rule reads, if no answer of any of them could be read; "" if
// one was. Such answers score as wrong ones do, and nothing can be decided by them alone.
func (r Rule) unread(a *analyse.Analysis) string {
	var unread []string
	for _, e := range a.Estimates {
		if e.Stratum != nil || !r.readsScores(e.Arm, e.Metric) {
			continue
		}
		if !slices.ContainsFunc(a.TroublesOf(e.Arm), analyse.Trouble.Unread) {
			return ""
		}
		if !slices.Contains(unread, e.Arm) {
			unread = append(unread, e.Arm)
		}
	}
	if len(unread) == 0 {
		return ""
	}
	return "no answer of " + strings.Join(unread, " or ") + " could be read"
}

// mostFree bounds the results without evidence whose ends are combined.
const mostFree = 8

// vacuous says how a rule holds because nothing is known: every interval is the widest
// possible and every p-value 1. It is "" if the rule does not, or reads no evidence. A rule
// that holds then by an estimate alone, as it would if all were known, is not meant: the
// gate warns of it.
func (r Rule) vacuous(metrics []eval.Metric) string {
	if r.program == nil || !r.Evidence {
		return ""
	}
	nothing, all := map[string]float64{}, map[string]float64{} // is known
	var unknown []string
	var free []call
	for _, x := range r.calls {
		low, high := x.reach(metrics)
		name := x.String()
		switch {
		case !x.evidence:
			free = append(free, x)
			continue
		case strings.HasSuffix(x.name, "low"):
			nothing[name], all[name] = low, high
		case x.name == "across_spread" || strings.HasSuffix(x.name, "high"):
			nothing[name], all[name] = high, low
		default: // a p-value
			nothing[name], all[name] = 1, 0
		}
		unknown = append(unknown, fmt.Sprintf("%s = %.4g", name, nothing[name]))
	}
	always, helps := true, false
	free = free[:min(len(free), mostFree)]
	for mask := range 1 << len(free) {
		for i, x := range free {
			low, high := x.reach(metrics)
			name := x.String()
			nothing[name] = [2]float64{low, high}[mask>>i&1]
			all[name] = nothing[name]
		}
		holds, _, _ := r.evaluate(view{instead: nothing})
		informed, _, _ := r.evaluate(view{instead: all})
		always = always && holds == Pass
		helps = helps || holds == Pass && informed != Pass
	}
	if always || helps {
		return strings.Join(unknown, ", ")
	}
	return ""
}

// mostTried bounds the combinations of results at which a rule is tried.
const mostTried = 4096

var numerals = regexp.MustCompile(`-?[0-9.]+(?:[eE][-+]?[0-9]+)?`)

// idle reports whether a rule without evidence holds whatever the results are: at the ends of what
// they can be, at the numbers in the rule, and between them.
func (r Rule) idle(metrics []eval.Metric) bool {
	if r.program == nil || r.Evidence {
		return false
	}
	var results []string
	var points [][]float64
	combinations := 1
	for _, x := range r.calls {
		if x.outside && x.takes("metric") { // such as blind_min: that there is one is asked for
			return false
		}
		low, high := x.reach(metrics)
		switch {
		case x.takes("task"), x.name == "registered", !x.takes("metric") && !x.counts:
			low, high = 0, 1
		case x.counts:
			low = 0
		}
		list := []float64{low, high}
		for _, s := range numerals.FindAllString(r.That, -1) {
			if n, err := strconv.ParseFloat(s, 64); err == nil && n > low && n < high {
				list = append(list, n)
			}
		}
		slices.Sort(list)
		for i := range len(list) - 1 {
			list = append(list, (list[i]+list[i+1])/2)
		}
		results, points = append(results, x.String()), append(points, list)
		if combinations *= len(list); combinations > mostTried {
			return false
		}
	}
	for n := range combinations {
		values := map[string]float64{}
		for i, name := range results {
			values[name] = points[i][n%len(points[i])]
			n /= len(points[i])
		}
		if state, _, _ := r.evaluate(view{instead: values}); state != Pass {
			return false
		}
	}
	return true
}

// reach returns the least and the greatest value that a result can have.
func (x call) reach(metrics []eval.Metric) (low, high float64) {
	const unbounded = 1e9
	low, high = -unbounded, unbounded
	arms := x.arms()
	i := -1
	if arms > 0 && x.takes("metric") {
		i = slices.IndexFunc(metrics, func(m eval.Metric) bool { return m.Name == x.args[arms] })
	}
	switch {
	case x.takes("task") || x.name == "registered":
		return 1, 1
	case x.counts:
		return unbounded, unbounded // they are no evidence
	case !x.takes("metric"):
		return 0, 0 // trials that failed
	case i < 0 || x.effect():
		return low, high
	}
	m := metrics[i]
	if width := m.Max - m.Min; arms == 2 && width > 0 && !math.IsInf(width, 0) {
		return -width, width
	}
	if arms == 1 && m.Max > m.Min {
		low, high = max(low, m.Min), min(high, m.Max)
	}
	return low, high
}

// checkVacuous reports the rules that can make the gate pass where nothing is known.
func (r *Rules) checkVacuous(metrics []eval.Metric) (problems []*study.Error) {
	asks := false // a required rule reads a result
	for _, x := range r.list {
		asks = asks || x.Kind == Require && len(x.Measured)+len(x.Tested)+len(x.across) > 0
		if !x.Passes {
			continue
		}
		switch how := x.vacuous(metrics); {
		case x.idle(metrics):
			problems = append(problems, &study.Error{Path: x.At, Err: errors.New("the rule holds whatever the results are, so it asks for no evidence: compare a result with a limit, such as diff_low('new', 'old', 'metric') > -0.05")})
		case how != "":
			problems = append(problems, &study.Error{Path: x.At, Err: fmt.Errorf("the rule holds where nothing is known (%s), so it asks for no evidence: ask that an interval lies inside a limit, such as diff_low('new', 'old', 'metric') > -0.05 or within('new', 'old', 'metric', 0.05)", how)})
		case x.state == Pass && x.program == nil && x.That == Otherwise && !asks:
			problems = append(problems, &study.Error{Path: strings.TrimSuffix(x.At, "when") + "verdict",
				Err: fmt.Errorf("outcome %q passes whenever no other applies, so also when nothing is known: give it a condition, or a verdict of fail or undecided", x.Name)})
		}
	}
	return problems
}

// byJudge adds to a decided condition that it rests on a judge whom people did not correct, and
// how far the judge would have to err to reverse it. If the study requires judges to be
// measured, the condition is undecided. What people say of single verdicts corrects a
// metric that counts them, not one that combines them, nor a comparison across a factor: the condition
// names such metrics.
func (r Rule) byJudge(a *analyse.Analysis, c *Condition) {
	if said := r.judgesDiffer(a); said != "" && c.State != Undecided {
		c.State, c.Reason = Undecided, said
		return
	}
	if said := r.pricesDiffer(a); said != "" && c.State != Undecided {
		c.State, c.Reason = Undecided, said
		return
	}
	if c.State == Undecided || c.Kind == Outcome && c.State == Fail {
		return
	}
	var counted, combined, across, disputed []string
	unjudged := false
	for _, e := range a.Estimates {
		of := e.Metric + " of " + e.Arm
		if e.Stratum != nil {
			of += " in " + e.Stratum.Name + "=" + e.Stratum.Value
		}
		if e.Disputed > 0 && r.readsEstimate(e) {
			disputed = append(disputed, text.Plural(e.Disputed, "unit", "units")+" of "+of)
		}
		switch {
		case !r.readsOfJudge(e):
		case e.Stratum == nil && slices.Contains(r.across, e.Metric):
			across = append(across, of)
		case e.Combined:
			combined = append(combined, of)
		default:
			counted, unjudged = append(counted, of), unjudged || e.Disputed == 0
		}
	}
	var remedies []string
	if unjudged {
		remedies = append(remedies, "let people judge some of these answers with `scruple annotate`")
	}
	if len(combined) > 0 {
		remedies = append(remedies, fmt.Sprintf("%s combines verdicts in a way that people's verdicts do not correct: let a rule read a metric that counts single verdicts", strings.Join(combined, ", ")))
	}
	if len(across) > 0 {
		remedies = append(remedies, "a comparison across a factor reads the judge's scores, which people's verdicts do not correct: let the rule read diff_in of each level")
	}
	if len(disputed) > 0 {
		remedies = append(remedies, fmt.Sprintf("people differ on %s or skipped them, which are left out, so that the others are no random sample: answer those that were skipped, and decide with `scruple annotate --adjudicate`", strings.Join(disputed, ", ")))
	}
	alone, remedy := slices.Concat(counted, combined, across), strings.Join(remedies, "; ")
	what := "on the judge alone for " + strings.Join(alone, ", ")
	switch {
	case len(remedies) == 0:
	case len(alone) == 0 && r.checked:
		c.State, c.Reason = Undecided, "require_measured asks for people's verdicts: "+remedy
	case len(alone) == 0:
		c.Warnings = append(c.Warnings, remedy)
	case r.checked:
		c.State, c.Reason = Undecided, fmt.Sprintf("it rests %s, and require_measured asks for people's verdicts: %s", what, remedy)
	default:
		if reversal := r.reversal(a, c.State); reversal != "" {
			c.JudgeAlone = true
			c.Warnings = append(c.Warnings, fmt.Sprintf("rests %s: %s; %s", what, reversal, remedy))
		}
	}
}

// readsOfJudge reports whether a rule reads scores of an arm that people did not correct: all of them,
// those of a stratum, or, across a factor, those of the judge.
func (r Rule) readsOfJudge(e analyse.Estimate) bool {
	return r.readsEstimate(e) && (e.JudgeAlone || e.Stratum == nil && e.ByJudge != nil && slices.Contains(r.across, e.Metric))
}

// Corrected reports whether a rule reads what people corrected: it follows from their verdicts, and
// not from the scores of the run alone.
func (r Rule) Corrected(a *analyse.Analysis) bool {
	return slices.ContainsFunc(a.Estimates, func(e analyse.Estimate) bool { return e.ByJudge != nil && r.readsEstimate(e) })
}

// readsEstimate reports whether a rule reads the scores of an estimate.
func (r Rule) readsEstimate(e analyse.Estimate) bool {
	if e.Stratum == nil {
		return r.readsScores(e.Arm, e.Metric)
	}
	return slices.ContainsFunc(r.calls, func(x call) bool {
		n := x.arms()
		return x.in(e.Stratum) && x.args[n] == e.Metric && slices.Contains(x.args[:n], e.Arm)
	})
}

// judgesDiffer says that the rule compares arms by what different judges said.
func (r Rule) judgesDiffer(a *analyse.Analysis) string {
	pairs := slices.Clone(r.Tested)
	for i, x := range r.Measured {
		for _, y := range r.Measured[i+1:] {
			if x[1] == y[1] {
				pairs = append(pairs, [3]string{x[0], y[0], x[1]})
			}
		}
	}
	for _, p := range pairs {
		k, compared := a.Comparison(p[0], p[1], p[2])
		if !compared && judgeAlone(a, p[0], p[2]) && judgeAlone(a, p[1], p[2]) {
			x, _ := a.Arm(p[0])
			y, _ := a.Arm(p[1])
			k.JudgesDiffer = x.JudgedUnlike(y)
		}
		if k.JudgesDiffer != "" {
			return fmt.Sprintf("%s: let one judge judge %s and %s", k.JudgesDiffer, p[0], p[1])
		}
	}
	return ""
}

// pricesDiffer says that the rule reads costs at several prices of one model.
func (r Rule) pricesDiffer(a *analyse.Analysis) string {
	var read []analyse.Estimate
	for _, e := range a.Estimates {
		if len(e.Prices) > 0 && r.readsEstimate(e) {
			read = append(read, e)
		}
	}
	if said := analyse.PricesDiffer(read...); said != "" {
		return said + ": " + analyse.OnePrice
	}
	return ""
}

// steps is how finely errors of a judge are tried, in parts of the range of a metric. Each try takes twice
// as long for each result that lacks scores: with more than mostGaps none is tried.
const (
	steps    = 100
	parts    = 10 // of the step that reverses
	mostGaps = 6
)

// notTried says that errors of a judge enter a rule in a way that is not tried.
const notTried = "which of its errors would reverse this is not known"

// reversal says which error of the judge would change the state of the rule: the smallest
// difference between its errors on the two arms of a comparison, or error on one arm. It is
// "" if none would, and says so where it cannot be tried.
func (r Rule) reversal(a *analyse.Analysis, state State) string {
	least, said := math.Inf(1), ""
	if len(r.across) > 0 || slices.ContainsFunc(a.Estimates, func(e analyse.Estimate) bool { return e.Stratum != nil && r.readsOfJudge(e) }) {
		said = notTried
	}
	for _, x := range r.calls {
		n := x.arms()
		unmoved := x.effect() || x.apart && !x.outside && x.in(nil)
		if unmoved && slices.ContainsFunc(x.args[:n], func(arm string) bool { return judgeAlone(a, arm, x.args[n]) }) {
			said = notTried
		}
	}
	gaps, _ := r.gaps(a)
	try := func(metric, between string, move func(moved *analyse.Analysis, by analyse.Number)) {
		m, _ := a.Metric(metric)
		most := float64(m.Max - m.Min)
		if math.IsInf(most, 0) || math.IsNaN(most) || len(gaps) > mostGaps {
			said = cmp.Or(said, notTried)
			return
		}
		reversed := func(by float64) bool {
			moved := *a
			moved.Estimates, moved.Comparisons = slices.Clone(a.Estimates), slices.Clone(a.Comparisons)
			move(&moved, analyse.Number(by))
			return r.apply(&moved).State != state
		}
		at := func(n int) float64 { return most * float64(n) / (steps * parts) }
		either := func(n int) bool { return reversed(at(n)) || reversed(-at(n)) }
		for n := parts; n <= steps*parts && at(n) < least; n += parts {
			if !either(n) {
				continue
			}
			first := n - parts + 1
			for !either(first) { // the whole step does
				first++
			}
			by := at(first)
			shown := fmt.Sprintf("%.3g", by)
			if m.Max == 1 && m.Min >= -1 {
				shown = fmt.Sprintf("%.2g points", 100*by)
			}
			least, said = by, fmt.Sprintf(between, shown)
		}
	}
	for i, c := range a.Comparisons {
		pair := [3]string{c.A, c.B, c.Metric}
		if c.Stratum == nil && slices.ContainsFunc(r.Pairs, same(pair)) && (judgeAlone(a, c.A, c.Metric) || judgeAlone(a, c.B, c.Metric)) {
			named := r.Pairs[slices.IndexFunc(r.Pairs, same(pair))]
			try(c.Metric, fmt.Sprintf("a difference of %%s between its errors on %s and on %s would reverse this", named[0], named[1]), func(moved *analyse.Analysis, by analyse.Number) {
				moved.Comparisons[i] = c.Moved(by)
			})
		}
	}
	for i, e := range a.Estimates {
		if e.Stratum == nil && e.JudgeAlone && slices.Contains(r.Estimates, [2]string{e.Arm, e.Metric}) {
			try(e.Metric, fmt.Sprintf("an error of %%s on %s would reverse this", e.Arm), func(moved *analyse.Analysis, by analyse.Number) {
				moved.Estimates[i] = e.Moved(by)
			})
		}
	}
	return said
}

func judgeAlone(a *analyse.Analysis, arm, metric string) bool {
	e, _ := a.Estimate(arm, metric)
	return e.JudgeAlone
}
