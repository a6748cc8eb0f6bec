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

// Ids of the workspace and subscriptions that fillLanes creates. Their numbers are 1, and 1, 2 and
// 3.
const (
	planned = sheaf.WorkspaceID("0190b0a0-0000-7000-8000-000000000000")
	full    = sheaf.SubscriptionID("0190b0a0-0000-7000-8000-000000000001")
	held    = sheaf.SubscriptionID("0190b0a0-0000-7000-8000-000000000002")
	done    = sheaf.SubscriptionID("0190b0a0-0000-7000-8000-000000000003")
)

// manyDeliveries inserts $3 deliveries in state $2 for subscription $1. Two of three open ones have
// a due time.
const manyDeliveries = `
INSERT INTO deliveries (ws, sub, number, state, retry, due)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST($3 AS BIGINT))
SELECT 1, CAST($1 AS BIGINT), i, CAST($2 AS BIGINT), i % 2, CASE WHEN CAST($2 AS BIGINT) = 0 AND i % 3 > 0 THEN i END
FROM n`

// manyEvents returns the statement that inserts $1 events, with ids of valid length.
func manyEvents(d engine.Dialect) string {
	id := "CAST(printf('%016d', i) AS BLOB)"
	if d.Postgres {
		id = "CAST(lpad(CAST(i AS TEXT), 32, '0') AS UUID)"
	}
	return `
INSERT INTO events (ws, number, id, type, resource_id, at, body)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST($1 AS BIGINT))
SELECT 1, i, ` + id + `, 14, ` + id + `, i, '{}'
FROM n`
}

func TestPlans_SQLite(t *testing.T) {
	checkPlans(t, Options{Folder: t.TempDir()}, "EXPLAIN QUERY PLAN ", 30_000)
}

func TestPlans_PostgreSQL(t *testing.T) {
	checkPlans(t, Options{DatabaseURL: pgtest.URL(t)}, "EXPLAIN ", 100_000)
}

// checkPlans checks the plans of the statements that the sender runs all the time. None may read a
// whole table or sort a lane.
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
		{"claim", selectDue.SQLite, "deliveries_due", []any{1, 0, now, 1, 16}},
		{"cut", selectBehind, key(s), []any{1, 1, 5, 900, 16}},
		{"next due", selectNextDue.SQLite, "deliveries_due", []any{1, 1, now}},
		{"retries", countRetries, "deliveries_due", []any{1, 100}},
		{"due lanes", dueLanes, "deliveries_due", nil},
		{"expired", countExpired, "deliveries_leased", []any{now}},
		{"expired rows", expiredRows, "deliveries_leased", []any{now, 10}},
		{"hold", holdRetries(onEngine(s)), "deliveries_due", []any{4}},
		{"settle", settleLater.SQLite, key(s), []any{1, 1, 1, 0, "t", 1, 2, 1, nil, 1, now, nil, nil}},
		{"orphans", deliveriesOf, key(s), []any{1, 4, 200}},
		{"recover", recoverStopped, "deliveries_stopped", []any{1, 5}},
		{"old deliveries", doneUpTo, key(s), []any{1, 1, 5, 200}},
	}
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			exec(t, s, "ANALYZE")
		}
		for _, test := range tests {
			plan := explained(t, s, explain+test.sql, test.args)
			if fullRead(plan) || !strings.Contains(plan, test.index) {
				t.Errorf("%s (analyzed %t) must use %s alone:\n%s", test.name, analyzed, test.index, plan)
			}
		}
		checkBounded(t, s, explain, now)
	}
	if plan := explained(t, s, explain+grownLogs, []any{firstID(now)}); !strings.Contains(plan, "events_by_id") {
		t.Errorf("a look for logs that grew must use events_by_id:\n%s", plan)
	}
	checkQuick(t, s, now)
}

