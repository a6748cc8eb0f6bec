package app

import (
	"errors"
	"fmt"
	"strings"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// What a restricted caller sees, the store decides (store/sight.go). This file says what such a
// caller may change. A record that it does not see is NotFound, like one that does not exist. A
// change that would leave what it sees, or that touches the border of its restriction, is Forbidden:
//
//	a project, folder or document without a place inside    outside
//	the records that the restriction names                  moves and deletions of them
//	a project with documents, a folder with projects        deletions of them

// restricted reports whether the caller is restricted.
func (w *work) restricted() bool { return w.caller.Restriction() != nil }

// sees reports whether the caller sees the record that an operation of a batch names. Without a
// restriction it reads nothing.
func (w *work) sees(noun sheaf.BatchNoun, id string) (bool, error) {
	if !w.restricted() {
		return true, nil
	}
	var err error
	switch noun {
	case sheaf.BatchProject:
		_, err = w.Project(w.ws.ID, sheaf.ProjectID(id))
	case sheaf.BatchFolder:
		_, err = w.Folder(w.ws.ID, sheaf.FolderID(id))
	case sheaf.BatchDocument:
		_, err = w.AnyDocument(w.ws.ID, sheaf.DocumentID(id))
	}
	return err == nil, ignoreMissing(err)
}

// outside returns Forbidden if the caller is restricted, because the change would put a record of
// that noun outside of what the caller sees. `field` says where it must be instead.
func (w *work) outside(noun, field string) error {
	if !w.restricted() {
		return nil
	}
	to := w.caller.Restriction()
	if field != "project_id" && field != "document_id" && len(to.Folders) == 0 {
		return sheaf.Forbiddenf("you may only change %s, and no folder: a %s without a folder would be outside of that", to.Phrase(), noun)
	}
	place, _ := strings.CutSuffix(field, "_id")
	if place == "parent" {
		place = "folder"
	}
	return sheaf.Forbiddenf("you may only change %s: choose a %s that is part of it, as the %s of the %s", to.Phrase(), place, field, noun)
}

// mayFile returns an error if a restricted caller may not put the project into the folder: outside
// of what it sees, or elsewhere although the restriction names the project.
func (w *work) mayFile(before, p sheaf.Project) error {
	if !w.restricted() || sheaf.SameID(before.FolderID, p.FolderID) {
		return nil
	}
	if w.caller.Restriction().Names(string(p.ID)) {
		return errNamed("project", "move")
	}
	if p.FolderID == nil {
		return w.outside("project", "folder_id")
	}
	return nil
}

// errNamed is the refusal to delete or move a record that the caller's own restriction names.
func errNamed(noun, act string) error {
	return sheaf.Forbiddenf("you are restricted to this %s, so you may not %s it: someone who sees the whole workspace can", noun, act)
}

// mayRemoveProject returns Forbidden if the caller may not delete the project: because it needs review,
// or because of a restriction.
func mayRemoveProject(r *store.Reader, c Caller, p sheaf.Project) error {
	if err := mayEndReview(c, p); err != nil || c.Restriction() == nil {
		return err
	}
	if c.Restriction().Names(string(p.ID)) {
		return errNamed("project", "delete")
	}
	linked, err := r.CountLinked(c.Workspace, p.ID, 1)
	if err == nil && linked > 0 {
		err = sheaf.Forbiddenf("the project has documents, perhaps deleted ones, which would be outside of what you see: move them or delete them for good first")
	}
	return err
}

// mayPlaceFolder returns Forbidden if a restricted caller may not put the folder below its parent.
func (w *work) mayPlaceFolder(before, f sheaf.Folder) error {
	switch {
	case !w.restricted():
		return nil
	case f.EntityType == sheaf.BrandingFolder:
		return errBrandingFolder(w.caller)
	case f.ID != "" && sheaf.SameID(before.ParentID, f.ParentID):
		return nil
	case w.caller.Restriction().Names(string(f.ID)):
		return errNamed("folder", "move")
	case f.ParentID == nil:
		return w.outside("folder", "parent_id")
	}
	return nil
}

// errBrandingFolder returns the refusal to change a folder of brandings.
func errBrandingFolder(c Caller) error {
	return sheaf.Forbiddenf("you may change only %s: this does not include folders of brandings", c.Restriction().Phrase())
}

// mayRemoveFolder returns Forbidden if a restricted caller may not delete the folder with all
// folders below it.
func mayRemoveFolder(r *store.Reader, c Caller, top sheaf.Folder) error {
	if c.Restriction() == nil {
		return nil
	}
	if top.EntityType == sheaf.BrandingFolder {
		return errBrandingFolder(c)
	}
	tree, err := r.Subtree(c.Workspace, top)
	if err != nil {
		return err
	}
	for _, f := range tree {
		switch {
		case c.Restriction().Names(string(f.ID)):
			return errNamed("folder", "delete")
		case f.Filed() > 0:
			return sheaf.Forbiddenf("the folder, or one below it, has projects, which would be outside of what you see: move or delete them first")
		}
	}
	return nil
}

// mostNamed bounds the media that a text of a restricted caller may name, since each is looked up in
// the transaction.
const mostNamed = 1000

// mayName returns NotFound if the text names a medium that a restricted caller does not see, unless
// the document's text named it before. before is nil for a new document.
func (w *work) mayName(before *sheaf.Document, content sheaf.Opt[string]) error {
	if !w.restricted() || !content.Given() {
		return nil
	}
	named := mediaIn(content.Value)
	if len(named) == 0 {
		return nil
	}
	if len(named) > mostNamed {
		return sheaf.InvalidField("content", "content names %d files, and a caller who is restricted to part of the workspace may name %d: split the document", len(named), mostNamed)
	}
	if before != nil {
		old, err := w.textOf(*before)
		if err != nil {
			return err
		}
		for address := range mediaIn(old) {
			delete(named, address)
		}
	}
	for address := range named {
		if _, err := w.Medium(w.ws.ID, sheaf.MediumID(strings.TrimPrefix(address, mediaScheme))); err != nil {
			return err
		}
	}
	return nil
}

// textOf returns the text of a document, deleted or not.
func (w *work) textOf(d sheaf.Document) (string, error) {
	v, err := w.Version(w.ws.ID, d.ID, d.Version)
	return v.Content, err
}

// RestrictTo is the request to restrict a caller to these records.
type RestrictTo struct {
	Projects []sheaf.ProjectID
	Folders  []sheaf.FolderID
}

// checkPerson returns Invalid if the role allows no restriction, or if the restriction names no records
// or too many.
func (to *RestrictTo) checkPerson(role sheaf.Role) error {
	if to == nil {
		return nil
	}
	r := sheaf.Restriction{Projects: to.Projects, Folders: to.Folders}
	return firstError(r.CheckRole(role), r.Check())
}

// restriction returns the stored restriction to these records, which must exist (NotFound). Callers
// that are restricted to the same records share one. RESTRICTION_LIMIT_REACHED means that the
// workspace has too many different ones.
func (w *work) restriction(to *RestrictTo) (*sheaf.Restriction, error) {
	if to == nil {
		return nil, nil
	}
	r := sheaf.Restriction{Projects: to.Projects, Folders: to.Folders}
	for _, id := range r.Projects {
		if err := w.CheckProject(w.ws.ID, id); err != nil {
			return nil, err
		}
	}
	for _, id := range r.Folders {
		f, err := w.Folder(w.ws.ID, id)
		if err == nil && f.EntityType != sheaf.ProjectFolder {
			err = sheaf.InvalidField("folder_ids", "folder_ids names a %s folder: name folders of projects", f.EntityType)
		}
		if err != nil {
			return nil, err
		}
	}
	stored := r.String()
	live, err := w.Restrictions(w.ws.ID)
	if err != nil {
		return nil, err
	}
	for _, other := range live {
		if other.String() == stored {
			return other, nil
		}
	}
	if w.ws.Restrictions >= sheaf.MaxRestrictions {
		if err := w.endRestrictions(); err != nil {
			return nil, err
		}
	}
	if w.ws.Restrictions >= sheaf.MaxRestrictions {
		return nil, &sheaf.Error{Kind: sheaf.Forbidden, Code: sheaf.CodeRestrictionLimit,
			Text: fmt.Sprintf("this workspace has keys, webhooks and people with %d different restrictions, which is the maximum: choose the same records as an existing restriction, or revoke a key that is no longer used", sheaf.MaxRestrictions)}
	}
	made := sheaf.ParseRestriction(w.nextNumber(), stored)
	w.ws.Restrictions++
	return made, w.InsertRestriction(w.ws.ID, *made)
}

// endRestrictions ends the restrictions that nothing has any more.
func (w *work) endRestrictions() error {
	if w.ws.Restrictions == 0 {
		return nil
	}
	ended, err := w.EndRestrictions(w.ws.ID, w.now)
	w.ws.Restrictions -= ended
	return err
}

// withoutFigures replaces a refusal that tells how much the workspace has: a restricted caller must
// not learn that.
func (w *work) withoutFigures(err error) error {
	fault, is := errors.AsType[*sheaf.Error](err)
	if !w.restricted() || !is || fault.Code != sheaf.CodeQuota {
		return err
	}
	plain := &sheaf.Error{Kind: sheaf.Forbidden, Code: sheaf.CodeQuota,
		Text: "this workspace has reached a limit of its plan: delete what is not needed, or ask an owner of the workspace to upgrade the plan"}
	if fault.Index != nil {
		return sheaf.AtOperation(*fault.Index, plain)
	}
	return plain
}
