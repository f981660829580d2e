package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Run is an experiment together with one of its runs in a store.
type Run struct {
	*Experiment
	Record *store.Run
	db     *store.DB
}

// LastRun finds the newest run of the study in a file.
func LastRun(ctx context.Context, db *store.DB, path string, overrides []string) (*store.Run, error) {
	name, err := study.Name(path, overrides)
	if err != nil {
		return nil, err
	}
	return db.LastRun(ctx, name)
}

// StartOrResume resumes the run with this id, or the newest run of the study if
// id is "". It starts a run if the study has none.
func (x *Experiment) StartOrResume(ctx context.Context, db *store.DB, id string) (*Run, error) {
	if id != "" {
		found, err := db.Run(ctx, id)
		if err != nil {
			return nil, err
		}
		return x.Resume(ctx, db, found)
	}
	last, err := db.LastRun(ctx, x.Study.Name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return x.Start(ctx, db)
	case err != nil:
		return nil, err
	}
	return x.Resume(ctx, db, last)
}

// Start records a new run with its whole plan.
func (x *Experiment) Start(ctx context.Context, db *store.DB) (*Run, error) {
	absolute, err := filepath.Abs(x.File.Path)
	if err != nil {
		return nil, err
	}
	r, err := db.CreateRun(ctx, store.Run{Study: x.Study.Name, Suite: x.Study.Suite, StudyPath: absolute, StudyJSON: x.File.Canonical(), Overrides: x.overrides,
		Treatment: x.treatment, Replicates: x.Study.Execution.Replicates, Version: x.env.Version, CreatedAt: x.env.Now()}, x.Bench.Items(), x.Plan)
	if err != nil {
		return nil, err
	}
	return &Run{x, r, db}, nil
}

// Resume prepares a run to be resumed. It rejects a run that the study no longer
// matches.
func (x *Experiment) Resume(ctx context.Context, db *store.DB, r *store.Run) (*Run, error) {
	if err := x.checkSame(ctx, db, r); err != nil {
		return nil, err
	}
	return x.Attach(ctx, db, r)
}

// Attach prepares a run to be read and scored. It rejects a run whose trials are
// not those of the study, but allows changed prompts and models.
func (x *Experiment) Attach(ctx context.Context, db *store.DB, r *store.Run) (*Run, error) {
	err := db.SetPlan(ctx, r, x.Plan)
	var broken *store.Error
	switch {
	case errors.As(err, &broken):
		return nil, err
	case err != nil:
		if damage := db.Damage(ctx); damage != nil {
			return nil, damage
		}
		return nil, notAllowed("%w: the study now has other items, arms or replicates; undo the change, or start another run with `scruple run --new`", err)
	}
	return &Run{x, r, db}, nil
}

// checkSame rejects a run that the study no longer matches, or whose gold
// changed.
func (x *Experiment) checkSame(ctx context.Context, db *store.DB, r *store.Run) error {
	diffs := eval.DiffParts(r.Treatment, x.treatment)
	was, err := db.Items(ctx, r)
	if err != nil {
		return err
	}
	input, gold := plan.Changes(was, x.Bench.Items())
	diffs = append(diffs, plan.Shorten(input, 5)...)
	if len(diffs)+len(gold) > 0 {
		// What reads like a changed study may be a damaged file.
		if err := db.Damage(ctx); err != nil {
			return err
		}
	}
	if len(diffs) > 0 {
		note := ""
		if slices.ContainsFunc(diffs, func(d string) bool { return strings.HasPrefix(d, "arm ") }) {
			note = "\nthe value of an arm is a hash of its prompt and settings"
		}
		return notAllowed("the study no longer matches run %s:\n  %s%s\nundo the change to resume the run, or start another run with `scruple run --new`",
			r.ID, strings.Join(diffs, "\n  "), note)
	}
	if len(gold) > 0 {
		return notAllowed("the gold of %s changed since run %s: %s\nundo the change, score the answers against the new gold with `scruple score`, or start another run with `scruple run --new`",
			text.Plural(len(gold), "item", "items"), r.ID, strings.Join(plan.Shorten(gold, 5), ", "))
	}
	return nil
}

// A GoldChange is an accepted change of gold.
type GoldChange struct {
	Note    string // as in the history of the run
	Rejudge bool   // the items must be judged again
}

// AcceptGold records changed gold in the run's history and deletes results that
// depend on the old gold. It returns nil if gold is unchanged. It rejects a run
// whose inputs changed: its answers are to other questions.
func (r *Run) AcceptGold(ctx context.Context) (*GoldChange, error) {
	was, err := r.db.Items(ctx, r.Record)
	if err != nil {
		return nil, err
	}
	input, gold := plan.Changes(was, r.Bench.Items())
	if len(input) > 0 {
		return nil, notAllowed("the data of run %s changed (%s), so its answers are to other inputs: undo the change, or start another run with `scruple run --new`",
			r.Record.ID, strings.Join(plan.Shorten(input, 5), ", "))
	}
	if len(gold) == 0 {
		return nil, nil
	}
	note := fmt.Sprintf("scored against changed gold of %s: %s", text.Plural(len(gold), "item", "items"), strings.Join(plan.Shorten(gold, 20), ", "))
	if err := r.db.AddEvent(ctx, r.Record, store.Event{At: r.env.Now(), What: "gold changed", Note: note}); err != nil {
		return nil, err
	}
	changed := map[string]bool{}
	for _, id := range gold {
		changed[id] = true
	}
	var items []eval.Item
	for _, it := range r.Bench.Items() {
		if changed[it.ID] {
			items = append(items, it)
		}
	}
	fromGold := slices.Sorted(maps.Keys(r.calibrationArms()))
	return &GoldChange{note, r.HasJudge()}, r.db.SetGold(ctx, r.Record, items, fromGold)
}
