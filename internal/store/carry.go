package store

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/store/engine"
)

// smallKeys is the file of migration 10. It defines the tables from that migration on; carryOver
// copies the rows of the old tables into them.
const smallKeys = "00010_small.sql"

// carryOver is migration 10. It makes every key small, and so rewrites every row. It runs in one
// transaction: if it is interrupted, the old tables are unchanged, and it starts over at the next
// start.
//
//	projects ──rename──▶ old_projects ──INSERT … SELECT──▶ projects (new, without its indexes)
//	                          │ drop, when all tables are copied        │ then its indexes, each in one pass
//
// Rows are read in the order in which they were stored, which is nearly that of their ids.
// Deliveries and attempts are read in the order of their new keys, in which they are stored from
// then on.
func carryOver(ctx context.Context, m engine.Migration) error {
	c := &carrier{ctx: ctx, tx: m, postgres: m.Postgres, log: m.Log}
	if err := c.setAside(); err != nil {
		return fmt.Errorf("set the old tables aside: %w", err)
	}
	tables, indexes := statements(m.Text)
	if err := c.execAll(tables); err != nil {
		return fmt.Errorf("make the new tables: %w", err)
	}
	if err := c.copyAll(); err != nil {
		return err
	}
	if err := c.clearAway(); err != nil {
		return fmt.Errorf("remove the old tables: %w", err)
	}
	if c.all > 0 {
		c.log.Info("carrying over to small keys: making the indexes", "indexes", len(indexes))
	}
	if err := c.execAll(indexes); err != nil {
		return fmt.Errorf("make the indexes: %w", err)
	}
	return c.analyze()
}

// carrier copies the rows of one database.
type carrier struct {
	ctx      context.Context
	tx       engine.Migration
	postgres bool
	log      *slog.Logger
	all      int64 // rows in the old tables
	done     int64 // rows of them that are copied
}

// carryFault is a context key. Its value is a function with which a test makes the migration fail
// after any statement.
type carryFault struct{}

// exec runs one statement of the migration.
func (c *carrier) exec(statement string) error {
	if err := c.tx.Exec(c.ctx, statement); err != nil {
		return fmt.Errorf("%w, in %s", err, strings.TrimSpace(statement))
	}
	failpoint.Pass(failpoint.InMigration)
	if fault, ok := c.ctx.Value(carryFault{}).(func() error); ok {
		return fault()
	}
	return nil
}

// execAll runs statements in order, up to the first that fails.
func (c *carrier) execAll(statements []string) error {
	for _, s := range statements {
		if err := c.exec(s); err != nil {
			return err
		}
	}
	return nil
}

// statements splits an SQL file into statements that create indexes, which run faster once the rows
// are there, and all others.
func statements(text string) (rest, indexes []string) {
	var code []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--") {
			code = append(code, line)
		}
	}
	for s := range strings.SplitSeq(strings.Join(code, ""), ";\n") {
		s = strings.TrimSpace(s)
		switch {
		case s == "":
		case strings.HasPrefix(s, "CREATE INDEX"), strings.HasPrefix(s, "CREATE UNIQUE INDEX"):
			indexes = append(indexes, s)
		default:
			rest = append(rest, s)
		}
	}
	return rest, indexes
}

// oldTables are the tables that are rebuilt, each before those that it refers to.
var oldTables = []string{"attempts", "deliveries", "deleted_subscriptions", "subscriptions", "idempotency_keys", "minutes",
	"invitations", "sessions", "events", "documents", "projects", "folders", "api_keys", "members", "users", "workspaces"}

// setAside renames the old tables, and renames or drops their indexes, whose names the new tables
// need.
func (c *carrier) setAside() error {
	if !c.postgres {
		// Room for the pages of key indexes, which are written in random order.
		if err := c.exec("PRAGMA cache_size = -65536"); err != nil {
			return err
		}
	}
	for _, table := range oldTables {
		n, err := c.tx.Count(c.ctx, "SELECT COUNT(*) FROM "+table)
		if err != nil {
			return err
		}
		c.all += n
		indexes, err := c.indexesOf(table)
		if err != nil {
			return err
		}
		for _, index := range indexes {
			// SQLite cannot rename an index. None of them is needed below.
			change := "DROP INDEX " + index
			if c.postgres {
				change = "ALTER INDEX " + index + " RENAME TO old_" + index
			}
			if err := c.exec(change); err != nil {
				return err
			}
		}
		if err := c.exec("ALTER TABLE " + table + " RENAME TO old_" + table); err != nil {
			return err
		}
	}
	return nil
}

