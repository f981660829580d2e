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
	Units     int     `json:"n_units_pairable"`  // with two ratings or more
	Values    int     `json:"n_pairable_values"` // ratings of those units
	Observed  float64 `json:"observed_disagreement"`
	Expected  float64 `json:"expected_disagreement"`
	Alpha     float64 `json:"alpha"`
	Undefined string  `json:"undefined_reason,omitzero"`
}

// KrippendorffAlpha is the agreement of any number of raters, some of whose
// ratings may be missing (NaN); ratings[r][u] is rater r's of unit u. Units
// with fewer than two ratings are left out. It is undefined where no two
// ratings meet, or all are the same. Nominal categories are any numbers.
//
// The mean distance of all pairs has a closed form on each scale but the
// ratio, whose pairs of different ratings are gone through: they may be 50,000
// there, and any number elsewhere.
//
// Source: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.
func KrippendorffAlpha(ratings [][]float64, scale Scale) (Krippendorff, error) {
	if len(ratings) == 0 {
		return Krippendorff{}, errEmpty
	}
	if err := checkRatings(ratings, scale); err != nil {
		return Krippendorff{}, err
	}
	units, _ := pairable(ratings)
	all := slices.Concat(units...)
	k := Krippendorff{Units: len(units), Values: len(all), Observed: math.NaN(), Expected: math.NaN(), Alpha: math.NaN()}
	if k.Units == 0 {
		k.Undefined = "no unit has two ratings"
		return k, nil
	}
	if slices.Min(all) == slices.Max(all) {
		k.Observed, k.Expected = 0, 0
		k.Undefined = "all ratings are the same"
		return k, nil
	}
	if scale == Ordinal {
		// The distance of two categories, the ratings between them counting
		// whole and their own half, is that of their mean ranks.
		all, _ = averageRanks(all)
		for u, start := 0, 0; u < len(units); u++ {
			end := start + len(units[u])
			units[u], start = all[start:end], end
		}
		scale = IntervalScale
	}
	within := make([]float64, len(units))
	for u, given := range units {
		d, err := distances(given, scale)
		if err != nil {
			return Krippendorff{}, err
		}
		within[u] = d / float64(len(given)-1)
	}
	total, err := distances(all, scale)
	if err != nil {
		return Krippendorff{}, err
	}
	n := float64(k.Values)
	k.Observed, k.Expected = sum(within)/n, total/(n*(n-1))
	if !(k.Expected > 0 && k.Expected <= math.MaxFloat64) {
		k.Observed, k.Expected = math.NaN(), math.NaN()
		k.Undefined = "the ratings are too large or too small to be squared"
		return k, nil
	}
	k.Alpha = 1 - k.Observed/k.Expected
	return k, nil
}

func checkRatings(ratings [][]float64, scale Scale) error {
	for r, row := range ratings {
		if len(row) != len(ratings[0]) {
			return fmt.Errorf("stats: rater %d has %d units, the first has %d", r+1, len(row), len(ratings[0]))
		}
		for u, x := range row {
			if math.IsInf(x, 0) || (scale == RatioScale && x < 0) {
				return rowError(u, "has the value %v of rater %d", x, r+1)
			}
		}
	}
	return nil
}

// pairable gathers the ratings of each unit that has two or more, and which units these are.
func pairable(ratings [][]float64) (units [][]float64, at []int) {
	for u := range ratings[0] {
		var given []float64
		for _, row := range ratings {
			if !math.IsNaN(row[u]) {
				given = append(given, row[u])
			}
		}
		if len(given) > 1 {
			units, at = append(units, given), append(at, u)
		}
	}
	return units, at
}

// maxRatios bounds the different ratings whose pairs are all looked at.
const maxRatios = 50_000

// distances is the sum of the squared distances of all ordered pairs of xs.
func distances(xs []float64, scale Scale) (float64, error) {
	n := float64(len(xs))
	if scale == IntervalScale {
		return 2 * n * sumSquares(xs, mean(xs)), nil
	}
	values, counts := tally(xs)
	if scale == Nominal {
		apart := make([]float64, len(counts))
		for i, c := range counts {
			apart[i] = c * (n - c)
		}
		return sum(apart), nil
	}
	if len(values) > maxRatios {
		return 0, fmt.Errorf("stats: %d different ratings, more than the %d whose ratios can be compared: round them", len(values), maxRatios)
	}
	byValue := make([]float64, len(values))
	for i, v := range values {
		for j := range i {
			// Divided first: the sum of two large ratings can overflow.
			r := (1 - values[j]/v) / (1 + values[j]/v)
			byValue[i] += 2 * counts[i] * counts[j] * r * r
		}
	}
	return sum(byValue), nil
}

// tally lists the different values, in order, and how often each occurs.
func tally(xs []float64) (values, counts []float64) {
	for _, x := range slices.Sorted(slices.Values(xs)) {
		if len(values) == 0 || values[len(values)-1] != x {
			values, counts = append(values, x), append(counts, 0)
		}
		counts[len(counts)-1]++
	}
	return values, counts
}
