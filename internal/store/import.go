package store

import (
	"fmt"
	"slices"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

var foldersByID = engine.NewBulk(`
SELECT `+FolderColumns+`
FROM folders
WHERE ws = {workspace} AND id = {wanted}`, "", "workspace int", "wanted id")

// FoldersByID returns those of the folders that exist in the workspace.
func (r *Reader) FoldersByID(ws sheaf.WorkspaceID, ids []sheaf.FolderID) (map[sheaf.FolderID]sheaf.Folder, error) {
	found := map[sheaf.FolderID]sheaf.Folder{}
	err := r.run(foldersByID, wanted(ws, ids), func(_ int, w *row) {
		f := ScanFolder(w)
		found[f.ID] = f
	})
	return found, err
}

// wanted returns rows of arguments (workspace, id), one for each distinct id.
func wanted[T ~string](ws sheaf.WorkspaceID, ids []T) [][]any {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	rows := make([][]any, len(ids))
	for i, id := range ids {
		rows[i] = []any{ws, id}
	}
	return rows
}

var (
	knownProjects = newKnown("projects")
	// Deleted documents are included: they can be restored.
	knownDocuments = newKnown("documents")
	knownShares    = newKnown("shares")
	knownProposals = newKnown("proposals")
)

func newKnown(table string) *engine.Bulk {
	return engine.NewBulk("SELECT id FROM "+table+" WHERE ws = {workspace} AND id = {wanted}", "", "workspace int", "wanted id")
}

func known[T ~string](r *Reader, b *engine.Bulk, ws sheaf.WorkspaceID, ids []T) (map[T]bool, error) {
	found := map[T]bool{}
	err := r.run(b, wanted(ws, ids), func(_ int, w *row) { found[readID[T](w)] = true })
	return found, err
}

// KnownProjects reports which of the projects exist in the workspace.
func (r *Reader) KnownProjects(ws sheaf.WorkspaceID, ids []sheaf.ProjectID) (map[sheaf.ProjectID]bool, error) {
	return known(r, knownProjects, ws, ids)
}

// KnownDocuments reports which of the documents exist in the workspace, deleted ones included.
func (r *Reader) KnownDocuments(ws sheaf.WorkspaceID, ids []sheaf.DocumentID) (map[sheaf.DocumentID]bool, error) {
	return known(r, knownDocuments, ws, ids)
}

var knownMedia = engine.NewBulk(`
SELECT id
FROM media
WHERE ws = {workspace} AND id = {wanted} AND state = 1`, "", "workspace int", "wanted id")

// KnownMedia reports which of the media exist in the workspace.
func (r *Reader) KnownMedia(ws sheaf.WorkspaceID, ids []sheaf.MediumID) (map[sheaf.MediumID]bool, error) {
	return known(r, knownMedia, ws, ids)
}

// KnownShares reports which of the shares exist in the workspace.
func (r *Reader) KnownShares(ws sheaf.WorkspaceID, ids []sheaf.ShareID) (map[sheaf.ShareID]bool, error) {
	return known(r, knownShares, ws, ids)
}

// KnownProposals reports which of the proposals exist in the workspace.
func (r *Reader) KnownProposals(ws sheaf.WorkspaceID, ids []sheaf.ProposalID) (map[sheaf.ProposalID]bool, error) {
	return known(r, knownProposals, ws, ids)
}

var (
	foldersWith   = newHolders("folders")
	projectsWith  = newHolders("projects")
	documentsWith = newHolders("documents")
)

func newHolders(table string) *engine.Bulk {
	return engine.NewBulk("SELECT external_id, id FROM "+table+" WHERE ws = {workspace} AND external_id = {wanted}", "", "workspace int", "wanted")
}

func holders[T ~string](r *Reader, b *engine.Bulk, ws sheaf.WorkspaceID, externalIDs []string) (map[string]T, error) {
	found := map[string]T{}
	err := r.run(b, wanted(ws, externalIDs), func(_ int, w *row) {
		externalID := w.Text()
		found[externalID] = readID[T](w)
	})
	return found, err
}

// FoldersWith returns the workspace's folders that have one of the external ids, by external id.
func (r *Reader) FoldersWith(ws sheaf.WorkspaceID, externalIDs []string) (map[string]sheaf.FolderID, error) {
	return holders[sheaf.FolderID](r, foldersWith, ws, externalIDs)
}

// ProjectsWith is FoldersWith for projects.
func (r *Reader) ProjectsWith(ws sheaf.WorkspaceID, externalIDs []string) (map[string]sheaf.ProjectID, error) {
	return holders[sheaf.ProjectID](r, projectsWith, ws, externalIDs)
}

// DocumentsWith is FoldersWith for documents, deleted ones included.
func (r *Reader) DocumentsWith(ws sheaf.WorkspaceID, externalIDs []string) (map[string]sheaf.DocumentID, error) {
	return holders[sheaf.DocumentID](r, documentsWith, ws, externalIDs)
}

// TakenSubscription is the workspace that uses a subscription id. Unlike other ids, these are
// unique across all workspaces.
type TakenSubscription struct {
	Workspace sheaf.WorkspaceID
	Leaving   bool // the subscription was deleted, and its deliveries are being deleted
}

const takenSubscription = `
SELECT w.id, 0
FROM subscriptions s
JOIN workspaces w ON w.ws = s.ws
WHERE s.id = $1
UNION ALL
SELECT w.id, 1
FROM deleted_subscriptions d
JOIN workspaces w ON w.ws = d.ws
WHERE d.id = $1`

// TakenSubscription returns which workspace uses the subscription id; taken is false if none does.
func (r *Reader) TakenSubscription(id sheaf.SubscriptionID) (by TakenSubscription, taken bool, err error) {
	return one(r, takenSubscription, func(w *row) TakenSubscription {
		return TakenSubscription{readID[sheaf.WorkspaceID](w), w.Bool()}
	}, id)
}

var insertProjects = engine.NewBulkInsert("projects", "ws int", "id id", "folder_id id", "name", "name_folded", "description", "description_folded",
	"icon", "color", "sort_order int", "visibility", "external_id", "url", "metadata", "approvals int", "document_count int", "number int", "revision int", "created_at int", "updated_at int")

var countAllProjects = engine.NewBulk(`
UPDATE folders
SET project_count = project_count + {more}
{rows}
WHERE folders.ws = {workspace} AND folders.id = {folder}`, "", "workspace int", "folder id", "more int")

// InsertProjects is InsertProject for many.
func (tx *Tx) InsertProjects(ws sheaf.WorkspaceID, projects []*sheaf.Project) error {
	rows := make([][]any, len(projects))
	filed := map[sheaf.FolderID]int64{}
	for i, p := range projects {
		rows[i] = []any{ws, p.ID, p.FolderID, p.Name, Fold(p.Name), p.Description, foldOpt(p.Description),
			p.Icon, p.Color, p.SortOrder, p.Visibility, p.ExternalID, p.URL, storedMetadata(p.Metadata), p.Approvals, p.DocumentCount, p.Number, p.Revision, p.CreatedAt, p.UpdatedAt}
		if p.FolderID != nil {
			filed[*p.FolderID]++
		}
	}
	if err := tx.insertMany(insertProjects, rows); err != nil {
		return fmt.Errorf("insert %d projects: %w", len(projects), err)
	}
	return tx.run(countAllProjects, counts(ws, filed), nothing)
}

// counts returns rows of arguments (workspace, id, number) that raise counters.
func counts[T ~string](ws sheaf.WorkspaceID, by map[T]int64) (rows [][]any) {
	for id, n := range by {
		rows = append(rows, []any{ws, id, n})
	}
	return rows
}

var insertDocuments = engine.NewBulkInsert("documents", "ws int", "id id", "project_id id", "title", "title_folded", "description", "description_folded",
	"number int", "revision int", "created_at int", "updated_at int", "version int", "version_at int", "version_user id", "version_key id", "version_proposal id", "version_restored int",
	"content_bytes int", "content_hash bytes", "external_id", "url", "metadata", "parent_id id", "sort_order int", "fields_hash bytes")

var countAllDocuments = engine.NewBulk(`
UPDATE projects
SET document_count = document_count + {more}
{rows}
WHERE projects.ws = {workspace} AND projects.id = {project}`, "", "workspace int", "project id", "more int")

// NewDocument is a document to insert, and its present version: who made it, and when.
type NewDocument struct {
	*sheaf.Document
	Present sheaf.Version
}

// presentSince returns when the present version was made; nil (NULL) if together with the document.
func (d *NewDocument) presentSince() any {
	if d.Version == 1 && d.Present.CreatedAt.Equal(d.CreatedAt) {
		return nil
	}
	return d.Present.CreatedAt
}

// InsertDocuments is InsertDocument for many.
func (tx *Tx) InsertDocuments(ws sheaf.WorkspaceID, documents []NewDocument) error {
	rows := make([][]any, len(documents))
	linked := map[sheaf.ProjectID]int64{}
	for i, d := range documents {
		rows[i] = []any{ws, d.ID, d.ProjectID, d.Title, Fold(d.Title), d.Description, foldOpt(d.Description),
			d.Number, d.Revision, d.CreatedAt, d.UpdatedAt, d.Version, d.presentSince(), d.Present.UserID, d.Present.KeyID, d.Present.ProposalID, d.Present.Restored,
			d.ContentBytes, textHash(d.ContentSHA256), d.ExternalID, d.URL, storedMetadata(d.Metadata),
			d.ParentID, storedOrder(d.Document), fieldsHash(d.Document)}
		if d.ProjectID != nil {
			linked[*d.ProjectID]++
		}
	}
	if err := tx.insertMany(insertDocuments, rows); err != nil {
		return fmt.Errorf("insert %d documents: %w", len(documents), err)
	}
	return tx.run(countAllDocuments, counts(ws, linked), nothing)
}

var insertVersions = engine.NewBulkInsert("versions", "ws int", "document_id id", "version int", "title", "content_bytes int", "content_hash bytes",
	"user_id id", "key_id id", "proposal_id id", "created_at int", "restored int")

// NewVersion is a past version of a document to insert.
type NewVersion struct {
	Document sheaf.DocumentID
	sheaf.Version
}

// InsertVersions adds past versions of stored documents. The caller adds non-empty texts with
// InsertText.
func (tx *Tx) InsertVersions(ws sheaf.WorkspaceID, versions []NewVersion) error {
	rows := make([][]any, len(versions))
	for i, v := range versions {
		rows[i] = []any{ws, v.Document, v.Number, v.Title, v.ContentBytes, textHash(v.ContentSHA256), v.UserID, v.KeyID, v.ProposalID, v.CreatedAt, v.Restored}
	}
	if err := tx.insertMany(insertVersions, rows); err != nil {
		return fmt.Errorf("insert %d versions: %w", len(versions), err)
	}
	return nil
}

const keptVersions = `
SELECT d.version, COALESCE((SELECT MIN(v.version) FROM versions v WHERE v.ws = d.ws AND v.document_id = d.id), d.version)
FROM documents d
WHERE d.ws = $1 AND d.id = $2`

// KeptVersions is the range of a document's stored version numbers.
type KeptVersions struct{ Present, Oldest int64 }

// KeptVersions returns the range of a document's stored versions, whether or not it is deleted;
// found is false if the workspace has no such document.
func (r *Reader) KeptVersions(ws sheaf.WorkspaceID, id sheaf.DocumentID) (kept KeptVersions, found bool, err error) {
	return one(r, keptVersions, func(w *row) KeptVersions { return KeptVersions{w.Int(), w.Int()} }, ws, id)
}
