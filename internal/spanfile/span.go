// Package spanfile reads and writes files of labelled texts: JSON Lines, the golden sets
// and snapshots of a tool for video prompts, WNUT17, Label Studio, Prodigy and CoNLL.
// [Formats] lists them.
//
// It knows files, not studies: a role that no taxonomy has is read like any other.
package spanfile

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/text"
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
type Unit = text.Unit

// The units of offsets.
const (
	CodePoints = text.CodePoints
	UTF16      = text.UTF16
	Bytes      = text.Bytes
)

// Lower is a text in lower case with the offsets of s. A letter whose lower case has another
// length, such as İ, stays as it is.
func Lower(s string) string {
	lower := []byte(s)
	for at, r := range s {
		if l := unicode.ToLower(r); l != r && utf8.RuneLen(l) == utf8.RuneLen(r) {
			utf8.EncodeRune(lower[at:], l)
		}
	}
	return string(lower)
}

// A Ruler places spans in one text.
type Ruler struct {
	*text.Ruler
	indexed int // earlier spans that Find has in places and taken
	places  map[string]*places
	taken   map[taken]bool
}

// places are those of the spans with one text.
type places struct {
	next   int               // Find searches from this byte on
	starts []int             // of the earlier spans, in their order
	full   map[string][2]int // by role: from and to which of the starts all are taken
}

type taken struct {
	text, role string
	start      int
}

// NewRuler makes a ruler for a text.
func NewRuler(s string) *Ruler { return &Ruler{Ruler: text.NewRuler(s)} }

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
		if start := r.Nearest(s.Text, s.Start); start >= 0 {
			s.Start, s.End = start, start+utf8.RuneCountInString(s.Text)
			return Realigned
		}
	}
	s.Start, s.End = -1, -1
	return Unaligned
}

// Find places a span that has no offsets: at the first occurrence of its text behind all
// earlier spans with that text, else at the last of their places that has no span of its role.
// From call to call of a ruler, earlier spans are only added.
func (r *Ruler) Find(s *Span, earlier []Span) (note string) {
	for _, e := range earlier[r.indexed:] {
		if e.Placed() {
			p := r.placesOf(e.Text)
			p.next = min(max(p.next, r.Byte(e.Start)+1), len(r.Text))
			p.starts = append(p.starts, e.Start)
			r.taken[taken{e.Text, e.Role, e.Start}] = true
		}
	}
	r.indexed = len(earlier)
	s.Start, s.End = -1, -1
	if s.Text == "" {
		return Unaligned
	}
	p := r.placesOf(s.Text)
	if i := strings.Index(r.Text[p.next:], s.Text); i >= 0 {
		s.Start = r.Point(p.next+i, Bytes)
	} else {
		p.next = len(r.Text)
		s.Start = r.untaken(p, s.Text, s.Role)
	}
	if s.Start < 0 {
		return Unaligned
	}
	s.End = s.Start + utf8.RuneCountInString(s.Text)
	return ""
}

func (r *Ruler) placesOf(text string) *places {
	if r.places == nil {
		r.places, r.taken = map[string]*places{}, map[taken]bool{}
	}
	p := r.places[text]
	if p == nil {
		p = &places{full: map[string][2]int{}}
		r.places[text] = p
	}
	return p
}

// untaken is the last of the places that has no span of a role, which takes it; -1 if there is none.
func (r *Ruler) untaken(p *places, text, role string) int {
	full := p.full[role]
	i := len(p.starts) - 1
	for i >= 0 && r.taken[taken{text, role, p.starts[i]}] {
		if i == full[1]-1 {
			i = min(i, full[0])
		}
		i--
	}
	p.full[role] = [2]int{i + 1, len(p.starts)}
	if i < 0 {
		return -1
	}
	return p.starts[i]
}
