package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// claimed claims for one lane in a transaction of its own.
func (f *fixture) claimed(l store.Lane, lease time.Duration) (store.Claimed, error) {
	return f.claimedOf([]store.Lane{l}, store.Unbounded, lease)
}

var errLocked = errors.New("a lane is locked")

// claimedOf claims in a transaction of its own. On PostgreSQL a lane may still be locked by a transaction
// that has failed and that the server has not rolled back yet. Claim skips such a lane and asks to be
// called again; claimedOf does so.
func (f *fixture) claimedOf(lanes []store.Lane, budget store.Budget, lease time.Duration) (out store.Claimed, err error) {
	for {
		now, token := f.now(), f.id()
		err = f.store.Write(context.Background(), func(tx *store.Tx) (err error) {
			if out, err = tx.Claim(lanes, budget, now, now.Add(lease), token); err != nil {
				return err
			}
			for _, l := range lanes {
				if next, waits := out.Next[l.Subscription]; waits && next.Equal(now.Add(store.LockedRest)) {
					return errLocked
				}
			}
			return nil
		})
		if !errors.Is(err, errLocked) {
			return out, err
		}
		f.Log("a lane is locked: claim again")
		<-time.After(store.LockedRest)
	}
}

func (f *fixture) claim(id sheaf.SubscriptionID, room int, lease time.Duration) []store.Claim {
	f.Helper()
	out, err := f.claimed(store.Lane{Subscription: id, Room: room}, lease)
	f.must(err)
	return out.Claims
}

func (f *fixture) record(outcomes []store.Outcome) error {
	return f.store.Write(context.Background(), func(tx *store.Tx) error {
		return tx.Record(outcomes, func() (sheaf.EventID, time.Time) { return sheaf.EventID(sheaf.EventPrefix + f.id()), f.now() })
	})
}

// The ways in which an attempt ends.
type result int

const (
	arrived result = iota
	failed         // for good
	retried
)

func (f *fixture) outcomes(claims []store.Claim, r result) []store.Outcome {
	var out []store.Outcome
	for _, c := range claims {
		o := store.Outcome{Claim: c, Ended: f.now(), Attempt: sheaf.Attempt{StartedAt: f.now(), StatusCode: 200}}
		if r != arrived {
			o.Attempt.StatusCode, o.Attempt.Class, o.Attempt.Error = 500, "status", "answered 500"
		}
		if r == retried {
			o.Retry = ptr(f.now())
		}
		out = append(out, o)
	}
	return out
}

// recordAgain records outcomes in a transaction that is rolled back, and then again.
func recordAgain(f *fixture) {
	s := f.subscribe(sheaf.ShareCreated)
	f.appendMany(sheaf.ShareCreated, int(sheaf.MaxFailures))
	outcomes := f.outcomes(f.claim(s.ID, int(sheaf.MaxFailures), time.Hour), failed)
	stamp := func() (sheaf.EventID, time.Time) { return sheaf.EventID(sheaf.EventPrefix + f.id()), f.now() }
	undone := errors.New("by the test")
	deactivated := func() (n int) {
		for i := range outcomes {
			if outcomes[i].Deactivated {
				n++
			}
		}
		return n
	}
	f.wantIs(f.store.Write(context.Background(), func(tx *store.Tx) error {
		return errors.Join(tx.Record(outcomes, stamp), undone)
	}), undone)
	if n := deactivated(); n != 1 {
		f.Fatalf("%d outcomes deactivate the subscription, want one", n)
	}
	f.expire(2 * time.Hour) // another node has them now, and these are dropped
	f.must(f.record(outcomes))
	if n := deactivated(); n != 0 {
		f.Errorf("%d outcomes of the transaction that was rolled back say that they deactivated the subscription", n)
	}
}

