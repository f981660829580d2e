package procedure

import (
	"fmt"
	"math"

	"github.com/scruple-eval/scruple/stats"
)

func power() []Procedure {
	return []Procedure{{
		Name: "power_paired_t", Title: "Power of the paired t-test",
		Summary: "Power, number of pairs, or smallest detectable effect (d_z); cases name what to solve for: power, n or dz. Two-sided power counts both tails.",
		Source:  "R pwr::pwr.t.test, power.t.test(strict = TRUE)",
		Params:  []Param{{"solve, n, dz, power, alpha, alternative", "", "of each of input.cases; what is solved for is left out"}},
		Run:     eachCase(pairedPowerCase),
	}, {
		Name: "power_mcnemar", Title: "Power of McNemar's test",
		Summary: "Number of items for a power, and power with n items, from the probabilities that an item passes with one arm alone; normal approximation and exact enumeration.",
		Source:  "Connor (1987)",
		Params:  []Param{{"p10, p01, alpha, power, n", "", "of each of input.cases"}},
		Run:     eachCase(mcnemarPowerCase),
	}, {
		Name: "power_clustered", Title: "Power of a paired comparison in clusters",
		Summary: "Power, detectable difference and number of clusters when differences come in clusters (fields of a document, questions of a text) that share a part of their variance.",
		Source:  "Kish (1965) design effect; t-test of cluster means",
		Params:  []Param{{"clusters, size, sd, icc, difference, alpha, power", "", "of each of input.cases"}},
		Run:     eachCase(clusteredPowerCase),
	}}
}

// eachCase answers a list of cases, each as the fields asked and answered.
func eachCase(answer func(Object) (Ordered, error)) func(params, input Object) (any, error) {
	return func(_, input Object) (any, error) {
		if !input.Has("cases") {
			return answer(input)
		}
		cases, err := input.Objects("cases")
		if err != nil {
			return nil, err
		}
		results := make([]Ordered, len(cases))
		for i, c := range cases {
			if results[i], err = answer(c); err != nil {
				return nil, fmt.Errorf("input.cases[%d]: %w", i, err)
			}
		}
		return Ordered{{"cases", results}}, nil
	}
}

// numbersOf reads named numbers; one that is missing is NaN.
func numbersOf(o Object, names ...string) (map[string]float64, error) {
	out := map[string]float64{}
	for _, name := range names {
		x, err := o.Number(name, math.NaN())
		if err != nil {
			return nil, err
		}
		out[name] = x
	}
	return out, nil
}

func pairedPowerCase(o Object) (Ordered, error) {
	v, err := numbersOf(o, "n", "dz", "power")
	if err != nil {
		return nil, err
	}
	alpha, err := o.Number("alpha", 0.05)
	if err != nil {
		return nil, err
	}
	side, err := alternative(o)
	if err != nil {
		return nil, err
	}
	solve, err := o.Choice("solve", "power", "n", "dz")
	if err != nil {
		return nil, err
	}
	r := Ordered{{"solve", solve}}
	for _, name := range []string{"n", "dz", "power"} {
		if name != solve {
			r = append(r, Entry{name, Number(v[name])})
		}
	}
	word, err := o.Text("alternative", "two.sided")
	if err != nil {
		return nil, err
	}
	r = append(r, Entry{"alpha", Number(alpha)}, Entry{"alternative", word})
	switch solve {
	case "n":
		n, err := stats.PairedSize(v["dz"], v["power"], alpha, side)
		return append(r, Entry{"value", Number(n)}, Entry{"value_ceiling", Number(math.Ceil(n))}), err
	case "dz":
		dz, err := stats.PairedEffect(v["n"], v["power"], alpha, side)
		return append(r, Entry{"value", Number(dz)}), err
	}
	p, one, err := stats.PairedPower(v["n"], v["dz"], alpha, side)
	return append(r, Entry{"value", Number(p)}, Entry{"value_one_tail", Number(one)}), err
}

func mcnemarPowerCase(o Object) (Ordered, error) {
	v, err := numbersOf(o, "p10", "p01", "n")
	if err != nil {
		return nil, err
	}
	alpha, err := o.Number("alpha", 0.05)
	if err != nil {
		return nil, err
	}
	target, err := o.Number("power", 0.8)
	if err != nil {
		return nil, err
	}
	d := stats.McNemarDesign{P10: v["p10"], P01: v["p01"], Alpha: alpha}
	n, err := d.Size(target)
	if err != nil {
		return nil, err
	}
	r := Ordered{{"p10", Number(d.P10)}, {"p01", Number(d.P01)}, {"alpha", Number(alpha)}, {"power", Number(target)}, {"n", Number(v["n"])},
		{"n_required", Number(n)}, {"n_required_ceiling", Number(math.Ceil(n))}}
	if !math.IsNaN(v["n"]) {
		p, err := d.Power(v["n"])
		if err != nil {
			return nil, err
		}
		r = append(r, Entry{"power_at_n", Number(p)})
		whole, err := o.Int("n", 0)
		if err != nil {
			return nil, err
		}
		exact, err := d.ExactPower(whole)
		if err != nil {
			return nil, err
		}
		r = append(r, Entry{"power_at_n_exact_test", Number(exact)})
	}
	return r, nil
}

func clusteredPowerCase(o Object) (Ordered, error) {
	v, err := numbersOf(o, "clusters", "size", "sd", "icc", "difference")
	if err != nil {
		return nil, err
	}
	alpha, err := o.Number("alpha", 0.05)
	if err != nil {
		return nil, err
	}
	target, err := o.Number("power", 0.8)
	if err != nil {
		return nil, err
	}
	d := stats.ClusteredDesign{Clusters: v["clusters"], Size: v["size"], SD: v["sd"], ICC: v["icc"], Alpha: alpha}
	detectable, err := d.Detectable(target)
	if err != nil {
		return nil, err
	}
	r := Ordered{{"clusters", Number(d.Clusters)}, {"size", Number(d.Size)}, {"design_effect", Number(d.DesignEffect())},
		{"power", Number(target)}, {"smallest_detectable_difference", Number(detectable)}}
	if !math.IsNaN(v["difference"]) {
		p, err := d.Power(v["difference"])
		if err != nil {
			return nil, err
		}
		k, err := d.ClustersFor(v["difference"], target)
		if err != nil {
			return nil, err
		}
		r = append(r, Entry{"power_at_difference", Number(p)}, Entry{"clusters_required", Number(math.Ceil(k))})
	}
	return r, nil
}
