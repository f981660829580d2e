// Package atoms evaluates knowledge that was extracted from documents: atoms in
// files, typed edges between them, and the claims of decisions. What was written is
// parsed and scored, never what a program held in memory.
//
// A study has one of two forms. With a corpus it compares extractors: their files are
// matched with gold, checked for validity and integrity, and their claims are judged
// against the sources. With claims it compares judges on claims with human labels;
// the result can be given to studies of the first form, which then correct what the
// judge said by its error.
//
// corpus.go reads the data and bench.go asks: pipeline.go is the prompt, outline.go the rules.
// score.go assesses a trial once, for report.go and show.go; judge.go judges its claims.
// judges.go and quality.go are the second form.
//
// The package must not import the store, statistics or clients of models.
package atoms

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
			Name:      "atoms",
			Title:     "Knowledge atoms",
			Doc:       "Is extracted knowledge right, linked, valid and grounded in its sources?",
			Metrics:   metrics(),
			Primary:   []string{metricAtomF1, metricEdgeF1, metricValidity, metricErrors, metricFaithfulness, metricBalanced},
			Secondary: []string{metricAtomPrecision, metricAtomRecall, metricTypes, metricConformance, metricWarnings, metricFabrication, metricOmission, macroOf(metricAtomF1), macroOf(metricEdgeF1), macroOf(metricFaithfulness), metricKappa, metricJudgeError, metricSensitivity, metricSpecificity, metricStands},
			Reads:     5,
		},
		Blind: study.Blind{Data: []study.Datum{{Key: "data", Keep: []string{"path", "allow_gaps"}}, {Key: "claims", Keep: []string{"path"}}},
			Arms: "arms", Drop: []string{"judge_quality"}},
		Study:       func() study.Any { return new(Study) },
		Open:        kit.Opener(open),
		Starter:     kit.Template(template),
		Cases:       shippedCases,
		Check:       checkCase,
		CheckFolder: checkFolder,
		Shortcuts:   []kit.Shortcut{{Flag: "allow-gaps", Key: "data.allow_gaps", Switch: true, Doc: "only warn about types and edges that no gold atom has"}},

		Exports: exports(),
	}
}
