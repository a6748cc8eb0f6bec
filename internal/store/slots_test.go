package store

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sheaf.dev/internal/sheaf"
)

func TestSlots_OneWorkspaceLeavesRoomForAnother(t *testing.T) {
	t.Parallel()
	s := newSlots(2)
	ctx, cancel := context.WithCancel(context.Background())
	var leave []func()
	for range 2 {
		l, err := s.take(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, l)
	}
	third := make(chan error)
	go func() {
		_, err := s.take(ctx, "a")
		third <- err
	}()
	other, err := s.take(context.Background(), "b")
	if err != nil {
		t.Fatalf("another workspace waits: %v", err)
	}
	other()
	cancel()
	if err := <-third; sheaf.KindOf(err) != sheaf.Unavailable {
		t.Errorf("the third got %v", err)
	}
	for _, l := range leave {
		l()
	}
	if len(s.by) != 0 {
		t.Errorf("%d workspaces are remembered though nobody is there", len(s.by))
	}
}

func TestSlots_ASlowCrowdIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2)
		work := func() error {
			leave, err := s.take(t.Context(), "a")
			if err == nil {
				time.Sleep(400 * time.Millisecond)
				leave()
			}
			return err
		}
		var waited sync.WaitGroup
		for range 32 { // nobody knows yet how slow it is
			waited.Go(func() {
				if err := work(); err != nil {
					t.Errorf("one who waited got %v", err)
				}
			})
		}
		time.Sleep(3 * time.Second)
		began := time.Now()
		if err := work(); sheaf.KindOf(err) != sheaf.Unavailable || time.Since(began) > 0 {
			t.Errorf("one more got %v after %v, want a refusal at once", err, time.Since(began))
		}
		if other, err := s.take(t.Context(), "b"); err != nil {
			t.Errorf("another workspace got %v", err)
		} else {
			other()
		}
		time.Sleep(2 * time.Second) // no more than fewWait are left
		if err := work(); err != nil {
			t.Errorf("one behind a few got %v", err)
		}
		waited.Wait()
		if len(s.by) != 0 {
			t.Errorf("%d workspaces are remembered though nobody is there", len(s.by))
		}
	})
}

func TestSlots_AQuickCrowdWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2)
		var waited sync.WaitGroup
		for range 1000 {
			waited.Go(func() {
				for range 3 {
					leave, err := s.take(t.Context(), "a")
					if err != nil {
						t.Error(err)
						return
					}
					time.Sleep(time.Millisecond)
					leave()
				}
			})
		}
		waited.Wait()
	})
}

func TestSlots_AFewWaitForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		leave, err := s.take(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(slotWait-time.Millisecond, leave)
		second, err := s.take(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.take(t.Context(), "a"); sheaf.KindOf(err) != sheaf.Unavailable {
			t.Errorf("the third got %v after %v", err, slotWait)
		}
		second()
	})
}
