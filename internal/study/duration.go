package study

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/invopop/jsonschema"
)

// A Duration is a time.Duration written as 30s, 1m30s, or a plain number of
// seconds. It is never negative.
type Duration time.Duration

// D is the duration as the standard library's type.
func (d Duration) D() time.Duration { return time.Duration(d) }

func (d Duration) String() string { return time.Duration(d).String() }

// parseDuration reads 30s, 1m30s, 500ms, or a plain number of seconds.
func parseDuration(s string) (Duration, error) {
	text := s
	if n := len(s); n > 0 && (s[n-1] == '.' || '0' <= s[n-1] && s[n-1] <= '9') {
		text = s + "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("reading duration %s: want a value such as 30s, 1m30s, or a number of seconds", strconv.Quote(s))
	}
	if d < 0 {
		return 0, fmt.Errorf("reading duration %s: it must not be negative", strconv.Quote(s))
	}
	return Duration(d), nil
}

// MarshalText writes the duration as 1m30s.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalJSON reads a string or a number of seconds.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var s string
	if data[0] == '"' {
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
	} else {
		var n float64
		if err := json.Unmarshal(data, &n); err != nil {
			return fmt.Errorf("reading duration %s: want a value such as 30s, or a number of seconds", data)
		}
		s = strconv.FormatFloat(n, 'f', -1, 64)
	}
	var err error
	*d, err = parseDuration(s)
	return err
}

// durationPattern takes each unit once, in falling order, with so few digits
// that no sum overflows 64 bits of nanoseconds.
const durationPattern = `^([0-9]{1,6}(\.[0-9]{1,9})?h)?([0-9]{1,6}(\.[0-9]{1,9})?m)?` +
	`([0-9]{1,9}(\.[0-9]{1,9})?s)?([0-9]{1,9}(\.[0-9]{1,9})?ms)?` +
	`([0-9]{1,9}(\.[0-9]{1,9})?[uµ]s)?([0-9]{1,9}ns)?$`

// JSONSchema describes both spellings of a duration.
func (Duration) JSONSchema() *jsonschema.Schema {
	one := uint64(1)
	return &jsonschema.Schema{
		OneOf: []*jsonschema.Schema{
			{Type: "string", Pattern: durationPattern, MinLength: &one},
			{Type: "number", Minimum: "0", Maximum: "1e9", Description: "Seconds"},
		},
		Description: "30s, 1m30s, 500ms, or a number of seconds",
		Extras:      map[string]any{"errorMessage": "want a duration such as 30s, 1m30s, or a number of seconds, not negative"},
	}
}
