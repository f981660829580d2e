package extraction

import (
	_ "embed" // the metrics

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// The names of the suite's metrics.
const (
	metricComposite = "composite"
	metricValue     = "value"
	metricEvidence  = "evidence"
	metricPage      = "page"
	metricStatus    = "status"
	metricSchema    = "schema"

	metricHallucination     = "hallucination"
	metricFabrication       = "fabrication"
	metricTypography        = "quote_typography"
	metricUnquoted          = "unquoted"
	metricQuoteCoverage     = "quote_coverage"
	metricCandidateCoverage = "candidate_coverage"
	metricDuplicate         = "duplicate"
	metricOmitted           = "omitted"
	metricExtraField        = "extra_field"
	metricOutOfList         = "out_of_list"
	metricPrecision         = "precision"
	metricRecall            = "recall"
	metricF1                = "f1"
	metricParseFailure      = "parse_failure"
	metricRepaired          = "repaired"
	metricTruncated         = "truncated"

	metricEvidenceToken = "evidence_token"
	metricEvidenceJudge = "evidence_judge"
	metricEvidenceTyped = "evidence_typed"
	metricQuoteWords    = "quote_words"
	metricValueWords    = "value_words"
	metricTokenRatio    = "token_ratio"
	metricLongList      = "long_list"

	metricGoldMissing   = "gold_missing"
	metricGoldAmbiguous = "gold_ambiguous"
	metricNullExpected  = "null_expected"
	metricGoldComposite = "gold_composite"
	metricGoldVerified  = "gold_verified"
)

const planSource = "CTN structured extraction evaluation plan v2"

// metricsJSON are the metrics but those of confidences and of failure modes: components of a
// field, whose mean a document scores; rates, which are pooled over all documents; and
// measures that explain scores, which no gate can name.
//
//go:embed metrics.json
var metricsJSON []byte

func metrics() (list []eval.Metric) {
	list = kit.Metrics(metricsJSON)
	for i := range list {
		list[i].Source = planSource + ", §3.5"
		if list[i].Kind == eval.Analysis {
			list[i].Source += " (analysis)"
		}
	}
	for _, c := range confidences {
		list = append(list, eval.Metric{Name: rightAt(c), Title: "Right at " + c + " confidence", Doc: "Of the fields answered once with confidence " + c + ", the share with a right value.",
			Formula: "fields with value 1 / fields answered with this confidence", Source: planSource + ", §3.5 (analysis)", Max: 1,
			HigherIsBetter: true, Binary: true, Kind: eval.Analysis, Pooling: eval.RatioOfSums})
	}
	for _, m := range modes {
		list = append(list, eval.Metric{Name: m.metric, Title: "Mode: " + m.title, Doc: m.doc, Formula: "fields with this failure / fields scored",
			Source: planSource + ", §3.12", Max: 1, Binary: true, Kind: eval.Analysis, Pooling: eval.RatioOfSums})
	}
	return list
}

// confidences are the levels of confidence of an answer.
var confidences = []string{"low", "medium", "high"}

// rightAt names the metric of right values at a confidence.
func rightAt(confidence string) string { return "right_" + confidence }

// A mode is a failure mode of a field. One field can have several.
type mode struct{ metric, title, doc string }

// The modes, in the order of [failures].
var modes = [...]mode{
	modeOmitted:     {"mode_omitted", "omitted", "Fields omitted from the answer."},
	modeDuplicate:   {"mode_duplicate", "answered twice", "Fields answered more than once."},
	modeMissed:      {"mode_missed", "missed", "Present fields answered without a value."},
	modeWrong:       {"mode_wrong_value", "wrong value", "Present fields with a wrong value, and ambiguous fields without a right candidate."},
	modeInexact:     {"mode_inexact_value", "inexact value", "Present fields with a value that is nearly right."},
	modeUnflagged:   {"mode_unflagged_ambiguity", "ambiguity not flagged", "Ambiguous fields whose status is not ambiguous."},
	modeHallucinate: {"mode_hallucinated", "hallucinated", "Missing fields answered with a value."},
	modeUnquoted:    {"mode_no_quote", "no quote", "Fields without a required quote."},
	modeFabricated:  {"mode_fabricated_quote", "fabricated quote", "Fields with a required quote that is not in the document."},
	modeNotInQuote:  {"mode_value_not_in_quote", "value not in quote", "Fields with the right value and a real quote that does not contain it."},
	modeWrongPage:   {"mode_wrong_page", "wrong page", "Fields with the right value and a wrong or missing page."},
	modeSchema:      {"mode_schema_violation", "schema violation", "Fields whose entry is invalid for its status."},
}

// The modes by number.
const (
	modeOmitted = iota
	modeDuplicate
	modeMissed
	modeWrong
	modeInexact
	modeUnflagged
	modeHallucinate
	modeUnquoted
	modeFabricated
	modeNotInQuote
	modeWrongPage
	modeSchema
)

// failures are the modes in which a field failed.
type failures [len(modes)]bool
