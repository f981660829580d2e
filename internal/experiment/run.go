package experiment

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Run is an experiment together with one of its runs in a store.
type Run struct {
	*Experiment
	Record *store.Run
	// Changed says how the plan was changed to follow the study, "" if it was not.
	Changed string
	// Kept says which run stayed as it was because of its tag, or in its archive, "" if none did.
	Kept string
	// SeenTest counts the items marked as TEST that the run has outside of TEST and the
	// ledger did not list before.
	SeenTest int
	// Agreements are those of people, for rules.
	Agreements []analyse.Agreement
	// Unused are warnings about answers of people that do not count, or are not here, for reports.
	Unused []string
	// Scored is told how many trials are scored; nil tells nobody.
	Scored func(trials int)
	db     *store.DB
	shown  bool // results of TEST, in spite of failed trials
}

// A reader reads what a store has of a run, up to the first error.
type reader struct {
	ctx context.Context
	run *store.Run
	err error
}

// read returns what a method of a store does, or nothing after an error.
func read[T any](r *reader, from func(context.Context, *store.Run) (T, error)) (v T) {
	if r.err == nil {
		v, r.err = from(r.ctx, r.run)
	}
	return v
}

// Begin starts or resumes a run, if the ledger of the study allows it. A run on TEST
// needs a registration of exactly what it asks, and there is one. Of another run on data
// with splits, the ledger keeps which items it asks about.
func (x *Experiment) Begin(ctx context.Context, db *store.DB, a Attempt) (r *Run, err error) {
	if x.Study.Split == study.SplitTest {
		shown, err := x.BeginTest(ctx, db, a, func() (*store.Run, error) {
			if r, err = x.Start(ctx, db); err != nil {
				return nil, err
			}
			return r.Record, nil
		}, func(last *store.Run) error {
			r, err = x.Same(ctx, db, last)
			return err
		})
		if r != nil {
			r.shown = shown
		}
		return r, err
	}
	if err := x.CheckRegistered(a); err != nil {
		return nil, err
	}
	if a.Fresh {
		r, err = x.Start(ctx, db)
	} else {
		r, err = x.StartOrResume(ctx, db, a.ID)
	}
	if err != nil {
		return nil, err
	}
	selected := r.selected(a.Part)
	var asked map[string]bool // items of the part
	if selected != nil {
		asked = map[string]bool{}
	}
	for seq, is := range selected {
		if is {
			asked[r.Plan.Trial(seq).Item] = true
		}
	}
	r.SeenTest, err = x.RecordSeen(db, r.Record, a.By, asked)
	return r, err
}

// Blinded returns the number of pending trials of an unfinished TEST run, whose results
// are not computed, else 0, or a [TooManyFailedError], see [discipline.Subject.Blinded].
func (r *Run) Blinded(ctx context.Context) (int, error) {
	p, err := r.db.Progress(ctx, r.Record)
	if err != nil || r.shown {
		return 0, err
	}
	return r.Subject.Blinded(r.Record, p)
}

// LastRun finds the newest run of the study in a file.
func LastRun(ctx context.Context, db *store.DB, path string, overrides []string) (*store.Run, error) {
	name, split, err := study.Name(path, overrides)
	if err != nil {
		return nil, err
	}
	return db.LastRun(ctx, name, split)
}

// StartOrResume resumes the run with this id, or the newest run of the study if
// id is "". It starts a run if the study has none.
func (x *Experiment) StartOrResume(ctx context.Context, db *store.DB, id string) (*Run, error) {
	last, err := x.Find(ctx, db, id)
	switch {
	case err != nil:
		return nil, err
	case last == nil:
		return x.Start(ctx, db)
	}
	r, err := x.Follow(ctx, db, last)
	frozen := (*frozenError)(nil)
	if id != "" || !errors.As(err, &frozen) {
		return r, err
	}
	if r, err = x.Start(ctx, db); err != nil {
		return nil, err
	}
	r.Kept = fmt.Sprintf("%s %s and stays as it is; the study changed, so this is another run", frozen.run, frozen.why)
	return r, nil
}

// A frozenError is why a run does not follow a changed study.
type frozenError struct{ run, why string }

