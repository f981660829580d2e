package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// FleissBootstrap resamples subjects for an interval of Fleiss' kappa. Counts are
// those of [FleissKappa], conventions those of [ClusterBootstrap].
func FleissBootstrap(counts [][]int, o BootstrapOptions) (Bootstrap, error) {
	f, err := FleissKappa(counts)
	if err != nil {
		return Bootstrap{}, err
	}
	n := f.Raters
	units := make([][]term, len(counts))
	for i, row := range counts {
		units[i] = []term{{0, sameRating(row, float64(n))}}
		for j, x := range row {
			if x > 0 {
				units[i] = append(units[i], term{j + 1, float64(x)})
			}
		}
	}
	return bootstrapSums(units, len(counts[0])+1, func(total []float64) float64 {
		ratings := sum(total[1:])
		var chance float64
		for _, c := range total[1:] {
			chance += c / ratings * c / ratings
		}
		return (total[0]*float64(n)/ratings - chance) / (1 - chance)
	}, o)
}

// CalibrationBootstrap resamples cases for an interval of the expected
// calibration error of [CalibrationCurve], whose bins stay as they are.
//
// Use the percentile interval: in simulations it covers as stated where the true
// error is well above 0, and BCa and the basic interval fall short. The estimate is
// biased upwards, so that no interval reaches the error 0 of perfect calibration.
func CalibrationBootstrap(confidence []float64, outcome []bool, curve CalibrationOptions, o BootstrapOptions) (Bootstrap, error) {
	curve.Level = o.Level
	c, err := CalibrationCurve(confidence, outcome, curve)
	if err != nil {
		return Bootstrap{}, err
	}
	units := make([][]term, len(confidence))
	for i, x := range confidence {
		// Bins do not overlap, and each holds the confidences from Low to High.
		bin, _ := slices.BinarySearchFunc(c.Bins, x, func(b CalibrationBin, x float64) int {
			if b.High < x {
				return -1
			}
			return 1
		})
		units[i] = []term{{0, 1}, {bin + 1, x - truth(outcome[i])}}
	}
	return bootstrapSums(units, len(c.Bins)+1, func(total []float64) float64 {
		var gap float64
		for _, d := range total[1:] {
			gap += math.Abs(d)
		}
		return gap / total[0]
	}, o)
}

// maxOrdinal bounds the different ordinal ratings that are resampled, whose
// pairs are all counted.
const maxOrdinal = 100

// KrippendorffBootstrap resamples units for an interval of Krippendorff's alpha.
// Ratings are those of [KrippendorffAlpha], conventions those of
// [ClusterBootstrap]; a unit with fewer than two ratings is left out first.
//
// Unlike the bootstrap of Hayes & Krippendorff (2007), which draws pairs of
// ratings, it needs no assumption on the ratings of one unit.
func KrippendorffBootstrap(ratings [][]float64, scale Scale, o BootstrapOptions) (Bootstrap, error) {
	return KrippendorffClusterBootstrap[int](ratings, nil, scale, o)
}

// KrippendorffClusterBootstrap resamples clusters of units. A nil cluster means that each unit is
// one.
func KrippendorffClusterBootstrap[C comparable](ratings [][]float64, cluster []C, scale Scale, o BootstrapOptions) (Bootstrap, error) {
	k, err := KrippendorffAlpha(ratings, scale)
	if err != nil {
		return Bootstrap{}, err
	}
	if k.Undefined != "" {
		return Bootstrap{}, errors.New("stats: nothing to resample: " + k.Undefined)
	}
	if cluster != nil && len(cluster) != len(ratings[0]) {
		return Bootstrap{}, fmt.Errorf("stats: every unit needs a cluster, got %d of %d", len(cluster), len(ratings[0]))
	}
	given, at := pairable(ratings)
	var of []C
	for _, u := range at {
		if cluster != nil {
			of = append(of, cluster[u])
		}
	}
	codes, clusters := numbered(of, len(given))
	units := make([][]term, clusters)
	all := slices.Concat(given...)
	if scale == IntervalScale {
		return bootstrapMoments(units, given, codes, mean(all), o)
	}
	values, _ := tally(all)
	index := make(map[float64]int, len(values))
	for i, v := range values {
		index[v] = i
	}
	if scale == Ordinal {
		if len(values) > maxOrdinal {
			return Bootstrap{}, fmt.Errorf("stats: %d different ordinal ratings are too many to resample, at most %d: group them", len(values), maxOrdinal)
		}
		return bootstrapRanks(units, given, codes, index, o)
	}
	// The disagreement within a unit does not depend on the other units: it is
	// one sum, and the counts of the values are the others.
	for u, row := range given {
		d, err := distances(row, scale)
		if err != nil {
			return Bootstrap{}, err
		}
		own := &units[codes[u]]
		*own = append(*own, term{0, d / float64(len(row)-1)})
		for _, x := range row {
			*own = append(*own, term{index[x] + 1, 1})
		}
	}
	return bootstrapSums(units, len(values)+1, func(total []float64) float64 {
		n := sum(total[1:])
		var expected float64
		for i, c := range total[1:] {
			if scale == Nominal {
				expected += c * (n - c)
				continue
			}
			for j, other := range total[1 : i+1] {
				r := (1 - values[j]/values[i]) / (1 + values[j]/values[i])
				expected += 2 * c * other * r * r
			}
		}
		return alpha(total[0]/n, expected/(n*(n-1)))
	}, o)
}

