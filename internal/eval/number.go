package eval

import (
	"encoding/json"
	"math"
	"strconv"
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
