package engine

import (
	"maps"
	"sync"
)

// maxValues bounds how many values a Freshness keeps; beyond it, it starts anew.
const maxValues = 10_000

// Freshness keeps in memory, for SQLite, what every request needs: a value V by its key K (for the
// store, what an API key stands for), and the version of the space S that the value belongs to (the
// version of its workspace). It is never stale, because it hears of every commit of this process
// before it happens and after it did:
//
//	writer     Unsettle(6) ......... COMMIT ......... settle(true)
//	version    5 |          0: not known                | 6
//	values     as they are |   none are kept            | read anew
//
// While a commit is under way nobody can say whether a reader sees what was before it or after it.
// So the version that changes is not known meanwhile, which means "read the database and keep
// nothing"; and what somebody read before a commit is not kept after it, which generation tells. A
// commit that failed, or one of another process, makes it forget everything.
type Freshness[K, S comparable, V any] struct {
	spaceOf func(V) S

	mu       sync.RWMutex // guards all below
	values   map[K]V
	versions map[S]int64 // 0: a commit that changes it is under way
	// generation rises whenever something was forgotten: who began to read before that keeps
	// nothing.
	generation int64
	changing   bool // a commit that changes values is under way
}

// NewFreshness makes an empty one; spaceOf says which space a value belongs to.
func NewFreshness[K, S comparable, V any](spaceOf func(V) S) *Freshness[K, S, V] {
	return &Freshness[K, S, V]{values: map[K]V{}, versions: map[S]int64{}, spaceOf: spaceOf}
}

// Value returns what is known under the key, or loads it, with the version of its space; 0 is a
// version that is not known at the moment.
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

// keep remembers v unless something changed since it was loaded, and returns the version of its
// space. A version that is known already is newer than the loaded one, or the same.
func (f *Freshness[K, S, V]) keep(key K, v V, version, generation int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.generation != generation || f.changing {
		return 0
	}
	if len(f.values) >= maxValues {
		// The versions go too, and the loaded one may be older than they were.
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

// Unsettle is called before COMMIT; the function that it returns, after it, with whether it went
// well. touched has the versions that spaces will have; values says that some value changes.
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

// Forget drops everything: another process has committed something, nobody knows what.
func (f *Freshness[K, S, V]) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reset()
}

// reset forgets everything but the marks of what is just changing.
func (f *Freshness[K, S, V]) reset() {
	f.generation++
	clear(f.values)
	maps.DeleteFunc(f.versions, func(_ S, v int64) bool { return v != 0 })
}
