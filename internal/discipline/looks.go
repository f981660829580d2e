package discipline

import (
	"slices"

	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
)

// UntilLook limits a TEST run that plans several looks to the items up to the next one: the
// first look that has the first pending item.
func (s *Subject) UntilLook(part Part, p *store.Progress) Part {
	if s.Study.Split != study.SplitTest || !part.Whole() {
		return part
	}
	for seq := range p.Trials {
		if p.Done.Has(seq) && (!s.judged() || p.Judged.Has(seq) || p.Failed.Has(seq)) {
			continue
		}
		for _, n := range s.looks() {
			if n > s.place(seq) {
				part.Limit = n
				return part
			}
		}
		return part
	}
	return part
}

// looks lists the numbers of items at which a run is looked at before its end.
func (s *Subject) looks() (at []int) {
	looks, items := s.Study.Statistics.Looks, len(s.Items)
	for k := 1; k < looks; k++ {
		at = append(at, (k*items+looks-1)/looks)
	}
	return at
}

// place is that of a trial's item in the plan, from 0.
func (s *Subject) place(seq int) int { return seq / (len(s.Arms) * s.Plan.Replicates()) }

// atLook reports whether an unfinished TEST run has the items up to a planned look and no
// others.
func (s *Subject) atLook(p *store.Progress) bool {
	done := p.Done.Count()
	if done == 0 || s.judged() && p.ToJudge() > 0 {
		return false
	}
	begun := 0
	for seq := range p.Trials {
		if p.Done.Has(seq) {
			begun = s.place(seq) + 1
		}
	}
	return slices.Contains(s.looks(), begun) && done == begun*(p.Trials/max(1, len(s.Items)))
}
