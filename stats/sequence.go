package stats

import (
	"fmt"
	"math"
)

// A Sequence is an anytime-valid confidence sequence for the mean of bounded
// observations, such as paired differences of scores. All of its intervals are
// simultaneously valid with the stated probability, so a run may be monitored and
// stopped at any time; an ordinary interval that is monitored eventually excludes
// the truth.
//
// Observations must be of items in random order: given the past, each has the same
// mean. For each mean m of a grid there are two wealth processes, one betting that
// m is too low and one that it is too high, each starting at one half; when one of
// them reaches 1/α, m is excluded permanently. The first process decreases with m
// and the second increases, so the excluded means lie outside an interval, and
// those between two means of the grid are decided by them. Bets are the predictable
// plug-in bets.
//
// Source: Waudby-Smith & Ramdas (2023), Estimating means of bounded random
// variables by betting, J. R. Stat. Soc. B 86/1: the hedged capital process.
type Sequence struct {
	low, high float64 // of observations
	level     float64

	n       int
	sum     float64 // of observations as fractions of the range
	squares float64 // Σ (x − mean so far)²
	// Fortunes by mean of the grid: up of those that bet on more, down of those
	// that bet on less.
	up, down    []float64
	first, last int // of the grid; the largest mean too low and the smallest too high
}

// sequenceGrid is how finely means are told apart.
const sequenceGrid = 2000

// NewSequence begins a sequence for observations between low and high; paired
// differences of scores in [0, 1] lie between −1 and 1.
func NewSequence(low, high, level float64) (*Sequence, error) {
	if err := checkLevel(level); err != nil {
		return nil, err
	}
	if !(low < high) || math.IsInf(low, 0) || math.IsInf(high, 0) || math.IsInf(high-low, 0) {
		return nil, fmt.Errorf("stats: a confidence sequence needs bounds, low below high, got %v and %v", low, high)
	}
	s := &Sequence{low: low, high: high, level: level, last: sequenceGrid,
		up: make([]float64, sequenceGrid+1), down: make([]float64, sequenceGrid+1)}
	for k := range s.up {
		s.up[k], s.down[k] = 0.5, 0.5
	}
	return s, nil
}

// Add takes in the next observation and gives the interval. An observation
// outside of the bounds is an error and is not taken in.
func (s *Sequence) Add(x float64) (Interval, error) {
	if !(x >= s.low && x <= s.high) {
		return s.Interval(), rowError(s.n, "has the observation %v, outside of the range low to high, which is %v to %v", x, s.low, s.high)
	}
	f := (x - s.low) / (s.high - s.low)
	alpha := 1 - s.level
	// The variance of the past, with a prior observation of ¼.
	t := float64(s.n + 1)
	variance := (0.25 + s.squares) / t
	s.wager(f, math.Sqrt(2*math.Log(2/alpha)/(variance*t*math.Log(t+1))), 1/alpha)
	s.n++
	s.sum += f
	centre := (0.5 + s.sum) / (t + 1)
	s.squares += (f - centre) * (f - centre)
	return s.Interval(), nil
}

// wager bets against each remaining mean of the grid, at most half of the ruinous
// bet. The limits of the interval are excluded already, or are the bounds.
func (s *Sequence) wager(x, bet, limit float64) {
	first, last := s.first, s.last
	for k := s.first; k <= s.last; k++ {
		m := float64(k) / sequenceGrid
		s.up[k] *= 1 + math.Min(bet, 0.5/m)*(x-m)
		s.down[k] *= 1 - math.Min(bet, 0.5/(1-m))*(x-m)
		if s.up[k] >= limit {
			first = max(first, k)
		}
		if s.down[k] >= limit {
			last = min(last, k)
		}
	}
	s.first, s.last = first, last
}

// Interval returns the current confidence interval: all means that were never
// excluded, widened to the nearest excluded ones of the grid. If every mean was
// excluded, it is the last interval with its limits swapped.
func (s *Sequence) Interval() Interval {
	low, high := min(s.first, s.last), max(s.first, s.last)
	return Interval{s.mean(low), s.mean(high), s.level}
}

func (s *Sequence) mean(k int) float64 {
	f := float64(k) / sequenceGrid
	return s.low*(1-f) + s.high*f
}

// N is the number of observations.
func (s *Sequence) N() int { return s.n }

// Mean is the mean of the observations; NaN before the first.
func (s *Sequence) Mean() float64 {
	if s.n == 0 {
		return math.NaN()
	}
	return s.low + (s.high-s.low)*s.sum/float64(s.n)
}

// Contradicted reports that every mean has been left out, which happens with a
// probability of at most 1 − level: the observations then do not have one mean.
func (s *Sequence) Contradicted() bool { return s.first >= s.last }

// ConfidenceSequence gives the interval after each observation.
func ConfidenceSequence(xs []float64, low, high, level float64) ([]Interval, error) {
	s, err := NewSequence(low, high, level)
	if err != nil {
		return nil, err
	}
	out := make([]Interval, len(xs))
	for i, x := range xs {
		if out[i], err = s.Add(x); err != nil {
			return nil, err
		}
	}
	return out, nil
}
