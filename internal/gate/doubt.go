package gate

import (
	"fmt"
	"iter"
	"math"
	"slices"
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
	var missing []string
	n := map[string]int{} // by arm
	for _, e := range a.Estimates {
		if e.Stratum != nil || e.Unscored == 0 || !r.readsScores(e.Arm, e.Metric) {
			continue
		}
		if said := tooMany(a, e); said != "" {
			return said
		}
		n[e.Arm] = max(n[e.Arm], e.Unscored)
		missing = append(missing, fmt.Sprintf("%d of %s of %s (%s)", e.Unscored, e.Metric, e.Arm, reasons(e)))
		switch {
		case e.Least == nil:
			return fmt.Sprintf("%s has no score, and there is no lowest and highest one to try instead", missing[len(missing)-1])
		case slices.Contains(r.across, e.Metric):
			return fmt.Sprintf("%s has no score, and what these would do to a comparison across a factor is not known: retry them, or let the rule read the differences themselves", missing[len(missing)-1])
		}
	}
	for _, x := range r.calls {
		if x.arms() != 2 || x.outside || !x.takes("metric") || x.takes("stratum") || x.takes("stratum=value") {
			continue
		}
		of := x.args[:3]
		if c, has := a.Comparison(of[0], of[1], of[2]); has && c.Least == nil && lacks(a, of) {
			return fmt.Sprintf("%s has no score, and what these would do to the difference of %s and %s is not known: retry them", strings.Join(missing, ", "), of[0], of[1])
		}
	}
	for _, k := range a.Replications {
		if k.Stratum == nil && k.Least != nil && r.readsChange(k) {
			missing = append(missing, fmt.Sprintf("some of %s here or in run %s", k.Metric, k.Run))
		}
	}
	for _, x := range r.calls {
		if arm, ok := x.unanswered(a); ok {
			n[arm.ID] = max(n[arm.ID], arm.Failed)
			missing = with(missing, fmt.Sprintf("%s of %s failed", text.Plural(arm.Failed, "trial", "trials"), arm.ID))
		}
		for b, c := range x.blind(a) {
			missing = with(missing, fmt.Sprintf("%d of %s in the blind validation of %s", c.Unscored, c.Metric, b.By))
		}
	}
	if len(missing) == 0 || state == Undecided {
		return ""
	}
	ways, all := r.corners(a)
	if !all {
		return fmt.Sprintf("scores are missing in too many strata to try all of their ends together (more than %d): %s", mostCorners, strings.Join(missing, ", "))
	}
	for _, most := range ways {
		var c Condition
		if r.settle(&c, corner(a, most)); c.State != state {
			all := 0
			for _, of := range n {
				all += of
			}
			answers := text.Plural(all, "answer", "answers")
			if all == 0 { // they are of the run that this one replicates
				answers = "answers"
			}
			return answers + " without a score could reverse this: " + strings.Join(missing, ", ")
		}
	}
	return ""
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

// mostCorners bounds the statements of a rule whose ends are combined.
const mostCorners = 10

// corners are the ways in which each estimate and each comparison that the rule reads and
// that lacks scores, in each stratum that it reads, is at its most or at its least. Of more than
// mostCorners of them they are those in which one is, or all are at the same end, and not all
// that matter if strata are compared with each other.
func (r Rule) corners(a *analyse.Analysis) (ways []map[string]bool, all bool) {
	var list []string // of statements
	strata := false
	for _, x := range r.calls {
		arms := x.arms()
		for b := range x.blind(a) {
			list = with(list, statement(nil, append(slices.Clone(x.args), b.Data)...))
		}
		if arm, ok := x.unanswered(a); ok {
			list = with(list, statement(nil, arm.ID, x.name))
		}
		if arms == 0 || x.outside || !x.takes("metric") {
			continue
		}
		of := x.args[:arms+1]
		missing := lacks(a, of) || arms == 2 && slices.ContainsFunc(a.Replications, func(k analyse.Replication) bool {
			return k.Least != nil && r.readsChange(k) && same([3]string(of))([3]string{k.A, k.B, k.Metric})
		})
		switch {
		case !missing:
		case x.takes("stratum"):
			strata = true
			for _, c := range a.Strata(of[0], of[1], of[2], x.args[3]) {
				if c.Least != nil {
					list = with(list, statement(c.Stratum, of...))
				}
			}
		case x.takes("stratum=value"):
			strata = true
			list = with(list, statement(nil, x.args...))
		default:
			list = with(list, statement(nil, of...))
		}
	}
	if len(list) > mostCorners {
		for _, end := range []bool{false, true} {
			all := map[string]bool{}
			for _, name := range list {
				all[name] = end
				ways = append(ways, map[string]bool{name: end})
			}
			ways = append(ways, all)
		}
		return ways, !strata || !r.combinesStrata()
	}
	for mask := range 1 << len(list) {
		most := map[string]bool{}
		for i, name := range list {
			most[name] = mask>>i&1 == 1
		}
		ways = append(ways, most)
	}
	return ways, true
}

// lacks reports whether scores of one of the arms by the metric behind them are missing.
func lacks(a *analyse.Analysis, of []string) bool {
	metric := of[len(of)-1]
	return slices.ContainsFunc(of[:len(of)-1], func(arm string) bool {
		e, _ := a.Estimate(arm, metric)
		return e.Unscored > 0
	})
}

// combinesStrata reports whether a rule reads several results of strata, whose ends can go apart.
func (r Rule) combinesStrata() bool {
	n := 0
	for _, x := range r.calls {
		if x.takes("stratum") || x.takes("stratum=value") {
			n++
		}
	}
	return n > 1 || n == 1 && slices.ContainsFunc(r.calls, func(x call) bool { return x.name == "p_min" })
}

// statement names an estimate or a comparison, over all items or in a stratum.
func statement(in *eval.Level, names ...string) string {
	if in != nil {
		names = append(slices.Clone(names), in.Name+"="+in.Value)
	}
	return strings.Join(names, "\x00")
}

// blind are the results of outsiders that a call reads and that lack scores.
func (x call) blind(a *analyse.Analysis) iter.Seq2[analyse.BlindResult, analyse.BlindComparison] {
	return func(yield func(analyse.BlindResult, analyse.BlindComparison) bool) {
		if !x.outside || !x.takes("metric") {
			return
		}
		for _, b := range a.Blind {
			if c, has := b.Comparison(x.args[0], x.args[1], x.args[2]); has && c.Least != c.Most && !yield(b, c) {
				return
			}
		}
	}
}

// unanswered is the arm of whose answers a call reads a share, if some of its trials failed.
func (x call) unanswered(a *analyse.Analysis) (analyse.Arm, bool) {
	if x.name != ofMalformed && x.name != ofRefused {
		return analyse.Arm{}, false
	}
	arm, ok := a.Arm(x.args[0])
	return arm, ok && arm.Failed > 0
}

// corner returns the analysis in which the named estimates and comparisons are at their
// most (true) or least (false), and the changes of differences and results of outsiders with them.
func corner(a *analyse.Analysis, most map[string]bool) *analyse.Analysis {
	at := *a
	at.Arms, at.Estimates, at.Comparisons, at.Replications, at.Blind = slices.Clone(a.Arms), slices.Clone(a.Estimates), slices.Clone(a.Comparisons), slices.Clone(a.Replications), slices.Clone(a.Blind)
	for i := range at.Estimates {
		e := &at.Estimates[i]
		if high, ok := most[statement(e.Stratum, e.Arm, e.Metric)]; ok && e.Least != nil {
			spread(e, high)
			e.Bounds = *end(high, e.Least, e.Most)
		}
	}
	for i := range at.Arms {
		arm := &at.Arms[i]
		malformed, reads := most[statement(nil, arm.ID, ofMalformed)]
		refused, readsToo := most[statement(nil, arm.ID, ofRefused)]
		switch {
		case !reads && !readsToo:
			continue
		case malformed:
			arm.Malformed += arm.Failed
		case refused:
			arm.Refused += arm.Failed
		default:
			arm.OK += arm.Failed
		}
	}
	ofPair := func(in *eval.Level, a, b string, of ...string) (high, ok bool) {
		if high, ok = most[statement(in, append([]string{a, b}, of...)...)]; !ok {
			high, ok = most[statement(in, append([]string{b, a}, of...)...)]
			high = !high
		}
		return high, ok
	}
	for i := range at.Comparisons {
		c := &at.Comparisons[i]
		if high, ok := ofPair(c.Stratum, c.A, c.B, c.Metric); ok && c.Least != nil {
			*c = *end(high, c.Least, c.Most)
		}
	}
	for i := range at.Replications {
		c := &at.Replications[i]
		if high, ok := ofPair(c.Stratum, c.A, c.B, c.Metric); ok && c.Least != nil {
			*c = *end(high, c.Least, c.Most)
		}
	}
	for i := range at.Blind {
		b := &at.Blind[i]
		b.Comparisons = slices.Clone(b.Comparisons)
		for k := range b.Comparisons {
			c := &b.Comparisons[k]
			if high, ok := ofPair(nil, c.A, c.B, c.Metric, b.Data); ok {
				c.Diff = *end(high, &c.Least, &c.Most)
			}
		}
	}
	return &at
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

func end[T any](high bool, least, most *T) *T {
	if high {
		return most
	}
	return least
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

// readsChange reports whether a rule reads a change since an earlier run.
func (r Rule) readsChange(k analyse.Replication) bool {
	return slices.ContainsFunc(r.calls, func(x call) bool {
		return strings.HasPrefix(x.name, "change") && same([3]string{k.A, k.B, k.Metric})([3]string(x.args[:3]))
	})
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
	case i < 0 || strings.HasPrefix(x.name, "d_") || x.name == "d":
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
		case how != "":
			problems = append(problems, &study.Error{Path: x.At, Err: fmt.Errorf("the rule holds where nothing is known (%s), so it asks for no evidence: ask that an interval lies inside a limit, such as diff_low('new', 'old', 'metric') > -0.05 or within('new', 'old', 'metric', 0.05)", how)})
		case x.state == Pass && x.program == nil && x.That == Otherwise && !asks:
			problems = append(problems, &study.Error{Path: strings.TrimSuffix(x.At, "when") + "verdict",
				Err: fmt.Errorf("outcome %q passes whenever no other applies, so also when nothing is known: give it a condition, or a verdict of fail or undecided", x.Name)})
		}
	}
	return problems
}

// byJudge adds to a decided condition that it rests on a judge whom no person checked, and
// how far the judge would have to err to reverse it. If the study requires judges to be
// measured, the condition is undecided. What people say of single verdicts corrects a
// metric that counts them, not one that combines them, nor a comparison across a factor: the condition
// names such metrics.
func (r Rule) byJudge(a *analyse.Analysis, c *Condition) {
	if said := r.judgesDiffer(a); said != "" && c.State != Undecided {
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
	whom := ", whom nobody checked"
	if len(across) > 0 {
		remedies, whom = append(remedies, "a comparison across a factor reads the judge's scores, which people's verdicts do not correct: let the rule read diff_in of each level"), ""
	}
	if len(disputed) > 0 {
		remedies, whom = append(remedies, fmt.Sprintf("people differ on %s or skipped them, which are left out, so that the others are no random sample: answer those that were skipped, and decide with `scruple annotate --adjudicate`", strings.Join(disputed, ", "))), ""
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
			c.Warnings = append(c.Warnings, fmt.Sprintf("rests %s%s: %s; %s", what, whom, reversal, remedy))
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
		in := x.takes("stratum") && x.args[n+1] == e.Stratum.Name || x.takes("stratum=value") && x.args[n+1] == e.Stratum.Name+"="+e.Stratum.Value
		return in && x.args[n] == e.Metric && slices.Contains(x.args[:n], e.Arm)
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

// steps is how finely errors of a judge are tried, in parts of the range of a metric.
const steps = 400

// reversal says which error of the judge would change the state of the rule: the smallest
// difference between its errors on the two arms of a comparison, or error on one arm. It is
// "" if none would, and says so where it cannot be tried.
func (r Rule) reversal(a *analyse.Analysis, state State) string {
	least, said := math.Inf(1), ""
	if len(r.across) > 0 || slices.ContainsFunc(a.Estimates, func(e analyse.Estimate) bool { return e.Stratum != nil && r.readsOfJudge(e) }) {
		said = "how its errors enter a stratum, or a comparison across a factor, is not known"
	}
	try := func(metric, between string, move func(moved *analyse.Analysis, by analyse.Number)) {
		m, _ := a.Metric(metric)
		most := float64(m.Max - m.Min)
		if math.IsInf(most, 0) || math.IsNaN(most) {
			if said == "" {
				said = fmt.Sprintf("how far it may err is not known, since %s has no bounds", metric)
			}
			return
		}
		for k := 1; k <= steps && most*float64(k)/steps < least; k++ {
			for _, by := range []float64{most * float64(k) / steps, -most * float64(k) / steps} {
				moved := *a
				moved.Estimates, moved.Comparisons = slices.Clone(a.Estimates), slices.Clone(a.Comparisons)
				move(&moved, analyse.Number(by))
				if r.apply(&moved).State == state {
					continue
				}
				least = math.Abs(by)
				size := fmt.Sprintf("%.3g", least)
				if m.Max == 1 && m.Min >= -1 {
					size = fmt.Sprintf("%.2g points", 100*least)
				}
				said = fmt.Sprintf(between, size)
				return
			}
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
