package procedure

import (
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
		Run:     runRanking,
	}}
}

func runRanking(params, input Object) (any, error) {
	ks := []int{1, 3, 5, 10}
	var err error
	if params.Has("ks") {
		if ks, err = params.Ints("ks"); err != nil {
			return nil, err
		}
	}
	for _, k := range ks {
		if k < 1 {
			return nil, fmt.Errorf("params.ks has %d, a cut-off is at least 1", k)
		}
	}
	queries, err := input.Objects("queries")
	if err != nil {
		return nil, err
	}
	if len(queries) == 0 {
		return nil, fmt.Errorf("input.queries is empty")
	}
	ranks := make([]any, len(queries))
	rankings := make([][]string, len(queries))
	relevance := make([]map[string]float64, len(queries))
	places := make([]int, len(queries))
	for i, q := range queries {
		if rankings[i], err = q.Labels("ranking"); err != nil {
			return nil, err
		}
		if first, twice := duplicate(rankings[i]); twice {
			return nil, fmt.Errorf("%s[%d]: %q is ranked twice", "input.queries", i, first)
		}
		gold, err := q.Text("gold", "")
		if err != nil {
			return nil, err
		}
		judged, err := q.Object("relevance")
		if err != nil {
			return nil, err
		}
		relevance[i] = map[string]float64{}
		for _, doc := range judged.Names() {
			if relevance[i][doc], err = judged.Number(doc, 0); err != nil {
				return nil, err
			}
		}
		if places[i] = measure.Rank(rankings[i], gold); places[i] > 0 {
			ranks[i] = places[i]
		}
	}
	r := Ordered{{"rank", ranks}, {"mrr", meanOf(places, func(i int) float64 { return measure.ReciprocalRank(places[i], 0) })}}
	for _, k := range ks {
		r = append(r,
			Entry{fmt.Sprintf("hits@%d", k), meanOf(places, func(i int) float64 { return measure.Hit(places[i], k) })},
			Entry{fmt.Sprintf("mrr@%d", k), meanOf(places, func(i int) float64 { return measure.ReciprocalRank(places[i], k) })})
		for _, g := range []struct {
			name string
			gain measure.Gain
		}{{"linear", measure.Linear}, {"exponential", measure.Exponential}} {
			values := make([]Number, len(queries))
			for i := range queries {
				values[i] = Number(measure.NDCG(rankings[i], relevance[i], k, g.gain))
			}
			r = append(r, Entry{fmt.Sprintf("ndcg_%s@%d", g.name, k), values},
				// A query without a relevant document counts as 0 in the mean.
				Entry{fmt.Sprintf("mean_ndcg_%s@%d", g.name, k), meanOf(places, func(i int) float64 {
					if x := float64(values[i]); !math.IsNaN(x) {
						return x
					}
					return 0
				})})
		}
	}
	return r, nil
}

func meanOf(over []int, value func(i int) float64) Number {
	var s float64
	for i := range over {
		s += value(i)
	}
	return Number(s / float64(len(over)))
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