// What was made with a key is found without reading all keys or shares of a workspace.
func TestPlans_MadeBy(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"SQLite": {Folder: t.TempDir()}, "PostgreSQL": {DatabaseURL: pgtest.URL(t)}} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			if err := Migrate(ctx, o); err != nil {
				t.Fatal(err)
			}
			s, err := Open(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := s.Write(ctx, func(tx *Tx) error {
				if err := tx.InsertWorkspace(sheaf.Workspace{ID: planned, Plan: sheaf.Business}); err != nil {
					return err
				}
				if err := tx.InsertUser(sheaf.User{ID: sheaf.UserID(planned)}); err != nil {
					return err
				}
				return tx.exec(manyKeys(tx.dialect()), 20_000, sheaf.UserID(planned))
			}); err != nil {
				t.Fatal(err)
			}
			exec(t, s, "ANALYZE")
			explain := "EXPLAIN QUERY PLAN "
			if onEngine(s).Postgres {
				explain = "EXPLAIN "
			}
			key := sheaf.KeyID("0190b0a0-0000-7000-8000-000000000007")
			for name, test := range map[string]struct {
				sql  string
				args []any
			}{
				"keys":     {selectKeysMadeBy, []any{1, key, time.UnixMilli(9)}},
				"webhooks": {selectSubscriptionsMadeBy, []any{1, key}},
				"shares":   {selectSharesMadeBy, []any{1, key, 50}},
				"revoked":  {revokedKeys, []any{time.UnixMilli(9), 100}},
				"expired":  {expiredKeys, []any{time.UnixMilli(9), 100}},
			} {
				plan := explained(t, s, explain+test.sql, test.args)
				if strings.Contains(plan, "SCAN k") || strings.Contains(plan, "Seq Scan on api_keys") || !strings.Contains(plan, "api_keys_by_maker") || !strings.Contains(plan, "api_keys_by_rotator") {
					t.Errorf("%s must use the indexes by maker and by rotator:\n%s", name, plan)
				}
			}
		})
	}
}

// manyKeys returns the statement that inserts $1 keys of user $2, each made with an earlier one.
func manyKeys(d engine.Dialect) string {
	id, hash, maker := "CAST(printf('%016d', i) AS BLOB)", "CAST(printf('%032d', i) AS BLOB)", "CAST(printf('%016d', i / 2) AS BLOB)"
	if d.Postgres {
		id, hash, maker = "CAST(lpad(CAST(i AS TEXT), 32, '0') AS UUID)", "CAST(lpad(CAST(i AS TEXT), 32, '0') AS BYTEA)", "CAST(lpad(CAST(i / 2 AS TEXT), 32, '0') AS UUID)"
	}
	return `
INSERT INTO api_keys (ws, id, user_id, name, prefix, hash, scopes, number, created_at, made_by_key)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST($1 AS BIGINT))
SELECT 1, ` + id + `, $2, 'a', 'shf_', ` + hash + `, 'keys:read', i, i, ` + maker + `
FROM n`
}

// Uploads are found by id, by owner and by expiry without reading all of them.
func TestPlans_Uploads(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"SQLite": {Folder: t.TempDir()}, "PostgreSQL": {DatabaseURL: pgtest.URL(t)}} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			if err := Migrate(ctx, o); err != nil {
				t.Fatal(err)
			}
			s, err := Open(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := s.Write(ctx, func(tx *Tx) error {
				if err := tx.InsertWorkspace(sheaf.Workspace{ID: planned, Plan: sheaf.Business}); err != nil {
					return err
				}
				return tx.exec(manyUploads(tx.dialect()), 20_000)
			}); err != nil {
				t.Fatal(err)
			}
			exec(t, s, "ANALYZE")
			explain, byKey := "EXPLAIN QUERY PLAN ", "sqlite_autoindex_uploads_1"
			if onEngine(s).Postgres {
				explain, byKey = "EXPLAIN ", "uploads_pkey"
			}
			id := sheaf.MediumID("0190b0a0-0000-7000-8000-000000000007")
			for _, test := range []struct {
				name, sql, index string
				args             []any
			}{
				{"one", selectUpload, byKey, []any{1, id}},
				{"of an owner", countUploads, "uploads_of_owner", []any{1, id}},
				{"advance", advanceUpload, byKey, []any{1, id, 5, 6, nil, time.UnixMilli(9)}},
				{"expired", expiredUploads, "uploads_by_expiry", []any{time.UnixMilli(9), 100}},
			} {
				if plan := explained(t, s, explain+test.sql, test.args); !strings.Contains(plan, test.index) || strings.Contains(plan, "TEMP B-TREE") {
					t.Errorf("%s must use %s alone:\n%s", test.name, test.index, plan)
				}
			}
		})
	}
}

