package atoms

import (
	"fmt"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/atoms/graph"
	"github.com/scruple-eval/scruple/internal/suites/atoms/okf"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// An assessment is what a trial wrote, parsed again and compared with gold once, for
// scores, tables and exhibits.
type assessment struct {
	*sample
	pred, unrepaired *okf.Base // the same without a repair
	matched          graph.Matching
	compared         graph.Comparison
	issues, repaired []okf.Finding // of the graph, before and after a repair
	points           []point
	judged           []judgement // of each point
	noGraph          string      // why its graph is not known
}

// The metrics of the graph, which an answer that cannot be read does not have.
var graphMetrics = []string{metricErrors, metricRepaired, metricWarnings}

// assess reads a trial; there are no files if the answer was malformed or refused.
func (b *bench) assess(s *sample, t *eval.Judged) *assessment {
	a := &assessment{sample: s}
	if t.Outcome.Kind == eval.OK {
		a.pred, a.unrepaired = load(t.Outcome.Data, b.ontology)
	} else {
		a.pred = okf.Load(nil, nil, b.ontology)
		a.unrepaired, a.noGraph = a.pred, fmt.Sprintf("the answer is %s: its graph is not known", t.Outcome.Kind)
	}
	a.matched = graph.Match(s.gold, a.pred)
	a.compared = graph.Compare(s.gold, a.pred, a.matched)
	a.issues = graph.Integrity(a.unrepaired)
	if a.repaired = a.issues; a.unrepaired != a.pred {
		a.repaired = graph.Integrity(a.pred)
	}
	a.points = s.points(a.pred, a.matched)
	for i := range a.points {
		a.judged = append(a.judged, b.judgement(&a.points[i], t.Verdicts))
	}
	return a
}

// Score scores what was written: the files of each trial, parsed again.
func (b *bench) Score(dst []eval.Score, c eval.Case) []eval.Score {
	s := b.Datum(c.Item)
	if s == nil {
		return dst
	}
	return kit.ScoreTrials(dst, c, func(dst []eval.Score, t *eval.Judged) []eval.Score { return b.assess(s, t).score(dst) })
}

func (a *assessment) score(dst []eval.Score) []eval.Score {
	first := len(dst)
	dst = a.scoreGraph(dst)
	dst = a.scoreFiles(dst)
	dst = a.scoreClaims(dst)
	return scoreMacro(dst, dst[first:])
}

// scoreMacro scores a trial by its own sums, for macro averages.
func scoreMacro(dst, scores []eval.Score) []eval.Score {
	own := pool(scores)
	for _, metric := range pooledMetrics {
		unscored := ""
		for _, s := range scores {
			if s.Metric == metric && s.Unscored != "" {
				unscored = s.Unscored
			}
		}
		sum, ok := own[metric]
		switch {
		case unscored != "":
			dst = append(dst, eval.Score{Metric: macroOf(metric), Den: 1, Unscored: unscored})
		case ok && sum.Den > 0:
			dst = append(dst, eval.Score{Metric: macroOf(metric), Num: sum.Num, Den: sum.Den})
		}
	}
	return dst
}

// pool adds up the scores of each metric; one of an estimator is its value over 1, if it
// has one.
func pool(scores []eval.Score) map[string]eval.Fraction {
	sums, rows := map[string]eval.Fraction{}, map[string][]eval.Row{}
	for _, s := range scores {
		switch of := sums[s.Metric]; {
		case s.Unscored != "":
		case s.Row != nil:
			rows[s.Metric] = append(rows[s.Metric], s.Row)
		default:
			sums[s.Metric] = eval.Fraction{Num: of.Num + s.Num, Den: of.Den + s.Den}
		}
	}
	if x := faithfulness(eval.Once(rows[metricFaithfulness], 0)); x == x {
		sums[metricFaithfulness] = eval.Fraction{Num: x, Den: 1}
	}
	return sums
}

// ratio appends a fraction, unless its denominator is 0.
func ratio(dst []eval.Score, metric, unit string, num, den int) []eval.Score {
	if den == 0 {
		return dst
	}
	return append(dst, eval.Score{Metric: metric, Unit: unit, Num: float64(num), Den: float64(den)})
}

// scoreGraph scores atoms by type and edges by name, whose sums are the micro
// averages.
func (a *assessment) scoreGraph(dst []eval.Score) []eval.Score {
	c := &a.compared
	for _, of := range []struct {
		counts                []graph.Counts
		f1, precision, recall string
	}{{c.Atoms, metricAtomF1, metricAtomPrecision, metricAtomRecall}, {c.Edges, metricEdgeF1, metricEdgePrecision, metricEdgeRecall}} {
		for _, n := range of.counts {
			dst = ratio(dst, of.f1, n.Name, 2*n.True, n.Predicted+n.Gold)
			dst = ratio(dst, of.precision, n.Name, n.True, n.Predicted)
			dst = ratio(dst, of.recall, n.Name, n.True, n.Gold)
		}
	}
	dst = ratio(dst, metricTypes, "", c.Typed, c.Matched)
	if c.Evidence.Gold > 0 {
		dst = ratio(dst, metricEvidence, "", 2*c.Evidence.True, c.Evidence.Predicted+c.Evidence.Gold)
	}
	return dst
}

// scoreFiles scores the files and the integrity of the graph before and after a
// repair.
func (a *assessment) scoreFiles(dst []eval.Score) []eval.Score {
	files, conformant, valid := a.pred.Rates()
	if files == 0 { // nothing emitted is not valid
		files, conformant, valid = 1, 0, 0
	}
	errors, warnings := severities(a.issues)
	after, _ := severities(a.repaired)
	dst = ratio(dst, metricValidity, "", valid, files)
	dst = ratio(dst, metricConformance, "", conformant, files)
	for i, n := range []int{errors, after, warnings} {
		if a.noGraph != "" {
			dst = append(dst, kit.Unscored(graphMetrics[i], a.noGraph))
		} else {
			dst = ratio(dst, graphMetrics[i], "", n, 1)
		}
	}
	return ratio(dst, metricEmitted, "", len(a.pred.Atoms), 1)
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
func (a *assessment) scoreClaims(dst []eval.Score) []eval.Score {
	row := make(eval.Row, 4) // grounded, emitted, covered, gold
	for i, p := range a.points {
		share, loss, at := metricGrounded, metricFabrication, 0
		if p.fromGold {
			share, loss, at = metricCovered, metricOmission, 2
		}
		j := a.judged[i]
		if j.missing {
			none, all := make(eval.Row, 4), make(eval.Row, 4)
			none[at+1], all[at], all[at+1] = 1, 1, 1
			dst = append(dst, eval.Score{Metric: metricFaithfulness, Unit: p.unit, Den: 1 / float64(len(a.points)), Unscored: j.why, Least: none, Most: all},
				eval.Score{Metric: share, Unit: p.unit, Den: 1, Unscored: j.why}, eval.Score{Metric: loss, Unit: p.unit, Den: 1, Unscored: j.why})
			continue
		}
		holds := kit.Indicator(j.holds)
		row[at], row[at+1] = row[at]+holds, row[at+1]+1
		dst = append(dst, eval.Score{Metric: share, Unit: p.unit, Num: holds, Den: 1}, eval.Score{Metric: loss, Unit: p.unit, Num: 1 - holds, Den: 1})
	}
	return append(dst, eval.Score{Metric: metricFaithfulness, Row: row})
}

// Ratings returns whether the judge finds each claim of an answer grounded.
func (b *bench) Ratings(c eval.Case) (list []eval.Rating) {
	s := b.Datum(c.Item)
	if s == nil {
		return nil
	}
	for t := range c.Answered() {
		a := b.assess(s, t)
		for i, p := range a.points {
			if j := a.judged[i]; !p.fromGold && !j.missing {
				list = append(list, eval.Rating{Trial: t.Trial, Unit: p.unit, Yes: j.holds})
			}
		}
	}
	return list
}

// problems names what is wrong with a trial: claims first, then the graph, the files, and
// atoms and edges that are missing or spurious.
func (a *assessment) problems() (list []string) {
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for i, p := range a.points {
		switch j := a.judged[i]; {
		case j.missing || j.holds:
		case p.fromGold:
			say("omitted: %s", brief(p.claim))
		default:
			say("fabricated: %s", brief(p.claim))
		}
	}
	for _, found := range [][]okf.Finding{a.issues, a.pred.Findings()} {
		for _, f := range found {
			if f.Severity == okf.Error {
				say("%s: %s", f.Code, brief(f.Text))
			}
		}
	}
	gold, pred := a.gold.Atoms, a.pred.Atoms
	for i, p := range a.matched.Gold {
		if p < 0 {
			say("missing atom: %s", gold[i].Name())
		}
	}
	for i, g := range a.matched.Pred {
		if g < 0 {
			say("spurious atom: %s", pred[i].Name())
		}
	}
	for _, l := range a.compared.Missing {
		if a.matched.Gold[l.Atom] >= 0 {
			link := gold[l.Atom].Links[l.Link]
			say("missing edge: %s %s %s", gold[l.Atom].Name(), link.Edge, link.Written)
		}
	}
	for _, l := range a.compared.Links {
		if l.State == graph.Spurious && a.matched.Pred[l.Atom] >= 0 {
			link := pred[l.Atom].Links[l.Link]
			say("spurious edge: %s %s %s", pred[l.Atom].Name(), link.Edge, link.Written)
		}
	}
	return list
}
