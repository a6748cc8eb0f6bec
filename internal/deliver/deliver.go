package deliver

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/tally"
)

const (
	// leaseSpare is how long a lease outlasts the timeout of its attempt: the time to record the
	// outcome.
	leaseSpare = 5 * time.Second
	// A commit wakes its lanes at once. Polls find what no node announced. Every pollEvery the
	// store is asked for deliveries that are due and for the claims of dead nodes. Every pollGrownEvery
	// it is asked for the lanes of logs that grew since the last such poll, and for the next roundLanes
	// lanes of a round over all lanes. Idle lanes cost no more than that round, which takes 42
	// minutes for 100,000 of them.
	pollEvery      = 500 * time.Millisecond
	pollGrownEvery = 5 * time.Second
	roundLanes     = 200
	// pollOverlap is added to the interval that such a poll covers. It allows for commits that end later
	// than the time in their event's id, and for differences between the nodes' clocks.
	pollOverlap = 5 * time.Second
	// storeRest is the pause after the store refused a transaction.
	storeRest = 250 * time.Millisecond
	// lastWait is how long attempts in flight may continue when the program stops.
	lastWait = 10 * time.Second
)

// Config has the settings and dependencies of a Deliverer.
type Config struct {
	Store    *store.Store
	Box      *seal.Box
	Courier  *Courier
	Log      *slog.Logger
	Now      func() time.Time
	NewToken func() string // returns a new token for each claim
	Schedule sheaf.Schedule
	Timeout  time.Duration // timeout of one attempt
	// Tally counts the attempts for the charts. nil: they are not counted.
	Tally *tally.Tally
	// Budget bounds what all deliveries may hold together. The zero value is the budget of a
	// machine with plenty of memory.
	Budget Budget
	// ClockSlack is the largest accepted difference between this machine's clock and the
	// database's. If the difference is larger, nothing is claimed. 0: the clocks are not compared.
	ClockSlack time.Duration
	// Pause reports whether the disk is too full to record attempts. While it is, none is begun.
	// nil: it never is.
	Pause func() bool
	// Alone means that no other process delivers from this store. At the start, deliveries that an
	// earlier run was sending are then released at once.
	Alone bool
}

// Deliverer sends the deliveries that wait in the store: it claims, sends and records them. No
// transaction is open while a request is in flight.
//
//	one goroutine       one for each request in flight      one goroutine
//	claimUntil -------> work: attempt, attempt, ... ------> record
//	  claims for the      sends, and begins the next          writes outcomes in batches,
//	  lanes that lanes    of its lane (lanes.done)            and gives back what was not sent
//	  has chosen
type Deliverer struct {
	Config
	lanes *lanes
	// outcomes and released are read by the goroutine that records. They carry the outcomes of
	// attempts, and claims that are given back unsent. Each has a buffer for as many as may be in
	// flight.
	outcomes  chan store.Outcome
	released  chan store.Claim
	manyLanes int64 // the constant, except in tests
	// poll signals that any lane may have changed. It holds one signal.
	poll chan struct{}
	// polled is when the last poll began that found every lane that has grown. round is the
	// position of the round over all lanes. Only the claiming goroutine uses them.
	polled time.Time
	round  store.Round
	// clockOff is set while the clocks differ by more than ClockSlack. Only the claiming goroutine
	// sets it; the metrics read it.
	clockOff atomic.Bool
	metrics  *metrics
}

// New returns a Deliverer.
func New(c Config) *Deliverer {
	if c.Budget == (Budget{}) {
		c.Budget = BudgetFor(math.MaxInt64)
	}
	n := c.Budget.Places
	return &Deliverer{Config: c, lanes: newLanes(c.Budget), outcomes: make(chan store.Outcome, n),
		released: make(chan store.Claim, n), poll: make(chan struct{}, 1), manyLanes: manyLanes, metrics: newMetrics()}
}

// Notice wakes the lanes that a commit concerns. It does not block.
func (d *Deliverer) Notice(n store.Note) {
	if len(n.Lanes) > 0 {
		d.lanes.markDue(n.Lanes)
	}
	if len(n.Changed) > 0 {
		d.lanes.change(n.Changed)
	}
	if n.AnyLane {
		select {
		case d.poll <- struct{}{}:
		default:
		}
	}
}

