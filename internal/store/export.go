package store

import "sheaf.dev/internal/sheaf"

const exportFolders = `
SELECT ` + FolderColumns + `
FROM folders
WHERE ws = $1
ORDER BY depth, number`

// EachFolder calls each for the workspace's folders: parents before their children, and those of
// one parent in the order of their creation.
func (r *Reader) EachFolder(ws sheaf.WorkspaceID, each func(sheaf.Folder) error) error {
	return r.each(exportFolders, func(w *row) error { return each(ScanFolder(w)) }, ws)
}

const exportProjects = `
SELECT ` + ProjectColumns + `
FROM projects
WHERE ws = $1
ORDER BY number`

// EachProject calls each for the workspace's projects in the order of their creation.
func (r *Reader) EachProject(ws sheaf.WorkspaceID, each func(sheaf.Project) error) error {
	return r.each(exportProjects, func(w *row) error { return each(ScanProject(w)) }, ws)
}

const exportDocuments = `
SELECT ` + DocumentColumns + `
FROM documents
WHERE ws = $1 AND deleted_at IS NULL
ORDER BY number`

// EachDocument calls each for the workspace's documents, without the deleted, in the order of their
// creation.
func (r *Reader) EachDocument(ws sheaf.WorkspaceID, each func(sheaf.Document) error) error {
	return r.each(exportDocuments, func(w *row) error { return each(ScanDocument(w)) }, ws)
}
