package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
)

// An axis runs from Low to High. Zero is the place of 0 on it, NaN if 0 is not a
// reference.
type axis struct {
	Low, High float64
	Zero      float64
	Ticks     []tick
}

// HasZero reports whether 0 is a reference on the axis.
func (a axis) HasZero() bool { return !math.IsNaN(a.Zero) }

type tick struct {
	At    float64
	Label string
}

// at returns the place of a number on the axis.
func (a axis) at(n analyse.Number) float64 {
	if !n.Defined() {
		return math.NaN()
	}
	return min(max((float64(n)-a.Low)/(a.High-a.Low), 0), 1)
}

func (a axis) spot(m eval.Measured) spot { return spot{a.at(m.Value), a.at(m.Low), a.at(m.High)} }

// extent is the range of numbers on an axis.
type extent struct{ low, high float64 }

func newExtent() extent { return extent{math.Inf(1), math.Inf(-1)} }

func (x *extent) include(ns ...analyse.Number) {
	for _, n := range ns {
		if n.Defined() {
			x.low, x.high = min(x.low, float64(n)), max(x.high, float64(n))
		}
	}
}

// newAxis makes an axis with round ticks for an extent, with at most about the
// given number of steps and within the known bounds of the metric. With
// reference, it includes and marks 0.
func newAxis(x extent, lowest, highest analyse.Number, s say.Scale, reference bool, steps float64) axis {
	if x.low > x.high { // nothing to show
		return axis{Low: -1, High: 1, Zero: math.NaN()}
	}
	if reference {
		x.include(0)
	}
	if x.high-x.low < 1e-9 { // too narrow for distinct labels
		room := max(math.Abs(x.low)/2, 0.05)
		x.low, x.high = x.low-room, x.high+room
	}
	step := roundStep((x.high - x.low) / steps)
	first, last := math.Floor(x.low/step+say.Noise), math.Ceil(x.high/step-say.Noise)
	if lowest.Defined() && x.low >= float64(lowest) {
		first = max(first, math.Ceil(float64(lowest)/step-say.Noise))
	}
	if highest.Defined() && x.high <= float64(highest) {
		last = min(last, math.Floor(float64(highest)/step+say.Noise))
	}
	a := axis{Low: min(first*step, x.low), High: max(last*step, x.high), Zero: math.NaN()}
	decimals := max(0, -int(math.Floor(math.Log10(step)+say.Noise)))
	for i := first; i <= last; i++ {
		a.Ticks = append(a.Ticks, tick{
			At:    a.at(analyse.Number(i * step)),
			Label: tickLabel(s, i*step, decimals, reference),
		})
	}
	if reference {
		a.Zero = a.at(0)
	}
	return a
}

const chartSteps = 4 // of an axis

// roundStep returns the smallest 1, 2 or 5 times a power of ten not below x.
func roundStep(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if x <= m*power*(1+say.Noise) {
			return m * power
		}
	}
	return 10 * power
}

func tickLabel(s say.Scale, x float64, decimals int, signed bool) string {
	if math.Abs(x) < say.Noise {
		return "0"
	}
	decimals = max(0, decimals-s.Shift())
	return say.Sign(x, signed) + say.Shifted(x, s.Shift(), decimals) + strings.TrimPrefix(s.Unit(signed), say.NBSP)
}

// percent formats a place on an axis for CSS or SVG: "37.5%".
func percent(at float64) string {
	return strconv.FormatFloat(math.Round(at*1e4)/1e2, 'f', -1, 64) + "%"
}
