package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/store/engine"
)

// manyDeliveries fills a lane with so many in one state.
const manyDeliveries = `
INSERT INTO deliveries (workspace_id, id, subscription_id, event_number, event_id, event_type, state, attempt_count, tries, retry, next_attempt_at, created_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $3)
SELECT 'w', $1 || CAST(i AS TEXT), $1, i, 'e', 'share.created', $2, 0, 0, i % 2, CASE WHEN $2 = 'waiting' THEN i END, i
FROM n`

const manyEvents = `
INSERT INTO events (workspace_id, number, id, type, resource_id, at, body)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
SELECT 'w', i, CAST(i AS TEXT), 'share.created', 'r', i, '{}'
FROM n`

func TestPlans_SQLite(t *testing.T) {
	checkPlans(t, Options{Folder: t.TempDir()}, "EXPLAIN QUERY PLAN ", 30_000)
}

func TestPlans_PostgreSQL(t *testing.T) {
	checkPlans(t, Options{DatabaseURL: pgtest.URL(t)}, "EXPLAIN ", 100_000)
}

// checkPlans asks each engine how it would answer what the sender asks all the
// time. Nothing may read a table from end to end, nor sort a lane.
func checkPlans(t *testing.T, o Options, explain string, waiting int) {
	t.Parallel()
	ctx := context.Background()
	if err := Migrate(ctx, o); err != nil {
		t.Fatal(err)
	}
	s, err := Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fillLanes(t, s, waiting)
	now := time.UnixMilli(20_000)
	type plan struct {
		name, sql, index string
		args             []any
	}
	tests := []plan{
		{"claim", selectQueued.SQLite, "deliveries_waiting", []any{"full", 0, now, 1, 16}},
		{"next due", selectNextDue.SQLite, "deliveries_waiting", []any{"full", 1, now}},
		{"waiting lanes", waitingLanes, "deliveries_waiting", nil},
		{"expired", countExpired, "deliveries_sending", []any{now}},
		{"expired lanes", expiredLanes, "deliveries_sending", []any{now}},
		{"release", released + ` AND lease_until < $2`, "deliveries_sending", []any{now, now}},
		{"held count", countHeld, "deliveries_held", []any{"held"}},
		{"hold", holdWaiting(onEngine(s)), "deliveries_waiting", []any{"w", "empty"}},
		{"settle", settleDelivery.SQLite, "", []any{"w", "full1", "t", 1, nil, nil, "failed", nil, now, 1}},
		{"orphans", deliveriesOf, "deliveries_once", []any{"empty", 200}},
	}
	if d := onEngine(s); !d.Postgres { // where the planner knows how many are old, and they all are
		tests = append(tests, plan{"old logs", oldLogs, "events_by_time", []any{now}},
			plan{"held behind", heldBehind(d), "deliveries_held", []any{"w", 5, now, 200}})
		for i, index := range []string{"deliveries_held", "deliveries_waiting", "deliveries_sending"} {
			tests = append(tests, plan{"unfinished", unfinished(d)[i], index, []any{"w"}})
		}
	}
	old := plan{"old deliveries", oldDeliveries, "deliveries_done", []any{now, 200}}
	if !onEngine(s).Postgres { // which takes few to be done until it has counted, and sorts those
		tests = append(tests, old)
	}
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			exec(t, s, "ANALYZE")
			tests = append(tests, old)
		}
		for _, test := range tests {
			plan := explained(t, s, explain+test.sql, test.args)
			if fullRead(plan) || !strings.Contains(plan, test.index) {
				t.Errorf("%s (analyzed %t) must use %s alone:\n%s", test.name, analyzed, test.index, plan)
			}
		}
		checkBounded(t, s, explain, now)
	}
	checkQuick(t, s, now)
}

// checkBounded looks at what counts a queue: it reads an index from its
// beginning, stops at its limit, and neither reads a table nor sorts.
func checkBounded(t *testing.T, s *Store, explain string, now time.Time) {
	t.Helper()
	for sql, index := range map[string]string{countWaiting: "deliveries_waiting", countSending: "deliveries_sending", countAllHeld: "deliveries_held"} {
		args := []any{100}
		if sql == countWaiting {
			args = append(args, now)
		}
		plan := explained(t, s, explain+sql, args)
		if fullRead(strings.ReplaceAll(plan, "SCAN deliveries USING COVERING INDEX", "")) || !strings.Contains(plan, index) {
			t.Errorf("counting must use %s alone:\n%s", index, plan)
		}
	}
}