// Run delivers until ctx ends. Then it claims nothing more and waits up to lastWait for the
// attempts in flight. It gives back those that do not end in time, and returns when everything is
// recorded.
func (d *Deliverer) Run(ctx context.Context) error {
	if d.Alone {
		if err := d.releaseOwn(ctx); err != nil {
			return err
		}
	}
	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSending()
	var recorder, senders sync.WaitGroup
	recording := make(chan struct{})
	recorder.Go(func() { d.record(d.outcomes, recording) })
	d.claimUntil(ctx, sending, &senders)
	for _, c := range d.lanes.close() {
		d.released <- c
	}
	stop := time.AfterFunc(lastWait, stopSending)
	senders.Wait()
	stop.Stop()
	close(recording)
	recorder.Wait()
	return nil
}

// releaseOwn releases the deliveries that an earlier run of this program was sending when it died.
func (d *Deliverer) releaseOwn(ctx context.Context) error {
	now := d.Now()
	for {
		left := false
		err := d.Store.Write(ctx, func(tx *store.Tx) error {
			n, err := tx.ReleaseExpired(now.AddDate(100, 0, 0), now)
			left = n > 0
			return err
		})
		if err == nil && left {
			continue
		}
		if err == nil || ctx.Err() != nil {
			return nil
		}
		d.Log.Warn("could not release deliveries of an earlier run", "error", err)
		d.rest(ctx)
	}
}

// rest pauses for storeRest, after the store refused a transaction or the machine ran out of
// connections.
func (d *Deliverer) rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(storeRest):
	}
}

// claimUntil claims deliveries and starts attempts until ctx ends.
func (d *Deliverer) claimUntil(ctx, sending context.Context, senders *sync.WaitGroup) {
	due, grown := time.NewTicker(pollEvery), time.NewTicker(pollGrownEvery)
	defer due.Stop()
	defer grown.Stop()
	d.pollLanes(ctx, d.everyLane)
	for ctx.Err() == nil {
		for _, c := range d.lanes.unused(d.Now()) {
			d.released <- c
		}
		lanes, next := d.lanes.choose(d.Now())
		if d.off() {
			d.lanes.unclaimed(lanes) // until a later poll finds the clock right or the disk roomy again
		} else if len(lanes) > 0 {
			d.claim(ctx, sending, lanes, senders)
			continue
		}
		timer := time.NewTimer(d.until(next))
		select {
		case <-ctx.Done():
		case <-d.wokenUnlessOff():
		case <-timer.C:
		case <-d.poll:
			d.pollLanes(ctx, d.grownLanes)
		case <-grown.C:
			d.pollLanes(ctx, d.unannounced)
		case <-due.C:
			d.pollLanes(ctx, (*store.Reader).DueLanes)
		}
		timer.Stop()
	}
}

// until returns how long to wait for the next known retry. Polls find everything that is not known
// yet.
func (d *Deliverer) until(next time.Time) time.Duration {
	if next.IsZero() {
		return time.Hour
	}
	return next.Sub(d.Now())
}

// off reports whether nothing may be claimed, because the clock is wrong or attempts cannot be
// recorded.
func (d *Deliverer) off() bool { return d.clockOff.Load() || d.Pause != nil && d.Pause() }

// wokenUnlessOff returns the channel that signals due deliveries, or nil while nothing may be
// claimed.
func (d *Deliverer) wokenUnlessOff() <-chan struct{} {
	if d.off() {
		return nil
	}
	return d.lanes.woken
}

// pollLanes wakes the lanes that `find` returns, and releases the expired claims of dead nodes.
func (d *Deliverer) pollLanes(ctx context.Context, find func(*store.Reader) (map[sheaf.SubscriptionID]time.Time, error)) {
	var waiting map[sheaf.SubscriptionID]time.Time
	expired := int64(0)
	now := d.Now()
	err := d.Store.Read(ctx, func(r *store.Reader) (err error) {
		if waiting, err = find(r); err != nil {
			return err
		}
		expired, err = r.Expired(now)
		return err
	})
	d.lanes.expect(waiting) // find has moved on: only the slow round would find these lanes again
	if err == nil && expired > 0 && !d.clockOff.Load() {
		err = d.Store.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.ReleaseExpired(now, now)
			return err
		})
	}
	if err != nil && ctx.Err() == nil {
		d.Log.Warn("could not poll for deliveries", "error", err)
	}
}

