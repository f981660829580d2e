package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// A design is a number of clusters and of items in each. Clusters of one item
// are items of their own.
type design struct {
	name     string
	clusters int
	size     int
}

// cluster names a cluster, or returns "" for an item of its own.
func (d design) cluster(k int) string {
	if d.size == 1 {
		return ""
	}
	return fmt.Sprint("c", k)
}

// An observation is an item with its scores: for each arm one value, or one for
// each opportunity.
type observation struct {
	cluster string
	scores  [][]float64
}

// A source draws the data of one repetition. It is safe for concurrent use.
type source func(r *rand.Rand) []observation

// stream is the randomness of one repetition. It depends on nothing else, so
// results are the same for any number of workers and any selection of cells.
func stream(seed uint64, cell string, repetition int) *rand.Rand {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%d", seed, cell, repetition))
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])))
}

// clustered draws the items of clusters. begin draws what those of a cluster have in common, and
// returns how each is drawn.
func clustered(d design, begin func(r *rand.Rand) func() [][]float64) source {
	return func(r *rand.Rand) (list []observation) {
		for k := range d.clusters {
			item := begin(r)
			for range d.size {
				list = append(list, observation{d.cluster(k), item()})
			}
		}
		return list
	}
}

// independent draws n items of their own, in order.
func independent(n int, item func(r *rand.Rand, k int) [][]float64) source {
	return func(r *rand.Rand) []observation {
		list := make([]observation, n)
		for k := range list {
			list[k].scores = item(r, k)
		}
		return list
	}
}

// A beta is a beta distribution moved to mean 0 and scaled to a standard
// deviation.
type beta struct{ a, b, sd float64 }

func (d beta) draw(r *rand.Rand) float64 {
	x := distuv.Beta{Alpha: d.a, Beta: d.b, Src: r}
	return (x.Rand() - x.Mean()) / x.StdDev() * d.sd
}

// The parts of a continuous score. All are bounded, so that a score of mean 0.36
// to 0.49 stays within 0 and 1 and its mean is exact.
const (
	sharedSD   = 0.03 // of clusters, the same for all arms, uniform
	itemSD     = 0.03 // of items, the same for all arms
	residualSD = 0.08
)

// continuous draws scores in 0 to 1. The last arm has mean base, the others
// differ from it by diffs. Within a cluster, differences of two arms have the
// intraclass correlation icc: var(arm × cluster) / (that + var(residual)).
func continuous(d design, base float64, diffs []float64, icc float64) source {
	item, residual := beta{2, 3, itemSD}, beta{2, 3, residualSD}
	byArm := beta{2, 3, residualSD * math.Sqrt(icc/(1-icc))}
	means := means(base, diffs)
	return clustered(d, func(r *rand.Rand) func() [][]float64 {
		shared := sharedSD * math.Sqrt(3) * (2*r.Float64() - 1)
		effects := make([]float64, len(means))
		for a := range effects {
			effects[a] = means[a] + shared + byArm.draw(r)
		}
		return func() (scores [][]float64) {
			difficulty := item.draw(r)
			for _, e := range effects {
				scores = append(scores, []float64{e + difficulty + residual.draw(r)})
			}
			return scores
		}
	})
}

func means(base float64, diffs []float64) []float64 {
	list := make([]float64, 0, len(diffs)+1)
	for _, d := range diffs {
		list = append(list, base+d)
	}
	return append(list, base)
}

// The shares of the variance of the normal variable behind a binary score that
// all arms have in common.
const (
	sharedVariance = 0.1 // of clusters
	itemVariance   = 0.3 // of items
)

// dichotomous draws scores of 0 and 1: an arm passes where a normal variable is below
// the quantile of its rate, so that rates are exact. The effects of arm ×
// cluster are solved for such that the differences to the last arm have the
// intraclass correlation icc.
func dichotomous(d design, base float64, diffs []float64, icc float64) source {
	rates := means(base, diffs)
	byArm := armVariances(rates, icc)
	thresholds := make([]float64, len(rates))
	for a, rate := range rates {
		thresholds[a] = distuv.UnitNormal.Quantile(rate)
	}
	return clustered(d, func(r *rand.Rand) func() [][]float64 {
		shared := math.Sqrt(sharedVariance) * r.NormFloat64()
		effects := make([]float64, len(rates))
		for a := range effects {
			effects[a] = shared + math.Sqrt(byArm[a])*r.NormFloat64()
		}
		return func() (scores [][]float64) {
			difficulty := math.Sqrt(itemVariance) * r.NormFloat64()
			for a, e := range effects {
				z := e + difficulty + math.Sqrt(1-sharedVariance-itemVariance-byArm[a])*r.NormFloat64()
				scores = append(scores, []float64{kit.Indicator(z < thresholds[a])})
			}
			return scores
		}
	})
}

