// Package soundness evaluates whether models judge texts as an expert does: a panel
// of models × prompt conditions × repeated runs gives one of two labels with a
// rationale on items whose expert labels are locked. A run passes if the rationale
// supports the label and the label is the expert's; a fragment passes by the majority
// of its runs.
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
		},
		Blind: kit.Blind{Data: []kit.Datum{{Key: "data", Keep: []string{"path", "columns"}}, {Key: "gold", Keep: []string{"path", "columns"}}},
			Arms: "arms", Drop: []string{"practice"}},
		Study:      func() study.Any { return new(Study) },
		Open:       kit.Opener(Open),
		Task:       func(b kit.Bench, t study.Task) study.Task { return b.(*Bench).complete(t) },
		Starter:    func() ([]kit.File, error) { return kit.Template(template, "template") },
		Cases:      shippedCases,
		Check:      checkCase,
		Exports:    exports(),
		Appendices: appendices(),
	}
}

// The metrics.
const (
	metricFragment    = "fragment_pass"
	metricUnanimous   = "unanimous_pass"
	metricAgreement   = "unanimous_agreement"
	metricRun         = "run_pass"
	metricAccuracy    = "accuracy"
	metricMatch       = "label_match"
	metricCoherent    = "coherent"
	metricAmbiguous   = "ambiguous"
	metricType1       = "type_1"
	metricType2       = "type_2"
	metricType3       = "type_3"
	metricRefused     = "refused"
	metricExcluded    = "excluded"
	metricKappa       = "kappa_expert"
	metricSensitivity = "recall_first_label"
	metricSpecificity = "recall_second_label"
)

func metrics() []eval.Metric {
	rate := func(name, title, doc, formula string, kind eval.Kind, pooling eval.Pooling, higher bool) eval.Metric {
		return eval.Metric{Name: name, Title: title, Doc: doc, Formula: formula, Min: 0, Max: 1, HigherIsBetter: higher, Kind: kind, Pooling: pooling, Binary: true}
	}
	list := []eval.Metric{
		rate(metricFragment, "Fragment pass rate", "Whether most runs on a fragment pass. With two valid runs both must agree; otherwise the fragment is undecided and unscored.",
			"1 if at least two runs pass, 0 if at least two fail", eval.Scoring, eval.MeanOfItems, true),
		rate(metricUnanimous, "Unanimous pass rate", "Whether every run on a fragment passes. Unscored if an excluded run would decide.",
			"1 if all runs pass, 0 if one fails", eval.Scoring, eval.MeanOfItems, true),
		rate(metricRun, "Run pass rate", "Share of runs with a rationale that supports the label, and the expert's label. Excluded runs do not count.",
			"runs that are coherent and correct / valid runs", eval.Scoring, eval.RatioOfSums, true),
		rate(metricAgreement, "Unanimous agreement", "Whether all runs on a fragment have the same outcome, pass or fail. Unscored if an excluded run would decide.",
			"1 if all runs pass or all fail, else 0", eval.Analysis, eval.MeanOfItems, true),
		rate(metricAccuracy, "Accuracy of coherent runs", "Share of the coherent runs whose label is the expert's.",
			"coherent and correct / coherent", eval.Scoring, eval.RatioOfSums, true),
		rate(metricMatch, "Label match", "Share of the runs with a label whose label is the expert's, coherent or not.",
			"correct / runs with a label", eval.Scoring, eval.RatioOfSums, true),
		rate(metricCoherent, "Coherent", "Share of the valid runs whose rationale supports their label. Ambiguous runs count as not coherent until a person decides.",
			"coherent / valid runs", eval.Scoring, eval.RatioOfSums, true),
		rate(metricAmbiguous, "Ambiguous", "Share of the valid runs about whose coherence rules and judge disagree and no person has decided.",
			"ambiguous / valid runs", eval.Analysis, eval.RatioOfSums, false),
		rate(metricType1, "Failure type 1", "Share of the valid runs that are coherent and incorrect.", "coherent and incorrect / valid runs", eval.Analysis, eval.RatioOfSums, false),
		rate(metricType2, "Failure type 2", "Share of the valid runs that are correct and not coherent.", "correct and not coherent / valid runs", eval.Analysis, eval.RatioOfSums, false),
		rate(metricType3, "Failure type 3", "Share of the valid runs that are incorrect and not coherent. Refusals and answers without one label are of this type.", "neither correct nor coherent / valid runs", eval.Analysis, eval.RatioOfSums, false),
		rate(metricRefused, "Refused", "Share of the valid runs in which the model or its provider declined.", "refusals / valid runs", eval.Analysis, eval.RatioOfSums, false),
		rate(metricExcluded, "Excluded", "Share of the answered runs that are left out, because no attempt had a readable format, or the judge gave no verdict. Calls that failed are counted as failed trials.",
			"excluded / answered runs", eval.Analysis, eval.RatioOfSums, false),
		rate(metricSensitivity, "Recall of the first label", "Share of the runs with a label on fragments with the first label that give it.", "right / runs with a label", eval.Analysis, eval.RatioOfSums, true),
		rate(metricSpecificity, "Recall of the second label", "Share of the runs with a label on fragments with the second label that give it.", "right / runs with a label", eval.Analysis, eval.RatioOfSums, true),
		{Name: metricKappa, Title: "Kappa with the expert", Min: -1, Max: 1, HigherIsBetter: true, Kind: eval.Analysis, Pooling: eval.ByEstimator, Estimate: kappa,
			Doc: "Agreement of the labels of runs with the expert's, corrected for chance. Runs without a label are left out.", Formula: "(agreement − chance) / (1 − chance)", Source: "Cohen 1960"},
	}
	for i, m := range list {
		if m.Kind == eval.Scoring && m.Name != metricMatch {
			list[i].Judge = eval.JudgeElse // of coherence
		}
	}
	return list
}
