// Package redislimit is the rate limit over several nodes: the exact sliding window of ratewindow, kept in Redis. When
// Redis cannot be asked, each node goes on alone with its share of the limit, and returns by itself. A request is never
// failed and never admitted without a limit because of Redis.
//
// What holds, for N requests a minute on k nodes, be N the limit of a key or the ceiling of a group of keys:
//
//   - While Redis works: in no 60 seconds are more than N admitted over all nodes, by Redis' clock; refused requests do
//     not count.
//   - Without Redis: each node admits at most max(1, N/k) in 60 seconds, its own admissions of before included, where k
//     is how many nodes it last saw, 1 if it has never reached Redis. The minute in which Redis is lost, or in which
//     the nodes return one after the other, holds at most 2N: N by Redis, N/k by each other node alone.
//   - On return the node tells Redis what it admitted meanwhile before it asks again. So it does, within a second, when
//     Redis has lost its data (a restart, FLUSHALL, an older replica): until then up to N more are admitted over all
//     nodes, so at most 2N in that minute, but never more than N in 59.5 seconds by one node, whatever Redis says.
//   - A request whose answer was lost on the way may count twice: then less is admitted, never more.
//   - If Redis evicts keys for want of memory, or its clock jumps ahead, that bound of each node is all that holds. A
//     clock that is set back only holds slots for longer, by a minute at most.
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
	budget = 250 * time.Millisecond // a busy machine stalls for 100 ms now and then

	beatEvery = time.Second
	aliveFor  = 5 * time.Second // after its last beat
	keptFor   = 3 * time.Minute // a beat; longer than any admission, see forgot

	firstProbe, lastProbe = 100 * time.Millisecond, time.Second
	stableAfter           = 10 * time.Second // the next loss is probed quickly again

	sweepEvery = time.Minute
)

// Config is what a Limiter needs.
type Config struct {
	// URL is the address of Redis: redis://[user:password@]host[:port][/database], or rediss:// for TLS.
	URL string
	// NodeID tells this process from all others that use the same Redis.
	NodeID string
	Log    *slog.Logger
	// Now is the clock that Admit's callers read, with a monotonic reading.
	Now func() time.Time
}

// State is what there is to know of a Limiter.
type State struct {
	// Degraded is true while the node counts alone.
	Degraded bool
	// Since is when that began or ended.
	Since time.Time
	// Nodes is how many nodes were last seen, this one included; at least 1.
	Nodes int
	// Losses is how often Redis was lost, Restored how often it had lost its data and was told again.
	Losses, Restored uint64
}

// Limiter admits requests by key, over all nodes. Its methods may be called concurrently.
type Limiter struct {
	Config
	window time.Duration // a minute, except in tests
	budget time.Duration // of one question to Redis
	origin time.Time

	// local has all admissions of this node, and decides alone without Redis. guard has the same for a little less than
	// a minute, and may veto what Redis admits: without the difference, the time that passes between Redis' answer and
	// its arrival would make it veto what is right.
	local, guard *ratewindow.Window
	journal      journal

	server atomic.Pointer[server] // nil while degraded
	lost   chan struct{}          // wakes Run

	mu       sync.Mutex // guards all below
	state    State
	lastBeat int64 // by Redis' clock, 0 before the first

	decided func(admission) // a test's signal: Redis has answered
}

// New returns a Limiter, whose Run keeps it going. The error is for the person who gave the URL. That Redis cannot be
// reached is none: the Limiter then begins degraded. It blocks for at most half a second.
func New(c Config) (*Limiter, error) { return newLimiter(c, time.Minute, budget) }

func newLimiter(c Config, window, budget time.Duration) (*Limiter, error) {
	if err := checkURL(c.URL); err != nil {
		return nil, err
	}
	if c.NodeID == "" || c.Log == nil || c.Now == nil {
		return nil, errors.New("redislimit: NodeID, Log and Now must be given")
	}
	l := &Limiter{
		Config:  c,
		window:  window,
		budget:  budget,
		origin:  c.Now(),
		local:   ratewindow.New(),
		guard:   ratewindow.New(),
		journal: journal{window: window},
		lost:    make(chan struct{}, 1),
	}
	l.state = State{Nodes: 1, Since: l.origin}
	if err := l.reach(); err != nil {
		l.lose(nil, err)
	}
	return l, nil
}

