package measure

import "math"

// ByChance is the share of coins that tell right from wrong at least as well as a judge does,
// and that of a judge without an error on the same cases. right of pass cases that must pass,
// and right of fail cases that must fail, had the right verdict. It is the one-sided p-value
// of Fisher's exact test, which holds for coins of any bias; with cases of one kind alone, it
// is that of the sign test, for fair coins.
func ByChance(rightPass, pass, rightFail, fail int) (p, least float64) {
	n := pass + fail
	if pass == 0 || fail == 0 {
		for k := rightPass + rightFail; k <= n; k++ {
			p += math.Exp(choose(n, k) - float64(n)*math.Ln2)
		}
		return min(1, p), math.Exp(-float64(n) * math.Ln2)
	}
	passed := rightPass + fail - rightFail
	for k := rightPass; k <= min(pass, passed); k++ {
		if passed-k <= fail {
			p += math.Exp(choose(pass, k) + choose(fail, passed-k) - choose(n, passed))
		}
	}
	return min(1, p), math.Exp(-choose(n, pass))
}

// choose is the logarithm of the number of ways to choose k of n.
func choose(n, k int) float64 {
	lg := func(x int) float64 {
		v, _ := math.Lgamma(float64(x) + 1)
		return v
	}
	return lg(n) - lg(k) - lg(n-k)
}
