package kit

import (
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
)

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
// answer. The majority is unscored if replicates that failed could have changed it. One replicate
// has neither.
func (v *Votes) Score(dst []eval.Score, c eval.Case, majority, consistency string, correct func(metric string, t *eval.Judged) eval.Score) []eval.Score {
	if len(c.Trials) < 2 || v.n == 0 {
		return dst
	}
	agreeing, winner := 0, 0
	for i, key := range v.keys {
		if key != "" {
			agreeing += v.counts[key] * (v.counts[key] - 1) / 2
		}
		if v.counts[key] > v.counts[v.keys[winner]] {
			winner = i
		}
	}
	first := v.first[v.keys[winner]]
	score := correct(majority, first)
	failed := len(c.Trials) - v.n
	early := slices.ContainsFunc(c.Trials, func(t eval.Judged) bool {
		return t.Outcome.Kind == eval.Failed && t.Trial.Replicate < first.Trial.Replicate
	})
	for i, key := range append(v.keys, "") { // the failed ones may have another answer in common
		n := failed
		if i < len(v.keys) {
			n += v.counts[key]
		}
		if ahead := n - v.counts[v.keys[winner]]; i != winner && failed > 0 && (ahead > 0 || ahead == 0 && (early || i < winner)) {
			score = eval.Score{Metric: majority, Den: 1, Unscored: "a replicate that failed decides"}
		}
	}
	if dst = append(dst, score); v.n < 2 {
		return dst
	}
	return append(dst, eval.Score{Metric: consistency, Num: float64(agreeing), Den: float64(v.n * (v.n - 1) / 2)})
}
