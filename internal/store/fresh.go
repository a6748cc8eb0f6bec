package store

import (
	"maps"
	"sync"

	"sheaf.dev/internal/sheaf"
)

// maxCredentials bounds what fresh keeps; beyond it, it starts anew.
const maxCredentials = 10_000

// fresh keeps, for SQLite, what every request needs: its key, and the version
// of its workspace. It is exact: during a commit that changes one of them, that
// one is not known, and whoever asks reads the database.
type fresh struct {
	mu          sync.RWMutex // guards all below
	credentials map[sheaf.KeyHash]sheaf.Credential
	versions    map[sheaf.WorkspaceID]int64 // 0: just changing
	generation  int64                       // rises when something was forgotten
	changing    bool                        // a commit changes credentials now
}

func newFresh() *fresh {
	return &fresh{credentials: map[sheaf.KeyHash]sheaf.Credential{}, versions: map[sheaf.WorkspaceID]int64{}}
}

// credential returns what is known, or loads it.
func (f *fresh) credential(hash sheaf.KeyHash, load func() (sheaf.Credential, error)) (sheaf.Credential, error) {
	f.mu.RLock()
	c, ok := f.credentials[hash]
	c.Version = f.versions[c.Workspace]
	generation := f.generation
	f.mu.RUnlock()
	if ok {
		return c, nil
	}
	c, err := load()
	if err != nil {
		return c, err
	}
	return f.keep(hash, c, generation), nil
}

// keep remembers c unless something changed since it was loaded. A version that
// is known already is newer than the loaded one, or the same.
func (f *fresh) keep(hash sheaf.KeyHash, c sheaf.Credential, generation int64) sheaf.Credential {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.generation != generation || f.changing {
		c.Version = 0
		return c
	}
	if len(f.credentials) >= maxCredentials {
		// The versions go too, and the loaded one may be older than they were.
		f.reset()
		c.Version = 0
		return c
	}
	f.credentials[hash] = c
	if _, known := f.versions[c.Workspace]; !known {
		f.versions[c.Workspace] = c.Version
	}
	c.Version = f.versions[c.Workspace]
	return c
}

// unsettle is called before COMMIT; the function that it returns, after.
func (f *fresh) unsettle(touched map[sheaf.WorkspaceID]int64, credentials bool) (settle func(committed bool)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range touched {
		f.versions[id] = 0
	}
	if credentials {
		f.changing = true
		clear(f.credentials)
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
		if credentials || !committed {
			f.reset()
		}
	}
}

// forget drops everything: another process has committed something.
func (f *fresh) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reset()
}

// reset keeps the marks of what is just changing.
func (f *fresh) reset() {
	f.generation++
	clear(f.credentials)
	maps.DeleteFunc(f.versions, func(_ sheaf.WorkspaceID, v int64) bool { return v != 0 })
}
