package store

import (
	"cmp"
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
)

// A workspace leaves in three steps:
//
//	deleted    keys, shares, sessions and invitations no longer open it; nothing of it is sent or swept.
//	           UndeleteWorkspace ends this step.
//	removing   from ends_at on: its rows are deleted in chunks. The search index no longer follows its log.
//	removed    its own row is deleted last, and removed_workspaces keeps its id.
//
// Every statement that leads into a workspace checks the column deleted_at: those for keys, shares,
// memberships, invitations and lanes. The row of the workspace stays until all its other rows are
// deleted, so that an interrupted removal continues.

const deleteWorkspace = `
UPDATE workspaces
SET deleted_at = $2, ends_at = $3, version = $4
WHERE ws = $1`

// DeleteWorkspace marks a workspace as deleted at `now`. From `ends` on it may be removed. The
// transaction has locked it.
func (tx *Tx) DeleteWorkspace(w sheaf.Workspace, now, ends time.Time) error {
	tx.noteLeaving(w.ID)
	return tx.exec(deleteWorkspace, w.ID, now, ends, NextVersion(w.Version, now))
}

// UndeleteWorkspace brings back a deleted workspace whose removal has not begun. The transaction has
// locked it.
func (tx *Tx) UndeleteWorkspace(w sheaf.Workspace, now time.Time) error {
	tx.noteLeaving(w.ID)
	tx.note.Events = true
	return tx.exec(deleteWorkspace, w.ID, 0, 0, NextVersion(w.Version, now))
}

// noteLeaving makes caches forget the workspace, ends its streams, and looks for deliveries again.
func (tx *Tx) noteLeaving(id sheaf.WorkspaceID) {
	tx.note.Credentials, tx.note.Sessions, tx.note.Shares, tx.note.Subscriptions, tx.note.AnyLane = true, true, true, true, true
	tx.note.Workspaces.Add(id)
}

const endedWorkspaces = `
SELECT id
FROM workspaces
WHERE deleted_at <> 0 AND ends_at <= $1
ORDER BY ends_at, id
LIMIT $2`

// EndedWorkspaces returns up to `most` deleted workspaces that may be removed at `now`, and those whose
// removal has begun.
func (r *Reader) EndedWorkspaces(now time.Time, most int) ([]sheaf.WorkspaceID, error) {
	return all(r, endedWorkspaces, readID[sheaf.WorkspaceID], now, most)
}

// BeginRemoval makes the removal of a workspace final. The transaction has locked it.
func (tx *Tx) BeginRemoval(id sheaf.WorkspaceID) error {
	return tx.exec(`UPDATE workspaces SET removing = 1 WHERE ws = $1`, id)
}

// leavingTable is a table whose rows belong to workspaces. key has the columns that, with ws, identify
// a row. most is the largest number of rows in a chunk, if it is not leavingMost.
type leavingTable struct {
	name, key string
	most      int
}

// leavingTables are the tables of workspaces in the order in which RemoveSome empties them: a row is
// deleted before the rows that it refers to. removeDocuments deletes documents, texts and versions.
var leavingTables = []leavingTable{
	{name: "attempts", key: "sub, event, number"}, {name: "leases", key: "sub, token"}, {name: "notices", key: "sub, proposal, user_id"}, {name: "deliveries", key: "sub, number"}, {name: "lanes", key: "sub"},
	{name: "deleted_subscriptions", key: "id"}, {name: "subscriptions", key: "sub"}, {name: "idempotency_keys", key: "method, path, key"}, {name: "minutes", key: "minute"},
	{name: "reported_events", key: "number"}, {name: "restricted_events", key: "restriction, number"}, {name: "restrictions", key: "number"}, {name: "events", key: "number"}, {name: "shares", key: "id"}, {name: "invitations", key: "id"}, {name: "grants", key: "id"}, {name: "api_keys", key: "id"},
	{name: "proposal_comments", key: "proposal_id, number"}, {name: "proposal_texts", key: "proposal_id, hash", most: 8},
	{name: "proposal_targets", key: "number, resource_id"}, {name: "proposals", key: "id"}, {name: "release_documents", key: "release, document_id"}, {name: "release_texts", key: "hash", most: 8}, {name: "release_media", key: "release, medium_id"}, {name: "releases", key: "id"},
	{name: "brandings", key: "id"}, {name: "uploads", key: "id"}, {name: "media", key: "id"}, documentsLeave, {name: "projects", key: "id"}, {name: "folders", key: "id"}, {name: "member_events", key: "number"}, {name: "members", key: "user_id"}, {name: "audit", key: "number"},
}

