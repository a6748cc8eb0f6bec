// Package migrated gives tests empty databases of their own with the present schema. They are copies of
// one that was migrated once in the process, which takes a fraction of migrating each.
package migrated

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/store"
)

// URL returns the URL of a PostgreSQL database, which is dropped when the test ends; it skips as
// pgtest.URL does.
func URL(t testing.TB) string {
	t.Helper()
	return copies.URL(t)
}

var copies = pgtest.Copies{Prepare: func(url string) error {
	return store.Migrate(context.Background(), store.Options{DatabaseURL: url})
}}

// Folder returns a data folder with an SQLite database.
func Folder(t testing.TB) string {
	t.Helper()
	folder := t.TempDir()
	Fill(t, folder)
	return folder
}

// Fill puts an SQLite database into a data folder of the test's own.
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
	// The last connection to go has moved the whole log into the file.
	return os.ReadFile(filepath.Join(folder, store.FileName))
})
