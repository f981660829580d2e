package report

import (
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
)

// A table has columns, rows, numbered notes for its cells, and a legend. Every format
// writes it: a terminal and Markdown as text, HTML with the spots of its rows drawn along
// its axis, if it has one.
type table struct {
	Caption string
	Lead    string // how to read it
	Columns []column
	Keys    int // leading columns that name a row, if not the first alone
	Rows    []row
	Notes   notes
	Legend  []string
	Axis    *axis
	Answers bool // a row is a unit of an answer: on a phone, one below the other
}

// A row has a cell for each column or, if it has none, is the heading of the rows below.
type row struct {
	Group string
	Cells []cell
	Spot  spot
	Total bool // over all items, among rows of strata
}

type column struct {
	Title string
	Align alignment
	Rare  bool // left out if it has only zeros
}

type alignment string

const (
	left  alignment = ""
	right alignment = "right"
	point alignment = "point" // right, aligned on the decimal point
)

// A cell is text with smaller text below it. Refs count from 1 and refer to the notes of
// the table.
type cell struct {
	Text   string
	Detail []string
	Tags   []string
	Refs   []int
	Tone   tone
	Depth  int // shading from 1 to shades, or 0 for none
	Href   string

	lacking int // columns missing after its decimal point, see align
}

// tone selects a colour. The text must carry the meaning without it.
type tone string

const (
	plain  tone = ""
	good   tone = "good"
	bad    tone = "bad"
	unsure tone = "unsure"
	muted  tone = "muted"
	strong tone = "strong"
	loud   tone = "loud"
)

// newTable makes a table with columns. Before a title, > aligns numbers right and . on their
// decimal points, and ? leaves the column out if it has only zeros.
func newTable(caption string, columns ...string) *table {
	t := &table{Caption: caption}
	for _, title := range columns {
		c := column{}
		title, c.Rare = strings.CutPrefix(title, "?")
		if rest, ok := strings.CutPrefix(title, ">"); ok {
			title, c.Align = rest, right
		} else if rest, ok := strings.CutPrefix(title, "."); ok {
			title, c.Align = rest, point
		}
		c.Title = title
		t.Columns = append(t.Columns, c)
	}
	return t
}

func (t *table) add(cells ...cell) { t.Rows = append(t.Rows, row{Cells: cells}) }

// column adds a column whose title comes from data.
func (t *table) column(title string, align alignment) {
	t.Columns = append(t.Columns, column{Title: title, Align: align})
}

func (t *table) has(title string) bool {
	return slices.ContainsFunc(t.Columns, func(c column) bool { return c.Title == title })
}

// notes collects the notes of one table without duplicates.
type notes []string

func (n *notes) refs(texts []string) []int {
	var refs []int
	for _, t := range texts {
		i := slices.Index(*n, t)
		if i < 0 {
			i = len(*n)
			*n = append(*n, t)
		}
		if !slices.Contains(refs, i+1) {
			refs = append(refs, i+1)
		}
	}
	return refs
}

func words(s string) cell { return cell{Text: s} }

func number(n int) cell { return words(say.Count(n)) }

// rare is a count that is usually 0.
func rare(n int) cell {
	c := number(n)
	if n == 0 {
		c.Tone = muted
	}
	return c
}

// trouble is a count that should be 0.
func trouble(n int) cell {
	c := rare(n)
	if n != 0 {
		c.Tone = unsure
	}
	return c
}

// undefined is a dash with its reasons.
func (t *table) undefined(reasons ...string) cell {
	return cell{Text: say.Dash, Tone: muted, Refs: t.Notes.refs(reasons)}
}

// tagged returns the text of a cell followed by its tags.
func tagged(clean func(string) string, c cell) string {
	text := clean(c.Text)
	for _, t := range c.Tags {
		switch t {
		case tagSimulated, tagSimulatedJudge, tagJudgeFailed, tagUnblinded, tagLedger, tagRulesChanged:
			t = strings.ToUpper(t)
		}
		text += " [" + clean(t) + "]"
	}
	return strings.TrimSpace(text)
}

// line returns a cell on one line: "0.831 (0.801 to 0.860; n = 40)".
func (c cell) line(clean func(string) string, ref func(int) string) string {
	text := clean(tagged(say.PlainLine, c))
	for i, r := range c.Refs {
		if i > 0 {
			text += ","
		}
		text += ref(r)
	}
	switch detail := clean(strings.Join(c.Detail, "; ")); {
	case detail == "":
		return text
	case text == "":
		return detail
	default:
		return text + " (" + detail + ")"
	}
}

