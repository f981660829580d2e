package process

import (
	"slices"
	"sync"
)

// A tail keeps the last bytes written to it.
type tail struct {
	mu    sync.Mutex
	most  int
	bytes []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	p = p[max(0, n-t.most):]
	excess := max(0, len(t.bytes)+len(p)-t.most)
	t.bytes = append(slices.Delete(t.bytes, 0, excess), p...)
	return n, nil
}

func (t *tail) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes = t.bytes[:0]
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.bytes)
}
