package eval

import "github.com/scruple-eval/scruple/internal/say"

// A Number is a float64 that may be undefined: NaN, written as null in JSON and
// as "–" in reports, never as 0.
type Number = say.Number

// Undefined is NaN.
func Undefined() Number { return say.Undefined() }
