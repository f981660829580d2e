package stats

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/scruple-eval/scruple/stats/dist"
)

// Bootstrap is a cluster bootstrap of a ratio of sums, or of a difference of
// two.
type Bootstrap struct {
	Clusters     int        `json:"n_clusters"`
	Resamples    int        `json:"resamples"`
	Estimate     float64    `json:"estimate"`
	Mean         float64    `json:"replicate_mean"`
	SD           float64    `json:"replicate_sd"` // NaN of one replicate
	Percentile   Interval   `json:"percentile"`
	Basic        Interval   `json:"basic"`
	BCa          Interval   `json:"bca"` // undefined where Degenerate
	Z0           float64    `json:"bca_z0"`
	Acceleration float64    `json:"bca_acceleration"`
	Alphas       [2]float64 `json:"-"` // the quantiles that BCa takes
	JackknifeSE  float64    `json:"jackknife_se"`
	Degenerate   bool       `json:"degenerate,omitzero"` // all replicates are the same
	Undefined    string     `json:"undefined_reason,omitzero"`
	Warnings     []string   `json:"warnings,omitempty"`

	Replicates []float64 `json:"-"` // in the order they were drawn

	level  float64
	jack   []float64
	sorted []float64 // replicates that have a value
}

// BootstrapOptions say how to draw.
type BootstrapOptions struct {
	Resamples int
	Level     float64
	Seed      uint64
	Workers   int // number of goroutines; does not change the result
}

// ClusterBootstrap resamples clusters for an interval of Σnum/Σden: a rate, a
// micro-averaged F1, a mean over rows. Each cluster is added up once, so a
// replicate costs one addition a cluster. Clusters are independent; what hangs
// together inside of them need not be modelled.
//
// Replicate k is drawn from a stream that depends on the seed and k only, and
// added up in a fixed order: the result is the same to the bit for any number
// of workers.
//
// BCa after Efron (1987) with the conventions of scipy.stats.bootstrap: z₀
// counts ties one half, the jackknife is centred at its mean, quantiles are of
// type 7. Where all replicates lie on one side of the estimate, or the
// jackknife is constant, BCa falls back to the percentile interval, with a
// warning.
func ClusterBootstrap(num, den []float64, o BootstrapOptions) (Bootstrap, error) {
	c, err := newRatioClusters(num, den)
	if err != nil {
		return Bootstrap{}, err
	}
	return bootstrap(c, o)
}

// ClusterBootstrapDiff resamples clusters for an interval of ΣnumA/ΣdenA −
// ΣnumB/ΣdenB over the same clusters.
func ClusterBootstrapDiff(numA, denA, numB, denB []float64, o BootstrapOptions) (Bootstrap, error) {
	a, err := newRatioClusters(numA, denA)
	if err != nil {
		return Bootstrap{}, err
	}
	b, err := newRatioClusters(numB, denB)
	if err != nil {
		return Bootstrap{}, err
	}
	if len(numA) != len(numB) {
		return Bootstrap{}, fmt.Errorf("stats: pairs need equal lengths, got %d and %d", len(numA), len(numB))
	}
	return bootstrap(pairedClusters{a, b}, o)
}

// ResampleClusters bootstraps with resamples that are given: each a list of
// cluster indices, as many as there are clusters.
func ResampleClusters(num, den []float64, resamples [][]int, level float64) (Bootstrap, error) {
	c, err := newRatioClusters(num, den)
	if err != nil {
		return Bootstrap{}, err
	}
	if err := checkLevel(level); err != nil {
		return Bootstrap{}, err
	}
	if len(resamples) == 0 {
		return Bootstrap{}, errors.New("stats: a bootstrap needs at least one resample")
	}
	replicates := make([]float64, len(resamples))
	for k, indices := range resamples {
		if len(indices) != c.size() {
			return Bootstrap{}, fmt.Errorf("stats: resample %d draws %d clusters, expected %d", k, len(indices), c.size())
		}
		for _, i := range indices {
			if i < 0 || i >= c.size() {
				return Bootstrap{}, fmt.Errorf("stats: resample %d draws cluster %d of %d", k, i, c.size())
			}
		}
		replicates[k] = c.over(indices)
	}
	return conclude(c, replicates, level), nil
}

