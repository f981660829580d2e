package kit

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/measure"
	"github.com/scruple-eval/scruple/internal/text"
)

// The arms that measure a judge: right answers, which must pass, and wrong ones, which must
// fail. A suite with other cases names its own.
const (
	CalibrationRight = "calibration:gold"
	CalibrationWrong = "calibration:other"
)

// Count counts a case whose right verdict is must; missing says why the judge gave none.
func Count(must, pass bool, missing string) Counted {
	n := Counted{Pass: must}
	switch {
	case missing != "":
		n.Missing = 1
	case pass == must:
		n.Right, n.Cases = 1, 1
	default:
		n.Cases = 1
	}
	if n.Right == 0 {
		n.Wrong = []eval.WrongCase{{Want: passWord(must), Said: missing}}
	}
	return n
}

func passWord(pass bool) string {
	if pass {
		return "pass"
	}
	return "fail"
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
	said := fmt.Sprintf("the judge was right on %g of %g %s (%.1f %%)%s", right, cases, noun, 100*right/cases, ofSet(m))
	if m.Missing > 0 {
		said += fmt.Sprintf(" and gave no verdict on %d more", m.Missing)
	}
	return said
}

// Unmeasured describes a measurement without a case with a verdict; nothing says why
// there could not be one.
func Unmeasured(m eval.Measurement, noun, nothing string) string {
	if m.Missing > 0 {
		return fmt.Sprintf("the judge gave no verdict on any of %d %s%s", m.Missing, noun, ofSet(m))
	}
	return "the judge could not be calibrated, because " + nothing
}

func ofSet(m eval.Measurement) string {
	if m.On == "" {
		return ""
	}
	return " of " + m.On
}

// A Yardstick says which judges are trusted, and how that is said.
type Yardstick struct {
	Noun      string  // of the cases
	Nothing   string  // why there could not be one
	Least     float64 // accuracy for verdicts to count
	Otherwise string  // what becomes of the verdicts of another judge
	Remedy    string  // what to do about a wrong case, beside what helps in every suite; may be ""
}

// byCoin is the share of coins that may do as well as a judge whose verdicts count.
const byCoin = 0.05

// BetterThanChance reports whether a judge tells right from wrong better than a coin. If even
// a judge without an error could not be told from one on so few cases, it must have none. Cases
// without a verdict count as errors: one who is silent where it should say no is as bad as one who
// always says yes.
func BetterThanChance(known []eval.Known) bool {
	var n [2][2]int // of cases that must fail and pass: right, all
	for _, k := range known {
		of := &n[int(Indicator(k.Pass))]
		of[0], of[1] = of[0]+k.Right, of[1]+k.Cases+k.Missing
	}
	p, least := measure.ByChance(n[1][0], n[1][1], n[0][0], n[0][1])
	return p <= max(byCoin, least)+1e-9
}

// Trust says what the accuracy of a judge means for its verdicts, which count or do not. A
// judge that nothing measures is trusted. One that is no better than chance never is.
func Trust(judge string, m eval.Measurement, y Yardstick) (trusted bool, c eval.Calibration) {
	c = eval.Calibration{Judge: judge, Measurement: m, Tables: CalibrationTables(m, strings.TrimSpace("reword the judge (judge.prompt, judge.criteria) or take another (judge_model). "+y.Remedy))}
	right, cases := m.Totals()
	switch {
	case cases == 0 && m.Missing > 0:
		c.Failed, c.Effect = true, Unmeasured(m, y.Noun, y.Nothing)+": "+y.Otherwise
	case cases == 0:
		c.Effect = Unmeasured(m, y.Noun, y.Nothing) + ": its verdicts count"
	case right/cases < y.Least:
		c.Failed, c.Effect = true, fmt.Sprintf("%s, below %g %%: %s%s", Accuracy(m, y.Noun), 100*y.Least, y.Otherwise, firstWrong(m))
	case m.Known == nil && right/(cases+float64(m.Missing)) <= 0.5 || m.Known != nil && !BetterThanChance(m.Known):
		said := Accuracy(m, y.Noun) + ", no better than chance"
		if m.Missing > 0 {
			said += " if that was wrong"
		}
		c.Failed, c.Effect = true, said+": "+y.Otherwise+firstWrong(m)
	default:
		c.Effect = Accuracy(m, y.Noun) + ": its verdicts count"
	}
	return !c.Failed, c
}

// firstWrong says where the wrong verdicts of a judge can be seen.
func firstWrong(m eval.Measurement) string {
	if len(m.Wrong) == 0 {
		return ""
	}
	t := m.Wrong[0]
	return fmt.Sprintf("; see the first with `scruple show STUDY %s %s`", t.Item, t.Arm)
}

// CalibrationTables count the right verdicts of a judge on each kind of case, and list the
// cases that it got wrong. remedy is what to do about a judge that is wrong.
func CalibrationTables(m eval.Measurement, remedy string) (tables []eval.Table) {
	const most, long = 100, 160
	if len(m.Known) > 0 {
		t := eval.Table{Name: "judge_accuracy", Title: "How often the judge was right", Columns: []string{"cases", "must", "right", "of", "no verdict"}}
		for _, k := range m.Known {
			t.Add(k.Arm, passWord(k.Pass), k.Right, k.Cases, k.Missing)
		}
		tables = append(tables, t)
	}
	if len(m.Wrong) > 0 {
		t := eval.Table{Name: "judge_calibration", Title: "Cases that the judge got wrong", Columns: []string{"item", "arm", "replicate", "the judge must say", "the judge said", "answer"},
			Note: "See a case with `scruple show STUDY ITEM ARM`. If the judge is right about it, mend the case; if not, " + remedy}
		for _, w := range m.Wrong[:min(most, len(m.Wrong))] {
			t.Add(w.Item, w.Arm, w.Replicate, w.Want, text.Shorten(w.Said, long), text.Shorten(w.Answer, long))
		}
		if n := len(m.Wrong) - most; n > 0 {
			t.Note += fmt.Sprintf(" %d more are not listed.", n)
		}
		tables = append(tables, t)
	}
	return tables
}

// addKnown adds a case to those of its arm and right verdict.
func addKnown(list []eval.Known, arm string, n Counted) []eval.Known {
	if n.Cases+n.Missing == 0 {
		return list
	}
	i := slices.IndexFunc(list, func(k eval.Known) bool { return k.Arm == arm && k.Pass == n.Pass })
	if i < 0 {
		i = len(list)
		list = append(list, eval.Known{Arm: arm, Pass: n.Pass})
	}
	k := &list[i]
	k.Right, k.Cases, k.Missing = k.Right+n.Right, k.Cases+n.Cases, k.Missing+n.Missing
	return list
}
