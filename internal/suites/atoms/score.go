package atoms

import (
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/atoms/graph"
	"github.com/scruple-eval/scruple/internal/suites/atoms/okf"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// Score scores what was written: the files of each trial, parsed again.
func (b *Bench) Score(dst []eval.Score, c eval.Case) []eval.Score {
	s := b.Datum(c.Item)
	if s == nil {
		return dst
	}
	return kit.ScoreTrials(dst, c, func(dst []eval.Score, t *eval.Judged) []eval.Score {
		pred, before := b.written(t)
		first := len(dst)
		dst = scoreGraph(dst, s.gold, pred)
		dst = scoreFiles(dst, pred, before)
		dst = b.scoreClaims(dst, s, pred, t)
		return scoreMacro(dst, dst[first:])
	})
}

// scoreMacro scores a trial by its own sums, for macro averages.
func scoreMacro(dst, scores []eval.Score) []eval.Score {
	for _, metric := range pooledMetrics {
		num, den := 0.0, 0.0
		unscored := ""
		for _, s := range scores {
			switch {
			case s.Metric != metric:
			case s.Unscored != "":
				unscored = s.Unscored
			case s.Row == nil:
				num, den = num+s.Num, den+s.Den
			default:
				if f := faithfulness([]eval.Row{s.Row}); f == f {
					num, den = f, 1
				}
			}
		}
		if unscored != "" {
			dst = append(dst, eval.Score{Metric: macroOf(metric), Den: 1, Unscored: unscored})
			continue
		}
		dst = ratio(dst, macroOf(metric), "", num, den)
	}
	return dst
}

// written parses the files of a trial; there are none if the answer was malformed or
// refused.
func (b *Bench) written(t *eval.Judged) (final, before *okf.Base) {
	if t.Outcome.Kind != eval.OK {
		none := okf.Load(nil, nil, b.ontology)
		return none, none
	}
	return load(t.Outcome.Data, b.ontology)
}

func f1(dst []eval.Score, metric, unit string, n graph.Counts) []eval.Score {
	return ratio(dst, metric, unit, 2*float64(n.True), float64(n.Predicted+n.Gold))
}

// ratio appends a fraction, unless its denominator is 0.
func ratio(dst []eval.Score, metric, unit string, num, den float64) []eval.Score {
	if den == 0 {
		return dst
	}
	return append(dst, eval.Score{Metric: metric, Unit: unit, Num: num, Den: den})
}

// scoreGraph scores atoms by type and edges by name, whose sums are the micro
// averages.
func scoreGraph(dst []eval.Score, gold, pred *okf.Base) []eval.Score {
	c := graph.Compare(gold, pred, graph.Match(gold, pred))
	for _, n := range c.Atoms {
		dst = f1(dst, metricAtomF1, n.Name, n)
		dst = ratio(dst, metricAtomPrecision, n.Name, float64(n.True), float64(n.Predicted))
		dst = ratio(dst, metricAtomRecall, n.Name, float64(n.True), float64(n.Gold))
	}
	for _, n := range c.Edges {
		dst = f1(dst, metricEdgeF1, n.Name, n)
		dst = ratio(dst, metricEdgePrecision, n.Name, float64(n.True), float64(n.Predicted))
		dst = ratio(dst, metricEdgeRecall, n.Name, float64(n.True), float64(n.Gold))
	}
	dst = ratio(dst, metricTypes, "", float64(c.Typed), float64(c.Matched))
	if c.Evidence.Gold > 0 {
		dst = f1(dst, metricEvidence, "", c.Evidence)
	}
	return dst
}

// scoreFiles scores the files and the integrity of the graph before and after a
// repair.
func scoreFiles(dst []eval.Score, pred, before *okf.Base) []eval.Score {
	files, conformant, valid := pred.Rates()
	if files == 0 { // nothing emitted is not valid
		files, conformant, valid = 1, 0, 0
	}
	dst = ratio(dst, metricValidity, "", float64(valid), float64(files))
	dst = ratio(dst, metricConformance, "", float64(conformant), float64(files))
	errors, warnings := severities(graph.Integrity(before))
	after := errors
	if before != pred {
		after, _ = severities(graph.Integrity(pred))
	}
	return append(dst,
		eval.Score{Metric: metricErrors, Num: float64(errors), Den: 1},
		eval.Score{Metric: metricErrorsAfter, Num: float64(after), Den: 1},
		eval.Score{Metric: metricWarnings, Num: float64(warnings), Den: 1},
		eval.Score{Metric: metricEmitted, Num: float64(len(pred.Atoms)), Den: 1})
}

func severities(list []okf.Finding) (errors, warnings int) {
	for _, f := range list {
		if f.Severity == okf.Error {
			errors++
		} else {
			warnings++
		}
	}
	return errors, warnings
}

// scoreClaims scores each claim: emitted ones are grounded or fabricated, gold ones
// covered or omitted. Faithfulness needs the four counts of a trial, also if all are 0.
func (b *Bench) scoreClaims(dst []eval.Score, c *sample, pred *okf.Base, t *eval.Judged) []eval.Score {
	row := make(eval.Row, 4) // grounded, emitted, covered, gold
	points := c.points(pred)
	for _, p := range points {
		share, loss, at := metricGrounded, metricFabrication, 0
		if p.fromGold {
			share, loss, at = metricCovered, metricOmission, 2
		}
		j := b.judgement(c, p, t.Verdicts)
		if j.missing {
			none, all := make(eval.Row, 4), make(eval.Row, 4)
			none[at+1], all[at], all[at+1] = 1, 1, 1
			dst = append(dst, eval.Score{Metric: metricFaithfulness, Unit: p.unit, Den: 1 / float64(len(points)), Unscored: j.why, Least: none, Most: all},
				eval.Score{Metric: share, Unit: p.unit, Den: 1, Unscored: j.why}, eval.Score{Metric: loss, Unit: p.unit, Den: 1, Unscored: j.why})
			continue
		}
		holds := kit.Indicator(j.holds)
		row[at], row[at+1] = row[at]+holds, row[at+1]+1
		dst = append(dst, eval.Score{Metric: share, Unit: p.unit, Num: holds, Den: 1}, eval.Score{Metric: loss, Unit: p.unit, Num: 1 - holds, Den: 1})
	}
	return append(dst, eval.Score{Metric: metricFaithfulness, Row: row})
}
