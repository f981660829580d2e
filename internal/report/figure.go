package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/scruple-eval/scruple/internal/analyse"
)

// A figure is drawn in HTML; everywhere else, and below it, it is its table.
type figure struct {
	Title  string
	Note   string
	XTitle string
	YTitle string
	XTicks []tick // At is a place in the drawing
	YTicks []tick
	Lines  []line
	Table  *table
}

// A line is a series as it is drawn.
type line struct {
	Name  string
	Class string // of its colour
	Path  string // through its points, "" where they are not joined
	Marks []mark
	At    float64 // y of its entry in the legend
}

// A mark is a point with its whisker, in the units of the drawing; the limits
// are those of the point where there is no interval.
type mark struct {
	X, Y, Low, High float64
	Title           string
}

// The drawing, in units of its view box.
const (
	figureWidth, figureHeight = 760.0, 360.0
	plotLeft, plotRight       = 60.0, 500.0
	plotTop, plotBottom       = 16.0, 300.0
	lineColours               = 8
)

// figureBlocks are the suite's figures: drawings, and grids as tables whose
// cells stand out.
func (b *builder) figureBlocks() []block {
	var blocks []block
	for _, f := range b.a.Figures {
		if len(f.Rows) > 0 {
			blocks = append(blocks, block{Table: b.grid(f)})
			continue
		}
		if g := b.figure(f); g != nil {
			blocks = append(blocks, block{Figure: g})
		}
	}
	return blocks
}

func (b *builder) figure(f analyse.Figure) *figure {
	xs, ys := bounds(f)
	if math.IsInf(xs[0], 0) || math.IsInf(ys[0], 0) {
		return nil
	}
	g := &figure{Title: f.Title, Note: f.Note, XTitle: f.XTitle, YTitle: f.YTitle, Table: b.seriesTable(f)}
	atX := func(v float64) float64 { return scaled(v, xs, plotLeft+12, plotRight-12) }
	atY := func(v float64) float64 { return scaled(v, ys, plotBottom, plotTop) }
	g.XTicks, g.YTicks = xTicks(f, xs, atX), yTicks(ys, atY)
	for i, s := range f.Series {
		l := line{Name: s.Name, Class: "s" + strconv.Itoa(i%lineColours), At: plotTop + 8 + 18*float64(i)}
		for _, p := range s.Points {
			if !p.X.Defined() || !p.Value.Defined() {
				continue
			}
			m := mark{X: atX(float64(p.X)), Y: atY(float64(p.Value)), Title: s.Name + ": " + b.spread(p.Spread)}
			m.Low, m.High = m.Y, m.Y
			if p.Low.Defined() && p.High.Defined() {
				m.Low, m.High = atY(math.Max(float64(p.Low), ys[0])), atY(math.Min(float64(p.High), ys[1]))
			}
			if f.Joined {
				verb := "L"
				if l.Path == "" {
					verb = "M"
				}
				l.Path += verb + coordinate(m.X) + " " + coordinate(m.Y)
			}
			l.Marks = append(l.Marks, m)
		}
		g.Lines = append(g.Lines, l)
	}
	return g
}

