package stats

import (
	"fmt"
	"math"

	"github.com/scruple-eval/scruple/stats/dist"
)

// FalseCrossing returns the probability that a standardised statistic exceeds its critical
// value at one look or more, though there is no effect: what a one-sided test is worth
// that is made at several looks at growing data. info is the share of the data at each
// look, increasing and above 0; z is the critical value there.
//
// The statistic times √info is a Brownian motion at info, as for means of independent
// observations. Source: Armitage, McPherson & Rowe (1969), Repeated significance tests on
// accumulating data, J. R. Stat. Soc. A 132/2; the recursion is that of Jennison & Turnbull
// (2000), Group Sequential Methods, ch. 19.
func FalseCrossing(info, z []float64) (float64, error) {
	if len(z) != len(info) {
		return 0, fmt.Errorf("stats: %d looks need as many critical values, got %d", len(info), len(z))
	}
	if err := checkInfo(info); err != nil {
		return 0, err
	}
	var crossed float64
	var m motion
	for k, t := range info {
		crossed += m.cross(t, z[k])
	}
	return crossed, nil
}

// SpendingBounds returns the critical values at looks at growing data that keep the
// one-sided level alpha over all of them. At a share t of the data the level spent is that
// of O'Brien and Fleming's shape, 2 − 2Φ(z(α/2)/√t): early looks take very strong
// evidence, and the last one costs little. The number and times of looks need not be
// planned, but must not depend on what was seen. A share above 1 spends no more than 1 does.
//
// Source: Lan & DeMets (1983), Discrete sequential boundaries for clinical trials,
// Biometrika 70/3.
func SpendingBounds(info []float64, alpha float64) ([]float64, error) {
	if !(alpha > 0 && alpha < 0.5) {
		return nil, fmt.Errorf("stats: a one-sided level must be between 0 and 0.5, got %v", alpha)
	}
	if err := checkInfo(info); err != nil {
		return nil, err
	}
	normal := dist.Normal{SD: 1}
	outer := normal.Quantile(1 - alpha/2)
	var m motion
	spent := 0.0
	bounds := make([]float64, len(info))
	for k, t := range info {
		level := 2 * (1 - normal.CDF(outer/math.Sqrt(min(t, 1))))
		bounds[k] = m.bound(t, level-spent)
		m.cross(t, bounds[k])
		spent = max(spent, level)
	}
	return bounds, nil
}

func checkInfo(info []float64) error {
	last := 0.0
	for k, t := range info {
		if !(t > last) || math.IsInf(t, 0) {
			return fmt.Errorf("stats: look %d is at %v of the data, after one at %v: want growing shares", k+1, t, last)
		}
		last = t
	}
	return nil
}

// A motion is a Brownian motion that has not crossed so far: the density of its value at
// the last look, on a grid.
type motion struct {
	at      float64 // the last look, 0 before the first
	x, mass []float64
}

const (
	motionTail = 8 // standard deviations below 0 at which the grid begins
	// A grid is finer than half a standard deviation of what comes between two looks.
	leastGrid, mostGrid = 400, 4000
)

// cross returns the probability of the first crossing at t, and goes on without it.
func (m *motion) cross(t, z float64) float64 {
	limit := min(z, motionTail) * math.Sqrt(t)
	crossed := m.beyond(t, limit)
	from := -motionTail * math.Sqrt(t)
	normal := dist.Normal{SD: math.Sqrt(t - m.at)}
	n := max(leastGrid, min(mostGrid, int((limit-from)/(normal.SD/2))))
	step := (limit - from) / float64(n)
	x, mass := make([]float64, n), make([]float64, n)
	for i := range x { // the mass of each cell is at its middle
		low := from + float64(i)*step
		x[i] = low + step/2
		if m.at == 0 {
			mass[i] = normal.CDF(low+step) - normal.CDF(low)
			continue
		}
		for k, y := range m.x {
			if d := (x[i] - y) / normal.SD; math.Abs(d) < 12 { // beyond is less than 1e-31
				mass[i] += m.mass[k] * math.Exp(-d*d/2) / (normal.SD * math.Sqrt(2*math.Pi)) * step
			}
		}
	}
	m.at, m.x, m.mass = t, x, mass
	return crossed
}

// beyond is the probability that the motion is above a limit at t.
func (m *motion) beyond(t, limit float64) float64 {
	normal := dist.Normal{SD: math.Sqrt(t - m.at)}
	if m.at == 0 {
		return 1 - normal.CDF(limit)
	}
	p := 0.0
	for k, y := range m.x {
		p += m.mass[k] * (1 - normal.CDF(limit-y))
	}
	return p
}

// bound is the critical value at t that is crossed with a probability.
func (m *motion) bound(t, p float64) float64 {
	low, high := -motionTail*1.0, motionTail*1.0
	if p <= m.beyond(t, high*math.Sqrt(t)) {
		return high
	}
	for range 60 {
		mid := (low + high) / 2
		if m.beyond(t, mid*math.Sqrt(t)) > p {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}
