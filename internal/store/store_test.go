package store_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/migrated"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

// The suite also collects the statements that the store runs: none may span workspaces
// (distribute_test.go).
func TestStore_SQLite(t *testing.T) {
	all := &asked{statements: map[string]bool{}}
	t.Run("suite", func(t *testing.T) { storetest.Run(t, all.open) })
	t.Run("statements", all.stayInAWorkspace)
}

func TestStore_PostgreSQL(t *testing.T) { storetest.Run(t, openPostgres) }

func openSQLite(t *testing.T) *store.Store { return open(t, store.Options{Folder: migrated.Folder(t)}) }

func openPostgres(t *testing.T) *store.Store {
	return open(t, store.Options{DatabaseURL: migrated.URL(t)})
}

// open returns a migrated store that is closed when the test ends.
func open(t testing.TB, o store.Options) *store.Store {
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
