package stats

import (
	"fmt"
	"math"
	"slices"
)

// Scale is the level of measurement of ratings.
type Scale int

// The levels, which say how far two ratings are apart.
const (
	Nominal Scale = iota
	Ordinal
	IntervalScale
	RatioScale
)

// Krippendorff is Krippendorff's alpha.
type Krippendorff struct {
	Units     int // with two ratings or more
	Values    int // ratings of those units
	Observed  float64
	Expected  float64
	Alpha     float64
	Undefined string
}

// KrippendorffAlpha is the agreement of any number of raters, some of whose
// ratings may be missing (NaN); ratings[r][u] is rater r's of unit u. Units
// with fewer than two ratings are left out. It is undefined where no two
// ratings meet, or all are the same. Nominal categories are any numbers.
//
// Source: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.
func KrippendorffAlpha(ratings [][]float64, scale Scale) (Krippendorff, error) {
	if len(ratings) == 0 {
		return Krippendorff{}, errEmpty
	}
	units := len(ratings[0])
	for r, row := range ratings {
		if len(row) != units {
			return Krippendorff{}, fmt.Errorf("stats: rater %d has %d units, the first has %d", r, len(row), units)
		}
		for u, x := range row {
			if math.IsInf(x, 0) || (scale == RatioScale && x < 0) {
				return Krippendorff{}, fmt.Errorf("stats: rater %d gives unit %d the value %v", r, u, x)
			}
		}
	}
	nan := math.NaN()
	k := Krippendorff{Observed: nan, Expected: nan, Alpha: nan}
	values := distinct(ratings)
	if len(values) > maxValues {
		return k, fmt.Errorf("stats: %d different ratings, more than the %d whose pairs can be compared: round them", len(values), maxValues)
	}
	coincidences := k.coincide(ratings, units, values)
	if k.Units == 0 {
		k.Undefined = "no unit has two ratings"
		return k, nil
	}
	n := float64(k.Values)
	marginal := make([]float64, len(values))
	for c := range values {
		for d := range values {
			marginal[c] += coincidences[c][d]
		}
	}
	distance := distances(values, marginal, scale)
	k.Observed, k.Expected = 0, 0
	for c := range values {
		for d := range values {
			k.Observed += coincidences[c][d] * distance[c][d] / n
			k.Expected += marginal[c] * marginal[d] * distance[c][d] / (n * (n - 1))
		}
	}
	if k.Expected == 0 {
		k.Undefined = "all ratings are the same"
		return k, nil
	}
	k.Alpha = 1 - k.Observed/k.Expected
	return k, nil
}

// maxValues bounds the different ratings, whose pairs are all looked at.
const maxValues = 5000

// distinct lists the different ratings, sorted.
func distinct(ratings [][]float64) []float64 {
	var values []float64
	for _, row := range ratings {
		for _, x := range row {
			if !math.IsNaN(x) {
				values = append(values, x)
			}
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// coincide counts, unit by unit, which ratings meet: each pair of a unit with
// m ratings counts 1/(m − 1).
func (k *Krippendorff) coincide(ratings [][]float64, units int, values []float64) [][]float64 {
	index := make(map[float64]int, len(values))
	for i, v := range values {
		index[v] = i
	}
	table := square(len(values))
	for u := range units {
		var given []int
		for _, row := range ratings {
			if !math.IsNaN(row[u]) {
				given = append(given, index[row[u]])
			}
		}
		if len(given) < 2 {
			continue
		}
		k.Units++
		k.Values += len(given)
		for i, a := range given {
			for j, b := range given {
				if i != j {
					table[a][b] += 1 / float64(len(given)-1)
				}
			}
		}
	}
	return table
}

func distances(values, marginal []float64, scale Scale) [][]float64 {
	d := square(len(values))
	for a := range values {
		between := marginal[a]
		for b := a + 1; b < len(values); b++ {
			between += marginal[b]
			var x float64
			switch scale {
			case Nominal:
				x = 1
			case Ordinal:
				x = between - (marginal[a]+marginal[b])/2
			case IntervalScale:
				x = values[a] - values[b]
			case RatioScale:
				x = (values[a] - values[b]) / (values[a] + values[b])
			}
			d[a][b], d[b][a] = x*x, x*x
		}
	}
	return d
}
