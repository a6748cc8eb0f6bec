package httpapi

import (
	"container/list"
	"sync"
	"sync/atomic"

	"sheaf.dev/internal/sheaf"
)

const (
	// cacheBytes bounds what the cache holds, of which a sixth is for large answers, as those with
	// long texts are: some of them must not push out all the others.
	cacheBytes = 48 << 20
	// largeBody is from where on an answer is large.
	largeBody = 64 << 10
	// maxCachedKey and maxCachedBody keep odd requests from filling it. A text of the greatest length
	// is kept, unless much of it is escaped.
	maxCachedKey  = 512
	maxCachedBody = sheaf.MaxContent + 64<<10
	// entryOverhead is about what an entry costs beside its bytes.
	entryOverhead = 512
)

// pageCache keeps encoded answers of one version of a workspace. The version is read before the
// data, so that an answer may be newer than its version and never older; a change of version leaves
// the old answers to be forgotten.
type pageCache struct {
	mu           sync.RWMutex // guards all below but the counters
	byKey        map[pageKey]*cached
	small, large shelf

	hits, misses atomic.Uint64
}

// shelf is where the answers of about one size are, in the order in which they are forgotten.
type shelf struct {
	most, size int        // in bytes
	order      *list.List // of *cached, the newest first
}

// pageKey is all that such an answer depends on.
type pageKey struct {
	workspace            sheaf.WorkspaceID
	version              int64
	path, rawPath, query string
}

// cached is an answer and the route that made it: whoever asks must be granted what the route
// needs.
type cached struct {
	key    pageKey
	route  *route
	answer *answer
	used   atomic.Bool // since it was last passed over
}

// cacheRoom returns what the cache of a process with so much memory holds, and what of large answers.
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

// cacheKey returns false when the answer must not come from the cache.
func (x *exchange) cacheKey() (pageKey, bool) {
	v, u := x.credential.Version, x.Request.URL
	return pageKey{x.credential.Workspace, v, u.Path, u.RawPath, u.RawQuery},
		v != 0 && len(u.Path)+len(u.RawPath)+len(u.RawQuery) <= maxCachedKey
}

// cached returns the answer to a read that was made before. It needs no route: a path that leads to
// none has no answer to keep.
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

// find returns the answer of that key, or nil, and notes that it was used.
func (c *pageCache) find(key pageKey) *cached {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := c.byKey[key]
	if e != nil && !e.used.Load() {
		e.used.Store(true)
	}
	return e
}

// keep keeps an answer, and forgets others when there are too many bytes.
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

// forgetOne drops the oldest answer of a shelf that nobody asked for lately: one that was used gets
// another turn.
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
