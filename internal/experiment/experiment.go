// Package experiment runs a study through the whole pipeline: it loads a study
// with its data, starts or resumes a run, performs and judges pending trials,
// scores, analyses and decides. Commands, viewers and workers call it; each adds
// only its own input and output.
//
//   - [Load] reads a study and the files it refers to. [Experiment.Estimate]
//     estimates the calls and cost of a run.
//   - [Experiment.StartOrResume] returns a [Run]; [Run.Left] counts the pending
//     work, and [Run.Ask] does it.
//   - [Run.Rescore] turns stored answers into an analysis and a verdict, and
//     [Kept] reads them back. [Experiment.Decide] applies the current rules.
//   - [StatusOf] and [Run.Show] describe a run and single trials.
//
// The history of a run has what happened to it, and what runs before it had shown. What may run
// and be shown is decided in package discipline.
//
// Everything is returned as data. The package must not know any provider,
// concrete suite, terminal, signal, environment variable, command line or HTTP:
// suites, prices, models, observers, the clock and the stop signal are
// arguments. Errors are typed if callers handle them differently:
// [NotAllowedError], [TooManyFailedError], and those of packages run and store.
// Messages name the scruple command that helps.
package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/effort"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// An Env is what experiments need from the calling program.
type Env struct {
	// Suite finds a suite by name.
	Suite func(name string) (kit.Suite, error)
	// Price returns the cost function of a model in US dollars, and whether the
	// price is known. Unknown costs are NaN.
	Price func(study.Model) (cost func(eval.Usage) float64, known bool)
	// Tagged returns the id of the newest run with a tag, "" if there is none. It may be nil.
	Tagged func(tag string) string
	// Again returns the command line of a verb on the study, with the store and the overrides that
	// the program was called with. If it is nil, messages have neither.
	Again func(verb string, flags ...string) string
	// Variables returns the environment variables with these names, each with the SHA-256 of its
	// value, or [discipline.Unrecorded]. It may be nil.
	Variables func(names []string) []eval.Part
	// People says how the answers of people about a run differ from its verdicts, and adds to the run
	// which of them are not used. It may be nil.
	People  func(context.Context, *store.DB, *Run) (store.PeopleDiff, error)
	Now     func() time.Time
	Version string // of the program, recorded with runs and analyses
	// ForPeople loads studies whose gold people have still to make, if the suite can.
	ForPeople bool
	// Kit loads the study of a blind kit. An outsider cannot change its prompts, so items
	// marked as DEV are tested as others are.
	Kit bool
}

// An Experiment is a valid study with its data and plan.
type Experiment struct {
	File      *study.File
	Study     *study.Study
	Suite     kit.Suite
	Bench     kit.Bench
	Plan      *plan.Plan
	Pairs     []analyse.Pair
	Across    []analyse.Across
	Primary   []string
	Secondary []string
	// Subject decides by the ledger what may run and be shown.
	*discipline.Subject

	env       Env
	items     []eval.Item
	dependent []string // what the data say against their independence
	twice     []string // what comparisons have in common
	overrides []string
	rules     *gate.Rules
	treatment []eval.Part
	judged    string // how often the judge was right, once results were computed
	// effort adds the metrics of effort that the study names, of those that are offered.
	effort         effort.Adder
	offered, named []string
}

