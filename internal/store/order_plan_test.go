package store_test

import (
	"context"
	"strings"
	"testing"

	"sheaf.dev/internal/store"
)

// Every order in which a client may ask for a page has an index: a tenant with
// many rows must not make the others wait for its sorting.
func TestLists_AreReadInOrder(t *testing.T) {
	t.Parallel()
	s := open(t, store.Options{Folder: t.TempDir()})
	for _, sql := range []string{
		"SELECT name FROM projects WHERE workspace_id = 'w' ORDER BY sort_order, number LIMIT 50",
		"SELECT name FROM projects WHERE workspace_id = 'w' ORDER BY name_folded, number LIMIT 50",
		"SELECT name FROM projects WHERE workspace_id = 'w' ORDER BY updated_at DESC, number DESC LIMIT 50",
		"SELECT name FROM projects WHERE workspace_id = 'w' AND folder_id = 'f' ORDER BY sort_order, number LIMIT 50",
		"SELECT title FROM documents WHERE workspace_id = 'w' AND deleted_at IS NULL ORDER BY number LIMIT 50",
		"SELECT title FROM documents WHERE workspace_id = 'w' AND deleted_at IS NULL ORDER BY updated_at, number LIMIT 50",
		"SELECT title FROM documents WHERE workspace_id = 'w' AND deleted_at IS NULL ORDER BY title_folded, number LIMIT 50",
		"SELECT body FROM events WHERE workspace_id = 'w' AND number > 5 ORDER BY number LIMIT 50",
		"SELECT body FROM events WHERE workspace_id = 'w' AND type = 't' ORDER BY number LIMIT 50",
		"SELECT body FROM events WHERE workspace_id = 'w' AND resource_id = 'r' ORDER BY number LIMIT 50",
	} {
		plan, err := store.Plan(context.Background(), s, sql)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(plan, "TEMP B-TREE") || !strings.Contains(plan, "SEARCH") {
			t.Errorf("%s\nis sorted or scanned: %s", sql, plan)
		}
	}
}
