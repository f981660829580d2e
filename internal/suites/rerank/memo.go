package rerank

import "sync"

// A memo keeps results that the arms of a request have in common. They are performed
// one after the other, so it need not keep many. It is safe for concurrent use.
type memo[K comparable, V any] struct {
	mu   sync.Mutex
	most int // results kept; a full memo starts over
	kept map[K]V
}

// of returns the result for a key, which do computes. The result must not change.
func (m *memo[K, V]) of(key K, do func() V) V {
	m.mu.Lock()
	v, ok := m.kept[key]
	m.mu.Unlock()
	if ok {
		return v
	}
	v = do()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil || len(m.kept) >= m.most {
		m.kept = map[K]V{}
	}
	m.kept[key] = v
	return v
}
