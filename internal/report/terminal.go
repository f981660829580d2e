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
	Rows    int  // that a summary may take; 0 is no limit, as where there is no terminal
	Color   bool // ANSI colours and Unicode symbols; otherwise ASCII except in data
	Verbose bool // include the breakdown by stratum
}

// Terminal writes the report in brief: answer, arms and comparisons. No line is
// wider than the given width. Control characters and escape sequences in data are
// removed.
func Terminal(w io.Writer, r Report, opt TerminalOptions) error {
	if err := r.check(); err != nil {
		return err
	}
	s := newScreen(opt)
	s.render(newContent(r))
	return s.writeTo(w, "report")
}

// Gate writes a verdict with every condition and the values it used, as
// [Terminal] shows it.
func Gate(w io.Writer, v *gate.Verdict, opt TerminalOptions) error {
	s := newScreen(opt)
	said := newVerdict(v)
	for i, t := range v.Troubles { // with the examples, which a report has elsewhere
		said.Warnings[len(said.Warnings)-len(v.Troubles)+i] = t.String()
	}
	s.verdict(said)
	if v.Simulated {
		s.blank()
		s.text(loud, "", "*** "+simulated(v.SimulatedArms, v.SimulatedJudges)+" ***")
	}
	return s.writeTo(w, "verdict")
}

// Tables writes tables of a suite. alpha is that of the study.
func Tables(w io.Writer, tables []eval.Table, alpha float64, opt TerminalOptions) error {
	s := newScreen(opt)
	for _, t := range tables {
		s.blank()
		s.table(suiteTable(t, alpha))
	}
	_, err := io.WriteString(w, s.finished())
	return written("tables to the terminal", err)
}

// Comparisons writes the comparisons of an analysis, as [Terminal] shows them.
func Comparisons(w io.Writer, a *analyse.Analysis, opt TerminalOptions) error {
	b := builder{a: a, ci: confidence(a.Study.Alpha)}
	opt.Verbose = true // show all comparisons
	s := newScreen(opt)
	for _, line := range b.notices() {
		s.text(loud, "", "*** "+line+" ***")
	}
	s.section(b.comparisons())
	return s.writeTo(w, "comparisons")
}

func (s *screen) writeTo(w io.Writer, what string) error {
	_, err := io.WriteString(w, strings.TrimPrefix(s.finished(), "\n"))
	return written("the "+what+" to the terminal", err)
}

// A screen collects the lines of a report.
type screen struct {
	width   int
	rows    int
	verbose bool
	color   bool
	g       glyphs
	b       strings.Builder
}

func newScreen(opt TerminalOptions) *screen {
	s := &screen{width: max(cmp.Or(opt.Width, 80), 40), rows: opt.Rows, verbose: opt.Verbose, color: opt.Color, g: asciiGlyphs()}
	if s.color {
		s.g = unicodeGlyphs()
	}
	return s
}

func (s *screen) render(c content) {
	s.text(strong, "", c.Title+" "+c.Version)
	s.text(muted, "", c.Suite)
	if c.Question != "" {
		s.text(plain, "", c.Question)
	}
	for _, line := range c.Banner {
		s.blank()
		s.text(loud, "", "*** "+line+" ***")
	}
	s.blank()
	s.text(muted, "", strings.Join(told(c.Facts, ": "), "; "))
	s.items(told(c.Record, ": "), "  - ")
	for _, sec := range c.Sections {
		if sec.InTerm == always || sec.InTerm == whenVerbose && s.verbose {
			s.section(sec)
		}
	}
}

// finished returns the report. Without colour, it replaces non-breaking spaces by
// plain ones.
func (s *screen) finished() string {
	if s.color {
		return s.b.String()
	}
	plain := strings.ReplaceAll(s.b.String(), say.NBSP, " ")
	return regexp.MustCompile(" +\n").ReplaceAllString(plain, "\n")
}

func (s *screen) section(sec section) {
	s.blank()
	s.text(strong, "", strings.ToUpper(sec.Title))
	for _, b := range sec.Blocks {
		if s.verbose && !b.Brief || !s.verbose && !b.Detail {
			s.block(b)
		}
	}
}

func (s *screen) block(b block) {
	switch {
	case b.Prose != "":
		s.blank()
		s.text(plain, "", b.Prose)
	case b.Answers != nil:
		for _, a := range b.Answers {
			s.blank()
			s.text(a.Tone, "", a.Text)
			s.items(a.Notes, "  ! ")
		}
	case b.Verdict != nil:
		s.verdict(b.Verdict)
	case b.Warning != nil:
		s.blank()
		s.text(unsure, "", "Warnings")
		s.items(b.Warning, "  ! ")
	case b.Table != nil:
		s.table(b.Table)
	case b.Chart != nil:
		s.chart(b.Chart)
	case b.Figure != nil:
		s.table(b.Figure.Table)
	case b.Samples != nil:
		for _, x := range b.Samples.List {
			s.sample(x)
		}
	}
}

