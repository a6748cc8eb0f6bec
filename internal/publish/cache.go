package publish

import (
	"container/list"
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"sheaf.dev/internal/sheaf"
)

const (
	// cacheBytes limits the cache, and maxCached the size of a page in it.
	cacheBytes = 16 << 20
	maxCached  = 2 << 20
	// maxCachedKey keeps odd addresses from filling the cache.
	maxCachedKey = 256
	// entryBytes is about the size of an entry without its page.
	entryBytes = 512
)

// cacheKey is everything that a page depends on. The share's own fields change the workspace's
// version too.
type cacheKey struct {
	share   sheaf.ShareID
	version int64 // 0: the page must not be cached
	address string
}

// cacheKey returns the key of the requested page.
func (v *visit) cacheKey() cacheKey {
	address := string(v.switched) + v.r.URL.Path
	if v.r.URL.RawQuery != "" {
		address += "?" + v.r.URL.RawQuery
	}
	if len(address) > maxCachedKey {
		return cacheKey{}
	}
	return cacheKey{v.share.ID, v.share.Version, address}
}

// cache keeps pages of shares. The version is read before the contents of the page, so a cached
// page may be newer than its version, and never older.
type cache struct {
	most int // bytes

	mu     sync.Mutex // guards what follows
	bytes  int
	byKey  map[cacheKey]*list.Element
	recent list.List // of *kept, the latest first
}

type kept struct {
	key    cacheKey
	answer *answer
}

func newCache(most int) *cache { return &cache{most: most, byKey: map[cacheKey]*list.Element{}} }

// find returns a cached page, or nil.
func (c *cache) find(key cacheKey) *answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return nil
	}
	c.recent.MoveToFront(e)
	return e.Value.(*kept).answer
}

// keep caches a page, and drops the least recently used ones.
func (c *cache) keep(key cacheKey, a *answer) {
	if key.version == 0 || len(a.body) > maxCached {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key] != nil {
		return
	}
	c.byKey[key] = c.recent.PushFront(&kept{key, a})
	c.bytes += len(a.body) + entryBytes
	for c.bytes > c.most {
		oldest := c.recent.Remove(c.recent.Back()).(*kept)
		delete(c.byKey, oldest.key)
		c.bytes -= len(oldest.answer.body) + entryBytes
	}
}

// tagOf returns the entity tag of a page. Equal bytes have equal tags.
func tagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}
