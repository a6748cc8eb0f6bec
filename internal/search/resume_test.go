package search_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// If a page of one workspace's log cannot be read, all other workspaces are still followed.
func TestFollow_BesideALogThatIsDamaged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, onSQLite(t))
	var callers []app.Caller
	for range 3 {
		c := w.workspace()
		for i := range 20 {
			w.document(c, fmt.Sprint("Heron ", i), strings.Repeat("grey ", 200))
		}
		callers = append(callers, c)
	}
	w.catchUp()
	w.document(callers[2], "Wren", "")
	newest := w.newestEvent(callers[0])
	w.must(w.index.Close())
	w.must(w.store.Close()) // so that everything is in the file
	st, err := store.Open(ctx, w.opts)
	w.must(err)
	defer st.Close()
	w.damagePagesWith(newest)
	x := search.New(search.Config{Store: st, Folder: w.opts.Folder})
	defer x.Close()
	if err := st.Read(ctx, func(r *store.Reader) error { return r.EachLogEnd(func(sheaf.WorkspaceID, int64, *sheaf.EventID) {}) }); err == nil {
		t.Fatal("the control: nothing is damaged")
	}
	if err := x.CatchUp(ctx); err != nil {
		t.Error(err)
	}
	if n, err := x.Count(ctx, `SELECT COUNT(*) FROM search_texts WHERE title = 'wren'`); n != 1 || err != nil {
		t.Errorf("the index has %d new records, %v, want 1", n, err)
	}
}

// newestEvent returns the id of a workspace's newest event as bytes.
func (w *world) newestEvent(c app.Caller) (id [16]byte) {
	w.t.Helper()
	w.must(w.store.Read(context.Background(), func(r *store.Reader) error {
		log, _, err := r.Log(c.Workspace)
		if err != nil {
			return err
		}
		event, _, err := r.EventAt(c.Workspace, log.Last)
		id, _ = sheaf.UUIDBytes(string(event[len(sheaf.EventPrefix):]))
		return err
	}))
	return id
}

// damagePagesWith flips a bit in every table page, not index page, that contains these bytes.
func (w *world) damagePagesWith(id [16]byte) {
	w.t.Helper()
	const size, leafOfTable = 4096, 0x0d
	path := filepath.Join(w.opts.Folder, store.FileName)
	all, err := os.ReadFile(path)
	w.must(err)
	for page := range len(all) / size {
		b := all[page*size : (page+1)*size]
		if b[0] == leafOfTable && bytes.Contains(b, id[:]) {
			b[size-100] ^= 1
		}
	}
	w.must(os.WriteFile(path, all, 0o600))
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}
