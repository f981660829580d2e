package procedure

import (
	"errors"
	"fmt"
	"math"

	"github.com/scruple-eval/scruple/internal/measure"
)

func rankings() []Procedure {
	return []Procedure{{
		Name: "ir_metrics", Title: "Measures of rankings",
		Summary: "Rank of the gold document, Hits@K, reciprocal rank (whole list and @K), nDCG@K with linear and exponential gain; by query and as means. For TREC files see `scruple measure ranking`.",
		Source:  "definitions; scikit-learn ndcg_score",
		Params:  []Param{{"ks", "[1, 3, 5, 10]", "cut-offs"}},
		method:  typed[rankingParams, queries]{answer: rankingMeasures},
	}}
}

type rankingParams struct {
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

func rankingMeasures(p rankingParams, in queries) (any, error) {
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
	r := Ordered{{"rank", ranks}, {"mrr", meanOf(places, func(place int) float64 { return measure.ReciprocalRank(place, 0) })}}
	for _, k := range ks {
		r = append(r,
			Entry{fmt.Sprintf("hits@%d", k), meanOf(places, func(place int) float64 { return measure.Hit(place, k) })},
			Entry{fmt.Sprintf("mrr@%d", k), meanOf(places, func(place int) float64 { return measure.ReciprocalRank(place, k) })})
		for _, g := range []struct {
			name string
			gain measure.Gain
		}{{"linear", measure.Linear}, {"exponential", measure.Exponential}} {
			values := make([]float64, len(in.Queries))
			for i, q := range in.Queries {
				values[i] = measure.NDCG(q.Ranking, q.Relevance, k, g.gain)
			}
			// A query without a relevant document counts as 0 in the mean.
			mean := meanOf(values, func(x float64) float64 {
				if math.IsNaN(x) {
					return 0
				}
				return x
			})
			r = append(r, Entry{fmt.Sprintf("ndcg_%s@%d", g.name, k), values}, Entry{fmt.Sprintf("mean_ndcg_%s@%d", g.name, k), mean})
		}
	}
	return r, nil
}

func meanOf[T any](xs []T, value func(T) float64) float64 {
	var s float64
	for _, x := range xs {
		s += value(x)
	}
	return s / float64(len(xs))
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
