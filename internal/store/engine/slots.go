package engine

import (
	"context"
	"sync"
	"time"

	"sheaf.dev/internal/sheaf"
)

const (
	// ReadTurn and WriteTurn bound how long a call waits for its own workspace's
	// earlier ones. A write waits as long for the writer of SQLite.
	ReadTurn  = 10 * time.Second
	WriteTurn = WriteTimeout
	// burst is how many of a workspace wait in any case. Behind more than these
	// nobody waits who would hardly get a place in time: it would be refused in
	// the end, and is better told at once.
	burst = 64
	// quickHold is a time for which a place may be held without telling anything
	// of the next: see hold.
	quickHold = 100 * time.Millisecond
	// readWait bounds how long a read waits for a connection.
	readWait = 10 * time.Second
)

// Slots bounds how many connections one workspace may hold at once, so that its
// long transactions, or those that wait for them, leave some for the others.
type Slots struct {
	most int
	wait time.Duration // who has waited so long is refused
	mu   sync.Mutex    // guards by
	by   map[string]*slot
}

// slot is one workspace's share; it is forgotten when nobody uses it.
type slot struct {
	places chan struct{}
	users  int           // who have a place or wait for one
	held   time.Duration // how long a place is held, of late
}

// NewSlots makes places for most calls of each workspace; who has waited for that
// long is refused.
func NewSlots(most int, wait time.Duration) *Slots {
	return &Slots{most: max(1, most), wait: wait, by: map[string]*slot{}}
}

// errBusy has no cause: the log need not hear of each.
var errBusy = &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: 2 * time.Second,
	Text: "this workspace has more requests under way than can be served, nothing was done: repeat the request after the seconds that Retry-After names"}

// Take waits for a place of the workspace, in the order of coming; the function
// that it returns gives it back. It refuses who has waited for too long, and at
// once who would do so behind more than a burst.
func (s *Slots) Take(ctx context.Context, ws string) (leave func(), err error) {
	own, ok := s.enter(ws)
	if !ok {
		return nil, errBusy
	}
	if err := own.await(ctx, s.wait); err != nil {
		s.leave(ws, own, 0)
		return nil, err
	}
	began := time.Now()
	return func() {
		<-own.places
		s.leave(ws, own, time.Since(began))
	}, nil
}

func (own *slot) await(ctx context.Context, most time.Duration) error {
	select {
	case own.places <- struct{}{}:
		return nil
	default:
	}
	timeout := time.NewTimer(most)
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

func (s *Slots) enter(ws string) (own *slot, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own = s.by[ws]
	if own != nil && own.crowded(s.most, s.wait) {
		return nil, false
	}
	if own == nil {
		own = &slot{places: make(chan struct{}, s.most)}
		s.by[ws] = own
	}
	own.users++
	return own, true
}

// crowded reports whether one more would wait for so long that it had better
// not begin. The estimate may be wrong by a fifth.
func (own *slot) crowded(most int, wait time.Duration) bool {
	before := own.users - most
	return before >= burst && own.held*time.Duration(before)/time.Duration(most) > wait*4/5
}

// leave counts a user out who held a place for that long; 0 had none.
func (s *Slots) leave(ws string, own *slot, held time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held > 0 {
		own.hold(held)
	}
	if own.users--; own.users == 0 {
		delete(s.by, ws)
	}
}

// hold counts how long a place was held. One that a disk delayed for seconds
// says little of the next, so that it takes many of them to raise the average.
func (own *slot) hold(held time.Duration) {
	held = min(held, max(quickHold, 4*own.held))
	own.held += (held - own.held) / 8
}
