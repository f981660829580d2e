package extraction

import (
	"fmt"
	"testing"
)

// Leaf by leaf: what the older ExtractBench (extract-bench 0.1.0 on PyPI by Contextual AI, MIT; the
// numbers are those of its StructuredEvaluator, metrics/{string,number,boolean}_metrics.py, with the
// policy of metric_utils.py for null) says of an answer, and what Scruple does. Each leaf is
// {"anyOf": [{"type": …}, {"type": "null"}], "evaluation_config": …}; without null in the schema, it
// refuses a document with a value of another type. Where the two differ, why says how.
func TestOlderExtractBench(t *testing.T) {
	const none = ""
	for _, c := range []struct {
		leaf, metric, gold, answer string
		theirs, ours               float64
		why                        string
	}{
		{`"type": "string"`, "string_exact", `"ACME Ltd"`, `"ACME Ltd"`, 1, 1, ""},
		{`"type": "string"`, "string_exact", `"ACME Ltd"`, `"Acme ltd"`, 0, 1, "texts without regard to case"},
		{`"type": "string"`, "string_exact", `"ACME Ltd"`, `"ACME\n Ltd"`, 0, 1, "white space is the same"},
		{`"type": "string"`, "string_exact", `"ACME Ltd"`, `"ACME Ltd."`, 0, 1, "punctuation at the end does not count"},
		{`"type": "string"`, "string_case_insensitive", `"ACME Ltd"`, `"acme ltd"`, 1, 1, ""},
		{`"type": "string"`, "string_fuzzy", `"John Doe"`, `"John Do"`, 1, 0, "similar texts are half right, above 0.9 by Levenshtein"},
		{`"type": "string"`, "string_fuzzy", `"John Doe"`, `"Jane Roe"`, 0, 0, ""},
		{`"type": "string"`, "string_exact", `"2024-03-05"`, `"March 5, 2024"`, 0, 0, ""},
		{`"type": "string", "format": "date"`, "string_exact", `"2024-03-05"`, `"March 5, 2024"`, 0, 1, "dates as days"},
		{`"type": "string", "format": "date"`, "string_exact", `"2024-03-05"`, `"05.03.2024"`, 0, 1, "dates as days"},
		{`"type": "string", "format": "date"`, "string_exact", `"2024-03-05"`, `"2024-03-06"`, 0, 0, ""},
		{`"type": "string", "format": "money"`, "string_exact", `"USD 1,234.50"`, `"$1234.50"`, 0, 1, "amounts of money by value and currency"},
		{`"type": "string", "format": "money"`, "string_exact", `"USD 1,234.50"`, `"EUR 1,234.50"`, 0, 0, ""},
		{`"type": "number"`, "number_tolerance", `3.5`, `3.5`, 1, 1, ""},
		{`"type": "number"`, "number_tolerance", `3.5`, `3.5005`, 1, 0.5, "no tolerance; a number that rounds to gold is half right"},
		{`"type": "number"`, "number_tolerance", `3.5`, `3.502`, 0, 0.5, "a number that rounds to gold is half right"},
		{`"type": "number"`, "number_tolerance", `3.5`, `"3.5"`, 1, 1, ""},
		{`"type": "number"`, "number_tolerance", `1234.5`, `"1,234.5"`, 0, 1, "numbers as they are written"},
		{`"type": "number"`, "number_tolerance", `1234.5`, `"$1,234.50"`, 0, 1, "a currency beside a number does not count"},
		{`"type": "number"`, "number_exact", `3.5`, `3.5005`, 0, 0.5, "a number that rounds to gold is half right"},
		{`"type": "integer"`, "integer_exact", `30`, `30`, 1, 1, ""},
		{`"type": "integer"`, "integer_exact", `30`, `30.7`, 1, 0, "fractions are not cut off"},
		{`"type": "integer"`, "integer_exact", `30`, `"30"`, 1, 1, ""},
		{`"type": "boolean"`, "boolean_exact", `true`, `true`, 1, 1, ""},
		{`"type": "boolean"`, "boolean_exact", `true`, `"true"`, 0, 1, "booleans as they are written"},
		{`"type": "boolean"`, "boolean_exact", `true`, `false`, 0, 0, ""},
		{`"type": "string"`, "string_exact", `null`, `null`, 1, 1, ""},
		{`"type": "string"`, "string_exact", `null`, none, 1, 0, "a member that is left out is no answer; precision and recall do not count it"},
		{`"type": "string"`, "string_exact", none, none, 1, 0, "a member that is left out is no answer; precision and recall do not count it"},
		{`"type": "string"`, "string_exact", none, `null`, 1, 1, ""},
		{`"type": "string"`, "string_exact", `null`, `""`, 0, 1, "a blank text is no value, in gold and in answers"},
		{`"type": "string"`, "string_exact", `null`, `"x"`, 0, 0, ""},
		{`"type": "string"`, "string_exact", `"x"`, `null`, 0, 0, ""},
		{`"type": "string"`, "string_exact", `"x"`, none, 0, 0, ""},
		{`"type": "number"`, "number_tolerance", `null`, `0`, 0, 0, ""},
		{`"type": "number"`, "number_tolerance", `0`, `null`, 0, 0, ""},
		{`"type": "boolean"`, "boolean_exact", `null`, `false`, 0, 0, ""},
	} {
		s := nestedSchema(t, fmt.Sprintf(`{"properties": {"x": {"anyOf": [{%s}, {"type": "null"}], "evaluation_config": %q}}}`, c.leaf, c.metric))
		object := func(v string) string {
			if v == none {
				return "{}"
			}
			return `{"x": ` + v + `}`
		}
		got := valuesOf(nestedDocument(t, s, object(c.gold), nil), object(c.answer))["value x"]
		if got != c.ours || (got != c.theirs) != (c.why != "") {
			t.Errorf("%s of %s (%s): %v, want %v; theirs is %v (%s)", c.answer, c.gold, c.metric, got, c.ours, c.theirs, c.why)
		}
	}
}
