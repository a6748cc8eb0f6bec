package search_test

import (
	"testing"

	"sheaf.dev/internal/store"
)

// While the disk has no room, nothing is indexed, and searches find everything all the same. Then the index catches up.
func TestFollow_PausesWithoutRoom(t *testing.T) {
	for name, options := range map[string]func(testing.TB) store.Options{"SQLite": onSQLite, "PostgreSQL": onPostgres} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options(t))
			c := w.workspace()
			w.document(c, "before", "")
			w.catchUp()
			size := func() int64 {
				n, err := w.index.Count(t.Context(), "SELECT COUNT(*) FROM search_texts")
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			before, full := size(), true
			w.index.Paused = func() bool { return full }
			w.document(c, "meanwhile", "")
			w.catchUp()
			if now := size(); now != before {
				t.Errorf("%d records were indexed without room", now-before)
			}
			if found := w.find(c, "meanwhile"); found.Total != 1 {
				t.Errorf("%d are found that are not indexed", found.Total)
			}
			full = false
			w.catchUp()
			if now := size(); now != before+1 {
				t.Errorf("with room again %d records are indexed, want %d", now, before+1)
			}
		})
	}
}
