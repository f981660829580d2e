package experiment

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/effort"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/score"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
)

// A Result is the analysis of a run and the verdict on it. Verdict is nil for a
// study without rules.
type Result struct {
	Analysis *analyse.Analysis
	Verdict  *gate.Verdict
	// NewRules reports whether the rules are not yet in the history of the run, see
	// [Experiment.RecordRules].
	NewRules bool

	basis  string
	looked []store.Event // that the results are shown
}

// Rescore computes scores from outcomes, the analysis from scores and the verdict
// from the analysis, and stores all three. It calls no model. samples is the
// number of best and of worst trials of each arm in the analysis.
func (r *Run) Rescore(ctx context.Context, samples int) (Result, error) {
	result, err := r.compute(ctx, samples, nil, func(scores iter.Seq2[eval.Scored, error]) error {
		return r.db.ReplaceScores(ctx, r.Record, scores)
	})
	if err != nil {
		return Result{}, err
	}
	err = r.db.AddEvents(ctx, r.Record, result.looked...)
	if err == nil && result.Analysis.Run.Done > 0 { // results are seen
		err = errors.Join(r.RecordRules(ctx, r.db, r.Record), r.recordGroups(ctx))
	}
	if err != nil {
		return Result{}, err
	}
	return result, r.save(ctx, result)
}

// recordGroups records by what results are grouped, of a run that an earlier version began.
func (r *Run) recordGroups(ctx context.Context) error {
	was, err := r.db.Grouped(ctx, r.Record)
	if err != nil || len(was) == len(r.Items()) {
		return err
	}
	return r.db.SetItems(ctx, r.Record, r.Items(), nil)
}

// compute computes what Rescore stores. scored takes the scores. kept is the result that is computed
// again, nil for a new one.
func (r *Run) compute(ctx context.Context, samples int, kept *Result, scored func(iter.Seq2[eval.Scored, error]) error) (Result, error) {
	scorer, calibration, err := r.calibrate(ctx)
	if err != nil {
		return Result{}, err
	}
	if calibration != nil {
		if right, cases := calibration.Totals(); cases > 0 {
			r.judged = fmt.Sprintf("%g of %g", right, cases)
		}
	}
	collector := analyse.NewCollector(&r.Suite.Suite, r.Items(), r.Bench.Arms(), r.Plan)
	if err := scored(r.scores(ctx, scorer, collector)); err != nil {
		return Result{}, err
	}
	stored := &reader{ctx: ctx, run: r.Record}
	progress, sums := read(stored, r.db.Progress), read(stored, r.db.CallSums)
	failures, events := read(stored, r.db.JudgeErrors), read(stored, r.db.Events)
	if stored.err != nil {
		return Result{}, stored.err
	}
	var fresh []store.Event // with which results are shown
	if progress.Done.Count() > 0 {
		if fresh, err = r.since(ctx, events, sums); err != nil {
			return Result{}, err
		}
		events = append(events, fresh...)
	}
	history, err := r.rulesOf(events, r.Record)
	if err != nil {
		return Result{}, err
	}
	if kept != nil {
		history.asIn(*kept)
	}
	q := r.runQuestion(progress)
	q.Run.JudgeErrors, q.Calibration, q.Samples = failures, calibration, samples
	errHistory := r.addHistory(ctx, &q, events, history, sums)
	looked, errLooks := r.addLooks(ctx, &q, events, progress)
	from, err := r.sources(ctx, scorer, sums)
	if err := cmp.Or(errHistory, errLooks, err); err != nil {
		return Result{}, err
	}
	analysis, err := collector.Analyse(q, from)
	if err != nil {
		return Result{}, err
	}
	r.addTradeOff(analysis)
	analysis.Warnings = append(analysis.Warnings, r.Unused...)
	if err := r.addFromOutside(ctx, analysis, progress.Spent); err != nil {
		return Result{}, err
	}
	result := Result{Analysis: analysis, Verdict: r.decide(analysis), basis: r.basis(), looked: append(fresh, looked...)}
	if result.Verdict != nil {
		result.Verdict.Changed = history.changes()
	}
	return result, r.needs(result.Verdict, analysis, collector.Scores)
}

