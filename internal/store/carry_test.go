package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
)

// schema8 is a backup that the last program of schema 8 made: deliveries in every state, of subscriptions that are
// active, turned off by hand and by failures, turned on again and deleted; and some of everything else. What that
// program answered about it is beside it; see TestCarryOver_AnswersAreAsBefore in httpapi.
const schema8 = "testdata/schema8.backup"

// onBoth runs the test on an empty database of either engine; db reaches it below the store.
func onBoth(t *testing.T, test func(t *testing.T, o Options, db *sql.DB)) {
	for name, open := range map[string]func(t *testing.T) (Options, string, string){
		"SQLite": func(t *testing.T) (Options, string, string) {
			folder := t.TempDir()
			return Options{Folder: folder}, "sqlite", filepath.Join(folder, FileName)
		},
		"PostgreSQL": func(t *testing.T) (Options, string, string) {
			url := pgtest.URL(t)
			return Options{DatabaseURL: url}, "pgx", url + "&default_query_exec_mode=exec" // the tables change: no plan is kept
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, driver, address := open(t)
			o.Log = slog.New(slog.DiscardHandler)
			db, err := sql.Open(driver, address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			test(t, o, db)
		})
	}
}

// fill restores the backup into tables of its schema.
func fill(t *testing.T, o Options) {
	t.Helper()
	ctx := context.Background()
	if err := PrepareRestore(ctx, o, 8); err != nil {
		t.Fatal(err)
	}
	s, err := Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f, err := os.Open(schema8)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := s.Restore(ctx, f); err != nil {
		t.Fatal(err)
	}
}

// tablesOf lists the tables, each with its rows in one order.
func tablesOf(t *testing.T, o Options, db *sql.DB) map[string]string {
	t.Helper()
	list := "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%'"
	if o.DatabaseURL != "" {
		list = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT LIKE 'goose_%'"
	}
	out := map[string]string{}
	for _, table := range query(t, db, list) {
		rows := query(t, db, "SELECT * FROM "+table[0])
		lines := make([]string, len(rows))
		for i, row := range rows {
			lines[i] = strings.Join(row, "|")
		}
		slices.Sort(lines)
		out[table[0]] = strings.Join(lines, "\n")
	}
	return out
}

