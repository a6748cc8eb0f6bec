package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// What a backup reads and a restore writes: whole tables, row by row, whatever they contain.
// internal/backup has the format of the file.

// BackupTables are the tables that are backed up, each after those that it refers to. Sessions and
// the counts for charts are not: a restored copy starts without them.
var BackupTables = []string{"settings", "counters", "workspaces", "removed_workspaces", "users", "factors", "recovery_codes", "identities", "members", "member_events", "setup_links", "api_keys", "grants", "oauth_clients", "folders", "brandings",
	"projects", "documents", "texts", "versions", "shares", "proposals", "proposal_targets", "proposal_texts", "proposal_comments", "releases", "release_documents", "release_texts", "release_media", "media", "uploads", "events", "reported_events", "restrictions", "restricted_events", "idempotency_keys", "subscriptions", "deleted_subscriptions", "lanes", "deliveries", "attempts",
	"leases", "notices", "invitations", "audit", "instance_audit"}

// KeyCheckSetting is the setting that identifies the database's master key.
const KeyCheckSetting = "master_key_check"

// A Table is one of BackupTables with its columns in the current schema.
type Table struct {
	Name    string   `json:"table"`
	Columns []Column `json:"columns"`
}

// A Column is a column of a table.
type Column struct {
	Name string `json:"name"`
	Blob bool   `json:"blob,omitempty"`
}

// names returns the columns as SQL.
func (t Table) names() string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}

// BackupTable returns the table with its columns. It has none if the schema does not have the table.
// found is false for a name that is not in BackupTables.
func (r *Reader) BackupTable(name string) (t Table, found bool, err error) {
	if !slices.Contains(BackupTables, name) {
		return t, false, nil
	}
	t.Name = name
	t.Columns, err = all(r, r.dialect().TableColumns(), func(w *row) Column { return Column{w.Text(), w.Bool()} }, name)
	return t, true, err
}

// SchemaVersion returns the version of the tables.
func (r *Reader) SchemaVersion() (int64, error) {
	schema, err := r.sql.Schema()
	return schema.Version, err
}

// EachRow calls each with the values of every row: text, a number, bytes or nil. A folder comes after its parent.
func (r *Reader) EachRow(t Table, each func(values []any) error) error {
	order := ""
	if t.Name == "folders" {
		order = " ORDER BY depth"
	}
	return r.each("SELECT "+t.names()+" FROM "+t.Name+order, func(r *row) error {
		values := make([]any, len(t.Columns))
		for i, c := range t.Columns {
			switch {
			case r.Null():
				r.Skip()
			case c.Blob:
				values[i] = r.Blob()
			case r.IsInt():
				values[i] = r.Int()
			default:
				values[i] = r.Text()
			}
		}
		return each(values)
	})
}

// MediumBytes identifies the bytes of one or more media of a workspace that are live, or in releases.
type MediumBytes struct {
	Workspace sheaf.WorkspaceID
	SHA256    [32]byte
	Size      int64
}

const storedBytes = `
SELECT w.id, m.hash, MAX(m.bytes)
FROM (SELECT ws, hash, bytes FROM media WHERE state = 1 UNION ALL SELECT ws, hash, bytes FROM release_media) m
JOIN workspaces w ON w.ws = m.ws
GROUP BY w.id, m.hash
ORDER BY w.id, m.hash`

// EachStored calls each for the bytes of all media that are live, or in releases. Those of a workspace follow each other.
func (r *Reader) EachStored(each func(MediumBytes) error) error {
	return r.each(storedBytes, func(w *row) error {
		return each(MediumBytes{Workspace: readID[sheaf.WorkspaceID](w), SHA256: [32]byte(w.Blob()), Size: w.Int()})
	})
}

const liveWith = `
SELECT id
FROM (SELECT id, number FROM media WHERE ws = $1 AND hash = $2 AND state = 1
  UNION ALL SELECT medium_id, 0 FROM release_media WHERE ws = $1 AND hash = $2) m
ORDER BY number DESC
LIMIT 1`

