package report

import (
	"encoding/xml"
	"io"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/say"
)

// GateMarkdown writes a verdict for the summary of a CI job: its rules in a table and
// a line for each warning. The report must have a verdict.
func GateMarkdown(w io.Writer, r Report) error {
	b := newBuilder(r)
	v := b.verdict()
	var m markdown
	m.para(v.Tone, v.line())
	m.para(plain, b.about(), v.Advice)
	m.list("-", slices.Concat(v.Reasons, evidence(b.v)))
	m.rules(v)
	if warnings := b.warnings(); len(warnings) > 0 {
		m.para(unsure, "Warnings: "+say.Count(len(warnings)))
		m.list("!", warnings)
	}
	_, err := io.WriteString(w, m.b.String())
	return written("the verdict as Markdown", err)
}

func newBuilder(r Report) builder {
	return builder{a: r.Analysis, v: r.Verdict, ci: confidence(r.Analysis.Study.Alpha), to: r.Link}
}

// evidence says what a verdict rests on beside its rules: the accuracy of judges that are
// used, and blind validations.
func evidence(v *gate.Verdict) (list []string) {
	for _, j := range v.Judges {
		if !j.Failed { // else a warning says so
			list = append(list, "judge "+j.Name+": "+j.Effect+"; interval of the accuracy "+share.Interval(j.Low, j.High, false))
		}
	}
	for _, by := range v.Blind {
		list = append(list, "blind validation "+by)
	}
	return list
}

// about names the study and its run.
func (b *builder) about() string {
	return strings.TrimSpace(b.a.Study.Name+" "+b.a.Study.Version) + ": " + b.progress()
}

// progress says how many trials of the run are done.
func (b *builder) progress() string {
	r := b.a.Run
	return say.Plural(r.Items, "item", "items") + "; " + say.Count(r.Done) + " of " + say.Plural(r.Planned, "trial", "trials") + " done, " + say.Count(r.Failed) + " failed; run " + r.ID
}

// Table has a row for each value that a rule read, or is nil without rules.
func (v *verdict) Table() *table {
	t := newTable("Rules of the gate", "Rule", "Result", "Value", "Threshold", v.CI, ">n")
	for _, c := range v.Conditions {
		word, tone := conditionState(c, v.Outcome)
		rule, result := words(c.Name), cell{Text: word, Tone: tone, Refs: t.Notes.refs(nonEmpty(c.Reason))}
		if c.Kind != "require" {
			rule.Detail = []string{c.Kind}
		}
		list := c.Terms()
		if slices.ContainsFunc(list, func(term gate.Term) bool { return term.Threshold == "" }) {
			rule.Detail = append(rule.Detail, c.That)
		}
		if len(list) == 0 {
			t.add(rule, result, words(c.That), cell{}, cell{}, cell{})
		}
		for _, term := range list {
			interval := ""
			if term.Interval != nil {
				interval = strings.Join(strings.Fields(strings.Replace(intervalOf(*term.Interval), v.CI, "", 1)), " ")
			}
			t.add(rule, result, words(used(term.Used, c, "")), words(strings.ReplaceAll(term.Threshold, "-", say.Minus)), words(interval), words(observations(term.Used)))
			rule, result = cell{}, cell{}
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// The elements of a JUnit file, as the schemas of Jenkins and Surefire have them.
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		junitCounts
		Suite junitSuite `xml:"testsuite"`
	}
	junitCounts struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Time     string `xml:"time,attr"`
	}
	junitSuite struct {
		junitCounts
		Cases []junitCase `xml:"testcase"`
		Out   string      `xml:"system-out,omitempty"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
		Skipped *junitProblem `xml:"skipped"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// GateJUnit writes a verdict as JUnit XML: a test case for each rule and one for the
// gate as a whole. A rule that does not hold is a failure. One that cannot be decided is
// an error and not skipped, which CI systems show as good. An outcome that does not
// apply is skipped. The report must have a verdict.
func GateJUnit(w io.Writer, r Report) error {
	b := newBuilder(r)
	v := newVerdict(b.v)
	suite := junitSuite{junitCounts: junitCounts{Name: say.PlainLine(b.a.Study.Name), Time: "0"}}
	add := func(name string, state gate.State, skipped bool, message string, text []string) {
		c := junitCase{Class: suite.Name, Name: say.PlainLine(name), Time: "0"}
		p := &junitProblem{Message: say.PlainLine(message), Type: string(state), Text: say.PlainLines(strings.Join(text, "\n"))}
		suite.Tests++
		switch {
		case skipped:
			c.Skipped = &junitProblem{Message: p.Message}
			suite.Skipped++
		case state == gate.Fail:
			c.Failure = p
			suite.Failures++
		case state != gate.Pass:
			c.Error = p
			suite.Errors++
		default:
			c.Out = p.Text
		}
		suite.Cases = append(suite.Cases, c)
	}
	for _, c := range v.Conditions {
		word, _ := conditionState(c, v.Outcome)
		inapplicable := c.Kind == "outcome" && c.State == gate.Fail
		said := strings.Join(append(nonEmpty(c.Reason), values(c)...), "; ")
		add(c.Name, c.State, inapplicable, strings.TrimSuffix(word+": "+said, ": "), slices.Concat([]string{c.That}, values(c), c.Warnings))
	}
	add("gate", v.State, false, strings.Join(append([]string{v.line()}, v.Reasons...), "; "), v.Reasons)
	suite.Out = say.PlainLines(strings.Join(slices.Concat([]string{b.about()}, evidence(b.v), b.warnings()), "\n"))
	all := junitSuites{junitCounts: suite.junitCounts, Suite: suite}
	all.Name = "scruple"
	text, err := xml.MarshalIndent(all, "", "  ")
	if err == nil {
		_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	}
	return written("the verdict as JUnit XML", err)
}
