package procedure

import (
	"cmp"
	"fmt"
	"math"

	"github.com/scruple-eval/scruple/stats"
)

// cases are a list of questions, or one question by itself.
type cases[Q any] struct {
	Cases []Q `json:"cases,omitempty"`
	One   Q   `json:",inline"`
}

// byCase is the method that answers each case.
func byCase[P, Q any](defaults P, answer func(Q, P) (Result, error)) typed[P, cases[Q]] {
	return typed[P, cases[Q]]{defaults: defaults, answer: func(p P, in cases[Q]) (Result, error) {
		if in.Cases == nil {
			return answer(in.One, p)
		}
		results, err := each(in.Cases, "input.cases", func(q Q) (Result, error) { return answer(q, p) })
		return Result{{"cases", results}}, err
	}}
}

// each answers a list of questions; its errors name the question.
func each[Q, R any](questions []Q, path string, answer func(Q) (R, error)) ([]R, error) {
	if questions == nil {
		return nil, nil
	}
	results := make([]R, len(questions))
	for i, q := range questions {
		var err error
		if results[i], err = answer(q); err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", path, i, err)
		}
	}
	return results, nil
}

type pairedDesign struct {
	Solve       string   `json:"solve"`
	N           *float64 `json:"n,omitempty"`
	DZ          *float64 `json:"dz,omitempty"`
	Power       *float64 `json:"power,omitempty"`
	Alpha       *float64 `json:"alpha,omitempty"`
	Alternative *string  `json:"alternative,omitempty"`
}

func (q pairedDesign) answer(none) (Result, error) {
	n, dz, power, alpha := given(q.N, math.NaN()), given(q.DZ, math.NaN()), given(q.Power, math.NaN()), given(q.Alpha, 0.05)
	word := "two.sided"
	if q.Alternative != nil {
		word = *q.Alternative
	}
	side, err := alternative("alternative", word)
	if err != nil {
		return nil, err
	}
	q.Solve = cmp.Or(q.Solve, "power")
	if err := choice("solve", q.Solve, "power", "n", "dz"); err != nil {
		return nil, err
	}
	r := Result{{"solve", q.Solve}}
	for _, known := range []Row{{"n", n}, {"dz", dz}, {"power", power}} {
		if known.Key != q.Solve {
			r = append(r, known)
		}
	}
	r = append(r, Row{"alpha", alpha}, Row{"alternative", word})
	switch q.Solve {
	case "n":
		n, err := stats.PairedSize(dz, power, alpha, side)
		return append(r, Row{"value", n}, Row{"value_ceiling", math.Ceil(n)}), err
	case "dz":
		dz, err := stats.PairedEffect(n, power, alpha, side)
		return append(r, Row{"value", dz}), err
	}
	p, one, err := stats.PairedPower(n, dz, alpha, side)
	return append(r, Row{"value", p}, Row{"value_one_tail", one}), err
}

type mcnemarDesign struct {
	P10   *float64 `json:"p10,omitempty"`
	P01   *float64 `json:"p01,omitempty"`
	Alpha *float64 `json:"alpha,omitempty"`
	Power *float64 `json:"power,omitempty"`
	N     *int     `json:"n,omitempty"`
}

func (q mcnemarDesign) answer(none) (Result, error) {
	d := stats.McNemarDesign{P10: given(q.P10, math.NaN()), P01: given(q.P01, math.NaN()), Alpha: given(q.Alpha, 0.05)}
	power := given(q.Power, 0.8)
	required, err := d.Size(power)
	if err != nil {
		return nil, err
	}
	r := Result{{"p10", d.P10}, {"p01", d.P01}, {"alpha", d.Alpha}, {"power", power}, {"n", q.N},
		{"n_required", required}, {"n_required_ceiling", math.Ceil(required)}}
	if q.N == nil {
		return r, nil
	}
	p, err := d.Power(float64(*q.N))
	if err != nil {
		return nil, err
	}
	exact, err := d.ExactPower(*q.N)
	detectable, undetectable := d.Detectable(float64(*q.N), power)
	if undetectable != nil {
		detectable = math.NaN()
	}
	return append(r, Row{"power_at_n", p}, Row{"power_at_n_exact_test", exact}, Row{"smallest_detectable_difference", detectable}), err
}

type clusteredDesign struct {
	Clusters   *float64 `json:"clusters,omitempty"`
	Size       *float64 `json:"size,omitempty"`
	SD         *float64 `json:"sd,omitempty"`
	ICC        *float64 `json:"icc,omitempty"`
	Difference *float64 `json:"difference,omitempty"`
	Alpha      *float64 `json:"alpha,omitempty"`
	Power      *float64 `json:"power,omitempty"`
}

func (q clusteredDesign) answer(none) (Result, error) {
	nan := math.NaN()
	d := stats.ClusteredDesign{Clusters: given(q.Clusters, nan), Size: given(q.Size, nan), SD: given(q.SD, nan), ICC: given(q.ICC, nan), Alpha: given(q.Alpha, 0.05)}
	power := given(q.Power, 0.8)
	detectable, err := d.Detectable(power)
	if err != nil {
		return nil, err
	}
	r := Result{{"clusters", d.Clusters}, {"size", d.Size}, {"design_effect", d.DesignEffect()},
		{"power", power}, {"smallest_detectable_difference", detectable}}
	if q.Difference == nil {
		return r, nil
	}
	p, err := d.Power(*q.Difference)
	if err != nil {
		return nil, err
	}
	k, err := d.ClustersFor(*q.Difference, power)
	return append(r, Row{"power_at_difference", p}, Row{"clusters_required", math.Ceil(k)}), err
}
