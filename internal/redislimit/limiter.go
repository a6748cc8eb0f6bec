// Package redislimit is the rate limit over several nodes: the exact sliding window of ratewindow,
// kept in Redis. When Redis cannot be asked, each node goes on alone with its share of the limit,
// and returns by itself. A request is never failed and never admitted without a limit because of
// Redis.
//
// What holds, for N requests a minute on k nodes, be N the limit of a key or the ceiling of a group
// of keys:
//
//   - While Redis works: in no 60 seconds are more than N admitted over all nodes, by Redis' clock;
//     refused requests do not count.
//   - Without Redis: each node admits at most max(1, N/k) in 60 seconds. Its admissions before
//     the loss count. k is the number of nodes it last saw, or 1 if it never reached Redis. The
//     minute in which Redis is lost, or in which the nodes return one after the other, holds at
//     most 2N: N by Redis, N/k by each other node alone.
//   - When Redis has lost its data (a restart, FLUSHALL, an older replica), which a node notices
//     within a second, it asks Redis and keeps to its share beside it for a minute: then Redis
//     knows of every admission that counts. That minute too holds at most 2N. k does not fall in it.
//   - A request whose answer was lost on the way counts in Redis and may be admitted alone: then
//     less is admitted later, never more.
//   - Whatever Redis says, one node admits no more than N in 59.5 seconds. If Redis evicts keys for
//     want of memory, or its clock jumps ahead, that is all that holds. A clock that is set back
//     only holds slots for longer, by a minute at most.
//
// How a request is decided:
//
//	Redis is lost            the node's own window, with its share of the limit
//	Redis has lost its data  the node's own window, with its share of the limit, and then Redis
//	else                     the node's own window, with the whole limit and half a second early, and then Redis
//
// The package must not know what a key or a plan is.
package redislimit

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sheaf.dev/internal/ratewindow"
)

const (
	budget = 250 * time.Millisecond // timeout of one request to Redis; a busy machine sometimes stalls for 100 ms

	beatEvery = time.Second
	aliveFor  = 5 * time.Second // a node counts as alive after its last beat
	keptFor   = 3 * time.Minute // Redis remembers a beat; longer than any admission, see sync

	// While Redis is lost, Run tries to reach it after the first of these, and then after twice as
	// long each time, up to the last. Once it was there for stableAfter, it begins anew.
	firstProbe, lastProbe = 100 * time.Millisecond, time.Second
	stableAfter           = 10 * time.Second

	sweepEvery = time.Minute
)

// Config is what a Limiter needs.
type Config struct {
	// URL is the address of Redis: redis://[user:password@]host[:port][/database], or rediss:// for
	// TLS. With Sentinel: see sentinel.go.
	URL string
	// NodeID tells this process from all others that use the same Redis.
	NodeID string
	Log    *slog.Logger
	// Now is the clock that Admit's callers read, with a monotonic reading.
	Now func() time.Time
}

// State is the state of a Limiter, for logs and metrics.
type State struct {
	// Degraded is true while the node counts alone.
	Degraded bool
	// Since is when that began or ended.
	Since time.Time
	// Nodes is how many nodes were last seen, this one included; at least 1.
	Nodes int
	// Losses is how often Redis was lost.
	Losses uint64
}

// Limiter admits requests by key, over all nodes. Its methods may be called concurrently.
type Limiter struct {
	Config
	window time.Duration // a minute, except in tests
	budget time.Duration // timeout of one request to Redis

	// local has all admissions of this node. Without Redis it decides alone; with it, it may veto
	// what Redis admits.
	local *ratewindow.Window

	server atomic.Pointer[server] // nil while Redis is lost
	lost   chan struct{}          // wakes Run when the connection is lost

	mu          sync.Mutex // guards all below
	state       State
	lastBeat    int64     // by Redis' clock, 0 before the first
	sharesUntil time.Time // until then Redis, which lost its data, does not know of every admission that counts
}

// New returns a Limiter, whose Run keeps it going. The error is for the person who gave the URL.
// That Redis cannot be reached is none: the Limiter then begins degraded. It blocks for at most
// half a second, and for a quarter more for each Sentinel that does not answer.
func New(c Config) (*Limiter, error) { return newLimiter(c, time.Minute, budget) }

func newLimiter(c Config, window, budget time.Duration) (*Limiter, error) {
	if err := checkURL(c.URL); err != nil {
		return nil, err
	}
	if c.NodeID == "" || c.Log == nil || c.Now == nil {
		return nil, errors.New("redislimit: NodeID, Log and Now must be given")
	}
	l := &Limiter{Config: c, window: window, budget: budget, local: ratewindow.NewOf(window), lost: make(chan struct{}, 1)}
	l.state = State{Nodes: 1, Since: c.Now()}
	if err := l.reach(); err != nil {
		l.lose(nil, err)
	}
	return l, nil
}

