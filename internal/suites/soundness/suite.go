// Package soundness evaluates whether models judge texts as an expert does: a panel
// of models × prompt conditions × repeated runs gives one of two labels with a
// rationale on items whose expert labels are locked. A run passes if the rationale
// supports the label and the label is the expert's; a fragment passes by the majority
// of its runs.
//
// study.go, columns.go and corpus.go read the data, prompt.go asks, read.go and coherence.go
// read a run, and score.go assesses a case once, for report.go, failures.go, challenge.go,
// synthesis.go and export.go. people.go has the queues of people.
//
// Labels, domains, checkpoints, phrases and the groups of models are data of the
// study. The package must not name any of them, and must not import the store,
// statistics or clients of models.
package soundness

import (
	"embed"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

//go:embed template
var template embed.FS

//go:embed preflight/*.json
var shippedCases embed.FS

// Suite is the suite as a value.
func Suite() kit.Suite {
	return kit.Suite{
		Suite: eval.Suite{
			Name:      "soundness",
			Title:     "Judgements against a locked expert gold",
			Doc:       "Do models judge texts as an expert does, with reasoning that supports their label?",
			Metrics:   metrics(),
			Primary:   []string{metricFragment},
			Secondary: []string{metricUnanimous, metricRun, metricAgreement, metricAccuracy, metricCoherent},
			Reads:     4,
		},
		GoldKey: "gold.path",
		Blind: study.Blind{Data: []study.Datum{{Key: "data", Keep: []string{"path", "columns"}}, {Key: "gold", Keep: []string{"path", "columns"}}},
			Arms: "arms", Drop: []string{"practice"}},
		Study:      func() study.Any { return new(Study) },
		Open:       kit.Opener(open),
		Task:       func(b kit.Bench, t study.Task) study.Task { return b.(*bench).complete(t) },
		Starter:    kit.Template(template),
		Cases:      shippedCases,
		Check:      checkCase,
		Exports:    exports(),
		Appendices: appendices(),
	}
}
