package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
)

// A figure is drawn in HTML, with its table below. Other formats show only the
// table.
type figure struct {
	Title    string
	XTitle   string
	YTitle   string
	XTicks   []category
	YTicks   []tick // At is in drawing units
	Lines    []line
	Frontier string // path of the Pareto frontier
	Table    *table
}

// A category is a tick below the drawing, in a second row if Lower.
type category struct {
	tick
	Lower bool
}

// A line is a drawn series. It differs from others in colour and shape, so that it
// is readable without colour.
type line struct {
	Name  string
	Class string // for its colour
	Shape string // path of a mark centred at 0, 0
	Path  string // through its points; "" if they are not joined
	Marks []mark
}

// A mark is a point with its whisker in drawing units. Without an interval, the
// limits equal the point.
type mark struct {
	X, Y, Low, High float64
	Bar             *bar // nil: the series' shape
	Title           string
}

// A bar stands on zero.
type bar struct{ X, Y, Width, Height float64 }

// The drawing, in units of its view box.
const (
	plotLeft, plotRight = 60.0, 560.0
	plotTop, plotBottom = 16.0, 300.0
	plotMargin          = 16.0 // between the axis and the first and last point
	lineColours         = 10
	figureSteps         = 5 // of an axis
)

// shapes are the marks of series, in turn.
var shapes = []string{
	"M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",                    // circle
	"M-3.6 -3.6h7.2v7.2h-7.2z",                               // square
	"M0 -4.8L4.6 3.4H-4.6z",                                  // triangle
	"M0 -5L5 0L0 5L-5 0z",                                    // diamond
	"M0 4.8L4.6 -3.4H-4.6z",                                  // triangle upside down
	"M-4.4 -1.5h2.9v-2.9h3v2.9h2.9v3h-2.9v2.9h-3v-2.9h-2.9z", // cross
	"M-4.8 -2h9.6v4h-9.6z",                                   // bar
}

// figures is the section of the suite's own figures, which summarise a study of
// many arms before the numbers of each arm.
func (b *builder) figures() section {
	s := section{ID: "figures", Title: "At a glance"}
	for _, f := range b.a.Figures {
		if len(f.Rows) > 0 {
			s.Blocks = append(s.Blocks, block{Table: b.grid(f)})
		} else if g := b.figure(f); g != nil {
			size := atLength
			if b.crowded() && len(s.Blocks) == 0 {
				size = everywhere
			}
			s.Blocks = append(s.Blocks, block{Figure: g, In: size})
		}
	}
	return s
}

// A placing maps numbers to drawing units.
type placing struct {
	x, y func(analyse.Number) float64
}

func (b *builder) figure(f eval.Figure) *figure {
	xs, ys := newExtent(), newExtent()
	for _, p := range pointsOf(f, placed) {
		xs.include(p.X)
		ys.include(p.Value, p.Low, p.High)
	}
	if f.Bars {
		ys.include(0)
	}
	if xs.low > xs.high {
		return nil
	}
	g := &figure{Title: f.Title, XTitle: f.XTitle, YTitle: f.YTitle, Table: b.seriesTable(f)}
	lowest, highest := analyse.Undefined(), analyse.Undefined()
	if ys.low >= 0 && ys.high <= 1 {
		ys, lowest, highest = extent{0, 1}, 0, 1
	}
	y := newAxis(ys, lowest, highest, say.Scale{Decimals: 3}, false, figureSteps)
	// Places are products that are not fused with a sum: files have the same bytes on all processors.
	down := func(at float64) float64 { return plotBottom + float64(at*(plotTop-plotBottom)) }
	at := placing{y: func(n analyse.Number) float64 { return down(y.at(n)) }}
	g.YTicks = mapped(y.Ticks, func(t tick) tick { return tick{down(t.At), t.Label} })
	g.XTicks, at.x = xAxis(f, xs)
	for i := range f.Series {
		if l := b.line(f, i, at); len(l.Marks) > 0 {
			g.Lines = append(g.Lines, l)
		}
	}
	if f.Frontier {
		g.Frontier = frontier(f, at)
	}
	return g
}

