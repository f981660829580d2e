package eval

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// A Number is a float64 that may be undefined: NaN, written as null in JSON and
// as "–" in reports, never as 0.
type Number float64

// Undefined is NaN.
func Undefined() Number { return Number(math.NaN()) }

// Defined reports whether the number is defined.
func (n Number) Defined() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// MarshalJSON writes the shortest form that reads back the same, or null.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Defined() {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'g', -1, 64), nil
}

// UnmarshalJSON reads a number or null.
func (n *Number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = Undefined()
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}

// Plural returns "1 item", "2 items" or "2 queries". A noun that ends in y must
// have its plural in ies.
func Plural(n int, noun string) string {
	switch stem, y := strings.CutSuffix(noun, "y"); {
	case n == 1:
	case y:
		noun = stem + "ies"
	default:
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
