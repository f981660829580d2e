package report

import (
	"io"
	"strings"

	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/text"
)

// Markdown writes the whole report as GitHub-flavoured Markdown, with shortened
// samples. Charts are drawn in text, so they are readable in an editor.
func Markdown(w io.Writer, r Report) error {
	if err := r.check(); err != nil {
		return err
	}
	var m markdown
	m.render(newContent(r))
	_, err := io.WriteString(w, m.b.String())
	return written("the report as Markdown", err)
}

// A markdown collects the text of a report.
type markdown struct{ b strings.Builder }

func (m *markdown) render(c content) {
	m.line("# ", strings.TrimSpace(c.Title+" "+c.Version))
	m.para(c.Suite)
	m.para(c.Question)
	for _, line := range c.Banner {
		m.line("> **", line, "**")
	}
	m.para(strings.Join(told(c.Facts, ": "), " · "))
	m.list(told(c.Record, ": "))
	for _, s := range c.Sections {
		m.line("## ", s.Title)
		for _, b := range s.Blocks {
			if !b.Brief {
				m.block(b)
			}
		}
	}
}

func (m *markdown) block(b block) {
	switch {
	case b.Heading != "":
		m.line("### ", b.Heading)
	case b.Prose != "":
		m.para(b.Prose)
	case b.Answers != nil:
		for _, a := range b.Answers {
			m.line("**", a.Text, "**")
			m.list(a.Notes)
		}
	case b.Verdict != nil:
		m.verdict(b.Verdict)
	case b.Warning != nil:
		m.line("**", "Warnings", "**")
		m.list(b.Warning)
	case b.List != nil:
		m.list(b.List)
	case b.Table != nil:
		m.table(b.Table)
	case b.Chart != nil:
		m.chart(b.Chart)
	case b.Figure != nil:
		m.table(b.Figure.Table)
	case b.Metrics != nil:
		m.definitions(b.Metrics)
	case b.Samples != nil:
		m.samples(b.Samples)
	case b.Prompts != nil:
		for _, p := range b.Prompts {
			m.line("**", p.Title, "**")
			m.fence(strings.Split(say.PlainLines(text.Shorten(p.Text, longestPrompt)), "\n"))
		}
	case b.Code != nil:
		m.fence(b.Code)
	}
}

func (m *markdown) verdict(v *verdict) {
	m.line("**", v.line(), "**")
	m.para(v.Advice)
	m.list(v.Reasons)
	m.list(v.Warnings)
	if t := v.Table(); t != nil {
		m.table(t)
	}
}

func (m *markdown) table(t *table) {
	if t.Caption != "" {
		m.line("**", t.Caption, "**")
	}
	var heads, rules []string
	for _, c := range t.Columns {
		heads = append(heads, inline(c.Title))
		if c.Align != left {
			rules = append(rules, "---:")
		} else {
			rules = append(rules, "---")
		}
	}
	m.row(heads)
	m.row(rules)
	for _, r := range t.Rows {
		var cells []string
		for _, c := range r {
			cells = append(cells, inlineCell(c))
		}
		m.row(cells)
	}
	m.b.WriteByte('\n')
	m.notes(t.Notes)
	for _, l := range t.Legend {
		m.para(l)
	}
}