// line draws a series. Its colour and shape depend on its index among all series,
// so they are the same in every figure. Joined series and those over categories are shifted a little in x so
// that their whiskers do not overlap.
func (b *builder) line(f eval.Figure, i int, at placing) line {
	s := f.Series[i]
	l := line{Name: s.Name, Class: "s" + strconv.Itoa(i%lineColours), Shape: shapes[i%len(shapes)]}
	dodge, width := 0.0, 0.0 // width is that of a bar
	if n := float64(len(f.Series)); f.Bars {
		const widest, share = 36, 0.8 // of the room of a category
		width = min(widest, share*(plotRight-plotLeft)/float64(max(1, len(places(f)))*len(f.Series)))
		dodge = float64((float64(i) - (n-1)/2) * width)
	} else if (f.Joined || f.Ticks != nil) && n > 1 {
		dodge = float64((float64(i) - (n-1)/2) * min(3, 2*(plotMargin-2)/(n-1)))
	}
	for _, p := range filter(s.Points, placed) {
		m, said := mark{X: at.x(p.X) + dodge, Y: at.y(p.Value)}, measuredCell(p.Measured, false)
		m.Low, m.High = m.Y, m.Y
		if p.Low.Defined() && p.High.Defined() {
			m.Low, m.High = at.y(p.Low), at.y(p.High)
			said.Detail[0] = b.ci + " " + said.Detail[0]
		}
		m.Title = strings.TrimSpace(s.Name+" "+p.Label) + ": " + strings.Join(append([]string{said.Text}, said.Detail...), ", ")
		if zero := at.y(0); f.Bars {
			const gap = 1
			m.Bar = &bar{m.X - width/2 + gap/2., min(m.Y, zero), width - gap, math.Abs(m.Y - zero)}
		}
		l.Marks = append(l.Marks, m)
	}
	if f.Joined {
		l.Path = path(l.Marks)
	}
	return l
}

func placed(p eval.Point) bool { return p.X.Defined() && p.Value.Defined() }

// pointsOf lists the points of all series that have something.
func pointsOf(f eval.Figure, has func(eval.Point) bool) []eval.Point {
	all := mapped(f.Series, func(s eval.Series) []eval.Point { return s.Points })
	return filter(slices.Concat(all...), has)
}

// path joins points by straight lines.
func path(points []mark) string {
	places := mapped(points, func(p mark) string { return coordinate(p.X) + " " + coordinate(p.Y) })
	return "M" + strings.Join(places, "L")
}

// frontier joins the points of the Pareto frontier: less x, more y.
func frontier(f eval.Figure, at placing) string {
	points := pointsOf(f, placed)
	slices.SortStableFunc(points, func(p, q eval.Point) int {
		return cmp.Or(cmp.Compare(p.X, q.X), cmp.Compare(q.Value, p.Value))
	})
	var best []mark
	highest := analyse.Number(math.Inf(-1))
	for _, p := range points {
		if p.Value > highest {
			best, highest = append(best, mark{X: at.x(p.X), Y: at.y(p.Value)}), p.Value
		}
	}
	if len(best) < 2 {
		return ""
	}
	return path(best)
}