// Load reads a study file, applies the overrides, opens the data, and validates
// arms, metrics, rules and budgets. The error lists all findings of the first
// step that has any.
func Load(path string, overrides []string, env Env) (_ *Experiment, err error) {
	file, own, suite, err := Read(path, overrides, env)
	if err != nil {
		return nil, err
	}
	if env.ForPeople && suite.ForPeople != nil {
		suite.ForPeople(own)
	}
	defer func() { // an error of data may repeat what a link leads to
		if err != nil {
			err = cmp.Or(file.CheckLinks(), err)
		}
	}()
	bench, err := suite.Open(file, own)
	if err != nil {
		return nil, err
	}
	suited := bench
	if bench, err = kit.WithOwnScores(file, own.Common(), suited); err != nil {
		return nil, errors.Join(err, suited.Close())
	}
	x := &Experiment{File: file, Study: own.Common(), Suite: suite, Bench: bench, env: env, overrides: overrides}
	defer func() {
		if err != nil {
			x.Close()
		}
	}()
	links := []error{file.CheckLinks(), file.Contained(cmp.Or(x.Study.Output.ResultsDir, "results")), file.Contained(discipline.StorePath("")), file.Contained(".env")}
	for _, m := range x.Study.Models {
		links = append(links, file.Contained(m.Cassette))
	}
	if err := cmp.Or(x.addMetrics(), errors.Join(links...)); err != nil {
		return nil, err
	}
	if x.items, x.dependent, err = itemsOf(bench, x.Study); err != nil {
		return nil, file.Errorf("split", "%w", err)
	}
	if err := errors.Join(x.completeTasks(), x.resolve()); err != nil {
		return nil, err
	}
	measures := x.Bench.Capabilities().Calibrator != nil && x.Study.Split == study.SplitTest && len(x.calibrationArms()) > 0
	x.Subject = &discipline.Subject{Study: x.Study, File: file, Items: x.items, All: bench.Items(), Arms: bench.Arms(), Plan: x.Plan, Treatment: x.treatment,
		Pairs: x.Pairs, Primary: x.Primary, Version: env.Version, Now: env.Now, Compares: x.compares,
		Judge: discipline.Judge{Measures: measures, Settings: x.judgeSettings(x.treatment), OnDev: x.measuredOnDev}}
	x.Outside.Unidentified = x.unidentified()
	if env.Variables != nil {
		x.Outside.Environment = env.Variables(x.Study.Execution.Environment)
	}
	if x.Study.Split == study.SplitTest {
		x.Files, err = file.Sums()
	}
	return x, err
}

// What callers need of the discipline.
type (
	NotAllowedError    = discipline.NotAllowedError
	TooManyFailedError = discipline.TooManyFailedError
	Part               = discipline.Part    // selects what of a run's pending work to do
	Attempt            = discipline.Attempt // how a run is to be started or resumed
)

// CheckShown is that of the discipline.
func CheckShown(ctx context.Context, db *store.DB, r *store.Run) error {
	return discipline.CheckShown(ctx, db, r)
}

// Read reads a study file into the type of its suite without opening the data.
func Read(path string, overrides []string, env Env) (*study.File, study.Any, kit.Suite, error) {
	file, name, err := study.Suite(path, overrides)
	if err != nil {
		return nil, nil, kit.Suite{}, err
	}
	suite, err := env.Suite(name)
	if err != nil {
		return nil, nil, kit.Suite{}, file.Errorf("suite", "%w", err)
	}
	own := suite.Study()
	file, err = study.Load(path, overrides, own)
	if file != nil {
		file.Tagged = env.Tagged
	}
	return file, own, suite, err
}

// Close closes the data.
func (x *Experiment) Close() error { return x.Bench.Close() }

// unidentified lists the arms with programs of which a change is not noticed.
func (x *Experiment) unidentified() (arms []string) {
	for _, p := range x.Bench.Pipelines() {
		if p.Current != nil && p.Version == "" {
			arms = append(arms, strings.TrimPrefix(p.Model, eval.PipelinePrefix))
		}
	}
	return arms
}

// Warnings lists data and rules that look wrong but are legal.
func (x *Experiment) Warnings() []string {
	list := given(x.Bench.Capabilities().Warnings)
	for _, arm := range x.unidentified() {
		list = append(list, fmt.Sprintf("arm %s: a change of its program is not noticed, and one arm could hold answers of two programs: name its files with watch:, or give a version:", arm))
	}
	for _, p := range x.Bench.Pipelines() {
		for _, limit := range []struct {
			set           bool
			key, of, said string
		}{{x.Study.Execution.MaxCost > 0, "max_cost", "costs", "usage.cost_usd"}, {x.Study.Execution.MaxTokens > 0, "max_tokens", "tokens", "usage"}} {
			if p.Asked() && limit.set {
				list = append(list, fmt.Sprintf("execution.%s: it limits what arm %s takes only by the %s that the program says in its answers (%s)",
					limit.key, strings.TrimPrefix(p.Model, eval.PipelinePrefix), limit.of, limit.said))
			}
		}
	}
	if len(x.Study.Assume) > 0 && len(x.rules.All()) == 0 {
		list = append(list, "assume: the study has no rules under decide, which it is for: nothing is simulated")
	}
	return slices.Concat(list, x.dependent, x.twice, text.LookAlikes(x.itemIDs()), x.uncorrected())
}

// Notes lists what is said once about the data, when a study is validated.
func (x *Experiment) Notes() []string { return given(x.Bench.Capabilities().Notes) }