// armVariances solves for the variances of arm × cluster: first that of the last
// arm, as if compared with its like, then those of the others beside it.
func armVariances(rates []float64, icc float64) []float64 {
	const most = 1 - sharedVariance - itemVariance
	last := len(rates) - 1
	base := rates[last]
	list := make([]float64, len(rates))
	list[last] = solve(0, most, func(v float64) float64 { return differenceICC(base, v, base, v) - icc })
	for a, rate := range rates[:last] {
		list[a] = solve(0, most, func(v float64) float64 { return differenceICC(rate, v, base, list[last]) - icc })
	}
	return list
}

// differenceICC is the intraclass correlation of the difference of two binary
// scores with these rates and variances of arm × cluster.
func differenceICC(p, v, q, w float64) float64 {
	within := orthant(p, p, sharedVariance+v) + orthant(q, q, sharedVariance+w) - 2*orthant(p, q, sharedVariance)
	total := p*(1-p) + q*(1-q) - 2*orthant(p, q, sharedVariance+itemVariance)
	return within / total
}

// orthant is the covariance of two indicators with rates p and q of normal
// variables with a correlation: the integral of the bivariate density over the
// correlation from 0 (Plackett 1954), by Simpson's rule.
func orthant(p, q, correlation float64) float64 {
	h, k := distuv.UnitNormal.Quantile(p), distuv.UnitNormal.Quantile(q)
	density := func(c float64) float64 {
		s := 1 - c*c
		return math.Exp(-(h*h-2*c*h*k+k*k)/(2*s)) / (2 * math.Pi * math.Sqrt(s))
	}
	const steps = 400 // even
	sum := density(0) + density(correlation)
	for i := 1; i < steps; i++ {
		sum += float64(2+2*(i%2)) * density(correlation*float64(i)/steps)
	}
	return sum * correlation / steps / 3
}

// spread is the standard deviation of continuous scores (0: it follows from the
// mean), and the correlation of two arms on an item.
func spread(metric string, base, diff float64) (sd, correlation float64) {
	if metric == passed {
		p, q := base+diff, base
		return 0, orthant(p, q, sharedVariance+itemVariance) / math.Sqrt(p*(1-p)*q*(1-q))
	}
	common := sharedSD*sharedSD + itemSD*itemSD
	own := residualSD * residualSD / (1 - icc)
	return math.Sqrt(common + own), common / (common + own)
}

// solve finds the root of an increasing function by bisection. It panics if
// there is none: the cells are fixed, so that is a mistake in their list.
func solve(low, high float64, f func(float64) float64) float64 {
	if f(low) > 0 || f(high) < 0 {
		panic("validity: no variance of arm × cluster gives this intraclass correlation")
	}
	for range 60 {
		if mid := (low + high) / 2; f(mid) < 0 {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// losses draws independent items on which the first arm never wins, and loses
// with the given probability. The second arm passes on 90 % of items.
func losses(n int, loss float64) source {
	return independent(n, func(r *rand.Rand, _ int) [][]float64 {
		u := r.Float64()
		return [][]float64{{kit.Indicator(u < 0.9-loss)}, {kit.Indicator(u < 0.9)}}
	})
}

// opportunities draws documents of several yes/no opportunities of one arm.
func opportunities(d design, rate, icc float64) source {
	return documents(d.clusters, rate, icc, func(int) int { return d.size })
}

// documents draws documents of one arm, each with its number of opportunities. Those of a document
// share its rate.
func documents(n int, rate, icc float64, size func(k int) int) source {
	return independent(n, func(r *rand.Rand, k int) [][]float64 {
		p := drawRate(r, rate, icc)
		events := make([]float64, size(k))
		for i := range events {
			events[i] = kit.Indicator(r.Float64() < p)
		}
		return [][]float64{events}
	})
}

// drawRate draws a rate that is beta-distributed: events that share it have the intraclass
// correlation 1/(a + b + 1).
func drawRate(r *rand.Rand, mean, icc float64) float64 {
	total := 1/icc - 1
	return distuv.Beta{Alpha: mean * total, Beta: (1 - mean) * total, Src: r}.Rand()
}
