package run

import (
	"context"
	"sync"
)

// mostHeld limits the bytes that trials in progress hold, as their bench estimates
// them. A trial that waits for a retry holds its prompts, so their number alone
// does not bound memory.
const mostHeld = 32 << 20

// A load limits what trials in progress use: the memory that they hold, or their calls
// that wait for a place.
type load struct {
	most  int
	mu    sync.Mutex
	n     int
	freed chan struct{} // a signal for the one that waits
}

func newLoad(most int) *load { return &load{most: most, freed: make(chan struct{}, 1)} }

// fits adds n if it fits; alone it always does.
func (l *load) fits(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n > 0 && l.n+n > l.most {
		return false
	}
	l.n += n
	return true
}

// add adds n even if it does not fit.
func (l *load) add(n int) {
	l.mu.Lock()
	l.n += n
	l.mu.Unlock()
}

func (l *load) release(n int) {
	l.add(-n)
	select {
	case l.freed <- struct{}{}:
	default:
	}
}

// wait waits until n more fits and adds it, unless the run stops first.
func (e *Engine) wait(ctx context.Context, l *load, n int) bool {
	for !l.fits(n) {
		select {
		case <-l.freed:
		case <-e.stopping:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}
