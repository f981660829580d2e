package power

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/stats"
	"github.com/scruple-eval/scruple/stats/dist"
)

// A Power is how often a rule is met in simulated studies.
type Power struct {
	Rule                  gate.Rule
	Missing               string // what the assumption does not say; there is no simulation then
	Pass, Fail, Undecided int    // numbers of studies
	// CI is Wilson's interval of the share that passes, for the number of studies.
	CI stats.Interval
}

// Studies is how many studies Simulate simulates at most. Large ones are fewer, so
// that it takes seconds: at most mostScores scores in all, but fewestStudies.
const (
	Studies       = 2000
	fewestStudies = 200
	mostScores    = 10_000_000
)

// Each simulated study has fewer resamples than a run: single limits vary more, and
// the share of studies that pass hardly. mostDraws bounds those of large studies.
const (
	simulatedResamples = 2000
	fewestResamples    = 400
	mostDraws          = 2_000_000
)

// defaultCorrelation is that of two arms' scores on an item.
const defaultCorrelation = 0.5

// Simulate returns the power of each rule under an assumption. Scores have the stated
// means, standard deviations and intraclass correlations, and two arms the stated
// correlation, between clusters as within: so their difference has the same intraclass
// correlation. Where their means do not allow it, it is the highest that they allow. 0/1
// scores and outcomes of rates are drawn with a beta-distributed proportion for each arm and
// cluster; other scores are beta-distributed over the metric's range. Replicates of an item
// are assumed to agree. The result depends on the study's seed, the assumption's name and
// the design only.
func (d Design) Simulate(a study.Assumption) ([]Power, error) {
	d = d.relevant()
	d.Question.Study.Resamples = min(d.Question.Study.Resamples, simulatedResamples, max(fewestResamples, mostDraws/max(1, len(d.Items))))
	means := d.means(a)
	models, err := d.models(a, means)
	if err != nil {
		return nil, err
	}
	rules := d.Rules.All()
	powers := make([]Power, len(rules))
	for i, r := range rules {
		powers[i] = Power{Rule: r, Missing: d.missing(r, means)}
	}
	if !slices.ContainsFunc(powers, func(p Power) bool { return p.Missing == "" }) {
		return powers, nil
	}
	perStudy := len(d.Items) * len(d.Arms) * max(1, len(d.Suite.Metrics))
	studies := max(fewestStudies, min(Studies, mostScores/max(1, perStudy)))
	verdicts, err := d.verdicts(a, models, studies)
	if err != nil {
		return nil, err
	}
	for i := range powers {
		p := &powers[i]
		if p.Missing != "" {
			continue
		}
		for _, states := range verdicts {
			switch states[i] {
			case gate.Pass:
				p.Pass++
			case gate.Fail:
				p.Fail++
			default:
				p.Undecided++
			}
		}
		p.CI = stats.Wilson(p.Pass, studies, 0.95)
	}
	return powers, nil
}

