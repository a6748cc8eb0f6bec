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
	byKey        map[pageKey]*cacheEntry
	small, large shelf

	hits, misses atomic.Uint64
}

// shelf keeps the answers of one size class, in the order of their eviction.
type shelf struct {
	most, size int        // limit and current size, in bytes
	order      *list.List // of *cacheEntry, the newest first
}

// pageKey has everything that a cached answer depends on.
type pageKey struct {
	workspace            sheaf.WorkspaceID
	version              int64
	restriction          int64 // number of the caller's restriction; 0: none
	brandings            bool  // the caller is restricted and sees brandings
	path, rawPath, query string
}

// cacheEntry is an answer and the route that made it. The caller still needs the scopes of the route.
type cacheEntry struct {
	key    pageKey
	route  *route
	answer *answer
	used   atomic.Bool // since the last time that eviction spared it
}

// newPageCache returns the cache of a process that may use `memory` bytes; 0 means no limit.
func newPageCache(memory int64) *pageCache {
	most := cacheBytes
	if memory > 0 {
		most = int(min(cacheBytes, memory/10))
	}
	large := most / 6
	return &pageCache{byKey: map[pageKey]*cacheEntry{}, small: shelf{most: most - large, order: list.New()}, large: shelf{most: large, order: list.New()}}
}

// cacheKey returns the key of the request in the cache, or false if the cache must not be used.
func (x *exchange) cacheKey() (pageKey, bool) {
	v, u := x.Credential.Version, x.Request.URL
	key := pageKey{workspace: x.Credential.Workspace, version: v, path: u.Path, rawPath: u.RawPath, query: u.RawQuery}
	if to := x.Caller.Restriction(); to != nil {
		key.restriction, key.brandings = to.Number, x.Caller.May(sheaf.BrandingsRead)
	}
	return key,
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
		return nil // run refuses it
	}
	x.Counted = e.route.counted
	s.cache.hits.Add(1)
	return e.answer
}

// find returns the answer of the key, or nil, and marks it as used.
func (c *pageCache) find(key pageKey) *cacheEntry {
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
	e := &cacheEntry{key: key, route: r, answer: a}
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

// forgetOne takes the oldest answer of a shelf: if it was used since the last time, it becomes the newest,
// otherwise it is evicted.
func (c *pageCache) forgetOne(at *shelf) {
	oldest := at.order.Back()
	e := oldest.Value.(*cacheEntry)
	if e.used.Swap(false) {
		at.order.MoveToFront(oldest)
		return
	}
	at.order.Remove(oldest)
	delete(c.byKey, e.key)
	at.size -= e.weight()
}

func (e *cacheEntry) weight() int {
	return len(e.key.path) + len(e.key.rawPath) + len(e.key.query) + len(e.answer.body) + entryOverhead
}

// bytes returns the size of the cache.
func (c *pageCache) bytes() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.small.size + c.large.size
}
