package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/store"
)

func showVerb(a *app) *cobra.Command {
	var to rendering
	var which showing
	c := verb("show STUDY|RUN ITEM [ARM…]", "show what arms made of an item, step by step", `
What came of it, gold beside the answer, and every step on the way: of all arms,
or of those named. With --prompts also what models were asked, which is made
again from the study and held to the hashes in the journal. Formats as those of
report.`, cobra.MinimumNArgs(2),
		func(c *cobra.Command, args []string) error {
			which.item, which.arms = args[1], args[2:]
			result, err := a.trials(c.Context(), args[0], which)
			if err != nil {
				return err
			}
			return a.render(result, to)
		})
	to.flags(c)
	c.Flags().BoolVar(&which.prompts, "prompts", false, "show what models were asked")
	c.Flags().IntVar(&which.replicate, "replicate", 1, "which of the study's replicates")
	return c
}

// A showing says which trials are shown: of an item, the arms named or all that
// have done it.
type showing struct {
	item      string
	arms      []string
	replicate int
	prompts   bool
}

// trials gathers them as a report of nothing else.
func (a *app) trials(ctx context.Context, arg string, which showing) (report.Report, error) {
	var none report.Report
	item, named, replicate := which.item, which.arms, which.replicate
	l, err := a.loadFor(ctx, arg)
	if err != nil {
		return none, err
	}
	defer l.close()
	if !slices.ContainsFunc(l.bench.Items(), func(it eval.Item) bool { return it.ID == item }) {
		return none, fmt.Errorf("show: there is no item %q in study %s", item, l.study.Name)
	}
	for _, name := range named {
		if !slices.ContainsFunc(l.bench.Arms(), func(arm eval.Arm) bool { return arm.ID == name }) {
			return none, fmt.Errorf("show: there is no arm %q in study %s: want some of %s", name, l.study.Name, strings.Join(armIDs(l), ", "))
		}
	}
	if replicate < 1 || replicate > l.study.Execution.Replicates {
		return none, fmt.Errorf("--replicate %d: study %s has %d", replicate, l.study.Name, l.study.Execution.Replicates)
	}
	db, r, err := a.findRun(ctx, arg)
	if err != nil {
		return none, err
	}
	defer db.Close()
	if err := l.setPlan(ctx, db, r); err != nil {
		return none, err
	}
	scorer, _, err := calibrate(ctx, db, r, l)
	if err != nil {
		return none, err
	}
	from, err := l.sources(ctx, db, r, scorer)
	if err != nil {
		return none, err
	}
	q := l.question(r, &store.Progress{}, nil)
	shown := &analyse.Analysis{Format: analyse.Format, Study: q.Study, Run: q.Run}
	shown.Run.Done = shown.Run.Planned // it is of one item: that others wait is no matter here
	var calls map[string]map[string]eval.Call
	if which.prompts {
		if calls, err = callsAbout(ctx, db, r, item, replicate); err != nil {
			return none, err
		}
	}
	for _, arm := range l.bench.Arms() {
		if arm.Role == eval.RoleCalibration || len(named) > 0 && !slices.Contains(named, arm.ID) {
			continue
		}
		t := eval.Trial{Item: item, Arm: arm.ID, Replicate: replicate}
		x, err := from.Show(t)
		if errors.Is(err, store.ErrNotFound) && len(named) == 0 {
			continue
		}
		if err != nil {
			return none, err
		}
		if which.prompts {
			if x.Steps, err = prompts(ctx, l.bench, t, calls[arm.ID], x.Steps); err != nil {
				return none, err
			}
		}
		shown.Arms = append(shown.Arms, analyse.Arm{ID: arm.ID, Role: arm.Role, Simulated: arm.Simulated})
		shown.Samples = append(shown.Samples, analyse.Sample{Show: x})
	}
	if len(shown.Samples) == 0 {
		return none, fmt.Errorf("show: no arm of run %s has done %s yet", r.ID, item)
	}
	return report.Report{Analysis: shown, Trials: true}, nil
}
