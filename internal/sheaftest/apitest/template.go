package apitest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/store"
)

// copies are the PostgreSQL databases of the tests.
var copies = pgtest.Copies{Prepare: func(url string) error {
	return store.Migrate(context.Background(), store.Options{DatabaseURL: url})
}}

// sqliteFile returns the bytes of a migrated, empty database.
var sqliteFile = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "sheaf-apitest-")
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

// sqliteFolder returns a data folder of the test's own, with such a database.
func sqliteFolder(t testing.TB) string {
	t.Helper()
	file, err := sqliteFile()
	if err != nil {
		t.Fatalf("prepare the template of the tests' databases: %v", err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, store.FileName), file, 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}