// recordOnceMore records an attempt that arrived while a client asked for one more. Where several
// transactions run at once, the lane is locked before the deliveries: that takes a second run. Either
// engine may repeat a transaction for reasons of its own.
func recordOnceMore(f *fixture) {
	s := f.subscribe(sheaf.ShareCreated)
	f.appendMany(sheaf.ShareCreated, 2)
	outcomes := f.outcomes(f.claim(s.ID, 2, time.Hour), arrived)
	f.redeliver(f.deliveries(s.ID)[0])
	runs, want := 0, 1
	f.must(f.store.Read(context.Background(), func(r *store.Reader) error {
		_, postgres, err := r.Clock()
		if postgres {
			want = 2
		}
		return err
	}))
	f.must(f.store.Write(context.Background(), func(tx *store.Tx) error {
		runs++
		return tx.Record(outcomes, func() (sheaf.EventID, time.Time) { return sheaf.EventID(sheaf.EventPrefix + f.id()), f.now() })
	}))
	if n := len(f.claim(s.ID, 10, time.Hour)); n != 1 || runs < want {
		f.Errorf("%d deliveries are sent again after %d runs, want 1 after at least %d", n, runs, want)
	}
}

func claimOrder(f *fixture) {
	s := f.subscribe(sheaf.ShareCreated)
	f.appendMany(sheaf.ShareCreated, 30)
	f.must(f.record(f.outcomes(f.claim(s.ID, 30, time.Hour), retried)))
	f.appendMany(sheaf.ShareCreated, 30)
	for _, c := range []struct{ room, retries, wantFirst int }{{16, 4, 12}, {1, 0, 1}, {1, 1, 0}, {20, 5, 15}, {8, 2, 2}, {100, 25, 0}} {
		got, err := f.claimed(store.Lane{Subscription: s.ID, Room: c.room, Retries: c.retries}, time.Hour)
		f.must(err)
		first := 0
		for _, claim := range got.Claims {
			if claim.Tries == 0 {
				first++
			}
		}
		if first != c.wantFirst || len(got.Claims) > c.room {
			f.Errorf("room for %d, %d of them for retries: %d first attempts of %d claims, want %d", c.room, c.retries, first,
				len(got.Claims), c.wantFirst)
		}
	}
	same(f, "states", f.states(s.ID), map[sheaf.DeliveryState]int{sheaf.Sending: 60})
}

func claimLease(f *fixture) {
	s := f.subscribe(sheaf.ShareCreated)
	f.appendMany(sheaf.ShareCreated, 3)
	stale := f.claim(s.ID, 10, time.Minute)
	if len(stale) != 3 || len(f.claim(s.ID, 10, time.Minute)) != 0 {
		f.Fatalf("claimed %d, or some twice", len(stale))
	}
	f.must(f.store.Write(context.Background(), func(tx *store.Tx) error { return tx.GiveBack(stale[:1], f.now()) }))
	again := f.claim(s.ID, 10, time.Minute)
	if len(again) != 1 || again[0].Delivery != stale[0].Delivery {
		f.Fatalf("given back was %s, claimed %+v", stale[0].Delivery, again)
	}
	f.must(f.record(f.outcomes(stale, arrived)))
	same(f, "states", f.states(s.ID), map[sheaf.DeliveryState]int{sheaf.Sending: 1, sheaf.Delivered: 2})
	f.must(f.store.Write(context.Background(), func(tx *store.Tx) error { return tx.GiveBack(stale, f.now()) }))
	same(f, "states", f.states(s.ID), map[sheaf.DeliveryState]int{sheaf.Sending: 1, sheaf.Delivered: 2})
	f.must(f.record(f.outcomes(again, arrived)))
	same(f, "states", f.states(s.ID), map[sheaf.DeliveryState]int{sheaf.Delivered: 3})
}

func claimNext(f *fixture) {
	s := f.subscribe(sheaf.ShareCreated)
	f.appendMany(sheaf.ShareCreated, 2)
	due := f.now().Add(time.Minute)
	out := f.outcomes(f.claim(s.ID, 2, time.Hour), retried)
	out[0].Retry, out[1].Retry = ptr(due.Add(time.Hour)), &due
	f.must(f.record(out))
	got, err := f.claimed(store.Lane{Subscription: s.ID, Room: 5}, time.Hour)
	f.must(err)
	if len(got.Claims) != 0 || !got.Next[s.ID].Equal(due) {
		f.Errorf("claimed %d, the next is due at %v, want %v", len(got.Claims), got.Next[s.ID], due)
	}
}

