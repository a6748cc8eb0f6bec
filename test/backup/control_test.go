package backup

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
)

// control plants two faults that the drill must notice: a bad way to back up, and a copy that lacks a row.
func control(t *testing.T) {
	s := newStore(t, "SQLite")
	key := s.Workspace(t, "Acme")
	server := s.Start(t)
	l := startLoad(server, key)
	l.await(t, 10) // so few that all of them are still in the log beside the file
	before := l.journal()
	bare := newStore(t, "SQLite")
	copyFile(t, filepath.Join(s.Data, "sheaf.db"), filepath.Join(bare.Data, "sheaf.db"))
	bare.takeKey(t, s)
	copied := filepath.Join(t.TempDir(), "copy")
	s.Ask(t, "backup", copied)
	final := l.stop(t)
	if len(before.compare(final, bare.projects(t, key))) == 0 {
		t.Error("the file was copied without its log, and nobody noticed")
	}
	lacking := newStore(t, "PostgreSQL")
	lacking.takeKey(t, s)
	lacking.Ask(t, "restore", copied)
	lacking.remove(t, kept(t, before, final))
	if lacking.violations(t) == 0 {
		t.Error("a row was removed from the copy, and the doctor found nothing")
	}
	if len(before.compare(final, lacking.projects(t, key))) == 0 {
		t.Error("a row was removed from the copy, and the comparison found nothing")
	}
}

// kept returns a project that is in the backup for certain.
func kept(t *testing.T, before, final journal) string {
	t.Helper()
	for id := range before {
		if !final[id].deleted {
			return id
		}
	}
	t.Fatal("every project was deleted")
	return ""
}

func (s *store) remove(t *testing.T, project string) {
	t.Helper()
	ctx := context.Background()
	c, err := pgx.Connect(ctx, s.Database)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	for _, text := range []string{"UPDATE documents SET project_id = NULL WHERE project_id = $1", "DELETE FROM projects WHERE id = $1"} {
		if _, err := c.Exec(ctx, text, project); err != nil {
			t.Fatal(err)
		}
	}
}
