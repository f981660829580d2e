package extraction

import (
	"math"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
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
	metricUnquoted          = "unquoted"
	metricQuoteCoverage     = "quote_coverage"
	metricCandidateCoverage = "candidate_coverage"
	metricDuplicate         = "duplicate"
	metricOmitted           = "omitted"
	metricExtraField        = "extra_field"
	metricParseFailure      = "parse_failure"
	metricRepaired          = "repaired"
	metricTruncated         = "truncated"

	metricEvidenceToken = "evidence_token"
	metricEvidenceJudge = "evidence_judge"
	metricEvidenceTyped = "evidence_typed"
	metricQuoteWords    = "quote_words"
	metricValueWords    = "value_words"
	metricTokenRatio    = "token_ratio"

	metricGoldMissing   = "gold_missing"
	metricGoldAmbiguous = "gold_ambiguous"
	metricNullExpected  = "null_expected"
	metricGoldComposite = "gold_composite"
	metricGoldVerified  = "gold_verified"
)

const planSource = "CTN structured extraction evaluation plan v2"

func metrics() []eval.Metric {
	list := slices.Concat(componentMetrics(), rateMetrics(), analysisMetrics(), confidenceMetrics())
	for _, m := range modes {
		list = append(list, eval.Metric{Name: m.metric, Title: "Mode: " + m.title, Doc: m.doc, Formula: "fields with this failure / fields scored",
			Source: planSource + ", §3.12", Max: 1, Kind: eval.Analysis, Pooling: eval.RatioOfSums, Binary: true})
	}
	return list
}

// componentMetrics are the scores of a field; a document scores their mean.
func componentMetrics() []eval.Metric {
	list := []eval.Metric{
		{Name: metricComposite, Title: "Composite", Judge: eval.JudgeElse,
			Doc:     "Weighted sum of the five component scores of a field.",
			Formula: "0.30·value + 0.30·evidence + 0.10·page + 0.15·status + 0.15·schema, or the study's own weights"},
		{Name: metricValue, Title: "Value",
			Doc:     "Whether the value is right. Missing field: the value must be null and the status missing. Ambiguous field: F1 of the candidates against gold.",
			Formula: "present: 1 acceptable, 0.5 similarity > 0.9, else 0; missing: 1 or 0; ambiguous: F1 of the candidates' values"},
		{Name: metricEvidence, Title: "Evidence", Judge: eval.JudgeElse,
			Doc:     "Whether a quote from the document shows the value. 0 if the value is wrong, the quote is not in the text or the value is not in the quote.",
			Formula: "0.3·token + 0.7·judge, token = clamp(1 − 0.1·(words(quote)/max(words(value), 1) − 5), 0, 1); ambiguous: value × mean over candidates; missing: 1 if no quote"},
		{Name: metricPage, Title: "Page",
			Doc:     "Whether the quote begins on the given page. 0 if the value is wrong.",
			Formula: "present: 1 or 0; missing: 1 if null; ambiguous: value × share of candidates with the right page"},
		{Name: metricStatus, Title: "Status",
			Doc:     "Whether the status matches gold. 0 if the value is wrong.",
			Formula: "1 or 0"},
		{Name: metricSchema, Title: "Schema",
			Doc:     "Whether the entry is valid for its status: ok has a value, a quote and an integer page; missing and ambiguous have none of them; ambiguous has at least two candidates.",
			Formula: "1 or 0"},
	}
	for i := range list {
		m := &list[i]
		m.Source = planSource + ", §3.5"
		m.Max, m.HigherIsBetter, m.Kind, m.Pooling = 1, true, eval.Scoring, eval.MeanOfItems
		m.Binary = m.Name == metricStatus || m.Name == metricSchema
	}
	return list
}