// claimBytes has deliveries of 20 bytes, 20,000 and 200,000 in two lanes.
func claimBytes(f *fixture) {
	a, b := f.subscribe(sheaf.ShareCreated), f.subscribe(sheaf.ShareCreated)
	for _, size := range []int{20, 20_000, 20, 200_000, 20_000} {
		e := f.event(sheaf.ShareCreated, "r")
		e.Body = append(append([]byte(`{"x":"`), bytes.Repeat([]byte("é"), (size-8)/2)...), `"}`...)
		f.append(e)
	}
	left := map[sheaf.SubscriptionID][]int{a.ID: {20, 20_000, 20, 200_000, 20_000}, b.ID: {20, 20_000, 20, 200_000, 20_000}}
	claim := func(budget store.Budget, bytes int64, want, tooLarge int) {
		f.Helper()
		lanes := []store.Lane{{Subscription: a.ID, Room: 10, Bytes: bytes}, {Subscription: b.ID, Room: 10, Bytes: bytes}}
		got, err := f.claimedOf(lanes, budget, time.Hour)
		f.must(err)
		sizes := map[sheaf.SubscriptionID][]int{}
		for _, c := range got.Claims {
			sizes[c.Subscription] = append(sizes[c.Subscription], len(c.Body))
			if c.Size != int64(len(c.Body)) || !json.Valid(c.Body) {
				f.Errorf("a body of %d counts %d", len(c.Body), c.Size)
			}
		}
		n := 0
		for lane, all := range left {
			mine := append([]int{}, sizes[lane]...)
			same(f, "sizes", mine, all[:len(mine)])
			left[lane] = all[len(mine):]
			n += len(mine)
		}
		if n != want || len(got.TooLarge) != tooLarge {
			f.Errorf("with %+v and %d a lane: claimed %v, too large %v; want %d and %d lanes", budget, bytes, sizes, got.TooLarge, want, tooLarge)
		}
		for lane, size := range got.TooLarge {
			if size != int64(left[lane][0]) {
				f.Errorf("%d did not fit, and the next has %d", size, left[lane][0])
			}
		}
	}
	claim(store.Unbounded, 19, 0, 2)                                 // not even the smallest
	claim(store.Budget{All: 40, Large: 0}, 0, 2, 2)                  // one of each lane
	claim(store.Budget{All: 1 << 20, Large: 19_999}, 0, 0, 2)        // larger ones have bytes of their own
	claim(store.Budget{All: 1 << 20, Large: 20_000}, 0, 2, 2)        // of one lane, with the small one behind it
	claim(store.Unbounded, 30_000, 2, 2)                             // the other lane catches up
	claim(store.Budget{All: 1 << 20, Large: 1 << 20}, 219_999, 2, 2) // a lane's own bound
	claim(store.Budget{All: 1 << 20, Large: 1 << 20}, 1<<20, 2, 0)   // all the rest
	claim(store.Unbounded, 0, 0, 0)
}

// recordBad has an outcome in its batch whose delivery has more attempts than it says, as after a
// record that was repeated: it is left out, and the others are kept.
func recordBad(f *fixture) {
	s := f.subscribe(sheaf.ShareCreated)
	f.appendMany(sheaf.ShareCreated, 3)
	f.must(f.record(f.outcomes(f.claim(s.ID, 1, time.Hour), retried)))
	claims := f.claim(s.ID, 3, time.Hour)
	batch := f.outcomes(claims, arrived)
	for i := range batch {
		batch[i].Attempts = 0 // one of them has a first attempt already
	}
	for range 2 {
		f.must(f.record(batch))
		same(f, "states", f.states(s.ID), map[sheaf.DeliveryState]int{sheaf.Sending: 1, sheaf.Delivered: 2})
	}
	f.must(f.store.Write(context.Background(), func(tx *store.Tx) error { return tx.GiveBack(claims, f.now()) }))
	same(f, "states", f.states(s.ID), map[sheaf.DeliveryState]int{sheaf.Waiting: 1, sheaf.Delivered: 2})
}

