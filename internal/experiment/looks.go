package experiment

import (
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
)

// untilLook limits a TEST run that plans several looks to the items up to the next one.
func (r *Run) untilLook(part Part, p *store.Progress) Part {
	looks, items := r.Study.Statistics.Looks, len(r.Items())
	if r.Study.Split != study.SplitTest || looks < 2 || !part.Whole() {
		return part
	}
	position, last := 0, ""
	for seq := range p.Trials {
		if t := r.Plan.Trial(seq); t.Item != last {
			position, last = position+1, t.Item
		}
		if p.Done.Has(seq) && (!r.HasJudge() || p.Judged.Has(seq) || p.Failed.Has(seq)) {
			continue
		}
		for k := 1; k < looks; k++ { // the first look with the first pending item
			if n := (k*items + looks - 1) / looks; n >= position {
				part.Limit = n
				return part
			}
		}
		return part
	}
	return part
}

// atLook reports whether an unfinished TEST run has the items up to a planned look and no
// others.
func (r *Run) atLook(p *store.Progress) bool {
	looks, items := r.Study.Statistics.Looks, len(r.Items())
	if looks < 2 || p.Done.Count() == 0 || r.HasJudge() && p.ToJudge() > 0 {
		return false
	}
	position, last, begun := 0, "", 0
	for seq := range p.Trials {
		if t := r.Plan.Trial(seq); t.Item != last {
			position, last = position+1, t.Item
		}
		if p.Done.Has(seq) {
			begun = position
		}
	}
	for k := 1; k < looks; k++ {
		if n := (k*items + looks - 1) / looks; n == begun {
			return p.Done.Count() == n*(p.Trials/max(1, items))
		}
	}
	return false
}
