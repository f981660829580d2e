package main

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// The tests simulate many clusters with a fixed seed. A moment may differ from
// its stated value by four standard errors, estimated between clusters.
const standardErrors = 4

// many is a design with the same size of clusters and more of them.
func many(d design) design { return design{d.name, 50_000 / d.size, d.size} }

// clusterwise checks that the ratio of the sums of two statistics of clusters is
// the stated one.
func clusterwise(t *testing.T, what string, num, den []float64, want float64) {
	t.Helper()
	var n, d float64
	for k := range num {
		n, d = n+num[k], d+den[k]
	}
	got := n / d
	var squares float64
	for k := range num {
		e := num[k] - got*den[k]
		squares += e * e
	}
	if se := math.Sqrt(squares) / d; !(math.Abs(got-want) <= standardErrors*se) || !(se < 0.02) {
		t.Errorf("%s: %.5f, want %.5f (standard error %.5f)", what, got, want, se)
	}
}

func ones(n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = 1
	}
	return list
}

// TestDifferences checks the true differences of all arms, the rate of the base,
// the range of scores, and the intraclass correlation of differences within
// clusters, for every measure, design and truth.
func TestDifferences(t *testing.T) {
	for _, m := range measures {
		for _, d := range []design{eight, thirty, unrelated} {
			for _, diffs := range [][]float64{{0, 0, 0}, {m.effect[d.name], 0, 0}, {-m.margin}} {
				name := fmt.Sprintf("%s %s %v", m.name, d.name, diffs)
				d := many(d)
				data := m.draw(d, m.base, diffs, icc)(stream(1, name, 0))
				if len(data) != d.clusters*d.size {
					t.Fatalf("%s: %d items", name, len(data))
				}
				last := len(diffs)
				var bases []float64
				for i := 0; i < len(data); i += d.size {
					var sum float64
					for _, o := range data[i : i+d.size] {
						for _, s := range o.scores {
							if s[0] < 0 || s[0] > 1 {
								t.Fatalf("%s: score %v", name, s[0])
							}
						}
						sum += o.scores[last][0]
						if (o.cluster == "") != (d.size == 1) || o.cluster != data[i].cluster {
							t.Fatalf("%s: item %d is in cluster %q", name, i, o.cluster)
						}
					}
					bases = append(bases, sum/float64(d.size))
				}
				clusterwise(t, name+": mean of the base", bases, ones(len(bases)), m.base)
				for a, want := range diffs {
					var means, products, squares []float64
					for i := 0; i < len(data); i += d.size {
						var sum, square float64
						for _, o := range data[i : i+d.size] {
							e := o.scores[a][0] - o.scores[last][0] - want
							sum, square = sum+e, square+e*e
						}
						n := float64(d.size)
						means = append(means, want+sum/n)
						// Twice the mean product of the pairs, and the mean square.
						products, squares = append(products, (sum*sum-square)/(n*(n-1))), append(squares, square/n)
					}
					clusterwise(t, fmt.Sprintf("%s: difference of arm %d", name, a), means, ones(len(means)), want)
					if d.size > 1 {
						clusterwise(t, fmt.Sprintf("%s: ICC of the difference of arm %d", name, a), products, squares, icc)
					}
				}
			}
		}
	}
}

// TestArmVariances checks the solutions, more precisely than simulation can.
func TestArmVariances(t *testing.T) {
	rates := []float64{0.9, 0.8, 0.6, 0.5, 0.6}
	v := armVariances(rates, icc)
	for a, p := range rates {
		if got := differenceICC(p, v[a], 0.6, v[4]); !(math.Abs(got-icc) <= 1e-9) {
			t.Errorf("rate %v: ICC of the difference %v, want %v", p, got, icc)
		}
	}
}