func waitingLanes(f *fixture) {
	lanes := func() map[sheaf.SubscriptionID]time.Time {
		return get(f, func(r *store.Reader) (map[sheaf.SubscriptionID]time.Time, error) { return r.WaitingLanes() })
	}
	if got := lanes(); len(got) != 0 {
		f.Errorf("on an empty database: %v", got)
	}
	a, b, off, gone := f.subscribe(sheaf.ShareCreated), f.subscribe(sheaf.ShareCreated), f.subscribe(sheaf.ShareCreated), f.subscribe(sheaf.ShareCreated)
	log := f.appendMany(sheaf.ShareCreated, 3)
	_, err := f.setActive(off.ID, false)
	f.must(err)
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error { return tx.DeleteSubscription(w.ID, gone.ID, f.now()) }))
	same(f, "due", lanes(), map[sheaf.SubscriptionID]time.Time{a.ID: log[0].At, b.ID: log[0].At})
	due := f.now().Add(time.Minute)
	out := f.outcomes(f.claim(b.ID, 3, time.Hour), retried)
	for i := range out {
		out[i].Retry = ptr(due.Add(time.Duration(i) * time.Second))
	}
	f.must(f.record(out))
	same(f, "due", lanes(), map[sheaf.SubscriptionID]time.Time{a.ID: log[0].At, b.ID: due})
}

func claimOnce(n *nodes) {
	const total = 400
	s := n.subscribe(sheaf.ShareCreated)
	n.appendMany(sheaf.ShareCreated, total)
	var mu sync.Mutex // guards times
	times := map[sheaf.DeliveryID]int{}
	var g errgroup.Group
	for i := range 8 {
		g.Go(func() error {
			// What another has locked for the moment is passed over.
			for empty := 0; empty < 200; {
				got, err := n.on(i).claimed(store.Lane{Subscription: s.ID, Room: 16, Retries: 4}, time.Hour)
				if err != nil {
					return err
				}
				mu.Lock()
				for _, c := range got.Claims {
					times[c.Delivery]++
				}
				all := len(times) == total
				mu.Unlock()
				if all {
					return nil
				}
				if len(got.Claims)+len(got.Next) == 0 {
					empty++
				}
			}
			return fmt.Errorf("nothing more to claim")
		})
	}
	if err := g.Wait(); err != nil {
		n.Errorf("%v: %d of %d", err, len(times), total)
	}
	for id, times := range times {
		if times > 1 {
			n.Errorf("%s was claimed %d times", id, times)
		}
	}
}

// recordAll deals the outcomes out to two nodes, in batches.
func (n *nodes) recordAll(outcomes []store.Outcome) {
	n.Helper()
	r := dice(len(outcomes))
	for i := range outcomes {
		j := r.roll(i + 1)
		outcomes[i], outcomes[j] = outcomes[j], outcomes[i]
	}
	var g errgroup.Group
	i := 0
	for part := range slices.Chunk(outcomes, 8) {
		f := n.on(i)
		i++
		g.Go(func() error { return f.record(part) })
	}
	n.must(g.Wait())
}

func countExactly(n *nodes) {
	s := n.subscribe(sheaf.ShareCreated)
	n.appendMany(sheaf.ShareCreated, 64)
	claims := n.claim(s.ID, 64, time.Hour)
	n.recordAll(slices.Concat(n.outcomes(claims[:9], failed), n.outcomes(claims[9:], retried)))
	got := get(n.fixture, func(r *store.Reader) (sheaf.Subscription, error) { return r.Subscription(n.ws.ID, s.ID) })
	if got.FailureCount != 9 || !got.Active {
		n.Errorf("9 of 64 failed: failure_count %d, active %t", got.FailureCount, got.Active)
	}
	same(n.fixture, "states", n.states(s.ID), map[sheaf.DeliveryState]int{sheaf.Failed: 9, sheaf.Waiting: 55})
}

func deactivateOnce(n *nodes) {
	s := n.subscribe(sheaf.ShareCreated)
	n.appendMany(sheaf.ShareCreated, 80)
	claims := n.claim(s.ID, 64, time.Hour)
	n.recordAll(slices.Concat(n.outcomes(claims[:40], failed), n.outcomes(claims[40:], retried)))
	got := get(n.fixture, func(r *store.Reader) (sheaf.Subscription, error) { return r.Subscription(n.ws.ID, s.ID) })
	if got.FailureCount != 10 || got.Active || got.Revision != s.Revision+1 || *got.DeactivationReason != sheaf.ByFailures {
		n.Errorf("64 failed: %+v", got)
	}
	same(n.fixture, "states", n.states(s.ID), map[sheaf.DeliveryState]int{sheaf.Failed: 10, sheaf.Held: 70})
}