func alpha(observed, expected float64) float64 {
	if !(expected > 0) {
		return math.NaN() // all ratings of the resample are the same
	}
	return 1 - observed/expected
}

// bootstrapMoments needs sums and sums of squares, about the mean of all ratings.
func bootstrapMoments(units [][]term, given [][]float64, codes []int, centre float64, o BootstrapOptions) (Bootstrap, error) {
	for u, row := range given {
		n := float64(len(row))
		var s, squares float64
		for _, x := range row {
			s += x - centre
			squares += (x - centre) * (x - centre)
		}
		units[codes[u]] = append(units[codes[u]], term{0, 2 * n * sumSquares(row, mean(row)) / (n - 1)}, term{1, n}, term{2, s}, term{3, squares})
	}
	return bootstrapSums(units, 4, func(total []float64) float64 {
		n := total[1]
		spread := n*total[3] - total[2]*total[2]
		if spread < 1e-12*n*total[3] { // rounding noise
			spread = 0
		}
		return alpha(total[0]/n, 2*spread/(n*(n-1)))
	}, o)
}

// bootstrapRanks needs the coincidences of all pairs of values, because their
// distance depends on how many ratings lie between them.
func bootstrapRanks(units [][]term, given [][]float64, codes []int, index map[float64]int, o BootstrapOptions) (Bootstrap, error) {
	k := len(index)
	for u, row := range given {
		weight := 1 / float64(len(row)-1)
		own := &units[codes[u]]
		for i, x := range row {
			*own = append(*own, term{index[x], 1})
			for j, y := range row {
				if i != j && x != y {
					*own = append(*own, term{k + k*index[x] + index[y], weight})
				}
			}
		}
	}
	return bootstrapSums(units, k+k*k, func(total []float64) float64 {
		counts := total[:k]
		ranks := make([]float64, k)
		var n, observed, expected float64
		for v, c := range counts {
			ranks[v] = n + c/2
			n += c
		}
		for v, c := range counts {
			for w, other := range counts {
				d := ranks[v] - ranks[w]
				observed += total[k+k*v+w] * d * d
				expected += c * other * d * d
			}
		}
		return alpha(observed/n, expected/(n*(n-1)))
	}, o)
}

// A term is a unit's part of one of the sums that a statistic is made of.
type term struct {
	sum  int
	part float64
}

// additive are units whose statistic depends on sums over them, so that the
// jackknife subtracts a unit and does not add up the others.
type additive struct {
	units     [][]term
	total     []float64
	statistic func(total []float64) float64
}

// maxBootstrapWork bounds the additions of a bootstrap, in random order: some ten
// seconds.
const maxBootstrapWork = 4e8

func bootstrapSums(units [][]term, sums int, statistic func([]float64) float64, o BootstrapOptions) (Bootstrap, error) {
	a := additive{units, make([]float64, sums), statistic}
	each := sums // additions of a resample
	for i, u := range units {
		each += len(u)
		a.add(a.total, i, 1)
	}
	// The jackknife has a statistic for each unit.
	left := maxBootstrapWork - float64(len(units))*float64(sums)
	if most := max(0, int(left/float64(each))); o.Resamples > most {
		return Bootstrap{}, fmt.Errorf("stats: %d resamples of %d units take too long: draw at most %d", o.Resamples, len(units), most)
	}
	return bootstrap(a, o)
}

func (a additive) add(to []float64, unit int, sign float64) {
	for _, t := range a.units[unit] {
		to[t.sum] += sign * t.part
	}
}

func (a additive) size() int     { return len(a.units) }
func (additive) missing() string { return "value" }
func (additive) scale() float64  { return 1 }
func (a additive) all() float64  { return a.statistic(a.total) }

func (a additive) without(i int) float64 {
	left := slices.Clone(a.total)
	a.add(left, i, -1)
	return a.statistic(left)
}

func (a additive) draw(g counter) float64 {
	total := make([]float64, len(a.total))
	for i := range g.below(len(a.units)) {
		a.add(total, i, 1)
	}
	return a.statistic(total)
}