// Every page of the console counts the open proposals that its reader sees. The count and the mails about
// proposals read neither decided proposals nor notices that were sent.
func TestPlans_Proposals(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"SQLite": {Folder: t.TempDir()}, "PostgreSQL": {DatabaseURL: pgtest.URL(t)}} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			if err := Migrate(ctx, o); err != nil {
				t.Fatal(err)
			}
			s, err := Open(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			d := onEngine(s)
			if err := s.Write(ctx, func(tx *Tx) error {
				if err := tx.InsertWorkspace(sheaf.Workspace{ID: planned, Plan: sheaf.Business}); err != nil {
					return err
				}
				for _, sql := range []string{manyProposals(d), manyTargets(d), manyNotices(d)} {
					if err := tx.exec(sql, 40_000); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			exec(t, s, "ANALYZE")
			explain := "EXPLAIN QUERY PLAN "
			if d.Postgres {
				explain = "EXPLAIN "
			}
			project := sheaf.ProjectID("0190b0a0-0000-7000-8000-000000000007")
			for name, sight := range map[string]Sight{"whole": Everything, "part": Restricted(&sheaf.Restriction{Projects: []sheaf.ProjectID{project}}, false)} {
				err := s.Read(ctx, func(r *Reader) error {
					sql, args := r.SeenBy(sight).countVisibleOpen(planned, 100)
					plan := explained(t, s, explain+sql, args)
					byIndex := strings.Contains(plan, "proposals_of_state") || strings.Contains(plan, "proposals_open_of_user") // both have the open ones together
					if !byIndex || strings.Contains(plan, "TEMP B-TREE") || strings.Contains(plan, "Seq Scan on proposal") || strings.Contains(plan, "SCAN t") {
						t.Errorf("%s: open proposals must be counted by an index of them:\n%s", name, plan)
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			plan := explained(t, s, explain+selectNotices, []any{time.UnixMilli(9), 50})
			if !strings.Contains(plan, "notices_due") || strings.Contains(plan, "SCAN n") || strings.Contains(plan, "SCAN p") || strings.Contains(plan, "Seq Scan on notices") || strings.Contains(plan, "Seq Scan on proposals") {
				t.Errorf("notices must be found by notices_due:\n%s", plan)
			}
		})
	}
}

// manyProposals makes proposals. One in 400 is open.
func manyProposals(d engine.Dialect) string {
	id := numberedID(d, "i")
	return `
INSERT INTO proposals (ws, id, title, state, changes, people, user_id, number, revision, comments, created_at, updated_at, decided_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST($1 AS BIGINT))
SELECT 1, ` + id + `, 't', CASE WHEN i % 400 = 0 THEN 1 ELSE 2 END, '[]', '[]', ` + id + `, i, 1, 0, i, i, CASE WHEN i % 400 = 0 THEN NULL ELSE i END
FROM n`
}

// manyTargets makes a target of each proposal.
func manyTargets(d engine.Dialect) string {
	return `
INSERT INTO proposal_targets (ws, number, kind, resource_id)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST($1 AS BIGINT))
SELECT 1, i, 1, ` + numberedID(d, "i") + `
FROM n`
}

// manyNotices makes a notice about each proposal. Hardly any is due.
func manyNotices(d engine.Dialect) string {
	return `
INSERT INTO notices (ws, sub, proposal, user_id, event, at, due, tries, told_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST($1 AS BIGINT))
SELECT 1, 0, i, ` + numberedID(d, "i") + `, i, i, CASE WHEN i % 100 = 0 THEN i ELSE NULL END, 0, 0
FROM n`
}

// numberedID returns an expression for an id of valid length made from a number.
func numberedID(d engine.Dialect, number string) string {
	if d.Postgres {
		return "CAST(lpad(CAST(" + number + " AS TEXT), 32, '0') AS UUID)"
	}
	return "CAST(printf('%016d', " + number + ") AS BLOB)"
}

// The folders of a tree are found by their parents. SQLite read all folders of the workspace for each: 1.6 s for 2,000.
func TestPlans_Trees(t *testing.T) {
	t.Parallel()
	o := Options{Folder: t.TempDir()}
	if err := Migrate(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	id := sheaf.FolderID("0190b0a0-0000-7000-8000-000000000007")
	for name, test := range map[string]struct {
		sql  string
		args []any
	}{"size": {selectTreeSize, []any{1, id}}, "filed": {selectFiledFolders, []any{1, id, 10}}, "deepen": {deepenFolders, []any{1, id, 1}},
		"size of a site": {selectSiteSize, []any{1, id, 501}}, "folders of a site": {selectSiteFolders, []any{1, id}}, "projects of a site": {selectSiteProjects, []any{1, id}},
		"shares": {countSharesBelow, []any{1, id, 3, 10}}, "shared folders": {selectSharedFolders, []any{1, id, 3, 10}}, "before a folder": {countFoldersBefore, []any{1, id, 0, 7}}} {
		if plan := explained(t, s, "EXPLAIN QUERY PLAN "+test.sql, test.args); !strings.Contains(plan, "folders_in_parent (ws=? AND parent_id=?") {
			t.Errorf("%s must find children by folders_in_parent:\n%s", name, plan)
		}
	}
	// A page of a shared folder reads projects and shares by indexes.
	for name, test := range map[string]struct {
		sql, index string
		args       []any
	}{
		"projects of a site": {selectSiteProjects, "projects_in_folder (ws=? AND folder_id=?)", []any{1, id}},
		"before a project":   {countProjectsBefore, "projects_in_folder (ws=? AND folder_id=? AND ", []any{1, id, 0, 7}},
		"shares below":       {countSharesBelow, "shares_of (ws=? AND resource_id=?)", []any{1, id, 3, 10}},
		"shared folders":     {selectSharedFolders, "shares_of (ws=? AND resource_id=?)", []any{1, id, 3, 10}},
		"shares above":       {isSharedAbove, "shares_of (ws=? AND resource_id=?)", []any{1, id, 3, time.UnixMilli(1)}},
		"descriptions":       {selectDescriptions.SQLite, "documents_in_project (ws=? AND project_id=?)", []any{1, id}},
		"a link":             {documentsBelow.SQLite, "sqlite_autoindex_documents_1 (id=? AND ws=?)", []any{1, id, id}},
	} {
		plan := explained(t, s, "EXPLAIN QUERY PLAN "+test.sql, test.args)
		if !strings.Contains(plan, test.index) || strings.Contains(plan, "SCAN projects") || strings.Contains(plan, "SCAN folders") || strings.Contains(plan, "SCAN shares") {
			t.Errorf("%s must use %s:\n%s", name, test.index, plan)
		}
	}
}

// manyUploads makes uploads of a few owners.
func manyUploads(d engine.Dialect) string {
	id, owner := "CAST(printf('%016d', i) AS BLOB)", "CAST(printf('%016d', i % 2000) AS BLOB)"
	if d.Postgres {
		id, owner = "CAST(lpad(CAST(i AS TEXT), 32, '0') AS UUID)", "CAST(lpad(CAST(i % 2000 AS TEXT), 32, '0') AS UUID)"
	}
	return `
INSERT INTO uploads (ws, id, owner, filename, length, received, reserved, expires_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST($1 AS BIGINT))
SELECT 1, ` + id + `, ` + owner + `, 'a', 10, 5, 10, i
FROM n`
}

// key returns how an engine names the primary key of deliveries in a plan.
func key(s *Store) string {
	if onEngine(s).Postgres {
		return "deliveries_pkey"
	}
	return "PRIMARY KEY"
}

// checkBounded checks the statements that count a queue: each reads an index from its beginning,
// stops at its limit, and neither reads a table nor sorts.
func checkBounded(t *testing.T, s *Store, explain string, now time.Time) {
	t.Helper()
	for sql, index := range map[string]string{countDue: "deliveries_due", countSending: "deliveries_leased"} {
		args := []any{100}
		if sql == countDue {
			args = append(args, now)
		}
		plan := explained(t, s, explain+sql, args)
		if fullRead(strings.ReplaceAll(plan, "SCAN deliveries USING COVERING INDEX", "")) || !strings.Contains(plan, index) {
			t.Errorf("counting must use %s alone:\n%s", index, plan)
		}
	}
}

// fillLanes creates one lane with many waiting deliveries, and two smaller ones.
func fillLanes(t *testing.T, s *Store, waiting int) {
	t.Helper()
	err := s.Write(context.Background(), func(tx *Tx) error {
		if err := tx.InsertWorkspace(sheaf.Workspace{ID: planned, Plan: sheaf.Business}); err != nil {
			return err
		}
		if err := tx.exec(manyEvents(tx.dialect()), waiting); err != nil {
			return err
		}
		for i, lane := range []struct {
			id    sheaf.SubscriptionID
			state int64
			n     int
		}{{full, stateOpen, waiting}, {held, stateHeld, waiting / 10}, {done, stateDelivered, waiting / 10}} {
			sub := sheaf.Subscription{ID: lane.id, Number: int64(i), Active: lane.state != stateHeld}
			if err := tx.InsertSubscription(planned, sub, Sealed{Secret: []byte("x")}); err != nil {
				return err
			}
			if err := tx.exec(manyDeliveries, i+1, lane.state, lane.n); err != nil {
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

// fullRead reports whether the plan reads a whole table or index, or sorts what it has read. The
// few rows of the recursive walk do not count.
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

// checkQuick runs such statements beside a full lane and logs the time, which on any machine is far
// below that of reading the lane.
func checkQuick(t *testing.T, s *Store, now time.Time) {
	t.Helper()
	began := time.Now()
	err := s.Write(context.Background(), func(tx *Tx) error {
		for i := range 20 {
			c, err := tx.Claim([]Lane{{Subscription: full, Room: 16, Retries: 4}, {Subscription: done, Room: 16, Retries: 4}}, Unbounded, now, now.Add(time.Minute), fmt.Sprint(i))
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

// checkDepth checks that counts of a long lane stop at the given limit.
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