// fillLanes makes one lane in which many wait, and two smaller ones.
func fillLanes(t *testing.T, s *Store, waiting int) {
	t.Helper()
	err := s.Write(context.Background(), func(tx *Tx) error {
		if err := tx.InsertWorkspace(sheaf.Workspace{ID: "w", Plan: sheaf.Business}); err != nil {
			return err
		}
		if err := tx.exec(manyEvents, waiting); err != nil {
			return err
		}
		for _, lane := range []struct {
			id    sheaf.SubscriptionID
			state sheaf.DeliveryState
			n     int
		}{{"full", sheaf.Waiting, waiting}, {"held", sheaf.Held, waiting / 10}, {"done", sheaf.Delivered, waiting / 10}} {
			sub := sheaf.Subscription{ID: lane.id, Active: lane.state != sheaf.Held}
			if err := tx.InsertSubscription("w", sub, Sealed{Secret: []byte("x")}); err != nil {
				return err
			}
			if err := tx.exec(manyDeliveries, lane.id, lane.state, lane.n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func onEngine(s *Store) engine.Dialect { return engine.Dialect{Postgres: s.neighbours != nil} }

func exec(t *testing.T, s *Store, sql string) {
	t.Helper()
	if err := s.Write(context.Background(), func(tx *Tx) error { return tx.exec(sql) }); err != nil {
		t.Fatal(err)
	}
}

func explained(t *testing.T, s *Store, sql string, args []any) string {
	t.Helper()
	var lines []string
	err := s.Write(context.Background(), func(tx *Tx) error {
		return tx.query(sql, func(r *row) {
			if !tx.dialect().Postgres {
				r.Skip() // id, parent, notused, detail
				r.Skip()
				r.Skip()
			}
			lines = append(lines, r.Text())
		}, args...)
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(lines, "\n")
}

// fullRead reports whether the plan reads a table, or an index, whole, or sorts
// what it has read. The walk's own few rows are not meant.
func fullRead(plan string) bool {
	for line := range strings.Lines(plan) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "SCAN deliveries"), strings.HasPrefix(line, "SCAN d"), strings.HasPrefix(line, "SCAN e"),
			strings.Contains(line, "USE TEMP B-TREE FOR ORDER BY"),
			strings.Contains(line, "Seq Scan on deliveries"), strings.Contains(line, "Seq Scan on events"), strings.Contains(line, "Sort Key"):
			return true
		}
	}
	return false
}

// checkQuick does the same for real: far quicker than anything that reads a
// lane from end to end, on any machine.
func checkQuick(t *testing.T, s *Store, now time.Time) {
	t.Helper()
	began := time.Now()
	err := s.Write(context.Background(), func(tx *Tx) error {
		for i := range 20 {
			c, err := tx.Claim([]Lane{{Subscription: "full", Room: 16, Retries: 4}, {Subscription: "done", Room: 16, Retries: 4}}, Unbounded, now, now.Add(time.Minute), fmt.Sprint(i))
			if err != nil {
				return err
			}
			if len(c.Claims) != 16 {
				return fmt.Errorf("claimed %d, want 16", len(c.Claims))
			}
		}
		for range 20 {
			if _, err := tx.WaitingLanes(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("20 claims and 20 looks beside a full lane: %v", time.Since(began))
	checkDepth(t, s, now)
}

// checkDepth counts what many wait in, as far as it was asked to.
func checkDepth(t *testing.T, s *Store, now time.Time) {
	t.Helper()
	began := time.Now()
	err := s.Read(context.Background(), func(r *Reader) error {
		q, err := r.CountQueue(now, 10_000)
		if err == nil && (q.Waiting != 10_000 || q.Due > q.Waiting || q.Due == 0 || q.Oldest == nil || q.Oldest.After(now)) {
			err = fmt.Errorf("counted %+v", q)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	t.Logf("counting a long queue up to 10000: %v", time.Since(began))
}
