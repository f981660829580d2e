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

// askedOf describes what was asked of whom, from the journal. The prompts are those of
// the first answered trial of each arm and judge.
func (r *Run) askedOf(ctx context.Context, sums store.CallSums) (*analyse.Asked, error) {
	a := &analyse.Asked{Program: r.Record.Version, Study: eval.HashOf(r.File.Canonical()).String(), Parties: []analyse.Party{}}
	a.Inputs, a.Gold = dataHashes(r.Items())
	firsts, versions := sums.First(), sums.Versions()
	shown := map[string]bool{} // methods with prompts
	for _, arm := range r.Bench.Arms() {
		i := slices.IndexFunc(firsts, func(f store.Asked) bool { return f.Stage == eval.StageRun && f.Trial.Arm == arm.ID })
		if i < 0 || arm.Role == eval.RoleCalibration {
			continue
		}
		p := analyse.Party{Name: arm.ID, Hash: arm.Hash, Answered: versionsOf(versions, arm.ID)}
		method := arm.ID
		if len(arm.Levels) > 0 && len(r.Bench.Arms()) > fewArms {
			method = arm.Levels[0].Value
		}
		prompts := !shown[method] && len(shown) < fewArms
		shown[method] = shown[method] || prompts
		if err := r.example(ctx, &p, firsts[i], prompts); err != nil {
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
		if err := r.example(ctx, &p, f, true); err != nil {
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

// example adds the requests of a trial to a party.
func (r *Run) example(ctx context.Context, p *analyse.Party, f store.Asked, prompts bool) error {
	calls, err := r.db.CallsOf(ctx, r.Record, f.Trial, f.Stage)
	if err != nil {
		return err
	}
	steps := slices.Sorted(maps.Keys(calls))
	i := slices.IndexFunc(steps, func(s string) bool { return calls[s].Model == f.Model && calls[s].ErrKind == "" })
	if i < 0 {
		return nil
	}
	first := calls[steps[i]]
	p.Item, p.Steps, p.Provider, p.Model, p.Adapted = f.Trial.Item, len(steps), first.Provider, first.Model, first.Response.Adapted
	for _, part := range first.Parts {
		switch part.Name {
		case "model":
			if p.Judge {
				p.Name = part.Value
			}
		case "provider", "name", "item", "replicate", "messages", "payload": // shown elsewhere, or of the item
		default:
			p.Settings = append(p.Settings, eval.Level(part))
		}
	}
	if !prompts {
		return nil // of so many arms
	}
	again := &replay{calls: calls, asked: map[string]string{}}
	if err := r.repeat(ctx, f, again); err != nil {
		// Scoring may come after a change of the study: the hashes are of what was asked.
		p.Missing = text.Shorten(err.Error(), 300)
		return nil
	}
	for _, step := range steps {
		if t, ok := again.asked[step]; ok && calls[step].Model == f.Model && len(p.Prompts) < mostSteps {
			p.Prompts = append(p.Prompts, analyse.Prompt{Step: step, Text: shortPrompt(t)})
		}
	}
	return nil
}

// repeat performs or judges a trial with the answers of the journal.
func (r *Run) repeat(ctx context.Context, f store.Asked, again *replay) error {
	if f.Stage == eval.StageRun {
		_, err := r.Bench.Perform(ctx, f.Trial, again)
		return err
	}
	judged, err := r.db.Outcome(ctx, r.Record, f.Trial)
	if err == nil {
		_, err = r.Bench.Judge(ctx, f.Trial, judged.Outcome, again)
	}
	return err
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
