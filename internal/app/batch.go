package app

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sheaf.dev/internal/disk"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// A batch is several changes in one transaction: all of them happen, or none. Each is checked and
// emits its events as if it were made alone, in the state that the changes before it have left.

// Batch makes all changes, in their order, or none. An error about one of them has its Index, and
// is otherwise what that change alone would get. The required scopes follow from the operations.
//
// A deletion that changes more records than one transaction may is a CONFLICT here. By itself it
// takes several transactions, which cannot be undone as one.
func (a *App) Batch(ctx context.Context, c Caller, operations []sheaf.BatchOperation) ([]sheaf.BatchResult, error) {
	b := batch{operations: operations, texts: make([]store.Text, len(operations))}
	fault := b.check()
	c.deletes = !slices.ContainsFunc(operations, func(o sheaf.BatchOperation) bool { return o.Action != sheaf.BatchDelete })
	if fault == nil && !c.deletes {
		fault = a.diskBelow(disk.Tight)
	}
	if fault == nil {
		b.prepareTexts()
	}
	return writeWhole(ctx, a, c, b.needs, fault, b.run)
}

// batch is what is known of a batch before its transaction. It is not changed afterwards, since the
// transaction may run again.
type batch struct {
	operations []sheaf.BatchOperation
	texts      []store.Text // prepared texts of the documents that get one
}

// needs requires the scopes of each operation.
func (b *batch) needs(c Caller) error {
	if len(b.operations) == 0 { // it is refused anyway, but first to callers who may not write
		return c.Authorize(sheaf.ProjectsWrite)
	}
	for i := range b.operations {
		if err := c.Authorize(BatchScope(b.operations[i])); err != nil {
			return sheaf.AtOperation(i, err)
		}
		if o := &b.operations[i]; o.Noun == sheaf.BatchShare && o.Action == sheaf.BatchCreate {
			if err := publishing(sheaf.Shareable(o.Share.ResourceType.Value))(c); err != nil {
				return sheaf.AtOperation(i, err)
			}
		}
	}
	return nil
}

// BatchScope returns the scope that an operation requires.
func BatchScope(o sheaf.BatchOperation) sheaf.Scope {
	switch o.Noun {
	case sheaf.BatchDocument:
		return sheaf.DocumentsWrite
	case sheaf.BatchShare:
		return sheaf.SharesWrite
	}
	return sheaf.ProjectsWrite
}

// check returns the first error of the operations that does not depend on what is stored.
func (b *batch) check() error {
	if err := sheaf.CheckBatch(b.operations); err != nil {
		return err
	}
	for i := range b.operations {
		if err := checkWritten(&b.operations[i]); err != nil {
			return sheaf.AtOperation(i, err)
		}
	}
	return nil
}

// checkWritten returns the error that the operation's own method would return for its fields.
func checkWritten(o *sheaf.BatchOperation) error {
	switch o.Action {
	case sheaf.BatchCreate:
		return checkMade(o)
	case sheaf.BatchUpdate:
		return checkUpdated(o)
	case sheaf.BatchMove:
		return checkMoved(o)
	}
	return nil
}

func checkMade(o *sheaf.BatchOperation) error {
	switch o.Noun {
	case sheaf.BatchProject:
		return checkNewProject(o.Project)
	case sheaf.BatchFolder:
		_, err := checkNewFolder(o.Folder)
		return err
	case sheaf.BatchDocument:
		return checkNewDocument(o.Document)
	}
	// Hashing a password takes as long as all the rest of a batch, and more memory.
	if o.Share.Password.Given() {
		return sheaf.InvalidField("password", "password: a batch cannot create a share with a password: use POST /api/v1/shares")
	}
	return o.Share.CheckNew()
}

func checkUpdated(o *sheaf.BatchOperation) error {
	switch o.Noun {
	case sheaf.BatchProject:
		return checkProjectChange(o.Project)
	case sheaf.BatchFolder:
		return checkFolderChange(o.Folder)
	}
	return checkDocumentChange(o.Document)
}

func checkMoved(o *sheaf.BatchOperation) error {
	switch {
	case o.Noun == sheaf.BatchProject && !o.Project.FolderID.Set:
		return sheaf.InvalidField("folder_id", "folder_id is required: the UUID of a folder, or null for the root level")
	case o.Noun == sheaf.BatchFolder && !o.Folder.ParentID.Set:
		return sheaf.InvalidField("parent_id", "parent_id is required: the UUID of a folder, or null for the root level")
	case o.Noun == sheaf.BatchDocument && o.Move.Empty():
		return sheaf.InvalidField("project_id", "project_id is required, or parent_id, before_id or after_id: say where the document goes")
	}
	return o.Move.Check()
}