// BootstrapClusters resamples clusters for an interval of any statistic of
// them: kappa, AUROC, a calibration error, or a difference of two. The statistic
// is given the clusters that were drawn, numbered from 0 and with repetition,
// and must be safe for concurrent use; NaN is a resample without a value, which
// is left out and counted. An infinite one, such as a cost per point without a point, lies at its
// end of the interval; there is none if more are infinite than an end leaves out. Conventions
// as in [ClusterBootstrap].
func BootstrapClusters(clusters int, statistic func(drawn []int) float64, o BootstrapOptions) (Bootstrap, error) {
	if err := checkDrawn(clusters); err != nil {
		return Bootstrap{}, err
	}
	return bootstrap(anyClusters{clusters, statistic}, o)
}

// checkDrawn refuses numbers of clusters that cannot be drawn from.
func checkDrawn(clusters int) error {
	switch {
	case clusters < 1:
		return errEmpty
	case clusters > math.MaxInt32:
		return fmt.Errorf("stats: %d clusters are more than can be drawn from", clusters)
	}
	return nil
}

// A Count is how often a cluster has something of a kind.
type Count struct {
	Kind int32
	N    int32
}

// BootstrapCounts is [BootstrapClusters] for a statistic of sums: how often each kind occurs in
// the drawn clusters, which have it in the given numbers. A replicate then costs an addition
// for each count, and the jackknife takes one cluster from the whole.
func BootstrapCounts(clusters [][]Count, kinds int, statistic func(counts []float64) float64, o BootstrapOptions) (Bootstrap, error) {
	if err := checkDrawn(len(clusters)); err != nil {
		return Bootstrap{}, err
	}
	c := countClusters{ends: make([]int, 0, len(clusters)), whole: make([]float64, kinds), statistic: statistic, lists: new(sync.Pool)}
	for i, counts := range clusters {
		c.counts = append(c.counts, counts...)
		c.ends = append(c.ends, len(c.counts))
		c.add(c.whole, i, 1)
	}
	return bootstrap(c, o)
}

// countClusters have the counts of all clusters in one list, each up to its end.
type countClusters struct {
	counts    []Count
	ends      []int
	whole     []float64
	statistic func(counts []float64) float64
	lists     *sync.Pool // of how often clusters are drawn
}

func (c countClusters) add(sums []float64, cluster int, times float64) {
	from := 0
	if cluster > 0 {
		from = c.ends[cluster-1]
	}
	for _, k := range c.counts[from:c.ends[cluster]] {
		sums[k.Kind] += times * float64(k.N)
	}
}

func (c countClusters) size() int      { return len(c.ends) }
func (countClusters) missing() string  { return "value" }
func (c countClusters) scale() float64 { return math.Abs(c.all()) }
func (c countClusters) all() float64   { return c.statistic(c.whole) }

func (c countClusters) without(i int) float64 {
	c.add(c.whole, i, -1)
	v := c.all()
	c.add(c.whole, i, 1) // numbers of times: no rounding
	return v
}

func (c countClusters) draw(g counter) float64 {
	drawn, _ := c.lists.Get().(*[]int32)
	if drawn == nil {
		drawn = new([]int32)
		*drawn = make([]int32, len(c.ends))
	}
	clear(*drawn)
	for i := range g.below(len(c.ends)) {
		(*drawn)[i]++
	}
	sums := make([]float64, len(c.whole))
	for i, times := range *drawn { // in the order of the memory
		if times > 0 {
			c.add(sums, i, float64(times))
		}
	}
	c.lists.Put(drawn)
	return c.statistic(sums)
}

// A resampler holds clusters and their statistic.
type resampler interface {
	size() int
	scale() float64         // size of the numbers the estimate is made of, 0 without a denominator
	all() float64           // the estimate
	without(i int) float64  // the jackknife
	draw(g counter) float64 // a replicate
	missing() string        // what a replicate that is NaN does not have
}

// ratioClusters are the sums of each cluster, side by side for the cache.
type ratioClusters struct {
	sums          [][2]float64
	num, den, abs float64 // over all; abs of |num|
}

func newRatioClusters(num, den []float64) (c ratioClusters, err error) {
	if err := cmp.Or(checkFractions(num, den), checkDrawn(len(num))); err != nil {
		return c, err
	}
	c.sums = make([][2]float64, len(num))
	for i := range num {
		c.sums[i] = [2]float64{num[i], den[i]}
		c.num += num[i]
		c.den += den[i]
		c.abs += math.Abs(num[i])
	}
	return c, nil
}

func (c ratioClusters) size() int     { return len(c.sums) }
func (ratioClusters) missing() string { return "denominator" }
func (c ratioClusters) all() float64  { return c.num / c.den }

