package httpapi

import (
	"container/list"
	"sync"
	"sync/atomic"

	"sheaf.dev/internal/sheaf"
)

const (
	// cacheBytes bounds the cache. A sixth of it is for large answers, such as long texts, so that a few of
	// them do not push out all others.
	cacheBytes = 48 << 20
	// largeBody is the size from which an answer is large.
	largeBody = 64 << 10
	// maxCachedKey and maxCachedBody keep unusual requests from filling the cache. A text of the maximum
	// length fits, unless much of it is escaped.
	maxCachedKey  = 512
	maxCachedBody = sheaf.MaxContent + 64<<10
	// entryOverhead is about what an entry costs beside its bytes.
	entryOverhead = 512
)

// pageCache keeps encoded answers by the version of their workspace. The version is read before the data,
// so an answer may be newer than its version, never older. Answers of old versions are evicted in time.
type pageCache struct {
	mu           sync.RWMutex // guards all below but the counters
	byKey        map[pageKey]*cached
	small, large shelf

	hits, misses atomic.Uint64
}

// shelf keeps the answers of one size class, in the order of their eviction.
type shelf struct {
	most, size int        // in bytes
	order      *list.List // of *cached, the newest first
}

// pageKey has everything that a cached answer depends on.
type pageKey struct {
	workspace            sheaf.WorkspaceID
	version              int64
	path, rawPath, query string
}

// cached is an answer and the route that made it. The caller still needs the scopes of the route.
type cached struct {
	key    pageKey
	route  *route
	answer *answer
	used   atomic.Bool // since it was last passed over
}

// cacheRoom returns the bounds of the cache, and of its large answers, in a process with `memory` bytes.
func cacheRoom(memory int64) (most, large int) {
	most = cacheBytes
	if memory > 0 {
		most = int(min(cacheBytes, memory/10))
	}
	return most, most / 6
}

func newPageCache(most, large int) *pageCache {
	return &pageCache{byKey: map[pageKey]*cached{}, small: shelf{most: most - large, order: list.New()}, large: shelf{most: large, order: list.New()}}
}

// cacheKey returns the key of the request in the cache, or false if the cache must not be used.
func (x *exchange) cacheKey() (pageKey, bool) {
	v, u := x.credential.Version, x.Request.URL
	return pageKey{x.credential.Workspace, v, u.Path, u.RawPath, u.RawQuery},
		v != 0 && len(u.Path)+len(u.RawPath)+len(u.RawQuery) <= maxCachedKey
}

// cached returns the cached answer of a read, or nil. It needs no route, because only routes fill the cache.
func (s *Server) cached(x *exchange) *answer {
	if !x.IsRead() {
		return nil
	}
	key, ok := x.cacheKey()
	if !ok {
		return nil
	}
	e := s.cache.find(key)
	if e == nil || x.authorize(e.route) != nil {
		return nil // it is refused on the usual way
	}
	x.Counted = e.route.counted
	s.cache.hits.Add(1)
	return e.answer
}

// find returns the answer of the key, or nil, and marks it as used.
func (c *pageCache) find(key pageKey) *cached {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := c.byKey[key]
	if e != nil && !e.used.Load() {
		e.used.Store(true)
	}
	return e
}

// keep stores an answer, and evicts others if the cache is full.
func (c *pageCache) keep(key pageKey, r *route, a *answer) {
	if len(a.body) > maxCachedBody {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key] != nil {
		return
	}
	e := &cached{key: key, route: r, answer: a}
	at := &c.small
	if len(a.body) > largeBody {
		at = &c.large
	}
	c.byKey[key] = e
	at.order.PushFront(e)
	at.size += e.weight()
	for at.size > at.most {
		c.forgetOne(at)
	}
}

// forgetOne evicts the oldest answer of a shelf that was not used since it was last passed over.
func (c *pageCache) forgetOne(at *shelf) {
	oldest := at.order.Back()
	e := oldest.Value.(*cached)
	if e.used.Swap(false) {
		at.order.MoveToFront(oldest)
		return
	}
	at.order.Remove(oldest)
	delete(c.byKey, e.key)
	at.size -= e.weight()
}

func (e *cached) weight() int {
	return len(e.key.path) + len(e.key.rawPath) + len(e.key.query) + len(e.answer.body) + entryOverhead
}

// bytes is what the cache holds.
func (c *pageCache) bytes() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.small.size + c.large.size
}
