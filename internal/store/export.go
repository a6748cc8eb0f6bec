package store

import (
	"slices"

	"sheaf.dev/internal/sheaf"
)

const exportFolders = `
SELECT ` + FolderColumns + `
FROM folders
WHERE ws = $1
ORDER BY depth, number`

// EachFolder calls each for the workspace's folders: parents before children, siblings in the order
// of creation.
func (r *Reader) EachFolder(ws sheaf.WorkspaceID, each func(sheaf.Folder) error) error {
	return r.each(exportFolders, func(w *row) error { return each(ScanFolder(w)) }, ws)
}

var exportProjects = union(`
SELECT `+ProjectColumns+`
FROM projects
WHERE ws = $1`, projectParts(sheaf.ByCreated), " ORDER BY number")

// EachProject calls each for the workspace's projects in the order of their creation.
func (r *Reader) EachProject(ws sheaf.WorkspaceID, each func(sheaf.Project) error) error {
	return r.each(exportProjects, func(w *row) error { return each(ScanProject(w)) }, ws)
}

const exportDocuments = `
SELECT ` + DocumentColumns + `
FROM documents
WHERE ws = $1 AND deleted_at IS NULL AND number > $2
ORDER BY number
LIMIT $3`

// exportPage is the number of documents read per statement.
const exportPage = 200

// EachDocument calls each for the workspace's documents, except deleted ones, in the order of
// creation. But a document is never before its parent: if the parent is younger, the document
// follows it. No statement is open during a call, so each may read more about the document.
func (r *Reader) EachDocument(ws sheaf.WorkspaceID, each func(sheaf.Document) error) error {
	for last := int64(0); ; {
		page, err := all(r, exportDocuments, ScanDocument, ws, last, exportPage)
		if err != nil {
			return err
		}
		for i := range page {
			if err := r.eachFrom(ws, page[i], each); err != nil {
				return err
			}
			last = page[i].Number
		}
		if len(page) < exportPage {
			return nil
		}
	}
}

// eachFrom calls each for d, unless a document above it is younger, and then for all documents
// below it that are older than d.
func (r *Reader) eachFrom(ws sheaf.WorkspaceID, d sheaf.Document, each func(sheaf.Document) error) error {
	if d.ParentID != nil {
		above, err := r.Ancestors(ws, *d.ParentID)
		if err != nil || slices.ContainsFunc(above, func(a Ancestor) bool { return a.Number > d.Number }) {
			return err
		}
	}
	return r.eachOlder(ws, d, d.Number, each)
}

const olderChildren = `
SELECT ` + DocumentColumns + `
FROM documents
WHERE ws = $1 AND parent_id = $2 AND deleted_at IS NULL AND number < $3
ORDER BY number`

// eachOlder calls each for d and all documents below it whose number is less than `number`.
func (r *Reader) eachOlder(ws sheaf.WorkspaceID, d sheaf.Document, number int64, each func(sheaf.Document) error) error {
	if err := each(d); err != nil {
		return err
	}
	older, err := all(r, olderChildren, ScanDocument, ws, d.ID, number)
	for i := 0; err == nil && i < len(older); i++ {
		err = r.eachOlder(ws, older[i], number, each)
	}
	return err
}

const pastVersions = `
SELECT version
FROM versions
WHERE ws = $1 AND document_id = $2
ORDER BY version DESC`

