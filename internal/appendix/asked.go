package appendix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/report"
)

// prompts has the text and the parameters of an example request of each arm. Arms with the
// same text have it once. With judges, theirs are at the end, as the report has them.
func (s Source) prompts(arms []string, judges bool) (parts []report.Part) {
	if s.Analysis == nil || s.Analysis.Asked == nil {
		return []report.Part{prose("No model was asked yet.")}
	}
	t := &eval.Table{Title: "Parameters as sent", Columns: []string{"arm", "provider", "model asked for", "answered by", "parameters", "changed for the model"},
		Note: "Of an example request. What is not listed was not sent, so the provider's default holds."}
	var texts, names, items []string
	var unknown, ofJudges []report.Part
	for _, p := range s.Analysis.Asked.Parties {
		if p.Judge && !judges || !p.Judge && !slices.Contains(arms, p.Name) {
			continue
		}
		var settings, versions []string
		for _, l := range p.Settings {
			settings = append(settings, l.Name+" "+l.Value)
		}
		for _, v := range p.Answered {
			versions = append(versions, fmt.Sprintf("%s (%d)", v.Name, v.N))
		}
		t.Row(eval.Texts(p.Name, p.Provider, p.Model, strings.Join(versions, ", "), strings.Join(settings, ", "), strings.Join(p.Adapted, ", "))...)
		if p.Judge {
			for _, q := range p.Prompts {
				ofJudges = append(ofJudges, report.Part{Heading: "Sent to the judge " + p.Name + " about " + p.Item, Verbatim: q.Text})
			}
			continue
		}
		sent := ""
		for r := 1; r <= max(1, s.Study.Execution.Replicates) && sent == ""; r++ { // one of them may have failed
			sent, _ = s.Prompt(eval.Trial{Item: p.Item, Arm: p.Name, Replicate: r})
		}
		if sent == "" { // the reason may name folders of this machine, and a deposit is the same bytes on all
			unknown = append(unknown, prose("The request of %s about %s cannot be built again; scruple show --prompts says why.", p.Name, p.Item))
			continue
		}
		i := 0
		for i < len(texts) && (texts[i] != sent || items[i] != p.Item) {
			i++
		}
		if i == len(texts) {
			texts, names, items = append(texts, sent), append(names, ""), append(items, p.Item)
		}
		names[i] += ", " + p.Name
	}
	if len(t.Rows) == 0 {
		return []report.Part{prose("No arm of the study has such a prompt.")}
	}
	parts = append([]report.Part{{Table: t}}, unknown...)
	for i, text := range texts {
		parts = append(parts, report.Part{Heading: "Sent to " + strings.TrimPrefix(names[i], ", ") + " about " + items[i], Verbatim: text})
	}
	return append(parts, ofJudges...)
}

// program has what it takes to compute the results again.
func (s Source) program() ([]report.Part, error) {
	sums, err := s.File.Sums()
	if err != nil {
		return nil, err
	}
	run := &eval.Table{Title: "Program", Columns: []string{"", ""}}
	files := &eval.Table{Title: "Files that the study reads", Columns: []string{"file", "SHA-256"}}
	files.Row(eval.Texts("the study file", s.File.SHA256())...)
	for _, f := range sums {
		files.Row(eval.Texts(f.Path, f.SHA256)...)
	}
	parts := []report.Part{prose("Scruple asked the models, read, checked and scored the answers, and made all tables. The command scruple verify computes them again from the deposit, and asks nothing.")}
	if s.Analysis == nil {
		return append(parts, report.Part{Table: files}), nil
	}
	run.Row(eval.Texts("Scruple that analysed", s.Analysis.Run.Version)...)
	if a := s.Analysis.Asked; a != nil {
		run.Row(eval.Texts("Scruple that asked", a.Program)...)
	}
	run.Row(eval.Texts("run", s.Analysis.Run.ID)...)
	run.Row(eval.Text("seed"), eval.Text(fmt.Sprint(s.Study.Execution.Seed)))
	return append(parts, report.Part{Table: run}, report.Part{Table: files}), nil
}