func (e *frozenError) Error() string {
	return fmt.Sprintf("following the changed study: %s %s and stays as it is: `scruple run STUDY` without its id starts another run", e.run, e.why)
}

// whyFrozen says why a run stays as it is, "" if it follows its study.
func whyFrozen(ctx context.Context, db *store.DB, r *store.Run) (string, error) {
	tags, err := db.Tags(ctx, r)
	switch {
	case len(tags) > 0:
		return "has the tag " + strings.Join(tags, ", "), err
	case r.Archive != nil:
		return "is archived", err
	}
	return "", err
}

// before is what a run has of the study.
type before struct {
	items  map[string]eval.Item
	gold   []string // the items whose gold changed since
	groups map[string]eval.Item
	frozen string // see [whyFrozen]
}

func (x *Experiment) before(ctx context.Context, db *store.DB, r *store.Run) (was before, err error) {
	stored := &reader{ctx: ctx, run: r}
	was.items, was.groups = read(stored, db.Items), read(stored, db.Grouped)
	was.frozen = read(stored, func(ctx context.Context, r *store.Run) (string, error) { return whyFrozen(ctx, db, r) })
	was.gold = plan.Regraded(was.items, x.Items())
	return was, stored.err
}

// UpToDate reports whether a frozen run has what the study says: its items, gold,
// treatment and plan. Its answers may have been read by the rules of an earlier version.
func (x *Experiment) UpToDate(ctx context.Context, db *store.DB, r *store.Run) (bool, error) {
	was, err := x.before(ctx, db, r)
	changed := len(was.gold) + len(plan.Reworded(was.items, x.Items())) + len(x.regrouped(was.groups))
	if err != nil || changed > 0 || !slices.Equal(r.Treatment, x.treatment) {
		return false, err
	}
	same, _, err := x.comparePlan(ctx, db, r)
	return same || r.Reread, err
}

// FromItself returns the newest run of the study if the study takes answers by a tag from it. If
// the study goes on with that run, it must take those of the tagged run before it.
func (x *Experiment) FromItself(ctx context.Context, db *store.DB) (*store.Run, error) {
	last, err := x.Find(ctx, db, "")
	if last == nil || err != nil || len(x.AnsweredFrom(last.ID)) == 0 {
		return nil, err
	}
	if tags, err := db.Tags(ctx, last); err != nil || len(tags) == 0 {
		return nil, err
	}
	return last, nil
}

// Tag gives a finished run a tag, unless it is the newest that has it. It reports whether the
// run is finished.
func (r *Run) Tag(ctx context.Context, tag string) (bool, error) {
	p, err := r.db.Progress(ctx, r.Record)
	if err != nil || r.Pending(p) {
		return false, err
	}
	newest, err := r.db.Tagged(ctx, tag, "")
	switch {
	case err == nil && newest.ID == r.Record.ID:
		return true, nil
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return true, err
	}
	return true, r.db.AddEvents(ctx, r.Record, r.eventsOf(store.EventTag, tag)...)
}

// Start records a new run with its whole plan.
func (x *Experiment) Start(ctx context.Context, db *store.DB) (*Run, error) {
	now, err := x.record()
	if err := cmp.Or(err, x.bind(ctx, db)); err != nil {
		return nil, err
	}
	taken := x.eventsOf(store.EventAnswers, slices.Sorted(maps.Keys(x.takers()))...) // their place in the order of all tells what tags were then
	r, err := db.CreateRun(ctx, now, x.Items(), x.Plan, taken...)
	if err != nil {
		return nil, err
	}
	return &Run{Experiment: x, Record: r, db: db}, nil
}

// record returns what a store keeps of the experiment.
func (x *Experiment) record() (store.Run, error) {
	absolute, err := filepath.Abs(x.File.Path)
	return store.Run{Study: x.Study.Name, Suite: x.Study.Suite, StudyPath: absolute, StudyJSON: x.File.Canonical(), Overrides: x.overrides,
		Treatment: x.treatment, Replicates: x.Study.Execution.Replicates, Version: x.env.Version, CreatedAt: x.env.Now()}, err
}