var documentsLeave = leavingTable{name: "documents"}

// leavingMost is the largest number of rows in a chunk. leavingDocuments is the largest number of
// documents, which have texts. On SQLite other writes wait until the chunk is deleted.
const (
	leavingMost      = 250
	leavingDocuments = 50
)

// RemoveSome deletes a chunk of the rows of a workspace whose removal has begun. It returns false if
// only the row of the workspace itself is left. The transaction has locked the workspace.
func (tx *Tx) RemoveSome(id sheaf.WorkspaceID) (more bool, err error) {
	for _, t := range leavingTables {
		if t == documentsLeave {
			if more, err = tx.removeDocuments(id); err != nil || more {
				return more, err
			}
			continue
		}
		if t.name == "folders" {
			n, err := tx.changed(fmt.Sprintf(detachSome, t.name), id, leavingMost)
			if err != nil || n > 0 {
				return n > 0, err
			}
		}
		n, err := tx.changed(fmt.Sprintf(`
DELETE FROM %[1]s
WHERE ws = $1 AND (%[2]s) IN (SELECT %[2]s FROM %[1]s WHERE ws = $1 LIMIT $2)`, t.name, t.key), id, cmp.Or(t.most, leavingMost))
		if err != nil {
			return false, fmt.Errorf("remove %s of workspace %s: %w", t.name, id, err)
		}
		if n > 0 {
			return true, nil
		}
	}
	return false, nil
}

const (
	// detachSome takes rows out of their parents, so that they can be deleted in any order.
	detachSome = `
UPDATE %[1]s
SET parent_id = NULL
WHERE ws = $1 AND id IN (SELECT id FROM %[1]s WHERE ws = $1 AND parent_id IS NOT NULL LIMIT $2)`

	someDocuments = `
SELECT id
FROM documents
WHERE ws = $1
LIMIT $2`

	leaveDocument = `
DELETE FROM documents
WHERE ws = $1 AND id = $2`
)

// removeDocuments is RemoveSome for documents with their texts and versions.
func (tx *Tx) removeDocuments(ws sheaf.WorkspaceID) (more bool, err error) {
	n, err := tx.changed(fmt.Sprintf(detachSome, "documents"), ws, leavingMost)
	if err != nil || n > 0 {
		return n > 0, err
	}
	ids, err := all(&tx.Reader, someDocuments, readID[sheaf.DocumentID], ws, leavingDocuments)
	var versions, bytes int64 // deleted so far
	for _, id := range ids {
		if err != nil || versions >= purgedVersions || bytes >= purgedBytes {
			break
		}
		upTo, many, err := tx.oldestVersions(ws, id, purgedBytes)
		if err != nil {
			return false, err
		}
		if many {
			_, _, err := tx.DropVersions(ws, id, upTo)
			return true, err
		}
		gone, err := tx.changed(purgeVersions, ws, id)
		if err == nil {
			err = tx.query(purgeTexts, func(r *row) { bytes += r.Int() }, ws, id)
		}
		if err == nil {
			err = tx.exec(leaveDocument, ws, id)
		}
		if err != nil {
			return false, fmt.Errorf("remove document %s: %w", id, err)
		}
		versions += gone + 1
	}
	return len(ids) > 0, err
}

// EndRemoval deletes the workspace's own row, which must be the last one, and keeps its id. The
// transaction has locked the workspace.
func (tx *Tx) EndRemoval(id sheaf.WorkspaceID, now time.Time) error {
	tx.noteLeaving(id)
	tx.note.erased = true
	if err := tx.exec(`INSERT INTO removed_workspaces (id, removed_at) VALUES ($1, $2) ON CONFLICT DO NOTHING`, idBytes(string(id)), now); err != nil {
		return err
	}
	return tx.exec(`DELETE FROM workspaces WHERE ws = $1`, id)
}

// WasRemoved reports whether the workspace existed and was removed.
func (r *Reader) WasRemoved(id sheaf.WorkspaceID) (bool, error) {
	n, err := r.count(`SELECT COUNT(*) FROM removed_workspaces WHERE id = $1`, idBytes(string(id)))
	return n > 0, err
}

// EmptyLog asks to truncate SQLite's write-ahead log, which still has deleted rows. It does not wait.
func (s *Store) EmptyLog() { s.engine.EmptyLog() }
