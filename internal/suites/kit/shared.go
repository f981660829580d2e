package kit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model/simulated"
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

// AskJudge asks a model for a verdict. A call that fails leaves a verdict with its error, and so
// does an answer of which check says what is wrong; an error that concerns the run is returned.
// check may replace the data of the verdict. It may be nil.
func AskJudge(ctx context.Context, ask eval.Asker, step string, r eval.Request, check func(v *eval.Verdict) string) ([]eval.Verdict, error) {
	v := eval.Verdict{Step: step, Source: eval.ByModel, By: r.Model}
	response, err := ask.Ask(ctx, step, r)
	answer := response.Answer(r.Force)
	switch {
	case err != nil && !ofOneCall(err):
		return nil, err
	case err != nil:
		v.Err = err.Error()
	case response.Stop == eval.StopRefused:
		v.Err = "the judge declined"
	case answer == "" && response.Stop == eval.StopLength:
		v.Err = "the judge reached its token limit without output"
	default:
		if v.Data = []byte(answer); check != nil {
			v.Err = check(&v)
		}
	}
	return []eval.Verdict{v}, nil
}

// Counted is what an answer of a calibration arm says of the judge. Pass is the right verdict.
type Counted struct {
	Right, Cases, Missing int
	Pass                  bool
	Wrong                 []eval.WrongCase // what the judge must say, and, if it is not all of the verdict, what it said
}

// Measure counts how often a judge was right, per item in the order of their ids: on the
// answers that count knows, and on the known cases of the study. known or count may be nil.
func Measure(cases iter.Seq2[eval.Case, error], known CaseJudge, count func(eval.Case, *eval.Judged) (Counted, error)) (m eval.Measurement, err error) {
	byItem := map[string]Counted{}
	for c, err := range cases {
		if err != nil {
			return m, err
		}
		all, first := byItem[c.Item], true
		for t := range c.Answered() {
			n, err := countOf(c, t, known, count)
			if err != nil {
				return m, err
			}
			all.Right, all.Cases, m.Missing = all.Right+n.Right, all.Cases+n.Cases, m.Missing+n.Missing
			if first {
				m.Known = addKnown(m.Known, c.Arm, n)
			}
			first = false
			for _, w := range n.Wrong {
				w.Trial, w.Answer = t.Trial, string(t.Outcome.Data)
				if w.Said == "" {
					w.Said = saidIn(t.Verdicts)
				}
				m.Wrong = append(m.Wrong, w)
			}
		}
		byItem[c.Item] = all
	}
	slices.SortFunc(m.Known, func(x, y eval.Known) int { return strings.Compare(x.Arm+passWord(x.Pass), y.Arm+passWord(y.Pass)) })
	for _, item := range slices.Sorted(maps.Keys(byItem)) {
		if n := byItem[item]; n.Cases > 0 {
			m.Right, m.Cases = append(m.Right, float64(n.Right)), append(m.Cases, float64(n.Cases))
		}
	}
	return m, nil
}

// countOf counts an answer as a known case or as count does.
func countOf(c eval.Case, t *eval.Judged, known CaseJudge, count func(eval.Case, *eval.Judged) (Counted, error)) (Counted, error) {
	if known != nil {
		if k, has, own := known.Known().caseOf(c.Item, c.Arm); has {
			pass, missing := known.CaseVerdict(k, t.Verdicts)
			return Count(k.Pass, pass, missing), nil
		} else if own {
			return Counted{}, nil
		}
	}
	if count == nil {
		return Counted{}, nil
	}
	return count(c, t)
}

// saidIn is what a judge said of an answer.
func saidIn(vs []eval.Verdict) string {
	var said []string
	for _, v := range vs {
		if v.Source == eval.ByModel {
			said = append(said, string(v.Data))
		}
	}
	return strings.Join(said, " ")
}

// Accuracy describes a measurement; noun names its cases. There is one with a verdict.
func Accuracy(m eval.Measurement, noun string) string {
	right, cases := m.Totals()
	said := fmt.Sprintf("the judge was right on %g of %g %s (%.1f %%)%s", right, cases, noun, 100*right/cases, of(m))
	if m.Missing > 0 {
		said += fmt.Sprintf(" and gave no verdict on %d more", m.Missing)
	}
	return said
}

// Unmeasured describes a measurement without a case with a verdict; nothing says why
// there could not be one.
func Unmeasured(m eval.Measurement, noun, nothing string) string {
	if m.Missing > 0 {
		return fmt.Sprintf("the judge gave no verdict on any of %d %s%s", m.Missing, noun, of(m))
	}
	return "the judge could not be calibrated, because " + nothing
}

func of(m eval.Measurement) string {
	if m.On == "" {
		return ""
	}
	return " of " + m.On
}

// ofOneCall reports whether an error concerns one call and does not end the
// run. Only errors of the engine can; any other ends the run.
func ofOneCall(err error) bool {
	var call interface {
		error
		Fatal() bool
	}
	return errors.As(err, &call) && !call.Fatal()
}

// SimulatedAnswer is the payload that gives a simulated model a right answer
// and a wrong one.
func SimulatedAnswer(right, wrong string) json.RawMessage {
	return simulated.Encode(simulated.Sheet{Parts: []simulated.Part{{Right: right, Alternatives: map[string]string{simulated.Wrong: wrong, simulated.Miss: "I do not know."}}}})
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
