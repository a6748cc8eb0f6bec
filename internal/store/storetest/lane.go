package storetest

import (
	"errors"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// heldLane makes a lane of 20 deliveries: 3 arrived, 4 failed, 8 were waiting when it was turned off, and 5
// came then. It is active again.
func (f *fixture) heldLane() (sheaf.SubscriptionID, []sheaf.Event) {
	f.Helper()
	id := f.subscribe(sheaf.ShareCreated).ID
	events := f.appendMany(sheaf.ShareCreated, 15)
	f.must(f.record(f.outcomes(f.claim(id, 3, time.Hour), arrived)))
	f.must(f.record(f.outcomes(f.claim(id, 4, time.Hour), failed)))
	f.turn(id, false)
	events = append(events, f.appendMany(sheaf.ShareCreated, 5)...)
	f.turn(id, true)
	same(f, "states", f.states(id), map[sheaf.DeliveryState]int{sheaf.Delivered: 3, sheaf.Failed: 4, sheaf.Held: 13})
	return id, events
}

func (f *fixture) turn(id sheaf.SubscriptionID, active bool) {
	f.Helper()
	_, err := f.setActive(id, active)
	f.must(err)
}

// recovered recovers everything, and returns how many that was by its own account.
func (f *fixture) recovered(id sheaf.SubscriptionID, before store.Recoverable, end error) (n int64) {
	f.Helper()
	err := f.locked(func(tx *store.Tx, w *sheaf.Workspace) (err error) {
		if n, err = tx.Recover(w.ID, id, time.Time{}, f.now(), before); err != nil {
			return err
		}
		return end
	})
	if !errors.Is(err, end) {
		f.Fatal(err)
	}
	return n
}

func (f *fixture) redeliver(d sheaf.Delivery) {
	f.Helper()
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error { return tx.Redeliver(w.ID, d, f.now()) }))
}

// recoverCounts: what was counted before is what the transaction itself would have counted, whatever happened between.
func recoverCounts(f *fixture) {
	for name, meanwhile := range map[string]func(id sheaf.SubscriptionID){
		"nothing":            func(sheaf.SubscriptionID) {},
		"recovered":          func(id sheaf.SubscriptionID) { f.recovered(id, store.Recoverable{}, nil) },
		"held one by hand":   func(id sheaf.SubscriptionID) { f.redeliver(f.deliveries(id)[12]) },
		"failed one by hand": func(id sheaf.SubscriptionID) { f.redeliver(f.deliveries(id)[4]) },
		"turned off and on":  func(id sheaf.SubscriptionID) { f.turn(id, false); f.turn(id, true) },
		"more came while it was off": func(id sheaf.SubscriptionID) {
			f.turn(id, false)
			f.appendMany(sheaf.ShareCreated, 3)
			f.turn(id, true)
		},
		"recovered, and turned off and on": func(id sheaf.SubscriptionID) {
			f.recovered(id, store.Recoverable{}, nil)
			f.must(f.record(f.outcomes(f.claim(id, 6, time.Hour), arrived)))
			f.turn(id, false)
			f.turn(id, true)
		},
	} {
		id, _ := f.heldLane()
		before := get(f, func(r *store.Reader) (store.Recoverable, error) { return r.Recoverable(f.ws.ID, id, time.Time{}) })
		meanwhile(id)
		want := f.recovered(id, store.Recoverable{}, errTaken)
		if got := f.recovered(id, before, nil); got != want {
			f.Errorf("%s: recovered %d, want %d", name, got, want)
		}
		states := f.states(id)
		if states[sheaf.Held]+states[sheaf.Failed] > 0 {
			f.Errorf("%s: left %v", name, states)
		}
	}
}

// errTaken ends a transaction that was only to be looked at.
var errTaken = errors.New("taken back")

