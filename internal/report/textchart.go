package report

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/scruple-eval/scruple/internal/say"
)

// glyphs are the symbols of a text chart.
type glyphs struct {
	low, line, point, high, zero, cross rune
	rule                                string // below the heads of a table
	ref                                 func(int) string
	ascii                               bool
}

func unicodeGlyphs() glyphs {
	return glyphs{low: '├', line: '─', point: '●', high: '┤', zero: '┊', cross: '┼', rule: "─", ref: superscript}
}

func asciiGlyphs() glyphs {
	return glyphs{low: '[', line: '-', point: 'o', high: ']', zero: '|', cross: '+', rule: "-", ascii: true,
		ref: func(n int) string { return "[" + say.Count(n) + "]" }}
}

// superscript formats the number of a note: "¹²".
func superscript(n int) string { return raised.Replace(strconv.Itoa(n)) }

var raised = strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")

func (g glyphs) refs(refs []int) string {
	var parts []string
	for _, r := range refs {
		parts = append(parts, g.ref(r))
	}
	return strings.Join(parts, ",")
}

// plot draws one row of a chart with the given width.
func (g glyphs) plot(s spot, a axis, width int) string {
	row := []rune(strings.Repeat(" ", width))
	column := func(at float64) int { return int(math.Round(at * float64(width-1))) }
	zero := -1
	if a.HasZero() {
		zero = column(a.Zero)
		row[zero] = g.zero
	}
	if s.HasInterval() {
		from, to := column(s.Low), column(s.High)
		for i := from; i <= to; i++ {
			row[i] = g.line
		}
		if zero > from && zero < to {
			row[zero] = g.cross
		}
		row[from], row[to] = g.low, g.high
	}
	if s.HasPoint() {
		row[column(s.Point)] = g.point
	}
	return string(row)
}

// ticks writes the labels of an axis and omits those without room.
func (a axis) ticks(width int, clean func(string) string) string {
	row := []rune(strings.Repeat(" ", width))
	free := 0
	for _, t := range a.Ticks {
		label := []rune(clean(t.Label))
		at := int(math.Round(t.At*float64(width-1))) - len(label)/2
		at = max(0, min(at, width-len(label)))
		if at < free || at+len(label) > width {
			continue
		}
		copy(row[at:], label)
		free = at + len(label) + 1
	}
	return strings.TrimRight(string(row), " ")
}

// A drawing is the layout of a chart on a screen.
type drawing struct {
	*screen
	labels int // columns of labels
	cells  []int
	plot   int // columns of the plot
	layout layout
}

type layout int

const (
	oneLine layout = iota // label, plot, numbers
	twoLine               // label above plot and numbers
	stacked               // label, plot, numbers
)

const (
	leastPlot = 15
	mostPlot  = 41
	space     = 2 // between columns
)

// chartLines draws the rows, their headings and the axis.
func (s *screen) chartLines(c *chart) []string {
	texts := s.chartTexts(c)
	d := s.fit(c, texts)
	heads := make([]string, len(c.Heads))
	for j, h := range c.Heads {
		heads[j] = d.clean(h)
	}
	lines := []string{d.row("", "", d.padded(heads), muted)}
	i := 0
	for _, r := range c.Rows {
		if r.Group != "" {
			for _, l := range wrapped(d.clean(r.Group), d.width) {
				lines = append(lines, d.paint(strong, l))
			}
			continue
		}
		lines = append(lines, d.rowLines(r, texts[i], c.Axis)...)
		i++
	}
	return append(lines, d.row("", c.Axis.ticks(d.plot, d.clean), nil, muted))
}

// chartTexts returns the numbers of every row. The first ones, the values, are
// aligned on their decimal points.
func (s *screen) chartTexts(c *chart) [][]string {
	rows := filter(c.Rows, func(r chartRow) bool { return r.Group == "" })
	texts := make([][]string, len(rows))
	for j := range c.Heads {
		var column []cell
		for _, r := range rows {
			column = append(column, r.Cells[j])
		}
		for i, text := range s.cellTexts(column, j == 0) {
			texts[i] = append(texts[i], text)
		}
	}
	return texts
}

