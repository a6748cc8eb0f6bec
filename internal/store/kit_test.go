package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
)

// openTest returns a migrated store that is closed when the test ends.
func openTest(t testing.TB, o Options) *Store {
	t.Helper()
	if err := Migrate(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	s, err := Open(context.Background(), o)
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

// Fixtures of this package's tests.
const (
	theWorkspace = sheaf.WorkspaceID("0198c0de-0000-7000-8000-000000000001")
	theUser      = sheaf.UserID("0198c0de-0000-7000-8000-000000000002")
	theKey       = sheaf.KeyID("0198c0de-0000-7000-8000-000000000003")
)

func testWorkspace(id sheaf.WorkspaceID) sheaf.Workspace {
	return sheaf.Workspace{ID: id, Name: "Acme", Plan: sheaf.Pro, CreatedAt: time.UnixMilli(1).UTC(), Version: 1}
}

func put(t testing.TB, s *Store, w sheaf.Workspace) {
	t.Helper()
	if err := s.Write(context.Background(), func(tx *Tx) error { return tx.InsertWorkspace(w) }); err != nil {
		t.Fatal(err)
	}
}

func addKey(t testing.TB, s *Store, hash sheaf.KeyHash) {
	t.Helper()
	err := s.Write(context.Background(), func(tx *Tx) error {
		u := sheaf.User{ID: theUser, Name: "Ada", CreatedAt: time.UnixMilli(1)}
		k := sheaf.Key{ID: theKey, Name: "ci", Scopes: sheaf.AllScopes, UserID: theUser, CreatedAt: time.UnixMilli(1), Number: 1}
		return errors.Join(tx.InsertUser(u), tx.InsertKey(theWorkspace, k, hash))
	})
	if err != nil {
		t.Fatal(err)
	}
}
