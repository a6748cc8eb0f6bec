package store

import (
	"context"
	"testing"

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
