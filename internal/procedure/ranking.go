package procedure

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/scruple-eval/scruple/internal/measure"
	"github.com/scruple-eval/scruple/stats"
)

type rankingParams struct {
	level
	redraw
	Ks []int `json:"ks"`
}

type queries struct {
	Queries []query `json:"queries"`
}

type query struct {
	Ranking   []string           `json:"ranking"`
	Gold      string             `json:"gold"`
	Relevance map[string]float64 `json:"relevance"`
}

func rankingMeasures(p rankingParams, in queries) (Result, error) {
	ks := p.Ks
	if ks == nil {
		ks = []int{1, 3, 5, 10}
	}
	for _, k := range ks {
		if k < 1 {
			return nil, fmt.Errorf("params.ks has %d, want a cut-off of at least 1", k)
		}
	}
	if len(in.Queries) == 0 {
		return nil, errors.New("input.queries is empty")
	}
	ranks := make([]*int, len(in.Queries)) // nil: not ranked
	places := make([]int, len(in.Queries))
	for i, q := range in.Queries {
		if first, twice := duplicate(q.Ranking); twice {
			return nil, fmt.Errorf("input.queries[%d]: %q is ranked twice", i, first)
		}
		if places[i] = measure.Rank(q.Ranking, q.Gold); places[i] > 0 {
			ranks[i] = &places[i]
		}
	}
	r := Result{{"rank", ranks}}
	intervals := Result{}
	var warnings []string
	mean := func(name string, values []float64) error {
		r = append(r, Row{name, sumOf(values) / float64(len(values))})
		drawn, warned, err := p.redraw.run(p.Conf, name, "queries", func(o stats.BootstrapOptions) (stats.Bootstrap, error) {
			return stats.ClusterBootstrap(values, slices.Repeat([]float64{1}, len(values)), o)
		}, bca)
		for _, d := range drawn {
			intervals = append(intervals, Row{name, d.Value})
		}
		for _, w := range warned {
			if !slices.Contains(warnings, w) {
				warnings = append(warnings, w)
			}
		}
		return err
	}
	over := func(name string, value func(place int) float64) error {
		values := make([]float64, len(places))
		for i, place := range places {
			values[i] = value(place)
		}
		return mean(name, values)
	}
	if err := over("mrr", func(place int) float64 { return measure.ReciprocalRank(place, 0) }); err != nil {
		return nil, err
	}
	for _, k := range ks {
		if err := errors.Join(over(fmt.Sprintf("hits@%d", k), func(place int) float64 { return measure.Hit(place, k) }),
			over(fmt.Sprintf("mrr@%d", k), func(place int) float64 { return measure.ReciprocalRank(place, k) })); err != nil {
			return nil, err
		}
		for _, g := range []struct {
			name string
			gain measure.Gain
		}{{"linear", measure.Linear}, {"exponential", measure.Exponential}} {
			values := make([]float64, len(in.Queries))
			counted := make([]float64, len(in.Queries))
			for i, q := range in.Queries {
				values[i] = measure.NDCG(q.Ranking, q.Relevance, k, g.gain)
				// A query without a relevant document counts as 0 in the mean.
				if !math.IsNaN(values[i]) {
					counted[i] = values[i]
				}
			}
			r = append(r, Row{fmt.Sprintf("ndcg_%s@%d", g.name, k), values})
			if err := mean(fmt.Sprintf("mean_ndcg_%s@%d", g.name, k), counted); err != nil {
				return nil, err
			}
		}
	}
	return r.with("bootstrap", intervals).with(warningsKey, warnings).at(p.Conf), nil
}

func sumOf(xs []float64) (s float64) {
	for _, x := range xs {
		s += x
	}
	return s
}

func duplicate(xs []string) (string, bool) {
	seen := map[string]bool{}
	for _, x := range xs {
		if seen[x] {
			return x, true
		}
		seen[x] = true
	}
	return "", false
}
