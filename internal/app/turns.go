package app

import (
	"context"
	"sync"
)

// turns lets one request at a time go on with something. Who comes later interrupts who is there, and
// waits until that one has put down what it had: a client that comes again has lost its first
// connection, which the service may not have noticed.
type turns struct {
	mu   sync.Mutex // guards held
	held map[string]*turn
}

type turn struct {
	interrupt func()
	over      chan struct{}
}

func newTurns() *turns { return &turns{held: map[string]*turn{}} }

// take returns when nobody else is at it, and the function that ends the turn. interrupt is called
// when somebody else waits, any number of times.
func (t *turns) take(ctx context.Context, name string, interrupt func()) (release func(), err error) {
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

// try takes the turn, or returns whose it is.
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
