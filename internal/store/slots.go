package store

import (
	"context"
	"sync"
	"time"

	"sheaf.dev/internal/sheaf"
)

const (
	// slotWait bounds how long a call waits for its own workspace's earlier ones.
	slotWait = 10 * time.Second
	// lateAfter and maxQueue tell a crowd from a few who are patient: behind
	// maxQueue others of whom one waits longer than lateAfter, nobody waits.
	lateAfter = 250 * time.Millisecond
	maxQueue  = 64
	// readWait bounds how long a read waits for a connection.
	readWait = 10 * time.Second
)

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
	users  int // who have a place or wait for one
	late   int // those of them who have waited for long
}

func newSlots(most int) *slots {
	return &slots{most: max(1, most), by: map[sheaf.WorkspaceID]*slot{}}
}

// errBusy has no cause: the log need not hear of each.
var errBusy = &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: 2 * time.Second,
	Text: "this workspace has more requests under way than can be served, nothing was done: repeat the request after the seconds that Retry-After names"}

// take waits for a place of the workspace; the function that it returns gives
// it back. In a crowd that moves slowly it refuses at once.
func (s *slots) take(ctx context.Context, ws sheaf.WorkspaceID) (leave func(), err error) {
	own, ok := s.enter(ws)
	if !ok {
		return nil, errBusy
	}
	leave = func() {
		<-own.places
		s.leave(ws, own)
	}
	select {
	case own.places <- struct{}{}:
		return leave, nil
	default:
	}
	if err = s.wait(ctx, own); err == nil {
		return leave, nil
	}
	s.leave(ws, own)
	return nil, err
}

func (s *slots) wait(ctx context.Context, own *slot) error {
	late := time.AfterFunc(lateAfter, func() { s.noteLate(own, 1) })
	defer func() {
		if !late.Stop() {
			s.noteLate(own, -1)
		}
	}()
	timeout := time.NewTimer(slotWait)
	defer timeout.Stop()
	select {
	case own.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return sheaf.UnavailableError(ctx.Err())
	case <-timeout.C:
		return errBusy
	}
}

func (s *slots) noteLate(own *slot, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own.late += n
}

func (s *slots) enter(ws sheaf.WorkspaceID) (own *slot, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own = s.by[ws]
	if own != nil && own.late > 0 && own.users >= s.most+maxQueue {
		return nil, false
	}
	if own == nil {
		own = &slot{places: make(chan struct{}, s.most)}
		s.by[ws] = own
	}
	own.users++
	return own, true
}

func (s *slots) leave(ws sheaf.WorkspaceID, own *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(s.by, ws)
	}
}
