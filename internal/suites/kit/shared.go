package kit

import (
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

// Unjoin splits an error made by errors.Join.
func Unjoin(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// AddAll adds an error, or each of the errors joined in it.
func AddAll(errs *study.Errors, err error) {
	for _, e := range Unjoin(err) {
		errs.Add(e)
	}
}

// ScoreTrials appends the scores of each trial of a case that did not fail, as
// score gives them, and sets their replicate.
func ScoreTrials(dst []eval.Score, c eval.Case, score func(dst []eval.Score, t *eval.Judged) []eval.Score) []eval.Score {
	for t := range c.Answered() {
		from := len(dst)
		dst = score(dst, t)
		for i := range dst[from:] {
			dst[from+i].Replicate = t.Trial.Replicate
		}
	}
	return dst
}

// Blocks are the tables that have rows, for a report.
func Blocks(tables ...eval.Table) (blocks []eval.Block) {
	for i := range tables {
		if len(tables[i].Rows) > 0 {
			blocks = append(blocks, eval.Block{Table: &tables[i]})
		}
	}
	return blocks
}

// Yes is a score of a metric of yes and no.
func Yes(metric string, is bool) eval.Score {
	return eval.Score{Metric: metric, Num: Indicator(is), Den: 1}
}

// Unscored is a score that is missing.
func Unscored(metric, why string) eval.Score {
	return eval.Score{Metric: metric, Den: 1, Unscored: why}
}

// Indicator is 1 if something holds, else 0.
func Indicator(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