// coordinate writes a place with two decimals: the same bytes everywhere.
func coordinate(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// bounds are the ranges of x and y; y is 0 to 1 where everything is in it.
func bounds(f analyse.Figure) (xs, ys [2]float64) {
	xs, ys = [2]float64{math.Inf(1), math.Inf(-1)}, [2]float64{math.Inf(1), math.Inf(-1)}
	for _, s := range f.Series {
		for _, p := range s.Points {
			if p.X.Defined() && p.Value.Defined() {
				xs = [2]float64{math.Min(xs[0], float64(p.X)), math.Max(xs[1], float64(p.X))}
				ys = [2]float64{math.Min(ys[0], float64(p.Value)), math.Max(ys[1], float64(p.Value))}
			}
		}
	}
	if ys[0] >= 0 && ys[1] <= 1 {
		ys = [2]float64{0, 1}
	}
	return xs, ys
}

// scaled is where a value lies between two places; values that are all the
// same lie in the middle.
func scaled(v float64, bounds [2]float64, from, to float64) float64 {
	if bounds[1] == bounds[0] {
		return (from + to) / 2
	}
	return from + (v-bounds[0])/(bounds[1]-bounds[0])*(to-from)
}

// xTicks are the categories, or the numbers that points stand over.
func xTicks(f analyse.Figure, xs [2]float64, at func(float64) float64) []tick {
	var ticks []tick
	if f.Ticks != nil {
		for i, label := range f.Ticks {
			if x := float64(i); x >= xs[0] && x <= xs[1] {
				ticks = append(ticks, tick{at(x), label})
			}
		}
		return ticks
	}
	if !f.Joined {
		for k := range 5 {
			v := xs[0] + (xs[1]-xs[0])*float64(k)/4
			ticks = append(ticks, tick{at(v), strconv.FormatFloat(v, 'g', 3, 64)})
			if xs[0] == xs[1] {
				break
			}
		}
		return ticks
	}
	seen := map[float64]bool{}
	for _, s := range f.Series {
		for _, p := range s.Points {
			if x := float64(p.X); p.X.Defined() && !seen[x] {
				seen[x] = true
				ticks = append(ticks, tick{at(x), short(x)})
			}
		}
	}
	return ticks
}

func yTicks(ys [2]float64, at func(float64) float64) []tick {
	var ticks []tick
	for k := range 6 {
		v := ys[0] + (ys[1]-ys[0])*float64(k)/5
		ticks = append(ticks, tick{at(v), strconv.FormatFloat(v, 'g', 3, 64)})
	}
	return ticks
}

// spread is a number and its interval as text.
func (b *builder) spread(s analyse.Spread) string {
	if !s.Value.Defined() {
		return dash
	}
	text := scale{decimals: 3}.number(s.Value, false)
	if s.Low.Defined() && s.High.Defined() {
		text += " [" + scale{decimals: 3}.interval(s.Low, s.High, false) + "]"
	}
	return text
}

// seriesTable has a row a series and a column an x; of points that are not
// joined, a row a point.
func (b *builder) seriesTable(f analyse.Figure) *table {
	t := &table{Caption: f.Title, Columns: []column{{Title: ""}}}
	if f.Note != "" {
		t.Legend = []string{f.Note}
	}
	if !f.Joined {
		t.Columns = []column{{Title: ""}, {Title: f.XTitle, Align: right}, {Title: f.YTitle, Align: right}}
		for _, s := range f.Series {
			for _, p := range s.Points {
				t.Rows = append(t.Rows, []cell{{Text: s.Name}, {Text: strconv.FormatFloat(float64(p.X), 'g', 4, 64)}, {Text: b.spread(p.Spread)}})
			}
		}
		return t
	}
	var xs []float64
	place := map[float64]int{}
	for _, s := range f.Series {
		for _, p := range s.Points {
			if _, ok := place[float64(p.X)]; !ok && p.X.Defined() {
				place[float64(p.X)] = len(xs)
				xs = append(xs, float64(p.X))
			}
		}
	}
	for _, x := range xs {
		title := f.XTitle + " " + short(x)
		if i := int(x); f.Ticks != nil && i >= 0 && i < len(f.Ticks) {
			title = f.Ticks[i]
		}
		t.Columns = append(t.Columns, column{Title: title, Align: right})
	}
	for _, s := range f.Series {
		row := make([]cell, len(t.Columns))
		row[0] = cell{Text: s.Name}
		for i := range xs {
			row[i+1] = cell{Text: dash, Tone: muted}
		}
		for _, p := range s.Points {
			if i, ok := place[float64(p.X)]; ok {
				row[i+1] = cell{Text: b.spread(p.Spread)}
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// grid is a figure of cells: those beyond its limits stand out.
func (b *builder) grid(f analyse.Figure) *table {
	t := &table{Caption: f.Title, Columns: []column{{Title: f.YTitle}}}
	for _, c := range f.Columns {
		t.Columns = append(t.Columns, column{Title: c, Align: right})
	}
	for i, name := range f.Rows {
		row := []cell{{Text: name}}
		for j := range f.Columns {
			c := cell{Text: dash, Tone: muted}
			if i < len(f.Cells) && j < len(f.Cells[i]) && f.Cells[i][j].Value.Defined() {
				s := f.Cells[i][j]
				c = cell{Text: fmt.Sprintf("%+.3f", float64(s.Value)), Tone: unsure}
				if s.Low.Defined() && s.High.Defined() {
					c.Detail = []string{scale{decimals: 3}.interval(s.Low, s.High, true)}
				}
				switch {
				case s.Value < f.Bad:
					c.Tone = bad
				case s.Value > f.Good:
					c.Tone = good
				}
			}
			row = append(row, c)
		}
		t.Rows = append(t.Rows, row)
	}
	if f.Note != "" {
		t.Legend = []string{f.Note}
	}
	return t
}
