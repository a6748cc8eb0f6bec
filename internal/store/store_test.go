package store_test

import (
	"context"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaf"
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

func openSQLite(t *testing.T) *store.Store {
	return migrated.Open(t, store.Options{Folder: migrated.Folder(t)})
}

func openPostgres(t *testing.T) *store.Store {
	return migrated.Open(t, store.Options{DatabaseURL: migrated.URL(t)})
}

// The writer of SQLite lets workspaces take turns, so every write for a workspace must name it.
func TestWriteIn_NamesTheWorkspace(t *testing.T) {
	t.Parallel()
	o := store.Options{Folder: migrated.Folder(t)}
	if err := store.Migrate(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	var tenants []string
	s, err := store.OpenNaming(o, func(tenant string) { tenants = append(tenants, tenant) })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, write := range []func(context.Context, sheaf.WorkspaceID, store.Sight, func(*store.Tx) error) error{s.WriteIn, s.WriteHeavyIn} {
		if err := write(t.Context(), "ws", store.Everything, func(*store.Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"ws", "ws"}; !slices.Equal(tenants, want) {
		t.Errorf("wrote on behalf of %q, want %q", tenants, want)
	}
}
