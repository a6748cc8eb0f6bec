package deliver_test

import (
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
)

func TestRedeliver_FailedStaysFailedUntilItArrives(t *testing.T) {
	simulate(t, func(w *world) {
		w.start()
		id := w.subscribe("/a")
		w.failOne("/a")
		w.stop()
		w.redeliver(w.only(id).ID)
		w.redeliver(w.only(id).ID) // is one and the same
		w.start()
		w.at(w.elapsed() + 2*time.Minute)
		w.wantTimes("/a", 0, time.Second, 11*time.Second, 71*time.Second, 80*time.Second)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Failed: 1})
		w.endpoint.on("/a", always(200))
		w.redeliver(w.only(id).ID)
		w.at(w.elapsed() + time.Second)
		d := w.only(id)
		if d.State != sheaf.Delivered || d.AttemptCount != 6 || d.LastError != nil {
			t.Errorf("got %+v", d.Delivery)
		}
	})
}

// Between two attempts: the extra one does not shift, shorten or lengthen the
// schedule.
func TestRedeliver_BetweenAttemptsLeavesTheSchedule(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", slowly(400*ms, 500))
		w.start()
		w.at(130 * ms)
		id := w.subscribe("/a")
		w.publish(1)
		w.at(630 * ms) // the first ended at 530, the second is due at 1530
		w.redeliver(w.only(id).ID)
		w.at(5 * time.Minute)
		w.wantTimes("/a", 130*ms, 630*ms, 1530*ms, 11930*ms, 72330*ms)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Failed: 1})
		w.wantFailures(id, 1, true)
	})
}

// The extra attempt is still under way when the next attempt becomes due.
func TestRedeliver_OverrunsTheNextAttempt(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", func(h hit) int {
			if h.n == 2 {
				time.Sleep(3 * time.Second) // simulated
			}
			return 500
		})
		w.start()
		id := w.subscribe("/a")
		w.publish(1)
		w.at(730 * ms)
		w.redeliver(w.only(id).ID)
		w.at(5 * time.Minute)
		w.wantTimes("/a", 0, 730*ms, 3730*ms, 13730*ms, 73730*ms)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Failed: 1})
	})
}

func TestRedeliver_WhenInactive(t *testing.T) {
	for status, want := range map[int]sheaf.DeliveryState{200: sheaf.Delivered, 500: sheaf.Held} {
		simulate(t, func(w *world) {
			w.endpoint.on("/a", always(status))
			w.start()
			id := w.subscribe("/a")
			w.setActive(id, false)
			w.publish(1)
			w.at(10 * time.Second)
			w.redeliver(w.only(id).ID)
			w.at(5 * time.Minute)
			w.wantTimes("/a", 10*time.Second)
			w.wantStates(id, map[sheaf.DeliveryState]int{want: 1})
			w.wantFailures(id, 0, false)
		})
	}
}

// A person requests an attempt of a delivery that waits for its next one. While the requested
// attempt is due or under way, the subscription becomes inactive. The delivery is then held. If
// it were left waiting, no node would send it, and no request could recover it.
func TestRedeliver_TurnedInactiveMeanwhileIsHeld(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", func(h hit) int {
			if h.n == 2 {
				time.Sleep(2 * time.Second) // simulated
			}
			return 500
		})
		w.start()
		id := w.subscribe("/a")
		w.publish(1)
		w.at(500 * ms)
		w.redeliver(w.only(id).ID)
		w.at(time.Second)
		w.setActive(id, false)
		w.at(time.Minute)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Held: 1})
		w.setActive(id, true)
		if n := w.recover(id); n != 1 {
			t.Errorf("recover queued %d, want 1", n)
		}
	})
}

// If a client recovers while a requested attempt of a failed delivery is under way, that delivery
// is recovered too: it runs the whole schedule.
func TestRedeliver_RecoverMeanwhileIncludesIt(t *testing.T) {
	for _, c := range []struct {
		name string
		slow time.Duration // of the attempt by hand
	}{{"while it waits", 0}, {"while it is sent", 2 * time.Second}} {
		t.Run(c.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.start()
				id := w.subscribe("/a")
				w.failOne("/a")
				w.endpoint.on("/a", func(h hit) int {
					if h.n == 5 {
						time.Sleep(c.slow) // simulated
					}
					return 500
				})
				if c.slow == 0 {
					w.stop() // so that the attempt by hand is not begun
				}
				w.redeliver(w.only(id).ID)
				w.at(81 * time.Second)
				if n := w.recover(id); n != 1 {
					t.Errorf("recover queued %d, want 1", n)
				}
				if c.slow == 0 {
					w.start()
				}
				w.at(5 * time.Minute)
				want := 4 + 4
				if c.slow > 0 {
					want++ // by hand
				}
				if n := len(w.endpoint.times("/a")); n != want {
					t.Errorf("%d requests, want %d: %v", n, want, w.endpoint.times("/a"))
				}
				w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Failed: 1})
				w.wantFailures(id, 2, true)
			})
		})
	}
}

func TestRedeliver_DeliveredStaysDelivered(t *testing.T) {
	simulate(t, func(w *world) {
		w.start()
		id := w.subscribe("/a")
		w.publish(1)
		w.at(time.Second)
		w.endpoint.on("/a", always(500))
		w.redeliver(w.only(id).ID)
		w.at(2 * time.Minute)
		w.wantTimes("/a", 0, time.Second)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Delivered: 1})
		w.wantFailures(id, 0, true)
	})
}

// While an attempt is under way, one more comes when it has ended: also after
// the last of the schedule, and after one that arrived.
func TestRedeliver_WhileSendingComesAfter(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", slowly(400*ms, 500))
		w.start()
		id := w.subscribe("/a")
		w.publish(1)
		w.at(73 * time.Second) // the fourth began at 72.2 s: 0.4+1, 0.4+10, 0.4+60
		if d := w.only(id); d.State != sheaf.Failed {
			t.Fatalf("got %+v", d.Delivery)
		}
		w.endpoint.on("/b", slowly(400*ms, 200))
		other := w.subscribe("/b")
		w.publish(1)
		w.at(73*time.Second + 100*ms)
		w.redeliver(w.deliveries(other)[0].ID)
		w.at(80 * time.Second)
		w.wantTimes("/b", 73*time.Second, 73*time.Second+400*ms)
		w.wantStates(other, map[sheaf.DeliveryState]int{sheaf.Delivered: 1})
	})
}

func TestRedeliver_DuringTheLastAttempt(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", slowly(400*ms, 500))
		w.start()
		id := w.subscribe("/a")
		w.publish(1)
		w.at(72*time.Second + 300*ms)
		if d := w.only(id); d.State != sheaf.Sending {
			t.Fatalf("got %+v", d.Delivery)
		}
		w.redeliver(w.only(id).ID)
		w.at(90 * time.Second)
		w.wantTimes("/a", 0, 1400*ms, 11800*ms, 72200*ms, 72600*ms)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Failed: 1})
		w.wantFailures(id, 1, true)
	})
}
