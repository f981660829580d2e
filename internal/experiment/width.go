package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/stats"
	"github.com/scruple-eval/scruple/stats/dist"
)

// Widths say what the interval of a mean of items takes to be no wider than wanted, by what a
// run shows of the variance between items and between replicates of an item.
type Widths struct {
	Run        string  `json:"run"`
	Metric     string  `json:"metric"`
	Wanted     float64 `json:"wanted"`
	Items      int     `json:"items"`
	Replicates int     `json:"replicates"`
	Of         []Width `json:"of"`
}

// A Width is that of an arm, or of the difference of two.
type Width struct {
	Of  string  `json:"of"`
	Now float64 `json:"now"` // by the cluster-robust t, with the items and replicates of the run
	// Replicates are those that it takes with these items; 0 if no number of them is enough,
	// and Least is then the width that many would come near to. Items are those that it takes
	// with these replicates.
	Replicates int     `json:"replicates"`
	Least      float64 `json:"least"`
	NeedsItems int     `json:"needs_items"`
}

// A spreading is how the mean of an arm or of a difference spreads.
type spreading struct {
	of        string
	means     map[string]float64 // of the replicates of each item
	replicate float64            // variance of the mean of all items that comes from replicates
}

// Widths plans the width of the intervals of the first primary metric, from the scores of the
// newest run of the study that may be shown.
func (x *Experiment) Widths(ctx context.Context, db *store.DB, wanted float64) (*Widths, error) {
	metric, _ := x.Suite.Metric(x.Primary[0])
	if metric.Pooling != eval.MeanOfItems {
		return nil, fmt.Errorf("--width: %s is no mean of items, so replicates do not have a part of its own in its interval", metric.Name)
	}
	if !(wanted > 0) {
		return nil, fmt.Errorf("--width %v: want a number above 0, such as 0.1 for an interval from 0.75 to 0.85", wanted)
	}
	const remedy = "--width needs a run of the study with two replicates or more, such as one of few items: `scruple run` first"
	if db == nil {
		return nil, errors.New(remedy)
	}
	run, err := db.LastRun(ctx, x.Study.Name, x.Study.Split)
	if errors.Is(err, store.ErrNotFound) {
		return nil, errors.New(remedy)
	}
	if err == nil {
		err = CheckShown(ctx, db, run)
	}
	if err != nil {
		return nil, err
	}
	arms, err := x.spreadings(ctx, db, run, metric.Name)
	if err != nil {
		return nil, err
	}
	w := &Widths{Run: run.ID, Metric: cmp.Or(metric.Title, metric.Name), Wanted: wanted, Replicates: run.Replicates}
	var of []spreading
	for _, id := range x.contestants() {
		if s, ok := arms[id]; ok {
			of = append(of, s)
		}
	}
	for _, p := range x.Pairs {
		a, okA := arms[p.A]
		b, okB := arms[p.B]
		if okA && okB && p.Primary {
			of = append(of, a.minus(b))
		}
	}
	for _, s := range of {
		width, items, err := x.width(s, run.Replicates, wanted)
		if err != nil {
			return nil, err
		}
		if w.Items = max(w.Items, items); items > 0 {
			w.Of = append(w.Of, width)
		}
	}
	if run.Replicates < 2 || len(w.Of) == 0 {
		return nil, fmt.Errorf("run %s has %d replicate: %s", run.ID, run.Replicates, remedy)
	}
	return w, nil
}

// spreadings reads the scores of a metric by arm.
func (x *Experiment) spreadings(ctx context.Context, db *store.DB, run *store.Run, metric string) (map[string]spreading, error) {
	sums, err := itemScores(ctx, db, run, metric)
	if err != nil {
		return nil, err
	}
	arms := map[string]spreading{}
	for arm, items := range sums {
		s := spreading{of: arm, means: map[string]float64{}}
		within, of := 0.0, 0.0
		for _, it := range x.Items() { // in their order: sums are the same on every machine
			list := items.replicates(it.ID)
			if len(list) == 0 {
				continue
			}
			mean := 0.0
			for _, v := range list {
				mean += v / float64(len(list))
			}
			s.means[it.ID] = mean
			for _, v := range list {
				within += (v - mean) * (v - mean)
			}
			of += float64(len(list) - 1)
		}
		if of > 0 {
			s.replicate = within / of / float64(run.Replicates) / float64(len(s.means))
		}
		arms[arm] = s
	}
	return arms, nil
}

// replicates are the scores of those of an item, in their order.
func (s itemSums) replicates(item string) (list []float64) {
	for _, replicate := range slices.Sorted(maps.Keys(s[item])) {
		if sum := s[item][replicate]; replicate > 0 && sum.Den > 0 {
			list = append(list, sum.Num/sum.Den)
		}
	}
	return list
}

func (s spreading) minus(o spreading) spreading {
	d := spreading{of: s.of + " − " + o.of, means: map[string]float64{}, replicate: s.replicate + o.replicate}
	for item, mean := range s.means {
		if other, ok := o.means[item]; ok {
			d.means[item] = mean - other
		}
	}
	return d
}

// width plans a width. The variance of a mean is that between clusters, of which a part
// goes with the number of replicates: v = rest + replicate·now/r.
func (x *Experiment) width(s spreading, replicates int, wanted float64) (w Width, items int, err error) {
	var values []float64
	var clusters []string
	for _, it := range x.Items() {
		if v, ok := s.means[it.ID]; ok {
			values, clusters = append(values, v), append(clusters, it.ClusterID())
		}
	}
	if len(values) < 2 {
		return w, 0, nil
	}
	ones := slices.Repeat([]float64{1}, len(values))
	nums, dens, err := stats.SumByCluster(values, ones, clusters)
	if err != nil {
		return w, 0, err
	}
	alpha := x.Study.Statistics.Alpha
	e, err := stats.RatioOfSums(nums, dens, 1-alpha)
	if err != nil || len(nums) < 2 {
		return w, 0, err
	}
	t := dist.StudentT{DF: float64(len(nums) - 1)}.UpperQuantile(alpha / 2)
	v := e.SE * e.SE
	rest := math.Max(0, v-s.replicate)
	most := math.Pow(wanted/2/t, 2) // variance of the width that is wanted
	w = Width{Of: s.of, Now: 2 * t * e.SE, Least: 2 * t * math.Sqrt(rest), NeedsItems: int(math.Ceil(float64(len(values)) * v / most))}
	if most > rest {
		w.Replicates = max(1, int(math.Ceil(s.replicate*float64(replicates)/(most-rest)-1e-9)))
	}
	return w, len(values), nil
}
