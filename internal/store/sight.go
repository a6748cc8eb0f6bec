package store

import (
	"fmt"
	"slices"
	"strings"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// A Reader shows what its Sight allows. Methods that return projects, folders, documents, media,
// shares, events or subscriptions leave out everything else, as if it did not exist. So a caller of
// the store cannot forget a restriction: Unrestricted is the only way around it, and archtest lists who
// uses that.
//
// What is visible is decided by each statement, in its own snapshot: nothing about it is remembered
// between two requests, and a project that leaves a folder is invisible at once.
//
//	a folder is visible      if the restriction names it, or a folder above it
//	a project is visible     if the restriction names it, or its folder is visible
//	a document is visible    if its project is
//	a medium, a share        if its document, project or folder is
//	a proposal               if every document and project that it names is
//	an event                 if it is in the log of the restriction (restriction.go)
//	a subscription           if it has the same restriction
//	a branding, its folder   if the caller may read brandings
//
// Methods that are called with a record that the caller has read before, such as those of a
// cascade, need no sight: everything in a visible project or folder is visible.

// Sight says what a Reader shows. The zero value shows everything.
type Sight struct {
	restriction *sheaf.Restriction // nil: everything
	brandings   bool               // with a restriction: brandings and their folders are shown
}

// Everything shows the whole workspace.
var Everything Sight

// Restricted shows what the restriction covers; nil: everything. Brandings are shown too if
// `brandings` is set.
func Restricted(to *sheaf.Restriction, brandings bool) Sight { return Sight{to, brandings} }

// Unrestricted returns a Reader of the same snapshot that shows everything. It is for facts about a
// workspace that its callers do not get to see, such as the places of an event.
func (r *Reader) Unrestricted() *Reader {
	if r.sight.restriction == nil {
		return r
	}
	whole := *r
	whole.sight = Everything
	return &whole
}

// SeenBy returns a Reader of the same snapshot that shows what another caller sees.
func (r *Reader) SeenBy(s Sight) *Reader {
	other := *r
	other.sight = s
	return &other
}

// restrict sets the sight of a Reader.
func (r *Reader) restrict(s Sight) { r.sight = s }

// marks returns n question marks, separated by commas.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// folders returns a query for the visible folders of projects, and its arguments. With an empty
// restriction it finds none.
func (s Sight) folders(ws sheaf.WorkspaceID) (sql string, args []any) {
	args = append(args, ws)
	for _, id := range s.restriction.Folders {
		args = append(args, id)
	}
	// CROSS JOIN as in inTree.
	return `WITH RECURSIVE seen (id) AS (
    SELECT id FROM folders WHERE ws = ? AND id IN (` + marks(len(s.restriction.Folders)) + `)
    UNION
    SELECT f.id FROM seen CROSS JOIN folders f WHERE f.ws = ? AND f.parent_id = seen.id)
  SELECT id FROM seen`, append(args, ws)
}

// inProjects returns a condition for visible projects, and its arguments. `id` and `folder` name the
// columns of a project's id and folder.
func (s Sight) inProjects(ws sheaf.WorkspaceID, id, folder string) (sql string, args []any) {
	var any []string
	if n := len(s.restriction.Projects); n > 0 {
		any = append(any, id+" IN ("+marks(n)+")")
		for _, p := range s.restriction.Projects {
			args = append(args, p)
		}
	}
	if len(s.restriction.Folders) > 0 {
		below, more := s.folders(ws)
		any = append(any, folder+" IN ("+below+")")
		args = append(args, more...)
	}
	return "(" + strings.Join(any, " OR ") + ")", args
}

// projects returns a query for the visible projects, and its arguments.
func (s Sight) projects(ws sheaf.WorkspaceID) (sql string, args []any) {
	in, more := s.inProjects(ws, "id", "folder_id")
	return "SELECT id FROM projects WHERE ws = ? AND " + in, append([]any{ws}, more...)
}

// seeProjects limits a list of projects to the visible ones.
func (r *Reader) seeProjects(w *engine.Conditions, ws sheaf.WorkspaceID) {
	if r.sight.restriction != nil {
		sql, args := r.sight.inProjects(ws, "id", "folder_id")
		w.And(sql, args...)
	}
}

// seeFolders limits a list of folders to the visible ones.
func (r *Reader) seeFolders(w *engine.Conditions, ws sheaf.WorkspaceID) {
	if r.sight.restriction == nil {
		return
	}
	sql, args := r.sight.folders(ws)
	sql = "id IN (" + sql + ")"
	if len(r.sight.restriction.Folders) == 0 {
		sql, args = "1 = 0", nil
	}
	if r.sight.brandings {
		sql = "(entity_type = 'branding' OR " + sql + ")"
	}
	w.And(sql, args...)
}

// top limits a list to records that are in no visible folder; `column` has the folder. Without a
// restriction it adds no condition and returns the filter for the root level.
func (r *Reader) top(w *engine.Conditions, ws sheaf.WorkspaceID, column string, in sheaf.Opt[sheaf.FolderID]) sheaf.Opt[sheaf.FolderID] {
	if r.sight.restriction == nil {
		return sheaf.Nil[sheaf.FolderID]()
	}
	if len(r.sight.restriction.Folders) > 0 {
		below, args := r.sight.folders(ws)
		w.And("("+column+" IS NULL OR "+column+" NOT IN ("+below+"))", args...)
	}
	return in
}

// seeDocuments limits a list of documents to the visible ones. If `skips` is set, the query reads the
// index of the list's order and skips invisible documents. Otherwise PostgreSQL would read and sort all
// visible documents for one page.
func (r *Reader) seeDocuments(w *engine.Conditions, ws sheaf.WorkspaceID, skips bool) {
	if r.sight.restriction == nil {
		return
	}
	sql, args := r.sight.projects(ws)
	sql = "project_id IN (" + sql + ")"
	if skips {
		sql = "(" + sql + ") IS TRUE"
	}
	w.And(sql, args...)
}

// seeByDocument limits a list to the rows whose document is visible; `column` has the document's id.
func (r *Reader) seeByDocument(w *engine.Conditions, ws sheaf.WorkspaceID, column string) {
	if r.sight.restriction != nil {
		sql, args := r.sight.byDocument(ws, column)
		w.And(sql, args...)
	}
}

func (s Sight) byDocument(ws sheaf.WorkspaceID, column string) (sql string, args []any) {
	in, more := s.projects(ws)
	return "EXISTS (SELECT 1 FROM documents seen WHERE seen.ws = ? AND seen.id = " + column + " AND seen.project_id IN (" + in + "))",
		append([]any{ws}, more...)
}

// seeShares limits a list of shares to those of visible records.
func (r *Reader) seeShares(w *engine.Conditions, ws sheaf.WorkspaceID) {
	if r.sight.restriction == nil {
		return
	}
	document, args := r.sight.byDocument(ws, "resource_id")
	project, more := r.sight.projects(ws)
	args = append(args, more...)
	sql := "(resource_type = 1 AND " + document + " OR resource_type = 2 AND resource_id IN (" + project + ")"
	if len(r.sight.restriction.Folders) > 0 {
		folder, more := r.sight.folders(ws)
		sql += " OR resource_type = 3 AND resource_id IN (" + folder + ")"
		args = append(args, more...)
	}
	w.And(sql+")", args...)
}

// seeProposals limits a list of proposals to those that name only what is visible. The people whom a
// proposal waits for (kind 4) do not count.
func (r *Reader) seeProposals(w *engine.Conditions, ws sheaf.WorkspaceID) {
	if r.sight.restriction == nil {
		return
	}
	document, args := r.sight.byDocument(ws, "t.resource_id")
	project, more := r.sight.projects(ws)
	w.And(`NOT EXISTS (SELECT 1 FROM proposal_targets t WHERE t.ws = ? AND t.number = proposals.number
  AND t.kind <> 4 AND NOT (t.kind = 1 AND `+document+` OR t.kind = 2 AND t.resource_id IN (`+project+`)))`, append(append([]any{ws}, args...), more...)...)
}

// seesFolder reports whether the folder, or one above it, is named; nil is not. It reads at most
// one folder of each level.
func (r *Reader) seesFolder(ws sheaf.WorkspaceID, id *sheaf.FolderID) (bool, error) {
	for range 2 * sheaf.MaxDepth {
		if id == nil {
			return false, nil
		}
		if slices.Contains(r.sight.restriction.Folders, *id) {
			return true, nil
		}
		above, found, err := one(r, `SELECT parent_id FROM folders WHERE ws = $1 AND id = $2`, optID[sheaf.FolderID], ws, *id)
		if err != nil || !found {
			return false, err
		}
		id = above
	}
	return false, nil
}

// seesFiled reports whether a project with that id in that folder is visible.
func (r *Reader) seesFiled(ws sheaf.WorkspaceID, id sheaf.ProjectID, folder *sheaf.FolderID) (bool, error) {
	if r.sight.restriction == nil || slices.Contains(r.sight.restriction.Projects, id) {
		return true, nil
	}
	return r.seesFolder(ws, folder)
}

// seesIn reports whether the documents of a project are visible; nil are the documents in none.
func (r *Reader) seesIn(ws sheaf.WorkspaceID, project *sheaf.ProjectID) (bool, error) {
	switch {
	case r.sight.restriction == nil:
		return true, nil
	case project == nil:
		return false, nil
	}
	folder, found, err := one(r, `SELECT folder_id FROM projects WHERE ws = $1 AND id = $2`, optID[sheaf.FolderID], ws, *project)
	if err != nil || !found {
		return false, err
	}
	return r.seesFiled(ws, *project, folder)
}

// seesDocument reports whether the document, deleted or not, is visible; nil is not visible to a
// restricted caller.
func (r *Reader) seesDocument(ws sheaf.WorkspaceID, id *sheaf.DocumentID) (bool, error) {
	switch {
	case r.sight.restriction == nil:
		return true, nil
	case id == nil:
		return false, nil
	}
	project, found, err := one(r, `SELECT project_id FROM documents WHERE ws = $1 AND id = $2`, optID[sheaf.ProjectID], ws, *id)
	if err != nil || !found {
		return false, err
	}
	return r.seesIn(ws, project)
}

// seesShared reports whether what the share shows is visible.
func (r *Reader) seesShared(ws sheaf.WorkspaceID, s *sheaf.Share) (bool, error) {
	switch {
	case r.sight.restriction == nil:
		return true, nil
	case s.ResourceType == sheaf.ShareOfDocument:
		id := sheaf.DocumentID(s.ResourceID)
		return r.seesDocument(ws, &id)
	case s.ResourceType == sheaf.ShareOfProject:
		id := sheaf.ProjectID(s.ResourceID)
		return r.seesIn(ws, &id)
	case s.ResourceType == sheaf.ShareOfFolder:
		id := sheaf.FolderID(s.ResourceID)
		return r.seesFolder(ws, &id)
	}
	return false, nil
}

// seesBrandings reports whether brandings are visible.
func (r *Reader) seesBrandings() bool { return r.sight.restriction == nil || r.sight.brandings }

// sameRestriction returns the condition for subscriptions that are visible, and the arguments of the
// statement with its own; `s` is the subscription.
func (r *Reader) sameRestriction(args ...any) (sql string, all []any) {
	if r.sight.restriction == nil {
		return "", args
	}
	return fmt.Sprintf(" AND s.restriction = $%d", len(args)+1), append(args, r.sight.restriction.Number)
}

// must returns err, or NotFound, naming the noun, if the record is not visible.
func must(noun string) func(visible bool, err error) error {
	return func(visible bool, err error) error {
		if err == nil && !visible {
			err = sheaf.Missing(noun)
		}
		return err
	}
}

// SeenIDs are the ids of the visible projects and folders, for the search index.
type SeenIDs struct{ Projects, Folders [][16]byte }

// Seen returns the ids of the visible projects and folders, or nil if everything is visible.
func (r *Reader) Seen(ws sheaf.WorkspaceID) (*SeenIDs, error) {
	if r.sight.restriction == nil {
		return nil, nil
	}
	var projects, folders engine.Conditions
	projects.And("ws = ?", ws)
	r.seeProjects(&projects, ws)
	folders.And("ws = ?", ws)
	r.seeFolders(&folders, ws)
	ids, err := all(r, "SELECT id FROM projects "+projects.SQL(), (*row).ID, projects.Args...)
	if err != nil {
		return nil, err
	}
	above, err := all(r, "SELECT id FROM folders "+folders.SQL(), (*row).ID, folders.Args...)
	return &SeenIDs{ids, above}, err
}
