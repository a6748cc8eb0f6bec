package httpapi

import (
	"container/list"
	"strconv"
	"strings"
	"sync"
)

const (
	// cacheBytes bounds what the cache holds.
	cacheBytes = 64 << 20
	// maxCachedKey and maxCachedBody keep odd requests from filling it.
	maxCachedKey  = 512
	maxCachedBody = 1 << 20
	// entryOverhead is about what an entry costs beside its bytes.
	entryOverhead = 256
)

// pageCache keeps encoded answers of one version of a workspace. The version is
// read before the data, so that an answer may be newer than its version and
// never older; a change of version leaves the old answers to be forgotten.
type pageCache struct {
	mu     sync.Mutex // guards all below
	most   int
	size   int
	recent *list.List // of *cached, the newest first
	byKey  map[string]*list.Element
}

type cached struct {
	key string
	answer
}

func newPageCache(most int) *pageCache {
	return &pageCache{most: most, recent: list.New(), byKey: map[string]*list.Element{}}
}

// cacheKey returns "" when the answer must not come from the cache.
func (x *exchange) cacheKey() string {
	v, u := x.credential.Version, x.request.URL
	if v == 0 || len(u.Path)+len(u.RawQuery) > maxCachedKey {
		return ""
	}
	var b strings.Builder
	b.Grow(64 + len(u.Path) + len(u.RawQuery))
	b.WriteString(string(x.credential.Workspace))
	b.WriteByte(' ')
	b.WriteString(strconv.FormatInt(v, 36))
	b.WriteByte(' ')
	b.WriteString(u.EscapedPath())
	b.WriteByte('?')
	b.WriteString(u.RawQuery)
	return b.String()
}

func (c *pageCache) find(key string) (answer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return answer{}, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(*cached).answer, true
}

func (c *pageCache) keep(key string, a answer) {
	if len(a.body) > maxCachedBody {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.byKey[key]; ok {
		return
	}
	c.byKey[key] = c.recent.PushFront(&cached{key, a})
	c.size += weight(key, a)
	for c.size > c.most {
		oldest := c.recent.Back()
		gone := c.recent.Remove(oldest).(*cached)
		delete(c.byKey, gone.key)
		c.size -= weight(gone.key, gone.answer)
	}
}

func weight(key string, a answer) int { return len(key) + len(a.body) + entryOverhead }