func query(t *testing.T, db *sql.DB, text string, args ...any) (out [][]string) {
	t.Helper()
	rows, err := db.Query(text, args...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		row := make([]string, len(columns))
		for i, v := range values {
			if b, ok := v.([]byte); ok {
				v = fmt.Sprintf("%x", b)
			}
			row[i] = fmt.Sprint(v)
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// Whichever statement it is interrupted after, the tables are those of before, and the next start ends with what one
// that is not interrupted ends with.
func TestCarryOver_InterruptedAfterEachStatement(t *testing.T) {
	onBoth(t, func(t *testing.T, o Options, db *sql.DB) {
		fill(t, o)
		ctx := context.Background()
		if err := migrateTo(ctx, o, 9); err != nil {
			t.Fatal(err)
		}
		before := tablesOf(t, o, db)
		interrupted := errors.New("interrupted")
		n := 0
		for {
			n++
			left := n
			err := migrateTo(context.WithValue(ctx, carryFault{}, func() error {
				if left--; left == 0 {
					return interrupted
				}
				return nil
			}), o, 10)
			if err == nil {
				break
			}
			if !errors.Is(err, interrupted) {
				t.Fatalf("after statement %d: %v", n, err)
			}
			if after := tablesOf(t, o, db); !maps.Equal(after, before) {
				t.Fatalf("after statement %d the tables are others: %v", n, slices.Sorted(maps.Keys(after)))
			}
		}
		t.Logf("%d statements", n-1)
		if n < 100 {
			t.Errorf("it was interrupted after %d statements only", n-1)
		}
		got := tablesOf(t, o, db)
		for table := range got {
			if strings.HasPrefix(table, "old_") && table != "old_ids" || strings.HasPrefix(table, "carried_") {
				t.Errorf("%s is left", table)
			}
		}
		if rows := strings.Count(got["deliveries"], "\n") + 1; rows != 44 {
			t.Errorf("%d deliveries, of which 44 have a subscription", rows)
		}
	})
}

// Where PostgreSQL ends the carry-over because another transaction and it wait for each other, it begins anew.
func TestCarryOver_BeginsAnewWhenItHadToGiveWay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := Options{DatabaseURL: pgtest.URL(t), Log: slog.New(slog.DiscardHandler)}
	db, err := sql.Open("pgx", o.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	fill(t, o)
	if err := migrateTo(ctx, o, 9); err != nil {
		t.Fatal(err)
	}
	// The other one holds the last table that the carry-over takes, and never asks whether it waits in a ring.
	other, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"SET LOCAL deadlock_timeout = '1h'", "LOCK TABLE workspaces IN ACCESS SHARE MODE"} {
		if _, err := other.ExecContext(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	const here = "database = (SELECT oid FROM pg_database WHERE datname = current_database())" // others share the server
	gotIt := make(chan error, 1)
	begun := 0
	err = migrateTo(context.WithValue(ctx, carryFault{}, func() error {
		if len(query(t, db, "SELECT 1 FROM pg_locks WHERE relation = 'attempts'::regclass AND mode = 'AccessExclusiveLock' AND "+here)) == 0 {
			return nil // it does not have the first table yet
		}
		if begun++; begun > 1 {
			return nil
		}
		go func() {
			_, err := other.ExecContext(ctx, "LOCK TABLE attempts IN ACCESS SHARE MODE")
			gotIt <- errors.Join(err, other.Rollback())
		}()
		sheaftest.Eventually(t, "the other waits", func() bool { return len(query(t, db, "SELECT 1 FROM pg_locks WHERE NOT granted AND "+here)) == 1 })
		return nil
	}), o, 10)
	if err != nil {
		t.Error(err)
	}
	if err := <-gotIt; err != nil {
		t.Errorf("the other transaction: %v", err)
	}
	if begun == 0 {
		t.Error("nobody was in its way")
	}
}

// Every delivery is what it was, under the id that it had; its lane speaks of what is held, and the rest is counted.
func TestCarryOver_EveryState(t *testing.T) {
	onBoth(t, func(t *testing.T, o Options, db *sql.DB) {
		fill(t, o)
		want := map[string]string{} // by the id without its hyphens
		states := map[string]int{}
		for _, d := range query(t, db, `
			SELECT id, state, COALESCE(back_state, ''), attempt_count, tries, retry, next_attempt_at, lease_token, lease_until, back_at, again,
			  finished_at, last_status_code, last_error, event_number, subscription_id
			FROM deliveries
			WHERE subscription_id IN (SELECT id FROM subscriptions)`) {
			state, back := d[1], d[2]
			base, hand, stopped := state, "0", "<nil>"
			if back != "" {
				base, hand = back, "1"
			}
			if base == "failed" || base == "held" {
				stopped = "1"
			}
			number := map[string]string{"waiting": "0", "sending": "0", "delivered": "1", "failed": "2", "held": "3"}[base]
			if (d[6] != "<nil>") != (state == "waiting") || (d[7] != "<nil>") != (state == "sending") {
				t.Errorf("the backup has %v", d)
			}
			want[strings.ReplaceAll(d[0], "-", "")] = strings.Join([]string{number, d[3], d[4], d[5], d[6], d[7], d[8], hand, d[9], d[10], stopped,
				d[11], d[12], d[13], d[14], strings.ReplaceAll(d[15], "-", "")}, "|")
			states[state+" "+back]++
		}
		t.Logf("%v", states)
		for _, state := range []string{"waiting ", "waiting delivered", "waiting waiting", "waiting held", "sending ", "sending failed", "sending held", "delivered ", "failed ", "held "} {
			if states[state] == 0 {
				t.Errorf("the backup has none that is %s", state)
			}
		}
		attempts := query(t, db, `SELECT COUNT(*) FROM attempts WHERE delivery_id IN (SELECT id FROM deliveries WHERE subscription_id IN (SELECT id FROM subscriptions))`)[0][0]
		counts := map[string]string{}
		for _, table := range []string{"workspaces", "users", "members", "api_keys", "folders", "projects", "documents", "events", "idempotency_keys", "subscriptions"} {
			counts[table] = query(t, db, "SELECT COUNT(*) FROM "+table)[0][0]
		}
		if err := migrateTo(context.Background(), o, 10); err != nil {
			t.Fatal(err)
		}
		got := query(t, db, `
			SELECT i.id, d.state, d.attempts, d.tries, d.retry, d.due, d.token, d.until, d.hand, d.back_at, d.again, d.stopped, d.finished_at, d.last_status,
			  d.last_error, d.number, s.id
			FROM deliveries d
			JOIN old_ids i ON i.ws = d.ws AND i.sub = d.sub AND i.number = d.number
			JOIN subscriptions s ON s.sub = d.sub AND s.ws = d.ws`)
		for _, d := range got {
			id, row := strings.ReplaceAll(d[0], "-", ""), strings.ReplaceAll(strings.Join(d[1:], "|"), "-", "")
			if w := strings.ReplaceAll(want[id], "-", ""); row != w {
				t.Errorf("%s is %s, want %s", id, row, w)
			}
		}
		if len(got) != len(want) || len(got) < 40 {
			t.Errorf("%d deliveries, want %d", len(got), len(want))
		}
		for table, n := range counts {
			if has := query(t, db, "SELECT COUNT(*) FROM "+table)[0][0]; has != n {
				t.Errorf("%s has %s rows, had %s", table, has, n)
			}
		}
		inside := query(t, db, `SELECT (SELECT COUNT(*) FROM deliveries WHERE started_at IS NOT NULL) + (SELECT COUNT(*) FROM attempts)`)[0][0]
		if inside != attempts {
			t.Errorf("%s attempts, had %s", inside, attempts)
		}
		lanes := fmt.Sprint(query(t, db, `
			SELECT s.name, l.active, w.last_event - l.cursor, l.held_from - w.last_event, l.held_to - w.last_event
			FROM lanes l
			JOIN subscriptions s ON s.sub = l.sub
			JOIN workspaces w ON w.ws = l.ws
			ORDER BY s.sub`))
		if lanes != wantLanes {
			t.Errorf("the lanes are\n%s, want\n%s", lanes, wantLanes)
		}
		if counters := fmt.Sprint(query(t, db, "SELECT name, last FROM counters ORDER BY name")); counters != "[[subscription 5] [workspace 3]]" {
			t.Errorf("the counters are %s", counters)
		}
	})
}

// wantLanes is name, active, how far the cursor is behind the newest event, and from where to where deliveries are held,
// from there too.
const wantLanes = "[[every state 1 0 <nil> <nil>] [turned off 0 0 -24 <nil>] [ten failures 0 0 -7 <nil>] [turned on again 1 0 -4 -3] [nothing yet 1 0 <nil> <nil>]]"

// Nobody else writes to an SQLite file between what the carry-over reads and what it writes: it would fail at once.
func TestCarryOver_BeginsWithTheLock(t *testing.T) {
	t.Parallel()
	o := Options{Folder: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	if err := migrateTo(t.Context(), o, 9); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(o.Folder, FileName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	tried := false
	ctx := context.WithValue(t.Context(), carryFault{}, func() error {
		if !tried {
			tried = true
			if _, err := db.Exec("UPDATE settings SET value = value"); err == nil {
				t.Error("another connection could write beside the carry-over")
			}
		}
		return nil
	})
	if err := migrateTo(ctx, o, 10); err != nil || !tried {
		t.Errorf("%v; tried to write beside it: %t", err, tried)
	}
}
