package experiment

import (
	"cmp"
	"context"
	"slices"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/score"
)

// An Interim is what an arm of an unfinished run has so far: values of the primary metrics, without
// intervals, since more answers are to come.
type Interim struct {
	Arm          string
	Done, Failed int
	Unscored     int      // of the others, those that lack a score of one of the metrics
	Values       []string // of the metrics, as reports write them
}

// Interims scores the outcomes that a run has, and stores nothing. metrics are the titles of the
// primary metrics whose values are means or shares of items. A study with planned looks at its results
// has none between them.
func (r *Run) Interims(ctx context.Context) (metrics []string, arms []Interim, err error) {
	if r.Study.Statistics.Looks > 1 {
		return nil, nil, discipline.NotAllowed("the study looks at its results %d times, so there are none between two looks", r.Study.Statistics.Looks)
	}
	scorer, _, err := r.calibrate(ctx)
	if err != nil {
		return nil, nil, err
	}
	var known []eval.Metric
	for _, m := range r.Suite.Metrics {
		if slices.Contains(r.Primary, m.Name) && m.Estimate == nil {
			known = append(known, m)
			metrics = append(metrics, cmp.Or(m.Title, m.Name))
		}
	}
	var sums [][]eval.Fraction // by arm and metric
	for _, arm := range r.contestants() {
		sums, arms = append(sums, make([]eval.Fraction, len(known))), append(arms, Interim{Arm: arm})
	}
	for s := range until(&err, score.All(scorer, r.db.Cases(ctx, r.Record))) {
		k := slices.IndexFunc(arms, func(a Interim) bool { return a.Arm == s.Arm })
		if k < 0 {
			continue
		}
		for _, t := range s.Trials {
			arms[k].Done++
			switch {
			case t.Outcome.Kind == eval.Failed:
				arms[k].Failed++
			case slices.ContainsFunc(known, func(m eval.Metric) bool { return lacks(s.Scores, m, t.Trial.Replicate) }):
				arms[k].Unscored++
			}
		}
		for i, m := range known {
			var own eval.Fraction
			for _, x := range s.Scores {
				if x.Metric == m.Name && x.Unscored == "" && x.Row == nil {
					own = own.Plus(x.Num, x.Den)
				}
			}
			if m.Pooling != eval.RatioOfSums && own.Den > 0 {
				own = eval.Fraction{Num: own.Num / own.Den, Den: 1}
			}
			sums[k][i] = sums[k][i].Plus(own.Num, own.Den)
		}
	}
	for k := range arms {
		for i, m := range known {
			value := analyse.Undefined()
			if t := sums[k][i]; t.Den > 0 {
				value = analyse.Number(t.Num / t.Den)
			}
			arms[k].Values = append(arms[k].Values, analyse.Metric{Min: analyse.Number(m.Min), Max: analyse.Number(m.Max), Pooling: m.Pooling}.Scale().Value(value, false))
		}
	}
	return metrics, arms, err
}

// lacks reports whether a replicate has no score of a metric, or not all. A ratio of sums may have
// nothing to count in an answer.
func lacks(scores []eval.Score, m eval.Metric, replicate int) bool {
	has := m.Pooling == eval.RatioOfSums
	for _, x := range scores {
		if x.Metric == m.Name && (x.Replicate == 0 || x.Replicate == replicate) {
			if x.Unscored != "" {
				return true
			}
			has = true
		}
	}
	return !has
}
