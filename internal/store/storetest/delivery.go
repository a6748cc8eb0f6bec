package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"sheaf.dev/internal/backup"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// RunNodes tries what two nodes do at once. open returns two stores on one
// migrated, empty database; on SQLite, which has one node, one store twice.
func RunNodes(t *testing.T, open func(t *testing.T) (a, b *store.Store)) {
	for name, try := range onNodes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			f := newFixture(t, a)
			try(&nodes{fixture: f, both: []*store.Store{a, b}})
		})
	}
}

var onNodes = map[string]func(*nodes){
	"Outbox/a delivery for each event and subscription": outbox,
	"Claim/none is claimed twice":                       claimOnce,
	"Record/failures are counted exactly":               countExactly,
	"Record/the tenth deactivates once":                 deactivateOnce,
	"Record/every node is told":                         recordTells,
	"Write/every node is told where":                    commitTellsWhere,
	"Write/every node is told in which lane":            commitTellsLanes,
	"Races/nothing waits for an inactive one":           nothingStranded,
	"Races/removed while recorded":                      removedWhileRecorded,
	"Races/held deliveries are counted":                 heldCountedTogether,
}

// nodes is a fixture whose database two stores share.
type nodes struct {
	*fixture
	both []*store.Store
}

// subscribe adds an active subscription to those types of event.
func (f *fixture) subscribe(events ...sheaf.EventType) sheaf.Subscription {
	f.Helper()
	s, err := f.trySubscribe(events...)
	f.must(err)
	return s
}

func (f *fixture) trySubscribe(events ...sheaf.EventType) (sheaf.Subscription, error) {
	s := sheaf.Subscription{ID: sheaf.SubscriptionID(f.id()), Name: "hook", URL: "https://hook.example/", Events: events, Active: true,
		CreatedAt: f.now(), UpdatedAt: f.now(), HeaderNames: []string{}, Revision: 1}
	err := f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
		w.LastNumber++
		w.Subscriptions++
		s.Number, s.SinceEvent, s.EventsSince = w.LastNumber, w.LastEvent, w.LastEvent
		return tx.InsertSubscription(w.ID, s, store.Sealed{Secret: []byte("sealed")})
	})
	return s, err
}

// appendMany adds n events of a type, in one transaction.
func (f *fixture) appendMany(t sheaf.EventType, n int) []sheaf.Event {
	f.Helper()
	events := make([]sheaf.Event, n)
	for i := range events {
		events[i] = f.event(t, "r")
	}
	return f.append(events...)
}

// changeSubscription alters a subscription as the product does: under the locks of the
// workspace and its own. It returns the newest event at that time.
func (f *fixture) changeSubscription(id sheaf.SubscriptionID, alter func(*sheaf.Subscription)) (last int64, err error) {
	err = f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
		s, err := tx.LockSubscription(w.ID, id)
		if err != nil {
			return err
		}
		alter(&s)
		s.Revision++
		last = w.LastEvent
		return tx.UpdateSubscription(w.ID, s)
	})
	return last, err
}

func (f *fixture) setActive(id sheaf.SubscriptionID, active bool) (int64, error) {
	return f.changeSubscription(id, func(s *sheaf.Subscription) {
		s.Active = active
		if active {
			s.FailureCount = 0
		}
	})
}

func (f *fixture) deliveries(id sheaf.SubscriptionID) []sheaf.Delivery {
	f.Helper()
	return get(f, func(r *store.Reader) (sheaf.Page[sheaf.Delivery], error) {
		return r.Deliveries(f.ws.ID, id, "", sheaf.Paging{Limit: 100_000})
	}).Items
}

func (f *fixture) states(id sheaf.SubscriptionID) map[sheaf.DeliveryState]int {
	f.Helper()
	out := map[sheaf.DeliveryState]int{}
	for _, d := range f.deliveries(id) {
		out[d.State]++
	}
	return out
}

// dice are chance that is the same in every run.
type dice uint64

func (d *dice) roll(sides int) int {
	*d = *d*6364136223846793005 + 1442695040888963407
	return int(*d>>33) % sides
}

// history is what a subscription was, from which event on.
type history []era

type era struct {
	after        int64
	gone, active bool
	events       []sheaf.EventType
}

// fate returns whether the event has a delivery, and whether it ends up held.
func (h history) fate(e sheaf.Event) (has, held bool) {
	now := -1
	for i := range h {
		if h[i].after < e.Number {
			now = i
		}
	}
	if now < 0 || h[now].gone || !slices.Contains(h[now].events, e.Type) {
		return false, false
	}
	for _, later := range h[now:] {
		held = held || !later.active
	}
	return true, held
}

