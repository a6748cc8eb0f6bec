package store

import (
	"time"

	"sheaf.dev/internal/sheaf"
)

const workspaceColumns = `id, name, plan, personal, created_at, version, last_number, last_event,
  projects, documents, subscriptions, storage, newest_at, newest_shared, brandings, default_branding, shares, filters, kept, given, last_event_at, restrictions, reviewed,
  deleted_at, ends_at, removing`

// scanWorkspace reads a row of workspaceColumns.
func scanWorkspace(r *row) sheaf.Workspace {
	return sheaf.Workspace{
		ID: readID[sheaf.WorkspaceID](r), Name: r.Text(), Plan: sheaf.Plan(r.Text()), Personal: r.Bool(),
		CreatedAt: r.Time(), Version: r.Int(), LastNumber: r.Int(), LastEvent: r.Int(),
		Projects: r.Int(), Documents: r.Int(), Subscriptions: r.Int(), Storage: r.Int(),
		NewestAt: readNewest(r), NewestShared: r.Int(), Brandings: r.Int(), DefaultBranding: readDefault(r), Shares: r.Int(), Filters: r.Int(), Kept: r.Int(), Given: r.Text(), LastEventAt: readNewest(r), Restrictions: r.Int(), Reviewed: r.Int(),
		DeletedAt: readNewest(r), EndsAt: readNewest(r), Removing: r.Bool(),
	}
}

// readDefault reads the id of the default branding; NULL becomes "".
func readDefault(r *row) sheaf.BrandingID {
	if id := optID[sheaf.BrandingID](r); id != nil {
		return *id
	}
	return ""
}

// readNewest reads the newest timestamp given to a record or an event; 0 becomes the zero time.
func readNewest(r *row) time.Time {
	if ms := r.Int(); ms != 0 {
		return time.UnixMilli(ms).UTC()
	}
	return time.Time{}
}

// storedNewest is the inverse of readNewest.
func storedNewest(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

const selectWorkspace = `
SELECT ` + workspaceColumns + `
FROM workspaces
WHERE ws = $1`

// Workspace returns the workspace, or NotFound.
func (r *Reader) Workspace(id sheaf.WorkspaceID) (sheaf.Workspace, error) {
	return r.workspace(selectWorkspace, id)
}

func (r *Reader) workspace(sql string, id sheaf.WorkspaceID) (sheaf.Workspace, error) {
	return mustFind(r, "workspace", sql, scanWorkspace, id)
}

// LockWorkspace returns the workspace and locks it until the transaction ends: all other changes in
// the workspace wait. This serialises limits, folder moves and event numbers. SaveWorkspace stores
// changes of the counters.
func (tx *Tx) LockWorkspace(id sheaf.WorkspaceID) (w sheaf.Workspace, err error) {
	w, err = tx.workspace(selectWorkspace+tx.dialect().ForUpdate(), id)
	if err == nil {
		tx.stored = w
	}
	return w, err
}

// NextVersion returns the workspace version that follows `version` at time now.
func NextVersion(version int64, now time.Time) int64 { return max(version+1, now.UnixMicro()) }

const (
	// updateDocuments stores what almost every change of a document changes, and nothing else: it
	// runs in every such transaction.
	updateDocuments = `
UPDATE workspaces
SET version = $2, last_number = $3, last_event = $4, documents = $5, storage = $6, newest_at = $7, newest_shared = $8, last_event_at = $9
WHERE ws = $1`

	updateOthers = `
UPDATE workspaces
SET projects = $2, subscriptions = $3, brandings = $4, shares = $5, filters = $6, kept = $7, given = $8, restrictions = $9, reviewed = $10
WHERE ws = $1`
)

// SaveWorkspace stores the counters of a workspace that this transaction has locked. The default
// branding is stored by SetDefaultBranding.
func (tx *Tx) SaveWorkspace(w sheaf.Workspace) error {
	if tx.touched == nil {
		tx.touched = map[sheaf.WorkspaceID]int64{}
	}
	tx.touched[w.ID] = w.Version
	before := tx.stored
	tx.stored = w
	err := tx.exec(updateDocuments, w.ID, w.Version, w.LastNumber, w.LastEvent, w.Documents, w.Storage, storedNewest(w.NewestAt), w.NewestShared, storedNewest(w.LastEventAt))
	if err != nil || (before.ID == w.ID && others(before) == others(w)) {
		return err
	}
	return tx.exec(updateOthers, w.ID, w.Projects, w.Subscriptions, w.Brandings, w.Shares, w.Filters, w.Kept, w.Given, w.Restrictions, w.Reviewed)
}

// others returns the counters that updateOthers stores.
func others(w sheaf.Workspace) sheaf.Workspace {
	return sheaf.Workspace{
		Projects: w.Projects, Subscriptions: w.Subscriptions, Brandings: w.Brandings, Shares: w.Shares, Filters: w.Filters,
		Kept: w.Kept, Given: w.Given, Restrictions: w.Restrictions, Reviewed: w.Reviewed,
	}
}

const insertWorkspace = `
INSERT INTO workspaces (ws, ` + workspaceColumns + `)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27)`

// InsertWorkspace adds an empty workspace.
func (tx *Tx) InsertWorkspace(w sheaf.Workspace) error {
	n, err := tx.nextNumber("workspace")
	if err != nil {
		return err
	}
	return tx.exec(insertWorkspace, n, idBytes(string(w.ID)), w.Name, w.Plan, w.Personal, w.CreatedAt, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, nil, 0, 0, 0, "", 0, 0, 0, 0, 0, 0)
}

const updatePlan = `
UPDATE workspaces
SET plan = $2
WHERE ws = $1`

// SetPlan changes the plan of a workspace, or returns NotFound.
func (tx *Tx) SetPlan(id sheaf.WorkspaceID, p sheaf.Plan) error {
	tx.note.Credentials = true
	return tx.mustChange("workspace", updatePlan, id, p)
}

const renameWorkspace = `
UPDATE workspaces
SET name = $2
WHERE ws = $1`

// RenameWorkspace changes the name of a workspace, which must exist.
func (tx *Tx) RenameWorkspace(id sheaf.WorkspaceID, name string) error {
	tx.note.Credentials = true // GET /api/v1/me shows it
	return tx.exec(renameWorkspace, id, name)
}

// Workspaces returns every workspace, oldest first.
func (r *Reader) Workspaces() ([]sheaf.Workspace, error) {
	return all(r, `SELECT `+workspaceColumns+` FROM workspaces ORDER BY created_at, id`, scanWorkspace)
}

// WorkspaceIDs returns every workspace, in the order of their ids.
func (r *Reader) WorkspaceIDs() ([]sheaf.WorkspaceID, error) {
	return all(r, `SELECT id FROM workspaces ORDER BY id`, readID[sheaf.WorkspaceID])
}

const selectOwner = `
SELECT user_id
FROM members
WHERE ws = $1 AND role = 'owner'
ORDER BY created_at, user_id
LIMIT 1`

// OwnerOf returns the workspace's first owner, or NotFound.
func (r *Reader) OwnerOf(id sheaf.WorkspaceID) (sheaf.UserID, error) {
	return mustFind(r, "workspace", selectOwner, readID[sheaf.UserID], id)
}
