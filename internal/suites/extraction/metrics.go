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

	metricHallucination = "hallucination"
	metricFabrication   = "fabrication"
	metricPrecision     = "precision"
	metricRecall        = "recall"
	metricF1            = "f1"
	metricParseFailure  = "parse_failure"

	metricLongList = "long_list"

	metricGoldMissing   = "gold_missing"
	metricGoldAmbiguous = "gold_ambiguous"
	metricNullExpected  = "null_expected"
	metricGoldComposite = "gold_composite"
	metricGoldVerified  = "gold_verified"
)

//go:embed metrics.json
var metricsJSON []byte

func metrics() []eval.Metric { return kit.Metrics(metricsJSON, nil) }

// confidences are the levels of confidence of an answer.
var confidences = []string{"low", "medium", "high"}

// rightAt names the metric of right values at a confidence.
func rightAt(confidence string) string { return "right_" + confidence }

// A mode is a failure mode of a field. One field can have several.
type mode struct{ metric, title string }

// The modes, in the order of [failures].
var modes = [...]mode{
	modeOmitted:     {"mode_omitted", "omitted"},
	modeDuplicate:   {"mode_duplicate", "answered twice"},
	modeMissed:      {"mode_missed", "missed"},
	modeWrong:       {"mode_wrong_value", "wrong value"},
	modeInexact:     {"mode_inexact_value", "inexact value"},
	modeUnflagged:   {"mode_unflagged_ambiguity", "ambiguity not flagged"},
	modeHallucinate: {"mode_hallucinated", "hallucinated"},
	modeUnquoted:    {"mode_no_quote", "no quote"},
	modeFabricated:  {"mode_fabricated_quote", "fabricated quote"},
	modeNotInQuote:  {"mode_value_not_in_quote", "value not in quote"},
	modeWrongPage:   {"mode_wrong_page", "wrong page"},
	modeSchema:      {"mode_schema_violation", "schema violation"},
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
