package extraction

import (
	"container/list"
	"sync"
)

// The cache holds documents that are in use: the arms of one document follow
// each other, so a few suffice.
const (
	cacheDocuments = 256
	cacheBytes     = 2 << 20 // of text; a prepared document takes about three times that
)

// A cache keeps the documents used last, within both limits.
type cache struct {
	mu    sync.Mutex
	items map[int32]*list.Element
	order *list.List // of *prepared, the last used first
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

// put takes a document in, unless another goroutine was faster and read as much
// of it, and returns the one that is kept.
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