// everyLane finds every lane that has waiting deliveries.
func (d *Deliverer) everyLane(r *store.Reader) (map[sheaf.SubscriptionID]time.Time, error) {
	if err := d.compareClocks(r); err != nil {
		return nil, err
	}
	began := d.Now()
	waiting, err := r.WaitingLanes()
	if err == nil {
		d.polled = began
	}
	return waiting, err
}

// grownLanes finds the lanes that got waiting deliveries since the last poll. It returns all lanes
// if there may be very many, or if no poll has succeeded yet. Deliveries with a due time are found
// by every poll.
func (d *Deliverer) grownLanes(r *store.Reader) (map[sheaf.SubscriptionID]time.Time, error) {
	if d.polled.IsZero() {
		return d.everyLane(r)
	}
	began := d.Now()
	since := d.polled
	if began.Before(since) { // the clock was set back
		since = began
	}
	waiting, whole, err := r.WaitingLanesSince(since.Add(-pollOverlap))
	if err != nil {
		return nil, err
	}
	if !whole {
		return d.everyLane(r)
	}
	d.polled = began
	return waiting, nil
}

// unannounced finds waiting lanes that no commit announced: the next ones of the round and, if a
// note may have been lost, the lanes that have grown.
func (d *Deliverer) unannounced(r *store.Reader) (map[sheaf.SubscriptionID]time.Time, error) {
	if err := d.compareClocks(r); err != nil {
		return nil, err
	}
	found, next, err := r.WaitingLanesAfter(d.round, roundLanes)
	if err != nil {
		return nil, err
	}
	d.round = next
	if d.Store.AnnouncesAll() && !d.polled.IsZero() {
		return found, nil
	}
	grown, err := d.grownLanes(r)
	maps.Copy(found, grown)
	return found, err
}

// ClockSlack is the largest accepted difference between a node's clock and the database's. A node
// releases a lease by its own clock. By the clock of the node that made the lease, it ends
// leaseSpare after its attempt must have ended. Two nodes, each at most ClockSlack from the
// database, differ by less than leaseSpare.
const ClockSlack = 2 * time.Second

// compareClocks checks whether this machine's clock is close enough to the database's to use
// leases.
func (d *Deliverer) compareClocks(r *store.Reader) error {
	if d.ClockSlack == 0 {
		return nil
	}
	before := d.Now()
	there, has, err := r.Clock()
	after := d.Now()
	if err != nil || !has {
		return err
	}
	// The database read its clock between before and after.
	off := max(before.Sub(there), there.Sub(after)) > d.ClockSlack
	switch {
	case off && !d.clockOff.Load():
		d.Log.Error("deliveries are not sent: this machine's clock is too far from the database's", "clock", before, "database", there, "slack", d.ClockSlack)
	case !off && d.clockOff.Load():
		d.Log.Info("deliveries are sent again: the clocks agree")
	}
	d.clockOff.Store(off)
	return nil
}

// claim claims as many deliveries as the lanes have room for, and starts to send them.
func (d *Deliverer) claim(ctx, sending context.Context, lanes []store.Lane, senders *sync.WaitGroup) {
	token, budget := d.NewToken(), d.lanes.claimBudget()
	var found store.Claimed
	err := d.Store.Write(ctx, func(tx *store.Tx) (err error) {
		now := d.Now() // the lease begins when the writer has time for it
		found, err = tx.Claim(lanes, budget, now, now.Add(d.Timeout+leaseSpare), token)
		return err
	})
	if err != nil {
		d.lanes.unclaimed(lanes)
		if ctx.Err() == nil {
			d.Log.Warn("could not claim deliveries", "error", err)
		}
		d.rest(ctx)
		return
	}
	if len(found.Claims) > 0 {
		failpoint.Pass(failpoint.Claimed)
	}
	d.startSending(sending, d.lanes.claimed(lanes, found, d.Now()), senders)
}

