package run

import (
	"context"
	"sync"
)

// mostHeld limits the bytes that trials in progress hold, as their bench estimates
// them. A trial that waits for a retry holds its prompts, so their number alone
// does not bound memory.
const mostHeld = 32 << 20

// A load is the memory that trials in progress hold.
type load struct {
	mu    sync.Mutex
	bytes int
	freed chan struct{} // a signal for the one that waits
}

// fits adds bytes if they fit; a trial alone always does.
func (l *load) fits(bytes int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bytes > 0 && l.bytes+bytes > mostHeld {
		return false
	}
	l.bytes += bytes
	return true
}

func (l *load) release(bytes int) {
	l.mu.Lock()
	l.bytes -= bytes
	l.mu.Unlock()
	select {
	case l.freed <- struct{}{}:
	default:
	}
}

// hold waits until a trial of that size fits, unless the run stops first.
func (e *Engine) hold(ctx context.Context, bytes int) bool {
	for !e.held.fits(bytes) {
		select {
		case <-e.held.freed:
		case <-e.stopping:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}
