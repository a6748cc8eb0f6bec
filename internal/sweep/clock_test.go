package sweep_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sheaf.dev/internal/obs"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/doctor"
)

const day = 24 * time.Hour

// settle fills the log with three events, delivered, a kept answer and an invitation, all of this
// moment.
func (y *yard) settle() {
	y.Helper()
	id := y.subscribe()
	y.publish(3)
	y.attempt(id)
	now := y.Clock.Now()
	y.write(func(tx *store.Tx, w *sheaf.Workspace) error {
		if err := tx.Remember(w, store.Once{Method: "POST", Path: "/p", Key: "k", BodyHash: []byte("h")}, store.Answer{Status: 201, Body: []byte(`{}`)}, 0, now); err != nil {
			return err
		}
		_, err := tx.InsertInvitation(w.ID, sheaf.Invitation{ID: sheaf.InvitationID(y.id()), Email: "a", Role: sheaf.Member, InvitedBy: y.ws.Owner, CreatedAt: now, ExpiresAt: now.Add(day)}, []byte{1})
		return err
	})
}

// kept reports whether the log, and what is kept for a day, are still there.
func (y *yard) kept() (log, short bool) {
	y.Helper()
	_, _, total, _ := y.log()
	remembered, invited := false, false
	y.write(func(tx *store.Tx, w *sheaf.Workspace) (err error) {
		_, remembered, _, err = tx.Remembered(w.ID, store.Once{Method: "POST", Path: "/p", Key: "k", BodyHash: []byte("h")}, time.UnixMilli(0))
		return err
	})
	y.read(func(r *store.Reader) error {
		_, _, err := r.Invitation([]byte{1}, time.UnixMilli(0))
		invited = err == nil
		return nil
	})
	if remembered != invited {
		y.Errorf("the answer is kept: %v, the invitation: %v", remembered, invited)
	}
	return total == 3, remembered
}

func (y *yard) want(when string, log, short bool) {
	y.Helper()
	y.sweep()
	if l, s := y.kept(); l != log || s != short {
		y.Errorf("%s the log is kept: %v, what is kept for a day: %v; want %v, %v", when, l, s, log, short)
	}
	if doubted := strings.Contains(y.metrics(), "\nsheaf_sweep_clock_doubted 1\n"); doubted != (log && y.set > 0) {
		y.Errorf("%s the metric says that the clock is doubted: %v", when, doubted)
	}
}

