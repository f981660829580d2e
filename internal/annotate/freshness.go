package annotate

import "github.com/scruple-eval/scruple/internal/study"

// freshness tells whether what a person judged is what the study still shows. Texts can
// be corrected and answers asked anew after people judged them.
type freshness struct {
	task   study.Task
	source Source
	hashes map[Subject][2]string // with either arm of a pair as A; "" cannot be shown
}

func newFreshness(t study.Task, source Source) *freshness {
	return &freshness{t, source, map[Subject][2]string{}}
}

// has reports whether an answer or a decision concerns what the study shows.
func (f *freshness) has(e *Event) bool {
	s := *e.Subject
	of, known := f.hashes[s]
	if !known {
		for i, swapped := range []bool{false, true} {
			if shown, err := show(f.task, f.source, s, swapped); err == nil {
				of[i] = shown.Hash()
			}
		}
		f.hashes[s] = of
	}
	judged := e.Shown
	if e.Pass == passAdjudicate {
		judged = e.Base
	}
	if e.Swapped {
		return judged != "" && judged == of[1]
	}
	return judged != "" && judged == of[0]
}

// stale reports whether an answer to the subject, or the decision on it, concerns
// something else than the study shows.
func (c *Coding) stale(f *freshness) bool {
	for _, g := range c.First {
		if !f.has(g.Final) {
			return true
		}
	}
	return c.Final != nil && !f.has(c.Final)
}
