package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/store/engine"
)

// onEngines runs the test on an empty store of either engine.
func onEngines(t *testing.T, test func(t *testing.T, s *Store)) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, openTest(t, Options{Folder: t.TempDir()}))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, openTest(t, Options{DatabaseURL: pgtest.URL(t)}))
	})
}

// freshRows adds fresh deliveries to the lane of number $1, of the events from $2 to $3.
const freshRows = `
INSERT INTO deliveries (ws, sub, number)
WITH RECURSIVE n (i) AS (SELECT CAST($2 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < CAST($3 AS BIGINT))
SELECT 1, CAST($1 AS BIGINT), i
FROM n`

// longLane creates a workspace with one subscription that has waiting deliveries, and a lease on
// the first of them.
func longLane(t *testing.T, s *Store, waiting int) {
	t.Helper()
	write(t, s, func(tx *Tx) error {
		w := sheaf.Workspace{ID: planned, Plan: sheaf.Business, LastEvent: int64(waiting)}
		if err := tx.InsertWorkspace(w); err != nil {
			return err
		}
		if err := tx.exec(manyEvents(tx.dialect()), waiting); err != nil {
			return err
		}
		if err := tx.InsertSubscription(planned, sheaf.Subscription{ID: full, Number: 1, Active: true}, Sealed{Secret: []byte("x")}); err != nil {
			return err
		}
		if err := tx.exec("UPDATE workspaces SET given = $1", string(appendGiven(nil, 1, int64(waiting)))); err != nil {
			return err
		}
		return tx.exec(freshRows, 1, 1, waiting)
	})
	now := time.UnixMilli(int64(waiting))
	write(t, s, func(tx *Tx) error {
		_, err := tx.Claim([]Lane{{Subscription: full, Room: 16}}, Unbounded, now, now.Add(time.Hour), "token")
		return err
	})
}

