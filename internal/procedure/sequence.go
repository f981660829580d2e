package procedure

import (
	"errors"

	"github.com/scruple-eval/scruple/stats"
)

func sequences() []Procedure {
	return []Procedure{{
		Name: "confidence_sequence", Title: "Anytime-valid confidence sequence",
		Summary: "An interval of the mean of bounded observations after each of them, all of which hold at once: a run may be watched and stopped at any time. Rows are in the order in which they came, items in random order.",
		Source:  "Waudby-Smith & Ramdas (2023), hedged capital process",
		Columns: []Role{{Name: "diff", Doc: "observations, such as paired differences", Optional: true},
			{Name: "a", Doc: "instead of diff: scores of the first arm", Optional: true}, {Name: "b", Doc: "and of the second", Optional: true}},
		Params: []Param{{"low", "-1", "smallest possible observation"}, {"high", "1", "largest possible one"}, {"conf", "0.95", "confidence level"}},
		Run:    runSequence,
	}}
}

type sequenceResult struct {
	N            int      `json:"n"`
	Mean         Number   `json:"mean"`
	CI           Limits   `json:"ci"`
	ExcludesZero int      `json:"first_n_excluding_zero,omitempty"`
	Low          []Number `json:"low"`
	High         []Number `json:"high"`
	undefined
}

func runSequence(params, input Object) (any, error) {
	if input.Has("diff") && (input.Has("a") || input.Has("b")) {
		return nil, errors.New("confidence_sequence takes input.diff, or input.a and input.b, not both")
	}
	xs, err := flipDifferences(input)
	if err != nil {
		return nil, err
	}
	if len(xs) == 0 {
		return nil, errors.New("input.diff is empty")
	}
	v := map[string]float64{"low": -1, "high": 1, "conf": 0.95}
	for name, otherwise := range v {
		if v[name], err = params.Number(name, otherwise); err != nil {
			return nil, err
		}
	}
	s, err := stats.NewSequence(v["low"], v["high"], v["conf"])
	if err != nil {
		return nil, err
	}
	r := sequenceResult{N: len(xs)}
	for i, x := range xs {
		iv, err := s.Add(x)
		if err != nil {
			return nil, err
		}
		r.CI = Span(iv)
		r.Low, r.High = append(r.Low, Number(iv.Low)), append(r.High, Number(iv.High))
		if r.ExcludesZero == 0 && (iv.Low > 0 || iv.High < 0) {
			r.ExcludesZero = i + 1
		}
	}
	r.Mean = Number(s.Mean())
	switch iv := s.Interval(); {
	case s.Contradicted():
		r.Warnings = []string{"every mean has been left out at some time: the observations do not have one mean"}
	case s.Mean() < iv.Low || s.Mean() > iv.High:
		r.Warnings = []string{"the mean of all observations lies outside of the interval: do they come in random order, and none together with the next?"}
	}
	return r, nil
}