// Facts returns counts of the data, or nil if the suite has none.
func (x *Experiment) Facts() []eval.Fact { return given(x.Bench.Capabilities().Facts) }

// given returns what a capability gives, nil if a suite does not have it.
func given[T any](capability func() []T) []T {
	if capability == nil {
		return nil
	}
	return capability()
}

// Items returns the items of the study's split, or all items if it has none. Equal inputs
// have one cluster.
func (x *Experiment) Items() []eval.Item { return x.items }

func (x *Experiment) itemIDs() []string {
	return mapped(x.Items(), func(it eval.Item) string { return it.ID })
}

func itemsOf(bench eval.Bench, s *study.Study) (items []eval.Item, dependent []string, err error) {
	items, repeats := discipline.Independent(bench.Items())
	shared, err := discipline.Separate(s, items)
	if err != nil {
		return nil, nil, err
	}
	dependent = said(repeats, shared)
	if s.Split == "" {
		return items, dependent, nil
	}
	items = slices.Clone(items)
	if s.Split == study.SplitTest && !slices.ContainsFunc(items, func(it eval.Item) bool { return it.Split != "" }) {
		for i := range items { // data without splits can be registered as a whole
			items[i].Split = study.SplitTest
		}
	}
	items = slices.DeleteFunc(items, func(it eval.Item) bool { return it.Split != s.Split })
	if len(items) == 0 {
		return nil, nil, fmt.Errorf("no item of the study has split %s: give the key split to the items in the data, or leave it out of the study", s.Split)
	}
	return items, dependent, nil
}

// arms returns the ids of arms.
func (x *Experiment) arms(wanted func(eval.Arm) bool) (ids []string) {
	for _, arm := range x.Bench.Arms() {
		if wanted(arm) {
			ids = append(ids, arm.ID)
		}
	}
	return ids
}

// ArmIDs returns the ids of all arms.
func (x *Experiment) ArmIDs() []string { return x.arms(func(eval.Arm) bool { return true }) }

// contestants returns the ids of the arms that rules may name.
func (x *Experiment) contestants() []string {
	return x.arms(func(a eval.Arm) bool { return a.Role != eval.RoleCalibration })
}

// calibrationArms returns the ids of the arms that answer from gold, to measure
// the judge.
func (x *Experiment) calibrationArms() map[string]bool {
	return text.SetOf(x.arms(func(a eval.Arm) bool { return a.Role == eval.RoleCalibration }))
}

// mapped returns what a function makes of each element.
func mapped[T, R any](list []T, of func(T) R) (made []R) {
	for _, x := range list {
		made = append(made, of(x))
	}
	return made
}

// said are the notes that say something.
func said(notes ...string) []string {
	return slices.DeleteFunc(notes, func(note string) bool { return note == "" })
}

// cases yields the cases of a run of the arms that are for calibration, or of the others.
func (x *Experiment) cases(ctx context.Context, db *store.DB, r *store.Run, calibrating bool) iter.Seq2[eval.Case, error] {
	calibrates := x.calibrationArms()
	if calibrating && len(calibrates) == 0 {
		return func(func(eval.Case, error) bool) {}
	}
	return only(db.Cases(ctx, r), func(c eval.Case) bool { return calibrates[c.Arm] == calibrating })
}

// UsedModels returns the ids of the models of arms and judges, and the names of
// judges that are not models.
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

// HasRules reports whether the study has rules to decide by.
func (x *Experiment) HasRules() bool { return !x.rules.Empty() }

// Preflight scores the suite's cases and those in the folder preflight beside
// the study.
func (x *Experiment) Preflight() ([]kit.Result, error) {
	return x.Suite.Preflight(x.File.Resolve("preflight"))
}

// CheckScorer runs the pre-flight cases and returns an error if the scorer fails
// one.
func (x *Experiment) CheckScorer() error {
	results, err := x.Preflight()
	if err != nil {
		return err
	}
	return CheckCases(results)
}

// CheckCases returns a [NotAllowedError] that lists the pre-flight cases the
// scorer fails, if any.
func CheckCases(results []kit.Result) error {
	var wrong []string
	for _, r := range results {
		if !r.OK() {
			wrong = append(wrong, r.Name+": "+strings.Join(r.Wrong, ", "))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return discipline.NotAllowed("the scorer fails %d of %s; no model was called:\n  %s", len(wrong), text.Plural(len(results), "pre-flight case", "pre-flight cases"), strings.Join(wrong, "\n  "))
}
