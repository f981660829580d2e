package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/say"
)

// A prompt is the text of an example request.
type prompt struct {
	Title string
	Text  string
}

// asked says what was asked of whom. A terminal shows it if verbose.
func (b *builder) asked() section {
	s := section{ID: "asked", Title: "What was asked"}
	a := b.a.Asked
	if a == nil {
		return s
	}
	s.Blocks = append(s.Blocks, block{In: atLength, Prose: "Asked by scruple " + cmp.Or(a.Program, "of unknown version") + "; hashes: study " + a.Study + ", inputs " + a.Inputs + ", gold " + a.Gold + "."})
	if len(a.Parties) == 0 {
		return s
	}
	s.Blocks = append(s.Blocks, block{Table: b.merged(b.partyTable(a.Parties)), In: atLength})
	if prompts := promptsOf(a.Parties); len(prompts) > 0 {
		s.Blocks = append(s.Blocks, block{Prompts: prompts, In: filed})
	}
	return s
}

// promptsOf lists the prompts. Arms that differ in their model alone have one.
func promptsOf(parties []analyse.Party) []prompt {
	var list []prompt
	var names [][]string
	for _, p := range parties {
		for i, x := range p.Prompts {
			if j := slices.IndexFunc(list, func(q prompt) bool { return q.Text == x.Text }); j >= 0 {
				names[j] = append(names[j], p.Name)
				continue
			}
			about := ", step " + x.Step + ", item " + p.Item
			if i == len(p.Prompts)-1 && p.Steps > len(p.Prompts) {
				about += " (and " + say.Plural(p.Steps-len(p.Prompts), "step", "steps") + " more)"
			}
			list, names = append(list, prompt{about, x.Text}), append(names, []string{p.Name})
		}
	}
	for i := range list {
		list[i].Title = "Prompt of " + listed(names[i]) + list[i].Title
	}
	return list
}

func (b *builder) partyTable(parties []analyse.Party) *table {
	t := newTable("Models and pipelines", "Arm or judge", "Provider", "Model asked for", "Answered by", "Settings as sent", "Hash")
	t.Legend = []string{"Settings are those of an example; what is not listed was not sent, so the provider's default holds. Hash: of the prompts and settings of the arm."}
	for _, p := range parties {
		name := cell{Text: p.Name, Tags: b.tagsOf(p.Name)}
		if p.Judge {
			name.Tags = []string{"judge"}
		}
		var notes []string
		for _, x := range p.Adapted {
			notes = append(notes, "the model refuses a setting: "+x)
		}
		if p.Missing != "" {
			notes = append(notes, "no prompt: "+p.Missing)
		}
		t.add(name, words(p.Provider), words(cmp.Or(p.Model, say.Dash)), words(cmp.Or(counted(p.Answered), "not named")),
			cell{Text: cmp.Or(strings.Join(told(p.Settings, " "), ", "), "none"), Refs: t.Notes.refs(notes)}, words(p.Hash))
	}
	return t
}
