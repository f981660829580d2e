package kit

import "github.com/scruple-eval/scruple/internal/eval"

// Votes counts the answers of the replicates of a case by a key that equal answers share;
// the key of an answer that cannot be read is "", which agrees with none.
type Votes struct {
	n      int
	counts map[string]int
	first  map[string]*eval.Judged
	keys   []string // in order of appearance
}

// Add adds the answer of a replicate that did not fail.
func (v *Votes) Add(key string, t *eval.Judged) {
	if v.counts == nil {
		v.counts, v.first = map[string]int{}, map[string]*eval.Judged{}
	}
	v.n++
	if v.counts[key]++; v.counts[key] == 1 {
		v.keys, v.first[key] = append(v.keys, key), t
	}
}

// Score appends the score of the majority, as correct gives it of a replicate with the most
// frequent answer, and the share of pairs of replicates that agree. Ties go to the first
// answer. One replicate has neither.
func (v *Votes) Score(dst []eval.Score, c eval.Case, majority, consistency string, correct func(metric string, t *eval.Judged) eval.Score) []eval.Score {
	if v.n < 2 {
		return dst
	}
	agreeing, winner := 0, v.keys[0]
	for _, key := range v.keys {
		if key != "" {
			agreeing += v.counts[key] * (v.counts[key] - 1) / 2
		}
		if v.counts[key] > v.counts[winner] {
			winner = key
		}
	}
	score := correct(majority, v.first[winner])
	for _, key := range v.keys {
		if key != winner && v.counts[winner]-v.counts[key] < len(c.Trials)-v.n {
			score = eval.Score{Metric: majority, Den: 1, Unscored: "a replicate that failed decides"}
		}
	}
	return append(dst, score, eval.Score{Metric: consistency, Num: float64(agreeing), Den: float64(v.n * (v.n - 1) / 2)})
}