// EachPastVersion calls each for the past versions of a document, newest first. Only one text at a
// time is in memory.
func (r *Reader) EachPastVersion(ws sheaf.WorkspaceID, id sheaf.DocumentID, each func(sheaf.VersionText) error) error {
	numbers, err := all(r, pastVersions, (*row).Int, ws, id)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		v, err := r.Version(ws, id, n)
		if err == nil {
			err = each(v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const exportMedia = `
SELECT ` + MediumColumns + `, CASE WHEN EXISTS (
  SELECT 1 FROM documents d
  WHERE d.ws = media.ws AND d.id = media.document_id AND d.deleted_at IS NULL) THEN 1 ELSE 0 END
FROM media
WHERE ws = $1 AND state = 1
ORDER BY number`

// EachMedium calls each for the workspace's media in the order of creation. Media of deleted
// documents are reported without a document.
func (r *Reader) EachMedium(ws sheaf.WorkspaceID, each func(sheaf.Medium) error) error {
	return r.each(exportMedia, func(w *row) error {
		m := ScanMedium(w)
		if shown := w.Bool(); !shown {
			m.DocumentID = nil
		}
		return each(m)
	}, ws)
}

const exportShares = `
SELECT ` + ShareColumns + `
FROM shares
WHERE ws = $1 AND NOT EXISTS (
  SELECT 1 FROM documents d
  WHERE d.ws = shares.ws AND d.id = shares.resource_id AND d.deleted_at IS NOT NULL)
ORDER BY number`

// EachShare calls each for the workspace's shares in the order of their creation, without those of
// deleted documents.
func (r *Reader) EachShare(ws sheaf.WorkspaceID, each func(sheaf.Share) error) error {
	return r.each(exportShares, func(w *row) error { return each(ScanShare(w)) }, ws)
}

const exportProposals = `
SELECT ` + ProposalColumns + `
FROM proposals
WHERE ws = $1 AND number > $2
ORDER BY number
LIMIT $3`

// EachProposal calls each for the workspace's proposals in the order of their creation. No statement is
// open during a call, so each may read the texts and comments.
func (r *Reader) EachProposal(ws sheaf.WorkspaceID, each func(sheaf.Proposal) error) error {
	for last := int64(0); ; {
		page, err := all(r, exportProposals, ScanProposal, ws, last, exportPage)
		if err != nil {
			return err
		}
		for _, p := range page {
			if err := each(p); err != nil {
				return err
			}
			last = p.Number
		}
		if len(page) < exportPage {
			return nil
		}
	}
}

const exportComments = `
SELECT ` + commentColumns + `
FROM proposal_comments
WHERE ws = $1 AND proposal_id = $2
ORDER BY number`

// EachComment calls each for the comments of a proposal, oldest first.
func (r *Reader) EachComment(ws sheaf.WorkspaceID, id sheaf.ProposalID, each func(sheaf.Comment) error) error {
	return r.each(exportComments, func(w *row) error { return each(scanComment(w)) }, ws, id)
}

const exportReleases = `
SELECT ` + ReleaseColumns + `
FROM releases
WHERE ws = $1 AND removing = 0 AND number > $2
ORDER BY number
LIMIT $3`

// EachRelease calls each for the workspace's releases in the order of their creation. No statement is open
// during a call, so each may read the documents.
func (r *Reader) EachRelease(ws sheaf.WorkspaceID, each func(sheaf.Release) error) error {
	for last := int64(0); ; {
		page, err := all(r, exportReleases, ScanRelease, ws, last, exportPage)
		if err != nil {
			return err
		}
		for _, release := range page {
			if err := each(release); err != nil {
				return err
			}
			last = release.Number
		}
		if len(page) < exportPage {
			return nil
		}
	}
}

const newReleaseTexts = `
SELECT DISTINCT d.content_hash
FROM release_documents d
WHERE d.ws = $1 AND d.release = $2 AND d.content_hash IS NOT NULL
  AND NOT EXISTS (
    SELECT 1 FROM release_documents e
    JOIN releases o ON o.ws = e.ws AND o.number = e.release
    WHERE e.ws = $1 AND e.content_hash = d.content_hash AND e.release < $2 AND o.removing = 0)`

// NewReleaseTexts returns the hashes of the texts of a release that no older release has.
func (r *Reader) NewReleaseTexts(ws sheaf.WorkspaceID, release sheaf.Release) (map[string]bool, error) {
	found := map[string]bool{}
	err := r.query(newReleaseTexts, func(w *row) { found[readHash(w)] = true }, ws, release.Number)
	return found, err
}

const releaseMedia = `
SELECT medium_id, filename, content_type, bytes, hash, width, height, created_at
FROM release_media
WHERE ws = $1 AND release = $2
ORDER BY medium_id`

// EachReleaseMedium calls each for the media of a release.
func (r *Reader) EachReleaseMedium(ws sheaf.WorkspaceID, release sheaf.Release, each func(sheaf.Medium) error) error {
	return r.each(releaseMedia, func(w *row) error { return each(scanReleaseMedium(w)) }, ws, release.Number)
}
