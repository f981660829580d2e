package run

import (
	"sync"
	"sync/atomic"
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
	workers sync.WaitGroup
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
	c.workers.Go(func() {
		c.do(x)
		for x := range c.next {
			c.do(x)
		}
	})
}

func (c *crew) do(x cell) {
	defer c.begun.Done()
	c.work(x)
	c.idle.Add(1) // before the release, after which the next cell needs a worker
	c.release(x)
}

// wait waits for the cells begun so far.
func (c *crew) wait() { c.begun.Wait() }

// end waits for all cells and ends the workers.
func (c *crew) end() {
	close(c.next)
	c.workers.Wait()
}
