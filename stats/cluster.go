package stats

import (
	"cmp"
	"fmt"
)

// SumByCluster adds up rows by cluster, in order of the clusters' first appearance:
// num and den are the numerators and denominators of the rows, such as the passes
// and the opportunities of a field, and cluster[i] is the cluster of row i, such as
// its document. Without den each row counts 1, and the ratio of the sums is a mean
// over rows. Without cluster each row is one.
//
// The sums are what [RatioOfSums], [ProportionOfSums] and [ClusterBootstrap] take;
// for paired arms, call it once for each with the same clusters. [SignFlipExact] and
// [SignFlipRandom] take the sums of differences.
//
// Values that are not numbers and unequal lengths are errors.
func SumByCluster[C comparable](num, den []float64, cluster []C) (nums, dens []float64, err error) {
	if den != nil && len(den) != len(num) {
		return nil, nil, fmt.Errorf("stats: %d rows have %d denominators", len(num), len(den))
	}
	if cluster != nil && len(cluster) != len(num) {
		return nil, nil, fmt.Errorf("stats: every row needs a cluster, got %d of %d", len(cluster), len(num))
	}
	if err := cmp.Or(checkFinite("num", num), checkFinite("den", den)); err != nil {
		return nil, nil, err
	}
	codes, clusters := numbered(cluster, len(num))
	nums, dens = sumByCode(num, den, codes, clusters)
	return nums, dens, nil
}

// numbered counts clusters in order of appearance. A nil cluster means that each of
// the n rows is one.
func numbered[C comparable](cluster []C, n int) (codes []int, clusters int) {
	codes = make([]int, n)
	if cluster == nil {
		for i := range codes {
			codes[i] = i
		}
		return codes, n
	}
	number := map[C]int{}
	for i, c := range cluster {
		if _, ok := number[c]; !ok {
			number[c] = len(number)
		}
		codes[i] = number[c]
	}
	return codes, len(number)
}

// sumByCode adds up rows by the number of their cluster; a nil den counts them.
func sumByCode(num, den []float64, codes []int, clusters int) (nums, dens []float64) {
	nums, dens = make([]float64, clusters), make([]float64, clusters)
	for i, c := range codes {
		nums[c] += num[i]
		if den == nil {
			dens[c]++
		} else {
			dens[c] += den[i]
		}
	}
	return nums, dens
}
