package analyse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/stats"
	"github.com/scruple-eval/scruple/stats/dist"
)

// Looks are the times at which results of a study were shown while data could still be
// added: each is a chance of a false pass. They are nil for the first look at the first run.
type Looks struct {
	// Seen counts the looks at the run, this one included, and Runs the runs of the study
	// whose results had been shown before.
	Seen int `json:"seen"`
	Runs int `json:"runs,omitempty"`
	// Level is the chance of a false pass of one look, one-sided, and Chance that over all
	// looks and runs, if none was planned.
	Level  Number `json:"level"`
	Chance Number `json:"chance"`
	// Planned is how many looks the study plans, 0 for none. Then Share is that of the data
	// at this look, and the level of the study is what this look may spend of Alpha.
	Planned int    `json:"planned,omitempty"`
	Share   Number `json:"share,omitempty"`
	Alpha   Number `json:"alpha,omitempty"`
	// Spent reports that an earlier look, at all of a smaller plan, left nothing of Alpha.
	Spent bool `json:"spent,omitempty"`
}

// nothingLeft is the level of a look for which nothing is left.
const nothingLeft = 1e-9

// LooksAt describes looks at numbers of answers, in their order and the last of them this
// one, of all that the run plans: the least that it planned at any of them, as what a look at all
// of that has spent does not come back when a plan grows. It returns the level for the intervals of this look.
func LooksAt(answers []int, all, runs, planned int, alpha float64) (*Looks, float64, error) {
	l := &Looks{Runs: runs, Level: Number(alpha / 2), Planned: planned}
	var info []float64
	for _, n := range answers {
		if len(info) == 0 || float64(n) > info[len(info)-1] { // another look at as many answers is none
			info = append(info, float64(n))
		}
	}
	if len(info) == 0 || planned == 0 && len(info) < 2 && runs == 0 {
		return nil, alpha, nil
	}
	l.Seen = len(info)
	of := info[len(info)-1]
	if planned > 0 {
		of = float64(all)
		if full := slices.IndexFunc(info, func(n float64) bool { return n >= of }); full >= 0 {
			l.Spent = full < len(info)-1
			info = info[:full+1]
			info[full] = of
		}
	}
	z := make([]float64, len(info))
	normal := dist.Normal{SD: 1}
	for i := range info {
		info[i] /= of
		z[i] = normal.Quantile(1 - alpha/2)
	}
	this := alpha
	if last := len(info) - 1; planned > 0 {
		var err error
		if z, err = stats.SpendingBounds(info, alpha/2); err != nil {
			return nil, 0, err
		}
		l.Share, l.Alpha = Number(info[last]), Number(alpha)
		switch {
		case l.Spent:
			this = nothingLeft
		case last > 0 || info[last] < 1:
			this = min(alpha, 2*normal.CDF(-z[last]))
		}
	}
	chance, err := stats.FalseCrossing(info, z)
	if err != nil {
		return nil, 0, err
	}
	if planned > 0 {
		chance = alpha / 2 // what is not spent yet is planned
	}
	kept := 1.0
	for range runs + 1 {
		kept *= 1 - chance
	}
	l.Chance = Number(1 - kept)
	return l, this, nil
}

// PAtLook is a p-value as a rule reads it: at a planned look it grows as the level shrinks, so
// that all looks together keep the level of the study.
func (a *Analysis) PAtLook(p Number) Number {
	if l := a.Run.Looks; l != nil && l.Planned > 0 {
		return min(1, p*l.Alpha/Number(a.Study.Alpha))
	}
	return p
}

// String says what was looked at and what it costs; "" for nothing.
func (l *Looks) String() string {
	if l == nil {
		return ""
	}
	var parts []string
	switch {
	case l.Spent:
		parts = append(parts, fmt.Sprintf("look %d: an earlier one, at all that was planned then, left nothing of a level of %.3g, so intervals and p-values have one of %g and decide almost nothing, also of arms that were added: `scruple run --new` begins a run with a level of its own", l.Seen, float64(l.Alpha), nothingLeft))
	case l.Planned > 0:
		parts = append(parts, fmt.Sprintf("look %d of %d planned, at %.0f %% of the data: intervals are wider and p-values in rules larger, so that all looks together keep a level of %.3g", l.Seen, l.Planned, 100*l.Share, float64(l.Alpha)))
	case l.Seen > 1:
		parts = append(parts, fmt.Sprintf("looked at %d times while answers were added", l.Seen))
	}
	if l.Runs > 0 {
		parts = append(parts, fmt.Sprintf("results of %s of the study had been shown before", text.Plural(l.Runs, "other run", "other runs")))
	}
	s := strings.Join(parts, ", and ")
	if l.Planned == 0 || l.Runs > 0 {
		s += fmt.Sprintf(": the chance of a false pass is about %.2g %%, not %.3g %%", 100*l.Chance, 100*l.Level)
	}
	return s
}

// atLook sets whether the run is at a planned look: each item has all of its trials or none, and those
// that have are the first ones of the random order of the plan.
func (c *Collector) atLook(r *Run) {
	if r.Looks == nil || r.Looks.Planned == 0 || r.Done == r.Planned || r.Unjudged > 0 {
		return
	}
	done := make([]int, len(c.items))
	for i := range c.arms {
		c.each(c.arms[i].trials(), func(item int, trials cell) { done[item] += int(trials.den) })
	}
	all, ended := r.Replicates*len(c.arms), false
	for position := range done {
		n := done[c.order.At(position)]
		if n != 0 && n != all {
			return
		}
		r.Picked = r.Picked || ended && n > 0
		ended = ended || n == 0
	}
	r.AtLook = !r.Picked
}
