// Package doctor checks whether the stored data keeps its promises. It only reads. Like the store it has one
// file per noun. Each promise is a check: a query that finds rows that may break it, and a function that
// judges each row.
package doctor

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/engine"
)

// Finding is one result of the doctor.
type Finding struct {
	Check     string            // name of the broken check
	Workspace sheaf.WorkspaceID // empty: it concerns the whole database
	Text      string            // what was found and what was expected, for a person
	// Information says that nothing is broken: a workspace has more than its plan includes, as it
	// may after a downgrade.
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

// optID returns nil for a finding that belongs to no workspace.
func optID(id sheaf.WorkspaceID) *string {
	if id == "" {
		return nil
	}
	return (*string)(&id)
}

// FileCheck is the name of SQLite's own check of its file.
const FileCheck = "file"

// Examination has the settings of an examination.
type Examination struct {
	Now time.Time
	// Retention is how long events are kept. It is used only for a workspace whose log is empty.
	Retention time.Duration
	// Box opens secrets; nil: secrets are not checked.
	Box *seal.Box
	// Media has the bytes of media. If its store is nil, they are not checked.
	Media MediaFiles
}

// Examine looks for stored data that breaks a promise, and calls tell for each finding. tell must
// not use the store. Examine only reads, while others write: it reads each workspace, and what
// belongs to none, in its own snapshot. It holds neither the rows nor the findings in memory. An
// error means that it could not read, not that something is wrong.
func Examine(ctx context.Context, s *store.Store, x Examination, tell func(Finding)) error {
	snapshot, done, err := s.Snapshots(ctx)
	if err != nil {
		return err
	}
	defer done()
	look := func(at func(*patient) error) error {
		return snapshot(func(r *store.Reader) error { return examine(r, x, tell, at) })
	}
	var ids []sheaf.WorkspaceID
	err = look(func(p *patient) (err error) {
		if err := p.run(fileChecks(p.sql.Dialect())); err != nil {
			return err
		}
		if err := p.orphans(); err != nil {
			return err
		}
		if err := p.run(join(checkFactors, checkLetters)); err != nil {
			return err
		}
		ids, err = engine.All(p.sql, `SELECT id FROM workspaces WHERE removing = 0 ORDER BY id`, func(w *engine.Row) sheaf.WorkspaceID { return sheaf.WorkspaceID(sheaf.FormatUUID(w.ID())) })
		return err
	})
	for i := 0; err == nil && i < len(ids); i++ {
		err = look(func(p *patient) error { return p.workspace(ids[i]) })
	}
	if err == nil && x.Media.Store != nil {
		_, err = ExamineMedia(ctx, s, x.Media, MediaPlace{}, math.MaxInt, func(_ MediaPlace, f Finding) { tell(f) })
	}
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// examine builds the patient of a snapshot, and calls `at` with it.
func examine(r *store.Reader, x Examination, tell func(Finding), at func(*patient) error) error {
	return r.SQL(func(sql *engine.Reader) error {
		return at(&patient{Reader: r, sql: sql, Examination: x, tell: tell})
	})
}

// CheckFile runs SQLite's own checks of its file, whatever the schema, and calls tell for each finding.
func CheckFile(ctx context.Context, s *store.Store, tell func(Finding)) error {
	return s.ReadLong(ctx, func(r *store.Reader) error {
		return examine(r, Examination{}, tell, func(p *patient) error { return p.run(fileChecks(p.sql.Dialect())) })
	})
}

// check is one promise, and the query that finds rows that may break it. judge returns what is wrong with a
// row, or "".
type check struct {
	name  string
	sql   string
	args  func(p *patient) []any // nil: $1 is the workspace
	judge func(p *patient, r *engine.Row) string
	// information marks findings that are no violations.
	information bool
}

// workspaceChecks are all promises about one workspace.
var workspaceChecks = join(checkWorkspace, checkRestrictions, checkPlan, checkKeys, checkInvitations, checkReferences, checkFolders, checkBrandings, checkProjects, checkDocuments, checkVersions, checkShares, checkProposals, checkReleases, checkEvents,
	checkSubscriptions, checkDeliveries)

// join puts lists of checks one after the other.
func join(lists ...[]check) (out []check) {
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// sentence returns a judge for queries that return only what is wrong: their columns fill the blanks
// of a sentence.
func tells(sentence string) func(*patient, *engine.Row) string {
	blanks := strings.Count(sentence, "%s")
	return func(_ *patient, r *engine.Row) string {
		words := make([]any, blanks)
		for i := range words {
			words[i] = show(r)
		}
		return fmt.Sprintf(sentence, words...)
	}
}

// show reads a text, a number or an identifier for a person.
func show(r *engine.Row) string {
	switch {
	case r.Null():
		r.Skip()
		return "none"
	case r.IsID():
		return sheaf.FormatUUID(r.ID())
	case r.IsInt():
		return strconv.FormatInt(r.Int(), 10)
	}
	return sheaf.Clip(r.Text())
}

// patient is one workspace, or the whole database, in one snapshot.
type patient struct {
	*store.Reader
	sql *engine.Reader
	Examination
	tell func(Finding)

	ws     sheaf.Workspace
	number int64 // number of the workspace in keys
	oldest oldestEvent
	// swept is the time before which the sweep may have removed old rows; nil: the sweep has not run
	// yet.
	swept *time.Time
	// No delivery that is younger than `delivered` was removed for its age.
	delivered time.Time
}

// run runs the query of each check, and reports what its judge finds.
func (p *patient) run(checks []check) error {
	for _, c := range checks {
		args := []any{p.number}
		if c.args != nil {
			args = c.args(p)
		}
		err := p.sql.Query(c.sql, func(r *engine.Row) {
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
	if p.number, err = p.Number(id); err != nil {
		return err
	}
	if p.oldest, err = p.oldestEvent(); err != nil {
		return err
	}
	if p.swept, err = p.Swept(); err != nil {
		return err
	}
	if p.delivered, err = p.deliveredSince(); err != nil {
		return err
	}
	return p.run(workspaceChecks)
}

// foreignUsers are the tables whose rows may name a user who does not exist here: an imported record keeps
// its author from another instance.
var foreignUsers = []string{"versions", "proposals", "proposal_comments", "releases"}

// orphans reports rows whose workspace or user does not exist.
func (p *patient) orphans() error {
	type owned struct{ table, column string }
	columns, err := engine.All(p.sql, ownedColumns(p.sql.Dialect()), func(r *engine.Row) owned { return owned{r.Text(), r.Text()} })
	if err != nil {
		return err
	}
	owners := map[string]string{"ws": "workspaces o WHERE o.ws", "user_id": "users o WHERE o.id"}
	var checks []check
	for _, o := range columns {
		if slices.Contains(foreignUsers, o.table) && o.column == "user_id" {
			continue
		}
		nobody := "1 = 0"
		if o.table == "notices" && o.column == "user_id" {
			nobody = "t.sub <> 0" // a notice about a subscription is for no single user
		}
		checks = append(checks, check{name: "orphan", args: noArgs, sql: fmt.Sprintf(orphans, o.table, o.column, owners[o.column], nobody),
			judge: tells(o.table + " has %s rows of " + o.column + " %s, which is not there")})
	}
	return p.run(checks)
}

const orphans = `
SELECT COUNT(*), t.%[2]s
FROM %[1]s t
WHERE t.%[2]s IS NOT NULL AND NOT (%[4]s) AND NOT EXISTS (SELECT 1 FROM %[3]s = t.%[2]s)
GROUP BY t.%[2]s`

// ownedColumns lists the columns, of all tables, that name a workspace or a user.
func ownedColumns(d engine.Dialect) string {
	if d.Postgres {
		return `
SELECT table_name, column_name
FROM information_schema.columns
WHERE table_schema = current_schema() AND column_name IN ('ws', 'user_id')`
	}
	return `
SELECT t.name, c.name
FROM sqlite_schema t
JOIN pragma_table_info(t.name) c
WHERE t.type = 'table' AND c.name IN ('ws', 'user_id')`
}

// fileChecks are promises about SQLite's file itself: it is whole, its indexes agree with their
// tables, and no row refers to a missing one. PostgreSQL has no such check.
func fileChecks(d engine.Dialect) []check {
	if d.Postgres {
		return nil
	}
	return []check{
		{name: FileCheck, args: noArgs, sql: `PRAGMA integrity_check`, judge: func(_ *patient, r *engine.Row) string {
			if text := r.Text(); text != "ok" {
				return text
			}
			return ""
		}},
		{name: "reference", args: noArgs, sql: `PRAGMA foreign_key_check`, judge: tells("a row of %s (rowid %s) refers to one of %s that is not there")},
	}
}
