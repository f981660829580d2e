package extraction

import (
	"container/list"
	"sync"
)

// The limits of the cache. The arms of a document run one after another, so a
// small cache is enough.
const (
	cacheDocuments = 256
	cacheBytes     = 2 << 20 // of text; a prepared document needs about three times as much
)

// A cache is an LRU cache of documents within both limits.
type cache struct {
	mu    sync.Mutex
	items map[int32]*list.Element
	order *list.List // of *prepared, most recently used first
	bytes int
}

func newCache() *cache { return &cache{items: map[int32]*list.Element{}, order: list.New()} }

func (c *cache) get(item int32) *prepared {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.items[item]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*prepared)
}

// put adds a document and returns the cached one: that of another goroutine if
// it was first and has gold where d has.
func (c *cache) put(d *prepared) *prepared {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.items[d.item]; e != nil {
		if kept := e.Value.(*prepared); kept.gold || !d.gold {
			return kept
		}
		e.Value = d
		return d
	}
	c.items[d.item] = c.order.PushFront(d)
	c.bytes += len(d.Text)
	for c.order.Len() > 1 && (c.order.Len() > cacheDocuments || c.bytes > cacheBytes) {
		last := c.order.Remove(c.order.Back()).(*prepared)
		delete(c.items, last.item)
		c.bytes -= len(last.Text)
	}
	return d
}
