package report

import (
	"io"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/text"
)

// A medium is a format of text: a terminal or Markdown. It lays out plain text and escapes it.
type medium interface {
	heading(level int, text string) // 1 for the title, 2 for a section
	para(t tone, texts ...string)   // each on lines of its own
	list(mark string, items []string)
	table(t *table)
	rules(v *verdict)
	verbatim(title, text string)
}

// renderContent writes a report, with the blocks that a medium shows. It returns how many tables
// it left out.
func renderContent(m medium, c content, shows ...shown) (left int) {
	m.heading(1, strings.TrimSpace(c.Title+" "+c.Version))
	m.para(muted, nonEmpty(c.Suite, c.Question)...)
	for _, line := range c.Banner {
		m.para(loud, line)
	}
	m.para(muted, strings.Join(told(c.Facts, ": "), "; "))
	m.list("-", told(c.Record, ": "))
	for _, s := range c.Sections {
		left += renderSection(m, s, shows...)
	}
	return left
}

func renderSection(m medium, s section, shows ...shown) (left int) {
	blocks, left := s.visible(shows...)
	if len(blocks) > 0 {
		m.heading(2, s.Title)
	}
	for _, b := range blocks {
		renderBlock(m, b)
	}
	return left
}

func renderBlock(m medium, b block) {
	switch {
	case b.Heading != "":
		m.heading(3, b.Heading)
	case b.Prose != "":
		m.para(plain, b.Prose)
	case b.Verdict != nil:
		renderVerdict(m, b.Verdict)
	case b.Warning != nil:
		m.para(unsure, "Warnings")
		m.list("!", b.Warning)
	case b.Table != nil:
		m.table(b.Table)
	case b.Figure != nil:
		m.table(b.Figure.Table)
	case b.Samples != nil:
		for _, x := range b.Samples.List {
			renderSample(m, x)
		}
	}
	for _, a := range b.Answers {
		m.para(a.Tone, tagged(say.PlainLine, a.cell()))
		m.list("!", a.Notes)
	}
	for _, p := range b.Prompts {
		const longest = 3000 // code points; HTML and JSON have more
		m.verbatim(p.Title, text.Shorten(p.Text, longest))
	}
	metrics := mapped(b.Metrics, definition.sentence)
	m.list("-", append(metrics, b.List...))
}

func renderVerdict(m medium, v *verdict) {
	m.para(v.Tone, v.line())
	m.list("", nonEmpty(v.Advice))
	m.list("-", v.Reasons)
	m.list("!", v.Warnings)
	m.list("-", evidence(v.Verdict))
	m.rules(v)
}

// renderSample writes a trial without its source pages.
func renderSample(m medium, x sample) {
	m.heading(3, tagged(say.PlainLine, x.Arm)+": "+x.Title)
	m.para(muted, strings.Join(append(nonEmpty(x.Score, "item "+x.Item), told(x.Facts, ": ")...), "; "))
	m.para(plain, nonEmpty(strings.Split(x.Lead, "\n")...)...)
	m.para(bad, nonEmpty(x.Why)...)
	if x.Why == "" || len(x.Rows.Rows) > 0 {
		m.table(x.Rows)
	}
	for _, step := range x.Steps {
		m.verbatim(step.Name, step.Text)
	}
	if x.Raw != "" {
		m.verbatim("Raw answer", x.Raw)
	}
}

// plainLines lists the lines of a text, safe to print and with their white space. A tab takes
// four columns.
func plainLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, say.PlainText(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    ")))
	}
	return lines
}

// Markdown writes the report as GitHub-flavoured Markdown, without samples and what else
// tells a reader little.
func Markdown(w io.Writer, r Report) error {
	if err := r.check(); err != nil {
		return err
	}
	var m markdown
	if left := renderContent(&m, newContent(r), everywhere, inText, atLength, filed); left > 0 {
		m.para(plain, "The HTML report has "+say.Plural(left, "more table", "more tables")+", and the best and worst items.")
	}
	return put(w, "the report as Markdown", m.b.String())
}

// A markdown collects the text of a report.
type markdown struct{ b strings.Builder }

func (m *markdown) heading(level int, text string) {
	m.b.WriteString(strings.Repeat("#", level) + " " + inline(text) + "\n\n")
}

func (m *markdown) para(t tone, texts ...string) {
	for _, text := range texts {
		switch {
		case text == "":
			continue
		case t == loud:
			text = "> **" + inline(text) + "**"
		case t != plain && t != muted:
			text = "**" + inline(text) + "**"
		default:
			text = atStart(text)
		}
		m.b.WriteString(text + "\n\n")
	}
}

func (m *markdown) list(_ string, items []string) {
	for _, item := range items {
		m.b.WriteString("- " + atStart(item) + "\n")
	}
	if len(items) > 0 {
		m.b.WriteByte('\n')
	}
}

func (m *markdown) rules(v *verdict) {
	if t := v.Table(); t != nil {
		m.table(t)
	}
}

// verbatim writes a text in a fence longer than any in it.
func (m *markdown) verbatim(title, text string) {
	m.para(strong, nonEmpty(title)...)
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	m.b.WriteString(fence + "text\n")
	for _, l := range plainLines(text) {
		m.b.WriteString(trimRight(l) + "\n")
	}
	m.b.WriteString(fence + "\n\n")
}

func (m *markdown) table(t *table) {
	m.para(strong, t.Caption)
	m.para(plain, t.Lead)
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
		cells := make([]string, len(t.Columns))
		for j, c := range r.Cells {
			cells[j] = c.line(inline, superscript)
		}
		if r.Cells == nil {
			cells[0] = "**" + inline(r.Group) + "**"
		}
		m.row(cells)
	}
	m.b.WriteByte('\n')
	m.notes(t.Notes)
	m.para(plain, t.Legend...)
}

func (m *markdown) row(cells []string) {
	m.b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// superscript formats the number of a note: "¹²".
func superscript(n int) string { return raised.Replace(strconv.Itoa(n)) }

var raised = strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")

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
