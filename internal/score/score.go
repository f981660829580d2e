// Package score turns stored outcomes and verdicts into fractions. It is pure
// arithmetic over what a run has kept: no model, clock or store is in reach,
// so it can be repeated at any time for nothing.
package score

import (
	"iter"
	"runtime"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
)

// batch is how many trials a worker takes at a time: enough that handing them
// over costs nothing, few enough that memory stays flat.
const batch = 32

// All scores trials on all cores and gives them in the order they came. Trials
// that failed pass through without scores.
func All(s eval.Scorer, judged iter.Seq2[eval.Judged, error]) iter.Seq2[eval.Scored, error] {
	return func(yield func(eval.Scored, error) bool) {
		workers := runtime.GOMAXPROCS(0)
		todo := make(chan *work)
		inOrder := make(chan *work, workers)
		quit := make(chan struct{})
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for w := range todo {
					w.scored = make([]eval.Scored, len(w.in))
					for i, j := range w.in {
						w.scored[i] = one(s, j)
					}
					close(w.done)
				}
			})
		}
		wg.Go(func() {
			defer close(inOrder)
			defer close(todo)
			deal(judged, func(w *work) bool {
				select {
				case inOrder <- w:
				case <-quit:
					return false
				}
				select {
				case todo <- w:
					return true
				case <-quit:
					return false
				}
			})
		})
		defer wg.Wait()
		defer close(quit)
		for w := range inOrder {
			if w.err != nil {
				yield(eval.Scored{}, w.err)
				return
			}
			<-w.done
			for _, r := range w.scored {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

type work struct {
	in     []eval.Judged
	scored []eval.Scored
	done   chan struct{}
	err    error
}

// deal cuts the sequence into batches and hands them out until take refuses.
func deal(judged iter.Seq2[eval.Judged, error], take func(*work) bool) {
	w := &work{done: make(chan struct{})}
	for j, err := range judged {
		if err != nil {
			if len(w.in) == 0 || take(w) {
				take(&work{err: err, done: make(chan struct{})})
			}
			return
		}
		if w.in = append(w.in, j); len(w.in) == batch {
			if !take(w) {
				return
			}
			w = &work{done: make(chan struct{})}
		}
	}
	if len(w.in) > 0 {
		take(w)
	}
}

func one(s eval.Scorer, j eval.Judged) eval.Scored {
	r := eval.Scored{Trial: j.Trial, Outcome: j.Outcome}
	if j.Outcome.Kind != eval.Failed {
		r.Scores = s.Score(j.Trial, j.Outcome, j.Verdicts)
	}
	return r
}
