// Package spans evaluates the labelling of spans in texts: visual control points
// in video prompts, named entities, clauses. Answers are compared with gold, judged
// by a model, or both; recorded results of other tools are arms like any other.
//
// suite.go and bench.go bind a study, prompt.go and answer.go ask and read. look.go reads a
// trial and matches it once, for score.go, report.go and show.go; judge.go has the judge,
// people.go what people decide, files.go and measure.go the files of other programs.
//
// The package must not import the store, statistics or clients of models; package
// snapshot computes the intervals that a snapshot's summary has.
package spans

import (
	"embed"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

//go:embed template
var starterFiles embed.FS

//go:embed preflight/*.json
var shippedCases embed.FS

// Suite is the suite as a value.
func Suite() kit.Suite {
	return kit.Suite{
		Suite: eval.Suite{
			Name:      "spans",
			Title:     "Span labelling",
			Doc:       "Which prompt, model or pipeline labels spans of a text better, and what exactly is wrong with the labels?",
			Metrics:   metrics(),
			Primary:   []string{metricF1},
			Secondary: []string{metricPrecision, metricRecall, metricPartial, metricTotal, metricErrorRate},
			Reads:     3,
		},
		Blind: study.Blind{Data: []study.Datum{{Key: "data", Kit: `[{"path": "data/records.jsonl"}]`, Places: []string{"data/records.jsonl"}}},
			Arms: "arms", Drop: []string{"human"}},
		Study:    func() study.Any { return new(Study) },
		Open:     kit.Opener(open),
		Starter:  kit.Template(starterFiles),
		Cases:    shippedCases,
		Check:    checkCase,
		Commands: []kit.Command{measureCommand()},
		Imports:  imports(),
		Exports:  exports(),
	}
}
