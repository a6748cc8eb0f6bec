// Package fair shares out costly work, such as rendering a text or hashing a password, so that one
// tenant's demand does not delay the others:
//
//	            tenant a        tenant b        tenant c
//	wait        a3 a4 a5        b2                            each in the order of arrival
//	have a turn [a2]            [b1]
//	            \____ Places in all, Each for one tenant ____/
//
// The next turn goes to the waiting tenant that has used least, in the cost that callers name. So a
// tenant that asks seldom is served before one that asks all the time, however many requests the
// latter has waiting. A caller that would wait in too long a queue is refused at once, and no caller
// waits longer than Wait.
//
// The package knows no tenant: names are strings to it.
package fair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// ErrBusy is returned to a caller that got no turn: too much waits before it, or it waited for
// Limits.Wait. Nothing was done.
var ErrBusy = errors.New("too much work is waiting")

// Limits are the bounds of Turns. Costs are in any unit: 1 for each turn, bytes, nanoseconds.
type Limits struct {
	Places int // turns at once
	Each   int // turns of one name at once
	// Waiting bounds the cost that waits under one name, and AllWaiting under all names together. A
	// name that nothing waits under may have one caller wait at any cost.
	Waiting, AllWaiting int64
	Wait                time.Duration // longest wait of a caller
}

// maxNames is the number of names from which on those without a turn and without waiters are
// forgotten: each counts as one that has used nothing.
const maxNames = 1024

// Turns hands out turns. It is safe for concurrent use.
type Turns struct {
	limits Limits

	mu      sync.Mutex // guards what follows, and all that names and waiters have
	names   map[string]*tenant
	held    int   // turns at the moment
	waiting int64 // the cost that waits, of all names
	arrived int64 // waiters so far
	refused uint64
	// start is the use at which the latest turn began. A name that was forgotten begins with it, so
	// that it gains nothing by having been away.
	start int64
}

// tenant is the account of one name.
type tenant struct {
	used    int64 // the cost of its turns, counted on from start
	held    int
	waiting int64 // the cost of its waiters
	waiters []*waiter
}

// waiter is a call of Take that waits.
type waiter struct {
	cost    int64
	order   int64         // number in the order of arrival
	settled chan struct{} // closed when it has its turn, or was refused
	refused bool          // set before settled is closed
}

// New returns Turns within these limits.
func New(l Limits) *Turns { return &Turns{limits: l, names: map[string]*tenant{}} }

// Take blocks until the name has a turn, which ends with done; done must be called once. It returns
// ErrBusy, or the cause of ctx wrapped, for a caller that gets none.
func (t *Turns) Take(ctx context.Context, name string, cost int64) (done func(), err error) {
	w, err := t.join(name, cost)
	if err == nil && w != nil {
		err = t.await(ctx, name, w)
	}
	if err == nil {
		return func() { t.end(name) }, nil
	}
	if errors.Is(err, ErrBusy) {
		t.mu.Lock()
		t.refused++
		t.mu.Unlock()
	}
	return nil, err
}

// Load returns the number of turns that are under way, and of callers that wait.
func (t *Turns) Load() (turns, waiters int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, own := range t.names {
		waiters += len(own.waiters)
	}
	return t.held, waiters
}

// Refused returns the number of callers that got ErrBusy.
func (t *Turns) Refused() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refused
}

// join begins a turn, and returns nil, or adds a waiter.
func (t *Turns) join(name string, cost int64) (*waiter, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.tenant(name)
	if t.held < t.limits.Places && own.held < t.limits.Each && len(own.waiters) == 0 {
		t.begin(own, cost)
		return nil, nil
	}
	if len(own.waiters) > 0 && own.waiting+cost > t.limits.Waiting || !t.makeRoom(own, cost) {
		return nil, ErrBusy
	}
	t.arrived++
	w := &waiter{cost: cost, order: t.arrived, settled: make(chan struct{})}
	own.waiters = append(own.waiters, w)
	own.waiting += cost
	t.waiting += cost
	return w, nil
}

// tenant returns the account of a name. A name that is not known begins with what the others have
// used.
func (t *Turns) tenant(name string) *tenant {
	own := t.names[name]
	if own == nil {
		if len(t.names) >= maxNames {
			for n, idle := range t.names {
				if idle.held == 0 && len(idle.waiters) == 0 {
					delete(t.names, n)
				}
			}
		}
		own = &tenant{}
		t.names[name] = own
	}
	if own.held == 0 && len(own.waiters) == 0 {
		own.used = max(own.used, t.start)
	}
	return own
}

// begin gives a turn.
func (t *Turns) begin(own *tenant, cost int64) {
	t.held++
	own.held++
	t.start = max(t.start, own.used)
	own.used += cost
}

// makeRoom reports whether there is room for one more waiter of own. Where there is none, the callers
// that would be served last are refused, as long as they are served later than the new one would be.
func (t *Turns) makeRoom(own *tenant, cost int64) bool {
	for t.waiting > 0 && t.waiting+cost > t.limits.AllWaiting {
		var last *tenant
		for _, other := range t.names {
			if len(other.waiters) > 0 && (last == nil || other.used+other.waiting > last.used+last.waiting) {
				last = other
			}
		}
		if last == own || last.used+last.waiting <= own.used+own.waiting+cost {
			return false
		}
		w := last.waiters[len(last.waiters)-1]
		w.refused = true
		t.drop(last, w)
		close(w.settled)
	}
	return true
}

// await blocks until w has its turn, or returns why it gets none.
func (t *Turns) await(ctx context.Context, name string, w *waiter) error {
	timeout := time.NewTimer(t.limits.Wait)
	defer timeout.Stop()
	err := ErrBusy
	select {
	case <-w.settled:
	case <-timeout.C:
	case <-ctx.Done():
		err = fmt.Errorf("wait for a turn: %w", context.Cause(ctx))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-w.settled: // perhaps at the same moment as the others
		if w.refused {
			return ErrBusy
		}
		return nil
	default:
	}
	t.drop(t.names[name], w)
	return err
}

// drop takes w out of the queue.
func (t *Turns) drop(own *tenant, w *waiter) {
	own.waiters = slices.DeleteFunc(own.waiters, func(x *waiter) bool { return x == w })
	own.waiting -= w.cost
	t.waiting -= w.cost
}

// before reports whether own, which has a waiter, is served before other. Of two that have used the
// same, the one that waits longer is.
func (own *tenant) before(other *tenant) bool {
	if own.used != other.used {
		return own.used < other.used
	}
	return own.waiters[0].order < other.waiters[0].order
}

// end takes a turn back, and hands it on.
func (t *Turns) end(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held--
	t.names[name].held--
	for t.held < t.limits.Places {
		var next *tenant
		for _, own := range t.names {
			if len(own.waiters) > 0 && own.held < t.limits.Each && (next == nil || own.before(next)) {
				next = own
			}
		}
		if next == nil {
			break
		}
		w := next.waiters[0]
		t.drop(next, w)
		t.begin(next, w.cost)
		close(w.settled)
	}
	if t.held == 0 {
		t.start = 0
		clear(t.names)
	}
}
