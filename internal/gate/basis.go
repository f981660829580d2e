package gate

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Basis is what a result rests on.
type Basis struct {
	N        *int      `json:"n,omitempty"`  // number of observations
	Of       string    `json:"of,omitempty"` // what they are: items, pairs, trials
	Interval *Interval `json:"interval,omitempty"`
}

// An Interval is the confidence interval of a result.
type Interval struct {
	Of   string  `json:"of,omitempty"` // what it belongs to, if not the value: a p-value has none
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Level is the confidence level, that of all intervals together if they are
	// simultaneous, or 0 if it is unknown.
	Level        float64 `json:"level,omitempty"`
	Simultaneous bool    `json:"simultaneous,omitempty"`
}

// Percent is the level of an interval in per cent, 1 − alpha: "95", and "99.99988" of an
// early look.
func Percent(alpha float64) string {
	digits := 2
	for unit := 1e-2; digits < 9 && 100*alpha < 5*unit; unit /= 10 {
		digits++
	}
	return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(100*(1-alpha), 'f', digits, 64), "0"), ".")
}

// Name is "95 % CI", with a non-breaking space, or "95 % CI of the difference".
func (i Interval) Name() string {
	name := "interval"
	if i.Level > 0 {
		name = Percent(1-i.Level) + "\u00a0% CI"
	}
	if i.Simultaneous {
		name = "simultaneous " + name
	}
	if i.Of != "" {
		name += " of the " + i.Of
	}
	return name
}

func basisOf(n int, of string, low, high analyse.Number, level float64) Basis {
	b := Basis{N: &n, Of: of}
	if low.Defined() && high.Defined() {
		b.Interval = &Interval{Low: float64(low), High: float64(high), Level: level}
	}
	return b
}

// estimateBasis is the basis of an estimate.
func (v view) estimateBasis(e analyse.Estimate) Basis {
	return basisOf(e.Items, "items", e.Low, e.High, 1-v.Study.Alpha)
}

// comparisonBasis is the basis of a comparison with one of its intervals. The level is
// that of all simultaneous intervals together.
func (v view) comparisonBasis(c analyse.Comparison, low, high analyse.Number, level float64) Basis {
	b := basisOf(c.Pairs, "pairs", low, high, level)
	if b.Interval != nil {
		b.Interval.Simultaneous = float64(c.Level) > 1-v.Study.Alpha+1e-9
	}
	return b
}

func (v view) diffBasis(c analyse.Comparison) Basis {
	return v.comparisonBasis(c, c.Low, c.High, 1-v.Study.Alpha)
}

func effectBasis(v view, c analyse.Comparison) Basis {
	return basisOf(c.Pairs, "pairs", c.DLow, c.DHigh, 1-v.Study.Alpha)
}

func equivalenceBasis(v view, c analyse.Comparison) Basis {
	return v.comparisonBasis(c, c.EquivLow, c.EquivHigh, 1-2*v.Study.Alpha)
}

// withoutInterval leaves the interval out of the basis: it is that of another result.
func withoutInterval(f function) function {
	basis := f.basis
	f.basis = func(v view, args []string) Basis {
		b := basis(v, args)
		b.Interval = nil
		return b
	}
	return f
}

// of says what the interval of a basis belongs to.
func (b Basis) of(what string) Basis {
	if b.Interval != nil {
		b.Interval.Of = what
	}
	return b
}

// counted is the number of observations in brackets.
func (b Basis) counted() string {
	if b.N == nil {
		return ""
	}
	return " (n = " + text.Plural(*b.N, strings.TrimSuffix(b.Of, "s"), b.Of) + ")"
}

// A call is a result that a rule names.
type call struct {
	function
	args []string
}

// explain adds to a condition what its values rest on, and warns if it holds by
// estimates alone.
func (r rule) explain(a *analyse.Analysis, c *Condition) {
	v := view{Analysis: a}
	for _, x := range r.calls {
		for i := range c.Values {
			u := &c.Values[i]
			if u.Name != resultName(x.function, x.args) || x.basis == nil {
				continue
			}
			if u.Basis = x.basis(v, x.args); u.Value == nil && u.Interval != nil && u.Interval.Of == "" {
				u.Interval = nil // no result has it
			}
			if c.State == Pass && c.Kind != "diagnosis" && u.Value != nil && !x.evidence && !r.exact(u.Name) {
				c.Warnings = append(c.Warnings, r.byEstimateAlone(v, x, *u)...)
			}
		}
	}
}

// exact reports whether a rule asks for one value of a result, which no interval is.
func (r rule) exact(result string) bool {
	t := r.terms[result]
	return t != nil && (strings.Contains(t.Threshold, "== ") || strings.Contains(t.Threshold, "!= "))
}

// byEstimateAlone warns of an estimate by which a rule holds while it would not hold by an
// end of its interval.
func (r rule) byEstimateAlone(v view, x call, u Used) []string {
	holdsAt := func(end float64) bool {
		v.instead = map[string]float64{u.Name: end}
		state, _, _ := r.evaluate(v)
		return state == Pass
	}
	holds := fmt.Sprintf("holds by the estimate alone: %s = %.6g", u.Name, *u.Value)
	if u.Interval == nil {
		if x.ends[0] == "" || holdsAt(-math.MaxFloat64) && holdsAt(math.MaxFloat64) {
			return nil
		}
		return []string{holds + ", which has no interval" + u.counted()}
	}
	for i, end := range []float64{u.Interval.Low, u.Interval.High} {
		if holdsAt(end) {
			continue
		}
		s := fmt.Sprintf("%s, not by the %s end of its %s, %.6g%s", holds, [2]string{"lower", "upper"}[i], u.Interval.Name(), end, u.counted())
		if x.ends[i] != "" {
			s += ": use " + x.ends[i] + " to require it"
		}
		return []string{s}
	}
	return nil
}
