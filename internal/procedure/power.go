package procedure

import (
	"cmp"
	"math"

	"github.com/scruple-eval/scruple/stats"
)

// cases are a list of questions, or one question by itself.
type cases[Q any] struct {
	Cases []Q `json:"cases,omitempty" way:"cases"`
	One   Q   `json:",inline" way:"a case by itself"`
}

// byCase is the method that answers each case.
func byCase[P, Q any](defaults P, answer func(Q, P) Result) typed[P, cases[Q]] {
	return typed[P, cases[Q]]{defaults: defaults, answer: func(p P, in cases[Q]) Result {
		if in.Cases == nil {
			return answer(in.One, p)
		}
		return Result{{"cases", each(in.Cases, "input.cases", func(q Q) Result { return answer(q, p) })}}
	}}
}

// each answers a list of questions; its errors name the question.
func each[Q any](questions []Q, path string, answer func(Q) Result) []Result {
	if questions == nil {
		return nil
	}
	results := []Result{}
	for i, q := range questions {
		one := func() (r Result, err error) {
			defer catch(&err)
			return answer(q), nil
		}
		r, err := one()
		refuse(err != nil, "%s[%d]: %w", path, i, err)
		results = append(results, r)
	}
	return results
}

type pairedDesign struct {
	Solve       string   `json:"solve"`
	N           *float64 `json:"n,omitempty"`
	DZ          *float64 `json:"dz,omitempty"`
	Power       *float64 `json:"power,omitempty"`
	Alpha       *float64 `json:"alpha,omitempty"`
	Alternative *string  `json:"alternative,omitempty"`
}

func (q pairedDesign) answer(none) Result {
	n, dz, power, alpha := given(q.N, math.NaN()), given(q.DZ, math.NaN()), given(q.Power, math.NaN()), given(q.Alpha, 0.05)
	word := given(q.Alternative, "two.sided")
	side := alternative("alternative", word)
	r := Result{{"solve", nil}}
	var known, unknown []string
	for _, row := range []Row{{"n", n}, {"dz", dz}, {"power", power}} {
		if math.IsNaN(row.Value.(float64)) {
			unknown = append(unknown, row.Key)
		} else {
			r, known = append(r, row), append(known, row.Key)
		}
	}
	choice("solve", cmp.Or(q.Solve, "n"), "power", "n", "dz")
	refuse(len(unknown) != 1 || q.Solve != "" && q.Solve != unknown[0],
		"expected two of n, dz and power and not what to solve for, got %q", known)
	r[0].Value = unknown[0]
	r = append(r, Row{"alpha", alpha}, Row{"alternative", word})
	switch unknown[0] {
	case "n":
		n := must(stats.PairedSize(dz, power, alpha, side))
		return append(r, Row{"value", n}, Row{"value_ceiling", math.Ceil(n)})
	case "dz":
		return append(r, Row{"value", must(stats.PairedEffect(n, power, alpha, side))})
	}
	p, one, err := stats.PairedPower(n, dz, alpha, side)
	fail(err)
	return append(r, Row{"value", p}, Row{"value_one_tail", one})
}

type mcnemarDesign struct {
	P10   *float64 `json:"p10,omitempty"`
	P01   *float64 `json:"p01,omitempty"`
	Alpha *float64 `json:"alpha,omitempty"`
	Power *float64 `json:"power,omitempty"`
	N     *int     `json:"n,omitempty"`
}

func (q mcnemarDesign) answer(none) Result {
	d := stats.McNemarDesign{P10: needed("p10", q.P10), P01: needed("p01", q.P01), Alpha: given(q.Alpha, 0.05)}
	power := given(q.Power, 0.8)
	required := must(d.Size(power))
	r := Result{{"p10", d.P10}, {"p01", d.P01}, {"alpha", d.Alpha}, {"power", power}, {"n", q.N},
		{"n_required", required}, {"n_required_ceiling", math.Ceil(required)}}
	if q.N == nil {
		return r
	}
	var warnings without
	p := must(d.Power(float64(*q.N)))
	exact := warnings.unless("power_at_n_exact_test", func() any { return must(d.ExactPower(*q.N)) })
	detectable, undetectable := d.Detectable(float64(*q.N), power)
	if undetectable != nil {
		detectable = math.NaN()
	}
	return append(r, Row{"power_at_n", p}, Row{"power_at_n_exact_test", exact}, Row{"smallest_detectable_difference", detectable}).with(warningsKey, []string(warnings))
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

func (q clusteredDesign) answer(none) Result {
	d := stats.ClusteredDesign{Clusters: needed("clusters", q.Clusters), Size: needed("size", q.Size), SD: needed("sd", q.SD), ICC: needed("icc", q.ICC), Alpha: given(q.Alpha, 0.05)}
	power := given(q.Power, 0.8)
	detectable := must(d.Detectable(power))
	r := Result{{"clusters", d.Clusters}, {"size", d.Size}, {"design_effect", d.DesignEffect()},
		{"power", power}, {"smallest_detectable_difference", detectable}}
	if q.Difference == nil {
		return r
	}
	var warnings without
	p := must(d.Power(*q.Difference))
	k := warnings.unless("clusters_required", func() any { return math.Ceil(must(d.ClustersFor(*q.Difference, power))) })
	return append(r, Row{"power_at_difference", p}, Row{"clusters_required", k}).with(warningsKey, []string(warnings))
}
