package publish

import (
	"container/list"
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"sheaf.dev/internal/sheaf"
)

const (
	// cacheBytes bounds what is kept of pages, and maxCached how large one may be.
	cacheBytes = 16 << 20
	maxCached  = 2 << 20
	// maxCachedKey keeps odd addresses from filling it.
	maxCachedKey = 256
	// entryBytes is about what an entry takes beside its page.
	entryBytes = 512
)

// cacheKey is all that a page depends on: the share's own fields change with the workspace's version
// too.
type cacheKey struct {
	share   sheaf.ShareID
	version int64 // 0: nothing may be kept
	address string
}

// cacheKey returns the key of the page that is asked for.
func (v *visit) cacheKey() cacheKey {
	address := v.r.URL.Path
	if v.r.URL.RawQuery != "" {
		address += "?" + v.r.URL.RawQuery
	}
	if len(address) > maxCachedKey {
		return cacheKey{}
	}
	return cacheKey{v.share.ID, v.share.Version, address}
}

// cache keeps pages of shares. The version is read before what the page shows: a kept page may be newer
// than its version, and never older.
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

// find returns a page that was kept, or nil.
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

// keep keeps a page, and lets go of those that were asked for least recently.
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

// tagOf is the entity tag of a page: the same bytes have the same one.
func tagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}
