// Package score computes fractions from stored outcomes and verdicts. It is pure
// arithmetic without access to a model, clock or store, so it can be repeated at
// no cost.
package score

import (
	"iter"
	"runtime"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
)

// batchSize is the most cases scored at a time: large enough to make channel operations cheap.
// A batch also ends with the case that fills batchBytes, of which a trial takes trialBytes
// and its answer: both bound memory.
const (
	batchSize  = 32
	batchBytes = 1 << 20
	trialBytes = 500
)

// All scores cases on all cores and yields them in their order. Cases whose trials
// all failed have no scores. A yielded value is valid until the next iteration:
// its memory is reused.
func All(s eval.Scorer, cases iter.Seq2[eval.Case, error]) iter.Seq2[eval.Scored, error] {
	return func(yield func(eval.Scored, error) bool) {
		p := pipe{scorer: s, inOrder: make(chan *batch, runtime.GOMAXPROCS(0)), quit: make(chan struct{})}
		p.work.Go(func() { p.read(cases) })
		defer p.work.Wait()
		defer close(p.quit)
		for b := range p.inOrder {
			<-b.scoredAll
			for _, r := range b.scored {
				if !yield(r, nil) {
					return
				}
			}
			if b.err != nil {
				yield(eval.Scored{}, b.err)
				return
			}
			clear(b.in) // their answers may be long
			clear(b.scored)
			p.spare.Put(b)
		}
	}
}

// A batch is a group of cases. err is the error of the source after them.
type batch struct {
	in        []eval.Case
	scores    []eval.Score // of all cases
	scored    []eval.Scored
	scoredAll chan struct{}
	err       error
}

func (b *batch) score(s eval.Scorer) {
	b.scores, b.scored = b.scores[:0], b.scored[:0]
	var ends [batchSize]int // append may still move the slice
	for i, c := range b.in {
		if !c.Failed() {
			b.scores = s.Score(b.scores, c)
		}
		ends[i] = len(b.scores)
	}
	begin := 0
	for i, c := range b.in {
		r := eval.Scored{Case: c}
		if end := ends[i]; end > begin {
			r.Scores = b.scores[begin:end:end]
			begin = end
		}
		b.scored = append(b.scored, r)
	}
	b.scoredAll <- struct{}{}
}

// A pipe scores batches concurrently and delivers them in order. The capacity of
// inOrder limits the batches in flight.
type pipe struct {
	scorer  eval.Scorer
	inOrder chan *batch
	quit    chan struct{}
	work    sync.WaitGroup
	spare   sync.Pool
}

// read splits the sequence into batches until it ends or the reader stops.
func (p *pipe) read(cases iter.Seq2[eval.Case, error]) {
	defer close(p.inOrder)
	b, size := p.empty(), 0
	for c, err := range cases {
		if err != nil {
			b.err = err
			break
		}
		for _, t := range c.Trials {
			size += trialBytes + len(t.Outcome.Data)
		}
		if b.in = append(b.in, c); len(b.in) == batchSize || size >= batchBytes {
			if !p.send(b) {
				return
			}
			b, size = p.empty(), 0
		}
	}
	p.send(b)
}

func (p *pipe) empty() *batch {
	if b, ok := p.spare.Get().(*batch); ok {
		b.in = b.in[:0]
		return b
	}
	return &batch{scoredAll: make(chan struct{}, 1)}
}

func (p *pipe) send(b *batch) bool {
	select {
	case p.inOrder <- b:
		p.work.Go(func() { b.score(p.scorer) })
		return true
	case <-p.quit:
		return false
	}
}
