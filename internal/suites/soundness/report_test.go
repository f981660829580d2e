package soundness

import (
	"math"
	"strings"
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

// A level is a panel that knows its level only.
type level struct {
	eval.Panel
	alpha float64
}

func (l level) Alpha() float64                        { return l.alpha }
func (level) Rate([]string, string) (eval.Rate, bool) { return eval.Rate{}, false }

// TestSummaryAtALook: a difference is found at the level of the analysis, which at a planned look
// is not that of the study.
func TestSummaryAtALook(t *testing.T) {
	b := &bench{}
	list := []tested{{"models", "models", eval.Hypothesis{Planned: []eval.Test{{P: 0.03}}, Respecting: []eval.Test{{P: 0.03}}}}}
	for alpha, want := range map[float64]string{0.05: "A difference", 0.0002: "No evidence of a difference"} {
		if got := b.summary(level{alpha: alpha}, list, nil).Rows[0][1].Text; !strings.HasPrefix(got, want) {
			t.Errorf("at %v: %q, want %q", alpha, got, want)
		}
	}
}

// clustered is a panel whose rates have an interval of outcomes and one of clusters.
type clustered struct{ eval.Panel }

func (clustered) Rate([]string, string) (eval.Rate, bool) {
	return eval.Rate{Measured: eval.Measured{Value: 0.5, Low: 0.4, High: 0.6, N: 8}, ClusterLow: 0.3, ClusterHigh: 0.7}, true
}

// TestBarsOfClusters: fragments of one report depend on each other in the figure as in the tables.
func TestBarsOfClusters(t *testing.T) {
	f := (&bench{conditions: []string{"zero_shot"}}).bars(clustered{}, "model", []string{"m"})
	if p := f.Series[0].Points[0]; p.Low != 0.3 || p.High != 0.7 || p.N != 8 {
		t.Errorf("%+v", p)
	}
}