func (m *markdown) row(cells []string) {
	m.b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// inlineCell formats a cell on one line: "0.831 (0.801 to 0.860; n = 40)".
func inlineCell(c cell) string {
	text := inline(tagged(say.PlainLine, c)) + unicodeGlyphs().refs(c.Refs)
	if len(c.Detail) == 0 {
		return text
	}
	detail := inline(strings.Join(c.Detail, "; "))
	if c.Text == "" {
		return detail
	}
	return text + " (" + detail + ")"
}

func (m *markdown) notes(notes []string) {
	for i, n := range notes {
		m.b.WriteString(superscript(i+1) + " " + inline(n))
		if i < len(notes)-1 {
			m.b.WriteByte('\\') // a line break
		}
		m.b.WriteByte('\n')
	}
	if len(notes) > 0 {
		m.b.WriteByte('\n')
	}
}

const chartWidth = 100

// longestPrompt is the length of a prompt in code points; HTML and JSON have more.
const longestPrompt = 3000

func (m *markdown) chart(c *chart) {
	m.line("**", c.Caption, "**")
	m.para(c.Lead)
	s := screen{width: chartWidth, g: unicodeGlyphs()}
	m.fence(s.chartLines(c))
	m.notes(c.Notes)
}

func (m *markdown) definitions(ds []definition) {
	for _, d := range ds {
		text := "- **" + inline(d.Title) + "** (" + inline(d.Name) + ")"
		if d.Doc != "" {
			text += ": " + inline(d.Doc)
		}
		if d.Formula != "" {
			text += " Formula: " + code(d.Formula) + "."
		}
		for _, f := range d.Facts {
			text += " " + inline(f.Name+": "+strings.TrimSuffix(f.Value, ".")) + "."
		}
		m.b.WriteString(text + "\n")
	}
	m.b.WriteByte('\n')
}

// sampleText is the maximum length of a value in a Markdown sample.
const sampleText = 80

func (m *markdown) samples(samples *samples) {
	switch {
	case !samples.Ranked:
	case samples.Marked:
		m.para("Shortened. The HTML report has the text of the documents with every quote marked.")
	default:
		m.para("Shortened. The HTML report has every step.")
	}
	for _, s := range samples.List {
		m.line("### ", strings.Join(append([]string{tagged(say.PlainLine, s.Arm)}, nonEmpty(s.Rank)...), ", ")+": "+s.Title)
		facts := append(nonEmpty(s.Score), "item "+s.Item)
		m.para(strings.Join(append(facts, told(s.Facts, " ")...), " · "))
		m.para(s.Lead)
		m.para(s.Why)
		if s.Why == "" || len(s.Rows.Rows) > 0 {
			m.table(shortened(s.Rows))
		}
		if samples.Ranked {
			continue
		}
		for _, step := range s.Steps {
			m.para(step.Name)
			m.fence(verbatim(step.Text))
		}
	}
}

// plainLines returns the lines of a text as plain text.
// verbatim lists the lines of a text, safe to print and with their white space. A tab
// takes four columns.
func verbatim(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, say.PlainText(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    ")))
	}
	return lines
}

// shortened removes quotes from a table of units and cuts long texts.
func shortened(t *table) *table {
	cut := &table{Columns: t.Columns, Notes: t.Notes, Legend: t.Legend}
	for _, r := range t.Rows {
		row := make([]cell, len(r))
		for j, c := range r {
			c.Text, c.Detail = text.Shorten(say.PlainLine(c.Text), sampleText), nil
			row[j] = c
		}
		cut.Rows = append(cut.Rows, row)
	}
	return cut
}

func (m *markdown) list(items []string) {
	for _, item := range items {
		m.b.WriteString("- " + atStart(item) + "\n")
	}
	if len(items) > 0 {
		m.b.WriteByte('\n')
	}
}

// line writes a text between given markup, as a block.
func (m *markdown) line(before, text string, after ...string) {
	m.b.WriteString(before + inline(text) + strings.Join(after, "") + "\n\n")
}

func (m *markdown) para(text string) {
	if text = atStart(text); text != "" {
		m.b.WriteString(text + "\n\n")
	}
}

// fence writes lines verbatim in a fence longer than any in them.
func (m *markdown) fence(lines []string) {
	text := strings.Join(lines, "\n")
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	m.b.WriteString(fence + "text\n")
	for _, l := range lines {
		m.b.WriteString(trimRight(l) + "\n")
	}
	m.b.WriteString(fence + "\n\n")
}

// code returns a text as inline code, with as many backticks as it needs.
func code(s string) string {
	s = say.PlainLine(s)
	ticks := "`"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// markup escapes Markdown markup and addresses that GitHub links.
var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, `\\`, "`", "\\`",
	"*", `\*`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`, "$", `\$`, "://", "&#58;//", "www.", "www&#46;")

// inline escapes a text so that Markdown shows it verbatim on one line: no markup,
// HTML, cell border, link or formula.
func inline(s string) string {
	s = markup.Replace(say.PlainLine(s))
	var b strings.Builder
	for i, r := range s {
		if r == '_' && !insideWord(s, i) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// atStart escapes a text at the start of a line, where a heading, a list or a rule
// could begin.
func atStart(s string) string {
	s = inline(s)
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	switch {
	case s == "":
		return s
	case strings.ContainsRune("#-+=", rune(s[0])):
		return `\` + s
	case digits > 0 && digits < len(s) && (s[digits] == '.' || s[digits] == ')'):
		return s[:digits] + `\` + s[digits:]
	}
	return s
}

// insideWord reports whether an underscore is between letters or digits, where it
// is not markup.
func insideWord(s string, i int) bool {
	return i > 0 && i+1 < len(s) && wordByte(s[i-1]) && wordByte(s[i+1])
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
