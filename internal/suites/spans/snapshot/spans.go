package snapshot

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/suites/spans/label"
)

// briefSpans are the spans of a result. They are most of a snapshot, and all have
// the same few fields, so that a decoder of their own takes a third of the time.
type briefSpans []briefSpan

type briefSpan struct {
	Text, Role, Section string
	Confidence          float64 // label.Unstated if the file has none
	Start, End          int
}

func (s *Span) brief() briefSpan {
	b := briefSpan{s.Text, s.Role, s.Section, label.Unstated, s.Start, s.End}
	if s.Confidence != nil {
		b.Confidence = *s.Confidence
	}
	return b
}

// UnmarshalJSONFrom decodes what the general decoder would.
func (s *briefSpans) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	raw, err := d.ReadValue() // checks the syntax
	if err != nil {
		return err
	}
	text := string(raw) // the fields are parts of it
	if list, ok := parseSpans(text); ok {
		*s = list
		return nil
	}
	var list []Span
	err = json.Unmarshal([]byte(text), &list)
	for i := range list {
		*s = append(*s, list[i].brief())
	}
	return err
}

// parseSpans decodes valid JSON, or gives up: on an escape, a nested value, or a
// field of another type than usual.
func parseSpans(text string) (briefSpans, bool) {
	c := cursor{text}
	if !c.take('[') {
		return nil, false
	}
	list := make(briefSpans, 0, 1+strings.Count(text, "{"))
	if c.take(']') {
		return list, true
	}
	for {
		list = append(list, briefSpan{Confidence: label.Unstated})
		if !c.span(&list[len(list)-1]) {
			return nil, false
		}
		if !c.take(',') {
			return list, c.take(']')
		}
	}
}

// A cursor is the rest of a JSON text.
type cursor struct{ rest string }

// take skips white space and, if it comes next, a byte.
func (c *cursor) take(b byte) bool {
	c.skip()
	if c.rest == "" || c.rest[0] != b {
		return false
	}
	c.rest = c.rest[1:]
	return true
}

// skip skips white space.
func (c *cursor) skip() {
	i := 0
	for i < len(c.rest) && (c.rest[i] == ' ' || c.rest[i] == '\n' || c.rest[i] == '\t' || c.rest[i] == '\r') {
		i++
	}
	c.rest = c.rest[i:]
}

func (c *cursor) span(s *briefSpan) bool {
	if !c.take('{') {
		return false
	}
	if c.take('}') {
		return true
	}
	for {
		key, ok := c.str()
		if !ok || !c.take(':') {
			return false
		}
		switch key {
		case "text":
			s.Text, ok = c.str()
		case "role":
			s.Role, ok = c.str()
		case "section":
			s.Section, ok = c.str()
		case "confidence":
			s.Confidence, ok = c.number()
		case "start":
			s.Start, ok = c.whole()
		case "end":
			s.End, ok = c.whole()
		default:
			ok = false
		}
		if !ok {
			return false
		}
		if !c.take(',') {
			return c.take('}')
		}
	}
}

// str reads a string without escapes.
func (c *cursor) str() (string, bool) {
	if !c.take('"') {
		return "", false
	}
	end := strings.IndexByte(c.rest, '"')
	if end < 0 || strings.IndexByte(c.rest[:end], '\\') >= 0 {
		return "", false
	}
	s := c.rest[:end]
	c.rest = c.rest[end+1:]
	return s, true
}

// digits reads what a number can consist of.
func (c *cursor) digits() string {
	c.skip()
	end := 0
	for end < len(c.rest) && (c.rest[end] >= '0' && c.rest[end] <= '9' || strings.IndexByte("+-.eE", c.rest[end]) >= 0) {
		end++
	}
	s := c.rest[:end]
	c.rest = c.rest[end:]
	return s
}

func (c *cursor) number() (float64, bool) {
	x, err := strconv.ParseFloat(c.digits(), 64)
	return x, err == nil
}

func (c *cursor) whole() (int, bool) {
	n, err := strconv.Atoi(c.digits())
	return n, err == nil
}