// coordinate formats a place with two decimals.
func coordinate(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// xAxis returns the ticks: the categories, the x values of joined points, or round
// numbers.
func xAxis(f eval.Figure, xs extent) ([]category, func(analyse.Number) float64) {
	if f.Bars {
		all := places(f)
		room := (plotRight - plotLeft) / float64(max(1, len(all)))
		at := func(n analyse.Number) float64 {
			return plotLeft + float64(room*(float64(slices.Index(all, float64(n)))+0.5))
		}
		var ticks []category
		for i, x := range all {
			ticks = append(ticks, category{tick{at(analyse.Number(x)), xLabel(f, x)}, i%2 == 1 && tooLong(f, room)})
		}
		return ticks, at
	}
	left, width := plotLeft+plotMargin, plotRight-plotLeft-2*plotMargin
	if !f.Joined && f.Ticks == nil {
		a := newAxis(xs, analyse.Undefined(), analyse.Undefined(), say.Scale{Decimals: 3}, false, figureSteps)
		ticks := mapped(a.Ticks, func(t tick) category {
			return category{tick: tick{left + float64(t.At*width), t.Label}}
		})
		return ticks, func(n analyse.Number) float64 { return left + float64(a.at(n)*width) }
	}
	at := func(n analyse.Number) float64 {
		if xs.high == xs.low {
			return left + width/2
		}
		return left + float64((float64(n)-xs.low)/(xs.high-xs.low)*width)
	}
	ticks := mapped(places(f), func(x float64) category {
		return category{tick: tick{at(analyse.Number(x)), xLabel(f, x)}}
	})
	return ticks, at
}

// tooLong reports whether a label of a category is too long for its room.
func tooLong(f eval.Figure, room float64) bool {
	const letter = 6.5
	return slices.ContainsFunc(f.Ticks, func(label string) bool { return letter*float64(len([]rune(label))) > room })
}

// places returns the distinct values of x in order of appearance.
func places(f eval.Figure) []float64 {
	points := pointsOf(f, func(p eval.Point) bool { return p.X.Defined() })
	return factors(points, func(p eval.Point) float64 { return float64(p.X) })
}

// xLabel returns the label at x: the name of a category, or the number.
func xLabel(f eval.Figure, x float64) string {
	if i := int(x); f.Ticks != nil && i >= 0 && i < len(f.Ticks) {
		return f.Ticks[i]
	}
	return say.Short(x)
}

// seriesTable has one row per series and one column per x. If points are not joined, it has
// one row per point.
func (b *builder) seriesTable(f eval.Figure) *table {
	if !f.Joined && !f.Bars {
		t := newTable(f.Title, "", ">"+f.XTitle, ">"+f.YTitle)
		for _, s := range f.Series {
			for _, p := range s.Points {
				x := strconv.FormatFloat(float64(p.X), 'g', 4, 64)
				if f.Ticks != nil {
					x = xLabel(f, float64(p.X))
				}
				t.add(words(strings.TrimSpace(s.Name+" "+p.Label)), words(x), measuredCell(p.Measured, false))
			}
		}
		return b.noted(t, f)
	}
	xs := places(f)
	g := eval.Figure{Title: f.Title, Note: f.Note}
	for _, x := range xs {
		title := xLabel(f, x)
		if f.Ticks == nil {
			title = f.XTitle + " " + title
		}
		g.Columns = append(g.Columns, title)
	}
	for _, s := range f.Series {
		if len(s.Points) == 0 {
			continue
		}
		cells := make([]eval.Measured, len(xs))
		for j, x := range xs {
			cells[j].Value = analyse.Undefined()
			for _, p := range s.Points {
				if float64(p.X) == x {
					cells[j] = p.Measured
				}
			}
		}
		g.Rows, g.Cells = append(g.Rows, s.Name), append(g.Cells, cells)
	}
	return b.grid(g)
}

// noted adds the legend of a figure.
func (b *builder) noted(t *table, f eval.Figure) *table {
	t.Legend = append(nonEmpty(f.Note), "With each value: its "+b.ci+"; n counts items.")
	return t.trimmed()
}

// grid is a figure of cells: differences beyond its limits are marked, levels are shaded.
func (b *builder) grid(f eval.Figure) *table {
	t := &table{Caption: f.Title}
	t.column(f.YTitle, left)
	for _, c := range f.Columns {
		t.column(c, right)
	}
	for i, name := range f.Rows {
		cells := []cell{words(name)}
		for j := range f.Columns {
			m := eval.Measured{Value: analyse.Undefined()}
			if i < len(f.Cells) && j < len(f.Cells[i]) {
				m = f.Cells[i][j]
			}
			c := measuredCell(m, f.Differences)
			switch {
			case !m.Value.Defined():
			case !f.Differences:
				c = shaded(c, m.Value)
			default:
				word, tone := differenceWord(f, m)
				c.Tone = tone
				c.Detail = append(c.Detail, nonEmpty(word)...)
				c = shaded(c, analyse.Number(math.Abs(float64(m.Value))))
			}
			cells = append(cells, c)
		}
		t.add(cells...)
	}
	return b.noted(t, f)
}

// differenceWord returns the word for a difference by the limits of its figure, with a
// question mark if the interval does not support it.
func differenceWord(f eval.Figure, s eval.Measured) (string, tone) {
	word, tone, sure := f.Words[1], unsure, s.Low >= f.Bad && s.High <= f.Good
	switch {
	case s.Value < f.Bad:
		word, tone, sure = f.Words[0], bad, s.High < f.Bad
	case s.Value > f.Good:
		word, tone, sure = f.Words[2], good, s.Low > f.Good
	}
	if word != "" && !sure {
		word += "?"
	}
	return word, tone
}

// An axis runs from Low to High. Zero is the place of 0 on it, NaN if 0 is not a
// reference.
type axis struct {
	Low, High float64
	Zero      float64
	Ticks     []tick
}

// HasZero reports whether 0 is a reference on the axis.
func (a axis) HasZero() bool { return !math.IsNaN(a.Zero) }

type tick struct {
	At    float64
	Label string
}

// at returns the place of a number on the axis.
func (a axis) at(n analyse.Number) float64 {
	if !n.Defined() {
		return math.NaN()
	}
	return min(max((float64(n)-a.Low)/(a.High-a.Low), 0), 1)
}

func (a axis) spot(m eval.Measured) spot { return spot{a.at(m.Value), a.at(m.Low), a.at(m.High)} }

// extent is the range of numbers on an axis.
type extent struct{ low, high float64 }

func newExtent() extent { return extent{math.Inf(1), math.Inf(-1)} }

func (x *extent) include(ns ...analyse.Number) {
	for _, n := range ns {
		if n.Defined() {
			x.low, x.high = min(x.low, float64(n)), max(x.high, float64(n))
		}
	}
}

// newAxis makes an axis with round ticks for an extent, with at most about the
// given number of steps and within the known bounds of the metric. With
// reference, it includes and marks 0.
func newAxis(x extent, lowest, highest analyse.Number, s say.Scale, reference bool, steps float64) axis {
	if x.low > x.high { // nothing to show
		return axis{Low: -1, High: 1, Zero: math.NaN()}
	}
	if reference {
		x.include(0)
	}
	if x.high-x.low < 1e-9 { // too narrow for distinct labels
		room := max(math.Abs(x.low)/2, 0.05)
		x.low, x.high = x.low-room, x.high+room
	}
	step := roundStep((x.high - x.low) / steps)
	first, last := math.Floor(x.low/step+say.Noise), math.Ceil(x.high/step-say.Noise)
	if lowest.Defined() && x.low >= float64(lowest) {
		first = max(first, math.Ceil(float64(lowest)/step-say.Noise))
	}
	if highest.Defined() && x.high <= float64(highest) {
		last = min(last, math.Floor(float64(highest)/step+say.Noise))
	}
	a := axis{Low: min(first*step, x.low), High: max(last*step, x.high), Zero: math.NaN()}
	decimals := max(0, -int(math.Floor(math.Log10(step)+say.Noise)))
	for i := first; i <= last; i++ {
		a.Ticks = append(a.Ticks, tick{
			At:    a.at(analyse.Number(i * step)),
			Label: tickLabel(s, i*step, decimals, reference),
		})
	}
	if reference {
		a.Zero = a.at(0)
	}
	return a
}

const chartSteps = 4 // of an axis

// roundStep returns the smallest 1, 2 or 5 times a power of ten not below x.
func roundStep(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if x <= m*power*(1+say.Noise) {
			return m * power
		}
	}
	return 10 * power
}

