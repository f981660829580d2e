package kit

import (
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Votes counts the answers of the replicates of a case by a key that equal answers share;
// the key of an answer that cannot be read is "", which agrees with none.
type Votes struct {
	n       int
	answers []vote // in order of appearance
}

// A vote is an answer with the replicates that gave it.
type vote struct {
	key   string
	n     int
	first *eval.Judged
}

// Add adds the answer of a replicate that did not fail.
func (v *Votes) Add(key string, t *eval.Judged) {
	i := slices.IndexFunc(v.answers, func(a vote) bool { return a.key == key })
	if i < 0 {
		i = len(v.answers)
		v.answers = append(v.answers, vote{key: key, first: t})
	}
	v.answers[i].n++
	v.n++
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
	for i, a := range v.answers {
		if a.key != "" {
			agreeing += a.n * (a.n - 1) / 2
		}
		if a.n > v.answers[winner].n {
			winner = i
		}
	}
	first, most := v.answers[winner].first, v.answers[winner].n
	score := correct(majority, first)
	failed := len(c.Trials) - v.n
	early := slices.ContainsFunc(c.Trials, func(t eval.Judged) bool {
		return t.Outcome.Kind == eval.Failed && t.Trial.Replicate < first.Trial.Replicate
	})
	for i, a := range append(v.answers, vote{}) { // the failed ones may have another answer in common
		if ahead := failed + a.n - most; i != winner && failed > 0 && (ahead > 0 || ahead == 0 && (early || i < winner)) {
			score = eval.Score{Metric: majority, Den: 1, Unscored: "a replicate that failed decides"}
		}
	}
	if dst = append(dst, score); v.n < 2 {
		return dst
	}
	return append(dst, eval.Score{Metric: consistency, Num: float64(agreeing), Den: float64(v.n * (v.n - 1) / 2)})
}
