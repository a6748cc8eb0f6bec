package doctor_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/backup"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

func copyOf(t *testing.T, s *store.Store) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := backup.Write(context.Background(), s, &b, nil); err != nil {
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