// trimmed leaves out rare columns without a count and says so, and moves what is the same
// below all numbers into the legend.
func (t *table) trimmed() *table {
	var none []string
	for j := len(t.Columns) - 1; j >= 0; j-- {
		empty := func(r row) bool {
			return r.Cells == nil || slices.Contains([]string{"", "0", "$0", say.Dash}, r.Cells[j].Text)
		}
		if !t.Columns[j].Rare || slices.ContainsFunc(t.Rows, func(r row) bool { return !empty(r) }) {
			continue
		}
		none = append([]string{strings.ToLower(t.Columns[j].Title)}, none...)
		t.without(j)
	}
	if none != nil {
		t.Legend = append(t.Legend, "None: "+strings.Join(none, ", ")+".")
	}
	all := counts(slices.Concat(mapped(t.Rows, func(r row) []cell { return r.Cells })...))
	if len(all) == 1 {
		for _, r := range t.Rows {
			dropCounts(r.Cells)
		}
		t.Legend = append(t.Legend, all[0]+" throughout.")
	}
	return t
}

// isCount reports whether a detail is a number of items.
func isCount(detail string) bool { return strings.HasPrefix(detail, "n = ") }

// counts lists the different numbers of items below cells.
func counts(cells []cell) (list []string) {
	for _, c := range cells {
		list = append(list, filter(c.Detail, isCount)...)
	}
	return factors(list, func(s string) string { return s })
}

func dropCounts(cells []cell) {
	for j := range cells {
		cells[j].Detail = slices.DeleteFunc(cells[j].Detail, isCount)
	}
}

// suiteTable shows a suite's own table. Its rows may be ragged.
func suiteTable(of eval.Table, alpha float64) *table {
	t := &table{Caption: of.Title, Legend: nonEmpty(of.Note)}
	for j, c := range of.Columns {
		align := left
		if j > 0 && numeric(of.Rows, j) {
			align = point
		}
		t.column(c, align)
	}
	tones := map[string]tone{eval.VerdictTrue: good, eval.VerdictFalse: bad, eval.VerdictUnknown: unsure}
	for _, r := range of.Rows {
		cells := make([]cell, len(of.Columns))
		for i, c := range r[:min(len(r), len(cells))] {
			cells[i] = cell{Text: c.Number(alpha), Detail: nonEmpty(c.Interval()), Refs: t.Notes.refs(nonEmpty(c.Why))}
			if c.Kind == eval.KindVerdict {
				cells[i].Tone = tones[cells[i].Text]
			}
		}
		t.add(cells...)
	}
	return t
}

// numeric reports whether a column has only numbers.
func numeric(rows [][]eval.Cell, j int) bool {
	some := false
	for _, r := range rows {
		switch {
		case j >= len(r) || r[j].String() == "":
		case r[j].Kind == eval.KindText || r[j].Kind == eval.KindVerdict:
			return false
		default:
			some = true
		}
	}
	return some
}

// without removes a column.
func (t *table) without(j int) {
	t.Columns = slices.Delete(t.Columns, j, j+1)
	for i := range t.Rows {
		if t.Rows[i].Cells != nil {
			t.Rows[i].Cells = slices.Delete(t.Rows[i].Cells, j, j+1)
		}
	}
}

// shades is the number of shading levels.
const shades = 10

// shaded sets the shading of a cell for a level or difference from 0 to 1.
func shaded(c cell, level analyse.Number) cell {
	if level.Defined() && level >= 0 && level <= 1 {
		c.Depth = 1 + min(int(level*shades), shades-1)
	}
	return c
}

// measuredCell returns a number with its interval and n below it.
func measuredCell(m eval.Measured, signed bool) cell {
	if !m.Value.Defined() {
		return cell{Text: say.Dash, Tone: muted}
	}
	three := say.Scale{Decimals: 3}
	c := words(three.Number(m.Value, signed))
	if m.Low.Defined() && m.High.Defined() {
		c.Detail = []string{three.Interval(m.Low, m.High, signed)}
	}
	if m.N > 0 {
		c.Detail = append(c.Detail, "n = "+say.Count(m.N))
	}
	return c
}

// factors lists the distinct names of a list in order of appearance.
func factors[T any, N comparable](list []T, name func(T) N) []N {
	var names []N
	for _, x := range list {
		if n := name(x); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// mapped returns what a function makes of each element.
func mapped[T, R any](list []T, of func(T) R) (made []R) {
	for _, x := range list {
		made = append(made, of(x))
	}
	return made
}

// prefixed puts a text before each of a list.
func prefixed(with string, list []string) []string {
	return mapped(list, func(s string) string { return with + s })
}

// filter returns the elements for which keep is true.
func filter[T any](list []T, keep func(T) bool) []T {
	var kept []T
	for _, x := range list {
		if keep(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

// A spot is a value and its interval on an axis, each from 0 (left end) to 1, or NaN if
// undefined.
type spot struct{ Point, Low, High float64 }

func (s spot) HasPoint() bool    { return !math.IsNaN(s.Point) }
func (s spot) HasInterval() bool { return !math.IsNaN(s.Low) && !math.IsNaN(s.High) }
