package pdf

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/ledongthuc/pdf"
)

// Limits of what a page draws.
const (
	maxDrawn = 64 << 20 // bytes of drawing commands of a page with its forms, unpacked
	maxForms = 20       // forms inside each other
)

// A matrix is the six numbers of a transformation, as PDF writes them.
type matrix [6]float64

// identity changes nothing.
var identity = matrix{1, 0, 0, 1, 0, 0}

// then returns the transformation x and after it y. The conversions keep compilers from
// fusing operations, so that all machines compute the same.
func (x matrix) then(y matrix) matrix {
	dot := func(a, b, c, d float64) float64 { return float64(a*b) + float64(c*d) }
	return matrix{
		dot(x[0], y[0], x[1], y[2]), dot(x[0], y[1], x[1], y[3]),
		dot(x[2], y[0], x[3], y[2]), dot(x[2], y[1], x[3], y[3]),
		dot(x[4], y[0], x[5], y[2]) + y[4], dot(x[4], y[1], x[5], y[3]) + y[5],
	}
}

// move returns the transformation that moves by (dx, dy) and then does x.
func (x matrix) move(dx, dy float64) matrix { return matrix{1, 0, 0, 1, dx, dy}.then(x) }

// matrixOf reads a transformation.
func matrixOf(list []pdf.Value) (m matrix, ok bool) {
	if len(list) != len(m) {
		return identity, false
	}
	for i, v := range list {
		m[i] = v.Float64()
	}
	return m, true
}

// elements lists the elements of an array.
func elements(v pdf.Value) []pdf.Value {
	list := make([]pdf.Value, v.Len())
	for i := range list {
		list[i] = v.Index(i)
	}
	return list
}

// A font decodes text and knows the widths of its glyphs.
type font struct {
	encoding pdf.TextEncoding
	first    int
	widths   []float64
}

func fontOf(f pdf.Font) *font {
	w := f.Widths()
	n := max(0, f.LastChar()-f.FirstChar()+1)
	return &font{f.Encoder(), f.FirstChar(), w[:min(n, len(w))]}
}

func (f *font) width(code byte) float64 {
	if i := int(code) - f.first; i >= 0 && i < len(f.widths) {
		return f.widths[i]
	}
	return 0
}

// A graphics state is what q saves and Q restores.
type state struct {
	font                        *font
	size                        float64
	spacing, scale, lead, raise float64
	text, line, page            matrix // of the text, the line, and the page
}

// A drawing collects the glyphs of a page.
type drawing struct {
	turn   matrix        // of the page as it is shown
	glyphs [3][]pdf.Text // level, upwards, and downwards, each turned to be level
	left   int64         // bytes of drawing commands that may follow
	err    error         // the first
}

// turns are quarters of a turn, clockwise.
var turns = [4]matrix{identity, {0, -1, 1, 0, 0, 0}, {-1, 0, 0, -1, 0, 0}, {0, 1, -1, 0, 0, 0}}

// turnOf is how a page is turned when it is shown: its own Rotate, or that of the pages that
// it is one of.
func turnOf(page pdf.Value) matrix {
	for range maxForms {
		if r := page.Key("Rotate"); r.Kind() != pdf.Null {
			return turns[(r.Int64()/90%4+4)%4]
		}
		page = page.Key("Parent")
	}
	return identity
}

// pageGlyphs returns the glyphs that a page shows: of its content, of the forms that it
// uses, and of annotations such as the fields of a filled form. Glyphs that run upwards or
// downwards are apart.
func pageGlyphs(page pdf.Page) ([3][]pdf.Text, error) {
	d := &drawing{turn: turnOf(page.V), left: maxDrawn}
	if c := page.V.Key("Contents"); c.Kind() != pdf.Null {
		d.draw(c, page.Resources(), state{scale: 1, page: d.turn}, 0)
	}
	for _, a := range elements(page.V.Key("Annots")) {
		d.annotation(a)
	}
	return d.glyphs, d.err
}

// unpacked counts the bytes of a stream, or of an array of streams.
func unpacked(v pdf.Value, limit int64) (size int64, err error) {
	streams := []pdf.Value{v}
	if v.Kind() == pdf.Array {
		streams = elements(v)
	}
	for _, s := range streams {
		if s.Kind() != pdf.Stream {
			continue
		}
		in := s.Reader()
		n, err := io.Copy(io.Discard, io.LimitReader(in, limit-size+1))
		in.Close()
		if err != nil && n == 0 {
			return 0, err
		}
		if size += n; size > limit {
			return 0, fmt.Errorf("its content has more than %d MB", limit>>20)
		}
	}
	return size, nil
}

// The flags of annotations that are not shown.
const notShown = 1<<1 | 1<<5 // hidden, no view

// annotation draws how an annotation looks: its normal appearance, in its rectangle.
func (d *drawing) annotation(a pdf.Value) {
	if a.Key("F").Int64()&notShown != 0 {
		return
	}
	look := a.Key("AP").Key("N")
	if look.Kind() == pdf.Dict {
		look = look.Key(a.Key("AS").Name())
	}
	if look.Kind() != pdf.Stream {
		value := a.Key("V")
		if value.Kind() == pdf.Null {
			value = a.Key("Parent").Key("V")
		}
		if a.Key("Subtype").Name() == "Widget" && strings.TrimSpace(value.Text()) != "" {
			d.fail(errors.New("the value of a form field is not drawn: print the PDF to a file, or save it with a program that draws forms"))
		}
		return
	}
	own, ok := matrixOf(elements(look.Key("Matrix")))
	if !ok {
		own = identity
	}
	box, ok := boxOf(look.Key("BBox"), own)
	place, ok2 := boxOf(a.Key("Rect"), identity)
	if ok && ok2 {
		sx, sy := ratio(place[2]-place[0], box[2]-box[0]), ratio(place[3]-place[1], box[3]-box[1])
		own = own.then(matrix{sx, 0, 0, sy, place[0] - box[0]*sx, place[1] - box[1]*sy})
	}
	d.draw(look, look.Key("Resources"), state{scale: 1, page: own.then(d.turn)}, 1)
}

