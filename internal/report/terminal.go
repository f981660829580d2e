package report

import (
	"cmp"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/say"
)

// TerminalOptions control how a report is shown on a terminal.
type TerminalOptions struct {
	Width   int  // columns; 0 means 80, less than 40 means 40
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
	renderVerdict(s, alone(v))
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
	return put(w, "tables to the terminal", s.finished())
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
	return put(w, "the comparisons as Markdown", m.b.String())
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
		all := b.differences("Differences", whole, false)
		all.Legend = append(all.Legend, mapped(methodsOf(whole), func(method string) string { return "Method: " + method + "." })...)
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
	return put(w, "the "+what+" to the terminal", strings.TrimPrefix(s.finished(), "\n"))
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
	return []shown{everywhere, inText, briefly}
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

// A grid is a table laid out in lines of text before drawing.
type grid struct {
	heads  []string    // of the columns
	rows   [][][]inked // row, column, line
	widths []int       // of the columns
	align  []alignment
}

// inked is a line of a cell and its paint.
type inked struct {
	text string
	ink  tone
}

const space = 2 // between columns

// table draws a table. What is below a number stands beside it if there is room. A table
// that is too wide is split into several, each starting with the columns that name a row.
func (s *screen) table(t *table) {
	s.b.WriteByte('\n')
	if t.Caption != "" {
		s.text(strong, "", t.Caption)
	}
	if t.Lead != "" {
		s.text(muted, "", t.Lead)
	}
	all := make([]int, len(t.Columns))
	for j := range all {
		all[j] = j
	}
	g := s.lay(t, true)
	groups := g.fit(s.width, max(t.Keys, 1), 24, all)
	if len(groups) > 1 {
		g = s.lay(t, false)
		groups = g.fit(s.width, max(t.Keys, 1), max(s.width/5, 14), all)
	}
	for i, columns := range groups {
		if i > 0 {
			s.b.WriteByte('\n')
		}
		s.draw(t, g, columns)
	}
	for i, n := range t.Notes {
		s.text(muted, ref(i+1)+" ", n)
	}
	for _, l := range t.Legend {
		s.text(muted, "", l)
	}
}

// ref is the number of a note.
func ref(n int) string { return "[" + strconv.Itoa(n) + "]" }

// lay makes the lines of all cells and measures the columns.
func (s *screen) lay(t *table, beside bool) grid {
	g := grid{rows: make([][][]inked, len(t.Rows))}
	for i := range t.Rows {
		g.rows[i] = make([][]inked, len(t.Columns))
	}
	for j, c := range t.Columns {
		head := s.clean(c.Title)
		width := lipgloss.Width(head)
		if c.Align != left { // the head is broken rather than that the numbers get more room
			width = widest(strings.Fields(head))
		}
		for i, lines := range s.cells(t, j, beside) {
			g.rows[i][j] = lines
			for _, l := range lines {
				width = max(width, lipgloss.Width(l.text))
			}
		}
		g.heads, g.widths, g.align = append(g.heads, head), append(g.widths, width), append(g.align, c.Align)
	}
	return g
}

// cells returns the lines of the cells of a column, with aligned decimal points. Beside
// their numbers, the details are a column of their own.
func (s *screen) cells(t *table, j int, beside bool) [][]inked {
	lines := make([][]inked, len(t.Rows))
	texts, details := make([]string, len(t.Rows)), make([]string, len(t.Rows))
	numbers := t.Columns[j].Align != left
	for i, r := range t.Rows {
		if r.Cells == nil {
			continue
		}
		c := r.Cells[j]
		if beside && !numbers {
			lines[i] = []inked{{c.line(s.clean, ref), c.Tone}}
			continue
		}
		above := c
		above.Detail = nil
		texts[i] = above.line(s.clean, ref)
		if beside && len(c.Detail) > 0 {
			details[i] = " (" + s.clean(strings.Join(c.Detail, "; ")) + ")"
		}
	}
	if beside && !numbers {
		return lines
	}
	if t.Columns[j].Align == point {
		for i, lacking := range say.Tails(texts) {
			texts[i] += strings.Repeat(" ", lacking)
		}
	}
	most, room := widest(texts), widest(details)
	for i, r := range t.Rows {
		switch {
		case r.Cells == nil:
		case beside:
			text := strings.Repeat(" ", most-lipgloss.Width(texts[i])) + texts[i] + details[i]
			lines[i] = []inked{{text + strings.Repeat(" ", room-lipgloss.Width(details[i])), r.Cells[j].Tone}}
		default:
			if strings.TrimSpace(texts[i]) != "" || len(r.Cells[j].Detail) == 0 {
				lines[i] = []inked{{texts[i], r.Cells[j].Tone}}
			}
			for _, d := range r.Cells[j].Detail {
				lines[i] = append(lines[i], inked{s.clean(d), muted})
			}
		}
	}
	return lines
}

func (g grid) total(columns []int) int {
	sum := -space
	for _, j := range columns {
		sum += g.widths[j] + space
	}
	return sum
}

// fit narrows columns of words, but to no less than least, until all columns fit the width.
// If that is not enough, it groups the columns: every group starts with the first ones, keys
// of them or as many as leave room for any other.
func (g grid) fit(width, keys, least int, all []int) [][]int {
	narrow := grid{widths: slices.Clone(g.widths)}
	for narrow.total(all) > width {
		wide := -1
		for _, j := range all {
			if g.align[j] == left && narrow.widths[j] > least && (wide < 0 || narrow.widths[j] >= narrow.widths[wide]) {
				wide = j
			}
		}
		if wide < 0 {
			break
		}
		narrow.widths[wide]--
	}
	if narrow.total(all) <= width {
		copy(g.widths, narrow.widths)
		return [][]int{all}
	}
	first := max(width*3/10, 14)
	for j, align := range g.align {
		switch {
		case j == 0:
			g.widths[0] = min(g.widths[0], first)
		case align == left:
			g.widths[j] = min(g.widths[j], width*4/10, width-first-space)
		default:
			g.widths[j] = min(g.widths[j], width-first-space)
		}
	}
	for keys > 1 && g.total(all[:keys])+space+slices.Max(g.widths[keys:]) > width {
		keys--
	}
	groups := [][]int{slices.Clone(all[:keys])}
	for _, j := range all[keys:] {
		last := &groups[len(groups)-1]
		if len(*last) > keys && g.total(append(slices.Clone(*last), j)) > width {
			groups = append(groups, slices.Clone(all[:keys]))
			last = &groups[len(groups)-1]
		}
		*last = append(*last, j)
	}
	return groups
}

// draw writes the given columns: heads, a rule below them, rows. (The table of lipgloss
// truncates heads that do not fit on one line, and metric names do not.)
func (s *screen) draw(t *table, g grid, columns []int) {
	heads := make([][]inked, len(g.heads))
	for j, h := range g.heads {
		heads[j] = []inked{{h, strong}}
	}
	s.drawRow(g, columns, heads)
	s.b.WriteString(s.paint(muted, strings.Repeat(s.clean("─"), g.total(columns))) + "\n")
	for i, r := range t.Rows {
		if r.Cells == nil {
			s.text(strong, "", r.Group)
			continue
		}
		s.drawRow(g, columns, g.rows[i])
	}
}

// drawRow writes one row, with as many lines as its tallest cell.
func (s *screen) drawRow(g grid, columns []int, row [][]inked) {
	cells := make([][]inked, len(columns))
	height := 1
	for k, j := range columns {
		for _, l := range row[j] {
			for _, part := range wrapped(l.text, g.widths[j]) {
				cells[k] = append(cells[k], inked{part, l.ink})
			}
		}
		height = max(height, len(cells[k]))
	}
	for i := range height {
		var line strings.Builder
		for k, j := range columns {
			if k > 0 {
				line.WriteString(strings.Repeat(" ", space))
			}
			var l inked
			if i < len(cells[k]) {
				l = cells[k][i]
			}
			room := strings.Repeat(" ", max(0, g.widths[j]-lipgloss.Width(l.text)))
			if g.align[j] != left {
				line.WriteString(room + s.paint(l.ink, l.text))
			} else {
				line.WriteString(s.paint(l.ink, l.text) + room)
			}
		}
		s.b.WriteString(trimRight(line.String()) + "\n")
	}
}

func trimRight(s string) string { return strings.TrimRight(s, " ") }

// wrapped breaks a text into lines of at most the given width, at spaces, and inside a word
// only if the word alone is too long.
func wrapped(s string, width int) []string {
	if width = max(width, 2); lipgloss.Width(s) <= width {
		return []string{s}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ' ' }) {
		if line != "" && lipgloss.Width(line+" "+word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		parts := cut(word, width, func(head string) string { return head })
		lines, line = append(lines, parts[:len(parts)-1]...), parts[len(parts)-1]
	}
	return append(lines, line)
}

// folded breaks a line into lines of at most the given width, after a space if there is
// one, and keeps every character.
func folded(s string, width int) []string {
	return cut(s, max(width, 2), func(head string) string {
		if i := strings.LastIndexByte(head, ' '); i >= 0 && strings.TrimLeft(head[:i], " ") != "" {
			return head[:i+1]
		}
		return head
	})
}

// cut cuts a text into pieces of at most the given width. The given function may
// shorten a piece.
func cut(s string, width int, shorten func(string) string) (list []string) {
	for left := lipgloss.Width(s); left > width; {
		head := shorten(ansi.Truncate(beginning(s, width), width, ""))
		if head == "" { // a character wider than the line
			break
		}
		left -= lipgloss.Width(head)
		list, s = append(list, head), s[len(head):]
	}
	return append(list, s)
}

// beginning is as much of a long text as a line can need: cutting measures all it gets.
func beginning(s string, width int) string {
	n := 16 * width
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func widest(texts []string) int { return slices.Max(append(mapped(texts, lipgloss.Width), 0)) }
