package analyse

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/stats"
)

// Analyse computes the analysis of the collected scores.
func (c *Collector) Analyse(q Question, from Sources) (*Analysis, error) {
	if c.problem != nil {
		return nil, c.problem
	}
	for i := range c.arms {
		c.turn(&c.arms[i], len(c.items))
	}
	a := &Analysis{Format: Format, Study: q.Study, Run: q.Run, Metrics: c.metrics(q), Asked: from.Asked}
	if err := c.outcomes(a, from); err != nil {
		return nil, err
	}
	c.atLook(&a.Run)
	a.markSimulatedJudges(from)
	if from.Ratings != nil {
		of := from.Ratings.byArm()
		for i := range c.arms {
			c.arms[i].rated = of[c.arms[i].ID]
		}
	}
	selections := c.selections()
	if q.Overall {
		selections = selections[:1]
	}
	for _, s := range selections[1:] {
		a.Run.Strata = append(a.Run.Strata, Count{s.stratum.Name + "=" + s.stratum.Value, len(s.items)})
	}
	err := c.estimates(a, q, selections)
	if err == nil {
		err = c.comparisons(a, q, selections)
	}
	if err == nil && !q.Overall {
		err = c.interactions(a, q, selections)
	}
	if err != nil {
		return nil, err
	}
	markLate(a.Comparisons, q)
	a.addLate(q)
	c.nameJudges(a, from.JudgedBy)
	c.markJudges(a, q)
	c.markPrices(a, from.Prices)
	if q.Run.Exploratory() { // without whatever could be read as a test
		for i := range a.Comparisons {
			a.Comparisons[i].untest()
		}
		a.Models = nil
	}
	if q.Calibration != nil {
		j, err := judge(*q.Calibration, q.level())
		if err != nil {
			return nil, err
		}
		a.Judges, a.Tables = []Judge{j}, append(a.Tables, q.Calibration.Tables...)
	}
	if from.Ratings != nil {
		if a.JudgeAndPeople, err = judgeAndPeople(from.Ratings, q.level()); err != nil {
			return nil, err
		}
	}
	for _, add := range []func(*Analysis, Question, Sources) error{c.tables, c.samples, c.troubles} {
		if err := add(a, q, from); err != nil {
			return nil, err
		}
	}
	shortenSamples(a.Samples)
	a.CutPrompts = from.Cuts
	a.Warnings = slices.Concat(mixedSettings(from.Mixed), a.otherVersions(from.Models), warnings(a, q))
	return a, nil
}

// otherVersions warns of compared arms that asked one model, by its name, and were answered by no version
// of it that answered both. Arms that asked different models compare these.
func (a *Analysis) otherVersions(models map[string][]string) (w []string) {
	seen := map[[2]string]bool{}
	for _, k := range a.Comparisons {
		pair := [2]string{k.A, k.B}
		x, okX := a.Arm(k.A)
		y, okY := a.Arm(k.B)
		if !okX || !okY || seen[pair] || len(x.Versions) == 0 || len(y.Versions) == 0 || x.Simulated || y.Simulated {
			continue
		}
		seen[pair] = true
		if answered, both := x.versions(), y.versions(); share(models[k.A], models[k.B]) && !share(answered, both) {
			w = append(w, fmt.Sprintf("%s was answered by %s, and %s by %s: their difference may be the model's", k.A, listed(answered), k.B, listed(both)))
		}
	}
	return w
}

// share reports whether two lists have a text in common.
func share(x, y []string) bool {
	return slices.ContainsFunc(x, func(s string) bool { return slices.Contains(y, s) })
}

// versions are the names of the versions that answered.
func (arm Arm) versions() (names []string) {
	for _, v := range arm.Versions {
		names = append(names, v.Name)
	}
	return names
}

// tables adds the tables and figures of the suite, what no arm solved, and ranks.
func (c *Collector) tables(a *Analysis, q Question, from Sources) error {
	var blocks []eval.Block
	if from.Report != nil {
		var shown eval.Results = results{a, from.Cases, panel{c, q}}
		if q.Run.Exploratory() {
			shown = describing{shown}
		}
		var err error
		if blocks, err = from.Report(shown); err != nil {
			return fmt.Errorf("computing the tables of the suite: %w", err)
		}
	}
	unsolved, err := c.unsolved(q, from)
	for _, b := range append(blocks, eval.Block{Table: unsolved}, eval.Block{Table: a.ranks(q)}) {
		if b.Table != nil {
			a.Tables = append(a.Tables, *b.Table)
		}
		if b.Figure != nil {
			a.Figures = append(a.Figures, *b.Figure)
		}
	}
	return err
}

