package stats

import (
	"math"

	"github.com/scruple-eval/scruple/stats/dist"
)

// Wilson is the score interval of a binomial proportion k/n, without
// continuity correction (Wilson 1927). It is undefined for n = 0.
func Wilson(k, n int, level float64) Interval {
	if n <= 0 || k < 0 || k > n || checkLevel(level) != nil {
		return undefinedInterval(level)
	}
	return wilson(float64(k)/float64(n), float64(n), level)
}

// wilson is the score interval of a proportion p of n outcomes, which need not
// be a whole number.
func wilson(p, n, level float64) Interval {
	return wilsonAt(p, n, level, zQuantile((1-level)/2))
}

// wilsonAt takes the quantile of the level.
func wilsonAt(p, n, level, z float64) Interval {
	centre := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	iv := around(centre, half, level)
	// At the ends the formula gives 0 and 1 up to rounding.
	if p == 0 {
		iv.Low = 0
	}
	if p == 1 {
		iv.High = 1
	}
	return iv
}

// ClopperPearson is the exact interval of a binomial proportion k/n, which
// covers at least the level and mostly more (Clopper & Pearson 1934). It is
// undefined for n = 0. Reference: R binom.test.
func ClopperPearson(k, n int, level float64) Interval {
	return betaInterval(k, n, level, 0, 1)
}

// Jeffreys is the equal-tailed interval of the posterior under Jeffreys' prior
// Beta(½, ½); its end is 0 where k = 0 and 1 where k = n (Brown, Cai &
// DasGupta 2001).
func Jeffreys(k, n int, level float64) Interval { return betaInterval(k, n, level, 0.5, 0.5) }

// betaInterval has the quantiles of beta distributions as its ends: with successes and
// failures added to those counted for the lower end, and the reverse for the upper one.
func betaInterval(k, n int, level, successes, failures float64) Interval {
	if n <= 0 || k < 0 || k > n || checkLevel(level) != nil {
		return undefinedInterval(level)
	}
	tail := (1 - level) / 2
	x, m := float64(k), float64(n)
	iv := Interval{0, 1, level}
	if k > 0 {
		iv.Low = dist.Beta{A: x + successes, B: m - x + failures}.Quantile(tail)
	}
	if k < n {
		iv.High = 1 - dist.Beta{A: m - x + successes, B: x + failures}.Quantile(tail)
	}
	return iv
}

// AgrestiCoull is the Wald interval after adding z²/2 successes and failures
// (Agresti & Coull 1998). It is not clipped and can leave [0, 1].
func AgrestiCoull(k, n int, level float64) Interval {
	if n <= 0 || k < 0 || k > n || checkLevel(level) != nil {
		return undefinedInterval(level)
	}
	z := zQuantile((1 - level) / 2)
	m := float64(n) + z*z
	p := (float64(k) + z*z/2) / m
	return around(p, z*math.Sqrt(p*(1-p)/m), level)
}
