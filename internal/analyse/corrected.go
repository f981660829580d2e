package analyse

import (
	"math"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/stats"
	"github.com/scruple-eval/scruple/stats/dist"
)

// correctedByJudge estimates the mean human label of claims that a judge labelled 0 or
// 1: the prediction-powered mean with the judge calibrated on other claims, whose
// human labels are known. With p the judge's share of 1 and h₁, h₀ the human means of
// the known claims that the judge labels 1 and 0, it is
//
//	p·h₁ + (1 − p)·h₀,
//
// which is from 0 to 1 for any judge. The weight of the judge cannot be chosen as
// [stats.PredictionPowered] does, since the known claims are not drawn from the judged
// ones. The three shares are independent; their cluster-robust variances add up, and
// the degrees of freedom are those of the sample with the fewest clusters. It assumes
// that people agree with the judge's 1, and with its 0, as often as on the known
// claims.
//
// Source: Angelopoulos et al. (2023), Prediction-Powered Inference, with calibrated
// predictions.
func correctedByJudge(judged []eval.Labelled, known []eval.LabelledTwice, level float64) (eval.Measured, bool) {
	var says clustered
	var human [2]clustered // by the judge's label
	for _, l := range judged {
		says.add(l.Cluster, l.Judge)
	}
	for _, l := range known {
		human[int(l.Judge)&1].add(l.Cluster, l.Human)
	}
	p, okP := says.mean(level)
	yes, ok1 := human[1].mean(level)
	no, ok0 := human[0].mean(level)
	switch {
	case !okP || !ok1 && p.value > 0 || !ok0 && p.value < 1:
		return eval.Measured{}, false // nothing is known of a label that the judge gave
	case !ok1:
		yes = share{clusters: no.clusters}
	case !ok0:
		no = share{clusters: yes.clusters}
	}
	m := eval.Measured{Value: eval.Number(p.value*yes.value + (1-p.value)*no.value), Low: eval.Undefined(), High: eval.Undefined(), N: len(judged)}
	df := float64(min(p.clusters, yes.clusters, no.clusters) - 1)
	if df < 1 {
		return m, true
	}
	se := math.Sqrt(square((yes.value-no.value)*p.se) + square(p.value*yes.se) + square((1-p.value)*no.se))
	half := dist.StudentT{DF: df}.UpperQuantile((1-level)/2) * se
	m.Low, m.High = eval.Number(clamp(float64(m.Value)-half)), eval.Number(clamp(float64(m.Value)+half))
	return m, true
}

func square(x float64) float64 { return x * x }

func clamp(x float64) float64 { return math.Max(0, math.Min(1, x)) }

// clustered collects labels by cluster.
type clustered struct {
	at       map[string]int
	num, den []float64
	n        int
}

// A share is a mean with its standard error.
type share struct {
	value, se float64
	clusters  int
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
	c.n++
}

// mean is the mean of the labels. Where nothing varies, its standard error is that of
// one exception, so that unanimity of a small sample is not certainty.
func (c *clustered) mean(level float64) (share, bool) {
	if c.n == 0 {
		return share{}, false
	}
	r, err := stats.RatioOfSums(c.num, c.den, level)
	if err != nil {
		return share{}, false
	}
	s := share{r.Value, r.SE, len(c.num)}
	if !(s.se > 0) {
		s.se = 1 / float64(c.n+1)
	}
	return s, true
}