// bind adds to the plan what the store knows: the questions behind the answers of
// other runs. If a prompt changes there, the arm that takes the answers is another.
func (x *Experiment) bind(ctx context.Context, db *store.DB) error {
	sources := map[string]func(item string, replicate int) int64{}
	for _, p := range x.Bench.Pipelines() {
		id, arm, ok := strings.Cut(p.Target, ":")
		if p.Kind != "run" || !ok {
			continue
		}
		from, err := db.Run(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue // opening the arm says so
		}
		if err != nil {
			return err
		}
		questions, err := db.Questions(ctx, from, arm)
		other, errOther := x.OtherQuestions(ctx, db, from, p)
		if err := cmp.Or(err, errOther); err != nil {
			return err
		}
		for _, a := range x.Bench.Arms() {
			if a.Model == p.Model {
				sources[a.ID] = func(item string, replicate int) int64 {
					if other[item] { // no answer is taken, but was by earlier versions
						return 0
					}
					return questions[eval.Trial{Item: item, Arm: arm, Replicate: replicate}]
				}
			}
		}
	}
	x.Plan.Sources = sources
	return nil
}

// OtherQuestions are the items that the study asks a pipeline about, and of which an arm of another
// run, whose answers it takes, answered another question: their input differs, or its order.
func (x *Experiment) OtherQuestions(ctx context.Context, db *store.DB, from *store.Run, p eval.Pipeline) (map[string]bool, error) {
	was, err := db.PlannedItems(ctx, from)
	if err != nil {
		return nil, err
	}
	other := text.SetOf(plan.Reworded(was, x.Items()))
	differs := x.Bench.Capabilities().OtherQuestion
	if differs == nil {
		return other, nil
	}
	mine, arm := text.SetOf(x.itemIDs()), strings.TrimPrefix(p.Model, eval.PipelinePrefix)
	_, taken, _ := strings.Cut(p.Target, ":")
	for j := range until(&err, db.OutcomesOf(ctx, from, taken)) {
		if item := j.Trial.Item; mine[item] && !other[item] && differs(eval.Trial{Item: item, Arm: arm, Replicate: j.Trial.Replicate}, j.Outcome) {
			other[item] = true
		}
	}
	return other, err
}

// Follow makes a run what the study says now. New arms, items and replicates are appended
// to its plan, and what the study no longer has leaves it. Outcomes and verdicts that depend
// on something that changed, such as gold or the settings of a reader, are derived again
// from the answers; those that take another answer are pending. The history of the run has
// what changed.
func (x *Experiment) Follow(ctx context.Context, db *store.DB, r *store.Run) (*Run, error) {
	same, _, err := x.comparePlan(ctx, db, r)
	was, errWas := x.before(ctx, db, r)
	if err := cmp.Or(err, errWas); err != nil {
		return nil, err
	}
	run := &Run{Experiment: x, Record: r, db: db}
	regrouped := x.regrouped(was.groups)
	if same && len(was.gold)+len(regrouped) == 0 && slices.Equal(r.Treatment, x.treatment) {
		return run, nil
	}
	// What reads like a changed study may be a damaged file.
	if err := db.Damage(ctx); err != nil {
		return nil, err
	}
	if was.frozen != "" {
		if same, err := x.UpToDate(ctx, db, r); err != nil || same {
			run.Kept = fmt.Sprintf("it %s and keeps what an earlier version read in its answers", was.frozen)
			return run, err
		}
		return nil, &frozenError{r.ID, was.frozen}
	}
	if arms := x.AnsweredFrom(r.ID); len(arms) > 0 {
		return nil, discipline.NotAllowed("arm %s takes its answers from run %s, which follows the study and would take them from itself: start another run with `scruple run --new %s`",
			arms[0], r.ID, x.File.Path)
	}
	// A run of an older version has none of the rules that it began with.
	events, err := db.Events(ctx, r)
	if err != nil {
		return nil, err
	}
	rules, err := rulesSeen(events, r)
	if err == nil {
		err = db.AddEvents(ctx, r, x.rulesEvents(rules)...)
	}
	if err != nil {
		return nil, err
	}
	seen, judge := r.Analysed, changedParts(judgedWith(r.Treatment, r.StudyJSON), judgedWith(x.treatment, x.File.Canonical()))
	if !seen {
		regrouped = nil
	}
	run.add(mapped(regrouped, func(e store.Event) string { return e.Note })...)
	if err := run.amend(ctx, was.items, was.gold, append(run.eventsOf(judgeEvent, judge...), regrouped...)); err != nil {
		return nil, err
	}
	for _, e := range slices.Backward(events) { // a kill may have ended the last change early
		if e.What == planEvent {
			break
		}
		if e.What == judgeEvent && !slices.Contains(judge, e.Note) {
			judge = append(judge, e.Note)
		}
	}
	return run, run.renew(ctx, was.gold, judge, seen)
}

