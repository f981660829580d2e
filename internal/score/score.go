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
// that failed pass through without scores. What is given is good until the
// next is asked for: space is used again.
func All(s eval.Scorer, judged iter.Seq2[eval.Judged, error]) iter.Seq2[eval.Scored, error] {
	return func(yield func(eval.Scored, error) bool) {
		workers := runtime.GOMAXPROCS(0)
		p := pool{todo: make(chan *work), inOrder: make(chan *work, workers), free: make(chan *work, 2*workers+2), quit: make(chan struct{})}
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for w := range p.todo {
					w.score(s)
					w.done <- struct{}{}
				}
			})
		}
		wg.Go(func() { p.deal(judged) })
		defer wg.Wait()
		defer close(p.quit)
		for w := range p.inOrder {
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
			select {
			case p.free <- w:
			default:
			}
		}
	}
}

// work is a batch on its way from the dealer through a worker to the reader.
type work struct {
	in     []eval.Judged
	scores []eval.Score // of the whole batch
	scored []eval.Scored
	done   chan struct{}
	err    error
}

func (w *work) score(s eval.Scorer) {
	w.scores, w.scored = w.scores[:0], w.scored[:0]
	for _, j := range w.in {
		begin := len(w.scores)
		if j.Outcome.Kind != eval.Failed {
			w.scores = s.AppendScores(w.scores, j.Trial, j.Outcome, j.Verdicts)
		}
		// The end is fixed afterwards: appending may yet move what came before.
		w.scored = append(w.scored, eval.Scored{Trial: j.Trial, Outcome: j.Outcome, Scores: w.scores[begin:]})
	}
	at := 0
	for i := range w.scored {
		if n := len(w.scored[i].Scores); n > 0 {
			w.scored[i].Scores = w.scores[at : at+n : at+n]
			at += n
		} else {
			w.scored[i].Scores = nil
		}
	}
}

// A pool hands batches round.
type pool struct {
	todo    chan *work // to a worker
	inOrder chan *work // to the reader
	free    chan *work // back to the dealer
	quit    chan struct{}
}

// deal cuts the sequence into batches and hands them out until the reader has
// gone.
func (p *pool) deal(judged iter.Seq2[eval.Judged, error]) {
	defer close(p.inOrder)
	defer close(p.todo)
	w := p.empty()
	for j, err := range judged {
		if err != nil {
			if len(w.in) == 0 || p.hand(w) {
				p.give(&work{err: err})
			}
			return
		}
		if w.in = append(w.in, j); len(w.in) == batch {
			if !p.hand(w) {
				return
			}
			w = p.empty()
		}
	}
	if len(w.in) > 0 {
		p.hand(w)
	}
}

func (p *pool) empty() *work {
	select {
	case w := <-p.free:
		w.in = w.in[:0]
		return w
	default:
		return &work{done: make(chan struct{}, 1)}
	}
}

// hand gives a batch to the reader, to keep the order, and to a worker.
func (p *pool) hand(w *work) bool {
	if !p.give(w) {
		return false
	}
	select {
	case p.todo <- w:
		return true
	case <-p.quit:
		return false
	}
}

func (p *pool) give(w *work) bool {
	select {
	case p.inOrder <- w:
		return true
	case <-p.quit:
		return false
	}
}
