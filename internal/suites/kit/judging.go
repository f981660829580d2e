package kit

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/measure"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Judging words the judge of a study, and names the cases that it is measured on. Its
// criteria are put before what is judged.
type Judging struct {
	Prompt   string    `json:"prompt,omitempty" jsonschema:"description=Text of the judge\\, with holes for what it sees\\, instead of the built-in one: the suite's page lists them"`
	Criteria []string  `json:"criteria,omitempty" jsonschema:"description=Further criteria\\, which the judge is shown as a list"`
	Scale    *Scale    `json:"scale,omitempty" jsonschema:"description=Grades instead of yes and no"`
	Cases    *CaseFile `json:"cases,omitempty" jsonschema:"description=Answers that people have judged\\, on which the judge is measured"`
}

// A Scale is what a judge answers with instead of yes and no.
type Scale struct {
	Min  int `json:"min" jsonschema:"required,description=The worst grade"`
	Max  int `json:"max" jsonschema:"required,description=The best grade"`
	Pass int `json:"pass" jsonschema:"required,description=The lowest grade with which an answer passes"`
}

// Lacks says what the judge of a suite cannot have, and why; "" if it can.
type Lacks struct{ Scale, Cases string }

// Words is the part of the key that the judge is asked with.
func (j Judging) Words() Judging {
	j.Cases = nil
	return j
}

// Own reports whether the study words its judge, so that what the judge says depends on it.
func (j Judging) Own() bool { return j.Prompt != "" || j.Criteria != nil || j.Scale != nil }

// Check reports the holes of a prompt that are not there once, a scale without two sides,
// and what the suite lacks.
func (j Judging) Check(f *study.File, holes []string, lacks Lacks, errs *study.Errors) {
	CheckHoles(f, "judge.prompt", j.Prompt, holes, errs)
	switch k := j.Scale; {
	case k == nil:
	case lacks.Scale != "":
		errs.Add(f.Errorf("judge.scale", "remove it: %s", lacks.Scale))
	case !(k.Min < k.Pass && k.Pass <= k.Max):
		errs.Add(f.Errorf("judge.scale", "pass is %d: want a grade above min (%d) and up to max (%d)", k.Pass, k.Min, k.Max))
	}
	if j.Cases != nil && lacks.Cases != "" {
		errs.Add(f.Errorf("judge.cases", "remove it: %s", lacks.Cases))
	}
}

// CheckHoles reports the holes of a prompt of a judge that are not there once.
func CheckHoles(f *study.File, key, prompt string, holes []string, errs *study.Errors) {
	for _, hole := range holes {
		if n := strings.Count(prompt, hole); prompt != "" && n != 1 {
			errs.Add(f.Errorf(key, "want %s once, got it %s: without it the judge does not see what it judges", hole, text.Plural(n, "time", "times")))
		}
	}
}

// List has the criteria as a block of a prompt, "" without any.
func (j Judging) List() string {
	if len(j.Criteria) == 0 {
		return ""
	}
	return "Criteria:\n- " + strings.Join(j.Criteria, "\n- ") + "\n\n"
}

// Ask is the end of a prompt; "" without a scale.
func (s *Scale) Ask() string {
	if s == nil {
		return ""
	}
	return "Begin your reply with " + s.Number() + "."
}

// Number is the grade that a prompt asks for.
func (s *Scale) Number() string {
	return fmt.Sprintf("a whole number from %d (worst) to %d (best)", s.Min, s.Max)
}

// Unread is the error of a reply without a grade; otherwise is that without a scale.
func (s *Scale) Unread(otherwise string) string {
	if s == nil {
		return otherwise
	}
	return fmt.Sprintf("the judge's answer does not begin with a number from %d to %d", s.Min, s.Max)
}

// Word is a grade that passes or does not, as a simulated judge says it.
func (s *Scale) Word(pass bool) string {
	words := [2]string{"FAIL", "PASS"}
	if s != nil {
		words = [2]string{strconv.Itoa(s.Min), strconv.Itoa(s.Max)}
	}
	return words[int(Indicator(pass))]
}

// A fraction, a range and a word such as 1st are no grades: they are not cut to one. Other
// scripts write a word behind a number without a space.
var (
	grade   = regexp.MustCompile(`^(-?\d+)(?:$|[^\p{Latin}\pN.,–-]|[.,–-](?:$|\D))`)
	noGrade = regexp.MustCompile(`^-?\d+(?:[ \t]*[–—−-][ \t]*\d+[ \t]*(?:$|[^\pL\pN \t])|[ \t]+(?:OR|TO)[ \t]+\d|[ \t]+\d+[ \t]*/[ \t]*\d)`)
)

// A verdict is a word of its own, and not one of two that are joined.
var (
	passed = regexp.MustCompile(`^(?:PASS(?:ED|ES)?|(FAIL(?:ED|S|URE)?))(?:$|[^\p{Latin}\d])`)
	joined = regexp.MustCompile(`^[A-Z]+[\s*_` + "`" + `"]*(?:/|OR\s)[\s*_` + "`" + `"]*(?:PASS|FAIL)`)
)

// Passes reads the beginning of a reply, after its reasoning.
func (s *Scale) Passes(data []byte) (pass, ok bool) {
	word := strings.TrimLeft(strings.ToUpper(text.Ended(string(data)).Text), " \t\r\n*_#`\"")
	if s != nil {
		m := grade.FindStringSubmatch(word)
		if m == nil || noGrade.MatchString(word) {
			return false, false
		}
		n, err := strconv.Atoi(m[1])
		return n >= s.Pass, err == nil && n >= s.Min && n <= s.Max
	}
	m := passed.FindStringSubmatch(word)
	if m == nil || joined.MatchString(word) {
		return false, false
	}
	return m[1] == "", true
}

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
			t.Row(eval.Text(k.Arm), eval.Text(passWord(k.Pass)), eval.Count(k.Right), eval.Count(k.Cases), eval.Count(k.Missing))
		}
		tables = append(tables, t)
	}
	if len(m.Wrong) > 0 {
		t := eval.Table{Name: "judge_calibration", Title: "Cases that the judge got wrong", Columns: []string{"item", "arm", "replicate", "the judge must say", "the judge said", "answer"},
			Note: "See a case with `scruple show STUDY ITEM ARM`. If the judge is right about it, mend the case; if not, " + remedy}
		for _, w := range m.Wrong[:min(most, len(m.Wrong))] {
			t.Row(eval.Text(w.Item), eval.Text(w.Arm), eval.Count(w.Replicate), eval.Text(w.Want), eval.Text(text.Shorten(w.Said, long)), eval.Text(text.Shorten(w.Answer, long)))
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
