package eval

import (
	"math"

	"github.com/scruple-eval/scruple/internal/say"
)

// A Number is a float64 that may be undefined: NaN, written as null in JSON and
// as "–" in reports, never as 0.
type Number = say.Number

// Undefined is NaN.
func Undefined() Number { return say.Undefined() }

// Same reports whether two computed numbers are the same but for what processors differ in: fused
// products, exponentials and the order of sums, which reach 4e-14 in reports of the starters and 4e-7 in
// p-values of mixed models. Whole numbers are counts, which are exact, below the largest that floats
// have without gaps.
func Same(a, b float64) bool {
	if a == b || math.IsNaN(a) && math.IsNaN(b) {
		return true
	}
	whole := func(x float64) bool { return x == math.Trunc(x) && math.Abs(x) < 1<<53 }
	return !(whole(a) && whole(b)) && !math.IsInf(a-b, 0) && math.Abs(a-b) <= 1e-9+1e-6*math.Max(math.Abs(a), math.Abs(b))
}
