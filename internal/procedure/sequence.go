package procedure

import (
	"errors"

	"github.com/scruple-eval/scruple/stats"
)

type sequenceParams struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	Conf float64 `json:"conf"`
}

type sequenceResult struct {
	N            int            `json:"n"`
	Mean         float64        `json:"mean"`
	CI           stats.Interval `json:"ci"`
	ExcludesZero int            `json:"first_n_excluding_zero,omitzero"`
	Low          []float64      `json:"low"`
	High         []float64      `json:"high"`
	Warnings     []string       `json:"warnings,omitempty"`
}

func sequence(p sequenceParams, in differences) (Result, error) {
	if in.Diff != nil && (in.A != nil || in.B != nil) {
		return nil, errors.New("confidence_sequence takes input.diff, or input.a and input.b, not both")
	}
	xs, err := in.of()
	if err != nil {
		return nil, err
	}
	if len(xs) == 0 {
		return nil, errors.New("input.diff is empty")
	}
	s, err := stats.NewSequence(p.Low, p.High, p.Conf)
	if err != nil {
		return nil, err
	}
	r := sequenceResult{N: len(xs)}
	for i, x := range xs {
		if r.CI, err = s.Add(x); err != nil {
			return nil, err
		}
		r.Low, r.High = append(r.Low, r.CI.Low), append(r.High, r.CI.High)
		if r.ExcludesZero == 0 && (r.CI.Low > 0 || r.CI.High < 0) {
			r.ExcludesZero = i + 1
		}
	}
	r.Mean = s.Mean()
	switch {
	case s.Contradicted():
		r.Warnings = []string{"every mean was excluded at some time: the observations do not have a constant mean"}
	case r.Mean < r.CI.Low || r.Mean > r.CI.High:
		r.Warnings = []string{"the mean of all observations is outside the interval: check that they are independent and in random order"}
	}
	rows := rowsOf(r)
	if in.Diff == nil {
		rows = rows.after("n", aMinusB)
	}
	return rows.at(p.Conf), nil
}