// recoverOrder: recovered deliveries, failed or held, go by the number of their event, before those that came later.
func recoverOrder(f *fixture) {
	id, events := f.heldLane()
	newer := f.appendMany(sheaf.ShareCreated, 6)
	under := f.claim(id, 2, time.Hour) // of the newer ones, and under way
	n := f.recovered(id, store.Recoverable{}, nil)
	want := append(slices.Clone(events[3:]), newer[2:]...)
	if n != 17 {
		f.Errorf("recovered %d", n)
	}
	var got []sheaf.EventID
	for claims := f.claim(id, 5, time.Hour); len(claims) > 0; claims = f.claim(id, 5, time.Hour) {
		for _, c := range claims {
			got = append(got, c.Event)
		}
	}
	same(f, "order", got, ids(want, eventID))
	same(f, "under way", ids(under, func(c store.Claim) sheaf.EventID { return c.Event }), ids(newer[:2], eventID))
}

func eventID(e sheaf.Event) sheaf.EventID { return e.ID }

// commitTellsLanes: whatever makes deliveries due, every node hears in which lanes, and of no others.
func commitTellsLanes(n *nodes) {
	told := make(chan store.Note, 1000)
	n.both[1].OnCommit(func(note store.Note) { told <- note })
	defer n.watch()()
	if n.both[0] != n.both[1] {
		n.hear(told, func(note store.Note) bool { return note.AnyLane }) // it listens now
	}
	lane, off, last := n.subscribe(sheaf.ShareCreated).ID, n.subscribe(sheaf.ShareCreated).ID, n.subscribe(sheaf.ShareDeleted).ID
	n.subscribe(sheaf.ShareUpdated)
	n.turn(off, false)
	// lanes returns the lanes of the notes that arrive before the note of the event after the act.
	lanes := func(act func()) (out []sheaf.SubscriptionID) {
		act()
		n.appendMany(sheaf.ShareDeleted, 1)
		n.hear(told, func(note store.Note) bool {
			if note.AnyLane {
				n.Error("every lane was told")
			}
			out = append(out, note.Lanes...)
			return slices.Contains(out, last)
		})
		slices.Sort(out)
		return slices.DeleteFunc(slices.Compact(out), func(id sheaf.SubscriptionID) bool { return id == last })
	}
	none := []sheaf.SubscriptionID{}
	var claims []store.Claim
	claim := func() { claims = n.claim(lane, 2, time.Hour) }
	for _, step := range []struct {
		name string
		want []sheaf.SubscriptionID
		act  func()
	}{
		{"events", []sheaf.SubscriptionID{lane}, func() { n.appendMany(sheaf.ShareCreated, 8) }},
		{"a claim", none, claim},
		{"deliveries that arrived", none, func() { n.must(n.record(n.outcomes(claims, arrived))) }},
		{"a claim that is given back", []sheaf.SubscriptionID{lane}, func() {
			claim()
			n.write(func(tx *store.Tx) error { return tx.GiveBack(claims, n.now()) })
		}},
		{"a retry", []sheaf.SubscriptionID{lane}, func() {
			claim()
			n.must(n.record(n.outcomes(claims, retried)))
		}},
		{"the lease of a dead node", []sheaf.SubscriptionID{lane}, func() {
			claim()
			n.expire(2 * time.Hour)
		}},
		{"one by hand", []sheaf.SubscriptionID{off}, func() { n.redeliver(n.deliveries(off)[0]) }},
		{"recovery", []sheaf.SubscriptionID{lane}, func() { n.recovered(lane, store.Recoverable{}, nil) }},
	} {
		same(n.fixture, step.name, lanes(step.act), step.want)
	}
}

// leaseLasts: a lease lasts until the last of its rows is recorded. What a node that died had not recorded is taken up,
// and nothing else.
func leaseLasts(f *fixture) {
	id := f.subscribe(sheaf.ShareCreated).ID
	f.appendMany(sheaf.ShareCreated, 3)
	claims := f.claim(id, 3, time.Hour)
	for i := range 2 {
		f.must(f.record(f.outcomes(claims[i:i+1], arrived)))
		same(f, "states", f.states(id), map[sheaf.DeliveryState]int{sheaf.Delivered: i + 1, sheaf.Sending: 2 - i})
	}
	f.expire(2 * time.Hour)
	again := f.claim(id, 3, time.Hour)
	same(f, "taken up", ids(again, func(c store.Claim) sheaf.EventID { return c.Event }), []sheaf.EventID{claims[2].Event})
}
