package app

import (
	"context"
	"sync"
)

// turns lets one request at a time work on a name, such as an upload. A later request interrupts
// the current one and waits until it has ended. The later request is a client that lost its first
// connection, which the server may not have noticed.
type turns struct {
	mu   sync.Mutex // guards held
	held map[string]*turn
}

type turn struct {
	interrupt func()
	over      chan struct{}
}

func newTurns() *turns { return &turns{held: map[string]*turn{}} }

// acquire blocks until no other request works on `name`. release ends the turn. interrupt is called
// whenever another request waits, any number of times.
func (t *turns) acquire(ctx context.Context, name string, interrupt func()) (release func(), err error) {
	mine := &turn{interrupt, make(chan struct{})}
	for {
		other := t.try(name, mine)
		if other == nil {
			return func() { t.end(name, mine) }, nil
		}
		other.interrupt()
		select {
		case <-other.over:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// try takes the turn and returns nil, or returns the turn that is in progress.
func (t *turns) try(name string, mine *turn) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if other := t.held[name]; other != nil {
		return other
	}
	t.held[name] = mine
	return nil
}

func (t *turns) end(name string, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.held, name)
	close(mine.over)
}
