package procedure

import (
	"fmt"
	"maps"
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

// maxRelevance keeps sums of 2^relevance finite.
const maxRelevance = 1000

func rankingMeasures(p rankingParams, in queries) Result {
	ks := p.Ks
	if ks == nil {
		ks = []int{1, 3, 5, 10}
	}
	for _, k := range ks {
		refuse(k < 1, "params.ks has %d, want a cut-off of at least 1", k)
	}
	refuse(len(in.Queries) == 0, "input.queries is empty")
	ranks := make([]*int, len(in.Queries)) // nil: not ranked
	places := make([]int, len(in.Queries))
	without := 0 // queries without a relevant document
	gold := slices.ContainsFunc(in.Queries, func(q query) bool { return q.Gold != "" })
	graded := slices.ContainsFunc(in.Queries, func(q query) bool { return len(q.Relevance) > 0 })
	refuse(!gold && !graded, "input.queries: give each a gold, or its relevance by candidate")
	for i, q := range in.Queries {
		refuse(gold && q.Gold == "", "input.queries[%d] has no gold, and others have: add it, or leave the query out", i)
		ranked := map[string]bool{}
		for _, id := range q.Ranking {
			refuse(ranked[id], "input.queries[%d]: %q is ranked twice", i, id)
			ranked[id] = true
		}
		most := slices.Max(append(slices.Collect(maps.Values(q.Relevance)), 0))
		refuse(most > maxRelevance, "input.queries[%d] has a relevance of %v: the gain 2^relevance needs at most %d; divide all by one number, which leaves linear nDCG as it is", i, most, maxRelevance)
		if places[i] = measure.Rank(q.Ranking, q.Gold); places[i] > 0 {
			ranks[i] = &places[i]
		}
		if math.IsNaN(measure.NDCG(nil, q.Relevance, 1, measure.Linear)) {
			without++
		}
	}
	var warnings []string
	if graded && without > 0 {
		warnings = append(warnings, fmt.Sprintf("queries without a relevant document, whose nDCG counts as 0 in the mean: %d of %d", without, len(in.Queries)))
	}
	var r Result
	if gold {
		r = Result{{"rank", ranks}}
	}
	intervals := Result{}
	mean := func(name string, values []float64) {
		sum := 0.0
		for _, x := range values {
			sum += x
		}
		r = append(r, Row{name, sum / float64(len(values))})
		drawn, warned := p.redraw.run(p.Conf, name, "queries", func(o stats.BootstrapOptions) (stats.Bootstrap, error) {
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
	}
	over := func(name string, value func(place int) float64) {
		if !gold {
			return
		}
		values := make([]float64, len(places))
		for i, place := range places {
			values[i] = value(place)
		}
		mean(name, values)
	}
	over("mrr", func(place int) float64 { return measure.ReciprocalRank(place, 0) })
	for _, k := range ks {
		over(fmt.Sprintf("hits@%d", k), func(place int) float64 { return measure.Hit(place, k) })
		over(fmt.Sprintf("mrr@%d", k), func(place int) float64 { return measure.ReciprocalRank(place, k) })
		for _, g := range []struct {
			name string
			gain measure.Gain
		}{{"linear", measure.Linear}, {"exponential", measure.Exponential}} {
			if !graded {
				continue
			}
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
			mean(fmt.Sprintf("mean_ndcg_%s@%d", g.name, k), counted)
		}
	}
	return r.with("bootstrap", intervals).with(warningsKey, warnings).at(p.Conf)
}
