package experiment

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// completeTasks lets the suite complete the tasks of the study, and checks them.
func (x *Experiment) completeTasks() error {
	var problems []error
	can, rated := x.Bench.Capabilities(), "unit"
	if can.RatesTrials {
		rated = "trial"
	}
	for i, t := range x.Study.Annotation {
		if x.Suite.Task != nil {
			t = x.Suite.Task(kit.Suited(x.Bench), t)
		}
		if t.Judge {
			t.Criteria = can.Criteria
		}
		faults := t.Faults()
		if of := t.Full().Of; len(faults) == 0 && t.Judge && can.Ratings != nil && of != rated {
			faults = append(faults, study.Fault{Key: ".judge", Text: fmt.Sprintf("the judge of suite %s says yes or no of %ss, and the task asks about %ss: none would be compared; use of: %s (a task that was drawn needs another name)", x.Suite.Name, rated, of, rated)})
		}
		if len(faults) == 0 && t.Judge && can.Ratings == nil {
			faults = append(faults, study.Fault{Key: ".judge", Text: fmt.Sprintf("suite %s has no judge that people's answers can be compared with: leave judge out", x.Suite.Name)})
		}
		for _, f := range faults {
			problems = append(problems, x.File.Errorf(fmt.Sprintf("annotation[%d]%s", i, f.Key), "%s", f.Text))
		}
		x.Study.Annotation[i] = t
	}
	return errors.Join(problems...)
}

// Subjects shows what people can judge: the items of a study and, with a run, the
// answers in it.
type Subjects struct {
	eval.Annotated
	x      *Experiment
	r      *Run                              // nil: no answers
	scorer func() (eval.Scorer, error)       // that scores the run
	ids    func() (map[string]string, error) // of now of arms that the run had under others
	ctx    context.Context
}

// Subjects returns the subjects of a study without a run.
func (x *Experiment) Subjects(ctx context.Context) *Subjects {
	return &Subjects{Annotated: annotated(x), x: x, scorer: func() (eval.Scorer, error) { return x.Bench, nil }, ctx: ctx}
}

// Subjects returns the subjects of a study with the answers of a run. Queues are sorted as the
// run is scored: a judge that failed its calibration sorts nothing.
func (r *Run) Subjects(ctx context.Context) *Subjects {
	return &Subjects{Annotated: annotated(r.Experiment), x: r.Experiment, r: r, ctx: ctx, scorer: sync.OnceValues(func() (eval.Scorer, error) {
		scorer, _, err := r.calibrate(ctx)
		return scorer, err
	}), ids: sync.OnceValues(func() (map[string]string, error) { return r.renames(ctx) })}
}

// Now is a trial as the run has it: a task was drawn when its arm may have had another id.
func (s *Subjects) Now(t eval.Trial) (eval.Trial, error) {
	if s.r == nil || t.Arm == "" || slices.Contains(s.x.ArmIDs(), t.Arm) {
		return t, nil
	}
	ids, err := s.ids()
	t.Arm = cmp.Or(ids[t.Arm], t.Arm)
	return t, err
}

// Items returns the items of the study.
func (s *Subjects) Items() []eval.Item { return s.x.Items() }

// annotated are the units of the suite, or say that it has none.
func annotated(x *Experiment) eval.Annotated {
	if units := x.Bench.Capabilities().Annotated; units != nil {
		return units
	}
	return withoutUnits{x.Suite.Name}
}

// withoutUnits stands for the units of a suite that has none.
type withoutUnits struct{ suite string }

func (s withoutUnits) Units(string) ([]string, error) {
	return nil, fmt.Errorf("the items of suite %s have no units: use of: item", s.suite)
}

func (withoutUnits) About(_, _ string) string            { return "" }
func (withoutUnits) Leaves(_, _ string) ([]string, bool) { return nil, false }
func (withoutUnits) Fits(_, _, _ string) error           { return nil }

func (s withoutUnits) Gold(string, []eval.UnitGold) ([]byte, error) { return nil, s.noGold() }