func (c ratioClusters) scale() float64 {
	if c.den == 0 {
		return 0
	}
	return c.abs / c.den
}

func (c ratioClusters) without(i int) float64 {
	return (c.num - c.sums[i][0]) / (c.den - c.sums[i][1])
}

func (c ratioClusters) over(indices []int) float64 {
	var num, den float64
	for _, i := range indices {
		num += c.sums[i][0]
		den += c.sums[i][1]
	}
	return num / den
}

func (c ratioClusters) draw(g counter) float64 {
	var num, den float64
	sums := c.sums
	for i := range g.below(len(sums)) {
		x := &sums[i]
		num += x[0]
		den += x[1]
	}
	return num / den
}

// below draws n numbers below n: two a word, each without bias (Lemire 2019).
func (c counter) below(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		g := c
		least := -uint32(n) % uint32(n)
		for k := 0; k < n; {
			word := g.next()
			for _, half := range [2]uint64{word >> 32, word & math.MaxUint32} {
				m := half * uint64(n)
				if uint32(m) < least || k == n {
					continue
				}
				if !yield(int(m >> 32)) {
					return
				}
				k++
			}
		}
	}
}

// pairedClusters are two ratios over the same clusters.
type pairedClusters struct{ a, b ratioClusters }

func (c pairedClusters) size() int             { return c.a.size() }
func (pairedClusters) missing() string         { return "denominator" }
func (c pairedClusters) scale() float64        { return c.a.scale() + c.b.scale() }
func (c pairedClusters) all() float64          { return c.a.all() - c.b.all() }
func (c pairedClusters) without(i int) float64 { return c.a.without(i) - c.b.without(i) }

// draw takes the same clusters for both: the streams are the same.
func (c pairedClusters) draw(g counter) float64 { return c.a.draw(g) - c.b.draw(g) }

// anyClusters are known by their numbers alone.
type anyClusters struct {
	n         int
	statistic func(drawn []int) float64
}

func (c anyClusters) size() int { return c.n }

func (anyClusters) missing() string { return "value" }

func (c anyClusters) scale() float64 { return math.Abs(c.all()) }

func (c anyClusters) all() float64 { return c.without(-1) }

func (c anyClusters) without(left int) float64 {
	drawn := make([]int, 0, c.n)
	for i := range c.n {
		if i != left {
			drawn = append(drawn, i)
		}
	}
	return c.statistic(drawn)
}

func (c anyClusters) draw(g counter) float64 {
	drawn := make([]int, 0, c.n)
	for i := range g.below(c.n) {
		drawn = append(drawn, i)
	}
	return c.statistic(drawn)
}

func bootstrap(c resampler, o BootstrapOptions) (Bootstrap, error) {
	if err := checkLevel(o.Level); err != nil {
		return Bootstrap{}, err
	}
	if o.Resamples < 1 {
		return Bootstrap{}, errors.New("stats: a bootstrap needs at least one resample")
	}
	replicates := make([]float64, o.Resamples)
	inParallel(o.Resamples, min(o.Workers, o.Resamples), func(_, k int) { replicates[k] = c.draw(stream(o.Seed, uint64(k))) })
	return conclude(c, replicates, o.Level), nil
}

// conclude makes intervals of replicates. Resamples without a value, such as a ratio of nothing to
// nothing, are left out and counted. An infinite value is one.
func conclude(c resampler, replicates []float64, level float64) Bootstrap {
	nan := math.NaN()
	b := Bootstrap{Clusters: c.size(), Resamples: len(replicates), Estimate: c.all(), Replicates: replicates, level: level, Mean: nan, SD: nan,
		Z0: nan, Acceleration: nan, Alphas: [2]float64{nan, nan}, JackknifeSE: nan,
		Percentile: undefinedInterval(level), Basic: undefinedInterval(level), BCa: undefinedInterval(level)}
	without := math.IsNaN(b.Estimate) || math.IsInf(b.Estimate, 0)
	most := c.scale() * float64(c.size())
	switch {
	case without && c.missing() != "denominator": // whose scale is the estimate
		b.Undefined = "the estimate has no " + c.missing()
	case math.IsNaN(most) || math.IsInf(most*most, 0):
		b.Undefined = tooLarge
	case without:
		b.Undefined = "no opportunity: the denominator is 0"
	}
	if b.Undefined != "" {
		b.Estimate = nan
		return b
	}
	if b.Clusters < 2 {
		b.Undefined = "fewer than two clusters"
		return b
	}
	infinite := 0
	kept := slices.DeleteFunc(slices.Clone(replicates), func(x float64) bool {
		if math.IsInf(x, 0) {
			infinite++
		}
		return math.IsNaN(x)
	})
	if lost := len(replicates) - len(kept); lost > 0 {
		b.Warnings = append(b.Warnings, fmt.Sprintf("%d of %d resamples had no %s and are excluded", lost, len(replicates), c.missing()))
	}
	if len(kept) == 0 {
		b.Undefined = "no resample had a " + c.missing()
		return b
	}
	if float64(infinite) > (1-level)/2*float64(len(kept)) {
		b.Undefined = fmt.Sprintf("%d of %d resamples have nothing to divide by, so there is no interval", infinite, len(replicates))
		return b
	}
	b.Warnings = append(b.Warnings, fewClusters(b.Clusters)...)
	slices.Sort(kept)
	b.intervals(c, kept)
	return b
}

