package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"sheaf.dev/internal/sheaf"
)

// slotWait bounds how long a call waits for its own workspace's earlier ones.
const slotWait = 10 * time.Second

// slots bounds how many connections one workspace may hold at once, so that its
// long transactions, or those that wait for them, leave some for the others.
type slots struct {
	most int
	mu   sync.Mutex // guards by
	by   map[sheaf.WorkspaceID]*slot
}

// slot is one workspace's share; it is forgotten when nobody uses it.
type slot struct {
	places chan struct{}
	users  int
}

func newSlots(most int) *slots {
	return &slots{most: max(1, most), by: map[sheaf.WorkspaceID]*slot{}}
}

var errBusy = errors.New("the workspace has too many transactions under way")

// take waits for a place of the workspace; the function that it returns gives
// it back.
func (s *slots) take(ctx context.Context, ws sheaf.WorkspaceID) (leave func(), err error) {
	own := s.enter(ws)
	leave = func() {
		<-own.places
		s.leave(ws, own)
	}
	select {
	case own.places <- struct{}{}:
		return leave, nil
	default:
	}
	timeout := time.NewTimer(slotWait)
	defer timeout.Stop()
	select {
	case own.places <- struct{}{}:
		return leave, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timeout.C:
		err = errBusy
	}
	s.leave(ws, own)
	return nil, sheaf.UnavailableError(err)
}

func (s *slots) enter(ws sheaf.WorkspaceID) *slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.by[ws]
	if own == nil {
		own = &slot{places: make(chan struct{}, s.most)}
		s.by[ws] = own
	}
	own.users++
	return own
}

func (s *slots) leave(ws sheaf.WorkspaceID, own *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(s.by, ws)
	}
}
