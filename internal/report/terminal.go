package report

import (
	"cmp"
	"io"
	"regexp"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/say"
)

// TerminalOptions control how a report is shown on a terminal.
type TerminalOptions struct {
	Width   int  // columns; 0 means 80, less than 40 means 40
	Short   bool // a summary has only the most important results
	Color   bool // ANSI colours and Unicode symbols; otherwise ASCII except in data
	Verbose bool // everything
}

// Terminal writes what a reader needs to know of a report: answer, arms and comparisons. No
// line is wider than the given width. Control characters and escape sequences in data are
// removed.
func Terminal(w io.Writer, r Report, opt TerminalOptions) error {
	if err := r.check(); err != nil {
		return err
	}
	s := newScreen(opt)
	if left := renderContent(s, newContent(r), s.shows()...); left > 0 {
		s.para(muted, "--verbose shows "+say.Plural(left, "more table", "more tables")+".")
	}
	return s.writeTo(w, "report")
}

// Gate writes a verdict with every condition and the values it used, as [Terminal] shows it.
func Gate(w io.Writer, v *gate.Verdict, opt TerminalOptions) error {
	s := newScreen(opt)
	said := newVerdict(v)
	for _, t := range v.Troubles { // with the examples, which a report has elsewhere
		said.Warnings = append(said.Warnings, t.String())
	}
	renderVerdict(s, said)
	if v.Simulated {
		s.para(loud, simulated(v.SimulatedArms, v.SimulatedJudges))
	}
	return s.writeTo(w, "verdict")
}

// Tables writes tables of a suite. alpha is that of the study.
func Tables(w io.Writer, tables []eval.Table, alpha float64, opt TerminalOptions) error {
	s := newScreen(opt)
	for _, t := range tables {
		s.table(suiteTable(t, alpha))
	}
	_, err := io.WriteString(w, s.finished())
	return written("tables to the terminal", err)
}

// Differences are the comparisons of an analysis, a line each; of two runs, also what else
// changed and the verdict.
type Differences struct {
	*analyse.Analysis
	Title string // of two runs
	Trend *gate.Trend
}

// Terminal writes differences for a terminal.
func (d Differences) Terminal(w io.Writer, opt TerminalOptions) error {
	s := newScreen(opt)
	d.render(s, s.shows()...)
	return s.writeTo(w, "comparisons")
}

// Markdown writes differences as [Markdown] does a report.
func (d Differences) Markdown(w io.Writer) error {
	var m markdown
	d.render(&m, everywhere, inText, atLength, filed)
	_, err := io.WriteString(w, m.b.String())
	return written("the comparisons as Markdown", err)
}

func (d Differences) render(m medium, shows ...shown) {
	if d.Title != "" {
		m.heading(1, d.Title)
	}
	if d.Trend != nil {
		m.list("!", d.Warnings)
	}
	b := newBuilder(Report{Analysis: d.Analysis})
	for _, line := range b.notices() {
		m.para(loud, line)
	}
	sec := b.comparisons()
	if whole := b.wholeComparisons(); len(whole) > 0 {
		all := b.differences("Differences", whole)
		for _, method := range nonEmpty(factors(whole, func(c analyse.Comparison) string { return c.Method })...) {
			all.Legend = append(all.Legend, "Method: "+method+".")
		}
		sec.Blocks = append([]block{{Table: all}}, filter(sec.Blocks, func(b block) bool { return b.In == everywhere })...)
	}
	renderSection(m, sec, shows...)
	if d.Trend == nil {
		return
	}
	for _, t := range d.Tables {
		m.table(suiteTable(t, d.Study.Alpha))
	}
	m.para(cmp.Or(map[string]tone{gate.Improved: good, gate.Regressed: bad}[d.Trend.Verdict], unsure), "Verdict: "+d.Trend.Verdict)
	m.list("", d.Trend.Reasons)
}

func (s *screen) writeTo(w io.Writer, what string) error {
	_, err := io.WriteString(w, strings.TrimPrefix(s.finished(), "\n"))
	return written("the "+what+" to the terminal", err)
}

// A screen collects the lines of a report.
type screen struct {
	TerminalOptions
	width int
	b     strings.Builder
}

func newScreen(opt TerminalOptions) *screen {
	return &screen{TerminalOptions: opt, width: max(cmp.Or(opt.Width, 80), 40)}
}

// finished returns the report. Without colour, it replaces non-breaking spaces by plain ones.
func (s *screen) finished() string {
	if s.Color {
		return s.b.String()
	}
	plain := strings.ReplaceAll(s.b.String(), say.NBSP, " ")
	return regexp.MustCompile(" +\n").ReplaceAllString(plain, "\n")
}

// shows are the blocks that a terminal shows.
func (s *screen) shows() []shown {
	if s.Verbose {
		return []shown{everywhere, inText, atLength, inFull}
	}
	return []shown{everywhere, inText}
}

func (s *screen) heading(level int, text string) {
	if level == 2 {
		text = strings.ToUpper(text)
	}
	s.para(strong, text)
}

func (s *screen) para(t tone, texts ...string) {
	if len(texts) > 0 {
		s.b.WriteByte('\n')
	}
	for _, text := range texts {
		if t == loud {
			text = "*** " + text + " ***"
		}
		s.text(t, "", text)
	}
}

func (s *screen) list(mark string, items []string) {
	for _, item := range items {
		lead := "  "
		if mark != "" {
			lead += mark + " "
		}
		s.text(plain, lead, item)
	}
}

// rules writes the rules of a gate, which would be too wide for a table: state and
// condition, and below them the values.
func (s *screen) rules(v *verdict) {
	for _, c := range v.Conditions {
		word, tone := conditionState(c, v.Outcome)
		s.text(tone, "  ", word+": "+c.Name+" ("+c.Kind+")")
		s.text(plain, "      ", c.That)
		for _, line := range append(values(c), nonEmpty(c.Reason)...) {
			s.text(muted, "      ", line)
		}
	}
}

// verbatim writes a text line by line and keeps its white space, which is part of a prompt.
func (s *screen) verbatim(title, text string) {
	s.para(muted, title)
	for _, line := range plainLines(text) {
		if !s.Color {
			line = say.ASCII(line)
		}
		for _, part := range folded(line, s.width-2) {
			s.b.WriteString(trimRight("  "+part) + "\n")
		}
	}
}

// text writes a paragraph. The first line follows the lead; the others are indented to match.
func (s *screen) text(t tone, lead, text string) {
	indent := lipgloss.Width(lead)
	for i, line := range wrapped(s.clean(text), s.width-indent) {
		if i > 0 {
			lead = strings.Repeat(" ", indent)
		}
		s.b.WriteString(trimRight(lead+s.paint(t, trimRight(line))) + "\n")
	}
}

// clean makes a text safe for the terminal and replaces our own symbols if it shows only
// ASCII.
func (s *screen) clean(text string) string {
	if text = say.PlainLine(text); !s.Color {
		return say.ASCII(text)
	}
	return text
}

// paints use the terminal's sixteen colours, which are readable on any background.
var paints = map[tone]lipgloss.Style{
	strong: lipgloss.NewStyle().Bold(true),
	muted:  lipgloss.NewStyle().Faint(true),
	loud:   lipgloss.NewStyle().Bold(true).Reverse(true),
	good:   lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Green),
	bad:    lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Red),
	unsure: lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Yellow),
}

func (s *screen) paint(t tone, text string) string {
	if !s.Color || t == plain || strings.TrimSpace(text) == "" {
		return text
	}
	body := trimRight(text) // keep trailing spaces outside, so that they are trimmed
	return paints[t].Render(body) + text[len(body):]
}