func (b *Bootstrap) intervals(c resampler, sorted []float64) {
	b.sorted = sorted
	tail := (1 - b.level) / 2
	finite := slices.DeleteFunc(slices.Clone(sorted), func(x float64) bool { return math.IsInf(x, 0) })
	b.Mean = mean(finite)
	if len(finite) > 1 {
		b.SD = math.Sqrt(sumSquares(finite, b.Mean) / float64(len(finite)-1))
	}
	low, high := quantile7(sorted, tail), quantile7(sorted, 1-tail)
	b.Percentile = Interval{low, high, b.level}
	b.Basic = Interval{2*b.Estimate - high, 2*b.Estimate - low, b.level}
	if spread := sorted[len(sorted)-1] - sorted[0]; spread <= 1e-12*c.scale() {
		b.Degenerate = true
		if len(sorted) > 1 {
			b.SD = 0
		}
		b.Warnings = append(b.Warnings, "all resamples have the same value: no BCa interval")
		return
	}
	b.jackknife(c)
	b.bca(sorted, tail, 1e-12*c.scale())
}

// quantile7 is the linear interpolation that R and NumPy use by default.
func quantile7(sorted []float64, p float64) float64 {
	h := p * float64(len(sorted)-1)
	lo := int(math.Floor(h))
	if lo >= len(sorted)-1 {
		return sorted[len(sorted)-1]
	}
	if h == float64(lo) || sorted[lo] == sorted[lo+1] { // they may be infinite
		return sorted[lo]
	}
	return sorted[lo] + (h-float64(lo))*(sorted[lo+1]-sorted[lo])
}

func (b *Bootstrap) jackknife(c resampler) {
	n := c.size()
	values := make([]float64, n)
	for i := range n {
		values[i] = c.without(i)
		if math.IsNaN(values[i]) || math.IsInf(values[i], 0) {
			return // one cluster has the whole denominator
		}
	}
	b.jack = values
	m := mean(values)
	ss := sumSquares(values, m)
	b.JackknifeSE = math.Sqrt(float64(n-1) / float64(n) * ss)
	b.Acceleration = acceleration(values, m)
}

// acceleration is Σ(c − θᵢ)³ / (6 (Σ(c − θᵢ)²)^(3/2)).
func acceleration(jack []float64, centre float64) float64 {
	var squares, cubes float64
	for _, x := range jack {
		d := centre - x
		squares += d * d
		cubes += d * d * d
	}
	if squares == 0 {
		return math.NaN()
	}
	return cubes / (6 * math.Pow(squares, 1.5))
}

// bca takes replicates as ties that are within rounding of the estimate: the
// same clusters added up in another order.
func (b *Bootstrap) bca(sorted []float64, tail, rounding float64) {
	below, _ := slices.BinarySearch(sorted, b.Estimate-rounding)
	upTo := below
	for upTo < len(sorted) && sorted[upTo] <= b.Estimate+rounding {
		upTo++
	}
	d := dist.Normal{Mean: 0, SD: 1}
	b.Z0 = d.Quantile(float64(below+upTo) / float64(2*len(sorted)))
	if math.IsInf(b.Z0, 0) || math.IsNaN(b.Acceleration) {
		reason := "all resamples lie on one side of the estimate"
		if math.IsNaN(b.Acceleration) {
			reason = "the jackknife is constant or undefined"
		}
		b.Z0 = math.NaN()
		b.BCa = b.Percentile
		b.Warnings = append(b.Warnings, reason+": the percentile interval replaces BCa")
		return
	}
	for k, p := range [2]float64{tail, 1 - tail} {
		b.Alphas[k] = adjusted(b.Z0, b.Acceleration, p)
	}
	b.BCa = Interval{quantile7(sorted, b.Alphas[0]), quantile7(sorted, b.Alphas[1]), b.level}
}