func (y *yard) metrics() string {
	r := prometheus.NewRegistry()
	y.s.Register(r)
	w := httptest.NewRecorder()
	obs.MetricsHandler(r).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestClock_SetAheadRemovesNothing(t *testing.T) {
	each(t, func(y *yard) {
		y.settle()
		y.Clock.Advance(time.Minute)
		y.want("at first", true, true)
		y.setAhead(60 * day)
		y.want("when the clock is set ahead by 60 days", true, true)
		y.Clock.Advance(59 * time.Minute)
		y.want("almost an hour later", true, true)
		if n := strings.Count(strings.Join(y.told, ""), "level=WARN"); n != 1 {
			y.Errorf("%d warnings were given in the first hour: %q", n, y.told)
		}
		y.Clock.Advance(2 * time.Minute)
		y.sweep()
		if n := strings.Count(strings.Join(y.told, ""), "level=WARN"); n != 2 {
			y.Errorf("%d warnings were given in an hour: %q", n, y.told)
		}
		y.setAhead(-60 * day)
		y.want("when it is set right", true, true)
	})
}

// A server that was switched off cannot be told from a wrong clock. The clock is trusted only
// slowly, but without an operator.
func TestClock_IsBelievedByAndBy(t *testing.T) {
	each(t, func(y *yard) {
		y.settle()
		y.sweep()
		y.setAhead(60 * day)
		y.start()
		y.want("after 60 days switched off", true, true)
		y.Clock.Advance(5 * time.Hour)
		y.want("5 hours later", true, true)
		y.start()
		y.Clock.Advance(59 * time.Minute)
		y.want("after another start, almost an hour", true, true)
		y.Clock.Advance(2 * time.Minute)
		y.want("after 6 hours", true, false)
		for range 7 {
			y.Clock.Advance(day)
			y.want("in the week after", true, false)
		}
		y.setAhead(day)
		y.want("when it is set again", true, false)
		y.Clock.Advance(7 * day)
		y.want("a week after that", true, false)
		y.Clock.Advance(day)
		y.want("a quarter of the retention after that", false, false)
		y.set = 0
		y.start()
		y.want("and then", false, false)
	})
}

func TestClock_IsBelievedWhenSomebodySaysSo(t *testing.T) {
	each(t, func(y *yard) {
		y.settle()
		y.sweep()
		y.setAhead(60 * day)
		y.want("after 60 days", true, true)
		y.must(y.Store.Write(context.Background(), func(tx *store.Tx) error {
			return tx.SetSweepClock(store.SweepClock{Trusted: y.Clock.Now()})
		}))
		y.want("confirmed", false, false)
	})
}

// A week, or a wrong time zone, is no reason to distrust the clock.
func TestClock_ShortJumpsAreBelieved(t *testing.T) {
	each(t, func(y *yard) {
		y.settle()
		y.Clock.Advance(25 * day)
		y.sweep()
		y.setAhead(6 * day)
		y.sweep()
		if log, _ := y.kept(); log {
			y.Error("the log is kept after 31 days, though the server was off for only 6")
		}
	})
}

// A machine without a battery starts with a time in the past.
func TestClock_BehindIsNoDoubt(t *testing.T) {
	each(t, func(y *yard) {
		y.settle()
		y.setAhead(-365 * day)
		y.start()
		y.sweep()
		y.Clock.Advance(time.Minute)
		y.sweep()
		y.setAhead(365 * day)
		y.want("after a start in the past, set right", true, true)
		y.Clock.Advance(31 * day)
		y.want("after a start in the past and 31 days", false, false)
	})
}

// A time in the future that was trusted once does not confirm the next clock that is ahead.
func TestClock_OnceBelievedAheadIsForgotten(t *testing.T) {
	each(t, func(y *yard) {
		y.setAhead(3650 * day)
		y.must(y.Store.Write(context.Background(), func(tx *store.Tx) error {
			return tx.SetSweepClock(store.SweepClock{Trusted: y.Clock.Now()})
		}))
		y.setAhead(-3650 * day)
		y.settle()
		y.want("when it is right again", true, true)
		for range 8 {
			y.Clock.Advance(day)
			y.sweep()
		}
		y.setAhead(60 * day)
		y.want("when it is ahead once more", true, false)
	})
}

// The first sweep of a store that was used before looks at the newest event.
func TestClock_OfAStoreThatNobodySwept(t *testing.T) {
	eachUnswept(t, func(y *yard) {
		y.settle()
		y.setAhead(60 * day)
		y.start()
		y.want("60 days after its newest event", true, true)
	})
}

// After something was deleted by a clock that was ahead, and the clock is corrected, the doctor
// reports nothing missing.
func TestClock_TheDoctorMissesNothing(t *testing.T) {
	each(t, func(y *yard) {
		c := y.ws.Client("")
		c.POST("/api/v1/projects", map[string]any{"name": "Kept"}).Want(y.T, 201)
		y.sweep()
		y.setAhead(60 * day)
		y.must(y.Store.Write(context.Background(), func(tx *store.Tx) error {
			return tx.SetSweepClock(store.SweepClock{Trusted: y.Clock.Now()})
		}))
		y.sweep()
		y.setAhead(-60 * day)
		if _, _, total, _ := y.log(); total != 0 {
			y.Fatalf("%d events are left", total)
		}
		err := doctor.Examine(context.Background(), y.Store, doctor.Examination{Now: y.Clock.Now(), Retention: retention, Box: y.Webhooks.Box}, func(f doctor.Finding) {
			y.Errorf("the doctor tells %s", f)
		})
		y.must(err)
	})
}

// Held deliveries wait for a person, whatever their age, as long as the log has not grown far
// beyond them.
func TestOnce_KeepsWhatIsHeld(t *testing.T) {
	each(t, func(y *yard) {
		id := y.subscribe()
		y.publish(5)
		y.ws.Client("").PATCH("/api/webhooks/subscriptions/"+string(id), map[string]any{"active": false}).Want(y.T, 200)
		y.Clock.Advance(3 * retention)
		y.sweep()
		if d, _ := y.left(id, nil); d != 5 {
			y.Fatalf("%d deliveries are held, want 5", d)
		}
		if first, _, _, _ := y.log(); first != 1 {
			y.Fatalf("the log begins with %d", first)
		}
		for range 10 {
			y.publish(1000)
		}
		y.sweep()
		if d, _ := y.left(id, nil); d != 10_000 {
			y.Errorf("%d deliveries are held, want the 10,000 that the log has gone on", d)
		}
		y.Clock.Advance(3 * retention)
		y.sweep()
		if d, _ := y.left(id, nil); d != 10_000 {
			y.Errorf("when all are old %d deliveries are held, want 10,000", d)
		}
		// The sixth event reports that it was deactivated.
		if first, last, _, _ := y.log(); first != 7 || last != 10_006 {
			y.Errorf("the log is %d to %d", first, last)
		}
	})
}
