package search

import (
	"context"
	"errors"
	"fmt"
	"os"

	"sheaf.dev/internal/store/engine"
)

// The SQLite file of the index can be damaged or taken away while a server has it. Since it can be made
// again, nobody has to be asked: whoever meets damage says so (notice), and the follower looks whether
// it is this file (lost), puts an empty one in its place (replace) and fills it. Until then searches
// are Unavailable.

// errReplace ends following, because the file has to be replaced.
var errReplace = errors.New("the file of the index is to be replaced")

// notice looks at an error of whoever reads or writes the index, and returns it. What was damaged may
// also be the file of the store.
func (x *Index) notice(err error) error {
	if errors.Is(err, engine.ErrDamaged) {
		x.suspect.Store(true)
	}
	return err
}

// trustFor is how many looks after one that found no damage the follower looks at every page again:
// where it is the store that is damaged, each search would ask for it.
const trustFor = 60

// lost reports whether the file that is open is damaged, or is no longer the one in the folder. It looks
// at every page, and so only when somebody has met damage.
func (x *Index) lost(ctx context.Context) bool {
	if x.DatabaseURL != "" || x.Beside {
		return false
	}
	if now, err := os.Stat(x.path()); errors.Is(err, os.ErrNotExist) || err == nil && x.file != nil && !os.SameFile(now, x.file) {
		x.Log.Warn("the file of the index of search is gone, and is made anew", "path", x.path())
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
	x.Log.Warn("the index of search is damaged, and is made anew", "path", x.path(), "error", err)
	if err := Remove(x.Folder); err != nil {
		x.Log.Warn("could not remove the index of search", "error", err)
		return false
	}
	return true
}

// replace opens the file that is in the folder now, or a new one. It waits for the searches that are
// under way, and nobody may be following.
func (x *Index) replace(ctx context.Context) error {
	x.using.Lock()
	defer x.using.Unlock()
	if err := x.Close(); err != nil {
		x.Log.Warn("could not close the index of search that is replaced", "error", err)
	}
	return x.Open(ctx)
}
