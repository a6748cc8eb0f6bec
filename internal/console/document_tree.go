package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// The documents of a project are shown as a tree, level by level: app.MaxLevel documents of the
// page's own level, with links to the others, and the first app.MaxLevel below each open document.
// The documents below a closed one are read when the reader opens it (Console.documentBranch).
// Without scripts the link of a document leads to its page, which has the next level.

// maxTreeRows is the largest number of documents in the tree of a page. It is enough for a full
// level below a full level, down to the deepest.
const maxTreeRows = sheaf.MaxLevels * app.MaxLevel

// openDocumentsCookie has the ids of the documents that the reader has opened, separated by dots, the
// last opened one last (tree.js).
const openDocumentsCookie = "sheaf-open-documents"

// documentLevel is a level of the tree of documents.
type documentLevel struct {
	Documents []documentBranch
	Rest      int64  // the number of documents left out
	All       string // the address of the page with all of them, within the workspace
}

// Rows returns the largest number of documents that the tree may show.
func (documentLevel) Rows() int { return maxTreeRows }

// documentBranch is a document in the tree.
type documentBranch struct {
	sheaf.TreeEntry
	Open *documentLevel // the documents below it; nil if it is closed
}

// documentReader reads the tree of documents of one page.
type documentReader struct {
	v    *visit
	open []sheaf.DocumentID
	left int // how many more documents the tree may show
}

// documentTree reads the tree of documents: the page of the level that l asks for, and the
// documents below the open ones. It reads the level below `parent`. If `parent` is nil, it
// reads the top level of `project`; if both are nil, the top level of the documents in no project.
func (v *visit) documentTree(l *listing, project *sheaf.ProjectID, parent *sheaf.DocumentID) (out documentLevel, err error) {
	r := documentReader{v: v, left: maxTreeRows}
	if cookie, err := v.r.Cookie(openDocumentsCookie); err == nil {
		r.open = idList[sheaf.DocumentID](cookie.Value)
	}
	l.Paging = sheaf.Paging{Limit: app.MaxLevel, Offset: l.Offset}
	page, err := v.console.app.DocumentLevel(v.r.Context(), v.caller, project, parent, l.Paging)
	if err != nil {
		return out, err
	}
	l.setResult(page.Total, len(page.Items))
	l.Deep = slices.ContainsFunc(page.Items, func(e sheaf.TreeEntry) bool { return e.Children > 0 })
	out.Documents, err = r.branches(page.Items)
	return out, err
}

// branches returns the documents of a level, each with the documents below it if it is open and the
// tree has room for them.
func (r *documentReader) branches(level []sheaf.TreeEntry) (out []documentBranch, err error) {
	r.left -= len(level)
	for _, e := range level {
		b := documentBranch{TreeEntry: e}
		if e.Children > 0 && slices.Contains(r.open, e.ID) && min(e.Children, app.MaxLevel) <= int64(r.left) {
			if b.Open, err = r.below(e.ID); err != nil {
				return out, err
			}
		}
		out = append(out, b)
	}
	return out, nil
}

// below returns the first documents below a document, or nil if it was deleted meanwhile.
func (r *documentReader) below(id sheaf.DocumentID) (*documentLevel, error) {
	page, err := r.v.console.app.DocumentLevel(r.v.r.Context(), r.v.caller, nil, &id, sheaf.Paging{Limit: app.MaxLevel})
	if sheaf.KindOf(err) == sheaf.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := documentLevel{Rest: page.Total - int64(len(page.Items)), All: "documents/" + string(id) + "?from=" + strconv.Itoa(app.MaxLevel) + "#below"}
	out.Documents, err = r.branches(page.Items)
	return &out, err
}

// documentBranch answers GET /w/{workspace}/documents/{id}/branch: the documents below a document
// that the reader opened in the tree.
func (c *Console) documentBranch(v *visit) error {
	d, err := find(v, "document", c.app.Document)
	if err != nil {
		return err
	}
	if err := v.locate(sheaf.ProjectID(projectIDOf(d))); err != nil { // it decides what the rows offer
		return err
	}
	level, err := (&documentReader{v: v, left: maxTreeRows}).below(d.ID)
	if err == nil && level == nil {
		err = sheaf.Missing("document")
	}
	if err != nil {
		return err
	}
	return v.fragment("project", "document-rows", level)
}

// idList reads identifiers that are separated by dots, at most app.MaxOpen.
func idList[T ~string](s string) (ids []T) {
	for part := range strings.SplitSeq(s, ".") {
		if id, ok := sheaf.ParseUUID(part); ok && len(ids) < app.MaxOpen {
			ids = append(ids, T(id))
		}
	}
	return ids
}

// showDocument writes a page about a document, with the documents above it and the tree of folders.
func (v *visit) showDocument(name string, d sheaf.Document, data any) error {
	if err := v.locateAbove(d.ParentID); err != nil {
		return err
	}
	return v.showWithTree(http.StatusOK, name, projectIDOf(d), data)
}

// locateAbove makes the pages of this visit show the document `parent` and those above it. A dialog
// does not show them. A parent that was deleted meanwhile is not shown.
func (v *visit) locateAbove(parent *sheaf.DocumentID) (err error) {
	if parent == nil || v.inDialog() {
		return nil
	}
	v.above, err = v.console.app.DocumentPath(v.r.Context(), v.caller, *parent)
	if sheaf.KindOf(err) == sheaf.NotFound {
		return nil
	}
	return err
}