// scores scores every case and collects the scores.
func (r *Run) scores(ctx context.Context, scorer eval.Scorer, collector *analyse.Collector) iter.Seq2[eval.Scored, error] {
	return func(yield func(eval.Scored, error) bool) {
		next, stop := r.taken(ctx, "scoring")
		defer stop()
		var taken []eval.Taken
		given := map[string]bool{}
		for _, arm := range r.Bench.Arms() {
			given[arm.ID] = arm.Given
		}
		trials := 0
		for s, err := range score.All(scorer, r.db.Cases(ctx, r.Record)) {
			taken = taken[:0]
			for i := 0; err == nil && i < len(s.Trials); i++ {
				var t eval.Taken
				t, err = next(s.Trials[i].Trial)
				t.Given = t.Given || given[t.Arm]
				taken = append(taken, t)
			}
			if err == nil {
				s.Scores = r.effort.Add(s, taken)
				collector.Add(s)
				err = collector.Err() // rolls back
			}
			if trials += len(s.Trials); r.Scored != nil {
				r.Scored(trials)
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// families are the comparisons of the study with the families in which they are corrected. Those of
// which any would do for one rule are of one family, with all that the study has put beside them.
func (x *Experiment) families() []analyse.Pair {
	pairs := slices.Clone(x.Pairs)
	if x.rules == nil {
		return pairs
	}
	for _, rule := range x.rules.OfOneRule() {
		var names []string
		for _, p := range pairs {
			tested := func(t [3]string) bool { return p.Of(t[0], t[1]) && slices.Contains(x.metricsOf(p), t[2]) }
			if !slices.Contains(names, p.Family) && slices.ContainsFunc(rule, tested) {
				names = append(names, p.Family)
			}
		}
		name := strings.Join(names, " and ")
		if slices.Contains(names, "") { // of all that have no name
			name = ""
		}
		for i := range pairs {
			if slices.Contains(names, pairs[i].Family) {
				pairs[i].Family = name
			}
		}
	}
	return pairs
}

// question returns the study's settings for the analysis.
func (x *Experiment) question() analyse.Question {
	s := x.Study
	dev := 0
	if s.Split == "" && !x.env.Kit {
		dev = devItems(x.Items())
	}
	var family [][3]string
	var limits map[[3]string][]float64
	of := analyse.OfPrimary
	if x.rules != nil && !x.rules.Empty() {
		family, of = append([][3]string{}, x.rules.Alternatives()...), analyse.OfRules
		limits = x.rules.Limits()
	}
	return analyse.Question{Family: family, Limits: limits,
		Study: analyse.Study{Name: s.Name, Version: s.Version, Suite: s.Suite, Title: x.Suite.Title, Description: s.Description,
			Alpha: s.Statistics.Alpha, MaxUnscored: s.Statistics.Unscored(), Method: s.Statistics.Method, Correction: s.Statistics.Correction, Family: analyse.Family{Of: of}, Beside: s.Statistics.Beside,
			Resamples: s.Statistics.Resamples, Random: s.Statistics.Random, Intervals: s.Statistics.Intervals},
		Run: analyse.Run{Split: s.Split, Version: x.env.Version, Items: len(x.Items()), Dev: dev, Replicates: s.Execution.Replicates, Seed: s.Execution.Seed,
			Planned: x.Plan.Len(), MaxFailed: *s.Execution.MaxFailed, Dependent: x.dependent},
		Primary: x.Primary, Secondary: x.Secondary, Comparisons: x.families(), Across: x.Across,
	}
}

// devItems counts the items marked as DEV.
func devItems(items []eval.Item) (n int) {
	for _, it := range items {
		if it.Split == study.SplitDev {
			n++
		}
	}
	return n
}

// runQuestion is the question with what is known of the run.
func (r *Run) runQuestion(progress *store.Progress) analyse.Question {
	q := r.question()
	q.Run.ID = r.Record.ID
	if r.HasJudge() {
		q.Run.Unjudged, q.Run.JudgeFails = progress.ToJudge(), progress.Unjudged.Count()
	}
	return q
}

// sources returns what an analysis needs beyond scores.
func (r *Run) sources(ctx context.Context, scorer eval.Scorer, sums store.CallSums) (from analyse.Sources, err error) {
	from.Show = func(t eval.Trial) (eval.Exhibit, error) { return r.exhibit(ctx, scorer, t) }
	from.Cases = r.db.Cases(ctx, r.Record)
	for run, arms := range r.takers() {
		if _, err := r.db.Run(ctx, run); errors.Is(err, store.ErrNotFound) {
			from.NoRun = append(from.NoRun, arms...)
		} else if err != nil {
			return from, err
		}
	}
	from.Calls, from.Versions, from.Models, from.JudgedBy, from.Prices = sums.ByArm(), sums.Versions(), sums.Models(), sums.JudgedBy(), sums.Prices()
	stored := &reader{ctx: ctx, run: r.Record}
	if sums.Cut() {
		from.Cuts = slices.DeleteFunc(read(stored, r.db.Cuts), func(c eval.ArmCuts) bool { return c.Stage == eval.StageEmbed })
	}
	if sums.Adapted() {
		from.Mixed = read(stored, r.db.Mixed)
	}
	if r.Study.Output.Latency {
		from.Latencies = read(stored, r.db.Latencies)
	}
	if stored.err != nil {
		return from, stored.err
	}
	can := scorer.Capabilities() // those of the calibrated one, as for scores
	from.Report, from.Pick = can.Report, can.Pick
	if from.Asked, err = r.askedOf(ctx, sums); err != nil {
		return from, err
	}
	from.Ratings, err = r.ratings(scorer, r.cases(ctx, r.db, r.Record, false))
	return from, err
}

// exhibit shows a trial.
func (r *Run) exhibit(ctx context.Context, scorer eval.Scorer, t eval.Trial) (eval.Exhibit, error) {
	c, err := r.db.Case(ctx, r.Record, t)
	if err != nil {
		return eval.Exhibit{}, err
	}
	return shownBy(scorer, c)
}

// shownBy shows a case of one trial.
func shownBy(scorer eval.Scorer, c eval.Case) (eval.Exhibit, error) {
	x, err := scorer.Show(c)
	switch o := c.Trials[0].Outcome; {
	case err != nil:
	case o.Kind == eval.Failed:
		x = x.WithoutAnswer(cmp.Or(o.Reason, "no reason recorded"))
	case o.Kind == eval.Refused:
		x.Raw = cmp.Or(x.Raw, o.Detail) // providers may send the words of a refusal beside the answer
	}
	return x, err
}

// addTradeOff adds a figure of the first primary metric against cost, for a study that names
// the cost.
func (x *Experiment) addTradeOff(a *analyse.Analysis) {
	quality, _ := a.Metric(x.Primary[0])
	if _, ok := a.Metric(effort.Cost); !ok || quality.Name == effort.Cost {
		return
	}
	f := eval.Figure{Name: "cost", Title: quality.Title + " against cost", XTitle: "US dollars for an answer", YTitle: quality.Title, Frontier: quality.HigherIsBetter}
	if f.Frontier {
		f.Note = "Up and to the left is better. The grey line joins the arms that no other arm beats in both."
	}
	for _, arm := range a.Arms {
		cost, _ := a.Estimate(arm.ID, effort.Cost)
		e, ok := a.Estimate(arm.ID, quality.Name)
		if ok && cost.Value.Defined() && e.Value.Defined() {
			f.Series = append(f.Series, eval.Series{Name: arm.ID, Points: []eval.Point{{X: cost.Value, Measured: e.Measured()}}})
		}
	}
	if len(f.Series) > 1 {
		a.Figures = append(a.Figures, f)
	}
}

func (r *Run) save(ctx context.Context, result Result) error {
	analysis, err := json.Marshal(result.Analysis)
	if err != nil {
		return err
	}
	var verdict []byte
	if result.Verdict != nil {
		if verdict, err = json.Marshal(result.Verdict); err != nil {
			return err
		}
	}
	return r.db.SaveAnalysis(ctx, r.Record, analysis, verdict, result.basis)
}

// LedgerOf is the file of the ledger that [Kept] reads.
func LedgerOf(r *store.Run) string { return discipline.Path(r.StudyPath) }

// Kept reads back the analysis and the verdict of a run, with what the ledger says now.
func Kept(ctx context.Context, db *store.DB, r *store.Run) (Result, error) {
	analysis, verdict, basis, err := db.Analysis(ctx, r)
	if err != nil {
		return Result{}, err
	}
	result := Result{basis: basis}
	var layout struct {
		Format string `json:"format"`
	}
	err = json.Unmarshal(analysis, &layout)
	if err == nil && layout.Format != analyse.Format {
		return Result{}, fmt.Errorf("run %s was analysed by another version of Scruple (%s, this one writes %s): run `scruple score` to analyse it again at no cost", r.ID, layout.Format, analyse.Format)
	}
	if err == nil {
		err = json.Unmarshal(analysis, &result.Analysis)
	}
	if err == nil && verdict != nil {
		err = json.Unmarshal(verdict, &result.Verdict)
	}
	if err != nil {
		return Result{}, fmt.Errorf("reading the analysis of run %s: %w", r.ID, err)
	}
	return result, result.refresh(r)
}

// refresh takes what the ledger says now: an unblinding is on every report after it.
func (result Result) refresh(r *store.Run) error {
	book, err := discipline.BookOf(r.StudyPath)
	if err != nil {
		return err
	}
	if blind := discipline.BlindResults(book, discipline.OwnerOf(r.StudyPath, r.Study), r.Treatment); len(blind) > 0 {
		result.Analysis.Blind = blind
		if result.Verdict != nil {
			result.Verdict.Blind = result.Analysis.BlindValidations()
		}
	}
	d := discipline.Of(book, r)
	if d == nil {
		return nil
	}
	if was := result.Analysis.Discipline; was != nil && was.Budget != nil { // with the run's own costs
		d.Budget = slices.Clone(was.Budget)
	}
	if len(d.Budget) > 0 { // cycles are the first
		d.Budget[0].Used = float64(len(d.Revisions))
	}
	result.Analysis.Discipline = d
	result.Verdict.Witness(d)
	return nil
}

// addFromOutside adds to an analysis what does not come from the scores of the run:
// the ledger, the run that is replicated, and blind validations.
func (r *Run) addFromOutside(ctx context.Context, a *analyse.Analysis, spent eval.Spent) error {
	a.Agreements = r.Agreements
	if r.Record.Split() == study.SplitDev {
		a.Discipline = &analyse.Discipline{Budget: []analyse.Used{r.Cycles()}}
	}
	if err := (Result{Analysis: a}).refresh(r.Record); err != nil {
		return err
	}
	if d := a.Discipline; d != nil && d.Registration != nil {
		d.Budget = discipline.WithRun(d.Budget, spent)
	}
	return r.replicate(ctx, r.db, r.Record, a)
}
