package store

import (
	"context"
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
		s := newSlots(1)
		leave, err := s.take(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		waited := make(chan error, maxQueue+1)
		wait := func() {
			leave, err := s.take(t.Context(), "a")
			if err == nil {
				leave()
			}
			waited <- err
		}
		for range maxQueue {
			go wait()
		}
		synctest.Wait()
		go wait() // nobody is late yet, so it may wait
		time.Sleep(lateAfter + time.Millisecond)
		if _, err := s.take(t.Context(), "a"); sheaf.KindOf(err) != sheaf.Unavailable {
			t.Errorf("one more got %v, want a refusal", err)
		}
		if other, err := s.take(t.Context(), "b"); err != nil {
			t.Errorf("another workspace got %v", err)
		} else {
			other()
		}
		leave()
		for range maxQueue + 1 {
			if err := <-waited; err != nil {
				t.Errorf("one who waited got %v", err)
			}
		}
		if len(s.by) != 0 {
			t.Errorf("%d workspaces are remembered though nobody is there", len(s.by))
		}
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
