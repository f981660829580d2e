package report

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Baseline is an earlier run to compare with, for the comment on a pull request.
type Baseline struct {
	Run, Version string
	Study        string // of the run, if it is another one
	Days         int    // that its run began before; below 0 after
	// Incomparable says why there are no changes, "" if there are.
	Incomparable string
	*analyse.Changes
}

// Comment writes the comment on a pull request: the verdict, what changed against a baseline,
// nil without one, and the cost. Its first line is a mark by which the comment of the study file is
// found again. Of the changed items it has as many as a comment has room for.
func Comment(w io.Writer, r Report, file string, base *Baseline) error {
	const few = 20
	for shown := few; ; shown /= 2 {
		body := comment(r, file, base, shown)
		if cut := len(body) > mostComment; cut && shown == 0 { // a hundred rules
			body = strings.ToValidUTF8(body[:mostComment-100], "") + "\n\n</details>\n\nCut: a comment has no more room. The report has all.\n"
		}
		if len(body) <= mostComment {
			_, err := io.WriteString(w, body)
			return written("the comment", err)
		}
	}
}

func comment(r Report, file string, base *Baseline, shown int) string {
	b := newBuilder(r)
	v := b.verdict()
	var m markdown
	m.heading(3, strings.TrimSpace(b.a.Study.Name+": "+v.line()))
	m.para(plain, v.Advice)
	m.list("-", slices.Concat(v.Reasons, evidence(b.v)))
	m.rules(v)
	if base != nil {
		m.baseline(b, base, shown)
	}
	warnings := b.warnings()
	if len(warnings) > 0 {
		m.fold(say.Plural(len(warnings), "warning", "warnings"), func() { m.list("!", warnings) })
	}
	m.para(muted, b.about()+"; "+b.paid())
	return fmt.Sprintf("<!-- scruple: %s -->\n", strings.NewReplacer("--", "- -", ">", " ").Replace(say.PlainLine(file))) +
		reference.ReplaceAllString(strings.ReplaceAll(m.b.String(), "@", "@\u200b"), "$1\u200b$2") // nobody is notified
}

// reference matches the number of an issue, which GitHub links, but in &#58;.
var reference = regexp.MustCompile(`((?:^|[^&])#|(?i:\bGH-))(\d)`)

// paid says what the run cost, and what of it was paid in other runs.
func (b *builder) paid() string {
	u := b.a.Total
	if u == nil || u.Calls+u.JudgeCalls == 0 {
		return "no calls"
	}
	s := calls(u) + ", cost " + spent(u)
	answers, dollars := 0, analyse.Number(0)
	for _, from := range b.a.Run.Reused {
		answers, dollars = answers+from.Answers, dollars+analyse.Number(from.CostUSD)
	}
	if answers > 0 {
		s += ", of which " + say.Plural(answers, "answer", "answers") + " and " + say.USD(dollars) + " were not paid again"
	}
	return s
}

// fold writes a part that is closed at first.
func (m *markdown) fold(title string, write func()) {
	m.b.WriteString("<details><summary>" + inline(title) + "</summary>\n\n")
	write()
	m.b.WriteString("</details>\n\n")
}

func (m *markdown) baseline(b *builder, base *Baseline, shown int) {
	age := "of the same day"
	switch days := base.Days; {
	case days > 0:
		age = say.Plural(days, "day", "days") + " older"
	case days < 0:
		age = say.Plural(-days, "day", "days") + " newer"
	}
	of := ""
	if base.Study != "" {
		of = " of another study, " + base.Study
	}
	m.b.WriteString("**" + inline("Against "+base.Run+of) + "** (" + inline(age+", scruple "+base.Version) + ")\n\n")
	if base.Incomparable != "" {
		m.para(plain, base.Incomparable)
		return
	}
	t := newTable("", "Arm", "Metric", ">Was", ">Now", ">Difference", b.ci, ">n")
	for _, c := range base.Compared.Comparisons {
		metric, ok := base.Compared.Metric(c.Metric)
		if c.Stratum != nil || !ok {
			continue
		}
		_, arm, _ := strings.Cut(c.A, ":")
		scale := metric.Scale()
		interval := scale.Interval(c.Low, c.High, true)
		t.add(words(arm), words(metric.Title), words(scale.Value(c.MeanB, false)), words(scale.Value(c.MeanA, false)), cell{Text: scale.Value(c.Diff, true), Refs: t.Notes.refs(comparisonReasons(c))}, words(interval), words(say.Count(c.Pairs)))
	}
	if len(t.Rows) > 0 {
		m.table(t)
	}
	m.list("!", base.Compared.Warnings)
	without := ""
	if base.Unscored > 0 {
		without = fmt.Sprintf("; %d without a score in one of the runs", base.Unscored)
	}
	if len(base.Items) == 0 {
		m.para(plain, say.Plural(base.Equal, "score is", "scores are")+" as before"+without+".")
		return
	}
	title := fmt.Sprintf("%s: %d worse, %d better; %d as before", say.Plural(len(base.Items), "score changed", "scores changed"), base.Worse, base.Better, base.Equal) + without
	m.fold(title, func() {
		t := newTable("", "Item", "Arm", ">Was", ">Now", "Answer before", "Answer now")
		const long = 120
		for _, c := range base.Items[:min(shown, len(base.Items))] {
			t.add(words(c.Item), words(c.Arm), words(say.Short(c.Was)), words(say.Short(c.Now)), words(text.Shorten(c.Before, long)), words(text.Shorten(c.After, long)))
		}
		if len(t.Rows) > 0 {
			m.table(t)
		}
		if left := len(base.Items) - shown; left > 0 {
			m.para(plain, "and "+say.Plural(left, "more score", "more scores")+", which changed no worse than these")
		}
	})
}
