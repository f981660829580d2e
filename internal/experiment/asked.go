package experiment

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
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
	firsts, versions, shown := sums.First(), sums.Versions(), r.exemplary()
	exampleOf := func(is func(store.Asked) bool) store.Example {
		if i := slices.IndexFunc(kept, func(e store.Example) bool { return is(e.Asked) }); i >= 0 {
			return kept[i]
		}
		return store.Example{Asked: firsts[slices.IndexFunc(firsts, is)]}
	}
	for _, arm := range r.Bench.Arms() {
		ofArm := func(f store.Asked) bool { return f.Stage == eval.StageRun && f.Trial.Arm == arm.ID }
		if arm.Role == eval.RoleCalibration || !slices.ContainsFunc(firsts, ofArm) {
			continue
		}
		p := analyse.Party{Name: arm.ID, Hash: arm.Hash, Answered: versionsOf(versions, arm.ID)}
		if err := r.example(ctx, &p, exampleOf(ofArm), shown[arm.ID]); err != nil {
			return nil, err
		}
		a.Parties = append(a.Parties, p)
	}
	versions = sums.JudgeVersions()
	var judges []analyse.Party
	for _, f := range firsts {
		if f.Stage != eval.StageJudge || slices.ContainsFunc(judges, func(p analyse.Party) bool { return p.Model == f.Model }) {
			continue
		}
		p := analyse.Party{Judge: true, Model: f.Model, Answered: versionsOf(versions, f.Model)}
		ofJudge := func(o store.Asked) bool { return o.Stage == eval.StageJudge && o.Model == f.Model }
		if err := r.example(ctx, &p, exampleOf(ofJudge), true); err != nil {
			return nil, err
		}
		judges = append(judges, p)
	}
	slices.SortFunc(judges, func(a, b analyse.Party) int { return cmp.Compare(a.Name, b.Name) })
	a.Parties = append(a.Parties, judges...)
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
	p.Item, p.Steps, p.Provider, p.Model, p.Adapted = e.Trial.Item, cmp.Or(e.Steps, len(steps)), first.Provider, first.Model, first.Response.Adapted
	for _, part := range first.Parts {
		switch part.Name {
		case "model":
			if p.Judge {
				p.Name = part.Value
			}
		case "provider", "name", "item", "replicate", "messages", "payload": // shown elsewhere, or of the item
		case "program":
			if !p.Judge { // of a judge, a hash of settings
				p.Settings = append(p.Settings, eval.Level(part))
			}
		default:
			p.Settings = append(p.Settings, eval.Level(part))
		}
	}
	if !prompts {
		return nil // of so many arms
	}
	for _, prompt := range e.Prompts {
		p.Prompts = append(p.Prompts, analyse.Prompt(prompt))
	}
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