func (c *Collector) metrics(q Question) []Metric {
	return MetricsOf(c.suite.Metrics, q.Primary, q.Secondary)
}

// MetricsOf describes metrics, primary and secondary ones first.
func MetricsOf(metrics []eval.Metric, primary, secondary []string) []Metric {
	var list []Metric
	for _, m := range metrics {
		rank := "other"
		if slices.Contains(primary, m.Name) {
			rank = "primary"
		} else if slices.Contains(secondary, m.Name) {
			rank = "secondary"
		}
		list = append(list, Metric{Name: m.Name, Title: m.Title, Doc: m.Doc, Formula: m.Formula, Min: Number(m.Min), Max: Number(m.Max),
			HigherIsBetter: m.HigherIsBetter, NoDirection: m.NoDirection, Kind: m.Kind, Pooling: m.Pooling, ByScorer: m.Judge == eval.ByScorer, Rank: rank})
	}
	order := map[string]int{"primary": 0, "secondary": 1, "other": 2}
	slices.SortStableFunc(list, func(x, y Metric) int { return order[x.Rank] - order[y.Rank] })
	return list
}

// outcomes lists the arms with their trial outcomes, contestants first.
func (c *Collector) outcomes(a *Analysis, from Sources) (err error) {
	for _, role := range []eval.Role{eval.RoleArm, eval.RoleBaseline} {
		for i := range c.arms {
			arm := &c.arms[i]
			if arm.Role != role {
				continue
			}
			a.Arms = append(a.Arms, Arm{ID: arm.ID, Levels: arm.Levels, Role: arm.Role, Simulated: arm.Simulated, Given: arm.Given, NoRun: slices.Contains(from.NoRun, arm.ID),
				Planned: a.Run.Items * a.Run.Replicates, OK: arm.kinds[eval.OK], Malformed: arm.kinds[eval.Malformed],
				Refused: arm.kinds[eval.Refused], Failed: arm.kinds[eval.Failed], Reasons: counts(arm.reasons), Notes: counts(arm.notes)})
			added := &a.Arms[len(a.Arms)-1]
			if added.Intervals, err = c.intervals(arm, 1-a.Study.Alpha); err != nil {
				return fmt.Errorf("estimating the shares of outcomes of %s: %w", arm.ID, err)
			}
		}
	}
	for i := range c.arms {
		for _, n := range c.arms[i].kinds {
			a.Run.Done += n
		}
		a.Run.Failed += c.arms[i].kinds[eval.Failed]
	}
	for _, n := range from.Calls {
		a.addTo(n.Arm, func(arm *Arm) { arm.addCalls(n) })
		i, known := c.armIdx[n.Arm]
		if known && c.arms[i].Given && n.Stage == eval.StageRun { // nobody was called, and what the answers cost is not known
			continue
		}
		a.Total = cmp.Or(a.Total, &Usage{})
		a.Total.add(n)
		if known && c.arms[i].Role == eval.RoleCalibration {
			a.Calibration = cmp.Or(a.Calibration, &Usage{})
			a.Calibration.add(n)
		}
	}
	for _, l := range from.Latencies {
		a.addTo(l.Arm, func(arm *Arm) { arm.LatencyMS = &Latency{Number(l.Median), Number(l.P95)} })
	}
	for _, v := range from.Versions {
		if v.Version != "" {
			a.addTo(v.Arm, func(arm *Arm) {
				arm.Versions = append(arm.Versions, Count{v.Version, v.Calls})
				arm.Simulated = arm.Simulated || simulated(v.Version)
			})
		}
	}
	return nil
}

func simulated(version string) bool { return strings.HasPrefix(version, eval.SimulatedVersion) }

// markSimulatedJudges marks the arms that a simulated judge judged, and lists such judges.
func (a *Analysis) markSimulatedJudges(from Sources) {
	for _, v := range from.JudgedBy {
		if simulated(v.Version) {
			a.addTo(v.Arm, func(arm *Arm) { arm.SimulatedJudge = true })
		}
	}
	if from.Asked == nil {
		return
	}
	for _, p := range from.Asked.Parties {
		if p.Judge && slices.ContainsFunc(p.Answered, func(c Count) bool { return simulated(c.Name) }) {
			a.SimulatedJudges = append(a.SimulatedJudges, cmp.Or(p.Name, p.Model))
		}
	}
}