// indexesOf lists the indexes of a table; on SQLite only those created by a statement of ours.
func (c *carrier) indexesOf(table string) (names []string, err error) {
	list := `SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = $1 ORDER BY name`
	if c.postgres {
		list = `SELECT indexname FROM pg_indexes WHERE schemaname = current_schema() AND tablename = $1 ORDER BY indexname`
	}
	return c.tx.Texts(c.ctx, list, table)
}

// id returns the expression that converts a 36-character identifier to its 16 bytes.
func (c *carrier) id(column string) string {
	if c.postgres {
		return "CAST(" + column + " AS UUID)"
	}
	return "unhex(replace(" + column + ", '-', ''))"
}

// carried are the tables that are copied column by column, each after those that it refers to. A
// suffix says how a column is converted: id is an identifier, event the id of an event, type an
// event type. ws is the workspace's number, in every table.
var carried = []struct{ table, columns, order string }{
	{"users", "id:id email email_folded name password_hash created_at", ""},
	{"members", "ws user_id:id role created_at", ""},
	{"sessions", "hash user_id:id created_at seen_at expires_at", ""},
	{"invitations", "ws id:id hash email email_folded role invited_by:id created_at expires_at", ""},
	{"api_keys", "ws id:id user_id:id name prefix hash scopes expires_at revoked_at last_used_at number created_at", ""},
	{"idempotency_keys", "ws method path key body_hash status location etag body created_at", ""},
	{"minutes", "ws minute requests rate_limited delivered retried failed took_sum took_max took_10 took_30 took_100 took_300 took_1000 took_3000 took_more", ""},
	{"folders", "ws id:id entity_type parent_id:id name name_folded color sort_order depth project_count number revision created_at updated_at", "o.depth"},
	{"projects", "ws id:id folder_id:id name name_folded description description_folded icon color sort_order visibility document_count number revision created_at updated_at", ""},
	{"documents", "ws id:id project_id:id title title_folded description description_folded deleted_at number revision created_at updated_at", ""},
	{"events", "ws number id:event type:type resource_id:id at body", ""},
}

// typeNumbers lists the event types by number as of migration 10. The list is part of the migration
// and must not change when types are added.
var typeNumbers = []string{"document.created", "document.updated", "document.deleted", "project.created", "project.updated",
	"project.deleted", "folder.created", "folder.updated", "folder.deleted", "media.uploaded", "generation.started",
	"generation.completed", "generation.failed", "share.created", "share.updated", "share.deleted", "webhook.test"}

// column returns the name of a column and its value as an expression over the old row o.
func (c *carrier) column(spec string) (name, value string) {
	name, kind, _ := strings.Cut(spec, ":")
	switch {
	case name == "ws":
		// A subquery, not a join: a join could start with the workspaces and read the rows in
		// random order.
		return name, "(SELECT n.ws FROM carried_workspaces n WHERE n.id = o.workspace_id)"
	case kind == "id":
		return name, c.id("o." + name)
	case kind == "event":
		return name, c.id("substr(o." + name + ", 5)") // after evt_
	case kind == "type":
		var number strings.Builder
		number.WriteString("CASE o." + name)
		for i, t := range typeNumbers {
			fmt.Fprintf(&number, " WHEN '%s' THEN %d", t, i+1)
		}
		return name, number.String() + " END"
	}
	return name, "o." + name
}