// startSending starts a goroutine for each claim. It makes attempts of one lane, one after the other,
// until the lane has no next one for it.
func (d *Deliverer) startSending(sending context.Context, claims []*ready, senders *sync.WaitGroup) {
	for _, r := range claims {
		senders.Go(func() {
			for {
				next := d.attempt(sending, r)
				if len(next) == 0 {
					return
				}
				d.startSending(sending, next[1:], senders)
				r = next[0]
			}
		})
	}
}

// attempt makes one attempt, passes its outcome to the recorder, and returns the claims that the
// lane is to begin next.
func (d *Deliverer) attempt(ctx context.Context, c *ready) []*ready {
	a := d.send(ctx, c)
	failpoint.Pass(failpoint.Posted)
	if a.Class == string(ErrorCanceled) {
		if ctx.Err() == nil {
			d.rest(ctx) // this machine has no connection to spare
		}
		next := d.lanes.done(&c.Claim, ended{}, d.Now())
		d.released <- c.Claim
		return next
	}
	now := d.Now()
	next := d.lanes.done(&c.Claim, ended{a.OK(), a.Duration, len(a.ResponseBody)}, now)
	o := store.Outcome{Claim: c.Claim, Attempt: a, Ended: now}
	if delay, more := d.Schedule.Next(c.Tries + 1); more && !a.OK() && !c.ByHand {
		due := now.Add(delay)
		o.Retry = &due
	}
	d.metrics.ended(&o)
	d.outcomes <- o
	return next
}

// endpoint has the secrets and headers of a subscription, which the store keeps sealed. They are
// opened once for all deliveries of a claim, when the first of them is sent.
type endpoint struct {
	once    sync.Once
	secrets []string
	headers []sheaf.Header
	err     error
}

// open opens the secrets and headers, unless another delivery has done so.
func (e *endpoint) open(d *Deliverer, c *store.Claim) error {
	e.once.Do(func() {
		e.err = errNotOpened // remains if Open panics: later deliveries must not be sent unsigned
		e.secrets, e.headers, e.err = c.Sealed.Open(d.Box, c.Subscription, d.Now())
	})
	return e.err
}

var errNotOpened = errors.New("opening it panicked before")

// send makes one attempt. If the attempt panics, send logs the stack, and only this attempt fails.
// Otherwise the panic would end the process, and again after each start, because the same delivery
// would still be the first to send.
func (d *Deliverer) send(ctx context.Context, c *ready) (a sheaf.Attempt) {
	started := d.Now()
	defer func() {
		if v := recover(); v != nil {
			d.Log.Error("recovered from a panic in an attempt", "delivery_id", string(c.Delivery), "subscription_id", string(c.Subscription),
				"event_id", string(c.Event), "attempt", c.Attempts+1, "panic", v, "stack", string(debug.Stack()))
			a = sheaf.Attempt{StartedAt: started, Duration: d.Now().Sub(started), Class: string(ErrorConnection), Error: textPanicked}
		}
	}()
	if err := c.to.open(d, &c.Claim); err != nil {
		d.Log.Error("could not open a subscription's secret", "subscription_id", string(c.Subscription), "error", err)
		return sheaf.Attempt{StartedAt: d.Now(), Class: string(ErrorConnection), Error: "the subscription's secret cannot be read: rotate it"}
	}
	a = d.Courier.Send(ctx, sheaf.Outgoing{EventID: c.Event, URL: c.URL, Body: c.Body, Secrets: c.to.secrets, Headers: c.to.headers})
	d.Log.LogAttrs(ctx, slog.LevelInfo, "attempted delivery",
		slog.String("delivery_id", string(c.Delivery)), slog.String("subscription_id", string(c.Subscription)),
		slog.String("event_id", string(c.Event)), slog.Int64("attempt", c.Attempts+1), slog.Int("status", a.StatusCode),
		slog.String("class", a.Class), slog.Duration("duration", a.Duration))
	return a
}