// addTo adds to an arm, if it is a contestant.
func (a *Analysis) addTo(arm string, add func(*Arm)) {
	for i := range a.Arms {
		if a.Arms[i].ID == arm {
			add(&a.Arms[i])
		}
	}
}

func (a *Arm) addCalls(n eval.ArmCalls) {
	cost := Number(n.CostUSD)
	a.Estimated += n.Estimated
	a.OddEnds += n.OddEnds
	a.Reused += n.Reused
	a.ReusedUSD += Number(n.ReusedUSD)
	if n.Unpriced > 0 {
		cost = Undefined()
	}
	if n.Stage == eval.StageJudge {
		a.JudgeCalls, a.JudgeCostUSD = n.Calls, cost
		return
	}
	a.Calls, a.Retried, a.CostUSD = n.Calls, n.Retried, cost
	a.InputTokens, a.OutputTokens, a.CachedTokens, a.Reasoning = Tokens(n.Input), Tokens(n.Output), Tokens(n.Cached), Tokens(n.Reasoning)
	if n.Uncounted > 0 {
		a.InputTokens, a.OutputTokens, a.CachedTokens, a.Reasoning = -1, -1, -1, -1
	}
}

func judge(c eval.Calibration, level float64) (Judge, error) {
	j := Judge{Name: c.Judge, On: c.On, Effect: c.Effect, Failed: c.Failed}
	r, err := stats.ProportionOfSums(c.Right, c.Cases, total(c.Cases), level)
	if err != nil {
		return j, fmt.Errorf("estimating the accuracy of judge %s: %w", c.Judge, err)
	}
	ci := r.CI.Clamp(0, 1)
	j.Right, j.Cases = int(total(c.Right)), int(total(c.Cases))
	j.Accuracy, j.Low, j.High, j.Warnings = Number(r.Value), Number(ci.Low), Number(ci.High), r.Warnings
	if r.Undefined != "" {
		j.Warnings = append(j.Warnings, r.Undefined)
	}
	return j, nil
}

