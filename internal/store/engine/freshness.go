package engine

import (
	"maps"
	"sync"
)

// maxValues is the most values that a Freshness keeps; beyond it, it is cleared.
const maxValues = 10_000

// Freshness is a cache, for SQLite, of what every request needs: a value V by its key K (in the
// store, what an API key stands for), and the version of the space S of the value (the version of
// its workspace). It is never stale, because it is called before and after every commit of this
// process:
//
//	writer     Unsettle(6) ......... COMMIT ......... settle(true)
//	version    5 |          0: unknown                  | 6
//	values     as they are |   none are kept            | loaded again
//
// While a commit is under way, a reader may see the state before it or after it. So a version that
// is changing is unknown meanwhile, which means: read the database and keep nothing. A value that
// was loaded before a commit is not kept after it; generation detects that. A failed commit, or a
// commit of another process, clears the cache.
type Freshness[K, S comparable, V any] struct {
	spaceOf func(V) S

	mu       sync.RWMutex // guards all below
	values   map[K]V
	versions map[S]int64 // 0: a commit that changes the version is under way
	// generation rises whenever something is dropped. A value whose loading began before that is
	// not kept.
	generation int64
	changing   bool // a commit that changes values is under way
}

// NewFreshness returns an empty cache; spaceOf returns the space of a value.
func NewFreshness[K, S comparable, V any](spaceOf func(V) S) *Freshness[K, S, V] {
	return &Freshness[K, S, V]{values: map[K]V{}, versions: map[S]int64{}, spaceOf: spaceOf}
}

// Value returns the value of the key, from the cache or by load, and the version of its space.
// Version 0 means that it is unknown at the moment.
func (f *Freshness[K, S, V]) Value(key K, load func() (V, int64, error)) (V, int64, error) {
	f.mu.RLock()
	v, ok := f.values[key]
	version := f.versions[f.spaceOf(v)]
	generation := f.generation
	f.mu.RUnlock()
	if ok {
		return v, version, nil
	}
	v, version, err := load()
	if err != nil {
		return v, 0, err
	}
	return v, f.keep(key, v, version, generation), nil
}

// keep stores v unless something changed since it was loaded, and returns the version of its space.
// A version in the cache is at least as new as the loaded one.
func (f *Freshness[K, S, V]) keep(key K, v V, version, generation int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.generation != generation || f.changing {
		return 0
	}
	if len(f.values) >= maxValues {
		// The versions are dropped too, and the loaded one may be older than they were.
		f.reset()
		return 0
	}
	f.values[key] = v
	space := f.spaceOf(v)
	if _, known := f.versions[space]; !known {
		f.versions[space] = version
	}
	return f.versions[space]
}

// Unsettle must be called before COMMIT, and settle after it, with whether it succeeded. touched
// has the new versions of spaces; values reports that some value changes.
func (f *Freshness[K, S, V]) Unsettle(touched map[S]int64, values bool) (settle func(committed bool)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range touched {
		f.versions[id] = 0
	}
	if values {
		f.changing = true
		clear(f.values)
	}
	return func(committed bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.changing = false
		for id, v := range touched {
			if f.versions[id] = v; !committed {
				delete(f.versions, id)
			}
		}
		if values || !committed {
			f.reset()
		}
	}
}

// Forget clears the cache: another process has committed unknown changes.
func (f *Freshness[K, S, V]) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reset()
}

// reset clears the cache, except for the marks of versions that are changing.
func (f *Freshness[K, S, V]) reset() {
	f.generation++
	clear(f.values)
	maps.DeleteFunc(f.versions, func(_ S, v int64) bool { return v != 0 })
}
