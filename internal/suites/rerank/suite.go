package rerank

import (
	"embed"
	"fmt"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/rerank/generate"
)

//go:embed template
var template embed.FS

// Suite is the suite as a value.
func Suite() kit.Suite {
	return kit.Suite{
		Suite: eval.Suite{
			Name:      "rerank",
			Reads:     2,
			Title:     "Constraint-satisfying reranking",
			Doc:       "Which method ranks first the only candidate that satisfies a request, at every number of candidates and under attack?",
			Metrics:   kit.Metrics(metricsJSON, nil),
			Primary:   []string{hits(1)},
			Secondary: []string{hits(5), metricMRR, metricInvalid},
		},
		Blind:   study.Blind{Data: []study.Datum{{Key: "data", Keep: []string{"items", "reviews", "users", "requests", "strip"}}}, Arms: "arms"},
		Study:   func() study.Any { return new(Study) },
		Open:    kit.Opener(open),
		Starter: starterFiles,
		Cases:   shippedPreflight,
		Check:   checkCase,
		Explain: &kit.Explain{
			Doc: `ITEM is a request. The output is its truth table over all items.
With CANDIDATE, the id of an item, the output is the evidence for each condition.`,
			Show: func(f *study.File, own study.Any, item, of string) (fmt.Stringer, error) {
				return Explain(f, own.(*Study), item, of)
			},
		},
		Shortcuts: []kit.Shortcut{
			{Flag: "attack", Key: "attacks.names", List: true, Doc: "none, all, or names of attacks"},
			{Flag: "defence", Key: "attacks.defence", Doc: "off, on or both"},
			{Flag: "shuffle", Key: "candidates.shuffle", Doc: "balanced, none, middle or random"},
		},
		Commands: []kit.Command{generateCommand(), measureCommand()},
		Exports: []kit.Export{
			{Name: "trec", Doc: "rankings for trec_eval: one run file per arm and replicate, and the judgements", Write: writeTREC},
			{Name: "files", Doc: "a numbered folder: config.json, results_{n}.jsonl, usage.jsonl, debug.log, scaling_summary.json", Write: writeRun},
		},
	}
}

// starterFiles are a study and a synthetic data set.
func starterFiles() ([]kit.File, error) {
	files, err := kit.Template(template)()
	if err != nil {
		return nil, err
	}
	d, err := generate.Generate(generate.Options{Seed: 42, Items: 80, Reviews: 960, Requests: 60})
	if err != nil {
		return nil, err
	}
	for _, f := range d.Files() {
		f.Path = "data/" + f.Path
		files = append(files, f)
	}
	return files, nil
}
