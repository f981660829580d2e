// Package experiment carries a study through the whole pipeline: it loads a
// study with its data, starts or resumes a run, asks and judges what is left,
// scores, analyses and decides. Commands, viewers and workers call it; each adds
// only its own input and output.
//
//   - [Load] reads a study and everything it names. [Experiment.Estimate] says
//     what a run would ask and cost.
//   - [Experiment.StartOrResume] gives a [Run]; [Run.Left] lists what is left to
//     do, and [Run.Ask] does it.
//   - [Run.Rescore] turns stored answers into an analysis and a verdict, and
//     [Kept] reads them back. [Experiment.Decide] applies today's rules again.
//   - [StatusOf] and [Run.Show] describe a run and single trials.
//
// Everything is returned as data. The package must not know any provider,
// concrete suite, terminal, signal, environment variable, command line or HTTP:
// suites, prices, models, observers, the clock and the stop signal are
// arguments. Errors are typed where callers treat them differently:
// [NotAllowedError], [TooManyFailedError], and those of packages run and store.
// Messages name the scruple command that helps, as everywhere in the program.
package experiment

import (
	"fmt"
	"slices"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// An Env is what experiments need from the program they run in.
type Env struct {
	// Suite finds a suite by name.
	Suite func(name string) (kit.Suite, error)
	// Price gives what answers of a model cost in US dollars, and whether that is
	// known. Unknown costs are NaN.
	Price   func(study.Model) (cost func(eval.Usage) float64, known bool)
	Now     func() time.Time
	Version string // of the program, recorded with runs and analyses
}

// An Experiment is a valid study with its data and plan.
type Experiment struct {
	File      *study.File
	Study     *study.Study
	Suite     kit.Suite
	Bench     kit.Bench
	Plan      *plan.Plan
	Pairs     []analyse.Pair
	Primary   []string
	Secondary []string

	env       Env
	overrides []string
	rules     *gate.Rules
	treatment []eval.Part
}

// Load reads a study file, applies the overrides, opens its data, and checks
// what it says of arms, metrics, rules and budgets. The error lists all findings
// of the first step that has any.
func Load(path string, overrides []string, env Env) (*Experiment, error) {
	file, own, suite, err := Read(path, overrides, env)
	if err != nil {
		return nil, err
	}
	bench, err := suite.Open(file, own)
	if err != nil {
		return nil, err
	}
	x := &Experiment{File: file, Study: own.Common(), Suite: suite, Bench: bench, env: env, overrides: overrides}
	if err := x.resolve(); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// Read reads a study file in the type of its suite and does not open its data.
func Read(path string, overrides []string, env Env) (*study.File, study.Any, kit.Suite, error) {
	name, err := study.Suite(path, overrides)
	if err != nil {
		return nil, nil, kit.Suite{}, err
	}
	suite, err := env.Suite(name)
	if err != nil {
		return nil, nil, kit.Suite{}, fmt.Errorf("%s: suite: %w", path, err)
	}
	own := suite.Study()
	file, err := study.Load(path, overrides, own)
	return file, own, suite, err
}

// Close closes the data.
func (x *Experiment) Close() error { return x.Bench.Close() }

// Warnings lists data that look wrong but are legal.
func (x *Experiment) Warnings() []string {
	if w, ok := x.Bench.(kit.Warner); ok {
		return w.Warnings()
	}
	return nil
}

// Facts are counts of the data. They are nil where the suite has none.
func (x *Experiment) Facts() []eval.Fact {
	if w, ok := x.Bench.(kit.Warner); ok {
		return w.Facts()
	}
	return nil
}

// ArmIDs lists the ids of all arms.
func (x *Experiment) ArmIDs() []string {
	var ids []string
	for _, arm := range x.Bench.Arms() {
		ids = append(ids, arm.ID)
	}
	return ids
}

// UsedModels are the ids of the models that arms and their judges ask, and the
// names of judges that are no models.
func (x *Experiment) UsedModels() map[string]bool {
	used := map[string]bool{}
	for _, arm := range x.Bench.Arms() {
		used[arm.Model] = true
		for _, judge := range arm.Judges {
			used[judge] = true
		}
	}
	return used
}

// HasJudge reports whether any arm is judged.
func (x *Experiment) HasJudge() bool {
	return slices.ContainsFunc(x.Bench.Arms(), func(arm eval.Arm) bool { return len(arm.Judges) > 0 })
}

// calibrationArms are the ids of the arms that measure the judge by answering
// from gold.
func (x *Experiment) calibrationArms() map[string]bool {
	ids := map[string]bool{}
	for _, arm := range x.Bench.Arms() {
		if arm.Role == eval.RoleCalibration {
			ids[arm.ID] = true
		}
	}
	return ids
}

// Preflight scores the suite's cases and those in the folder preflight beside
// the study.
func (x *Experiment) Preflight() ([]kit.Result, error) {
	return x.Suite.Preflight(x.File.Resolve("preflight"))
}

// CheckScorer runs the pre-flight cases and refuses to go on when the scorer is
// wrong about one of them.
func (x *Experiment) CheckScorer() error {
	results, err := x.Preflight()
	if err != nil {
		return err
	}
	return CheckCases(results)
}
