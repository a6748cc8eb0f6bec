package deliver_test

import (
	"testing"
	"time"

	"sheaf.dev/internal/deliver"
	"sheaf.dev/internal/sheaf"
)

// failOne makes one delivery fail for good; it takes 80 s.
func (w *world) failOne(path string) {
	w.Helper()
	w.endpoint.on(path, always(500))
	w.publish(1)
	w.at(w.elapsed() + 80*time.Second)
}

func TestPolicy_TenFailedDeliveriesInARowDeactivate(t *testing.T) {
	simulate(t, func(w *world) {
		w.start()
		id := w.subscribe("/a")
		for n := int64(1); n <= 9; n++ {
			w.failOne("/a")
			w.wantFailures(id, n, true)
		}
		w.publish(2) // the second is held when the first ends
		w.at(w.elapsed() + 71*time.Second - ms)
		w.wantFailures(id, 9, true)
		w.at(w.elapsed() + ms)
		s := w.subscription(id)
		if s.FailureCount != 10 || s.Active || s.DeactivationReason == nil || *s.DeactivationReason != sheaf.ByFailures ||
			s.DeactivatedAt == nil || s.DeactivatedAt.Sub(w.began) != w.elapsed() || s.HeldCount != 1 {
			t.Errorf("at the tenth: %+v", s)
		}
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Failed: 10, sheaf.Held: 1})
		w.publish(1)
		w.at(w.elapsed() + 2*time.Minute)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Failed: 10, sheaf.Held: 2})
		if n := len(w.endpoint.times("/a")); n != 44 {
			t.Errorf("%d requests, want 44", n)
		}
	})
}

// A delivery that waits for its retry when another one is the tenth to fail is held at once.
func TestPolicy_WhatWaitsForARetryIsHeldByTheTenthFailure(t *testing.T) {
	simulate(t, func(w *world) {
		w.start()
		id := w.subscribe("/a")
		for range 9 {
			w.failOne("/a")
		}
		w.publish(1)
		began := w.elapsed()
		w.at(began + 20*time.Second)
		w.publish(1) // its last attempt would be 20 seconds after the tenth failure
		w.at(began + 71*time.Second)
		w.wantFailures(id, 10, false)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Failed: 10, sheaf.Held: 1})
	})
}

// All deliveries fail at the same moment: ten of them count, and the rest is held and does not count.
func TestPolicy_FailuresOfOneMomentCountToTen(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", always(500))
		w.start()
		id := w.subscribe("/a")
		w.publish(14)
		w.at(5 * time.Minute)
		w.wantFailures(id, 10, false)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Failed: 10, sheaf.Held: 4})
	})
}

func TestPolicy_ASuccessBetweenStartsTheCountAnew(t *testing.T) {
	simulate(t, func(w *world) {
		w.start()
		id := w.subscribe("/a")
		for range 9 {
			w.failOne("/a")
		}
		w.wantFailures(id, 9, true)
		w.endpoint.on("/a", always(200))
		w.publish(1)
		w.at(w.elapsed() + time.Second)
		w.wantFailures(id, 0, true)
		if s := w.subscription(id); s.LastError != nil {
			t.Errorf("the last error is still %q", *s.LastError)
		}
		for range 9 {
			w.failOne("/a")
		}
		w.wantFailures(id, 9, true)
		w.failOne("/a")
		w.wantFailures(id, 10, false)
	})
}

// D68: only deliveries by schedule raise or reset the count.
func TestPolicy_TestsAndRedeliveriesDoNotCount(t *testing.T) {
	simulate(t, func(w *world) {
		w.start()
		id := w.subscribe("/a")
		for range 9 {
			w.failOne("/a")
		}
		for _, status := range []int{500, 200} {
			w.endpoint.on("/a", always(status))
			if _, err := w.app.TestSubscription(w.Context(), w.caller, id, nil); err != nil {
				t.Fatal(err)
			}
			w.redeliver(w.deliveries(id)[0].ID)
			w.at(w.elapsed() + 2*time.Minute)
			w.wantFailures(id, 9, true)
		}
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Failed: 8, sheaf.Delivered: 1})
		if d := w.deliveries(id)[0]; d.AttemptCount != 6 {
			t.Errorf("%d attempts, want 4 and two by hand", d.AttemptCount)
		}
	})
}

// The count is in the store, not in the sender.
func TestPolicy_CountsAcrossRestarts(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", always(500))
		w.start()
		id := w.subscribe("/a")
		w.publish(5)
		w.at(30 * time.Second)
		w.close()
		w.open()
		w.start()
		w.at(80 * time.Second)
		w.wantFailures(id, 5, true)
		w.close()
		w.open()
		w.start()
		w.publish(4)
		w.at(160 * time.Second)
		w.wantFailures(id, 9, true)
		w.publish(1)
		w.at(200 * time.Second)
		w.close()
		w.open()
		w.start()
		w.at(5 * time.Minute)
		w.wantFailures(id, 10, false)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Failed: 10})
	})
}