// fit chooses the layout. It never omits numbers: it first shrinks the plot, then
// moves the label to its own line.
func (s *screen) fit(c *chart, texts [][]string) drawing {
	d := drawing{screen: s, cells: make([]int, len(c.Heads))}
	total := 0
	for j, h := range c.Heads {
		d.cells[j] = lipgloss.Width(d.clean(h))
		for _, r := range texts {
			d.cells[j] = max(d.cells[j], lipgloss.Width(r[j]))
		}
		total += d.cells[j] + space
	}
	for _, r := range c.Rows {
		d.labels = max(d.labels, lipgloss.Width(d.label(r)))
	}
	d.labels = min(d.labels, max(d.width*3/10, 16))
	switch {
	case d.width-d.labels-total-space >= leastPlot:
		d.layout, d.plot = oneLine, d.width-d.labels-total-space
	case d.width-total-space >= leastPlot:
		d.layout, d.plot, d.labels = twoLine, d.width-total-space, 0
	default:
		d.layout, d.plot, d.labels = stacked, d.width-space, 0
	}
	d.plot = min(d.plot, mostPlot)
	return d
}

func (d drawing) label(r chartRow) string { return tagged(d.clean, r.Label) }

// tagged returns the text of a cell followed by its tags.
func tagged(clean func(string) string, c cell) string {
	text := clean(c.Text)
	for _, t := range c.Tags {
		if loudTag(t) {
			t = strings.ToUpper(t)
		}
		text += " [" + clean(t) + "]"
	}
	return strings.TrimSpace(text)
}

func (d drawing) rowLines(r chartRow, texts []string, a axis) []string {
	look := plain
	if r.Label.Tone == muted {
		look = muted
	} else if r.Total {
		look = strong
	}
	plot := d.g.plot(r.Spot, a, d.plot)
	if d.layout == oneLine {
		labels := wrapped(d.label(r), d.labels)
		lines := []string{d.row(labels[0], plot, d.padded(texts), look)}
		for _, l := range labels[1:] {
			lines = append(lines, d.paint(look, l))
		}
		return lines
	}
	var lines []string
	for _, l := range wrapped(d.label(r), d.width) {
		lines = append(lines, d.paint(look, l))
	}
	return append(lines, strings.Split(d.row("", plot, d.padded(texts), look), "\n")...)
}

// padded right-aligns the numbers in their columns.
func (d drawing) padded(texts []string) []string {
	if d.layout == stacked {
		return texts
	}
	padded := make([]string, len(texts))
	for j, t := range texts {
		padded[j] = strings.Repeat(" ", max(0, d.cells[j]-lipgloss.Width(t))) + t
	}
	return padded
}

// row joins label, plot and numbers. If stacked, they are two lines.
func (d drawing) row(label, plot string, texts []string, look tone) string {
	gap := strings.Repeat(" ", space)
	numbers := strings.Join(texts, gap)
	fill := strings.Repeat(" ", max(0, d.plot-lipgloss.Width(plot)))
	painted := d.paint(plotted, plot)
	if d.layout == stacked {
		var lines []string
		if strings.TrimSpace(plot) != "" {
			lines = append(lines, gap+painted)
		}
		if len(texts) > 0 {
			for _, l := range wrapped(strings.Join(strings.Fields(numbers), " "), d.width-space) {
				lines = append(lines, gap+d.paint(look, l))
			}
		}
		return strings.Join(lines, "\n")
	}
	if d.labels > 0 {
		label += strings.Repeat(" ", max(0, d.labels-lipgloss.Width(label)))
		return trimRight(d.paint(look, label) + gap + painted + fill + gap + d.paint(look, numbers))
	}
	return trimRight(gap + painted + fill + gap + d.paint(look, numbers))
}

func trimRight(s string) string { return strings.TrimRight(s, " ") }

// wrapped breaks a text into lines of at most the given width, at spaces, and
// inside a word only if the word alone is too long.
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
		for left := lipgloss.Width(word); left > width; {
			head := ansi.Truncate(beginning(word, width), width, "")
			if head == "" { // a character wider than the line
				break
			}
			left -= lipgloss.Width(head)
			lines, word = append(lines, head), word[len(head):]
		}
		line = word
	}
	return append(lines, line)
}

// folded breaks a line into lines of at most the given width, after a space if there
// is one, and keeps every character.
func folded(s string, width int) []string {
	var lines []string
	width = max(width, 2)
	for left := lipgloss.Width(s); left > width; {
		head := ansi.Truncate(beginning(s, width), width, "")
		if i := strings.LastIndexByte(head, ' '); i >= 0 && strings.TrimLeft(head[:i], " ") != "" {
			head = head[:i+1]
		}
		if head == "" { // a character wider than the line
			break
		}
		left -= lipgloss.Width(head)
		lines, s = append(lines, head), s[len(head):]
	}
	return append(lines, s)
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

func widest(texts []string) int {
	w := 0
	for _, t := range texts {
		w = max(w, lipgloss.Width(t))
	}
	return w
}
