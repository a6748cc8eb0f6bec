package doctor_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

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

func backup(t *testing.T, s *store.Store) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := s.Backup(context.Background(), &b, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fill writes a project, in a workspace of its own.
func fill(t *testing.T, s *store.Store) {
	t.Helper()
	err := s.Write(context.Background(), func(tx *store.Tx) error {
		w := sheaf.Workspace{ID: "0190b0a0-0000-7000-8000-000000000001", Name: "Acme", Plan: sheaf.Pro}
		return errors.Join(tx.InsertWorkspace(w), tx.InsertProject(w.ID, sheaf.Project{ID: "0190b0a0-0000-7000-8000-000000000002", Name: "P", Visibility: sheaf.Private, Number: 1}))
	})
	if err != nil {
		t.Fatal(err)
	}
}
