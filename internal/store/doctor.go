package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/sheaf"
)

// Finding is one thing that Doctor tells.
type Finding struct {
	Check     string            // which promise it is about
	Workspace sheaf.WorkspaceID // empty: it concerns the whole database
	Text      string            // for a person: what is where, and what was expected
	// Information says that nothing is broken: a workspace has more than its
	// plan includes, as it may after a downgrade.
	Information bool
}

// String returns the finding as one line.
func (f Finding) String() string {
	line := f.Check + ": " + f.Text
	if f.Workspace != "" {
		line = f.Check + " in workspace " + string(f.Workspace) + ": " + f.Text
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, line)
}

// Fields appends the finding as the command line shows it.
func (f *Finding) Fields(o *sheaf.Object) {
	o.Text("check", f.Check)
	o.OptText("workspace_id", optID(f.Workspace))
	o.Text("text", f.Text)
	o.Bool("information", f.Information)
}

func optID(id sheaf.WorkspaceID) *string {
	if id == "" {
		return nil
	}
	return (*string)(&id)
}

// FileCheck names the check of an SQLite file by SQLite itself.
const FileCheck = "file"

// Examination is what Doctor needs to know.
type Examination struct {
	Now time.Time
	// Retention is for how long events are kept. It matters only where none is
	// left that could tell.
	Retention time.Duration
	// Box opens secrets; nil: they are not looked at.
	Box *seal.Box
}

