// Package spanfile reads and writes files of labelled texts: JSON Lines, the golden sets
// and snapshots of a tool for video prompts, WNUT17, Label Studio, Prodigy and CoNLL.
// [Formats] lists them.
//
// It knows files, not studies: a role that no taxonomy has is read like any other.
package spanfile

import (
	"slices"
	"strings"
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

// A Ruler places spans in one text.
type Ruler struct{ *text.Ruler }

// NewRuler makes a ruler for a text.
func NewRuler(s string) *Ruler { return &Ruler{text.NewRuler(s)} }

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
func (r *Ruler) Find(s *Span, earlier []Span) (note string) {
	from := 0
	for i := range earlier {
		if earlier[i].Text == s.Text && earlier[i].Placed() {
			from = max(from, r.Byte(earlier[i].Start)+1)
		}
	}
	if s.Text != "" {
		if i := strings.Index(r.Text[min(from, len(r.Text)):], s.Text); i >= 0 {
			s.Start = r.Point(from+i, Bytes)
			s.End = s.Start + utf8.RuneCountInString(s.Text)
			return ""
		}
	}
	for _, e := range slices.Backward(earlier) {
		if e.Text == s.Text && e.Placed() && !slices.ContainsFunc(earlier, func(o Span) bool { return o.Start == e.Start && o.End == e.End && o.Role == s.Role }) {
			s.Start, s.End = e.Start, e.End
			return ""
		}
	}
	s.Start, s.End = -1, -1
	return Unaligned
}
