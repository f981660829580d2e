package annotate

import (
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

// A Placed is a verdict of a person with its trial. A trial without an arm is an item.
type Placed struct {
	Trial eval.Trial
	eval.Verdict
}

// Verdicts turns the answers to a task into verdicts: step is the task, and round is
// 1, 2 for the second round, or 3 for the verdict on answers that differ. Answers to
// what the study no longer shows, and decisions on them, are left out and counted.
func (p Place) Verdicts(t study.Task, source Source) (list []Placed, stale int, err error) {
	t = t.Full()
	q, err := p.readQueue(t)
	if err != nil || q == nil {
		return nil, 0, err
	}
	everyone, err := p.Everyone(t.Name)
	if err != nil {
		return nil, 0, err
	}
	fresh := newFreshness(t, source)
	for _, w := range everyone {
		for _, k := range w.order {
			g := w.given[k]
			if g.Final == nil {
				continue
			}
			if !fresh.has(g.Final) {
				stale++
				continue
			}
			list = append(list, placed(t, w.Person, g))
		}
	}
	return list, stale, nil
}

func placed(t study.Task, person string, g *Given) Placed {
	s := g.Subject
	trial := s.trial()
	unit := s.Unit
	if s.Other != "" { // of two arms, so it concerns the item
		trial, unit = eval.Trial{Item: s.Item}, s.Arm+" or "+s.Other
	}
	return Placed{trial, eval.Verdict{Unit: unit, Step: t.Name, Source: eval.ByHuman, By: person, Round: g.Pass,
		At: g.FinalAt.UTC().Format(time.RFC3339), Data: g.Final.judgement(t)}}
}
