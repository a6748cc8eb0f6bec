package storetest

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// sameHeld compares, in one snapshot, the held count of each subscription with its held rows.
func (f *fixture) sameHeld(after string) error {
	return f.store.Read(context.Background(), func(r *store.Reader) error {
		page, err := r.Subscriptions(f.ws.ID, sheaf.Paging{Limit: 100})
		for _, s := range page.Items {
			rows, err := r.Deliveries(f.ws.ID, s.ID, sheaf.Held, sheaf.Paging{Limit: 1})
			if err != nil {
				return err
			}
			if s.HeldCount != rows.Total {
				return fmt.Errorf("after %s: held count %d of %d rows; active %t", after, s.HeldCount, rows.Total, s.Active)
			}
		}
		return err
	})
}

// shuffle makes one random change to the lane and returns its name.
func (f *fixture) shuffle(id sheaf.SubscriptionID, d *dice) (name string, err error) {
	ctx := context.Background()
	switch act := d.roll(12); act {
	case 0, 1:
		events := make([]sheaf.Event, d.roll(6)+1)
		for i := range events {
			events[i] = f.event([]sheaf.EventType{sheaf.ShareCreated, sheaf.ShareUpdated}[d.roll(2)], "r")
		}
		return "events", f.locked(func(tx *store.Tx, w *sheaf.Workspace) error { return tx.AppendEvents(w, events) })
	case 2, 3, 4:
		got, err := f.claimed(store.Lane{Subscription: id, Room: d.roll(5) + 1, Retries: 1}, time.Duration(d.roll(40))*time.Millisecond)
		if err != nil || act == 4 {
			return "a claim that nobody ends", err
		}
		if ends := d.roll(4); ends < 3 {
			return fmt.Sprint("an outcome ", ends), f.record(f.outcomes(got.Claims[:d.roll(len(got.Claims)+1)], result(ends)))
		}
		return "a claim given back", f.store.Write(ctx, func(tx *store.Tx) error { return tx.GiveBack(got.Claims, f.now()) })
	case 5:
		return "the end of leases", f.store.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.ReleaseExpired(f.now(), f.now())
			return err
		})
	case 6:
		_, err := f.setActive(id, false)
		return "turning off", err
	case 7:
		_, err := f.setActive(id, true)
		return "turning on", err
	case 8, 9:
		return f.recoverOrBackfill(id, d, act == 8)
	case 10:
		return "one by hand", f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
			page, err := tx.Deliveries(w.ID, id, "", sheaf.Paging{Limit: 1, Offset: d.roll(40)})
			for _, d := range page.Items {
				if err == nil {
					err = tx.Redeliver(w.ID, d, f.now())
				}
			}
			return err
		})
	default:
		upTo, most := int64(d.roll(60)), d.roll(4)+1
		return "retention", f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
			upTo = min(upTo, w.LastEvent)
			if _, err := tx.DeleteHeld(w.ID, upTo, most); err != nil {
				return err
			}
			_, err := tx.DeleteDeliveries(w.ID, upTo, most)
			return err
		})
	}
}

// recoverOrBackfill does either, from a random time on, if the lane is active.
func (f *fixture) recoverOrBackfill(id sheaf.SubscriptionID, d *dice, recovers bool) (name string, err error) {
	since, before := time.Time{}, store.Recoverable{}
	if page := f.events(sheaf.EventFilter{Paging: sheaf.Paging{Limit: 1, Offset: d.roll(60)}}, 0); len(page.Items) > 0 {
		since = page.Items[0].At
	}
	if d.roll(2) == 0 {
		if before, err = try(f, func(r *store.Reader) (store.Recoverable, error) { return r.Recoverable(f.ws.ID, id, since) }); err != nil {
			return "counting", err
		}
		if name, err = f.shuffle(id, d); err != nil { // something happens between
			return name, err
		}
	}
	first, delivered := int64(d.roll(60)+1), d.roll(2) == 0
	return fmt.Sprintf("recovery %t, after %s", recovers, name), f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
		s, err := tx.LockSubscription(w.ID, id)
		if err != nil || !s.Active {
			return err
		}
		if recovers {
			_, err = tx.Recover(w.ID, id, since, f.now(), before)
			return err
		}
		var numbers []int64
		for n := first; n < first+10 && n <= w.LastEvent; n++ {
			numbers = append(numbers, n)
		}
		_, err = tx.Backfill(w.ID, id, numbers, delivered, f.now())
		return err
	})
}

// heldCounted: the held count of a subscription is the number of its held rows, after everything that can happen to a
// lane.
func heldCounted(f *fixture) {
	lanes := []sheaf.SubscriptionID{f.subscribe(sheaf.ShareCreated).ID, f.subscribe(sheaf.ShareCreated, sheaf.ShareUpdated).ID}
	d, seen := dice(29), int64(0)
	for range 600 {
		name, err := f.shuffle(lanes[d.roll(2)], &d)
		f.must(err)
		f.must(f.sameHeld(name))
		for _, id := range lanes {
			seen = max(seen, get(f, func(r *store.Reader) (sheaf.Subscription, error) { return r.Subscription(f.ws.ID, id) }).HeldCount)
		}
	}
	if seen < 10 {
		f.Errorf("a lane never held more than %d", seen)
	}
}

// heldCountedTogether is heldCounted while 64 clients change the same lanes at once.
func heldCountedTogether(n *nodes) {
	lanes := []sheaf.SubscriptionID{n.subscribe(sheaf.ShareCreated).ID, n.subscribe(sheaf.ShareCreated, sheaf.ShareUpdated).ID}
	var g errgroup.Group
	for i := range 64 {
		g.Go(func() error {
			f, d := n.on(i), dice(i)
			for range 12 {
				name, err := f.shuffle(lanes[d.roll(2)], &d)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				if err := f.sameHeld(name); err != nil {
					return err
				}
			}
			return nil
		})
	}
	n.must(g.Wait())
	n.must(n.sameHeld("all of it"))
}