func (s withoutUnits) Same(string, eval.UnitGold, eval.UnitGold) (bool, error) {
	return false, s.noGold()
}

func (s withoutUnits) noGold() error { return fmt.Errorf("suite %s has no gold of units", s.suite) }

// Keeper returns nil if the suite has no gold of whole items.
func (s *Subjects) Keeper() eval.GoldKeeper { return s.x.Bench.Capabilities().GoldKeeper }

// Practice returns the items for practice.
func (s *Subjects) Practice() ([]eval.Item, error) {
	if items := given(s.x.Bench.Capabilities().Practice); len(items) > 0 {
		return items, nil
	}
	return nil, fmt.Errorf("the %s study has no items for practice", s.x.Suite.Name)
}

func (s *Subjects) queuer() (eval.Queuer, error) {
	scorer, err := s.scorer()
	if err != nil {
		return nil, err
	}
	b := scorer.Capabilities().Queuer
	switch {
	case b == nil:
		return nil, fmt.Errorf("suite %s has no queues", s.x.Suite.Name)
	case s.r == nil:
		return nil, errors.New("the study has no run: run it first")
	}
	return b, nil
}

// Queue lists the answers of a queue of the suite, those of calibration arms left out.
func (s *Subjects) Queue(name string) ([]eval.Queued, error) {
	if s.r != nil { // the judge is measured by all of its verdicts
		if err := s.complete(); err != nil {
			return nil, err
		}
	}
	b, err := s.queuer()
	if err != nil {
		return nil, err
	}
	return b.Queue(name, s.x.cases(s.ctx, s.r.db, s.r.Record, false))
}

// complete returns an error if the run is unfinished: a queue is drawn once, from all
// answers of the run.
func (s *Subjects) complete() error {
	p, err := s.r.db.Progress(s.ctx, s.r.Record)
	if err != nil {
		return err
	}
	switch done, left := p.Done.Count(), s.r.ToJudge(p); {
	case done < p.Trials:
		return fmt.Errorf("run %s is unfinished, %d of %d trials are done: finish it with `scruple run` before people answer a queue of it", s.r.Record.ID, done, p.Trials)
	case left > 0:
		return fmt.Errorf("the judge has not judged %s of run %s: finish it with `scruple run` before people answer a queue of it", text.Plural(left, "trial", "trials"), s.r.Record.ID)
	}
	return nil
}

// ShowQueued shows an answer of a queue. The suite sees all replicates of its case.
func (s *Subjects) ShowQueued(name string, t eval.Trial) ([]eval.Passage, error) {
	b, err := s.queuer()
	if err != nil {
		return nil, err
	}
	if t, err = s.Now(t); err != nil {
		return nil, err
	}
	var c eval.Case
	for n := 1; n <= s.x.Study.Execution.Replicates; n++ {
		one, err := s.r.db.Case(s.ctx, s.r.Record, eval.Trial{Item: t.Item, Arm: t.Arm, Replicate: n})
		if errors.Is(err, store.ErrNotFound) { // not performed yet
			continue
		}
		if err != nil {
			return nil, err
		}
		c.Item, c.Arm, c.Verdicts = one.Item, one.Arm, one.Verdicts
		c.Trials = append(c.Trials, one.Trials...)
	}
	return b.ShowQueued(name, c, t.Replicate)
}

// Trials returns the trials of the run with an answer, in plan order.
func (s *Subjects) Trials() (list []eval.Trial, err error) {
	if s.r == nil {
		return nil, nil
	}
	hidden := s.x.calibrationArms()
	for o := range until(&err, s.r.db.Outcomes(s.ctx, s.r.Record)) {
		if o.Outcome.Kind != eval.Failed && !hidden[o.Trial.Arm] {
			list = append(list, o.Trial)
		}
	}
	return list, err
}