// TestOpportunities checks rates and their intraclass correlation within
// documents.
func TestOpportunities(t *testing.T) {
	for _, size := range []int{2, 5} {
		for _, rate := range []float64{0.02, 0.05, 0.1} {
			d := design{"", 100_000, size}
			var means, products, variances []float64
			for _, o := range opportunities(d, rate, icc)(stream(1, "rate", size)) {
				var sum, square float64
				for _, x := range o.scores[0] {
					sum, square = sum+x-rate, square+(x-rate)*(x-rate)
				}
				n := float64(size)
				means = append(means, rate+sum/n)
				products, variances = append(products, (sum*sum-square)/(n*(n-1))), append(variances, square/n)
			}
			name := fmt.Sprintf("rate %v of %d opportunities", rate, size)
			clusterwise(t, name, means, ones(len(means)), rate)
			clusterwise(t, name+": ICC", products, variances, icc)
		}
	}
}

func TestLosses(t *testing.T) {
	var lost, passed []float64
	for _, o := range losses(200_000, 0.03)(stream(1, "losses", 0)) {
		a, b := o.scores[0][0], o.scores[1][0]
		if a > b {
			t.Fatal("the arm won")
		}
		lost, passed = append(lost, b-a), append(passed, b)
	}
	clusterwise(t, "losses", lost, ones(len(lost)), 0.03)
	clusterwise(t, "the base", passed, ones(len(passed)), 0.9)
}

// TestOrthant: with rates of one half the covariance is asin(r)/2π (Sheppard
// 1899), and at a correlation near 1 it is that of equal indicators.
func TestOrthant(t *testing.T) {
	for _, r := range []float64{0, 0.1, 0.5, 0.9} {
		if got, want := orthant(0.5, 0.5, r), math.Asin(r)/(2*math.Pi); !(math.Abs(got-want) <= 1e-9) {
			t.Errorf("correlation %v: covariance %v, want %v", r, got, want)
		}
	}
	if got := orthant(0.3, 0.3, 0.9999); !(math.Abs(got-0.3*0.7) <= 0.01) {
		t.Errorf("covariance %v at correlation 0.9999, want about %v", got, 0.3*0.7)
	}
}

// TestBeta: a moved beta distribution has mean 0 and the stated deviation.
func TestBeta(t *testing.T) {
	r := stream(1, "beta", 0)
	var values, squares []float64
	for range 100_000 {
		x := beta{2, 3, 0.08}.draw(r)
		values, squares = append(values, x), append(squares, x*x)
	}
	clusterwise(t, "mean", values, ones(len(values)), 0)
	clusterwise(t, "variance", squares, ones(len(squares)), 0.08*0.08)
	// The scores of all cells rely on the range: see continuous.
	d := distuv.Beta{Alpha: 2, Beta: 3}
	byArm := residualSD * math.Sqrt(icc/(1-icc))
	below, above := d.Mean()/d.StdDev()*(itemSD+residualSD+byArm)+sharedSD*math.Sqrt(3), (1-d.Mean())/d.StdDev()*(itemSD+residualSD+byArm)+sharedSD*math.Sqrt(3)
	for _, c := range cells() {
		if c.metric != score {
			continue
		}
		for _, m := range means(measures[1].base, c.diffs) {
			if m-below < 0 || m+above > 1 {
				t.Errorf("%s: scores of mean %v range from %v to %v", c.name, m, m-below, m+above)
			}
		}
	}
}

// TestStream: repetitions and cells have streams of their own.
func TestStream(t *testing.T) {
	seen := map[uint64]string{}
	for _, seed := range []uint64{1, 2} {
		for _, name := range []string{"a", "b", "a1"} {
			for n := range 20 {
				x, at := stream(seed, name, n).Uint64(), fmt.Sprint(seed, name, n)
				if seen[x] != "" {
					t.Errorf("%s and %s draw the same", seen[x], at)
				}
				seen[x] = at
			}
		}
	}
	if stream(1, "a", 3).Uint64() != stream(1, "a", 3).Uint64() {
		t.Error("a stream does not repeat")
	}
}
