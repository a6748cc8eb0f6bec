package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/store"
)

func TestSearch_OnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	project := r.id(t, "projects", "create", "Release plans", "--description", "notes of all teams")
	id := r.id(t, "documents", "create", "Release notes", "--description", "What is new", "--project", project)
	if got := r.list(t, "search", "release", "NOTES"); len(got) != 2 || got[0]["id"] != id || got[1]["id"] != project {
		t.Errorf("found %v", got)
	}
	if got := r.list(t, "search", "release notes", "new"); len(got) != 1 || got[0]["id"] != id {
		t.Errorf("what was kept together found %v", got)
	}
	if got := r.list(t, "search", "release", "--type", "project"); len(got) != 1 || got[0]["id"] != project {
		t.Errorf("projects: %v", got)
	}
	if got := r.list(t, "search", "release", "--project", project, "--limit", "1"); len(got) != 1 || got[0]["id"] != id {
		t.Errorf("in the project: %v", got)
	}
	wantWords(t, r.do(t, "search", "teams"), "project", project, "Release plans", "notes of all teams")
	sheafWith(t, r.env, "", "search", "x", "--type", "media").fails(t, "type must be")
}

// D92: with a running server and without one, on both engines.
func TestReindex(t *testing.T) {
	t.Parallel()
	for name, where := range map[string]func(t *testing.T) []string{
		"sqlite":   func(t *testing.T) []string { return []string{"--data", t.TempDir()} },
		"postgres": func(t *testing.T) []string { return []string{"--data", t.TempDir(), "--database-url", pgtest.URL(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := where(t)
			s := start(t, at...)
			const done = "rebuilt the search index of 1 workspaces\n"
			for range 2 {
				if got := sheafCommand(t, append([]string{"reindex"}, at...)...).succeeds(t); got != done {
					t.Errorf("beside a server: %q", got)
				}
			}
			s.stop(t)
			if got := sheafCommand(t, append([]string{"reindex", "--json"}, at...)...).succeeds(t); got != `{"workspaces":1}`+"\n" {
				t.Errorf("without one: %q", got)
			}
		})
	}
}

// A restore deletes an existing search index, because it belongs to other data.
func TestRestore_DeletesTheOldIndex(t *testing.T) {
	t.Parallel()
	from, to, file := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "backup")
	start(t, "--data", from).stop(t)
	sheafCommand(t, "backup", file, "--data", from).succeeds(t)
	copyFile(t, filepath.Join(from, masterKeyFile), filepath.Join(to, masterKeyFile))
	copyFile(t, filepath.Join(from, search.FileName), filepath.Join(to, search.FileName))
	if got := sheafCommand(t, "restore", file, "--data", to).succeeds(t); !strings.Contains(got, "restored") {
		t.Fatal(got)
	}
	for _, name := range []string{search.FileName, search.FileName + "-wal"} {
		if exists(t, filepath.Join(to, name)) {
			t.Errorf("%s is left", name)
		}
	}
	if !exists(t, filepath.Join(to, store.FileName)) {
		t.Error("nothing was restored")
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return err == nil
}
