package deliver_test

import (
	"testing"
	"time"

	"sheaf.dev/internal/deliver"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/tally"
)

const ms = time.Millisecond

// D68: each delay counts from the end of the attempt before, however long it took.
func TestSchedule_IsKeptToTheMillisecond(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", func(h hit) int {
			time.Sleep(time.Duration(h.n) * 7 * ms) // simulated
			return 503
		})
		w.start()
		w.at(123 * ms) // not on the beat of a poll
		id := w.subscribe("/a")
		w.publish(1)
		w.at(500 * ms)
		if d := w.only(id); d.State != sheaf.Waiting || d.NextAttemptAt == nil || d.NextAttemptAt.Sub(w.began) != 1130*ms || d.FinishedAt != nil {
			t.Errorf("after the first attempt: %+v", d.Delivery)
		}
		w.at(5 * time.Minute)
		w.wantTimes("/a", 123*ms, 1130*ms, 11144*ms, 71165*ms)
		d := w.only(id)
		if d.State != sheaf.Failed || d.AttemptCount != 4 || len(d.Attempts) != 4 || d.NextAttemptAt != nil ||
			d.FinishedAt == nil || d.FinishedAt.Sub(w.began) != 71193*ms || *d.LastStatusCode != 503 || d.LastError == nil {
			t.Errorf("at the end: %+v", d)
		}
		for i, a := range d.Attempts {
			if a.Number != int64(i+1) || a.Duration != time.Duration(i+1)*7*ms || a.StatusCode != 503 || a.Class != "status" {
				t.Errorf("attempt %d: %+v", i+1, a)
			}
		}
		w.wantFailures(id, 1, true)
		if s := w.subscription(id); s.LastError == nil || *s.LastError != *d.LastError {
			t.Errorf("the subscription's last error is %v", s.LastError)
		}
	})
}

// Each attempt is counted for the charts once, by how it ended.
func TestMinutes_CountEveryAttempt(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", func(h hit) int {
			time.Sleep(20 * ms) // simulated
			return 500
		})
		w.endpoint.on("/b", func(hit) int { return 204 })
		counts := tally.New(time.Now)
		w.start(func(c *deliver.Config) { c.Tally = counts })
		w.subscribe("/a")
		w.subscribe("/b")
		w.publish(2)
		w.at(5 * time.Minute)
		_, by := counts.Take()
		want := sheaf.Counts{Delivered: 2, Retried: 6, Failed: 2, TookSum: 160 * ms, TookMax: 20 * ms, Took: [7]int64{2, 8}}
		if got := by[w.caller.Workspace]; got != want || len(by) != 1 {
			t.Errorf("got %+v, want %+v", by, want)
		}
	})
}

func TestSchedule_EndsWithASuccess(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", func(h hit) int {
			if h.n < 3 {
				return 500
			}
			return 204
		})
		w.start()
		id := w.subscribe("/a")
		w.publish(1)
		w.at(5 * time.Minute)
		w.wantTimes("/a", 0, time.Second, 11*time.Second)
		d := w.only(id)
		if d.State != sheaf.Delivered || d.AttemptCount != 3 || d.LastError != nil || *d.LastStatusCode != 204 || d.FinishedAt.Sub(w.began) != 11*time.Second {
			t.Errorf("got %+v", d.Delivery)
		}
		w.wantFailures(id, 0, true)
	})
}

func TestSchedule_TimeoutIsAnAttempt(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", hang)
		w.start()
		id := w.subscribe("/a")
		w.publish(1)
		w.at(5 * time.Minute)
		w.wantTimes("/a", 0, 11*time.Second, 31*time.Second, 101*time.Second)
		d := w.only(id)
		if d.State != sheaf.Failed || d.FinishedAt.Sub(w.began) != 111*time.Second || d.LastStatusCode != nil || d.Attempts[3].Class != "timeout" {
			t.Errorf("got %+v", d)
		}
	})
}

// The sender stops between attempts. After the next start, attempts that became due meanwhile are
// made at once, and later ones when they are due. No attempt is made twice or forgotten.
func TestSchedule_GoesOnAfterARestart(t *testing.T) {
	for _, c := range []struct {
		name          string
		back          time.Duration
		third, fourth time.Duration
	}{
		{"before the next is due", 5 * time.Second, 11 * time.Second, 71 * time.Second},
		{"after the next was due", 20 * time.Second, 20 * time.Second, 80 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.endpoint.on("/a", always(500))
				w.start()
				id := w.subscribe("/a")
				w.publish(1)
				w.at(2 * time.Second)
				w.close()
				w.at(c.back)
				w.open()
				w.start()
				w.at(5 * time.Minute)
				w.wantTimes("/a", 0, time.Second, c.third, c.fourth)
				w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Failed: 1})
				w.wantFailures(id, 1, true)
			})
		})
	}
}

// The poll finds an event that was not announced to the sender.
func TestSchedule_UnannouncedWorkIsFound(t *testing.T) {
	simulate(t, func(w *world) {
		w.subscribe("/a")
		w.publish(1)
		w.at(3 * time.Second)
		w.start()
		w.at(4 * time.Second)
		w.wantTimes("/a", 3*time.Second)
	})
}

// The delays are shorter than the poll's interval: the end of an attempt schedules the next one.
func TestSchedule_ShortDelaysAreKept(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", always(500))
		w.start(func(c *deliver.Config) { c.Schedule = sheaf.Schedule{20 * ms, 30 * ms} })
		w.at(110 * ms)
		id := w.subscribe("/a")
		w.publish(1)
		w.at(time.Minute)
		w.wantTimes("/a", 110*ms, 130*ms, 160*ms)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Failed: 1})
	})
}