// nothingStranded lets everything happen to one subscription at once. When it
// is inactive at the end, and dead nodes' claims have run out, no delivery is
// in a state from which only an active one would get it out.
func nothingStranded(n *nodes) {
	s, watch := n.subscribe(sheaf.ShareCreated), n.subscribe(sheaf.SubscriptionFailing, sheaf.SubscriptionDeactivated)
	var g errgroup.Group
	g.Go(func() error { return n.on(0).commitAndRollBack([]sheaf.EventType{sheaf.ShareCreated}, 120) })
	for i := range 4 {
		g.Go(func() error { return n.on(i).sendSome(s.ID, uint64(i)) })
	}
	g.Go(func() error {
		for i := range 30 {
			if _, err := n.on(i).setActive(s.ID, i%2 == 1); err != nil {
				return err
			}
		}
		return nil
	})
	g.Go(func() error { return n.on(1).recoverSome(s.ID) })
	n.must(g.Wait())
	_, err := n.setActive(s.ID, false)
	n.must(err)
	n.appendMany(sheaf.ShareCreated, 1) // or all may have been sent while it was active
	n.expire(time.Hour)
	// What was asked for by hand is still sent.
	for {
		claims := n.claim(s.ID, 16, time.Hour)
		if len(claims) == 0 {
			break
		}
		n.must(n.record(n.outcomes(claims, failed)))
	}
	left := n.states(s.ID)
	if left[sheaf.Waiting]+left[sheaf.Sending] > 0 || left[sheaf.Held] == 0 {
		n.Errorf("of an inactive subscription %v", left)
	}
	count := func(t sheaf.EventType) int64 { return n.events(sheaf.EventFilter{Type: t}, 0).Total }
	if all, wanted := len(n.deliveries(s.ID)), count(sheaf.ShareCreated); int64(all) != wanted {
		n.Errorf("%d deliveries of %d events", all, wanted)
	}
	told := count(sheaf.SubscriptionFailing) + count(sheaf.SubscriptionDeactivated)
	if all := len(n.deliveries(watch.ID)); int64(all) != told {
		n.Errorf("%d deliveries of %d events that tell of failures", all, told)
	}
}

// expire gives back what was claimed until that long from now.
func (f *fixture) expire(ahead time.Duration) {
	f.Helper()
	f.write(func(tx *store.Tx) error {
		_, err := tx.ReleaseExpired(f.now().Add(ahead), f.now())
		return err
	})
}

// sendSome claims and records, and now and then dies in between.
func (f *fixture) sendSome(id sheaf.SubscriptionID, seed uint64) error {
	r := dice(seed)
	for range 60 {
		got, err := f.claimed(store.Lane{Subscription: id, Room: 4, Retries: 1}, 20*time.Millisecond)
		if err != nil {
			return err
		}
		switch ends := r.roll(6); {
		case ends < 3:
			err = f.record(f.outcomes(got.Claims, result(ends)))
		case ends == 3:
			err = f.store.Write(context.Background(), func(tx *store.Tx) error { return tx.GiveBack(got.Claims, f.now()) })
		default:
			err = f.store.Write(context.Background(), func(tx *store.Tx) error {
				_, err := tx.ReleaseExpired(f.now(), f.now())
				return err
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// recoverSome asks for recovery, and for some deliveries by hand.
func (f *fixture) recoverSome(id sheaf.SubscriptionID) error {
	for i := range 60 {
		before, err := try(f, func(r *store.Reader) (store.Recoverable, error) { return r.Recoverable(f.ws.ID, id, time.Time{}) })
		if err != nil {
			return err
		}
		err = f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
			s, err := tx.LockSubscription(w.ID, id)
			if err != nil {
				return err
			}
			if s.Active && i%3 == 0 {
				_, err = tx.Recover(w.ID, id, time.Time{}, f.now(), before)
				return err
			}
			page, err := tx.Deliveries(w.ID, id, "", sheaf.Paging{Limit: 3, Offset: i})
			for _, d := range page.Items {
				if err == nil {
					err = tx.Redeliver(w.ID, d, f.now())
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
