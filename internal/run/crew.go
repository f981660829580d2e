package run

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A cell is tasks that run in sequence, and the bytes that they hold.
type cell struct {
	tasks []Task
	bytes int
}

// A crew runs cells on goroutines that are reused, because a new goroutine grows its stack
// again for each answer.
type crew struct {
	work    func(cell)
	release func(cell) // gives up the places of a cell
	next    chan cell
	idle    atomic.Int64   // workers that receive next
	begun   sync.WaitGroup // cells
}

func newCrew(work, release func(cell)) *crew {
	return &crew{work: work, release: release, next: make(chan cell)}
}

// begin gives a cell to an idle worker or to a new one. Only one goroutine may call it.
func (c *crew) begin(x cell) {
	c.begun.Add(1)
	if c.idle.Load() > 0 {
		c.idle.Add(-1)
		c.next <- x
		return
	}
	go func() {
		c.do(x)
		for x := range c.next {
			c.do(x)
		}
	}()
}

func (c *crew) do(x cell) {
	defer c.begun.Done()
	c.work(x)
	c.idle.Add(1) // before the release, after which the next cell needs a worker
	c.release(x)
}

// wait waits for the cells begun so far, but not for long after the context has ended: a local arm,
// or a judge that is a rule, may compute without looking at it. Requests do look at it, so they have
// time to be recorded. It reports whether the cells ended.
func (c *crew) wait(ctx context.Context) bool {
	const forRequests = time.Second
	ended := make(chan struct{})
	go func() {
		c.begun.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-ctx.Done():
	}
	select {
	case <-ended:
		return true
	case <-time.After(forRequests):
		return false
	}
}

// end ends the workers, each after its cell.
func (c *crew) end() { close(c.next) }
