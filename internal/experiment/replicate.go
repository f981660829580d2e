package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
)

// Replicated returns the run that the study replicates, nil if there is none: the
// newest TEST run of the study of that name, or its newest run.
func (x *Experiment) Replicated(ctx context.Context, db *store.DB) (*store.Run, error) {
	name := x.Study.ReplicationOf
	if name == "" {
		return nil, nil
	}
	earlier, err := db.Run(ctx, name)
	for _, split := range []string{study.SplitTest, ""} {
		if errors.Is(err, store.ErrNotFound) {
			earlier, err = db.LastRun(ctx, name, split)
		}
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return earlier, err
}

// replicate compares the analysis of a run with the run that the study replicates, as it is now.
func (x *Experiment) replicate(ctx context.Context, db *store.DB, r *store.Run, a *analyse.Analysis) error {
	a.Replications = nil
	earlier, err := x.Replicated(ctx, db)
	if err != nil || earlier == nil || a.Run.Exploratory() {
		return err
	}
	kept, err := Kept(ctx, db, earlier)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err == nil:
		a.Replicate(kept.Analysis)
		a.WithOtherArms(x.otherArms(earlier))
		err = x.withPrices(ctx, db, r, earlier, a)
	}
	return err
}

// withPrices compares what calls of the run and of the one that it replicates cost, if a metric says so.
func (x *Experiment) withPrices(ctx context.Context, db *store.DB, r, earlier *store.Run, a *analyse.Analysis) error {
	priced := func(metric string) bool {
		m, _ := x.Suite.Metric(metric)
		return m.Priced
	}
	if !slices.ContainsFunc(a.Replications, func(r analyse.Replication) bool { return priced(r.Metric) }) {
		return nil
	}
	was, err := db.CallSums(ctx, earlier)
	if err != nil {
		return err
	}
	now, err := db.CallSums(ctx, r)
	a.WithPrices(priced, was.Prices(), now.Prices())
	return err
}

// otherArms says which arms have another prompt or program than under their name in an earlier run, and
// which of the others another model. Arms with stored answers have others for other items.
func (x *Experiment) otherArms(earlier *store.Run) (prompts, models map[string]string) {
	prompts, models = map[string]string{}, map[string]string{}
	var then map[string]string
	for _, a := range x.Bench.Arms() {
		i := slices.IndexFunc(earlier.Treatment, func(p eval.Part) bool { return p.Name == plan.ArmPart+a.ID })
		if i < 0 || earlier.Treatment[i].Value == a.Hash || !x.asksAnew(a) {
			continue
		}
		was := plan.ModelParts(earlier.Treatment, a.Model)
		changed := eval.DiffParts(was, plan.ModelParts(x.treatment, a.Model))
		if len(changed) > 0 && then == nil {
			then = x.hashesWith(earlier)
		}
		model := "has another model (" + strings.Join(changed, "; ") + ")"
		switch {
		case len(changed) > 0 && then[a.ID] == earlier.Treatment[i].Value:
			models[a.ID] = model
		case len(changed) > 0 && (len(was) == 0 || then[a.ID] == ""): // its prompt cannot be compared
			models[a.ID] = model + ", and maybe another prompt,"
		default:
			prompts[a.ID] = "has another prompt, program or settings"
		}
	}
	return prompts, models
}

// asksAnew reports whether an arm asks a model or a program.
func (x *Experiment) asksAnew(a eval.Arm) bool {
	i := slices.IndexFunc(x.Bench.Pipelines(), func(p eval.Pipeline) bool { return p.Model == a.Model })
	return a.Model != "" && !a.Given && (i < 0 || x.Bench.Pipelines()[i].Asked())
}

// hashesWith are the hashes that the arms would have with the models of an earlier run, nil if that
// cannot be found out.
func (x *Experiment) hashesWith(earlier *store.Run) map[string]string {
	var then struct{ Models []study.Model }
	if json.Unmarshal(earlier.StudyJSON, &then) != nil {
		return nil
	}
	file, own, suite, err := Read(x.File.Path, x.overrides, x.env)
	if err != nil {
		return nil
	}
	list := own.Common().Models
	for i, m := range list {
		if j := slices.IndexFunc(then.Models, func(t study.Model) bool { return t.ID == m.ID }); j >= 0 {
			list[i] = then.Models[j]
		}
	}
	bench, err := suite.Open(file, own)
	if err != nil {
		return nil
	}
	hashes := map[string]string{}
	for _, a := range bench.Arms() {
		hashes[a.ID] = a.Hash
	}
	if bench.Close() != nil {
		return nil
	}
	return hashes
}