// adjusted is the quantile that BCa takes for p. From where the acceleration turns its sign it
// stays at 0 or 1, its limit there.
func adjusted(z0, acceleration, p float64) float64 {
	d := dist.Normal{Mean: 0, SD: 1}
	z := z0 + d.Quantile(p)
	return d.CDF(z0 + z/math.Max(0, 1-acceleration*z))
}

// BCaAt is the BCa interval at another level, or the percentile interval where that
// replaces it.
func (b *Bootstrap) BCaAt(level float64) Interval {
	if b.Undefined != "" || b.Degenerate || checkLevel(level) != nil {
		return undefinedInterval(level)
	}
	low, high := (1-level)/2, (1+level)/2
	if !math.IsNaN(b.Z0) {
		low, high = adjusted(b.Z0, b.Acceleration, low), adjusted(b.Z0, b.Acceleration, high)
	}
	return Interval{quantile7(b.sorted, low), quantile7(b.sorted, high), level}
}

// StudentT is the interval of the replicates' standard deviation, which is taken
// times √(k/(k − 1)), with the t quantile on k − 1 degrees of freedom. With fewer
// than about 50 clusters it covers better than BCa.
func (b *Bootstrap) StudentT(level float64) Interval {
	if b.Undefined != "" || b.Degenerate || checkLevel(level) != nil {
		return undefinedInterval(level)
	}
	k := float64(b.Clusters)
	return around(b.Estimate, tQuantile((1-level)/2, k-1)*b.SD*math.Sqrt(k/(k-1)), level)
}

// BootCI returns the interval of R's boot::boot.ci for the same replicates: it has
// other quantiles, another z₀ and another centre of the jackknife. It is undefined
// if Bootstrap.BCa is undefined or replaced by the percentile interval.
type BootCI struct {
	Normal       Interval `json:"normal_bias_corrected"`
	Basic        Interval `json:"basic"`
	Percentile   Interval `json:"percentile"`
	BCa          Interval `json:"bca"`
	Acceleration float64  `json:"bca_acceleration"`
	Z0           float64  `json:"bca_z0"`
}

// BootCI gives the intervals of boot::boot.ci (Davison & Hinkley 1997):
// quantiles interpolate order statistics (R + 1)α on the normal scale, z₀
// counts replicates below the estimate, influence values are centred at the
// estimate.
func (b *Bootstrap) BootCI() BootCI {
	u := undefinedInterval(b.level)
	r := BootCI{u, u, u, u, math.NaN(), math.NaN()}
	if b.Undefined != "" || b.Degenerate || b.jack == nil {
		return r
	}
	sorted := b.sorted
	tail := (1 - b.level) / 2
	r.Normal = zInterval(2*b.Estimate-b.Mean, b.SD, b.level)
	low, high := orderStatistic(sorted, tail), orderStatistic(sorted, 1-tail)
	r.Percentile = Interval{low, high, b.level}
	r.Basic = Interval{2*b.Estimate - high, 2*b.Estimate - low, b.level}
	below, _ := slices.BinarySearch(sorted, b.Estimate)
	r.Z0 = dist.Normal{Mean: 0, SD: 1}.Quantile(float64(below) / float64(len(sorted)))
	r.Acceleration = acceleration(b.jack, b.Estimate)
	if math.IsInf(r.Z0, 0) || math.IsNaN(r.Acceleration) {
		r.Z0 = math.NaN()
		return r
	}
	r.BCa = Interval{orderStatistic(sorted, adjusted(r.Z0, r.Acceleration, tail)), orderStatistic(sorted, adjusted(r.Z0, r.Acceleration, 1-tail)), b.level}
	return r
}

func orderStatistic(sorted []float64, p float64) float64 {
	n := len(sorted)
	rank := float64(n+1) * p
	k := int(math.Floor(rank + 1e-10))
	switch {
	case k < 1:
		return sorted[0]
	case k >= n:
		return sorted[n-1]
	case math.Abs(rank-float64(k)) < 1e-10:
		return sorted[k-1]
	}
	d := dist.Normal{Mean: 0, SD: 1}
	from, to := d.Quantile(float64(k)/float64(n+1)), d.Quantile(float64(k+1)/float64(n+1))
	return sorted[k-1] + (d.Quantile(p)-from)/(to-from)*(sorted[k]-sorted[k-1])
}
