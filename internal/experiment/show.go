package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/store"
)

// A Selection is the trials of one item to be shown.
type Selection struct {
	Item      string
	Arms      []string // none: all that have done the item
	Replicate int
	Prompts   bool // with what models were asked
}

// CheckSelection reports what a selection names and the study does not have.
func (x *Experiment) CheckSelection(s Selection) error {
	if !slices.ContainsFunc(x.Bench.Items(), func(it eval.Item) bool { return it.ID == s.Item }) {
		return fmt.Errorf("show: there is no item %q in study %s", s.Item, x.Study.Name)
	}
	known := x.ArmIDs()
	for _, arm := range s.Arms {
		if !slices.Contains(known, arm) {
			return fmt.Errorf("show: there is no arm %q in study %s: want some of %s", arm, x.Study.Name, strings.Join(known, ", "))
		}
	}
	if s.Replicate < 1 || s.Replicate > x.Study.Execution.Replicates {
		return fmt.Errorf("--replicate %d: study %s has %d", s.Replicate, x.Study.Name, x.Study.Execution.Replicates)
	}
	return nil
}

// Show gathers trials as the samples of an analysis that holds nothing else.
func (r *Run) Show(ctx context.Context, s Selection) (*analyse.Analysis, error) {
	if err := r.CheckSelection(s); err != nil {
		return nil, err
	}
	scorer, _, err := r.calibrate(ctx)
	if err != nil {
		return nil, err
	}
	from, err := r.sources(ctx, scorer)
	if err != nil {
		return nil, err
	}
	q := r.question(&store.Progress{})
	shown := &analyse.Analysis{Format: analyse.Format, Study: q.Study, Run: q.Run}
	shown.Run.Done = shown.Run.Planned // pending trials of other items do not matter here
	var calls map[string]map[string]eval.Call
	if s.Prompts {
		if calls, err = r.callsAbout(ctx, s); err != nil {
			return nil, err
		}
	}
	for _, arm := range r.Bench.Arms() {
		if arm.Role == eval.RoleCalibration || len(s.Arms) > 0 && !slices.Contains(s.Arms, arm.ID) {
			continue
		}
		t := eval.Trial{Item: s.Item, Arm: arm.ID, Replicate: s.Replicate}
		exhibit, err := from.Show(t)
		if errors.Is(err, store.ErrNotFound) && len(s.Arms) == 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		if s.Prompts {
			if exhibit.Steps, err = withPrompts(ctx, r.Bench, t, calls[arm.ID], exhibit.Steps); err != nil {
				return nil, err
			}
		}
		shown.Arms = append(shown.Arms, analyse.Arm{ID: arm.ID, Role: arm.Role, Simulated: arm.Simulated})
		shown.Samples = append(shown.Samples, analyse.Sample{Show: exhibit})
	}
	if len(shown.Samples) == 0 {
		return nil, fmt.Errorf("show: no arm of run %s has done %s yet", r.Record.ID, s.Item)
	}
	return shown, nil
}

// callsAbout are the calls of the trials of a selection, by arm and step.
func (r *Run) callsAbout(ctx context.Context, s Selection) (map[string]map[string]eval.Call, error) {
	calls := map[string]map[string]eval.Call{}
	for c, err := range r.db.Calls(ctx, r.Record) {
		if err != nil {
			return nil, err
		}
		if t := c.Trial; t.Item == s.Item && t.Replicate == s.Replicate && c.Stage == eval.StageRun {
			if calls[t.Arm] == nil {
				calls[t.Arm] = map[string]eval.Call{}
			}
			calls[t.Arm][c.Step] = c
		}
	}
	return calls, nil
}
