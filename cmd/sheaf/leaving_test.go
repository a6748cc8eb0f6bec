package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest/pgtest"
)

// D206: on both engines, with the command line beside a running server: delete, undelete, and delete
// with all data.
func TestOperator_DeletesAndUndeletesAWorkspace(t *testing.T) {
	for name, where := range map[string]func(*testing.T) []string{
		"sqlite": func(t *testing.T) []string { return []string{"--data", filepath.Join(t.TempDir(), "data")} },
		"postgres": func(t *testing.T) []string {
			return []string{"--data", filepath.Join(t.TempDir(), "data"), "--database-url", pgtest.URL(t)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deletesAndUndeletes(t, where(t))
		})
	}
}

func deletesAndUndeletes(t *testing.T, where []string) {
	sheaf := func(args ...string) result { return sheafCommand(t, append(args, where...)...) }
	s := start(t, append([]string{"--first-run", "none", "--rate-limit", "pro=0"}, where...)...)
	ws, other := createWorkspace(t, where, "pro"), createWorkspace(t, where, "pro")
	k := decoded[keyRecord](t, sheaf("key", "create", "--json", "--workspace", ws.ID, "--name", "k", "--scopes", "all").succeeds(t))
	me := s.url + "/api/v1/me"
	becomes(t, me, k.Key, http.StatusOK)
	if out := sheaf("workspace", "delete", ws.ID).succeeds(t); !strings.Contains(out, "sheaf workspace undelete "+ws.ID) {
		t.Errorf("printed %q", out)
	}
	becomes(t, me, k.Key, http.StatusUnauthorized)
	sheaf("key", "create", "--workspace", ws.ID, "--name", "k", "--scopes", "all").fails(t, "is deleted, and its data stays until", "sheaf workspace undelete")
	sheaf("export", filepath.Join(t.TempDir(), "file"), "--workspace", ws.ID).fails(t, "not found")
	if out := sheaf("workspace", "list").succeeds(t); strings.Count(out, "(deleted)") != 1 {
		t.Errorf("the list does not say which is deleted: %s", out)
	}
	sheaf("workspace", "delete", ws.ID).fails(t, "is deleted already", "sheaf workspace undelete")
	sheaf("doctor").succeeds(t)
	inBackup(t, where, ws.ID)
	sheaf("workspace", "undelete", other.ID).fails(t, "is not deleted")
	sheaf("workspace", "undelete", ws.ID).succeeds(t)
	becomes(t, me, k.Key, http.StatusOK)
	s.stop(t)
	sheaf("workspace", "delete", ws.ID, "--delete-after=-1s").fails(t, "must not be negative")
	if out := sheaf("workspace", "delete", ws.ID, "--delete-after", "0").succeeds(t); !strings.Contains(out, "its data is removed") {
		t.Errorf("printed %q", out)
	}
	sheaf("workspace", "undelete", ws.ID).fails(t, "not found")
	if out := sheaf("workspace", "list", "--json").succeeds(t); strings.Contains(out, ws.ID) || !strings.Contains(out, other.ID) {
		t.Errorf("listed %s", out)
	}
	if r := sheaf("workspace", "delete", other.ID, "--delete-after", "1 week"); r.code != 2 || !strings.Contains(r.stderr, `"1 week" is not a duration; write a number and a unit, for example 500ms, 10s, 24h or 30d`) {
		t.Errorf("ended with %d: %s", r.code, r.stderr)
	}
	sheaf("workspace", "delete", other.ID, "--delete-after", "2d").succeeds(t)
	list := sheaf("workspace", "list", "--json").succeeds(t)
	for _, w := range decoded[[]struct {
		ID     string
		At     time.Time `json:"deleted_at"`
		EndsAt time.Time `json:"ends_at"`
	}](t, list) {
		if w.ID == other.ID && w.EndsAt.Sub(w.At) != 48*time.Hour {
			t.Errorf("after 2d: %s", list)
		}
	}
	sheaf("workspace", "undelete", other.ID).succeeds(t)
	sheaf("workspace", "delete", other.ID, "--delete-after", "1ms").succeeds(t)
	sheaf("workspace", "undelete", other.ID).fails(t, "could be brought back until")
}

// inBackup restores a backup that is made now on its own, where the workspace is deleted and can be
// brought back.
func inBackup(t *testing.T, where []string, id string) {
	t.Helper()
	file, data := filepath.Join(t.TempDir(), "backup"), t.TempDir()
	key, err := os.ReadFile(filepath.Join(where[1], "master.key"))
	if err == nil {
		err = os.WriteFile(filepath.Join(data, "master.key"), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	sheafCommand(t, append([]string{"backup", file}, where...)...).succeeds(t)
	sheafCommand(t, "restore", file, "--data", data).succeeds(t)
	if out := sheafCommand(t, "workspace", "list", "--data", data).succeeds(t); strings.Count(out, "(deleted)") != 1 {
		t.Errorf("the list of a restored copy does not say which is deleted: %s", out)
	}
	sheafCommand(t, "workspace", "undelete", id, "--data", data).succeeds(t)
	sheafCommand(t, "key", "list", "--workspace", id, "--data", data).succeeds(t)
}
