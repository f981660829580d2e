package text

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A Unit is the unit of offsets in a file.
type Unit string

// The units of offsets.
const (
	CodePoints Unit = "code_points" // Python, Prodigy
	UTF16      Unit = "utf16"       // JavaScript, Java, older versions of Label Studio
	Bytes      Unit = "bytes"       // Go, Rust, of UTF-8
)

// Units lists the units.
var Units = [...]Unit{CodePoints, UTF16, Bytes}

// ParseUnit checks the name of a unit.
func ParseUnit(name string) (Unit, error) {
	if u := Unit(name); slices.Contains(Units[:], u) {
		return u, nil
	}
	return "", fmt.Errorf("%q: want code_points, utf16 or bytes", name)
}

// A Ruler converts offsets in one text. Offsets inside a character are moved to
// its start; those outside the text give -1.
type Ruler struct {
	Text  string
	ascii bool
	start []int // byte offset of each code point, and of the end
	units []int // the same in UTF-16 units; made when needed
}

// NewRuler makes a ruler for a text.
func NewRuler(text string) *Ruler {
	r := &Ruler{Text: text, ascii: isASCII(text)}
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
		return len(r.Text)
	}
	return len(r.start) - 1
}

// Byte converts a code point offset to a byte offset.
func (r *Ruler) Byte(point int) int { return r.In(point, Bytes) }

// offsets are those of the code points in a unit, and of the end; nil where they are their
// numbers.
func (r *Ruler) offsets(u Unit) []int {
	switch {
	case r.ascii || u == CodePoints || u == "":
		return nil
	case u == Bytes:
		return r.start
	}
	return r.utf16()
}

// Point converts an offset of a unit to code points.
func (r *Ruler) Point(offset int, u Unit) int {
	offsets := r.offsets(u)
	switch {
	case offset < 0 || offsets == nil && offset > r.Len() || offsets != nil && offset > offsets[len(offsets)-1]:
		return -1
	case offsets == nil:
		return offset
	}
	return sort.SearchInts(offsets, offset+1) - 1 // the last that is not above it
}

// In converts a code point offset to a unit.
func (r *Ruler) In(point int, u Unit) int {
	offsets := r.offsets(u)
	switch {
	case point < 0 || point > r.Len():
		return -1
	case offsets == nil:
		return point
	}
	return offsets[point]
}

func (r *Ruler) utf16() []int {
	if r.units == nil {
		n := 0
		for _, c := range r.Text {
			r.units = append(r.units, n)
			n += utf16.RuneLen(c)
		}
		r.units = append(r.units, n)
	}
	return r.units
}

// Exactly converts an offset of a unit to code points. One inside of a character is an error.
func (r *Ruler) Exactly(offset int, u Unit) (int, error) {
	point := r.Point(offset, u)
	if point < 0 || r.In(point, u) != offset {
		return 0, fmt.Errorf("offset %d (%s) is not between two characters of the text", offset, u)
	}
	return point, nil
}

// Slice is the text between two code point offsets; "" if they are not a range of
// the text.
func (r *Ruler) Slice(start, end int) string {
	if start < 0 || end < start || end > r.Len() {
		return ""
	}
	return r.Text[r.Byte(start):r.Byte(end)]
}

// Nearest is the start of the occurrence of a text that is nearest to an offset,
// of two equally near ones the first; -1 if there is none.
func (r *Ruler) Nearest(text string, to int) int {
	best := -1
	for from := 0; ; {
		i := strings.Index(r.Text[from:], text)
		if i < 0 {
			return best
		}
		point := r.Point(from+i, Bytes)
		if best < 0 || distance(point, to) < distance(best, to) {
			best = point
		}
		_, size := utf8.DecodeRuneInString(r.Text[from+i:])
		from += i + size
	}
}

func distance(a, b int) int { return max(a-b, b-a) }
