package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sheaf.dev/internal/sheaf"
)

func TestSlots_OneWorkspaceLeavesRoomForAnother(t *testing.T) {
	t.Parallel()
	s := NewSlots(2, ReadTurn)
	ctx, cancel := context.WithCancel(context.Background())
	var leave []func()
	for range 2 {
		l, err := s.Acquire(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, l)
	}
	third := make(chan error)
	go func() {
		_, err := s.Acquire(ctx, "a")
		third <- err
	}()
	other, err := s.Acquire(context.Background(), "b")
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
		t.Errorf("%d workspaces are remembered though no request is there", len(s.by))
	}
}

// D19: clients of one workspace that ask again as soon as they are answered wait for their turn, though each write
// holds its place for 140 ms, as four do that wait for each other's commit on a slow disk.
func TestSlots_ManyClientsOfOneWorkspaceWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	for _, clients := range []int{64, 200} {
		synctest.Test(t, func(t *testing.T) {
			s := NewSlots(4, ReadTurn)
			var wg sync.WaitGroup
			for range clients {
				wg.Go(func() {
					for range 20 {
						began := time.Now()
						leave, err := s.Acquire(t.Context(), "a")
						if err != nil {
							t.Errorf("one of %d was refused after %v: %v", clients, time.Since(began), err)
							return
						}
						time.Sleep(140 * time.Millisecond) // simulated
						leave()
					}
				})
			}
			wg.Wait()
		})
	}
}

// A disk that stalls for seconds is no reason to refuse later calls.
func TestSlots_AStallRefusesNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(4, ReadTurn)
		stall := time.Now().Add(5 * time.Second)
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				for range 200 {
					leave, err := s.Acquire(t.Context(), "a")
					if err != nil {
						t.Errorf("refused %v after the stall: %v", time.Since(stall), err)
						return
					}
					time.Sleep(10 * time.Millisecond) // simulated
					if now := time.Now(); now.After(stall) && now.Before(stall.Add(6*time.Second)) {
						time.Sleep(time.Until(stall.Add(6 * time.Second))) // simulated
					}
					leave()
				}
			})
		}
		wg.Wait()
	})
}

func TestSlots_WhoWouldBeRefusedLateIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(2, ReadTurn)
		work := func() error {
			leave, err := s.Acquire(t.Context(), "a")
			if err == nil {
				time.Sleep(400 * time.Millisecond) // simulated
				leave()
			}
			return err
		}
		var waited sync.WaitGroup
		var refused atomic.Int64
		for range 2000 { // 100 per second; 5 can be served
			waited.Go(func() {
				began := time.Now()
				if err := work(); err == nil {
					return
				}
				refused.Add(1)
				if took := time.Since(began); took > 0 && took < ReadTurn {
					t.Errorf("refused after %v, want at once or after %v", took, ReadTurn)
				}
			})
			time.Sleep(10 * time.Millisecond) // simulated
		}
		s.mu.Lock()
		users := s.by["a"].users
		s.mu.Unlock()
		if users > burst+20 || refused.Load() < 1500 {
			t.Errorf("%d wait, and %d of 2000 were refused", users, refused.Load())
		}
		if other, err := s.Acquire(t.Context(), "b"); err != nil {
			t.Errorf("another workspace got %v", err)
		} else {
			other()
		}
		waited.Wait()
		if len(s.by) != 0 {
			t.Errorf("%d workspaces are remembered though no request is there", len(s.by))
		}
	})
}

func TestSlots_AQuickCrowdWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(2, ReadTurn)
		var waited sync.WaitGroup
		for range 1000 {
			waited.Go(func() {
				for range 3 {
					leave, err := s.Acquire(t.Context(), "a")
					if err != nil {
						t.Error(err)
						return
					}
					time.Sleep(time.Millisecond) // simulated
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
		s := NewSlots(1, ReadTurn)
		leave, err := s.Acquire(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(ReadTurn-time.Millisecond, leave)
		second, err := s.Acquire(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Acquire(t.Context(), "a"); sheaf.KindOf(err) != sheaf.Unavailable {
			t.Errorf("the third got %v after %v", err, ReadTurn)
		}
		second()
	})
}
