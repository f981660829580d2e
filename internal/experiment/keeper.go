package experiment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/store"
)

// fewExamples is how many trials of an arm, and of the judge of arms, have their prompts
// kept: those first by the hash of their input. If items leave the study, the first of the
// rest is still among them, and new items change nothing unless they come first. So the
// example of a report does not depend on how a run grew.
const fewExamples = 3

// A keeper is a bench that has the prompts of a few trials kept while they are asked:
// nothing else knows them, as the journal has hashes of requests.
type keeper struct {
	eval.Bench
	journal *store.Journal
	inputs  map[string]string // of items
	shown   map[string]bool   // arms whose prompts reports show
	judges  map[string]string // of arms

	mu   sync.Mutex
	kept map[string][]string // places of trials by party, sorted
}

// keeper returns the bench of the run with what is kept already.
func (r *Run) keeper(ctx context.Context, journal *store.Journal) (*keeper, error) {
	k := &keeper{Bench: r.Bench, journal: journal, inputs: map[string]string{}, shown: r.exemplary(), judges: map[string]string{}, kept: map[string][]string{}}
	for _, it := range r.Items() {
		k.inputs[it.ID] = it.Input.String()
	}
	for _, arm := range r.Bench.Arms() {
		k.judges[arm.ID] = strings.Join(arm.Judges, " ")
	}
	list, err := r.db.Examples(ctx, r.Record)
	for _, e := range list {
		k.add(k.party(e.Trial, e.Stage), k.place(e.Trial))
	}
	return k, err
}

// exemplary returns the arms whose prompts a report shows: all if they are few, else the
// first of each method.
func (x *Experiment) exemplary() map[string]bool {
	shown, methods := map[string]bool{}, map[string]bool{}
	for _, arm := range x.Bench.Arms() {
		method := arm.ID
		if len(arm.Levels) > 0 && len(x.Bench.Arms()) > fewArms {
			method = arm.Levels[0].Value
		}
		if arm.Role != eval.RoleCalibration && arm.Model != "" && !methods[method] && len(methods) < fewArms {
			shown[arm.ID], methods[method] = true, true
		}
	}
	return shown
}

// judging returns the keeper for the bench of a judge.
func (k *keeper) judging(bench eval.Bench) *keeper {
	return &keeper{Bench: bench, journal: k.journal, inputs: k.inputs, shown: k.shown, judges: k.judges, kept: k.kept}
}

// Weight is that of the bench.
func (k *keeper) Weight(t eval.Trial) int {
	if w, ok := k.Bench.(eval.Weigher); ok {
		return w.Weight(t)
	}
	return 0
}

func (k *keeper) Perform(ctx context.Context, t eval.Trial, ask eval.Asker) (o eval.Outcome, err error) {
	if !k.shown[t.Arm] {
		return k.Bench.Perform(ctx, t, ask)
	}
	err = k.keep(t, eval.StageRun, ask, func(ask eval.Asker) (bool, error) {
		o, err = k.Bench.Perform(ctx, t, ask)
		return o.Kind != eval.Failed, err
	})
	return o, err
}

func (k *keeper) Judge(ctx context.Context, t eval.Trial, o eval.Outcome, ask eval.Asker) (list []eval.Verdict, err error) {
	err = k.keep(t, eval.StageJudge, ask, func(ask eval.Asker) (bool, error) {
		list, err = k.Bench.Judge(ctx, t, o, ask)
		return true, err
	})
	return list, err
}

// keep does a trial in a stage, and has its prompts kept if it succeeds and is one of the
// first.
func (k *keeper) keep(t eval.Trial, stage eval.Stage, ask eval.Asker, do func(eval.Asker) (succeeded bool, err error)) error {
	party, place := k.party(t, stage), k.place(t)
	if !k.wants(party, place) {
		_, err := do(ask)
		return err
	}
	l := &listener{Asker: ask}
	succeeded, err := do(l)
	if err != nil || !succeeded {
		return err
	}
	list := l.examples(t, stage)
	if len(list) > 0 {
		k.add(party, place)
	}
	return k.journal.Examples(t, stage, list)
}