// verdicts simulates studies and returns the state of every rule in each.
func (d Design) verdicts(a study.Assumption, metrics []population, studies int) ([][]gate.State, error) {
	name := fnv.New64a()
	fmt.Fprintf(name, "%d %s", d.Question.Run.Seed, a.Name)
	order := analyse.Listed(d.Items)
	clusters, _ := analyse.Clusters(d.Items)
	out := make([][]gate.State, studies)
	errs := make([]error, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for w := range errs {
		wait.Go(func() {
			for k := w; k < studies && errs[w] == nil; k += len(errs) {
				one := d
				one.Question.Run.Seed += int64(k) // resamples of studies are independent
				s := draw(rand.New(rand.NewPCG(name.Sum64(), uint64(k))), metrics, clusters)
				analysis, err := one.collect(order, s)
				if err != nil {
					errs[w] = err
					return
				}
				for _, c := range d.Rules.Decide(analysis).Conditions {
					if c.That != gate.Otherwise {
						out[k] = append(out[k], c.State)
					}
				}
			}
		})
	}
	wait.Wait()
	return out, cmp.Or(errs...)
}

// An assumed mean is a true score and the outcomes per item.
type assumed struct {
	value    float64
	outcomes int
}

// means returns the assumed means by arm and metric.
func (d Design) means(a study.Assumption) map[[2]string]assumed {
	means := map[[2]string]assumed{}
	for _, s := range a.Scores {
		for _, arm := range d.Arms {
			if arm.ID != s.Arm && !slices.ContainsFunc(arm.Levels, func(l eval.Level) bool { return l.Value == s.Arm }) {
				continue
			}
			key := [2]string{arm.ID, s.Metric}
			if _, ok := means[key]; ok && arm.ID != s.Arm {
				continue // stated by its id
			}
			means[key] = assumed{s.Value, max(1, s.Outcomes)}
		}
	}
	return means
}

// missing says what a rule reads that is not simulated, or which score of it is not assumed.
func (d Design) missing(r gate.Rule, means map[[2]string]assumed) string {
	if r.Trials {
		return "failures of trials are not simulated"
	}
	for _, name := range r.Apart {
		if name != "sd" { // strata, people, other runs and what happened to a run
			return "it reads " + name + ", which is not simulated"
		}
	}
	for _, n := range r.Read() {
		if i := slices.IndexFunc(d.Suite.Metrics, func(m eval.Metric) bool { return m.Name == n[1] }); d.Suite.Metrics[i].Estimate != nil {
			return n[1] + " cannot be simulated"
		}
		if _, ok := means[n]; !ok {
			return fmt.Sprintf("no assumed %s of %s", n[1], n[0])
		}
	}
	return ""
}

// A model draws the scores of one arm by one metric.
type model struct {
	outcomes int // per item; 0: the score is a number
	quantile table
	icc      float64 // of the normal variates of a number
}

// models returns the arms by metric. An arm without an assumed score is drawn like the
// first that has one: rules do not read it, but a correction counts its comparisons.
func (d Design) models(a study.Assumption, means map[[2]string]assumed) ([]population, error) {
	out := make([]population, len(d.Suite.Metrics))
	for m, metric := range d.Suite.Metrics {
		stated := a
		other := assumed{(metric.Min + metric.Max) / 2, 1}
		if math.IsInf(metric.Max-metric.Min, 0) {
			other.value = max(metric.Min, -1e9)
			if metric.Min < 0 {
				other.value = 0
			}
		}
		known := false
		for _, arm := range d.Arms {
			if x, ok := means[[2]string{arm.ID, metric.Name}]; ok {
				other, known = x, true
				break
			}
		}
		if !known { // no rule reads it: any spread will do
			stated.SD = 0
			if math.IsInf(metric.Max-metric.Min, 0) {
				stated.SD = 1
			}
		}
		for _, arm := range d.Arms {
			x, ok := means[[2]string{arm.ID, metric.Name}]
			if !ok {
				x = other
			}
			q, err := newModel(metric, x, stated)
			if err != nil {
				return nil, fmt.Errorf("assumption %q: %s of %s: %w", a.Name, metric.Name, arm.ID, err)
			}
			out[m].arms = append(out[m].arms, q)
		}
		if metric.Binary {
			out[m].shared = sharedDraws(correlationOf(a), a.ICC, out[m].arms)
		} else {
			out[m].shared = sharedVariates(correlationOf(a), a.ICC, out[m].arms)
		}
	}
	return out, nil
}

func newModel(metric eval.Metric, x assumed, a study.Assumption) (model, error) {
	if x.value < metric.Min || x.value > metric.Max {
		return model{}, fmt.Errorf("%v is outside of %v to %v", x.value, metric.Min, metric.Max)
	}
	if metric.Binary {
		// A proportion per arm and cluster has the variance ICC·p(1 − p).
		return model{outcomes: x.outcomes, quantile: betaTable(x.value, math.Sqrt(a.ICC*x.value*(1-x.value)))}, nil
	}
	width := metric.Max - metric.Min
	if math.IsInf(width, 0) {
		if a.SD == 0 {
			return model{}, fmt.Errorf("the metric has no bounds: state sd")
		}
		above := x.value - metric.Min
		switch {
		case math.IsInf(above, 0):
			return model{quantile: centred(dist.Normal{Mean: x.value, SD: a.SD}.Quantile, x.value)}, nil
		case above == 0:
			return model{quantile: table{x.value}}, nil
		case a.SD > mostSpread*above:
			return model{}, fmt.Errorf("the standard deviation %v is too large for scores from %v on with the mean %v: want at most %.4g", a.SD, metric.Min, x.value, mostSpread*above)
		}
		// Counts, costs and times are not below their least, and a few are far above the others.
		gamma := dist.ChiSquared{DF: 2 * above * above / (a.SD * a.SD)}
		q := centred(gamma.Quantile, above)
		for i := range q {
			q[i] += metric.Min
		}
		return model{quantile: q}, nil
	}
	mean := (x.value - metric.Min) / width
	most := math.Sqrt(mean * (1 - mean))
	sd := a.SD / width
	if a.SD == 0 {
		sd = most / 2
	}
	if sd > 0 && sd >= most && most > 0 {
		return model{}, fmt.Errorf("no scores from %v to %v with the mean %v have the standard deviation %v: it must be below %.4g", metric.Min, metric.Max, x.value, a.SD, most*width)
	}
	q := betaTable(mean, sd)
	for i := range q {
		q[i] = metric.Min + width*q[i]
	}
	return model{quantile: q}, nil
}

// mostSpread is the largest standard deviation of scores without an upper bound over their mean, of
// which a table still holds the few that are not 0.
const mostSpread = 20

// A table holds quantiles at evenly spaced probabilities, each for its interval.
type table []float64

const tableSize = 4096

func (t table) at(p float64) float64 { return t[min(len(t)-1, int(p*float64(len(t))))] }

// atNormal is the quantile at the probability of a normal variate.
func (t table) atNormal(z float64) float64 { return t.at(0.5 * math.Erfc(-z/math.Sqrt2)) }

// betaTable has the mean exactly.
func betaTable(mean, sd float64) table {
	if sd == 0 || mean == 0 || mean == 1 {
		return table{mean}
	}
	size := mean*(1-mean)/(sd*sd) - 1
	b := dist.Beta{A: mean * size, B: (1 - mean) * size}
	return centred(func(p float64) float64 { return b.Quantile(p) }, mean)
}

// centred tabulates quantiles, in proportion to what makes their mean exact.
func centred(quantile func(p float64) float64, mean float64) table {
	t := make(table, tableSize)
	var sum float64
	for i := range t {
		t[i] = quantile((float64(i) + 0.5) / tableSize)
		sum += t[i]
	}
	if sum > 0 && mean > 0 {
		for i := range t {
			t[i] *= mean * tableSize / sum
		}
	}
	return t
}

// shares are how often all arms take the same random draw, for whole clusters and for
// single items, so that their outcomes have the assumed correlation. Of numbers they are the
// correlations of the arms' normal variates.
type shares struct{ clusters, items float64 }

// averaged is the mean over the pairs of arms.
func averaged(arms []model, of func(a, b model) shares) shares {
	var sum shares
	pairs := 0.0
	for i, a := range arms {
		for _, b := range arms[:i] {
			w := of(a, b)
			sum.clusters, sum.items = sum.clusters+w.clusters, sum.items+w.items
			pairs++
		}
	}
	return shares{sum.clusters / max(1, pairs), sum.items / max(1, pairs)}
}

// sharedDraws solves for them. Two arms with the same draw have a covariance, of their
// proportions in clusters and of outcomes in a cluster; the same draw in a share of
// cases gives that share of it.
func sharedDraws(correlation, icc float64, arms []model) shares {
	return averaged(arms, func(a, b model) (w shares) {
		const steps = 64
		var ma, mb, together, alike, apart float64
		at := func(t table, k int) float64 { return t.at((float64(k) + 0.5) / steps) }
		for k := range steps {
			p, q := at(a.quantile, k), at(b.quantile, k)
			ma, mb, together = ma+p/steps, mb+q/steps, together+p*q/steps
			alike += (min(p, q) - p*q) / steps
			for l := range steps {
				q := at(b.quantile, l)
				apart += (min(p, q) - p*q) / (steps * steps)
			}
		}
		want := correlation * math.Sqrt(ma*(1-ma)*mb*(1-mb))
		if together -= ma * mb; together > 1e-12 {
			w.clusters = min(1, icc*want/together)
		}
		if within := w.clusters*alike + (1-w.clusters)*apart; within > 1e-12 {
			w.items = min(1, (1-icc)*want/within)
		}
		return w
	})
}

// sharedVariates solves for the correlations of normal variates, of each arm within clusters and
// of the arms, whose numbers have the assumed ones: near a bound numbers have less than they.
func sharedVariates(correlation, icc float64, arms []model) shares {
	for k := range arms {
		arms[k].icc = variates(icc, arms[k].quantile, arms[k].quantile)
	}
	varying := slices.DeleteFunc(slices.Clone(arms), func(x model) bool { return len(x.quantile) == 1 })
	return averaged(varying, func(a, b model) (w shares) {
		between, within := math.Sqrt(a.icc*b.icc), math.Sqrt((1-a.icc)*(1-b.icc))
		w.clusters = min(1, variates(icc*correlation, a.quantile, b.quantile)/max(between, 1e-9))
		w.items = min(1, max(0, variates(correlation, a.quantile, b.quantile)-w.clusters*between)/max(within, 1e-9))
		return w
	})
}

// variates is the correlation of two normal variates of which the numbers have this one, 1 if
// none is so large. It sums over a grid of both.
func variates(correlation float64, a, b table) float64 {
	const steps, tail = 64, 4.0
	var z, weight, x, y [steps]float64
	for k := range z {
		z[k] = tail * (2*float64(k) + 1 - steps) / steps
		weight[k] = math.Exp(-z[k]*z[k]/2) * 2 * tail / steps / math.Sqrt(2*math.Pi)
		x[k], y[k] = a.atNormal(z[k]), b.atNormal(z[k])
	}
	mx, my, sx, sy := floats.Dot(weight[:], x[:]), floats.Dot(weight[:], y[:]), 0.0, 0.0
	for k, w := range weight {
		x[k] -= mx
		sx, sy = sx+w*x[k]*x[k], sy+w*(y[k]-my)*(y[k]-my)
	}
	low, high := 0.0, 1.0
	for range 30 {
		mid, covariance := (low+high)/2, 0.0
		for k := range z {
			for l := range z {
				covariance += weight[k] * weight[l] * x[k] * b.atNormal(mid*z[k]+math.Sqrt(1-mid*mid)*z[l])
			}
		}
		if covariance < correlation*math.Sqrt(sx*sy) {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// A population is the arms on one metric.
type population struct {
	arms   []model
	shared shares
}

// draw draws the scores of one study.
func draw(r *rand.Rand, metrics []population, cluster []int32) score {
	scores := make([][][]eval.Fraction, len(metrics)) // by metric, arm and item
	clusters := int(slices.Max(cluster)) + 1
	for m, p := range metrics {
		if len(p.arms) == 0 {
			continue
		}
		if p.arms[0].outcomes > 0 {
			scores[m] = p.outcomes(r, cluster, clusters)
		} else {
			scores[m] = p.numbers(r, cluster, clusters)
		}
	}
	return func(metric, arm, item int) (num, den float64) {
		f := scores[metric][arm][item]
		return f.Num, f.Den
	}
}

// outcomes draws yes-or-no outcomes.
func (p population) outcomes(r *rand.Rand, cluster []int32, clusters int) [][]eval.Fraction {
	most := 0
	for _, x := range p.arms {
		most = max(most, x.outcomes)
	}
	uniform := func(n int) []float64 { return drawn(n, r.Float64) }
	commonCluster, drawCluster := uniform(clusters), uniform(clusters)
	commonItem, drawItem := uniform(len(cluster)*most), uniform(len(cluster)*most)
	out := make([][]eval.Fraction, len(p.arms))
	for k, x := range p.arms {
		rates := uniform(clusters)
		for c := range rates {
			if commonCluster[c] < p.shared.clusters {
				rates[c] = drawCluster[c]
			}
			rates[c] = x.quantile.at(rates[c])
		}
		out[k] = make([]eval.Fraction, len(cluster))
		for i, c := range cluster {
			f := eval.Fraction{Den: float64(x.outcomes)}
			for j := range x.outcomes {
				u := r.Float64()
				if n := i*most + j; commonItem[n] < p.shared.items {
					u = drawItem[n]
				}
				if u < rates[c] {
					f.Num++
				}
			}
			out[k][i] = f
		}
	}
	return out
}

// numbers draws scores that are not outcomes, by normal variates of clusters and
// items of which the arms have a part in common.
func (p population) numbers(r *rand.Rand, cluster []int32, clusters int) [][]eval.Fraction {
	parts := func(share float64) (shared, own float64) { return math.Sqrt(share), math.Sqrt(1 - share) }
	sharedCluster, ownCluster := parts(p.shared.clusters)
	sharedItem, ownItem := parts(p.shared.items)
	ofClusters, ofItems := drawn(clusters, r.NormFloat64), drawn(len(cluster), r.NormFloat64)
	out := make([][]eval.Fraction, len(p.arms))
	for k, x := range p.arms {
		between, within := parts(x.icc)
		mine := drawn(clusters, r.NormFloat64)
		out[k] = make([]eval.Fraction, len(cluster))
		for i, c := range cluster {
			z := between*(sharedCluster*ofClusters[c]+ownCluster*mine[c]) + within*(sharedItem*ofItems[i]+ownItem*r.NormFloat64())
			out[k][i] = eval.Fraction{Num: x.quantile.atNormal(z), Den: 1}
		}
	}
	return out
}

func drawn(n int, one func() float64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = one()
	}
	return list
}

func correlationOf(a study.Assumption) float64 {
	if a.Correlation != nil {
		return *a.Correlation
	}
	return defaultCorrelation
}