// amend makes the plan of the study that of the run. Items of changed gold keep the former hash
// until everything is derived again, so that the next run after a kill finds them changed. Events
// follow those of the plan.
func (r *Run) amend(ctx context.Context, items map[string]eval.Item, gold []string, events []store.Event) error {
	planned, regraded := slices.Clone(r.Items()), text.SetOf(gold)
	for i, it := range planned {
		if regraded[it.ID] {
			planned[i].Gold = items[it.ID].Gold
		}
	}
	now, errNow := r.record()
	moved, errMoved := r.moved(ctx, r.db, r.Record)
	earlier, err := r.db.Events(ctx, r.Record)
	if err := cmp.Or(errNow, errMoved, err); err != nil {
		return err
	}
	notes := portChanges(r.Record.Treatment, r.treatment)
	_, err = r.db.Amend(ctx, r.Record, now, planned, r.Plan, moved, r.unchanged(r.Record, items), func(a store.Amendment) []store.Event {
		changed := append(describeTrials(a), notes...)
		r.add(changed...)
		return append(r.planEvents(strings.Join(changed, "; "), a, earlier), events...)
	})
	return err
}

// add appends to what changed.
func (r *Run) add(changed ...string) {
	r.Changed = strings.Join(said(append([]string{r.Changed}, changed...)...), "; ")
}

// moved returns the items of a run that have another id now.
func (x *Experiment) moved(ctx context.Context, db *store.DB, r *store.Run) (m store.Moved, err error) {
	was, err := db.PlannedItems(ctx, r)
	if err != nil {
		return m, err
	}
	m.Items = plan.Renamed(was, x.Items())
	sendsID := func(id string) bool {
		return strings.HasPrefix(id, eval.PipelinePrefix) || slices.ContainsFunc(x.Study.Models, func(m study.Model) bool { return m.ID == id && m.Provider == kit.SimulatedProvider })
	}
	for _, a := range x.Bench.Arms() {
		if sendsID(a.Model) || slices.ContainsFunc(a.Judges, sendsID) {
			m.Except = append(m.Except, a.ID)
		}
	}
	return m, nil
}