// Doctor looks for whatever breaks a promise about the stored data, and calls
// tell for each finding, which must not use the store. It only reads, beside
// whoever writes: each workspace, and what belongs to none, is looked at in one
// snapshot of its own. It holds neither the rows nor the findings in memory. An
// error means that it could not look, not that something is wrong.
func (s *Store) Doctor(ctx context.Context, x Examination, tell func(Finding)) error {
	snapshot, done, err := s.engine.examiner(ctx)
	if err != nil {
		return err
	}
	defer done()
	var ids []sheaf.WorkspaceID
	err = snapshot(func(r *Reader) (err error) {
		p := &patient{Reader: r, Examination: x, tell: tell}
		if err := p.run(s.engine.checks()); err != nil {
			return err
		}
		if err := p.orphans(); err != nil {
			return err
		}
		ids, err = all(r, `SELECT id FROM workspaces ORDER BY id`, func(w *row) sheaf.WorkspaceID { return sheaf.WorkspaceID(w.text()) })
		return err
	})
	for i := 0; err == nil && i < len(ids); i++ {
		err = snapshot(func(r *Reader) error { return (&patient{Reader: r, Examination: x, tell: tell}).workspace(ids[i]) })
	}
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// CheckFile asks an SQLite file, whatever its schema, for what SQLite itself
// promises of it, and tells of what is not so.
func (s *Store) CheckFile(ctx context.Context, tell func(Finding)) error {
	snapshot, done, err := s.engine.examiner(ctx)
	if err != nil {
		return err
	}
	defer done()
	return snapshot(func(r *Reader) error { return (&patient{Reader: r, tell: tell}).run(s.engine.checks()) })
}

// A check is one promise, and the query that finds what may break it. judge
// says what is wrong with a row, "" for nothing.
type check struct {
	name  string
	sql   string
	args  func(p *patient) []any // nil: $1 is the workspace
	judge func(p *patient, r *row) string
	// information marks what is no violation.
	information bool
}

// workspaceChecks are all promises about one workspace.
var workspaceChecks = join(checkWorkspace, checkPlan, checkFolders, checkProjects, checkDocuments, checkEvents,
	checkSubscriptions, checkDeliveries)

func join(lists ...[]check) (out []check) {
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// tells returns a judge for queries that return only what is wrong: their
// columns fill the blanks of a sentence.
func tells(sentence string) func(*patient, *row) string {
	blanks := strings.Count(sentence, "%s")
	return func(_ *patient, r *row) string {
		words := make([]any, blanks)
		for i := range words {
			words[i] = r.show()
		}
		return fmt.Sprintf(sentence, words...)
	}
}

// show reads a text or a number for a person.
func (r *row) show() string {
	switch {
	case r.null():
		r.next()
		return "none"
	case r.isInt():
		return strconv.FormatInt(r.int(), 10)
	}
	return sheaf.Clip(r.text())
}

// patient is what is looked at in one snapshot.
type patient struct {
	*Reader
	Examination
	tell func(Finding)

	ws     sheaf.Workspace
	oldest oldestEvent
	// swept is the time before which the sweep may have removed what is old;
	// nil: it has not said so yet.
	swept *time.Time
	// delivered is the time since when no delivery was removed for its age.
	delivered time.Time
}

func (p *patient) run(checks []check) error {
	for _, c := range checks {
		args := []any{p.ws.ID}
		if c.args != nil {
			args = c.args(p)
		}
		err := p.query(c.sql, func(r *row) {
			if text := c.judge(p, r); text != "" {
				p.tell(Finding{Check: c.name, Workspace: p.ws.ID, Text: text, Information: c.information})
			}
		}, args...)
		if err != nil {
			return fmt.Errorf("check %s: %w", c.name, err)
		}
	}
	return nil
}

func noArgs(*patient) []any { return nil }

// workspace runs every check of one workspace.
func (p *patient) workspace(id sheaf.WorkspaceID) (err error) {
	if p.ws, err = p.Workspace(id); err != nil {
		return err
	}
	if p.oldest, err = p.oldestEvent(); err != nil {
		return err
	}
	if p.swept, err = p.Reader.swept(); err != nil {
		return err
	}
	if p.delivered, err = p.deliveredSince(); err != nil {
		return err
	}
	return p.run(workspaceChecks)
}

// orphans tells of rows whose workspace or user is not there.
func (p *patient) orphans() error {
	type owned struct{ table, column string }
	columns, err := all(p.Reader, p.d.ownedColumns(), func(r *row) owned { return owned{r.text(), r.text()} })
	if err != nil {
		return err
	}
	owners := map[string]string{"workspace_id": "workspaces", "user_id": "users"}
	var checks []check
	for _, o := range columns {
		checks = append(checks, check{name: "orphan", args: noArgs, sql: fmt.Sprintf(orphans, o.table, o.column, owners[o.column]),
			judge: tells(o.table + " has %s rows of " + o.column + " %s, which is not there")})
	}
	return p.run(checks)
}

const orphans = `
SELECT COUNT(*), t.%[2]s
FROM %[1]s t
WHERE t.%[2]s IS NOT NULL AND NOT EXISTS (SELECT 1 FROM %[3]s o WHERE o.id = t.%[2]s)
GROUP BY t.%[2]s`

// examiner returns a way to read snapshots that takes no connection from
// anybody, and that the end of ctx interrupts even in the middle of a query.
func (e *sqliteEngine) examiner(ctx context.Context) (snapshot func(func(*Reader) error) error, done func(), err error) {
	c, err := openConn(e.path, true)
	if err != nil {
		return nil, nil, err
	}
	c.c.SetInterrupt(ctx.Done())
	return func(fn func(*Reader) error) error {
		if _, err := c.exec("BEGIN", nil); err != nil {
			return interrupted(ctx, err)
		}
		defer c.c.SetInterrupt(ctx.Done())
		err := fn(&Reader{conn: c})
		c.c.SetInterrupt(nil) // or the end would be interrupted too
		_, ended := c.exec("ROLLBACK", nil)
		return interrupted(ctx, errors.Join(err, ended))
	}, func() { c.close() }, nil
}

func (e *postgresEngine) examiner(ctx context.Context) (snapshot func(func(*Reader) error) error, done func(), err error) {
	config := e.pool.Config().ConnConfig.Copy()
	// The default would close the connection, and wait 15 s for the server's part in that.
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: firstTimeout}
	}
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, nil, postgresError(err)
	}
	conn := &postgresConn{ctx: ctx, c: c}
	return func(fn func(*Reader) error) error {
		if _, err := conn.exec("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", nil); err != nil {
			return interrupted(ctx, err)
		}
		defer c.Exec(context.WithoutCancel(ctx), "ROLLBACK")
		return interrupted(ctx, fn(&Reader{conn: conn, d: e.dialect()}))
	}, func() { c.Close(context.WithoutCancel(ctx)) }, nil
}

// interrupted prefers to say that somebody stopped it.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (e *postgresEngine) checks() []check { return nil }

// checks of the file itself: it is whole, its indexes agree with their tables,
// and no row refers to one that is not there.
func (e *sqliteEngine) checks() []check {
	return []check{
		{name: FileCheck, args: noArgs, sql: `PRAGMA integrity_check`, judge: func(_ *patient, r *row) string {
			if text := r.text(); text != "ok" {
				return text
			}
			return ""
		}},
		{name: "reference", args: noArgs, sql: `PRAGMA foreign_key_check`, judge: tells("a row of %s (rowid %s) refers to one of %s that is not there")},
	}
}
