// Package migrated provides empty databases with the current schema. They are copies of one that
// was migrated once in the process, which is much faster than migrating each.
package migrated

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/store"
)

// URL returns the URL of a PostgreSQL database, which is dropped when the test ends. It skips the
// test as pgtest.URL does.
func URL(t testing.TB) string {
	t.Helper()
	return copies.URL(t)
}

var copies = pgtest.Copies{Prepare: func(url string) error {
	return store.Migrate(context.Background(), store.Options{DatabaseURL: url})
}}

// GuardedURL is URL for a database that refuses a change of rights without its audit line, and a line without
// its change: see guard.sql.
func GuardedURL(t testing.TB) string {
	t.Helper()
	return guarded.URL(t)
}

//go:embed guard.sql
var guard string

var guarded = pgtest.Copies{Prepare: func(url string) error {
	if err := store.Migrate(context.Background(), store.Options{DatabaseURL: url}); err != nil {
		return err
	}
	return pgtest.Execute(url, guard)
}}

// Folder returns a data folder with an SQLite database.
func Folder(t testing.TB) string {
	t.Helper()
	folder := t.TempDir()
	Fill(t, folder)
	return folder
}

// Fill writes an SQLite database into a data folder.
func Fill(t testing.TB, folder string) {
	t.Helper()
	file, err := sqliteFile()
	if err != nil {
		t.Fatalf("prepare the template of the tests' databases: %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, store.FileName), file, 0o600); err != nil {
		t.Fatal(err)
	}
}

// sqliteFile returns the bytes of a migrated, empty database.
var sqliteFile = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "sheaf-migrated-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if err := store.Migrate(context.Background(), store.Options{Folder: folder}); err != nil {
		return nil, err
	}
	// Closing the last connection has moved the whole log into the file.
	return os.ReadFile(filepath.Join(folder, store.FileName))
})

// Open migrates a store and returns it. It is closed when the test ends.
func Open(t testing.TB, o store.Options) *store.Store {
	t.Helper()
	if err := store.Migrate(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}
