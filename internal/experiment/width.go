package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/stats"
)

// Widths say how many replicates it takes until intervals of a mean of items are no wider than
// wanted, by those of reports, and by what a run shows of the variance between items and between
// replicates of an item.
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
	Of  string      `json:"of"`
	Now eval.Number `json:"now"` // with the items and replicates of the run; undefined without an interval
	// Replicates are those that it takes with these items, if the width goes with the standard
	// error; 0 if no number of them is enough, and Least is then the width that many would come
	// near to. Both are 0 if the run has no interval, or no spread between items (NoSpread).
	Replicates int     `json:"replicates"`
	Least      float64 `json:"least"`
	NoSpread   bool    `json:"no_spread,omitempty"`
}

// A spreading is how the mean of an arm or of a difference spreads.
type spreading struct {
	arm, other string             // "" is no other
	means      map[string]float64 // of the replicates of each item
	replicate  float64            // variance of the mean of all items that comes from replicates
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
	run, err := x.Find(ctx, db, "")
	switch {
	case err == nil && run == nil:
		return nil, errors.New(remedy)
	case err == nil:
		err = CheckShown(ctx, db, run)
	}
	if err != nil {
		return nil, err
	}
	sums, err := scoreSums(ctx, db, run, metric.Name)
	arms := x.spreadings(sums, run.Replicates)
	var of []spreading
	for _, id := range x.contestants() {
		if s := arms[id]; len(s.means) > 1 {
			of = append(of, s)
		}
	}
	for _, p := range x.Pairs {
		if d := arms[p.A].minus(arms[p.B]); p.Primary && len(d.means) > 1 {
			of = append(of, d)
		}
	}
	switch {
	case err != nil:
	case run.Replicates < 2:
		err = fmt.Errorf("run %s has one replicate: %s", run.ID, remedy)
	case len(of) == 0:
		err = fmt.Errorf("run %s has fewer than two items with scores of several replicates: --width needs two, so run more items", run.ID)
	}
	if err != nil {
		return nil, err
	}
	kept, err := Kept(ctx, db, run)
	w := &Widths{Run: run.ID, Metric: cmp.Or(metric.Title, metric.Name), Wanted: wanted, Replicates: run.Replicates}
	for i := 0; i < len(of) && err == nil; i++ {
		var width Width
		width, err = x.width(of[i], kept.Analysis, metric.Name, run.Replicates, wanted)
		w.Items, w.Of = max(w.Items, len(of[i].means)), append(w.Of, width)
	}
	return w, err
}

// spreadings are those of a metric by arm.
func (x *Experiment) spreadings(sums trialSums, replicates int) map[string]spreading {
	arms := map[string]spreading{}
	for _, arm := range x.ArmIDs() {
		s := spreading{arm: arm, means: map[string]float64{}}
		within, of := 0.0, 0.0
		for _, it := range x.Items() { // in their order: sums are the same on every machine
			mean, ok := sums.of(it.ID, arm)
			if !ok {
				continue
			}
			s.means[it.ID] = mean
			for replicate := 1; replicate <= replicates; replicate++ {
				if sum := sums[eval.Trial{Item: it.ID, Arm: arm, Replicate: replicate}]; sum.Den > 0 {
					v := sum.Num / sum.Den
					within, of = within+(v-mean)*(v-mean), of+1
				}
			}
			of--
		}
		if of > 0 {
			s.replicate = within / of / float64(replicates) / float64(len(s.means))
		}
		arms[arm] = s
	}
	return arms
}

func (s spreading) minus(o spreading) spreading {
	d := spreading{arm: s.arm, other: o.arm, means: map[string]float64{}, replicate: s.replicate + o.replicate}
	for item, mean := range s.means {
		if other, ok := o.means[item]; ok {
			d.means[item] = mean - other
		}
	}
	return d
}

// width plans a width. The variance of a mean is that between clusters, of which a part
// goes with the number of replicates: v = rest + replicate·now/r.
func (x *Experiment) width(s spreading, a *analyse.Analysis, metric string, replicates int, wanted float64) (Width, error) {
	var values []float64
	var clusters []string
	for _, it := range x.Items() {
		if v, ok := s.means[it.ID]; ok {
			values, clusters = append(values, v), append(clusters, it.ClusterID())
		}
	}
	w := Width{Of: s.arm, Now: eval.Number(math.NaN())}
	if s.other != "" {
		w.Of += " − " + s.other
	}
	nums, dens, err := stats.SumByCluster(values, slices.Repeat([]float64{1}, len(values)), clusters)
	if err != nil {
		return w, err
	}
	e, err := stats.RatioOfSums(nums, dens, 1-x.Study.Statistics.Alpha)
	if a.Run.Exploratory() { // DEV has no interval of differences; rules decide on TEST
		w.Now = eval.Number(e.CI.High - e.CI.Low)
	} else if kept, ok := a.Estimate(s.arm, metric); ok && s.other == "" {
		w.Now = kept.High - kept.Low
	} else if c, ok := a.Comparison(s.arm, s.other, metric); ok {
		w.Now = c.High - c.Low
	}
	if w.NoSpread = !(e.SE > 0); err != nil || w.NoSpread || !w.Now.Defined() {
		return w, err
	}
	part := math.Min(1, s.replicate/(e.SE*e.SE)) // of the variance
	w.Least = float64(w.Now) * math.Sqrt(1-part)
	if most := math.Pow(wanted/float64(w.Now), 2); most > 1-part {
		w.Replicates = max(1, int(math.Ceil(part*float64(replicates)/(most-1+part)-1e-9)))
	}
	return w, nil
}
