package rerank

import (
	"math"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/measure"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// goldIsNew is why a ranking is unscored after gold has changed.
const goldIsNew = "gold was not among the candidates that were ranked"

// Score turns the outcomes of a case into fractions. Without a prediction gold
// has no rank: it is a miss with reciprocal rank 0.
func (b *Bench) Score(dst []eval.Score, c eval.Case) []eval.Score {
	return kit.ScoreTrials(dst, c, func(dst []eval.Score, t *eval.Judged) []eval.Score {
		id := ""
		if _, r, err := b.find(t.Trial); err == nil {
			id = r.Gold
		}
		return appendScores(dst, t.Outcome, id)
	})
}

func appendScores(dst []eval.Score, o eval.Outcome, goldID string) []eval.Score {
	rec, _ := read(&o)
	gold, unscored := rec.placeOf(goldID), ""
	if gold == 0 && len(rec.Candidates) > 0 {
		unscored = goldIsNew
	}
	rank := 0
	if o.Kind == eval.OK {
		rank = rec.rankOf(gold)
	}
	one := func(metric string, num float64) {
		if unscored != "" {
			dst = append(dst, eval.Score{Metric: metric, Unscored: unscored})
			return
		}
		dst = append(dst, eval.Score{Metric: metric, Num: num, Den: 1})
	}
	for _, k := range hitsAt {
		one(hits(k), measure.Hit(rank, k))
	}
	one(metricMRR, measure.ReciprocalRank(rank, 0))
	one(metricNDCG5, gain(rank, 5))
	one(metricNDCG10, gain(rank, 10))
	one(metricInvalid, truth(o.Kind != eval.OK))
	if rec.Attack != "" {
		one(metricApplied, truth(rec.Changed > 0))
	}
	if rec.Promoted > 0 {
		one(metricPromoted, truth(o.Kind == eval.OK && len(rec.Ranking) > 0 && rec.Ranking[0] == rec.Promoted))
	}
	if n := len(rec.Candidates); gold > 0 {
		one(hitsIn(thirds[min((gold-1)*len(thirds)/n, len(thirds)-1)]), measure.Hit(rank, 1))
	}
	if rec.Coverage.Reviews > 0 {
		dst = append(dst, eval.Score{Metric: metricShown, Num: float64(rec.Coverage.Kept), Den: float64(rec.Coverage.Reviews)})
	}
	return dst
}

// gain is nDCG@K with one relevant candidate.
func gain(rank, k int) float64 {
	if measure.Hit(rank, k) == 0 {
		return 0
	}
	return 1 / math.Log2(float64(rank)+1)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
