package engine

import (
	"context"
	"sync"
	"time"

	"sheaf.dev/internal/sheaf"
)

const (
	// ReadTurn and WriteTurn bound how long a call waits for its own workspace's earlier ones. A
	// write waits as long for the writer of SQLite.
	ReadTurn  = 10 * time.Second
	WriteTurn = WriteTimeout
	// burst is how many calls of a workspace may wait in any case. Who would come behind more than
	// these, and would hardly get a place in time, is refused at once: it would be refused in the
	// end, and is better told now.
	burst = 64
	// quickHold is a time for which a place may be held without telling anything of the next call:
	// see learn.
	quickHold = 100 * time.Millisecond
	// readWait bounds how long a read waits for a connection.
	readWait = 10 * time.Second
)

// Slots bounds how many connections one workspace may hold at once, so that its long transactions,
// or those that wait for its locked row, leave some for the others:
//
//	              workspace A                 workspace B
//	wait          a5 a6 a7 ...                                    each workspace waits for its own
//	have a place  [a1] [a2] [a3] [a4]         [b1] [  ] [  ] [  ]
//	              \____ most ____/
//	                            connections of the engine
//
// A place is no connection: it is the permission to ask for one.
type Slots struct {
	most int           // places of each workspace
	wait time.Duration // whoever has waited so long for a place is refused
	mu   sync.Mutex    // guards by, and of every slot users and held
	by   map[string]*slot
}

// slot is one workspace's share. It is forgotten when nobody uses it.
type slot struct {
	places chan struct{} // as many values as places are held
	users  int           // calls that hold a place, and calls that wait for one
	held   time.Duration // how long a place is held, on average of late
}

// NewSlots makes so many places for each workspace; whoever has waited for that long is refused.
func NewSlots(most int, wait time.Duration) *Slots {
	return &Slots{most: max(1, most), wait: wait, by: map[string]*slot{}}
}

// errBusy has no cause, so that the log does not get a line for each: a crowd would fill it.
var errBusy = &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: 2 * time.Second,
	Text: "this workspace has more requests under way than can be served, nothing was done: repeat the request after the seconds that Retry-After names"}

// Acquire waits for a place of the workspace, in the order of coming; the function that it returns
// gives the place back. It refuses with Unavailable whoever has waited for too long, and at once
// whoever would do so behind more than a burst.
func (s *Slots) Acquire(ctx context.Context, ws string) (leave func(), err error) {
	own, ok := s.join(ws)
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

// join counts a call in, and returns false when the call had better not wait.
func (s *Slots) join(ws string) (own *slot, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own = s.by[ws]
	if own == nil {
		own = &slot{places: make(chan struct{}, s.most)}
		s.by[ws] = own
	}
	// The estimate of the wait may be wrong by a fifth.
	before := own.users - s.most
	if before >= burst && own.held*time.Duration(before)/time.Duration(s.most) > s.wait*4/5 {
		return nil, false
	}
	own.users++
	return own, true
}

// await waits for a place for so long at most.
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

// leave counts a call out that held a place for that long; 0 had none.
func (s *Slots) leave(ws string, own *slot, held time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held > 0 {
		own.learn(held)
	}
	if own.users--; own.users == 0 {
		delete(s.by, ws)
	}
}

// learn adds to the average how long a place was held. One that a disk delayed for seconds says
// little of the next, so that it takes many of them to raise the average.
func (own *slot) learn(held time.Duration) {
	held = min(held, max(quickHold, 4*own.held))
	own.held += (held - own.held) / 8
}
