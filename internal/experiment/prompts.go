package experiment

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

// Limits of the prompts in an analysis.
const (
	fewArms   = 12 // up to which each arm has prompts; of more, the first of each method has
	mostSteps = 2  // of a trial
)

// askedOf describes what was asked of whom, from the journal and the prompts that were kept
// when they were asked. It performs nothing.
func (r *Run) askedOf(ctx context.Context, sums store.CallSums) (*analyse.Asked, error) {
	a := &analyse.Asked{Program: r.Record.Version, Study: eval.HashOf(r.File.Canonical()).String(), Parties: []analyse.Party{}}
	a.Inputs, a.Gold = dataHashes(r.Items())
	kept, err := r.db.Examples(ctx, r.Record)
	if err != nil {
		return nil, err
	}
	// Without a kept one, the example is the first answered trial.
	firsts, shown := sums.First(), r.exemplary()
	add := func(p analyse.Party, is func(store.Asked) bool, prompts bool) error {
		var e store.Example
		// One that was kept while its arm was shown is no longer the example.
		if i := slices.IndexFunc(kept, func(e store.Example) bool { return is(e.Asked) }); i >= 0 && prompts {
			e = kept[i]
		} else {
			e.Asked = firsts[slices.IndexFunc(firsts, is)]
		}
		err := r.example(ctx, &p, e, prompts)
		a.Parties = append(a.Parties, p)
		return err
	}
	for _, arm := range r.Bench.Arms() {
		is := func(f store.Asked) bool { return f.Stage == eval.StageRun && f.Trial.Arm == arm.ID }
		if arm.Role == eval.RoleCalibration || !slices.ContainsFunc(firsts, is) {
			continue
		}
		if err := add(analyse.Party{Name: arm.ID, Hash: arm.Hash, Answered: versionsOf(sums.Versions(), arm.ID)}, is, shown[arm.ID]); err != nil {
			return nil, err
		}
	}
	arms := len(a.Parties)
	for _, f := range firsts {
		is := func(o store.Asked) bool { return o.Stage == eval.StageJudge && o.Model == f.Model }
		if !is(f) || slices.ContainsFunc(a.Parties[arms:], func(p analyse.Party) bool { return p.Model == f.Model }) {
			continue
		}
		if err := add(analyse.Party{Judge: true, Model: f.Model, Answered: versionsOf(sums.JudgeVersions(), f.Model)}, is, true); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(a.Parties[arms:], func(a, b analyse.Party) int { return cmp.Compare(a.Name, b.Name) })
	return a, nil
}

// dataHashes are hashes over the items in the order of their ids, so that the order
// of a file has no effect.
func dataHashes(items []eval.Item) (inputs, gold string) {
	var in, out strings.Builder
	for _, it := range slices.SortedFunc(slices.Values(items), func(a, b eval.Item) int { return strings.Compare(a.ID, b.ID) }) {
		in.WriteString(it.ID + "=" + it.Input.String() + "\n")
		out.WriteString(it.ID + "=" + it.Gold.String() + "\n")
	}
	return eval.HashOf([]byte(in.String())).String(), eval.HashOf([]byte(out.String())).String()
}

func versionsOf(versions []eval.ArmVersion, name string) (list []analyse.Count) {
	for _, v := range versions {
		if v.Arm == name && v.Version != "" {
			list = append(list, analyse.Count{Name: v.Version, N: v.Calls})
		}
	}
	return list
}

// example adds a trial to a party.
func (r *Run) example(ctx context.Context, p *analyse.Party, e store.Example, prompts bool) error {
	calls, err := r.db.CallsOf(ctx, r.Record, e.Trial, e.Stage)
	if err != nil {
		return err
	}
	steps := slices.Sorted(maps.Keys(calls))
	i := slices.IndexFunc(steps, func(s string) bool {
		return calls[s].Model == e.Model && calls[s].ErrKind == "" && !calls[s].Stale
	})
	if i < 0 {
		return nil
	}
	first := calls[steps[i]]
	if p.Judge {
		steps = slices.DeleteFunc(steps, func(s string) bool { return calls[s].Model != e.Model })
	}
	p.Item, p.Steps, p.Provider, p.Model, p.Adapted = e.Trial.Item, cmp.Or(e.Steps, len(steps)), first.Provider, first.Model, first.Response.Adapted
	for _, part := range first.Parts {
		switch part.Name {
		case "model":
			if p.Judge {
				p.Name = part.Value
			}
		case "provider", "name", "item", "replicate", "messages", "payload": // shown elsewhere, or of the item
		case "program":
			if !p.Judge || p.Name == eval.ScorerModel { // of a judge, a hash of settings
				p.Settings = append(p.Settings, eval.Level(part))
			}
		default:
			p.Settings = append(p.Settings, eval.Level(part))
		}
	}
	if !prompts {
		return nil // of so many arms
	}
	p.Prompts = mapped(e.Prompts, func(prompt store.Prompt) analyse.Prompt { return analyse.Prompt(prompt) })
	if len(e.Prompts) == 0 {
		p.Missing = "the store has none; `scruple show --prompts` builds those of a trial again"
	}
	return nil
}

// Lengths of the beginning and the end of a prompt that is too long, in bytes.
const (
	promptHead = 6000
	promptTail = 1000
)

// shortPrompt leaves out the middle of a long prompt, which is mostly the document: the
// beginning has the instructions.
func shortPrompt(s string) string {
	if len(s) <= promptHead+promptTail {
		return s
	}
	head, tail := s[:promptHead], s[len(s)-promptTail:]
	for !utf8.RuneStart(s[len(head)]) {
		head = head[:len(head)-1]
	}
	for !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return head + "\n[… " + text.Plural(utf8.RuneCountInString(s[len(head):len(s)-len(tail)]), "character", "characters") + " …]\n" + tail
}

// fewExamples is how many trials of an arm, and of a model that judges, have their prompts
// kept: those first by the hash of their input. If items leave the study, the first of the
// rest is still among them, and new items change nothing unless they come first. So the
// example of a report does not depend on how a run grew.
const fewExamples = 3

// A keeper knows of which trials prompts are kept.
type keeper struct {
	inputs map[string]string // of items
	shown  map[string]bool   // arms whose prompts reports show

	mu   sync.Mutex
	kept map[string][]string // places of trials by party, sorted
}

// keeper returns what is kept already of a run.
func (r *Run) keeper(ctx context.Context) (*keeper, error) {
	k := &keeper{inputs: map[string]string{}, shown: r.exemplary(), kept: map[string][]string{}}
	for _, it := range r.Items() {
		k.inputs[it.ID] = it.Input.String()
	}
	list, err := r.db.Examples(ctx, r.Record)
	for _, e := range list {
		k.add(e.Asked)
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

// party is who is asked: an arm, or a model that judges.
func (k *keeper) party(a store.Asked) string {
	if a.Stage == eval.StageJudge {
		return "judge " + a.Model
	}
	return "arm " + a.Trial.Arm
}

// place orders trials as [store.DB.Examples] does.
func (k *keeper) place(t eval.Trial) string {
	return fmt.Sprintf("%s\x00%s\x00%s\x00%09d", k.inputs[t.Item], t.Item, t.Arm, t.Replicate)
}

// shows reports whether reports show what is asked in a stage of an arm.
func (k *keeper) shows(a store.Asked) bool {
	return a.Stage == eval.StageJudge || k.shown[a.Trial.Arm]
}

// find returns where a trial is among those of its party, and whether it is kept.
func (k *keeper) find(a store.Asked) (at int, kept bool) {
	return slices.BinarySearch(k.kept[k.party(a)], k.place(a.Trial))
}

// wants reports whether the prompts of a trial are to be kept.
func (k *keeper) wants(a store.Asked) bool {
	if !k.shows(a) {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	at, kept := k.find(a)
	return kept || at < fewExamples
}

// examples are those of [examples] that are to be kept: most are not, and shortening prompts takes time.
func (k *keeper) examples(all []heard, t eval.Trial, stage eval.Stage) []store.Example {
	return examples(slices.DeleteFunc(slices.Clone(all), func(h heard) bool {
		return !k.wants(store.Asked{Stage: stage, Model: h.model, Trial: t})
	}), t, stage)
}

func (k *keeper) add(a store.Asked) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if at, kept := k.find(a); !kept {
		k.kept[k.party(a)] = slices.Insert(k.kept[k.party(a)], at, k.place(a.Trial))
	}
}

// A keeping bench has the prompts of a few trials kept while they are asked: nothing else
// knows them, as the journal has hashes of requests.
type keeping struct {
	eval.Bench
	*keeper
	journal *store.Journal
}

func (k keeping) Perform(ctx context.Context, t eval.Trial, ask eval.Asker) (o eval.Outcome, err error) {
	err = k.keep(t, eval.StageRun, ask, func(ask eval.Asker) (bool, error) {
		o, err = k.Bench.Perform(ctx, t, ask)
		return o.Kind != eval.Failed, err
	})
	return o, err
}

func (k keeping) Judge(ctx context.Context, t eval.Trial, o eval.Outcome, ask eval.Asker) (list []eval.Verdict, err error) {
	err = k.keep(t, eval.StageJudge, ask, func(ask eval.Asker) (bool, error) {
		list, err = k.Bench.Judge(ctx, t, o, ask)
		return true, err
	})
	return list, err
}

// keep does a trial in a stage, and has its prompts kept if it succeeds and is one of the
// first. Which models judge it is only known afterwards.
func (k keeping) keep(t eval.Trial, stage eval.Stage, ask eval.Asker, do func(eval.Asker) (succeeded bool, err error)) error {
	if stage != eval.StageJudge && !k.wants(store.Asked{Stage: stage, Trial: t}) {
		_, err := do(ask)
		return err
	}
	l := &listener{answer: func(ctx context.Context, step string, r eval.Request) (response eval.Response, from string, err error) {
		response, err = ask.Ask(ctx, step, r)
		return response, "", err
	}}
	succeeded, err := do(l)
	if err != nil || !succeeded {
		return err
	}
	list := k.examples(l.heard(), t, stage)
	if len(list) == 0 {
		return nil
	}
	for _, e := range list {
		k.add(e.Asked)
	}
	return k.journal.Examples(t, stage, list)
}

// examples returns the first prompts of each model among the requests of a trial, whose steps are
// those of the arm, or of the model that judges.
func examples(all []heard, t eval.Trial, stage eval.Stage) (list []store.Example) {
	all = slices.DeleteFunc(slices.Clone(all), func(h heard) bool { return h.failed })
	for _, h := range all {
		i := slices.IndexFunc(list, func(e store.Example) bool { return e.Model == h.model })
		if i < 0 {
			i, list = len(list), append(list, store.Example{Asked: store.Asked{Stage: stage, Model: h.model, Trial: t}})
		}
		if list[i].Steps++; stage != eval.StageJudge {
			list[i].Steps = len(all)
		}
		if e := &list[i]; len(e.Prompts) < mostSteps {
			e.Prompts = append(e.Prompts, store.Prompt{Step: h.step, Text: shortPrompt(h.text)})
		}
	}
	return list
}

// keepFirst has the prompts of the first trial of each arm and judge kept, if the trials of
// which they are have left the plan: it is the one that a new run keeps.
func (r *Run) keepFirst(ctx context.Context) error {
	keep, errKeep := r.keeper(ctx)
	asked, err := r.db.FirstAsked(ctx, r.Record)
	if err := cmp.Or(errKeep, err); err != nil {
		return err
	}
	first := map[string]store.Asked{} // by party
	for _, a := range asked {
		party := keep.party(a)
		if was, ok := first[party]; keep.shows(a) && (!ok || keep.place(a.Trial) < keep.place(was.Trial)) {
			first[party] = a
		}
	}
	for _, party := range slices.Sorted(maps.Keys(first)) {
		a := first[party]
		if _, kept := keep.find(a); kept {
			continue
		}
		was, err := r.db.Outcome(ctx, r.Record, a.Trial)
		if err != nil {
			return err
		}
		d, err := r.redo(ctx, r.Bench, a.Stage, was)
		switch {
		case d.calls == nil:
			return err
		case err != nil:
			continue // the report says that it has none
		}
		if err := r.db.PutExamples(ctx, r.Record, a.Trial, a.Stage, examples(d.heard, a.Trial, a.Stage)); err != nil {
			return err
		}
	}
	return nil
}
