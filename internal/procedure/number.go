package procedure

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/scruple-eval/scruple/stats"
)

// A Number is written as JSON with all its digits; undefined (NaN) is null,
// and an infinity, where it is a real result, is "Infinity" or "-Infinity".
type Number float64

func (n Number) MarshalJSON() ([]byte, error) {
	x := float64(n)
	switch {
	case math.IsNaN(x):
		return []byte("null"), nil
	case math.IsInf(x, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(x, -1):
		return []byte(`"-Infinity"`), nil
	}
	return json.Marshal(x)
}

// String is the number as a table shows it.
func (n Number) String() string {
	x := float64(n)
	switch {
	case math.IsNaN(x):
		return "undefined"
	case math.IsInf(x, 0):
		return map[bool]string{true: "∞", false: "-∞"}[x > 0]
	}
	return strconv.FormatFloat(x, 'g', 5, 64)
}

// Numbers converts a slice.
func Numbers(xs []float64) []Number {
	out := make([]Number, len(xs))
	for i, x := range xs {
		out[i] = Number(x)
	}
	return out
}

// Matrix converts a matrix.
func Matrix(xs [][]float64) [][]Number {
	out := make([][]Number, len(xs))
	for i, x := range xs {
		out[i] = Numbers(x)
	}
	return out
}

// A Limits is an interval as [low, high]; nil, and so null, is undefined.
type Limits *[2]Number

// Span is an interval as JSON: [low, high], or null where both are undefined.
func Span(iv stats.Interval) Limits {
	if math.IsNaN(iv.Low) && math.IsNaN(iv.High) {
		return nil
	}
	return &[2]Number{Number(iv.Low), Number(iv.High)}
}

// An Ordered is an object whose keys depend on the data.
type Ordered []Entry

// An Entry is one key of an Ordered and its value.
type Entry struct {
	Key   string
	Value any
}

// MarshalJSON writes the object in its order.
func (o Ordered) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, e := range o {
		if i > 0 {
			b = append(b, ',')
		}
		key, err := json.Marshal(e.Key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(e.Value)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, key...), ':'), value...)
	}
	return append(b, '}'), nil
}
