package engine

import (
	"context"
	"sync"
	"time"

	"sheaf.dev/internal/sheaf"
)

const (
	// ReadTurn and WriteTurn are how long a call waits for earlier calls of its own workspace. A
	// write waits as long for SQLite's writer.
	ReadTurn  = 10 * time.Second
	WriteTurn = WriteTimeout
	// burst is the number of calls of a workspace that may always wait. A call behind more than
	// these is refused at once if it would hardly get a place in time: it would be refused in the
	// end anyway.
	burst = 64
	// quickHold limits what one call counts in the average: at most this, or four times the average
	// if that is more. See learn.
	quickHold = 100 * time.Millisecond
	// readWait is the longest time that a read waits for a connection.
	readWait = 10 * time.Second
)

// Slots limits the connections that one workspace can hold at once. So its long transactions, or
// those that wait for its locked row, leave some for the others:
//
//	              workspace A                 workspace B
//	wait          a5 a6 a7 ...                                    each workspace waits for its own
//	have a place  [a1] [a2] [a3] [a4]         [b1] [  ] [  ] [  ]
//	              \____ most ____/
//	                            connections of the engine
//
// A place is not a connection: it is the permission to ask for one.
type Slots struct {
	most int           // places per workspace
	wait time.Duration // a call that has waited this long is refused
	mu   sync.Mutex    // guards by, and users and held of every slot
	by   map[string]*slot
}

// slot is the places of one workspace. It is dropped when no call uses it.
type slot struct {
	places chan struct{} // has one value for each place held
	users  int           // calls that hold or wait for a place
	held   time.Duration // moving average of how long a place is held
}

// NewSlots returns Slots with `most` places per workspace. A call that waits longer than `wait` is
// refused.
func NewSlots(most int, wait time.Duration) *Slots {
	return &Slots{most: max(1, most), wait: wait, by: map[string]*slot{}}
}

// errBusy has no cause, so that it is not logged: a crowd of refused calls would fill the log.
var errBusy = &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: 2 * time.Second,
	Text: "this workspace has too many requests in progress, and nothing was done: repeat the request after the seconds in Retry-After"}

// Acquire waits for a place of the workspace, first come, first served. The caller must call leave
// to give it back. It returns Unavailable if the wait takes too long; or at once if more than
// `burst` calls wait and the wait would take too long.
func (s *Slots) Acquire(ctx context.Context, ws string) (leave func(), err error) {
	own, ok := s.join(ws)
	if !ok {
		return nil, errBusy
	}
	if err := own.await(ctx, s.wait); err != nil {
		s.release(ws, own, 0)
		return nil, err
	}
	began := time.Now()
	return func() {
		<-own.places
		s.release(ws, own, time.Since(began))
	}, nil
}

// join counts a call, or returns false if the call should not wait.
func (s *Slots) join(ws string) (own *slot, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own = s.by[ws]
	if own == nil {
		own = &slot{places: make(chan struct{}, s.most)}
		s.by[ws] = own
	}
	// The estimate of the wait may be off by a fifth.
	before := own.users - s.most
	if before >= burst && own.held*time.Duration(before)/time.Duration(s.most) > s.wait*4/5 {
		return nil, false
	}
	own.users++
	return own, true
}

// await waits for a place for at most `most`.
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

// release uncounts a call that held a place for `held`; 0 if it got none.
func (s *Slots) release(ws string, own *slot, held time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held > 0 {
		// Limit the effect on the moving average: one call that a disk delayed for seconds says little about
		// the next, so it takes many of them to raise the average.
		held = min(held, max(quickHold, 4*own.held))
		own.held += (held - own.held) / 8
	}
	if own.users--; own.users == 0 {
		delete(s.by, ws)
	}
}
