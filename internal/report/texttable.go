package report

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/scruple-eval/scruple/internal/say"
)

// A grid is a table laid out in lines of text before drawing.
type grid struct {
	heads  [][]inked   // column, line
	rows   [][][]inked // row, column, line
	widths []int       // of the columns
}

// inked is a line of a cell and its paint.
type inked struct {
	text string
	ink  tone
}

// table draws a table. If it is too wide, it is split into several, each starting
// with the columns that name a row.
func (s *screen) table(t *table) {
	s.blank()
	if t.Caption != "" {
		s.text(strong, "", t.Caption)
	}
	g := s.lay(t)
	for i, columns := range g.cut(s.width, max(t.Keys, 1)) {
		if i > 0 {
			s.blank()
		}
		s.draw(t, g, columns)
	}
	s.notes(t.Notes)
	for _, l := range t.Legend {
		s.text(muted, "", l)
	}
}

// lay splits heads and cells into lines and measures the columns.
func (s *screen) lay(t *table) grid {
	g := grid{rows: make([][][]inked, len(t.Rows))}
	for i := range t.Rows {
		g.rows[i] = make([][]inked, len(t.Columns))
	}
	for j, c := range t.Columns {
		limit := s.columnLimit(j, c)
		width := 0
		for i, lines := range s.columnLines(t, j) {
			for _, l := range lines {
				for _, part := range wrapped(l.text, limit) {
					g.rows[i][j] = append(g.rows[i][j], inked{part, l.ink})
					width = max(width, lipgloss.Width(part))
				}
			}
		}
		head := wrapped(s.clean(c.Title), min(limit, max(width, widest(strings.Fields(s.clean(c.Title))))))
		g.widths = append(g.widths, max(width, widest(head)))
		g.heads = append(g.heads, nil)
		for _, h := range head {
			g.heads[j] = append(g.heads[j], inked{h, strong})
		}
	}
	return g
}

// columnLimit limits text columns in favour of numbers, and leaves room for the
// first column beside any other.
func (s *screen) columnLimit(j int, c column) int {
	first := max(s.width*3/10, 14)
	switch {
	case j == 0:
		return first
	case c.Align == left:
		return min(s.width*4/10, s.width-first-space)
	}
	return s.width - first - space
}

// columnLines returns the lines of every cell of a column, with aligned decimal
// points.
func (s *screen) columnLines(t *table, j int) [][]inked {
	var cells []cell
	for _, r := range t.Rows {
		cells = append(cells, r[j])
	}
	texts := s.cellTexts(cells, t.Columns[j].Align == point)
	lines := make([][]inked, len(cells))
	for i, c := range cells {
		if strings.TrimSpace(texts[i]) != "" || len(c.Detail) == 0 {
			lines[i] = append(lines[i], inked{texts[i], c.Tone})
		}
		for _, d := range c.Detail {
			lines[i] = append(lines[i], inked{s.clean(d), muted})
		}
	}
	return lines
}

// cellTexts returns the texts of a column with their note references, aligned on
// decimal points if the column is.
func (s *screen) cellTexts(cells []cell, onPoint bool) []string {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = tagged(s.clean, c) + s.g.refs(c.Refs)
	}
	if onPoint {
		for i, lacking := range say.Tails(texts) {
			texts[i] += strings.Repeat(" ", lacking)
		}
	}
	return texts
}

// cut groups the columns so that each group fits the width. Every group starts with
// the first columns: keys of them, or as many as leave room for any other.
func (g grid) cut(width, keys int) [][]int {
	for ; keys > 1; keys-- {
		used := slices.Max(g.widths[keys:])
		for _, w := range g.widths[:keys] {
			used += w + space
		}
		if used <= width {
			break
		}
	}
	var first []int
	room := width
	for j, w := range g.widths[:keys] {
		first = append(first, j)
		room -= w
		if j > 0 {
			room -= space
		}
	}
	var groups [][]int
	group, left := slices.Clone(first), room
	for j := keys; j < len(g.widths); j++ {
		if space+g.widths[j] > left && len(group) > keys {
			groups = append(groups, group)
			group, left = slices.Clone(first), room
		}
		group = append(group, j)
		left -= space + g.widths[j]
	}
	return append(groups, group)
}

// draw writes the given columns: heads, a rule below them, rows. (The table of
// lipgloss truncates heads that do not fit on one line, and metric names do not.)
func (s *screen) draw(t *table, g grid, columns []int) {
	s.drawRow(t, g, columns, g.heads)
	total := space * (len(columns) - 1)
	for _, j := range columns {
		total += g.widths[j]
	}
	s.b.WriteString(s.paint(muted, strings.Repeat(s.g.rule, total)) + "\n")
	for _, r := range g.rows {
		s.drawRow(t, g, columns, r)
	}
}

// drawRow writes one row, with as many lines as its tallest cell.
func (s *screen) drawRow(t *table, g grid, columns []int, row [][]inked) {
	height := 1
	for _, j := range columns {
		height = max(height, len(row[j]))
	}
	for i := range height {
		var line strings.Builder
		for k, j := range columns {
			if k > 0 {
				line.WriteString(strings.Repeat(" ", space))
			}
			var l inked
			if i < len(row[j]) {
				l = row[j][i]
			}
			room := strings.Repeat(" ", g.widths[j]-lipgloss.Width(l.text))
			if t.Columns[j].Align != left {
				line.WriteString(room + s.paint(l.ink, l.text))
			} else {
				line.WriteString(s.paint(l.ink, l.text) + room)
			}
		}
		s.b.WriteString(trimRight(line.String()) + "\n")
	}
}
