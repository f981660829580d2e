package kit

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
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

// HoleCriteria is where a prompt of the study has the criteria.
const HoleCriteria = "{{CRITERIA}}"

// List has the criteria as a block of a prompt, "" without any.
func (j Judging) List() string {
	if len(j.Criteria) == 0 {
		return ""
	}
	return "Criteria:\n- " + strings.Join(j.Criteria, "\n- ") + "\n\n"
}

// Asked are the criteria that the judge sees: a prompt of the study has a hole for them.
func (j Judging) Asked() []string {
	if j.Prompt != "" && !strings.Contains(j.Prompt, HoleCriteria) {
		return nil
	}
	return j.Criteria
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
	return fmt.Sprintf("the judge's answer does not begin with a number from %d to %d, or has others too", s.Min, s.Max)
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

// alone matches a line that is nothing but a verdict, or its announcement before it.
var alone = regexp.MustCompile("(?im)^[\\s*_#`\"]*(?:(?:(?:final|overall) )?(?:verdict|answer|grade|score)[*_`]*:[ \t*_`]*)?(-?\\w+)[\\s*_#`\".!]*$")

// Settled is the verdict that a reply begins with. A line below that is nothing but a verdict has to
// say the same: a judge that contradicts itself says nothing.
func Settled(reply string, begins func(string) (pass, ok bool)) (pass, ok bool) {
	pass, ok = begins(reply)
	for _, m := range alone.FindAllStringSubmatch(reply, -1) {
		if again, is := begins(m[1]); is && again != pass {
			return false, false
		}
	}
	return pass, ok
}

// Passes reads a reply, after its reasoning.
func (s *Scale) Passes(data []byte) (pass, ok bool) {
	return Settled(text.Ended(string(data)).Text, s.begins)
}

func (s *Scale) begins(reply string) (pass, ok bool) {
	word := strings.TrimLeft(strings.ToUpper(reply), " \t\r\n*_#`\"")
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

// ofOneCall reports whether an error concerns one call and does not end the
// run. Only errors of the engine can; any other ends the run.
func ofOneCall(err error) bool {
	var call interface {
		error
		Fatal() bool
	}
	return errors.As(err, &call) && !call.Fatal()
}
