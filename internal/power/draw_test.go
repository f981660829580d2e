package power

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

// TestDrawnScores: scores have the assumed means, correlation of two arms, and
// intraclass correlation of scores and of their difference, within what 4,000
// studies of 160 items can tell. Tables and normal variates are approximations of a
// percent or two.
func TestDrawnScores(t *testing.T) {
	for _, c := range []struct {
		binary           bool
		a, b, sd         float64
		icc, correlation float64
	}{{true, 0.6, 0.6, 0, 0.2, 0.4}, {true, 0.9, 0.9, 0, 0.97, 0.4}, {true, 0.8, 0.6, 0, 0.2, 0.3}, {true, 0.7, 0.5, 0, 0, 0.5}, {false, 0.5, 0.4, 0.1, 0.2, 0.3}, {false, 0.8, 0.8, 0.1, 0.3, 0},
		{false, 0.95, 0.9, 0.2, 0.3, 0.5}, {false, 0.98, 0.95, 0.1, 0.3, 0.5}, {false, 0.05, 0.1, 0.1, 0.6, 0.7}} {
		assumption := study.Assumption{SD: c.sd, ICC: c.icc, Correlation: &c.correlation}
		metric := eval.Metric{Max: 1, Binary: c.binary}
		var p population
		for _, mean := range []float64{c.a, c.b} {
			m, err := newModel(metric, assumed{mean, 1}, assumption)
			if err != nil {
				t.Fatal(err)
			}
			p.arms = append(p.arms, m)
		}
		if c.binary {
			p.shared = sharedDraws(c.correlation, c.icc, p.arms)
		} else {
			p.shared = sharedVariates(c.correlation, c.icc, p.arms)
		}
		const studies, clusters, size = 4000, 40, 4
		cluster := make([]int32, clusters*size)
		for i := range cluster {
			cluster[i] = int32(i / size)
		}
		r := rand.New(rand.NewPCG(1, 2))
		var x, y, d moments
		var xy float64
		for range studies {
			of := draw(r, []population{p}, cluster)
			for k := range clusters {
				var xs, ys, ds []float64
				for i := k * size; i < (k+1)*size; i++ {
					vx, _ := of(0, 0, i)
					vy, _ := of(0, 1, i)
					xs, ys, ds = append(xs, vx), append(ys, vy), append(ds, vx-vy)
					xy += vx * vy
				}
				x.add(xs)
				y.add(ys)
				d.add(ds)
			}
		}
		n := float64(studies * clusters * size)
		correlation := (xy/n - x.mean()*y.mean()) / math.Sqrt(x.variance()*y.variance())
		for name, v := range map[string][3]float64{
			"mean of a": {x.mean(), c.a, 0.002}, "mean of b": {y.mean(), c.b, 0.002}, "correlation": {correlation, c.correlation, 0.015},
			"ICC of a": {x.icc(), c.icc, 0.015}, "ICC of the difference": {d.icc(), c.icc, 0.02},
		} {
			if !(math.Abs(v[0]-v[1]) <= v[2]) {
				t.Errorf("%+v: %s is %.4f, want %.4f", c, name, v[0], v[1])
			}
		}
		if !c.binary && !(math.Abs(math.Sqrt(x.variance())-c.sd) <= 0.002) {
			t.Errorf("%+v: standard deviation %.4f", c, math.Sqrt(x.variance()))
		}
	}
}

// moments of values in clusters of one size.
type moments struct{ n, sum, squares, pairs, products float64 }

func (m *moments) add(cluster []float64) {
	for i, x := range cluster {
		m.n++
		m.sum += x
		m.squares += x * x
		for _, y := range cluster[:i] {
			m.pairs++
			m.products += x * y
		}
	}
}

func (m moments) mean() float64     { return m.sum / m.n }
func (m moments) variance() float64 { return m.squares/m.n - m.mean()*m.mean() }
func (m moments) icc() float64 {
	return (m.products/m.pairs - m.mean()*m.mean()) / m.variance()
}
