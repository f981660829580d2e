package report

import (
	"cmp"
	_ "embed"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/template"

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
	return put(w, "the verdict as Markdown", m.b.String())
}

// evidence says what a verdict rests on beside its rules: the accuracy of judges that are
// used, and blind validations.
func evidence(v *gate.Verdict) (list []string) {
	for _, j := range v.Judges {
		if !j.Failed { // else a warning says so
			list = append(list, "judge "+j.Name+": "+j.Effect+"; interval of the accuracy "+share.Interval(j.Low, j.High, false))
		}
	}
	return append(list, prefixed("blind validation ", v.Blind)...)
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
		if c.Kind != gate.Require {
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

//go:embed junit.tmpl
var junitText string

// A junitSuite is what a JUnit file has, as the schemas of Jenkins and Surefire have it.
type junitSuite struct {
	Name  string
	Cases []junitCase
	Out   []string
}

type junitCase struct {
	Name, Message string
	Element       string // failure, error, skipped, or – of one that passes
	State         gate.State
	Text          []string
}

// Count counts the cases with an element.
func (s junitSuite) Count(element string) int {
	return len(filter(s.Cases, func(c junitCase) bool { return c.Element == element }))
}

// GateJUnit writes a verdict as JUnit XML: a test case for each rule and one for the
// gate as a whole. A rule that does not hold is a failure. One that cannot be decided is
// an error and not skipped, which CI systems show as good. Diagnoses, which decide nothing, and
// an outcome that does not apply are skipped. The report must have a verdict.
func GateJUnit(w io.Writer, r Report) error {
	b := newBuilder(r)
	v := newVerdict(b.v)
	element := func(s gate.State) string {
		return cmp.Or(map[gate.State]string{gate.Pass: "–", gate.Fail: "failure"}[s], "error")
	}
	suite := junitSuite{Name: b.a.Study.Name, Out: slices.Concat([]string{b.about()}, evidence(b.v), b.warnings())}
	for _, c := range v.Conditions {
		word, _ := conditionState(c, v.Outcome)
		is := element(c.State)
		if c.Kind == gate.Diagnosis || c.Kind == gate.Outcome && c.State == gate.Fail {
			is = "skipped"
		}
		said := strings.Join(append(nonEmpty(c.Reason), values(c)...), "; ")
		suite.Cases = append(suite.Cases, junitCase{c.Name, strings.TrimSuffix(word+": "+said, ": "), is, c.State,
			slices.Concat([]string{c.That}, values(c), c.Warnings)})
	}
	message := strings.Join(append([]string{v.line()}, v.Reasons...), "; ")
	text := v.Reasons
	if v.State == gate.Pass { // its message is not shown
		text = []string{v.line()}
	}
	suite.Cases = append(suite.Cases, junitCase{"gate", message, element(v.State), v.State, text})
	return written("the verdict as JUnit XML", junit().Execute(w, suite))
}

// junit is the template of a JUnit file.
var junit = sync.OnceValue(func() *template.Template {
	escaped := func(text string) string {
		var b strings.Builder
		xml.EscapeText(&b, []byte(text)) // to a Builder, which takes all
		return b.String()
	}
	return template.Must(template.New("junit").Funcs(template.FuncMap{
		"line":  func(text string) string { return escaped(say.PlainLine(text)) },
		"lines": func(list []string) string { return escaped(say.PlainLines(strings.Join(list, "\n"))) },
	}).Parse(junitText))
})

// Limits of GitHub: annotations of one kind that a step shows, bytes of a job summary, and
// characters of a comment.
const (
	mostAnnotations = 10
	MostSummary     = 1 << 20
	mostComment     = 65_536 - 512 // the action adds a mark
)

// GateGitHub writes a verdict as workflow commands of GitHub Actions: an annotation for what
// qualifies the verdict, and one for each rule that does not hold, ten at most.
func GateGitHub(w io.Writer, r Report) error {
	b := newBuilder(r)
	v := alone(b.v)
	var lines []string
	add := func(kind, title, message string) {
		lines = append(lines, fmt.Sprintf("::%s title=%s::%s", kind, property(title), data(message)))
	}
	for _, c := range b.v.Conditions {
		message := strings.Join(slices.Concat([]string{c.That}, values(c), nonEmpty(c.Reason)), "; ")
		switch {
		case c.Kind == gate.Diagnosis || c.Kind == gate.Outcome && c.Name != b.v.Outcome:
		case c.State == gate.Fail:
			add("error", "scruple: fail: "+c.Name, message)
		case c.State == gate.Undecided:
			add("warning", "scruple: undecided: "+c.Name, message)
		}
	}
	if len(lines) == 0 && b.v.State != gate.Pass {
		add("error", "scruple: "+v.line(), strings.Join(append(slices.Clone(v.Reasons), v.Advice), " "))
	}
	if len(lines) == 0 {
		lines = []string{"::notice title=scruple::" + data(v.line())}
	}
	if len(v.Warnings) > 0 {
		lines = slices.Insert(lines, 0, "::warning title="+property("scruple: "+v.line())+"::"+ofData.Replace(say.PlainLines(strings.Join(v.Warnings, "\n"))))
	}
	if left := len(lines) - mostAnnotations; left > 0 {
		lines = append(lines[:mostAnnotations-1], fmt.Sprintf("::error title=scruple::%d more rules do not hold: see the job summary", left+1))
	}
	return put(w, "the verdict for GitHub", strings.Join(lines, "\n")+"\n")
}

var (
	ofData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	ofProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func data(s string) string     { return ofData.Replace(say.PlainLine(s)) }
func property(s string) string { return ofProperty.Replace(say.PlainLine(s)) }