// changedParts lists the names of parts that differ.
func changedParts(was, now []eval.Part) (names []string) {
	for _, p := range append(slices.Clone(was), now...) {
		if !(slices.Contains(was, p) && slices.Contains(now, p)) && !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// judgedWith are the settings of the judges of a run, with what its study says of them: another
// reading of what they answered is another judge.
func judgedWith(treatment []eval.Part, canonical []byte) []eval.Part {
	var s struct {
		Judge map[string]json.RawMessage `json:"judge"`
	}
	_ = json.Unmarshal(canonical, &s) // a suite may have something else there
	parts, scorer := plan.WithoutScorer(plan.JudgeParts(treatment))
	if scorer {
		parts = append(parts, eval.Part{Name: eval.ScorerName})
	}
	for _, key := range slices.Sorted(maps.Keys(s.Judge)) {
		if key != "cases" { // they measure it
			parts = append(parts, eval.Part{Name: "judge." + key, Value: string(s.Judge[key])})
		}
	}
	return parts
}

// judgeChanged says which settings of judges changed, of [judgedWith].
func judgeChanged(settings []string) string {
	if slices.Equal(settings, []string{eval.ScorerName}) {
		return "the scorer changed"
	}
	return "the judge changed (" + strings.Join(settings, ", ") + ")"
}

// AnsweredFrom lists the arms that take their answers from the run with an id, or a tag that no
// run has.
func (x *Experiment) AnsweredFrom(run string) (arms []string) { return x.takers()[run] }

// takers are the arms that take the answers of a run, by its id, or by a tag that no run has.
func (x *Experiment) takers() map[string][]string {
	arms := map[string][]string{}
	for _, p := range x.Bench.Pipelines() {
		if id, _, _ := strings.Cut(p.Target, ":"); p.Kind == "run" {
			arms[id] = append(arms[id], strings.TrimPrefix(p.Model, eval.PipelinePrefix))
		}
	}
	return arms
}

// unchanged reports whether a trial has the settings and the input that the run has,
// for stores that have no questions of trials.
func (x *Experiment) unchanged(r *store.Run, items map[string]eval.Item) func(eval.Trial) bool {
	kept := plan.Unchanged(r.Treatment, x.treatment)
	changed := text.SetOf(plan.Reworded(items, x.Items()))
	return func(t eval.Trial) bool { return kept(t.Arm) && !changed[t.Item] }
}

// Attach prepares a run to be read. It rejects a run whose trials are not those of
// the study, but allows changed prompts and models.
func (x *Experiment) Attach(ctx context.Context, db *store.DB, r *store.Run) (*Run, error) {
	_, other, err := x.comparePlan(ctx, db, r)
	if err != nil {
		return nil, err
	}
	if other != nil {
		if damage := db.Damage(ctx); damage != nil {
			return nil, damage
		}
		return nil, discipline.NotAllowed("%w: the study now has other items, arms or replicates: undo the change, or bring the run up to date with %s",
			other, x.catchUp())
	}
	return &Run{Experiment: x, Record: r, db: db}, nil
}

// catchUp names the commands that make a run what the study says. The run command makes no TEST
// run follow a change.
func (x *Experiment) catchUp() string {
	score := x.commandLine("score")
	if x.Study.Split == study.SplitTest {
		return fmt.Sprintf("`%s`, which asks nothing", score)
	}
	return fmt.Sprintf("`%s`, which asks only what is new, or `%s`, which asks nothing", x.commandLine("run"), score)
}

// another is the remedy where a run stays as it is.
func (x *Experiment) another(why string) string {
	return fmt.Sprintf("use another run: this one %s and stays as it is; `scruple run %s%s` brings the newest up to date or starts one", why, x.File.Path, x.ofSplit())
}

// commandLine is that of a verb on the study.
func (x *Experiment) commandLine(verb string, flags ...string) string {
	if x.env.Again == nil {
		return strings.Join(append([]string{"scruple", verb, x.File.Path + x.ofSplit()}, flags...), " ")
	}
	return x.env.Again(verb, flags...)
}

// ofSplit is the flag of commands on TEST.
func (x *Experiment) ofSplit() string {
	if x.Study.Split == study.SplitTest {
		return " --split test"
	}
	return ""
}

// comparePlan compares the plan of the study with that of a run: all that its trials depend on is the
// same, or other says which trials it has. The run, and so its ledger, is where the study is.
func (x *Experiment) comparePlan(ctx context.Context, db *store.DB, r *store.Run) (same bool, other, err error) {
	if err := x.bind(ctx, db); err != nil {
		return false, nil, err
	}
	if r.StudyPath, err = filepath.Abs(x.File.Path); err != nil {
		return false, nil, err
	}
	same, err = db.SetPlan(ctx, r, x.Plan)
	if errors.Is(err, store.ErrOtherPlan) {
		return false, err, nil
	}
	return same, nil, err
}

// Same prepares a run to be worked on by this process too. It rejects a run that the study
// does not match in all that determines requests, outcomes and verdicts, and a TEST run without
// its entry in the ledger, which has the accuracy of the judge.
func (x *Experiment) Same(ctx context.Context, db *store.DB, r *store.Run) (*Run, error) {
	if err := x.CheckBegan(r); err != nil {
		return nil, err
	}
	return &Run{Experiment: x, Record: r, db: db}, x.checkSame(ctx, db, r)
}

// checkSame rejects a run that the study no longer matches, or whose gold
// changed.
func (x *Experiment) checkSame(ctx context.Context, db *store.DB, r *store.Run) error {
	same, other, errPlan := x.comparePlan(ctx, db, r)
	was, err := x.before(ctx, db, r)
	if err = cmp.Or(errPlan, err); err == nil && !same && was.frozen != "" {
		same, err = x.UpToDate(ctx, db, r)
	}
	if err != nil {
		return err
	}
	var diffs []string
	if other != nil || !same && len(was.gold) == 0 {
		older, err := db.WithoutQuestions(ctx, r)
		if err != nil {
			return err
		}
		if diffs = x.differences(r, was.items); !older && len(diffs) == 0 {
			diffs = []string{"what outcomes or verdicts depend on: the settings of a reader or judge, the gold of other items, or the answers of another run that an arm takes"}
		}
	}
	if other != nil || len(diffs)+len(was.gold) > 0 {
		if err := db.Damage(ctx); err != nil {
			return err
		}
	}
	if r.Reread && was.frozen == "" && len(was.gold) == 0 {
		return discipline.NotAllowed("an earlier version of Scruple read the answers of run %s: bring the run up to date with %s", r.ID, x.catchUp())
	}
	if other != nil || len(diffs) > 0 {
		remedy := "bring the run up to date with " + x.catchUp()
		if was.frozen != "" {
			remedy = x.another(was.frozen)
		}
		return discipline.NotAllowed("the study no longer matches run %s:\n  %s\nundo the change, or %s", r.ID, strings.Join(diffs, "\n  "), remedy)
	}
	return x.goldChanged(ctx, db, r, was)
}

// CheckGold returns a [NotAllowedError] if the gold of items changed since the run was scored:
// what reads scores and gold together would contradict itself.
func (x *Experiment) CheckGold(ctx context.Context, db *store.DB, r *store.Run) error {
	was, err := x.before(ctx, db, r)
	if err != nil {
		return err
	}
	return x.goldChanged(ctx, db, r, was)
}

func (x *Experiment) goldChanged(ctx context.Context, db *store.DB, r *store.Run, was before) error {
	if len(was.gold) == 0 {
		return nil
	}
	last, err := x.Find(ctx, db, "")
	if err != nil {
		return err
	}
	remedy := "score the answers against the new gold with `" + x.commandLine("score") + "`"
	switch {
	case was.frozen != "":
		remedy = x.another(was.frozen)
	case last == nil || last.ID != r.ID:
		remedy = fmt.Sprintf("score the answers against the new gold with `scruple score %s --store %s`", r.ID, db.Path())
	}
	return discipline.NotAllowed("the gold of %s changed since run %s was scored: %s\nundo the change, or %s",
		text.Plural(len(was.gold), "item", "items"), r.ID, strings.Join(plan.Shorten(was.gold, 5), ", "), remedy)
}

// differences lists the differences between a run and the study.
func (x *Experiment) differences(r *store.Run, was map[string]eval.Item) []string {
	diffs := eval.DiffParts(plan.Readable(r.Treatment), plan.Readable(x.treatment))
	if slices.ContainsFunc(diffs, func(d string) bool { return strings.HasPrefix(d, plan.ArmPart) }) {
		diffs = append(diffs, "(the value of an arm is a hash of its prompt and settings)")
	}
	changed := plan.Reworded(was, x.Items())
	for _, id := range plan.Shorten(changed, 5) {
		diffs = append(diffs, "item "+id+" changed")
	}
	if len(changed) > 0 && r.Version != x.env.Version {
		diffs = append(diffs, fmt.Sprintf("(if no file changed: version %s of scruple, which began the run, reads a document otherwise than this one, %s, such as the text of a PDF)", r.Version, x.env.Version))
	}
	if now := len(x.Items()) * len(x.Bench.Arms()) * x.Plan.Replicates(); now != r.Trials {
		diffs = append(diffs, fmt.Sprintf("trials: was %d, now %d", r.Trials, now))
	}
	return diffs
}
