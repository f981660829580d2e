package analyse

import (
	"math"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/stats"
)

// correctedByJudge estimates the mean human label of claims that a judge labelled 0 or
// 1, from other claims that people labelled too.
func correctedByJudge(judged []eval.Labelled, known []eval.LabelledTwice, level float64) (eval.Measured, bool) {
	var units, elsewhere stats.Judged
	ofUnits, ofKnown := numbering{}, numbering{}
	for _, l := range judged {
		units.Add(ofUnits.of(l.Cluster), l.Judge, math.NaN())
	}
	for _, l := range known {
		elsewhere.Add(ofKnown.of(l.Cluster), l.Judge, l.Human)
	}
	if len(judged) == 0 || len(known) == 0 {
		return eval.Measured{}, false
	}
	r, err := stats.CorrectedRate(units, elsewhere, level)
	return eval.Measured{Value: Number(r.Value), Low: Number(r.CI.Low), High: Number(r.CI.High), N: len(judged)}, err == nil && r.Undefined == ""
}

// A numbering numbers clusters in order of appearance.
type numbering map[string]int

func (n numbering) of(cluster string) int {
	k, ok := n[cluster]
	if !ok {
		k = len(n)
		n[cluster] = k
	}
	return k
}