// copyAll fills the new tables.
func (c *carrier) copyAll() error {
	// Assign the numbers first: workspaces in the order of creation, subscriptions by workspace.
	for _, number := range []string{`
CREATE TABLE carried_workspaces (
  id TEXT PRIMARY KEY,
  ws INTEGER NOT NULL
)`, `
INSERT INTO carried_workspaces (id, ws)
SELECT id, ROW_NUMBER() OVER (ORDER BY created_at, ` + c.id("id") + `)
FROM old_workspaces`, `
CREATE TABLE carried_subscriptions (
  id TEXT PRIMARY KEY,
  ws INTEGER NOT NULL,
  sub INTEGER NOT NULL
)`, `
INSERT INTO carried_subscriptions (id, ws, sub)
SELECT s.id, n.ws, ROW_NUMBER() OVER (ORDER BY n.ws, s.number)
FROM old_subscriptions s
JOIN carried_workspaces n ON n.id = s.workspace_id`} {
		if err := c.exec(number); err != nil {
			return fmt.Errorf("number the workspaces: %w", err)
		}
	}
	if err := c.copy("workspaces", `
INSERT INTO workspaces (ws, id, name, plan, personal, created_at, version, last_number, last_event, projects, documents, subscriptions)
SELECT n.ws, `+c.id("o.id")+`, o.name, o.plan, o.personal, o.created_at, o.version, o.last_number, o.last_event, o.projects, o.documents, o.subscriptions
FROM old_workspaces o
JOIN carried_workspaces n ON n.id = o.id
ORDER BY n.ws`); err != nil {
		return err
	}
	for _, t := range carried {
		var names, values []string
		for spec := range strings.FieldsSeq(t.columns) {
			name, value := c.column(spec)
			names, values = append(names, name), append(values, value)
		}
		text := "INSERT INTO " + t.table + " (" + strings.Join(names, ", ") + ")\nSELECT " + strings.Join(values, ", ") + "\nFROM old_" + t.table + " o"
		if t.order != "" {
			text += "\nORDER BY " + t.order
		}
		if err := c.copy(t.table, text); err != nil {
			return err
		}
	}
	return c.copyWebhooks()
}

// copy fills one table and logs it, because it can take a while.
func (c *carrier) copy(table, statement string) error {
	n, err := c.tx.Count(c.ctx, "SELECT COUNT(*) FROM old_"+table)
	if err != nil {
		return err
	}
	if n > 0 {
		c.log.Info("carrying over to small keys", "table", table, "rows", n, "done_percent", c.done*100/c.all)
	}
	if err := c.exec(statement); err != nil {
		return fmt.Errorf("carry %s over: %w", table, err)
	}
	c.done += n
	return nil
}

// kept selects the old deliveries to copy: those whose subscription still exists. withEvent adds
// that their event does.
const kept = `
FROM old_deliveries d
JOIN carried_subscriptions s ON s.id = d.subscription_id
`

const withEvent = `EXISTS (SELECT 1 FROM old_events e WHERE e.workspace_id = d.workspace_id AND e.number = d.event_number)`

// attemptFields are the columns of an attempt in both tables that store attempts.
const attemptFields = `started_at, duration_us, status_code, error_class, error, remote_address, dns_us, connect_us, tls_us, first_byte_us, body_us, response_body`

var attemptValues = "a." + strings.ReplaceAll(attemptFields, ", ", ", a.")

