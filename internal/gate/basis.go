package gate

import (
	"strconv"
	"strings"

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

// counted is the number of observations in brackets.
func (b Basis) counted() string {
	if b.N == nil {
		return ""
	}
	return " (n = " + text.Plural(*b.N, strings.TrimSuffix(b.Of, "s"), b.Of) + ")"
}