// outbox changes subscriptions while events are committed and rolled back, and
// compares the deliveries with what the order of the commits demands.
func outbox(n *nodes) {
	types := []sheaf.EventType{sheaf.ShareCreated, sheaf.ShareDeleted, sheaf.MediaUploaded}
	var mu sync.Mutex // guards histories
	histories := map[sheaf.SubscriptionID]history{}
	note := func(id sheaf.SubscriptionID, e era) {
		mu.Lock()
		defer mu.Unlock()
		histories[id] = append(histories[id], e)
	}
	var g errgroup.Group
	for i := range 4 {
		g.Go(func() error { return n.on(i).commitAndRollBack(types, 40) })
	}
	for i := range 4 {
		s := n.subscribe(types[:2]...)
		note(s.ID, era{after: s.SinceEvent, active: true, events: s.Events})
		g.Go(func() error {
			r := dice(i)
			e := era{active: true, events: s.Events}
			for range 25 {
				if r.roll(2) == 0 {
					e.active = !e.active
				} else {
					e.events = types[:1+r.roll(3)]
				}
				after, err := n.on(i).changeSubscription(s.ID, func(s *sheaf.Subscription) { s.Active, s.Events = e.active, e.events })
				if err != nil {
					return err
				}
				e.after = after
				note(s.ID, e)
			}
			return nil
		})
	}
	g.Go(func() error {
		for range 15 {
			s, err := n.trySubscribe(types...)
			if err != nil {
				return err
			}
			err = n.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
				w.Subscriptions--
				return tx.DeleteSubscription(w.ID, s.ID, n.now())
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	n.must(g.Wait())
	n.checkOutbox(histories)
}

// on returns the fixture on the store of a node.
func (n *nodes) on(i int) *fixture {
	f := *n.fixture
	f.store = n.both[i%len(n.both)]
	return &f
}

var errUnwanted = errors.New("rolled back by the test")

// commitAndRollBack adds events. Every third transaction fails.
func (f *fixture) commitAndRollBack(types []sheaf.EventType, times int) error {
	for i := range times {
		err := f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
			var events []sheaf.Event
			for j := range 1 + i%3 {
				events = append(events, f.event(types[(i+j)%len(types)], "r"))
			}
			err := tx.AppendEvents(w, events)
			if err == nil && i%3 == 2 {
				err = errUnwanted
			}
			return err
		})
		if err != nil && !errors.Is(err, errUnwanted) {
			return err
		}
	}
	return nil
}

func (n *nodes) checkOutbox(histories map[sheaf.SubscriptionID]history) {
	n.Helper()
	log := n.events(sheaf.EventFilter{}, 0).Items
	if int64(len(log)) != n.workspace().LastEvent || len(log) == 0 {
		n.Fatalf("%d events, the last is %d", len(log), n.workspace().LastEvent)
	}
	for id, h := range histories {
		got := map[sheaf.EventID]sheaf.DeliveryState{}
		for _, d := range n.deliveries(id) {
			if got[d.EventID] != "" {
				n.Errorf("two deliveries of one event")
			}
			got[d.EventID] = d.State
		}
		want := map[sheaf.EventID]sheaf.DeliveryState{}
		for _, e := range log {
			if has, held := h.fate(e); held {
				want[e.ID] = sheaf.Held
			} else if has {
				want[e.ID] = sheaf.Waiting
			}
		}
		same(n.fixture, fmt.Sprintf("deliveries of a subscription with %d changes", len(h)), got, want)
	}
}

// removedWhileRecorded removes the deliveries of a deleted subscription while their attempts are
// recorded: neither stays without the other.
func removedWhileRecorded(n *nodes) {
	s := n.subscribe(sheaf.ShareCreated)
	before, err := backup.Write(context.Background(), n.both[0], io.Discard, nil)
	n.must(err)
	n.appendMany(sheaf.ShareCreated, 200)
	n.must(n.record(n.outcomes(n.claim(s.ID, 200, time.Hour), retried)))
	claims := n.claim(s.ID, 200, time.Hour)
	n.must(n.both[0].Write(context.Background(), func(tx *store.Tx) error {
		w, err := tx.LockWorkspace(n.ws.ID)
		if err != nil {
			return err
		}
		w.Subscriptions--
		return errors.Join(tx.DeleteSubscription(w.ID, s.ID, n.now()), tx.SaveWorkspace(w))
	}))
	var g errgroup.Group
	g.Go(func() error {
		for part := range slices.Chunk(claims, 20) {
			if err := n.record(n.outcomes(part, failed)); err != nil {
				return err
			}
		}
		return nil
	})
	g.Go(func() error {
		for {
			var removed int64
			err := n.both[1].Write(context.Background(), func(tx *store.Tx) (err error) {
				removed, err = tx.DeleteOrphans(20)
				return err
			})
			if err != nil || removed == 0 {
				return err
			}
		}
	})
	n.must(g.Wait())
	after, err := backup.Write(context.Background(), n.both[0], io.Discard, nil)
	n.must(err)
	// The events stay; the subscription and its lane are gone too.
	if left := after.Rows - before.Rows - 200 + 2; len(claims) != 200 || left != 0 {
		n.Errorf("of %d deliveries that are gone %d rows are left", len(claims), left)
	}
}