// D64b: a recovered delivery runs its whole retry schedule again.
func TestPolicy_RecoverRunsTheWholeScheduleAgainAndCounts(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", always(500))
		w.start()
		id := w.subscribe("/a")
		w.publish(10)
		w.at(80 * time.Second)
		w.wantFailures(id, 10, false)
		w.publish(1)
		w.setActive(id, true)
		w.wantFailures(id, 0, true)
		w.at(200 * time.Second)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Failed: 10, sheaf.Held: 1}) // by itself nothing is sent
		before := len(w.endpoint.times("/a"))
		if n := w.recover(id); n != 11 {
			t.Errorf("recover queued %d, want 11", n)
		}
		w.at(280 * time.Second)
		if n := len(w.endpoint.times("/a")) - before; n != 44 {
			t.Errorf("%d requests after recover, want 44", n)
		}
		w.wantFailures(id, 10, false)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Failed: 10, sheaf.Held: 1})
		w.setActive(id, true)
		w.endpoint.on("/a", always(200))
		w.recover(id)
		w.at(281 * time.Second)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Delivered: 11})
	})
}

// Reactivating a subscription sends the deliveries whose failures deactivated it, and those that were
// held since: everything of the outage. Deliveries that failed before the last success stay failed.
func TestReactivate_SendsEverythingSinceItBeganToFail(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", always(500))
		w.start()
		id := w.subscribe("/a")
		w.publish(1) // long repaired
		w.at(80 * time.Second)
		w.endpoint.on("/a", always(200))
		w.publish(1)
		w.at(100 * time.Second)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Failed: 1, sheaf.Delivered: 1})
		w.endpoint.on("/a", always(500))
		w.publish(10)
		w.at(200 * time.Second)
		w.publish(3)
		w.wantFailures(id, 10, false)
		failing, err := w.app.Failing(w.Context(), w.caller, id)
		w.must(err)
		if failing.Failed != 10 || failing.Since == nil {
			t.Errorf("it fails since %v: %d", failing.Since, failing.Failed)
		}
		w.endpoint.on("/a", always(200))
		got, err := w.app.Reactivate(w.Context(), w.caller, id)
		w.must(err)
		if got.Queued != 13 {
			t.Errorf("%d are sent again, want 13", got.Queued)
		}
		w.at(220 * time.Second)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Failed: 1, sheaf.Delivered: 14})
		if failing, err = w.app.Failing(w.Context(), w.caller, id); err != nil || failing.Failed != 1 {
			t.Errorf("it still fails: %+v, %v", failing, err)
		}
	})
}

func TestInactive_AttemptUnderWayEnds(t *testing.T) {
	for _, c := range []struct {
		status int
		want   sheaf.DeliveryState
	}{{200, sheaf.Delivered}, {500, sheaf.Held}} {
		simulate(t, func(w *world) {
			w.endpoint.on("/a", slowly(5*time.Second, c.status))
			w.start()
			id := w.subscribe("/a")
			w.publish(1)
			w.at(2 * time.Second)
			w.setActive(id, false)
			w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Sending: 1})
			w.at(2 * time.Minute)
			w.wantStates(id, map[sheaf.DeliveryState]int{c.want: 1})
			w.wantFailures(id, 0, false)
			w.wantTimes("/a", 0)
		})
	}
}

func TestInactive_WaitingAndNewOnesAreHeld(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", always(500))
		w.start()
		id := w.subscribe("/a")
		w.publish(1)
		w.at(5 * time.Second) // two attempts made, the third due at 11 s
		w.setActive(id, false)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Held: 1})
		if d := w.only(id); d.NextAttemptAt != nil || d.AttemptCount != 2 {
			t.Errorf("a held delivery: %+v", d.Delivery)
		}
		w.publish(2)
		w.at(time.Minute)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Held: 3})
		w.setActive(id, true)
		w.recover(id)
		w.at(2*time.Minute + 11*time.Second)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Failed: 3})
		w.wantFailures(id, 3, true)
		if n := len(w.endpoint.times("/a")); n != 2+3*4 {
			t.Errorf("%d requests, want 14", n)
		}
	})
}

// The last attempt under way fails while the subscription is inactive, and the subscription is
// activated right after that: the delivery must not be lost between the states.
func TestInactive_OffAndOnDuringAnAttempt(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", slowly(5*time.Second, 500))
		w.start()
		id := w.subscribe("/a")
		w.publish(1)
		w.at(time.Second)
		w.setActive(id, false)
		w.setActive(id, true)
		if n := w.recover(id); n != 0 {
			t.Errorf("recover queued %d deliveries, and one is being sent", n)
		}
		w.at(5 * time.Minute)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Failed: 1})
		w.wantFailures(id, 1, true)
	})
}

func TestDelete_EndsEverything(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", slowly(5*time.Second, 500))
		w.start()
		id := w.subscribe("/a")
		w.publish(30) // some under way, some waiting
		w.at(time.Second)
		w.must(w.app.DeleteSubscription(w.Context(), w.caller, id, sheaf.Match{}))
		w.at(5 * time.Minute)
		if n := len(w.endpoint.times("/a")); n != deliver.LaneCap {
			t.Errorf("%d requests, want the %d that were under way", n, deliver.LaneCap)
		}
	})
}
