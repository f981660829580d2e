package soundness

import (
	"math"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
)

// TestAgreementOfTests: the note claims agreement of the tests that could be computed, and
// of no others.
func TestAgreementOfTests(t *testing.T) {
	some, none := eval.Test{P: 0.5}, eval.Test{P: eval.Number(math.NaN()), Undefined: "no pairs"}
	pair := func(question string, planned, respecting eval.Test, disagree string) tested {
		return tested{question, "conditions", eval.Hypothesis{Planned: []eval.Test{planned}, Respecting: []eval.Test{respecting}, Disagree: disagree}}
	}
	const agree = "The planned test and the one that respects that every model judges the same fragments agree: "
	for want, list := range map[string][]tested{
		"":                                  nil,
		agree + "a against b; c against d.": {pair("a against b", some, some, ""), pair("c against d", some, some, "")},
		"a against b: the planned test cannot be computed, so it is not compared.":                                           {pair("a against b", none, none, "")},
		"a against b: the test that respects repetition cannot be computed, so the planned one is not checked.":              {pair("a against b", some, none, "")},
		agree + "a against b. c against d: they differ. models: the planned test cannot be computed, so it is not compared.": {pair("a against b", some, some, ""), pair("c against d", some, some, "they differ."), pair("models", none, some, "")},
	} {
		if got := tests(list).Note; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
