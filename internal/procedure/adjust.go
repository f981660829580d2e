package procedure

import (
	"math"

	"github.com/scruple-eval/scruple/stats"
)

type adjustParams struct {
	Alpha float64 `json:"alpha"`
}

type pValues struct {
	P gaps `json:"p"`
}

func adjusted(params adjustParams, in pValues) Result {
	refuse(len(in.P) == 0, "input.p is empty: want at least one p-value")
	for i, x := range in.P {
		refuseRow(x < 0 || x > 1, i, "has the p-value %v, expected 0 to 1", x)
	}
	refuse(!(params.Alpha > 0 && params.Alpha < 1),
		"params.alpha is %v, expected a level between 0 and 1", params.Alpha)
	result, reject := Result{{"p", []float64(in.P)}}, Result{}
	for _, method := range []string{"bonferroni", "holm", "hochberg", "bh", "by"} {
		p := must(stats.Adjust(method, in.P))
		result = append(result, Row{method, p})
		reject = append(reject, Row{method, rejected(p, params.Alpha)})
	}
	return append(result, Row{"reject", reject})
}

// rejected holds corrected p-values against a level; an undefined one is
// neither rejected nor not.
func rejected(q []float64, alpha float64) []*bool {
	out := make([]*bool, len(q))
	for i, x := range q {
		if !math.IsNaN(x) {
			below := x <= alpha
			out[i] = &below
		}
	}
	return out
}

type sequenceParams struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	Conf float64 `json:"conf"`
}

func sequence(p sequenceParams, in differences) Result {
	xs := in.of()
	refuse(len(xs) == 0, "input.diff is empty")
	s := must(stats.NewSequence(p.Low, p.High, p.Conf))
	var ci stats.Interval
	var low, high []float64
	var excludes []Row // since when 0 is not in the interval
	for i, x := range xs {
		ci = must(s.Add(x))
		low, high = append(low, ci.Low), append(high, ci.High)
		if excludes == nil && (ci.Low > 0 || ci.High < 0) {
			excludes = []Row{{"first_n_excluding_zero", i + 1}}
		}
	}
	var warnings []string
	switch mean := s.Mean(); {
	case s.Contradicted():
		warnings = []string{"every mean was excluded at some time: the observations do not have a constant mean"}
	case mean < ci.Low || mean > ci.High:
		warnings = []string{"the mean of all observations is outside the interval: check that they are independent and in random order"}
	}
	rows := Result{{"n", len(xs)}, {"mean", s.Mean()}, {"ci", ci}, {"low", low}, {"high", high}}.
		after("ci", excludes...).with(warningsKey, warnings)
	if in.Diff == nil {
		rows = rows.after("n", aMinusB)
	}
	return rows.at(p.Conf)
}