// party is who is asked: an arm, or the judge of arms.
func (k *keeper) party(t eval.Trial, stage eval.Stage) string {
	if stage == eval.StageJudge {
		return "judge " + k.judges[t.Arm]
	}
	return "arm " + t.Arm
}

// place orders trials as [store.DB.Examples] does.
func (k *keeper) place(t eval.Trial) string {
	return fmt.Sprintf("%s\x00%s\x00%s\x00%09d", k.inputs[t.Item], t.Item, t.Arm, t.Replicate)
}

func (k *keeper) wants(party, place string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	i, found := slices.BinarySearch(k.kept[party], place)
	return found || i < fewExamples
}

func (k *keeper) add(party, place string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i, found := slices.BinarySearch(k.kept[party], place); !found {
		k.kept[party] = slices.Insert(k.kept[party], i, place)
	}
}

// A listener keeps the requests of a trial that were answered.
type listener struct {
	eval.Asker

	mu    sync.Mutex
	heard []heard
}

type heard struct{ step, model, text string }

func (l *listener) Ask(ctx context.Context, step string, r eval.Request) (eval.Response, error) {
	response, err := l.Asker.Ask(ctx, step, r)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.heard = append(l.heard, heard{step, r.Name, shortPrompt(requestText(&r))})
	}
	return response, err
}

// examples returns the first prompts of each model.
func (l *listener) examples(t eval.Trial, stage eval.Stage) (list []store.Example) {
	l.mu.Lock() // a suite that asks in parallel may still be at it
	defer l.mu.Unlock()
	slices.SortFunc(l.heard, func(a, b heard) int { return strings.Compare(a.step, b.step) })
	for _, h := range l.heard {
		i := slices.IndexFunc(list, func(e store.Example) bool { return e.Model == h.model })
		if i < 0 {
			i, list = len(list), append(list, store.Example{Asked: store.Asked{Stage: stage, Model: h.model, Trial: t}, Steps: len(l.heard)})
		}
		if e := &list[i]; len(e.Prompts) < mostSteps {
			e.Prompts = append(e.Prompts, store.Prompt{Step: h.step, Text: h.text})
		}
	}
	return list
}

// keepFirst has the prompts of the first trial of each arm and judge kept, if the trials of
// which they are have left the plan: it is the one that a new run keeps.
func (r *Run) keepFirst(ctx context.Context) error {
	keep, err := r.keeper(ctx, nil)
	if err != nil {
		return err
	}
	asked, err := r.db.FirstAsked(ctx, r.Record)
	if err != nil {
		return err
	}
	first := map[string]store.Asked{} // by party
	for _, a := range asked {
		party := keep.party(a.Trial, a.Stage)
		if was, ok := first[party]; (a.Stage == eval.StageJudge || keep.shown[a.Trial.Arm]) && (!ok || keep.place(a.Trial) < keep.place(was.Trial)) {
			first[party] = a
		}
	}
	for _, party := range slices.Sorted(maps.Keys(first)) {
		a := first[party]
		if slices.Contains(keep.kept[party], keep.place(a.Trial)) {
			continue
		}
		answers, err := r.replay(ctx, a.Trial, a.Stage)
		if err != nil {
			return err
		}
		j, err := r.db.Outcome(ctx, r.Record, a.Trial)
		if err != nil {
			return err
		}
		l := &listener{Asker: answers}
		if a.Stage == eval.StageRun {
			_, err = r.Bench.Perform(ctx, a.Trial, l)
		} else {
			_, err = r.Bench.Judge(ctx, a.Trial, j.Outcome, l)
		}
		if err != nil {
			continue // the report says that it has none
		}
		if err := r.db.PutExamples(ctx, r.Record, a.Trial, a.Stage, l.examples(a.Trial, a.Stage)); err != nil {
			return err
		}
	}
	return nil
}