func write(t *testing.T, s *Store, fn func(tx *Tx) error) {
	t.Helper()
	if err := s.Write(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

// touched returns how many rows of deliveries a connection has recently read and written, as
// counted by PostgreSQL.
const touched = `
SELECT CAST(COALESCE(SUM(seq_tup_read + idx_tup_fetch + n_tup_upd), 0) AS BIGINT)
FROM pg_stat_xact_user_tables
WHERE relname = 'deliveries'`

func rowsTouched(e *engine.Tx) (int64, error) {
	if !e.Dialect().Postgres {
		return 0, nil
	}
	return e.Count(touched)
}

// turns deactivates, reactivates and recovers a lane, and returns what that read: on SQLite the
// plans, on PostgreSQL the number of rows of deliveries. Recoverable is counted before.
func turns(t *testing.T, s *Store, waiting int64) (plans []engine.Plan, rows int64) {
	t.Helper()
	ctx, since, now := context.Background(), time.UnixMilli(0), time.UnixMilli(2*waiting)
	act := func(fn func(tx *Tx) error) {
		t.Helper()
		err := s.engine.Write(ctx, func(e *engine.Tx) error {
			had, err := rowsTouched(e)
			if err != nil {
				return err
			}
			p, err := e.Explain(s.writing(func(tx *Tx) error {
				if _, err := tx.LockWorkspace(planned); err != nil {
					return err
				}
				return fn(tx)
			}))
			plans = append(plans, p...)
			if err != nil {
				return err
			}
			has, err := rowsTouched(e)
			rows += has - had
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	turn := func(active bool) {
		t.Helper()
		act(func(tx *Tx) error {
			sub, err := tx.LockSubscription(planned, full)
			if err != nil {
				return err
			}
			sub.Active = active
			return tx.UpdateSubscription(planned, sub)
		})
	}
	turn(false)
	turn(true)
	var before Recoverable
	err := s.Read(ctx, func(r *Reader) (err error) {
		before, err = r.Recoverable(planned, full, since)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	act(func(tx *Tx) error {
		n, err := tx.Recover(planned, full, since, now, before)
		if err == nil && n != waiting-16 {
			err = fmt.Errorf("recovered %d of %d, while 16 are being sent", n, waiting)
		}
		return err
	})
	return plans, rows
}

// However many deliveries wait in a lane, deactivating, reactivating and recovering it reads and
// writes none of them. Each statement on deliveries reads only rows with a due time, stopped rows,
// or the newest row.
func TestLane_TurningReadsNoneOfIt(t *testing.T) {
	few := []string{"deliveries_due", "deliveries_stopped"}
	onEngines(t, func(t *testing.T, s *Store) {
		const waiting = 4000
		longLane(t, s, waiting)
		if onEngine(s).Postgres {
			exec(t, s, "ANALYZE")
		}
		plans, rows := turns(t, s, waiting)
		if rows > 20 {
			t.Errorf("of a lane of %d it read and wrote %d rows", waiting, rows)
		}
		asked := 0
		for _, p := range plans {
			if !strings.Contains(p.SQL, "deliveries") {
				continue
			}
			asked++
			named := func(index string) bool { return strings.Contains(p.Plan, index) }
			if !slices.ContainsFunc(few, named) && strings.TrimSpace(p.SQL) != strings.TrimSpace(laneEnd) {
				t.Errorf("this reads the lane:\n%s\n%s", p.SQL, p.Plan)
			}
		}
		if asked < 7 {
			t.Errorf("only %d statements on deliveries were seen", asked)
		}
	})
}

// D64: the list of subscriptions has the count of their held deliveries, and reads none of them.
func TestSubscriptions_ReadNoDeliveries(t *testing.T) {
	onEngines(t, func(t *testing.T, s *Store) {
		const waiting = 4000
		longLane(t, s, waiting)
		turns(t, s, waiting)
		write(t, s, func(tx *Tx) error {
			sub, err := tx.LockSubscription(planned, full)
			if err != nil {
				return err
			}
			sub.Active = false
			return tx.UpdateSubscription(planned, sub)
		})
		err := s.engine.Write(context.Background(), func(e *engine.Tx) error {
			had, err := rowsTouched(e)
			if err != nil {
				return err
			}
			plans, err := e.Explain(s.writing(func(tx *Tx) error {
				page, err := tx.Subscriptions(planned, sheaf.Paging{Limit: 10})
				if err != nil {
					return err
				}
				if len(page.Items) != 1 || page.Items[0].HeldCount != waiting-16 {
					return fmt.Errorf("the list has %+v", page.Items)
				}
				_, err = tx.Subscription(planned, full)
				return err
			}))
			if err != nil {
				return err
			}
			if len(plans) < 2 {
				t.Errorf("only %d statements were seen", len(plans))
			}
			for _, p := range plans {
				if strings.Contains(p.SQL, "deliveries") {
					t.Errorf("this reads deliveries:\n%s\n%s", p.SQL, p.Plan)
				}
			}
			has, err := rowsTouched(e)
			if has != had {
				t.Errorf("%d rows of deliveries were read", has-had)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// An endpoint that refuses quickly would accumulate retries. With mostRetries waiting, its lane
// starts no first attempts, however many there are; when one retry is gone, it does.
func TestLane_BeginsNothingBesideManyRetries(t *testing.T) {
	const retries = `
INSERT INTO deliveries (ws, sub, number, retry, due, attempts, tries, started_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST($1 AS BIGINT))
SELECT 1, 1, i, 1, 1000000 + i, 1, 1, 1
FROM n`
	onEngines(t, func(t *testing.T, s *Store) {
		const waiting = mostRetries + 8
		write(t, s, func(tx *Tx) error {
			if err := tx.InsertWorkspace(sheaf.Workspace{ID: planned, Plan: sheaf.Business, LastEvent: waiting}); err != nil {
				return err
			}
			if err := tx.exec(manyEvents(tx.dialect()), waiting); err != nil {
				return err
			}
			if err := tx.InsertSubscription(planned, sheaf.Subscription{ID: full, Number: 1, Active: true}, Sealed{Secret: []byte("x")}); err != nil {
				return err
			}
			if err := tx.exec(retries, mostRetries); err != nil {
				return err
			}
			if err := tx.exec(freshRows, 1, mostRetries+1, waiting); err != nil {
				return err
			}
			return tx.exec("UPDATE lanes SET cursor = $1", mostRetries)
		})
		claim := func(at int64) (found Claimed) {
			t.Helper()
			now := time.UnixMilli(at)
			write(t, s, func(tx *Tx) (err error) {
				found, err = tx.Claim([]Lane{{Subscription: full, Room: 4}}, Unbounded, now, now.Add(time.Hour), fmt.Sprint("token", at))
				return err
			})
			return found
		}
		early := claim(1000)
		if len(early.Claims) != 0 || !early.Next[full].Equal(time.UnixMilli(1_000_001)) {
			t.Errorf("with %d retries it claimed %d, and the next is due at %v", mostRetries, len(early.Claims), early.Next[full])
		}
		due := claim(1_000_001)
		if len(due.Claims) != 1 || due.Claims[0].Tries != 1 {
			t.Fatalf("of the retries one is due: claimed %+v", due.Claims)
		}
		after := claim(1_000_001)
		if len(after.Claims) != 4 || slices.ContainsFunc(after.Claims, func(c Claim) bool { return c.Tries != 0 }) {
			t.Errorf("with a retry less it claimed %+v, want four first attempts", after.Claims)
		}
	})
}

// A notice names as many lanes as fit, and otherwise means all. It is read as it was written.
func TestNotice_NamesLanes(t *testing.T) {
	t.Parallel()
	here, there := newNeighbours(), newNeighbours()
	for _, lanes := range []int{0, 1, maxNamed, maxNamed + 1} {
		var note Note
		for i := range lanes {
			note.due(planned, sheaf.SubscriptionID(fmt.Sprintf("0190b0a0-0000-7000-8000-%012x", i)))
		}
		text := here.notice(note)
		if len(text) >= 8000 {
			t.Errorf("%d lanes: PostgreSQL refuses a notice of %d bytes", lanes, len(text))
		}
		got, others := there.read(text)
		named := lanes <= maxNamed
		if !others || got.AnyLane == named || named && !slices.Equal(got.Lanes, note.Lanes) || got.Deliveries != (lanes > 0) {
			t.Errorf("%d lanes are read as %+v", lanes, got)
		}
		if _, others := here.read(text); others {
			t.Errorf("%d lanes: a node acts on its own notice", lanes)
		}
	}
	for _, text := range []string{"", "NODE d - AZCwo", "NODE d - all", "NODE d"} {
		if got, _ := there.read(text); !got.AnyLane {
			t.Errorf("%q is read as %+v: a node that does not understand it must check every lane", text, got)
		}
	}
}

// D64b: on PostgreSQL an arrival is recorded without locking the lane: a client that asks for one more attempt
// at that moment, and has read that one is under way, still gets it.
func TestRedeliver_WhileTheArrivalIsRecorded(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{DatabaseURL: pgtest.URL(t)})
	longLane(t, s, 20)
	now := time.UnixMilli(1000)
	var claimed Claimed
	write(t, s, func(tx *Tx) (err error) {
		claimed, err = tx.Claim([]Lane{{Subscription: full, Room: 1}}, Unbounded, now, now.Add(time.Hour), "another")
		return err
	})
	c := claimed.Claims[0]
	recorded, asked := make(chan struct{}), make(chan error, 1)
	go func() {
		<-recorded
		asked <- s.Write(context.Background(), func(tx *Tx) error {
			return tx.Redeliver(planned, sheaf.Delivery{ID: c.Delivery, SubscriptionID: full}, now)
		})
	}()
	write(t, s, func(tx *Tx) error {
		err := tx.Record([]Outcome{{Claim: c, Ended: now, Attempt: sheaf.Attempt{StartedAt: now, StatusCode: 200}}}, nil)
		close(recorded)
		sheaftest.Eventually(t, "the one who asks waits for the row", func() bool { return waitsForALock(t, s) })
		return err
	})
	if err := <-asked; err != nil {
		t.Fatal(err)
	}
	err := s.Read(context.Background(), func(r *Reader) error {
		d, err := r.Delivery(planned, c.Delivery)
		if d.State != sheaf.Waiting || d.AttemptCount != 1 {
			t.Errorf("after one attempt it is %s, and nobody makes the other (%d made)", d.State, d.AttemptCount)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// On PostgreSQL each statement of a claim sees what is committed by then. If an endpoint is changed
// and an event appended between two of them, the event goes to the new endpoint.
func TestClaim_GoesToTheEndpointOfItsEvent(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{DatabaseURL: pgtest.URL(t)})
	longLane(t, s, 16) // all are claimed
	now := time.UnixMilli(1000)
	locked, done := make(chan struct{}), make(chan error, 1)
	var claimed Claimed
	go func() {
		<-locked
		done <- s.Write(context.Background(), func(tx *Tx) (err error) {
			claimed, err = tx.Claim([]Lane{{Subscription: full, Room: 1}}, Unbounded, now, now.Add(time.Hour), "another")
			return err
		})
	}()
	write(t, s, func(tx *Tx) error {
		err := tx.exec("LOCK TABLE deliveries IN ACCESS EXCLUSIVE MODE")
		close(locked)
		sheaftest.Eventually(t, "the claim has read the lane and waits for its rows", func() bool { return waitsForALock(t, s) })
		return errors.Join(err, tx.exec("UPDATE subscriptions SET url = 'https://new.example'"), tx.exec(`
INSERT INTO events (ws, number, id, type, resource_id, at, body)
SELECT ws, 17, CAST(lpad('17', 32, '0') AS UUID), type, resource_id, at, body FROM events WHERE number = 16`), tx.exec(freshRows, 1, 17, 17))
	})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if len(claimed.Claims) != 1 || claimed.Claims[0].URL != "https://new.example" {
		t.Errorf("claimed %+v, want the one event, to the new endpoint", claimed.Claims)
	}
}

// waitsForALock reports whether some transaction of the store waits for a lock.
func waitsForALock(t *testing.T, s *Store) bool {
	t.Helper()
	n := int64(0)
	err := s.Read(context.Background(), func(r *Reader) (err error) {
		n, err = r.count(`SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return n > 0
}
