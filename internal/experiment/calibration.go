package experiment

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// calibrate returns the scorer for the accuracy of the judge, if scoring depends on it.
func (r *Run) calibrate(ctx context.Context) (eval.Scorer, *eval.Calibration, error) {
	bench := r.Bench.Capabilities().Calibrator
	if bench == nil {
		return r.Bench, nil, nil
	}
	m, missing, err := r.registeredJudge()
	if err == nil && m == nil {
		m, err = r.measure(ctx, r.db, r.Record)
		if missing != "" {
			m.On = "TEST (" + missing + ")"
		} else if len(r.calibrationArms()) > 0 {
			m.On = cmp.Or(m.On, strings.ToUpper(r.Study.Split))
		}
	}
	if err != nil {
		return nil, nil, err
	}
	scorer, calibration := bench.Calibrate(*m)
	return scorer, &calibration, nil
}

// Calibrated is the bench of the suite as it scores the run.
func (r *Run) Calibrated(ctx context.Context) (kit.Bench, error) {
	scorer, _, err := r.calibrate(ctx)
	if err != nil {
		return nil, err
	}
	return kit.Suited(scorer), nil
}

// measure measures the judge on the calibration arms of a run.
func (x *Experiment) measure(ctx context.Context, db *store.DB, r *store.Run) (*eval.Measurement, error) {
	m, err := x.Bench.Capabilities().Calibrator.Measure(x.cases(ctx, db, r, true))
	return &m, err
}

// registeredJudge returns the accuracy of the judge on DEV that the registration of a TEST
// run has. A run that needs one and has none gets a reason instead.
func (r *Run) registeredJudge() (m *eval.Measurement, missing string, err error) {
	if !r.Judge.Measures {
		return nil, "", nil
	}
	book, err := r.Book()
	if err != nil {
		return nil, "", err
	}
	t, _ := book.Test(discipline.KeyOf(r.Record))
	g, _ := book.RegistrationOf(t)
	m, missing = r.judgeOf(g)
	return m, missing, nil
}

// judgeOf returns the accuracy of the judge that a registration has, or why there is none.
func (x *Experiment) judgeOf(g discipline.Entry[discipline.Registration]) (m *eval.Measurement, missing string) {
	switch j := g.Data.Judge; {
	case j == nil:
		return nil, "no accuracy on DEV is registered"
	case j.Settings != x.Judge.Settings:
		return nil, "the registered accuracy on DEV is of another judge, other settings or other known cases"
	default:
		m := j.Measurement()
		m.On = fmt.Sprintf("DEV (run %s, entry %d of the ledger)", j.Run, g.Seq)
		return &m, ""
	}
}

// judgeSettings is a hash of the settings of the judges and of the calibration arms in a
// treatment, and of the verdicts of people that they are measured by, as they are now.
func (x *Experiment) judgeSettings(treatment []eval.Part) string {
	parts := plan.JudgeParts(treatment)
	for _, p := range treatment {
		if id, isArm := strings.CutPrefix(p.Name, plan.ArmPart); isArm && x.calibrationArms()[id] {
			parts = append(parts, p)
		}
	}
	if j, ok := kit.Suited(x.Bench).(kit.CaseJudge); ok && j.Known().Any() {
		parts = append(parts, j.Known().Part())
	}
	return eval.KeyOf(parts)
}

// measuredOnDev returns the accuracy of the judge in the newest finished DEV run of the
// study with the same judge and the same data, or why there is none. db may be nil.
func (x *Experiment) measuredOnDev(ctx context.Context, db *store.DB) (j *discipline.Measured, missing string, err error) {
	if !x.Judge.Measures {
		return nil, "", nil
	}
	var runs []*store.Run
	if db != nil {
		if runs, err = db.Runs(ctx); err != nil {
			return nil, "", err
		}
	}
	for _, r := range slices.Backward(runs) {
		if r.Study != x.Study.Name || r.Split() != study.SplitDev {
			continue
		}
		unfit, err := x.unfit(ctx, db, r)
		if err != nil {
			return nil, "", err
		}
		if unfit == "" {
			m, err := x.measure(ctx, db, r)
			if err != nil || len(m.Cases) > 0 {
				return &discipline.Measured{Judge: x.Study.JudgeModel, Settings: x.Judge.Settings, Run: r.ID, Created: discipline.Created(r),
					Tallies: discipline.TalliesOf(*m), Missing: m.Missing, Known: m.Known}, "", err
			}
			unfit = "has no case with a verdict of the judge"
		}
		missing = cmp.Or(missing, "DEV run "+r.ID+" "+unfit)
	}
	return nil, cmp.Or(missing, "there is no DEV run of the study"), nil
}

// unfit says why a DEV run does not measure the judge of the study, or "".
func (x *Experiment) unfit(ctx context.Context, db *store.DB, r *store.Run) (string, error) {
	if x.judgeSettings(r.Treatment) != x.Judge.Settings {
		return "has another judge or other settings of it", nil
	}
	stored := &reader{ctx: ctx, run: r}
	p, had := read(stored, db.Progress), read(stored, db.PlannedItems)
	if stored.err != nil {
		return "", stored.err
	}
	if x.Pending(p) {
		return "is not finished", nil
	}
	for _, it := range x.Bench.Items() {
		if was, ok := had[it.ID]; ok && was.Input == it.Input && was.Gold == it.Gold {
			delete(had, it.ID)
		}
	}
	if len(had) > 0 {
		return "has items that changed since", nil
	}
	return "", nil
}

// planning is a bench with the items of a split, or some settings of its arms changed.
type planning struct {
	eval.Bench
	items []eval.Item
	arms  []eval.Arm
}

func (b planning) Items() []eval.Item { return b.items }
func (b planning) Arms() []eval.Arm   { return b.arms }

// estimatedBench is the bench whose calls are estimated.
func (x *Experiment) estimatedBench() (eval.Bench, error) {
	if !x.Judge.Measures {
		return x.Bench, nil
	}
	book, err := x.Book()
	g, _ := book.Registration(x.Owner())
	m, _ := x.judgeOf(g)
	return x.judging(m != nil), err
}

// judging is the bench for the judge. If its accuracy is registered, the calibration arms
// are not judged: that costs calls which nothing would read.
func (x *Experiment) judging(registered bool) eval.Bench {
	if !registered {
		return x.Bench
	}
	arms := slices.Clone(x.Bench.Arms())
	for i := range arms {
		if arms[i].Role == eval.RoleCalibration {
			arms[i].Judges = nil
		}
	}
	return planning{x.Bench, x.Bench.Items(), arms}
}