// Admit decides on a request of the key, in its group if it has one, and, if it is admitted, counts it, as ratewindow's
// AdmitIn does. It blocks for as long as Redis takes to answer; when Redis does not, for 250 ms, and not at all until Run
// has reached it again. A client that goes away does not end the wait, since that would look like a lost Redis.
func (l *Limiter) Admit(_ context.Context, key string, limit int, in ratewindow.Group, now time.Time) ratewindow.Decision {
	if limit <= 0 {
		return ratewindow.Decision{Admitted: true}
	}
	server := l.server.Load()
	if server == nil {
		return l.admitAlone(key, limit, in, now)
	}
	if d := l.guard.PeekIn(key, limit, in, l.guardTime(now)); !d.Admitted {
		return l.refuse(key, limit, in, now, d) // Redis knows it too, or has lost its data
	}
	a, err := server.admit(key, limit, in)
	if err != nil {
		l.lose(server, err)
		return l.admitAlone(key, limit, in, l.Now())
	}
	if l.decided != nil {
		l.decided(a)
	}
	if a.admitted {
		now = l.Now()
		if d := l.remember(key, limit, in, now, a.at); !d.Admitted {
			return l.refuse(key, limit, in, now, d)
		}
	}
	return a.decision(limit, in)
}

func (a admission) decision(limit int, in ratewindow.Group) ratewindow.Decision {
	d := a.key.decision(a.admitted, limit)
	if in.Ceiling > 0 {
		d = d.Within(a.group.decision(a.admitted, in.Ceiling))
	}
	return d
}

// decision rounds as ratewindow does. A window that has slots left did not refuse the request: another one did.
func (f fill) decision(admitted bool, limit int) ratewindow.Decision {
	d := ratewindow.Decision{Admitted: admitted || f.count < limit, Limit: limit, Remaining: max(limit-f.count, 0)}
	if d.Remaining == 0 {
		d.Reset = int((f.wait + time.Second - 1) / time.Second)
	}
	if !d.Admitted {
		d.RetryAfter = d.Reset
	}
	return d
}

// remember counts on this node what Redis has admitted, and returns the guard's word on it.
func (l *Limiter) remember(key string, limit int, in ratewindow.Group, now time.Time, redis int64) ratewindow.Decision {
	d := l.guard.AdmitIn(key, limit, in, l.guardTime(now))
	if d.Admitted {
		l.local.AdmitIn(key, limit, in, l.localTime(now))
		l.journal.add(key, in, now, redis)
	}
	return d
}

// refuse turns the guard's veto into an answer for the whole minute.
func (l *Limiter) refuse(key string, limit int, in ratewindow.Group, now time.Time, veto ratewindow.Decision) ratewindow.Decision {
	if d := l.local.PeekIn(key, limit, in, l.localTime(now)); !d.Admitted {
		return d
	}
	return veto
}

// admitAlone decides without Redis, within this node's share of the limits.
func (l *Limiter) admitAlone(key string, limit int, in ratewindow.Group, now time.Time) ratewindow.Decision {
	share := in
	if in.Ceiling > 0 {
		share.Ceiling = max(1, in.Ceiling/l.nodes())
	}
	d := l.local.AdmitIn(key, max(1, limit/l.nodes()), share, l.localTime(now))
	if d.Admitted {
		l.guard.AdmitIn(key, limit, in, l.guardTime(now))
		l.journal.add(key, in, now, 0)
	}
	return d
}

// localTime is the time for the local window, which thinks in minutes: a test's window is stretched to one.
func (l *Limiter) localTime(now time.Time) time.Time {
	if l.window == time.Minute {
		return now
	}
	return l.origin.Add(now.Sub(l.origin) * (time.Minute / l.window))
}

// guardTime runs faster by a 119th, so that what the guard takes for a minute is 59.5 seconds.
func (l *Limiter) guardTime(now time.Time) time.Time {
	now = l.localTime(now)
	return now.Add(now.Sub(l.origin) / 119)
}

func (l *Limiter) nodes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.Nodes
}

// State returns the present state.
func (l *Limiter) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// Close closes the connection. It is for the end, after Run: requests that come later are decided alone.
func (l *Limiter) Close() error {
	if server := l.server.Swap(nil); server != nil {
		server.close()
	}
	return nil
}
