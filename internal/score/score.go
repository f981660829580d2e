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

// batchSize is how many cases are scored at a time: enough that handing them
// over costs nothing, few enough that memory stays flat.
const batchSize = 32

// All scores cases on all cores and gives them in the order they came. Cases of
// which every trial failed pass through without scores. What is given is valid
// until the next is asked for: space is used again.
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
			p.spare.Put(b)
		}
	}
}

// A batch is some cases on their way. err is what the source said after them.
type batch struct {
	in        []eval.Case
	scores    []eval.Score // of the whole batch
	scored    []eval.Scored
	scoredAll chan struct{}
	err       error
}

func (b *batch) score(s eval.Scorer) {
	b.scores, b.scored = b.scores[:0], b.scored[:0]
	var ends [batchSize]int // appending may yet move what came before
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

// A pipe carries batches to whoever reads them, each of which is scored
// meanwhile. As many are on their way as inOrder holds.
type pipe struct {
	scorer  eval.Scorer
	inOrder chan *batch
	quit    chan struct{}
	work    sync.WaitGroup
	spare   sync.Pool
}

// read cuts the sequence into batches until it ends or the reader has gone.
func (p *pipe) read(cases iter.Seq2[eval.Case, error]) {
	defer close(p.inOrder)
	b := p.empty()
	for c, err := range cases {
		if err != nil {
			b.err = err
			break
		}
		if b.in = append(b.in, c); len(b.in) == batchSize {
			if !p.send(b) {
				return
			}
			b = p.empty()
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
