package model

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// Servers that speak a provider's format deviate in small things: numbers with
// a point, ids that are numbers, null for nothing. These types read such fields
// without failing; fields that hold the answer itself are read strictly, so
// that a strange body is an error and never an empty answer.

// A Word is a short string field. A number reads as it is written; null and
// anything else reads as "".
type Word string

// UnmarshalJSON implements [json.Unmarshaler]. It never fails.
func (w *Word) UnmarshalJSON(b []byte) error {
	*w = Word(wordOf(b))
	return nil
}

func wordOf(b []byte) string {
	switch {
	case len(b) >= 2 && b[0] == '"':
		if bytes.IndexByte(b, '\\') < 0 && utf8.Valid(b) {
			return string(b[1 : len(b)-1])
		}
		var s string
		_ = json.Unmarshal(b, &s) // the decoder has checked the syntax
		return s
	case len(b) > 0 && (b[0] == '-' || '0' <= b[0] && b[0] <= '9'):
		return string(b)
	}
	return ""
}

// A Count is a number of tokens. An invalid number decodes as 0.
type Count int

// UnmarshalJSON implements [json.Unmarshaler]. It never fails.
func (c *Count) UnmarshalJSON(b []byte) error {
	*c = 0
	s := wordOf(b)
	if n, err := strconv.Atoi(s); err == nil {
		*c = Count(n)
	} else if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < 1<<53 {
		*c = Count(f)
	}
	return nil
}

// Arguments are those of a tool call, as the model wrote them: most services
// send a string that holds JSON (or should), some the object itself.
type Arguments json.RawMessage

// UnmarshalJSON implements [json.Unmarshaler]. It never fails.
func (a *Arguments) UnmarshalJSON(b []byte) error {
	switch {
	case bytes.Equal(b, []byte("null")):
		*a = nil
	case len(b) > 0 && b[0] == '"':
		var s string
		_ = json.Unmarshal(b, &s)
		*a = Arguments(s)
	default:
		*a = Arguments(bytes.Clone(b))
	}
	return nil
}

// Present reports whether a raw field holds something other than null.
func Present(raw json.RawMessage) bool {
	return len(raw) > 0 && !bytes.Equal(raw, []byte("null"))
}

// EncodeJSON writes a request body: no HTML escapes, so that what a model is
// sent reads as it was written, and no line break at the end.
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
