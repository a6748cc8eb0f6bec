package render

import (
	"container/list"
	"crypto/sha256"
	"sync"
)

// A cache keeps pages by the hashes of their texts. It drops the least recently used pages first.
type cache struct {
	max int // bytes

	mu     sync.Mutex // guards what follows
	bytes  int
	pages  map[[sha256.Size]byte]*list.Element
	recent list.List // of *cached, the latest first
}

type cached struct {
	key  [sha256.Size]byte
	page *Page
}

// entryBytes is about the size of an entry without its page.
const entryBytes = 256

func newCache(max int) *cache {
	return &cache{max: max, pages: map[[sha256.Size]byte]*list.Element{}}
}

func (c *cache) get(key [sha256.Size]byte) (*Page, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.pages[key]
	if !ok {
		return nil, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(*cached).page, true
}

func (c *cache) put(key [sha256.Size]byte, p *Page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.pages[key]; ok {
		return
	}
	c.pages[key] = c.recent.PushFront(&cached{key, p})
	c.bytes += p.size() + entryBytes
	for c.bytes > c.max {
		oldest := c.recent.Remove(c.recent.Back()).(*cached)
		delete(c.pages, oldest.key)
		c.bytes -= oldest.page.size() + entryBytes
	}
}
