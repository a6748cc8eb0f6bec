package deliver_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"sheaf.dev/internal/deliver"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

const lease = timeout + 5*time.Second

// claimAsAnother claims a subscription's deliveries as a node that is about to
// die.
func (w *world) claimAsAnother(id sheaf.SubscriptionID) []store.Claim {
	w.Helper()
	var found store.Claimed
	w.must(w.store.Write(w.Context(), func(tx *store.Tx) (err error) {
		found, err = tx.Claim([]store.Lane{{Subscription: id, Room: 100}}, store.Unbounded, time.Now(), time.Now().Add(lease), "another node")
		return err
	}))
	return found.Claims
}

func (w *world) record(o ...store.Outcome) {
	w.Helper()
	w.must(w.store.Write(context.Background(), func(tx *store.Tx) error {
		return tx.Record(o, func() (sheaf.EventID, time.Time) {
			return sheaf.EventID(sheaf.EventPrefix + sheaf.NewUUID(time.Now(), rand.Reader)), time.Now()
		})
	}))
}

func TestLease_DeadNodesWorkIsTakenUp(t *testing.T) {
	simulate(t, func(w *world) {
		id := w.subscribe("/a")
		w.publish(3)
		w.at(120 * ms)
		if n := len(w.claimAsAnother(id)); n != 3 {
			t.Fatalf("claimed %d, want 3", n)
		}
		w.start(oneOfMany)
		w.at(120*ms + lease)
		w.wantTimes("/a")
		w.at(120*ms + lease + time.Second)
		if n := len(w.endpoint.times("/a")); n != 3 {
			t.Errorf("%d of 3 were taken up within a second after the lease", n)
		}
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Delivered: 3})
	})
}

func TestLease_AloneTakesUpAtOnce(t *testing.T) {
	simulate(t, func(w *world) {
		id := w.subscribe("/a")
		w.publish(3)
		w.claimAsAnother(id)
		w.at(120 * ms)
		w.start()
		w.at(121 * ms)
		w.wantTimes("/a", 120*ms, 120*ms, 120*ms)
	})
}

func TestLease_LateResultIsDropped(t *testing.T) {
	for _, status := range []int{200, 500} {
		simulate(t, func(w *world) {
			w.endpoint.on("/a", always(500))
			id := w.subscribe("/a")
			w.publish(1)
			stale := w.claimAsAnother(id)[0]
			w.start()
			w.at(500 * ms) // one attempt made, the next is due at 1 s
			before := w.only(id)
			late := store.Outcome{Claim: stale, Ended: time.Now(), Attempt: sheaf.Attempt{StartedAt: time.Now(), StatusCode: status}}
			if status != 200 {
				late.Attempt.Class, late.Attempt.Error = "status", "late"
			}
			w.record(late)
			after := w.only(id)
			if after.State != sheaf.Waiting || after.AttemptCount != 1 || len(after.Attempts) != 1 || *after.NextAttemptAt != *before.NextAttemptAt {
				t.Errorf("a late result changed %+v\nto %+v", before, after)
			}
			w.wantFailures(id, 0, true)
			w.at(2 * time.Minute)
			w.wantTimes("/a", 0, time.Second, 11*time.Second, 71*time.Second)
		})
	}
}

// A node dies with an attempt under way, and the subscription is turned off before the lease
// expires: the delivery is held, and recover sends it.
func TestLease_ExpiredWhileInactiveIsHeld(t *testing.T) {
	for _, alone := range []bool{true, false} {
		simulate(t, func(w *world) {
			id := w.subscribe("/a")
			w.publish(1)
			w.claimAsAnother(id)
			w.setActive(id, false)
			w.start(func(c *deliver.Config) { c.Alone = alone })
			w.at(lease + time.Second)
			w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Held: 1})
			w.wantTimes("/a")
			w.setActive(id, true)
			if n := w.recover(id); n != 1 {
				t.Errorf("recover queued %d, want 1", n)
			}
			w.at(lease + 2*time.Second)
			w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Delivered: 1})
		})
	}
}

// An attempt that a person requested is made even if the node that had it died, and the
// subscription is inactive.
func TestLease_ExpiredByHandIsSent(t *testing.T) {
	simulate(t, func(w *world) {
		id := w.subscribe("/a")
		w.setActive(id, false)
		w.publish(1)
		w.redeliver(w.only(id).ID)
		if n := len(w.claimAsAnother(id)); n != 1 {
			t.Fatalf("claimed %d, want 1", n)
		}
		w.start(oneOfMany)
		w.at(lease + time.Second)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Delivered: 1})
	})
}

func TestStop_LetsAttemptsEnd(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", slowly(8*time.Second, 200))
		w.start()
		id := w.subscribe("/a")
		w.publish(30)
		w.at(time.Second)
		w.stop()
		if w.elapsed() != 8*time.Second {
			t.Errorf("the stop took until %v", w.elapsed())
		}
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Delivered: deliver.LaneCap, sheaf.Waiting: 30 - deliver.LaneCap})
	})
}

// Attempts that outlast the time for a stop are cut off and given back; they do not count as
// attempts, and the next start makes them at once.
func TestStop_GivesBackWhatDoesNotEnd(t *testing.T) {
	simulate(t, func(w *world) {
		w.client = deliver.NewClient(deliver.ClientConfig{Timeout: time.Minute, DialContext: w.endpoint.dial, RootCAs: w.endpoint.roots})
		w.endpoint.on("/a", hang)
		w.start(func(c *deliver.Config) { c.Timeout = time.Minute })
		id := w.subscribe("/a")
		w.publish(30)
		w.at(time.Second)
		w.stop()
		if w.elapsed() != 11*time.Second {
			t.Errorf("the stop took until %v, want 10 s", w.elapsed())
		}
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Waiting: 30})
		for _, d := range w.deliveries(id) {
			if d.AttemptCount != 0 || d.NextAttemptAt == nil {
				t.Errorf("given back: %+v", d)
			}
		}
		w.endpoint.on("/a", always(200))
		w.at(20 * time.Second)
		w.start(oneOfMany)
		w.at(21 * time.Second)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Delivered: 30})
		w.client.CloseIdle()
	})
}

// If the subscription is turned off during the last wait, the deliveries that are given back are
// held.
func TestStop_GivesBackInactiveAsHeld(t *testing.T) {
	simulate(t, func(w *world) {
		w.client = deliver.NewClient(deliver.ClientConfig{Timeout: time.Minute, DialContext: w.endpoint.dial, RootCAs: w.endpoint.roots})
		w.endpoint.on("/a", hang)
		w.start(func(c *deliver.Config) { c.Timeout = time.Minute })
		id := w.subscribe("/a")
		w.publish(1)
		w.at(time.Second)
		w.setActive(id, false)
		w.stop()
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Held: 1})
		w.client.CloseIdle()
	})
}