// boxOf returns the rectangle around a transformed one: left, bottom, right, top.
func boxOf(v pdf.Value, m matrix) (box [4]float64, ok bool) {
	if v.Len() != 4 {
		return box, false
	}
	box = [4]float64{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, x := range []int{0, 2} {
		for _, y := range []int{1, 3} {
			p := m.move(v.Index(x).Float64(), v.Index(y).Float64())
			box = [4]float64{min(box[0], p[4]), min(box[1], p[5]), max(box[2], p[4]), max(box[3], p[5])}
		}
	}
	return box, true
}

// ratio is the scale of an axis, 1 if nothing has a length.
func ratio(to, from float64) float64 {
	if to <= 0 || from <= 0 {
		return 1
	}
	return to / from
}

func (d *drawing) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// draw draws the commands of a page or form.
func (d *drawing) draw(content, resources pdf.Value, now state, depth int) {
	if depth > maxForms {
		d.fail(errors.New("its forms are nested too deeply"))
	}
	if d.err != nil {
		return
	}
	size, err := unpacked(content, min(d.left, maxContent))
	if err != nil {
		d.fail(err)
		return
	}
	d.left -= size
	fonts := map[string]*font{}
	var saved []state
	pdf.Interpret(content, func(stack *pdf.Stack, op string) {
		args := make([]pdf.Value, stack.Len())
		for i := len(args) - 1; i >= 0; i-- {
			args[i] = stack.Pop()
		}
		if want, ok := operands[op]; ok && len(args) != want {
			d.fail(fmt.Errorf("drawing command %s has %d operands, want %d", op, len(args), want))
		}
		if d.err != nil {
			return
		}
		number := func(i int) float64 { return args[i].Float64() }
		switch op {
		case "q":
			saved = append(saved, now)
		case "Q":
			if n := len(saved); n > 0 {
				now, saved = saved[n-1], saved[:n-1]
			}
		case "cm":
			m, _ := matrixOf(args)
			now.page = m.then(now.page)
		case "Do":
			x := resources.Key("XObject").Key(args[0].Name())
			if x.Key("Subtype").Name() != "Form" {
				return
			}
			own, ok := matrixOf(elements(x.Key("Matrix")))
			if !ok {
				own = identity
			}
			of := x.Key("Resources")
			if of.Kind() == pdf.Null {
				of = resources // as files of PDF 1.1 have it
			}
			inside := now
			inside.page = own.then(now.page)
			d.draw(x, of, inside, depth+1)
		case "BT":
			now.text, now.line = identity, identity
		case "Tf":
			name := args[0].Name()
			if fonts[name] == nil {
				fonts[name] = fontOf(pdf.Font{V: resources.Key("Font").Key(name)})
			}
			now.font, now.size = fonts[name], number(1)
		case "Tc":
			now.spacing = number(0)
		case "TL":
			now.lead = number(0)
		case "Ts":
			now.raise = number(0)
		case "Tz":
			now.scale = number(0) / 100
		case "Tm":
			now.text, _ = matrixOf(args)
			now.line = now.text
		case "TD":
			now.lead = -number(1)
			now.next(number(0), number(1))
		case "Td":
			now.next(number(0), number(1))
		case "T*":
			now.next(0, -now.lead)
		case `"`:
			now.spacing = number(1)
			now.next(0, -now.lead)
			d.show(&now, args[2].RawString())
		case "'":
			now.next(0, -now.lead)
			d.show(&now, args[0].RawString())
		case "Tj":
			d.show(&now, args[0].RawString())
		case "TJ":
			for _, x := range elements(args[0]) {
				if x.Kind() == pdf.String {
					d.show(&now, x.RawString())
				} else {
					now.text = now.text.move(-x.Float64()/1000*now.size*now.scale, 0)
				}
			}
			d.show(&now, "\n")
		}
	})
}

// operands are the numbers of operands of the commands that draw reads.
var operands = map[string]int{"cm": 6, "Do": 1, "Tf": 2, "Tc": 1, "TL": 1, "Ts": 1, "Tz": 1, "Tm": 6, "TD": 2, "Td": 2, `"`: 3, "'": 1, "Tj": 1, "TJ": 1}

// next begins a line.
func (s *state) next(dx, dy float64) {
	s.line = s.line.move(dx, dy)
	s.text = s.line
}

// show draws a text.
func (d *drawing) show(s *state, raw string) {
	decoded := raw
	if s.font != nil {
		decoded = s.font.encoding.Decode(raw)
	}
	n := 0
	for _, glyph := range decoded {
		width := 0.0
		if s.font != nil && n < len(raw) {
			width = s.font.width(raw[n])
		}
		n++
		m := matrix{s.size * s.scale, 0, 0, s.size, 0, s.raise}.then(s.text).then(s.page)
		of := &d.glyphs[0]
		if math.Abs(m[1]) > math.Abs(m[0]) {
			if m[1] > 0 {
				m, of = m.then(turns[1]), &d.glyphs[1]
			} else {
				m, of = m.then(turns[3]), &d.glyphs[2]
			}
		}
		*of = append(*of, pdf.Text{FontSize: m[0], X: m[4], Y: m[5], W: width / 1000 * m[0], S: string(glyph)})
		s.text = s.text.move((width/1000*s.size+s.spacing)*s.scale, 0)
	}
}
