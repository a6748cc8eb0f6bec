package store

import (
	"context"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
)

// A node that has lost its connection, and with it the turn to sweep, may still delete events while another
// begins: their bytes are given back once.
func TestDeleteEvents_TwoSweepersGiveBytesBackOnce(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{DatabaseURL: pgtest.URL(t)})
	put(t, s, testWorkspace(theWorkspace))
	write(t, s, func(tx *Tx) error {
		w, err := tx.LockWorkspace(theWorkspace)
		if err != nil {
			return err
		}
		err = tx.AppendEvents(&w, []sheaf.Event{{ID: "evt_0198c0de-0000-7000-8000-000000000001", Type: sheaf.ProjectCreated,
			ResourceID: "0198c0de-0000-7000-8000-000000000077", At: time.UnixMilli(1), Body: []byte("{}"), Reported: true}})
		if err != nil {
			return err
		}
		return tx.SaveWorkspace(w)
	})
	deleted, other := make(chan struct{}), make(chan error, 1)
	go func() {
		<-deleted
		other <- s.Write(context.Background(), func(tx *Tx) error {
			_, err := tx.DeleteEvents(theWorkspace, 1, 1)
			return err
		})
	}()
	write(t, s, func(tx *Tx) error {
		_, err := tx.DeleteEvents(theWorkspace, 1, 1)
		close(deleted)
		sheaftest.Eventually(t, "the other sweeper waits for this one", func() bool { return waitsForALock(t, s) })
		return err
	})
	if err := <-other; err != nil {
		t.Fatal(err)
	}
	err := s.Read(context.Background(), func(r *Reader) error {
		w, err := r.Workspace(theWorkspace)
		if w.Kept != 0 {
			t.Errorf("the workspace keeps %d bytes, want 0", w.Kept)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