// copyWebhooks fills the tables of subscriptions and deliveries, whose form changed. Each lane's
// cursor starts after the last event, so deliveries that wait for their first attempt get a due
// time, as retries have.
func (c *carrier) copyWebhooks() error {
	for _, t := range []struct{ old, statement string }{
		{"subscriptions", `
INSERT INTO subscriptions (sub, ws, number, id, name, url, events, failure_count, deactivated_at, deactivation_reason, last_error,
  header_names, headers, secret, old_secret, old_secret_until, since_event, events_since, revision, created_at, updated_at)
SELECT n.sub, n.ws, o.number, ` + c.id("o.id") + `, o.name, o.url, o.events, o.failure_count, o.deactivated_at, o.deactivation_reason, o.last_error,
  o.header_names, o.headers, o.secret, o.old_secret, o.old_secret_until, o.since_event, o.events_since, o.revision, o.created_at, o.updated_at
FROM old_subscriptions o
JOIN carried_subscriptions n ON n.id = o.id
ORDER BY n.sub`},
		{"deliveries", `
INSERT INTO deliveries (ws, sub, number, state, attempts, tries, retry, due, token, until, hand, back_at, again, stopped,
  finished_at, last_status, last_error, ` + attemptFields + `)
SELECT s.ws, s.sub, d.event_number,
  CASE COALESCE(d.back_state, d.state) WHEN 'delivered' THEN 1 WHEN 'failed' THEN 2 WHEN 'held' THEN 3 ELSE 0 END,
  d.attempt_count, d.tries, d.retry,
  CASE WHEN d.state = 'waiting' THEN d.next_attempt_at END,
  CASE WHEN d.state = 'sending' THEN d.lease_token END,
  CASE WHEN d.state = 'sending' THEN d.lease_until END,
  CASE WHEN d.back_state IS NULL THEN 0 ELSE 1 END, d.back_at, d.again,
  CASE WHEN COALESCE(d.back_state, d.state) IN ('failed', 'held') THEN 1 END,
  d.finished_at, d.last_status_code, d.last_error, ` + attemptValues + kept + `LEFT JOIN old_attempts a ON a.workspace_id = d.workspace_id AND a.delivery_id = d.id AND a.number = 1
WHERE ` + withEvent + `
ORDER BY s.ws, s.sub, d.event_number`},
		{"attempts", `
INSERT INTO attempts (ws, sub, event, number, ` + attemptFields + `)
SELECT s.ws, s.sub, d.event_number, a.number, ` + attemptValues + kept + `JOIN old_attempts a ON a.workspace_id = d.workspace_id AND a.delivery_id = d.id
WHERE a.number >= 2 AND ` + withEvent + `
ORDER BY s.ws, s.sub, d.event_number, a.number`},
	} {
		if err := c.copy(t.old, t.statement); err != nil {
			return err
		}
	}
	return c.execAll([]string{`
INSERT INTO old_ids (ws, sub, number, id)
SELECT s.ws, s.sub, d.event_number, ` + c.id("d.id") + kept + `WHERE ` + withEvent + `
ORDER BY s.ws, s.sub, d.event_number`, `
INSERT INTO lanes (ws, sub, active, cursor, held_from, held_to)
SELECT n.ws, n.sub, o.active, w.last_event,
  CASE WHEN o.active = 0 THEN COALESCE(h.lowest, w.last_event + 1) ELSE h.lowest END,
  CASE WHEN o.active = 0 THEN NULL ELSE h.highest END
FROM old_subscriptions o
JOIN carried_subscriptions n ON n.id = o.id
JOIN workspaces w ON w.ws = n.ws
LEFT JOIN (
  SELECT ws, sub, MIN(number) AS lowest, MAX(number) AS highest
  FROM deliveries
  WHERE state = 3
  GROUP BY ws, sub) AS h ON h.ws = n.ws AND h.sub = n.sub
ORDER BY n.ws, n.sub`, `
INSERT INTO counters (name, last)
SELECT 'workspace', MAX(ws)
FROM workspaces
HAVING MAX(ws) IS NOT NULL`, `
INSERT INTO counters (name, last)
SELECT 'subscription', MAX(sub)
FROM subscriptions
HAVING MAX(sub) IS NOT NULL`})
}

// clearAway drops the old tables and the temporary ones.
func (c *carrier) clearAway() error {
	for _, table := range oldTables {
		if err := c.exec("DROP TABLE old_" + table); err != nil {
			return err
		}
	}
	return c.execAll([]string{"DROP TABLE carried_subscriptions", "DROP TABLE carried_workspaces"})
}

// analyze updates PostgreSQL's planner statistics for the new tables. Autovacuum would do it a
// minute or so later.
func (c *carrier) analyze() error {
	if c.all > 0 {
		c.log.Info("carried over to small keys", "rows", c.all)
	}
	if !c.postgres || c.all == 0 {
		return nil
	}
	return c.exec("ANALYZE " + strings.Join(oldTables, ", "))
}
