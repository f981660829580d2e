package analyse

import (
	"math"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/stats"
	"github.com/scruple-eval/scruple/stats/dist"
)

// correctedByJudge estimates a share by a judge and its bias on other claims: the
// prediction-powered mean with the judge's whole weight,
//
//	mean(judge) − mean(judge − human | known).
//
// The weight cannot be chosen by the data, as [stats.PredictionPowered] does, since
// the known claims are not drawn from the judged ones: less weight would move the
// estimate to the share among the known claims. The variances of both means add up;
// the degrees of freedom are those of the smaller sample.
func correctedByJudge(judged []eval.Labelled, known []eval.LabelledTwice, level float64) (eval.Measured, bool) {
	if len(judged) == 0 || len(known) == 0 {
		return eval.Measured{}, false
	}
	var says, bias clustered
	for _, l := range judged {
		says.add(l.Cluster, l.Judge)
	}
	for _, l := range known {
		bias.add(l.Cluster, l.Judge-l.Human)
	}
	a, errA := stats.RatioOfSums(says.num, says.den, level)
	b, errB := stats.RatioOfSums(bias.num, bias.den, level)
	if errA != nil || errB != nil {
		return eval.Measured{}, false
	}
	m := eval.Measured{Value: eval.Number(clamp(a.Value - b.Value)), Low: eval.Undefined(), High: eval.Undefined(), N: len(judged)}
	df := float64(min(len(says.num), len(bias.num)) - 1)
	se := math.Hypot(spread(a, len(judged)), spread(b, len(known)))
	if df < 1 || math.IsNaN(se) {
		return m, true
	}
	half := dist.StudentT{DF: df}.UpperQuantile((1-level)/2) * se
	m.Low, m.High = eval.Number(clamp(a.Value-b.Value-half)), eval.Number(clamp(a.Value-b.Value+half))
	return m, true
}

// spread is the standard error of a mean. Where nothing varies it is that of one
// exception more, so that unanimity in a small sample is not certainty.
func spread(r stats.Ratio, n int) float64 {
	if r.SE > 0 {
		return r.SE
	}
	return 1 / float64(n+1)
}

func clamp(x float64) float64 { return math.Max(0, math.Min(1, x)) }

// clustered collects sums by cluster.
type clustered struct {
	at       map[string]int
	num, den []float64
}

func (c *clustered) add(cluster string, x float64) {
	if c.at == nil {
		c.at = map[string]int{}
	}
	i, ok := c.at[cluster]
	if !ok {
		i = len(c.num)
		c.at[cluster] = i
		c.num, c.den = append(c.num, 0), append(c.den, 0)
	}
	c.num[i] += x
	c.den[i]++
}
