package search

import (
	"context"
	"errors"
	"fmt"
	"os"

	"sheaf.dev/internal/store/engine"
)

// While a server is running, the SQLite file of the index can be damaged or deleted. The index can
// be rebuilt from the store, so no operator is needed. An error that reports damage sets `suspect`
// (notice). The follower then checks whether the index file is the damaged one (lost), opens an
// empty file in its place (replace) and fills it. Until then, searches return Unavailable.

// errReplace ends following, because the index file has to be replaced.
var errReplace = errors.New("the file of the index is to be replaced")

// notice returns err. If err reports damage, notice asks the follower to check the index file. The
// damaged file may also be that of the store.
func (x *Index) notice(err error) error {
	if errors.Is(err, engine.ErrDamaged) {
		x.suspect.Store(true)
	}
	return err
}

// trustFor is the number of looks that skip the full check after a check that found no damage. If
// the store is the damaged file, every search would ask for another check.
const trustFor = 60

// lost reports whether the open index file is damaged, deleted or replaced by another file.
// Checking for damage reads every page, so it happens only after an error reported damage.
func (x *Index) lost(ctx context.Context) bool {
	if x.DatabaseURL != "" || x.Beside {
		return false
	}
	if now, err := os.Stat(x.path()); errors.Is(err, os.ErrNotExist) || err == nil && x.file != nil && !os.SameFile(now, x.file) {
		x.Log.Warn("the file of the search index is gone and is rebuilt", "path", x.path())
		return true
	}
	if x.trust--; x.trust > 0 || !x.suspect.Swap(false) {
		return false
	}
	err := x.engine.Read(ctx, func(r *engine.Reader) error {
		verdict, _, err := engine.One(r, "PRAGMA quick_check(1)", (*engine.Row).Text)
		if err == nil && verdict != "ok" {
			err = fmt.Errorf("%w: %s", engine.ErrDamaged, verdict)
		}
		return err
	})
	if !errors.Is(err, engine.ErrDamaged) {
		x.trust = trustFor
		return false
	}
	x.Log.Warn("the search index is damaged and is rebuilt", "path", x.path(), "error", err)
	if err := Remove(x.Folder); err != nil {
		x.Log.Warn("could not remove the index of search", "error", err)
		return false
	}
	return true
}

// replace opens the index file that is now in the folder, or creates one. It waits for the running
// searches to end. The follower must have stopped.
func (x *Index) replace(ctx context.Context) error {
	x.using.Lock()
	defer x.using.Unlock()
	if err := x.Close(); err != nil {
		x.Log.Warn("could not close the index of search that is replaced", "error", err)
	}
	return x.Open(ctx)
}
