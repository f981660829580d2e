// Package label has the labelled spans of a text: offsets in three units,
// realignment, the taxonomy of roles and the sections of a text. All of it is
// data of a study; nothing here knows a model, a judge or a file format.
package label

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A Span is a labelled part of a text. Offsets are Unicode code points, the end
// exclusive; both are -1 for a span whose text is not in the text.
type Span struct {
	Text       string  `json:"text"`
	Role       string  `json:"role"`
	Confidence float64 `json:"confidence"` // 0 to 1, or Unstated
	Start      int     `json:"start"`
	End        int     `json:"end"`
	Section    string  `json:"section,omitempty"`
}

// Placed reports whether the span has a place in its text.
func (s Span) Placed() bool { return s.Start >= 0 && s.End > s.Start }

// Unstated is the confidence of a span without one. It is in no measure of confidence.
const Unstated = -1

// Stated reports whether the span has a confidence.
func (s Span) Stated() bool { return s.Confidence >= 0 && s.Confidence <= 1 }

// A Unit is the unit of offsets in a file.
type Unit string

// The units of offsets.
const (
	CodePoints Unit = "code_points" // Python, Prodigy
	UTF16      Unit = "utf16"       // JavaScript, Java, Label Studio
	Bytes      Unit = "bytes"       // Go, Rust, of UTF-8
)

// A Ruler converts offsets in one text. Offsets inside a character are moved to
// its start; those outside the text give -1.
type Ruler struct {
	text  string
	ascii bool
	start []int // byte offset of each code point, and of the end
	units []int // the same in UTF-16 units; made when needed
}

// NewRuler makes a ruler for a text.
func NewRuler(text string) *Ruler {
	r := &Ruler{text: text, ascii: true}
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			r.ascii = false
			break
		}
	}
	if !r.ascii {
		for i := range text {
			r.start = append(r.start, i)
		}
		r.start = append(r.start, len(text))
	}
	return r
}

// Len is the number of code points.
func (r *Ruler) Len() int {
	if r.ascii {
		return len(r.text)
	}
	return len(r.start) - 1
}

// Byte converts a code point offset to a byte offset.
func (r *Ruler) Byte(point int) int {
	switch {
	case point < 0 || point > r.Len():
		return -1
	case r.ascii:
		return point
	}
	return r.start[point]
}

// Point converts an offset of a unit to code points.
func (r *Ruler) Point(offset int, u Unit) int {
	switch {
	case offset < 0:
		return -1
	case r.ascii || u == CodePoints || u == "":
		if offset > r.Len() {
			return -1
		}
		return offset
	case u == Bytes:
		return last(r.start, offset)
	}
	return last(r.utf16(), offset)
}

// In converts a code point offset to a unit.
func (r *Ruler) In(point int, u Unit) int {
	switch {
	case point < 0 || point > r.Len():
		return -1
	case r.ascii || u == CodePoints || u == "":
		return point
	case u == Bytes:
		return r.start[point]
	}
	return r.utf16()[point]
}

func (r *Ruler) utf16() []int {
	if r.units == nil {
		n := 0
		for _, c := range r.text {
			r.units = append(r.units, n)
			n += utf16.RuneLen(c)
		}
		r.units = append(r.units, n)
	}
	return r.units
}

// last is the index of the last offset that is at most want; -1 beyond the end.
func last(offsets []int, want int) int {
	if want > offsets[len(offsets)-1] {
		return -1
	}
	low, high := 0, len(offsets)
	for high-low > 1 {
		if middle := (low + high) / 2; offsets[middle] <= want {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// Slice is the text between two code point offsets; "" if they are not a range of
// the text.
func (r *Ruler) Slice(start, end int) string {
	if start < 0 || end < start || end > r.Len() {
		return ""
	}
	return r.text[r.Byte(start):r.Byte(end)]
}

// What happened to a span when it was placed.
const (
	Realigned = "realigned" // the text is elsewhere: the nearest occurrence is taken
	Unaligned = "unaligned" // the text does not occur
)

// Place sets the offsets of a span. If its text is not what they say, the nearest
// occurrence of the text is taken and Realigned returned; if there is none, the
// span gets no place and Unaligned is returned. A span without a text gets that of
// its offsets.
func (r *Ruler) Place(s *Span) (note string) {
	at := r.Slice(s.Start, s.End)
	switch {
	case at != "" && (s.Text == at || s.Text == ""):
		s.Text = at
		return ""
	case s.Text != "":
		if start := r.nearest(s.Text, s.Start); start >= 0 {
			s.Start, s.End = start, start+utf8.RuneCountInString(s.Text)
			return Realigned
		}
	}
	s.Start, s.End = -1, -1
	return Unaligned
}

// nearest is the start of the occurrence of a text that is nearest to an offset,
// of two equally near ones the first; -1 if there is none.
func (r *Ruler) nearest(text string, to int) int {
	best := -1
	for from := 0; ; {
		i := strings.Index(r.text[from:], text)
		if i < 0 {
			return best
		}
		point := r.Point(from+i, Bytes)
		if best < 0 || distance(point, to) < distance(best, to) {
			best = point
		}
		_, size := utf8.DecodeRuneInString(r.text[from+i:])
		from += i + size
	}
}

func distance(a, b int) int { return max(a-b, b-a) }

// Find places a span that has no offsets: at the first occurrence of its text
// that none of the earlier spans with the same text has.
func (r *Ruler) Find(s *Span, earlier []Span) (note string) {
	from := 0
	for i := range earlier {
		if earlier[i].Text == s.Text && earlier[i].Placed() {
			from = max(from, r.Byte(earlier[i].Start)+1)
		}
	}
	for from < len(r.text) && !utf8.RuneStart(r.text[from]) {
		from++
	}
	if s.Text != "" {
		if i := strings.Index(r.text[min(from, len(r.text)):], s.Text); i >= 0 {
			s.Start = r.Point(from+i, Bytes)
			s.End = s.Start + utf8.RuneCountInString(s.Text)
			return ""
		}
	}
	s.Start, s.End = -1, -1
	return Unaligned
}