// samples adds the best and worst trials of each contestant by the first primary
// metric. Ties keep the order of the study.
func (c *Collector) samples(a *Analysis, q Question, from Sources) error {
	if q.Samples == 0 || len(q.Primary) == 0 || from.Show == nil {
		return nil
	}
	arms := sampled(a.Arms, q)
	show := func(s Sample, t eval.Trial) (err error) {
		if s.Show, err = from.Show(t); err != nil {
			return fmt.Errorf("showing %s of %s: %w", t.Item, t.Arm, err)
		}
		a.Samples = append(a.Samples, s)
		return nil
	}
	if from.Pick != nil {
		list, err := from.Pick(from.Cases, q.Samples)
		for _, p := range list {
			if err == nil && slices.ContainsFunc(arms, func(x Arm) bool { return x.ID == p.Arm }) {
				err = show(Sample{Rank: p.Rank}, p.Trial)
			}
		}
		return err
	}
	metric, ok := c.metric[q.Primary[0]]
	if !ok {
		return nil
	}
	better := c.suite.Metrics[metric].HigherIsBetter
	for _, arm := range arms {
		k := c.armIdx[arm.ID]
		values := c.values(&c.a, k, metric)
		ranked := ranked(values)
		n := min(q.Samples, len(ranked)/2)
		if len(ranked) == 1 {
			n = 1
		}
		top := slices.Clone(ranked[max(n, len(ranked)-n):])
		slices.Reverse(top)
		for place, i := range slices.Concat(top, ranked[:n]) {
			rank := "worst"
			if place < len(top) == better {
				rank = "best"
			}
			t := eval.Trial{Item: c.items[i].ID, Arm: arm.ID, Replicate: cmp.Or(c.arms[k].later[i], 1)}
			if err := show(Sample{Rank: rank, Metric: q.Primary[0], Score: Number(values[i].num / values[i].den)}, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// mostSampled is the largest number of arms with samples in a report.
const mostSampled = 60

// addLate says which comparisons are exploratory, and names their arms.
func (a *Analysis) addLate(q Question) {
	compared := func(arms []string) (list []string) {
		for _, arm := range arms {
			late := func(c Comparison) bool { return c.Late == arm }
			if !slices.Contains(list, arm) && slices.ContainsFunc(a.Comparisons, late) {
				list = append(list, arm)
			}
		}
		return list
	}
	switch {
	case q.Regrouped:
		a.Run.Regrouped = "all comparisons"
	case q.Restratified:
		a.Run.Regrouped = "comparisons within strata"
	}
	a.Run.Late = compared(q.Late)
	a.Run.Rejudged = slices.DeleteFunc(compared(q.Rejudged), func(arm string) bool { return slices.Contains(a.Run.Late, arm) })
}

// Changed is the warning about the changes of a run, "" if there is nothing to say: their
// number, the last one, and what follows for comparisons. A run may change every day.
func (r Run) Changed() string {
	var said []string
	switch n := len(r.History); n {
	case 0:
	case 1:
		said = slices.Clone(r.History)
	default:
		said = []string{fmt.Sprintf("%d changes (`scruple status` lists them), the last: %s", n, r.History[n-1])}
	}
	for _, of := range []struct {
		arms             []string
		before, one, all string
	}{{r.Late, "", "was added or changed", "were added or changed"}, {r.Rejudged, "the judge of ", "was changed", "was changed"}} {
		if n := len(of.arms); n > 0 {
			were, with := of.one, "it"
			if n > 1 {
				were, with = of.all, "them"
			}
			said = append(said, of.before+listed(of.arms)+" "+were+" after results had been shown: comparisons with "+with+" are exploratory")
		}
	}
	if r.Regrouped != "" {
		said = append(said, r.Regrouped+" are exploratory")
	}
	if len(said) == 0 {
		return ""
	}
	return "history of the run: " + strings.Join(said, "; ")
}

// sampled lists the arms with samples in the study's order. If there are too
// many, arms that the study compares come before others.
func sampled(arms []Arm, q Question) []Arm {
	arms = slices.DeleteFunc(slices.Clone(arms), func(a Arm) bool { return a.Role != eval.RoleArm })
	asked := func(a Arm) bool {
		return slices.ContainsFunc(q.Comparisons, func(p Pair) bool { return !p.Contrast && (p.A == a.ID || p.B == a.ID) })
	}
	room := mostSampled
	for _, a := range arms {
		if asked(a) {
			room--
		}
	}
	return slices.DeleteFunc(arms, func(a Arm) bool {
		if asked(a) {
			return false
		}
		room--
		return room < 0
	})
}

// ranked lists the items with a value, lowest first.
func ranked(values []cell) []int {
	var items []int
	for i, v := range values {
		if v.den > 0 {
			items = append(items, i)
		}
	}
	slices.SortStableFunc(items, func(x, y int) int {
		return cmp.Compare(values[x].num/values[x].den, values[y].num/values[y].den)
	})
	return items
}

// warnings lists what a reader must know before the numbers, the most important first.
func warnings(a *Analysis, q Question) []string {
	var w, last []string
	first := a.FailedJudges()
	if len(a.SimulatedJudges) > 0 {
		first = append(first, fmt.Sprintf("simulated judge: its verdicts are derived from gold with the study's error rates, scores by it say nothing about real answers (%s)", listed(a.SimulatedJudges)))
	}
	if simulated := a.SimulatedArms(); len(simulated) > 0 {
		last = append(last, fmt.Sprintf("simulated answers: derived from gold with the study's error rates, they say nothing about real models (%s)", listed(simulated)))
	}
	for _, k := range a.Comparisons {
		who := "judges said of"
		if m, _ := a.Metric(k.Metric); m.ByScorer {
			who = "scorers say of"
		}
		if said := "no verdict on what " + who + " " + k.A + " against " + k.B + ": " + k.JudgesDiffer; k.JudgesDiffer != "" && !slices.Contains(first, said) {
			first = append(first, said)
		}
	}
	w = append(w, troubleWarnings(a.Troubles)...)
	for _, arm := range a.Arms {
		if arm.Failed > 0 {
			w = append(w, fmt.Sprintf("%s: %d of %s failed and are left out; %s", arm.ID, arm.Failed, text.Plural(arm.Done(), "trial", "trials"), a.Run.Remedy("", arm)))
		}
		if arm.Estimated > 0 {
			w = append(w, fmt.Sprintf("%s: the provider did not count the tokens of %s; tokens and costs are estimated, on the high side", arm.ID, text.Plural(arm.Estimated, "answer", "answers")))
		}
		if arm.OddEnds > 0 {
			w = append(w, fmt.Sprintf("%s: %s ended for an unknown reason and may not be complete; the texts count as they are (the reasons: stop_reason in `scruple export --table calls`)",
				arm.ID, text.Plural(arm.OddEnds, "answer", "answers")))
		}
		if len(arm.Versions) > 1 {
			w = append(w, fmt.Sprintf("%s: %d versions of its model answered; its numbers mix them", arm.ID, len(arm.Versions)))
		}
	}
	w = append(w, a.priceWarnings()...)
	w = append(w, a.Run.Dependent...)
	for _, c := range a.CutPrompts {
		w = append(w, CutWarning(c))
	}
	if said := a.Run.Changed(); said != "" {
		w = append(w, said)
	}
	switch looked := a.Run.Looks.String(); {
	case a.Run.AtLook:
		first = append(first, fmt.Sprintf("%s; %d of %s done, run the same command to go on", looked, a.Run.Done, text.Plural(a.Run.Planned, "trial", "trials")))
	case looked != "" && !a.Run.Exploratory():
		first = append(first, looked)
	}
	if a.Run.Interrupted() {
		unfinished := fmt.Sprintf("the run is unfinished: %d of %s done", a.Run.Done, text.Plural(a.Run.Planned, "trial", "trials")) + a.Run.WhyNot()
		first = append(first, unfinished+"; run the same command to resume")
	}
	if a.Run.JudgeFails > 0 {
		what := "judging"
		if e := a.Run.JudgeErrors; len(e) > 0 && !slices.ContainsFunc(e, func(e eval.JudgeError) bool { return e.Judge != eval.ScorerName }) {
			what = "the scorer"
		}
		first = append(first, fmt.Sprintf("%s failed for %s, and the scores that depend on it are left out%s; retry with `%s`",
			what, text.Plural(a.Run.JudgeFails, "trial", "trials"), a.Run.judgeErrors(), a.Run.Retry()))
	}
	w = append(w, a.unscoredWarnings()...)
	return slices.Concat(first, w, last) // reports mark simulated arms everywhere
}

// judgeErrors says why judging failed: the most frequent reasons of each judge.
func (r Run) judgeErrors() string {
	const few, longest = 3, 200
	said, of, more := "", map[string]int{}, 0
	for _, e := range r.JudgeErrors {
		if of[e.Judge]++; of[e.Judge] > few {
			more += e.Verdicts
			continue
		}
		said += fmt.Sprintf("; %s, %s: %s", e.By(), text.Plural(e.Verdicts, "verdict", "verdicts"), text.Shorten(e.Reason, longest))
	}
	if more > 0 {
		said += fmt.Sprintf("; other reasons: %s", text.Plural(more, "verdict", "verdicts"))
	}
	return said
}

// FailedJudges says of each judge that failed its calibration what follows from it.
func (a *Analysis) FailedJudges() (list []string) {
	for _, j := range a.Judges {
		if j.Failed {
			list = append(list, fmt.Sprintf("judge %s failed its calibration: %s", j.Name, j.Effect))
		}
	}
	return list
}

// listed joins the first names and counts the rest.
func listed(names []string) string {
	const few = 4
	if len(names) <= few+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// Broken says which share of trials failed, if it is more than the study allows; "" if not.
func (a *Analysis) Broken() string {
	if share, of := a.WorstFailures(); share > a.Run.MaxFailed {
		return fmt.Sprintf("%.1f %% of %s, the limit is %.1f %%", 100*share, of, 100*a.Run.MaxFailed)
	}
	return ""
}

// WorstFailures returns the largest share of failed trials of any arm, of those that are done, or the
// share of trials whose judging failed if that is larger, and its description. Some arms may be left out.
func (a *Analysis) WorstFailures(but ...string) (share float64, of string) {
	of = "trials could not be judged"
	if a.Run.Done > 0 {
		share = float64(a.Run.JudgeFails) / float64(a.Run.Done)
	}
	for _, arm := range a.Arms {
		if x := float64(arm.Failed) / float64(max(1, arm.Done())); x > share && !slices.Contains(but, arm.ID) {
			share, of = x, "trials of "+arm.ID+" failed"
		}
	}
	return share, of
}