// Admit decides on a request of the key, in its group if it has one, and, if it is admitted, counts
// it, as ratewindow's AdmitIn does. It blocks for as long as Redis takes to answer; when Redis does
// not, for 250 ms, and not at all until Run has reached it again. A client that goes away does not
// end the wait, since that would look like a lost Redis.
func (l *Limiter) Admit(_ context.Context, key string, limit int, in ratewindow.Group, now time.Time) ratewindow.Decision {
	return l.admit(question{key, limit, 0, in}, now)
}

// AdmitMore takes `more` further slots for an admitted request that costs several: all or none, as
// ratewindow's AdmitMore does.
func (l *Limiter) AdmitMore(_ context.Context, key string, limit, more int, in ratewindow.Group, now time.Time) ratewindow.Decision {
	return l.admit(question{key, limit, more, in}, now)
}

// question is what a request wants.
type question struct {
	key   string
	limit int
	more  int // slots beside the one that it has; 0: it has none, and wants one
	in    ratewindow.Group
}

// slots is how many are to be taken together.
func (q question) slots() int { return max(q.more, 1) }

// whole is how many the request needs if it is made again.
func (q question) whole() int { return q.more + 1 }

// of decides by a window. One that is asked early counts a slot as free that soon will be.
func (q question) of(w *ratewindow.Window, now time.Time, early time.Duration) ratewindow.Decision {
	if q.more > 0 {
		return w.AdmitMoreEarly(q.key, q.limit, q.more, q.in, now, early)
	}
	return w.AdmitEarly(q.key, q.limit, q.in, now, early)
}

// peek says what of would, and takes nothing.
func (q question) peek(w *ratewindow.Window, now time.Time, early time.Duration) ratewindow.Decision {
	if q.more > 0 {
		return w.PeekMoreEarly(q.key, q.limit, q.more, q.in, now, early)
	}
	return w.PeekEarly(q.key, q.limit, q.in, now, early)
}

func (l *Limiter) admit(q question, now time.Time) ratewindow.Decision {
	if q.limit <= 0 {
		return ratewindow.Decision{Admitted: true}
	}
	server := l.server.Load()
	if server == nil {
		return l.admitAlone(q, now)
	}
	if l.sharing(now) {
		return l.admitSharing(server, q, now)
	}
	// The local window hears of an admission later than Redis made it, by as long as the answer
	// took: to the instant it would refuse what is right. A request that it refuses even so, Redis
	// would refuse too, or has lost its data.
	early := l.window / 120
	if d := q.peek(l.local, now, early); !d.Admitted {
		return d
	}
	a, err := server.ask(q)
	if err != nil {
		l.lose(server, err)
		return l.admitAlone(q, l.Now())
	}
	if a.admitted {
		if d := q.of(l.local, l.Now(), early); !d.Admitted {
			return d // others took the last slots since it was peeked at
		}
	}
	return a.decision(q)
}

// admitSharing decides by this node's share of the limits, and then by Redis.
func (l *Limiter) admitSharing(server *server, q question, now time.Time) ratewindow.Decision {
	d := l.admitAlone(q, now)
	if !d.Admitted {
		return d
	}
	a, err := server.ask(q)
	switch {
	case err != nil:
		l.lose(server, err)
		return d
	case !a.admitted:
		return a.decision(q)
	}
	return d.Within(a.decision(q))
}

// decision says of a request what ratewindow would.
func (a admission) decision(q question) ratewindow.Decision {
	d := a.key.decision(a.admitted, q.limit, q.slots())
	if q.in.Ceiling > 0 {
		d = d.Within(a.group.decision(a.admitted, q.in.Ceiling, q.slots()))
	}
	return d
}

// decision says of one window what ratewindow would, and rounds as it does. A window that has the
// slots left did not refuse the request: another one did.
func (f fill) decision(admitted bool, limit, slots int) ratewindow.Decision {
	d := ratewindow.Decision{Admitted: admitted || f.count+slots <= limit, Limit: limit, Remaining: max(limit-f.count, 0)}
	wait := int((f.wait + time.Second - 1) / time.Second)
	if d.Remaining == 0 {
		d.Reset = wait
	}
	if !d.Admitted {
		d.RetryAfter = max(wait, 1)
	}
	return d
}

// admitAlone decides without Redis, within this node's share of the limits.
func (l *Limiter) admitAlone(q question, now time.Time) ratewindow.Decision {
	q.limit, q.in = l.share(q.limit, q.in)
	return q.of(l.local, now, 0)
}

// share is what this node may admit without knowing of the others.
func (l *Limiter) share(limit int, in ratewindow.Group) (int, ratewindow.Group) {
	nodes := l.State().Nodes
	if in.Ceiling > 0 {
		in.Ceiling = max(1, in.Ceiling/nodes)
	}
	return max(1, limit/nodes), in
}

// sharing reports whether Redis has lost its data within the last minute.
func (l *Limiter) sharing(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Before(l.sharesUntil)
}

// State returns the present state.
func (l *Limiter) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// Close closes the connection. It is for the end, after Run: requests that come later are decided
// alone.
func (l *Limiter) Close() error {
	if server := l.server.Swap(nil); server != nil {
		server.close()
	}
	return nil
}