// sample writes a trial without its source pages.
func (s *screen) sample(x sample) {
	s.blank()
	s.text(strong, "", tagged(say.Visible, x.Arm)+": "+x.Title)
	s.text(muted, "", strings.Join(append(nonEmpty(x.Score), told(x.Facts, ": ")...), "; "))
	for line := range strings.Lines(x.Lead) {
		s.text(plain, "", strings.TrimSpace(line))
	}
	if x.Why != "" {
		s.text(bad, "", x.Why)
	}
	if x.Why == "" || len(x.Rows.Rows) > 0 {
		s.table(x.Rows)
	}
	for _, step := range x.Steps {
		s.blank()
		s.text(muted, "", step.Name)
		s.lines(step.Text)
	}
	if x.Raw != "" {
		s.blank()
		s.text(muted, "", "Raw answer")
		s.lines(x.Raw)
	}
}

// lines writes a text line by line and keeps its white space, which is part of a
// prompt.
func (s *screen) lines(text string) {
	for _, line := range verbatim(text) {
		if s.g.ascii {
			line = say.ASCII(line)
		}
		for _, part := range folded(line, s.width-2) {
			s.b.WriteString(trimRight("  "+part) + "\n")
		}
	}
}

func (s *screen) verdict(v *verdict) {
	s.blank()
	s.text(v.Tone, "", v.line())
	if v.Advice != "" {
		s.text(plain, "  ", v.Advice)
	}
	s.items(v.Reasons, "  - ")
	s.items(v.Warnings, "  ! ")
	s.items(evidence(v.Verdict), "  - ")
	for _, c := range v.Conditions {
		s.rule(c, v.Outcome)
	}
}

// rule writes a rule that would be too wide for a table: state and condition, and
// below them the values.
func (s *screen) rule(c gate.Condition, outcome string) {
	word, tone := conditionState(c, outcome)
	s.text(tone, "  ", word+": "+c.Name+" ("+c.Kind+")")
	s.text(plain, "      ", c.That)
	for _, line := range append(values(c), nonEmpty(c.Reason)...) {
		s.text(muted, "      ", line)
	}
}

func (s *screen) items(texts []string, bullet string) {
	for _, t := range texts {
		s.text(plain, bullet, t)
	}
}

func (s *screen) chart(c *chart) {
	s.blank()
	s.text(strong, "", c.Caption)
	s.text(muted, "", c.Lead)
	for _, line := range s.chartLines(c) {
		if line = trimRight(line); line != "" {
			s.b.WriteString(line + "\n")
		}
	}
	s.notes(c.Notes)
}

// notes numbers the notes that cells refer to, which come first.
func (s *screen) notes(notes []string) {
	for i, n := range notes {
		s.text(muted, s.g.ref(i+1)+" ", n)
	}
}

// text writes a paragraph. The first line follows the lead; the others are
// indented to match.
func (s *screen) text(t tone, lead, text string) {
	indent := lipgloss.Width(lead)
	for i, line := range wrapped(s.clean(text), s.width-indent) {
		if i > 0 {
			lead = strings.Repeat(" ", indent)
		}
		s.b.WriteString(trimRight(lead+s.paint(t, trimRight(line))) + "\n")
	}
}

func (s *screen) blank() { s.b.WriteByte('\n') }

// clean makes a text safe for the terminal and replaces our own symbols if it
// shows only ASCII.
func (s *screen) clean(text string) string {
	if text = say.PlainLine(text); s.g.ascii {
		return say.ASCII(text)
	}
	return text
}

// paints use the terminal's sixteen colours, which are readable on any background.
var paints = map[tone]lipgloss.Style{
	strong:  lipgloss.NewStyle().Bold(true),
	muted:   lipgloss.NewStyle().Faint(true),
	plotted: lipgloss.NewStyle().Foreground(lipgloss.Cyan),
	loud:    lipgloss.NewStyle().Bold(true).Reverse(true),
	good:    lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Green),
	bad:     lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Red),
	unsure:  lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Yellow),
}

func (s *screen) paint(t tone, text string) string {
	if !s.color || t == plain || strings.TrimSpace(text) == "" {
		return text
	}
	body := trimRight(text) // keep trailing spaces outside, so that they are trimmed
	return paints[t].Render(body) + text[len(body):]
}