// rateMetrics are ratios pooled over all documents.
func rateMetrics() []eval.Metric {
	rate := func(name, title, doc, formula string, better bool) eval.Metric {
		return eval.Metric{Name: name, Title: title, Doc: doc, Formula: formula, Source: planSource + ", §3.5", Max: 1,
			HigherIsBetter: better, Kind: eval.Scoring, Pooling: eval.RatioOfSums, Binary: true}
	}
	return []eval.Metric{
		rate(metricHallucination, "Hallucination rate", "How often a value is given for a field that is not in the document.",
			"fields with a value / fields that are not in the document", false),
		rate(metricFabrication, "Fabrication rate", "How often a required quote is not in the document. Omitted quotes count as required, so omitting quotes does not lower the rate.",
			"quotes not in the text / quotes required (ok entries, candidates of ambiguous ones)", false),
		rate(metricUnquoted, "Unquoted rate", "How often a required quote is omitted.",
			"quotes absent / quotes required", false),
		rate(metricQuoteCoverage, "Quote coverage", "How often an entry with status ok has a quote.",
			"ok entries with a quote / ok entries", true),
		rate(metricCandidateCoverage, "Candidate coverage", "How often an entry with status ambiguous has at least two candidates.",
			"ambiguous entries with two candidates / ambiguous entries", true),
		rate(metricDuplicate, "Duplicate rate", "How often a field is answered more than once, which scores 0.",
			"fields answered twice / fields", false),
		rate(metricOmitted, "Omitted rate", "How often a field is omitted from the answer, which scores 0. A malformed answer omits all fields.",
			"fields left out / fields", false),
		rate(metricExtraField, "Extra-field rate", "How often an entry names a field that is not in the schema. Such entries are otherwise ignored.",
			"entries for unknown fields / entries", false),
		rate(metricParseFailure, "Parse-failure rate", "How often an answer did not parse, even after one repair.",
			"unreadable answers / answers", false),
		rate(metricRepaired, "Repaired rate", "How often an answer was not valid JSON and parsed after one repair.",
			"repaired answers / answers", false),
		rate(metricTruncated, "Truncated rate", "How often an answer was cut off.",
			"answers cut off / answers", false),
		rate(metricGoldVerified, "Gold verified", "Share of the points on the verification checklist that were confirmed (in the null baseline's trials, of studies with a checklist).",
			"points confirmed / points checked", true),
	}
}

// analysisMetrics explain scores; no gate can name them.
func analysisMetrics() []eval.Metric {
	analysis := func(name, title, doc, formula string, most float64, pooling eval.Pooling) eval.Metric {
		return eval.Metric{Name: name, Title: title, Doc: doc, Formula: formula, Source: planSource + ", §3.5 (analysis)", Max: most,
			Kind: eval.Analysis, Pooling: pooling}
	}
	list := []eval.Metric{
		analysis(metricEvidenceToken, "Token layer", "Token layer of evidence, for quotes that passed the gates.", "clamp(1 − 0.1·(token_ratio − 5), 0, 1)", 1, eval.RatioOfSums),
		analysis(metricEvidenceJudge, "Judge layer", "Judge layer of evidence, for quotes that passed the gates, if the judge is used.", "1 if the judge reads the claimed value from the quote, else 0; mean over candidates", 1, eval.RatioOfSums),
		analysis(metricEvidenceTyped, "Typed gate", "Of the quotes that contain the value, the share that contain it only as a typed value, not as written.", "typed only / held", 1, eval.RatioOfSums),
		analysis(metricQuoteWords, "Quote words", "Words per quote.", "words / quotes", math.Inf(1), eval.RatioOfSums),
		analysis(metricValueWords, "Value words", "Words per value that has a quote.", "words / values", math.Inf(1), eval.RatioOfSums),
		analysis(metricTokenRatio, "Token ratio", "Ratio of quote words to value words, mean over entries.", "words(quote) / max(words(value), 1)", math.Inf(1), eval.RatioOfSums),
		analysis(metricGoldMissing, "Gold: missing", "Share of fields that are not in the document (in the null baseline's trials).", "missing / fields", 1, eval.RatioOfSums),
		analysis(metricGoldAmbiguous, "Gold: ambiguous", "Share of fields that are ambiguous (in the null baseline's trials).", "ambiguous / fields", 1, eval.RatioOfSums),
		analysis(metricNullExpected, "Null baseline, expected", "Expected composite of an answer with every field missing, computed from gold.", "1 where gold is missing, else the weight of schema", 1, eval.MeanOfItems),
		analysis(metricGoldComposite, "Ceiling", "Composite of the answer that gold implies, with its quotes or, where gold has none, the shortest passages that show its values (in the null baseline's trials). The deterministic judge judges it.", "composite of the answer from gold", 1, eval.MeanOfItems),
	}
	for i := range list {
		name := list[i].Name
		list[i].HigherIsBetter = name == metricEvidenceToken || name == metricEvidenceJudge
		// Whether quotes are long depends on the document, and gold is as it is.
		list[i].NoDirection = slices.Contains([]string{metricQuoteWords, metricValueWords, metricTokenRatio, metricGoldMissing, metricGoldAmbiguous, metricNullExpected, metricGoldComposite}, name)
		list[i].Binary = name == metricEvidenceTyped || name == metricGoldMissing || name == metricGoldAmbiguous
	}
	return list
}

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