// prepareTexts compresses the texts of documents before the transaction, so that other writes do
// not wait for it.
func (b *batch) prepareTexts() {
	for i := range b.operations {
		if o := &b.operations[i]; o.Noun == sheaf.BatchDocument && (o.Action == sheaf.BatchCreate || o.Action == sheaf.BatchUpdate) {
			b.texts[i] = newText(o.Document, nil)
		}
	}
}

// run makes the changes. On the light stage it returns errHeavy, before the first change, if the
// batch is too large for a light write.
func (b *batch) run(w *work, at stage) ([]sheaf.BatchResult, error) {
	if at == light {
		n, err := b.size(w)
		if err != nil {
			return nil, err
		}
		if w.portion(light, n) == 0 {
			return nil, errHeavy
		}
	}
	made := make([]sheaf.BatchResult, 0, len(b.operations))
	left := room{deleted: w.app.cascades.Whole, moved: int64(w.app.cascades.Moved)}
	for i := range b.operations {
		r, err := w.operation(b.operations[i], b.texts[i], made, &left, at)
		if err != nil {
			return nil, sheaf.AtOperation(i, err)
		}
		made = append(made, r)
		if err := w.flush(); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// size returns about how many records the operations change.
func (b *batch) size(w *work) (int64, error) {
	total := int64(len(b.operations))
	for _, o := range b.operations {
		n, err := w.cascadeOf(o)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// cascadeOf returns how many other records change if the operation deletes or restores something,
// or moves a document to another project.
func (w *work) cascadeOf(o sheaf.BatchOperation) (int64, error) {
	_, made := sheaf.ParseMadeBy(o.ID)
	seen, err := w.sees(o.Noun, o.ID)
	if err != nil {
		return 0, err
	}
	deletes := o.Action == sheaf.BatchDelete
	switch {
	case made || !seen: // the operation itself returns NotFound
	case deletes && o.Noun == sheaf.BatchProject:
		return w.sizeOfProject(sheaf.ProjectID(o.ID))
	case deletes && o.Noun == sheaf.BatchFolder:
		size, err := w.TreeSize(w.ws.ID, sheaf.FolderID(o.ID))
		return size.Folders + size.Filed, err
	case o.Noun == sheaf.BatchDocument && (deletes || o.Action == sheaf.BatchMove || o.Action == sheaf.BatchUpdate && o.Document.ProjectID.Set):
		tree, err := w.Descendants(w.ws.ID, sheaf.DocumentID(o.ID), w.app.cascades.Moved+1)
		return int64(len(tree.IDs)), err
	case o.Noun == sheaf.BatchDocument && o.Action == sheaf.BatchRestore:
		_, group, err := w.deletedWith(sheaf.DocumentID(o.ID))
		if sheaf.KindOf(err) == sheaf.NotFound { // the operation itself returns it
			return 0, nil
		}
		return int64(max(0, len(group)-1)), err
	}
	return 0, nil
}

// room is how many more records the operations of a batch may change beside their own: those that
// deletions change, and those that move along with a document. A proposal has one number for all records,
// its own included.
type room struct{ deleted, moved, touched int64 }

// operation makes one change. `made` are the results of the operations before it.
func (w *work) operation(o sheaf.BatchOperation, text store.Text, made []sheaf.BatchResult, left *room, at stage) (sheaf.BatchResult, error) {
	// The pointers are into this copy of the operation.
	err := o.Identifiers(func(_ string, _ sheaf.BatchNoun, id *string) error {
		if n, earlier := sheaf.ParseMadeBy(*id); earlier {
			*id = made[n].ID
		}
		return nil
	})
	if err != nil {
		return sheaf.BatchResult{}, err
	}
	if err := w.countRoom(o, left); err != nil {
		return sheaf.BatchResult{}, err
	}
	out := sheaf.BatchResult{Action: o.Action, Noun: o.Noun, ID: o.ID}
	switch o.Noun {
	case sheaf.BatchProject:
		err = w.projectOperation(o, &out)
	case sheaf.BatchFolder:
		err = w.folderOperation(o, &out)
	case sheaf.BatchDocument:
		err = w.documentOperation(o, text, &out, at)
	case sheaf.BatchShare:
		err = w.shareOperation(o, &out)
	}
	return out, firstError(err, w.unreviewed.fault)
}

// countRoom subtracts the other records that the operation changes from `left`. If there are too
// many for one transaction, it returns CONFLICT.
func (w *work) countRoom(o sheaf.BatchOperation, left *room) error {
	n, err := w.cascadeOf(o)
	if err != nil {
		return err
	}
	if w.writer != nil {
		if left.touched -= 1 + n; left.touched < 0 {
			return w.tooManyTouched()
		}
		return nil
	}
	if o.Action != sheaf.BatchDelete && o.Action != sheaf.BatchRestore {
		if left.moved -= n; left.moved < 0 {
			return sheaf.Conflictf("more than %d documents would move along with the documents of this batch: move them separately", w.app.cascades.Moved)
		}
		return nil
	}
	if n > left.deleted {
		request := fmt.Sprintf("DELETE /api/v1/%ss/%s", o.Noun, o.ID)
		if o.Action == sheaf.BatchRestore {
			request = fmt.Sprintf("POST /api/v1/documents/%s/restore", o.ID)
		}
		return sheaf.Conflictf("too many other records change with this %s to %s it in a batch, where at most %d may change: do it separately with %s",
			o.Noun, o.Action, w.app.cascades.Whole, request)
	}
	left.deleted -= n
	return nil
}

func (w *work) projectOperation(o sheaf.BatchOperation, out *sheaf.BatchResult) (err error) {
	var p sheaf.Project
	id := sheaf.ProjectID(o.ID)
	switch o.Action {
	case sheaf.BatchCreate:
		p, err = w.createProject(o.Project)
	case sheaf.BatchUpdate:
		p, err = w.updateProject(id, o.Project, o.Match)
	case sheaf.BatchMove:
		p, err = w.updateProject(id, sheaf.ProjectChange{FolderID: o.Project.FolderID}, o.Match)
	case sheaf.BatchDelete:
		if p, err = w.Project(w.ws.ID, id); err != nil {
			return err
		}
		if err := o.Match.Check(p.Revision); err != nil {
			return err
		}
		if err := mayRemoveProject(&w.Reader, w.caller, p); err != nil {
			return err
		}
		return w.removeProject(p)
	}
	out.ID, out.Record, out.Revision = string(p.ID), &p, p.Revision
	return err
}

func (w *work) folderOperation(o sheaf.BatchOperation, out *sheaf.BatchResult) (err error) {
	var f sheaf.Folder
	id := sheaf.FolderID(o.ID)
	switch o.Action {
	case sheaf.BatchCreate:
		f, err = w.createFolder(o.Folder)
	case sheaf.BatchUpdate:
		f, err = w.updateFolder(id, o.Folder, o.Match)
	case sheaf.BatchMove:
		f, err = w.moveFolder(id, o.Folder.ParentID.Pointer(), o.Match)
	case sheaf.BatchDelete:
		if f, err = w.Folder(w.ws.ID, id); err != nil {
			return err
		}
		if err := o.Match.Check(f.Revision); err != nil {
			return err
		}
		if err := mayRemoveFolder(&w.Reader, w.caller, f); err != nil {
			return err
		}
		_, err = w.removeFolders(id, math.MaxInt64)
		return err
	}
	out.ID, out.Record, out.Revision = string(f.ID), &f, f.Revision
	return err
}

func (w *work) documentOperation(o sheaf.BatchOperation, text store.Text, out *sheaf.BatchResult, at stage) (err error) {
	var d sheaf.Document
	id := sheaf.DocumentID(o.ID)
	switch o.Action {
	case sheaf.BatchCreate:
		d, err = w.createDocument(o.Document, text)
	case sheaf.BatchUpdate:
		d, err = w.updateDocument(id, o.Document, text, o.Match, at)
	case sheaf.BatchMove:
		d, err = w.moveDocument(id, o.Move, o.Match, at)
	case sheaf.BatchRestore:
		d, err = w.restoreDocument(id, o.Match, heavy)
	case sheaf.BatchDelete:
		return w.deleteDocument(id, o.Match)
	}
	out.ID, out.Record, out.Revision = string(d.ID), &d, d.Revision
	return err
}

func (w *work) shareOperation(o sheaf.BatchOperation, out *sheaf.BatchResult) error {
	if o.Action == sheaf.BatchDelete {
		return w.deleteShare(sheaf.ShareID(o.ID), o.Match)
	}
	s, err := w.createShare(o.Share, "")
	out.ID, out.Record, out.Revision = string(s.ID), &s, s.Revision
	return err
}