func tickLabel(s say.Scale, x float64, decimals int, signed bool) string {
	if math.Abs(x) < say.Noise {
		return "0"
	}
	decimals = max(0, decimals-s.Shift())
	return say.Sign(x, signed) + say.Shifted(x, s.Shift(), decimals) + strings.TrimPrefix(s.Unit(signed), say.NBSP)
}

// percent formats a place on an axis for CSS or SVG: "37.5%".
func percent(at float64) string {
	return strconv.FormatFloat(math.Round(at*1e4)/1e2, 'f', -1, 64) + "%"
}

// A measuredRow is a labelled number with its interval and n.
type measuredRow struct {
	group string
	label cell
	total bool
	eval.Measured
	more    []cell   // after n
	href    string   // of the value
	reasons []string // why something is undefined
}

// plot adds rows with their numbers, and the axis for them, which has 0 for differences.
func (t *table) plot(rows []measuredRow, lowest, highest analyse.Number, s say.Scale, differences bool) {
	x := newExtent()
	for _, r := range rows {
		x.include(r.Value, r.Low, r.High)
	}
	a := newAxis(x, lowest, highest, s, differences, chartSteps)
	t.Axis = &a
	group := ""
	for _, r := range rows {
		if r.group != group {
			group = r.group
			t.Rows = append(t.Rows, row{Group: group})
		}
		cells := append([]cell{r.label, {Text: s.Value(r.Value, differences), Refs: t.Notes.refs(r.reasons), Href: r.href},
			words(s.Interval(r.Low, r.High, differences)), number(r.N)}, r.more...)
		t.Rows = append(t.Rows, row{Cells: cells, Total: r.total, Spot: a.spot(r.Measured)})
	}
}
