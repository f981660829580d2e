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
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Selection selects trials of one item to show.
type Selection struct {
	Item      string
	Arms      []string // empty: all with an outcome for the item
	Replicate int
	Prompts   bool // include prompts
}

// CheckSelection returns an error if the study does not have the item, an arm or
// the replicate.
func (x *Experiment) CheckSelection(s Selection) error {
	var items []string
	for _, it := range x.Items() {
		items = append(items, it.ID)
	}
	if !slices.Contains(items, s.Item) {
		const few = 3
		return fmt.Errorf("show: study %s has no item %q; the nearest are %s", x.Study.Name, text.Shorten(s.Item, 100), strings.Join(text.NearestFew(s.Item, items, few), ", "))
	}
	known := x.ArmIDs()
	for _, arm := range s.Arms {
		if !slices.Contains(known, arm) {
			return fmt.Errorf("show: study %s has no arm %q%s; the arms are %s", x.Study.Name, arm, kit.DidYouMean(arm, known), strings.Join(known, ", "))
		}
	}
	if s.Replicate < 1 || s.Replicate > x.Study.Execution.Replicates {
		return fmt.Errorf("--replicate %d: study %s has %s", s.Replicate, x.Study.Name, text.Plural(x.Study.Execution.Replicates, "replicate", "replicates"))
	}
	return nil
}

// Show returns trials as the samples of an analysis without other content.
func (r *Run) Show(ctx context.Context, s Selection) (*analyse.Analysis, error) {
	if err := r.CheckSelection(s); err != nil {
		return nil, err
	}
	scorer, _, err := r.calibrate(ctx)
	if err != nil {
		return nil, err
	}
	q := r.asked(&store.Progress{})
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
		exhibit, err := r.exhibit(ctx, scorer, t)
		if errors.Is(err, store.ErrNotFound) && len(s.Arms) == 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		if exhibit.Failed != "" {
			// Reports have the reason alone: the words may have ids and addresses.
			o, err := r.db.Outcome(ctx, r.Record, t)
			if err != nil {
				return nil, err
			}
			exhibit.Failed = strings.TrimSuffix(exhibit.Failed+": "+o.Outcome.Detail, ": ")
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
		return nil, fmt.Errorf("show: run %s has no outcome for item %s yet", r.Record.ID, s.Item)
	}
	return shown, nil
}

// callsAbout returns the calls of the selected trials by arm and step.
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