// Show shows an answer, or an item alone if the trial has no arm.
func (s *Subjects) Show(t eval.Trial) (eval.Exhibit, error) {
	if t.Arm == "" {
		return s.x.Bench.Show(eval.CaseOf(t, eval.Outcome{Kind: eval.Failed}, nil))
	}
	if s.r == nil {
		return eval.Exhibit{}, errors.New("the study has no run: run it first")
	}
	t, err := s.Now(t)
	if err != nil {
		return eval.Exhibit{}, err
	}
	if !slices.Contains(s.x.ArmIDs(), t.Arm) {
		return eval.Exhibit{}, fmt.Errorf("the study no longer has arm %s", t.Arm)
	}
	c, err := s.r.db.Case(s.ctx, s.r.Record, t)
	if err != nil {
		return eval.Exhibit{}, err
	}
	if c.Failed() { // since it was drawn
		return eval.Exhibit{}, fmt.Errorf("the trial failed: %w", eval.ErrGone)
	}
	// What judges and other people said must not reach whoever judges.
	for i := range c.Trials {
		c.Trials[i].Verdicts = nil
	}
	return s.x.Bench.Show(c)
}

// PeopleDiff says how the answers of people about the run differ from the verdicts it was scored with.
func (r *Run) PeopleDiff(ctx context.Context) (d store.PeopleDiff, err error) {
	if r.env.People != nil {
		d, err = r.env.People(ctx, r.db, r)
	}
	return d, err
}

// ratings compares the judge of the suite with the verdicts of people, if the study has
// a task for that.
func (x *Experiment) ratings(scorer eval.Scorer, cases iter.Seq2[eval.Case, error]) (all *analyse.Ratings, err error) {
	ratings := scorer.Capabilities().Ratings
	steps := map[string]bool{}
	for _, t := range x.Study.Annotation {
		steps[t.Name] = t.Judge
	}
	if ratings == nil || !slices.Contains(slices.Collect(maps.Values(steps)), true) {
		return nil, nil
	}
	cluster := map[string]string{}
	for _, it := range x.Items() {
		cluster[it.ID] = it.ClusterID()
	}
	all = &analyse.Ratings{Judge: cmp.Or(x.Study.JudgeModel, "the rules of the suite")}
	for c := range until(&err, cases) {
		of := map[eval.Trial][]eval.Verdict{}
		for _, t := range c.Trials {
			of[t.Trial] = t.Verdicts
		}
		rated := map[eval.Rating]bool{} // of which units
		for _, rating := range ratings(c) {
			rated[eval.Rating{Trial: rating.Trial, Unit: rating.Unit}] = true
			human, open := settled(of[rating.Trial], rating.Unit, steps)
			all.Rated = append(all.Rated, analyse.Rated{Rating: rating, Cluster: cluster[rating.Trial.Item], Human: human, Differ: open})
		}
		for t := range c.Answered() {
			for _, v := range t.Verdicts {
				unit := eval.Rating{Trial: t.Trial, Unit: v.Unit}
				if rated[unit] || !steps[v.Step] {
					continue
				}
				if human, open := settled(t.Verdicts, v.Unit, steps); human != nil || open {
					rated[unit] = true
					all.Beside++
				}
			}
		}
	}
	return all, err
}

// The rounds of people's verdicts: first answers, and decisions where these differ.
const (
	roundFirst    = 1
	roundDecision = 3
)

// settled returns what people say of a unit: the decision, or the first answers if
// they agree. open says that they differ, or that nobody answered what somebody skipped.
func settled(verdicts []eval.Verdict, unit string, steps map[string]bool) (human *bool, open bool) {
	differ, skipped := false, false
	for _, v := range verdicts {
		if v.Source != eval.ByHuman || v.Unit != unit || !steps[v.Step] {
			continue
		}
		var said struct {
			Yes     *bool `json:"yes"`
			Skipped bool  `json:"skipped"`
		}
		if json.Unmarshal(v.Data, &said) != nil || said.Yes == nil {
			skipped = skipped || said.Skipped && v.Round == roundFirst
			continue
		}
		switch {
		case v.Round == roundDecision:
			return said.Yes, false
		case v.Round == roundFirst && human == nil:
			human = said.Yes
		case v.Round == roundFirst:
			differ = differ || *human != *said.Yes
		}
	}
	if differ {
		return nil, true
	}
	return human, human == nil && skipped
}
