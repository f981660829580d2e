package procedure

import (
	"errors"
	"fmt"
	"math"

	"github.com/scruple-eval/scruple/stats"
)

type adjustParams struct {
	Alpha float64 `json:"alpha"`
}

type pValues struct {
	P gaps `json:"p"`
}

func adjusted(params adjustParams, in pValues) (Result, error) {
	if len(in.P) == 0 {
		return nil, errors.New("input.p is empty: want at least one p-value")
	}
	for i, x := range in.P {
		if x < 0 || x > 1 {
			return nil, fmt.Errorf("input.p[%d] is %v, want a p-value from 0 to 1", i, x)
		}
	}
	if !(params.Alpha > 0 && params.Alpha < 1) {
		return nil, fmt.Errorf("params.alpha is %v, expected a level between 0 and 1", params.Alpha)
	}
	result, reject := Result{{"p", []float64(in.P)}}, Result{}
	for _, method := range []string{"bonferroni", "holm", "hochberg", "bh", "by"} {
		p, err := stats.Adjust(method, in.P)
		if err != nil {
			return nil, err
		}
		result = append(result, Row{method, p})
		reject = append(reject, Row{method, rejected(p, params.Alpha)})
	}
	return append(result, Row{"reject", reject}), nil
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