// LiveWith returns the newest live medium with these bytes, or else one in a release; live is false if
// there is none.
func (r *Reader) LiveWith(ws sheaf.WorkspaceID, hash [32]byte) (id sheaf.MediumID, live bool, err error) {
	return one(r, liveWith, readID[sheaf.MediumID], ws, hash[:])
}

// ErrNotEmpty is returned for a restore into a store that has data.
var ErrNotEmpty = errors.New("the store is not empty: a backup is restored into an empty one only, so that nothing is overwritten")

// PrepareRestore creates the tables of the given schema in a store that has none. If there are
// tables, they must have that schema.
func PrepareRestore(ctx context.Context, o Options, schema int64) error {
	s, err := Open(ctx, o)
	if err != nil {
		return err
	}
	has, err := s.Schema(ctx)
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	switch has.Version {
	case schema:
		return nil
	case 0:
		return migrateTo(ctx, o, schema)
	}
	return fmt.Errorf("the store has schema %d and the backup schema %d: restore it into a folder, or a database, in which nothing was made yet", has.Version, schema)
}

// Restorable returns nil if the store is empty and has the given schema. Otherwise it returns
// ErrNotEmpty or another reason.
func (r *Reader) Restorable(schema int64) error {
	has, err := r.SchemaVersion()
	if err != nil {
		return err
	}
	if has != schema {
		return fmt.Errorf("the store has schema %d and the backup schema %d", has, schema)
	}
	for _, name := range BackupTables {
		t, _, err := r.BackupTable(name)
		if err != nil {
			return err
		}
		if len(t.Columns) == 0 {
			continue // this schema does not have the table yet
		}
		n, err := r.count("SELECT COUNT(*) FROM " + name)
		if err != nil {
			return err
		}
		if n > 0 {
			return ErrNotEmpty
		}
	}
	return nil
}

// WriteRestore runs fn in one transaction that may take hours, and makes every cache forget what it
// knows when it commits. If the database ends the transaction, fn runs again.
func (s *Store) WriteRestore(ctx context.Context, fn func(*Tx) error) error {
	return s.engine.WriteLong(ctx, s.writing(func(tx *Tx) error {
		tx.note = everything
		return fn(tx)
	}))
}

// InsertRows inserts rows as EachRow returned them. The caller has compared the table with
// BackupTable, because its names become SQL.
func (tx *Tx) InsertRows(t Table, rows [][]any) error {
	if err := tx.sql.InsertRows("INSERT INTO "+t.Name+" ("+t.names()+")", len(t.Columns), rows); err != nil {
		return fmt.Errorf("restore %s: %w", t.Name, err)
	}
	return nil
}

const (
	dropRestoredLogos = `
UPDATE brandings
SET logo_media_id = NULL, revision = revision + 1
WHERE ws = $1 AND logo_media_id IN (SELECT id FROM media WHERE ws = $1 AND hash = $2 AND state = 1)`
	dropRestoredBytes = `
UPDATE workspaces
SET storage = storage - (SELECT COALESCE(SUM(bytes), 0) FROM media WHERE ws = $1 AND hash = $2 AND state = 1)
  - (SELECT COALESCE(SUM(bytes), 0) FROM (SELECT DISTINCT medium_id, bytes FROM release_media r WHERE ws = $1 AND hash = $2
    AND NOT EXISTS (SELECT 1 FROM media m WHERE m.ws = $1 AND m.id = r.medium_id AND m.state <> 2)) kept)
WHERE ws = $1`
	dropRestoredMedia = `
DELETE FROM media
WHERE ws = $1 AND hash = $2 AND state = 1`
	dropReleasedMedia = `
DELETE FROM release_media
WHERE ws = $1 AND hash = $2`
)

// DropMedia deletes the media of a restored copy that have these bytes. Like the original deletion,
// it removes them from brandings and from the workspace's storage. It emits no event.
func (tx *Tx) DropMedia(ws sheaf.WorkspaceID, hash [32]byte) error {
	for _, sql := range []string{dropRestoredLogos, dropRestoredBytes, dropRestoredMedia, dropReleasedMedia} {
		if err := tx.exec(sql, ws, hash[:]); err != nil {
			return fmt.Errorf("leave out a medium that was deleted: %w", err)
		}
	}
	return nil
}
