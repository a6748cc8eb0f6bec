package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Documents returns a page of the caller's documents, either the deleted ones or the others.
func (a *App) Documents(ctx context.Context, c Caller, f sheaf.DocumentFilter) (sheaf.Page[sheaf.Document], error) {
	return read(ctx, a, c, scope(sheaf.DocumentsRead), func(r *store.Reader) (sheaf.Page[sheaf.Document], error) {
		if f.MustExist {
			if err := placeExists(r, c.Workspace, f.Project.Pointer(), nil); err != nil {
				return sheaf.Page[sheaf.Document]{}, err
			}
		}
		return r.Documents(c.Workspace, f)
	})
}

// Document returns one document, or NotFound.
func (a *App) Document(ctx context.Context, c Caller, id sheaf.DocumentID) (sheaf.Document, error) {
	return read(ctx, a, c, scope(sheaf.DocumentsRead), func(r *store.Reader) (sheaf.Document, error) {
		return r.Document(c.Workspace, id)
	})
}

// DocumentText returns one document with its text, or NotFound.
func (a *App) DocumentText(ctx context.Context, c Caller, id sheaf.DocumentID) (sheaf.DocumentText, error) {
	return read(ctx, a, c, scope(sheaf.DocumentsRead), func(r *store.Reader) (sheaf.DocumentText, error) {
		return r.DocumentText(c.Workspace, id)
	})
}

// CreateDocument adds a document. Its project must exist (NotFound), its external id be free
// (CONFLICT), and the plan have room for it and its text (QUOTA_REACHED).
func (a *App) CreateDocument(ctx context.Context, c Caller, in sheaf.DocumentChange) (sheaf.Document, error) {
	fault := checkNewDocument(in)
	text := newText(in, fault)
	return write(ctx, a, c, scope(sheaf.DocumentsWrite), fault, func(w *work) (sheaf.Document, error) {
		return w.createDocument(in, text)
	})
}

// createDocument creates a document with a prepared text.
func (w *work) createDocument(in sheaf.DocumentChange, text store.Text) (sheaf.Document, error) {
	d := in.Apply(sheaf.Document{Version: 1, ContentBytes: text.Bytes(), ContentSHA256: text.SHA256()})
	if err := w.projectExists(d.ProjectID); err != nil {
		return d, err
	}
	if err := checkNewDocument(in); err != nil {
		return d, err
	}
	if err := w.mayShow(nil, d, in.Content); err != nil {
		return d, err
	}
	if err := w.documentIsOnly(d); err != nil {
		return d, err
	}
	if err := w.checkRecords(); err != nil {
		return d, err
	}
	if err := w.checkStorage("", text); err != nil {
		return d, err
	}
	d.ID, d.Number, d.Revision = sheaf.DocumentID(w.app.newID()), w.nextNumber(), 1
	d.CreatedAt = w.createdAt()
	d.UpdatedAt = d.CreatedAt
	w.ws.Documents++
	w.emit(sheaf.DocumentCreated, string(d.ID), &d)
	if err := w.InsertDocument(w.ws.ID, d, w.author()); err != nil {
		return d, err
	}
	grown, err := w.InsertText(w.ws.ID, d.ID, text)
	w.ws.Storage += grown
	return d, err
}

// documentIsOnly returns CONFLICT if another document, possibly a deleted one, has the external id
// of d.
func (w *work) documentIsOnly(d sheaf.Document) error {
	if d.ExternalID == nil {
		return nil
	}
	holder, found, err := w.DocumentWith(w.ws.ID, *d.ExternalID)
	switch {
	case err != nil || !found || holder.ID == d.ID:
		return err
	case holder.Deleted != nil:
		return sheaf.Conflictf("external_id %q is that of the document %s, which is deleted: restore that one or delete it for good, or choose another external_id",
			sheaf.Clip(*d.ExternalID), holder.ID)
	}
	return taken("document", *d.ExternalID, string(holder.ID))
}

// PutDocument upserts the document with that external id. If it exists, it is changed as by
// UpdateDocument; if it is deleted, it is also restored; if there is none, it is created as by
// CreateDocument. With a match, it only changes an existing document that is not deleted (else
// NotFound).
func (a *App) PutDocument(ctx context.Context, c Caller, externalID string, in sheaf.DocumentChange, match sheaf.Match) (Put[sheaf.Document], error) {
	fault := firstError(checkPut(externalID, &in.ExternalID), in.Check())
	text := newText(in, fault)
	return write(ctx, a, c, scope(sheaf.DocumentsWrite), fault, func(w *work) (out Put[sheaf.Document], err error) {
		before, found, err := w.DocumentWith(w.ws.ID, externalID)
		switch {
		case err != nil:
		case match.Asked && (!found || before.Deleted != nil):
			err = nothingToMatch("document", externalID)
		case found:
			out.Record, err = w.applyToDocument(before, in, text, match)
		default:
			out.Created = true
			out.Record, err = w.createDocument(in, text)
		}
		return out, err
	})
}

// newText prepares the text of a change. If there is a fault, the change is refused anyway, and the
// text stays empty.
func newText(in sheaf.DocumentChange, fault error) store.Text {
	if fault != nil {
		return store.Text{}
	}
	return store.NewText(in.Content.Value)
}

func checkNewDocument(in sheaf.DocumentChange) error {
	if !in.Title.Set {
		return sheaf.InvalidField("title", "title is required: give it 1 to %d characters", sheaf.MaxName)
	}
	return in.Check()
}

func (w *work) projectExists(id *sheaf.ProjectID) error {
	if id == nil {
		return nil
	}
	_, err := w.Project(w.ws.ID, *id)
	return err
}

// UpdateDocument changes the fields that were sent. If nothing changes, nothing is written. A
// change of the title or the text makes a version, and the plan must have room for its text
// (QUOTA_REACHED).
func (a *App) UpdateDocument(ctx context.Context, c Caller, id sheaf.DocumentID, in sheaf.DocumentChange, match sheaf.Match) (sheaf.Document, error) {
	fault := checkDocumentChange(in)
	text := newText(in, fault)
	return write(ctx, a, c, scope(sheaf.DocumentsWrite), fault, func(w *work) (sheaf.Document, error) {
		return w.updateDocument(id, in, text, match)
	})
}

// checkDocumentChange returns the error of a change of a document that does not depend on what is
// stored.
func checkDocumentChange(in sheaf.DocumentChange) error {
	return checkChange(in.Empty(), "title, description, project_id, content, external_id, url, metadata", in.Check())
}

// updateDocument changes the fields that were sent, or returns NotFound. `text` is the prepared
// text of the change.
func (w *work) updateDocument(id sheaf.DocumentID, in sheaf.DocumentChange, text store.Text, match sheaf.Match) (sheaf.Document, error) {
	before, err := w.Document(w.ws.ID, id)
	if err != nil {
		return before, err
	}
	return w.applyToDocument(before, in, text, match)
}

// applyToDocument changes the fields that were sent, and restores the document if it is deleted.
// `text` is the prepared text of the change.
func (w *work) applyToDocument(before sheaf.Document, in sheaf.DocumentChange, text store.Text, match sheaf.Match) (sheaf.Document, error) {
	if err := firstMissing(w.projectExists(in.ProjectID.Pointer()), match.Check(before.Revision)); err != nil {
		return before, err
	}
	d := in.Apply(before)
	if in.Content.Set {
		d.ContentBytes, d.ContentSHA256 = text.Bytes(), text.SHA256()
	}
	d.Deleted = nil
	if err := w.mayShow(&before, d, in.Content); err != nil {
		return before, err
	}
	return w.changeDocument(before, d, text)
}

// changeDocument replaces `before` by d and emits its event, unless the two are equal. If `before`
// was deleted, the event is document.created. text is the text of d; it is empty if the text is
// unchanged.
func (w *work) changeDocument(before, d sheaf.Document, text store.Text) (sheaf.Document, error) {
	restored := before.Deleted != nil
	if sheaf.SameFields(&before, &d) && !restored {
		return before, nil
	}
	if err := d.Metadata.Check(); err != nil {
		return before, err
	}
	if err := w.documentIsOnly(d); err != nil {
		return before, err
	}
	if restored {
		if err := w.checkRecords(); err != nil {
			return before, err
		}
		w.ws.Documents++
	}
	d.Revision++
	d.UpdatedAt = w.updatedAt(before.UpdatedAt)
	versioned := d.Title != before.Title || d.ContentSHA256 != before.ContentSHA256
	if versioned {
		if err := w.checkStorage(d.ID, text); err != nil {
			return before, err
		}
		d.Version++
	}
	if restored {
		w.emit(sheaf.DocumentCreated, string(d.ID), &d)
	} else {
		w.emit(sheaf.DocumentUpdated, string(d.ID), &sheaf.Updated{Before: &before, After: &d})
	}
	if !versioned {
		return d, w.UpdateDocument(w.ws.ID, before, d)
	}
	grown, err := w.AddVersion(w.ws.ID, before, d, w.author(), text)
	w.ws.Storage += grown
	return d, err
}

// DeleteDocument soft-deletes the document: it is in no list or count until it is restored.
func (a *App) DeleteDocument(ctx context.Context, c Caller, id sheaf.DocumentID, match sheaf.Match) error {
	c.deletes = true
	return do(ctx, a, c, scope(sheaf.DocumentsWrite), nil, func(w *work) error { return w.deleteDocument(id, match) })
}

func (w *work) deleteDocument(id sheaf.DocumentID, match sheaf.Match) error {
	before, err := w.Document(w.ws.ID, id)
	if err != nil {
		return err
	}
	if err := match.Check(before.Revision); err != nil {
		return err
	}
	d := before
	d.Deleted = &w.now
	w.ws.Documents--
	w.emit(sheaf.DocumentDeleted, string(d.ID), &before)
	return w.UpdateDocument(w.ws.ID, before, d)
}

// RestoreDocument undoes a deletion. A document that is not deleted is left as it is. If its
// project was deleted meanwhile, the document is in no project. The plan must have room for it
// (QUOTA_REACHED).
func (a *App) RestoreDocument(ctx context.Context, c Caller, id sheaf.DocumentID) (sheaf.Document, error) {
	return write(ctx, a, c, scope(sheaf.DocumentsWrite), nil, func(w *work) (sheaf.Document, error) {
		return w.restoreDocument(id, sheaf.Match{})
	})
}

func (w *work) restoreDocument(id sheaf.DocumentID, match sheaf.Match) (sheaf.Document, error) {
	before, err := w.AnyDocument(w.ws.ID, id)
	if err == nil {
		err = match.Check(before.Revision)
	}
	if err != nil || before.Deleted == nil {
		return before, err
	}
	d := before
	d.Deleted = nil
	if err := w.mayShow(&before, d, sheaf.Opt[string]{}); err != nil {
		return before, err
	}
	return w.changeDocument(before, d, store.Text{})
}

// DeletedDocument returns a deleted document, or NotFound.
func (a *App) DeletedDocument(ctx context.Context, c Caller, id sheaf.DocumentID) (sheaf.Document, error) {
	return read(ctx, a, c, scope(sheaf.DocumentsRead), func(r *store.Reader) (sheaf.Document, error) {
		d, err := r.AnyDocument(c.Workspace, id)
		if err == nil && d.Deleted == nil {
			return sheaf.Document{}, sheaf.Missing("document")
		}
		return d, err
	})
}

// PurgeDocument permanently deletes a soft-deleted document, with its texts, versions and shares. A
// document that is not deleted is a CONFLICT. The document has no event, since its deletion had
// one; each of its shares has one. If there are many shares they go first, in chunks; then, if they
// have much text, old versions.
func (a *App) PurgeDocument(ctx context.Context, c Caller, id sheaf.DocumentID, match sheaf.Match) error {
	return a.cascade(ctx, c, scope(sheaf.DocumentsWrite), func(w *work, at stage) (progress, error) {
		d, err := w.AnyDocument(w.ws.ID, id)
		if err != nil {
			return nothing, err
		}
		if err := at.match(match, d.Revision); err != nil {
			return nothing, err
		}
		if d.Deleted == nil {
			return nothing, sheaf.Conflictf("document %s is not deleted: DELETE /api/v1/documents/%s first, which can be undone", d.ID, d.ID)
		}
		shares, err := w.CountSharesOf(w.ws.ID, sheaf.ShareOfDocument, string(id), a.cascades.Whole+1)
		if err != nil {
			return nothing, err
		}
		past, err := w.PastBytes(w.ws.ID, id)
		if err != nil {
			return nothing, err
		}
		most := w.portion(at, shares)
		if most == 0 || at == light && past > lightBytes {
			return nothing, nil
		}
		if _, err := w.unshare(sheaf.ShareOfDocument, string(id), most); err != nil || shares > most {
			return part, err
		}
		return w.purge(id)
	})
}

// lightBytes is the size of past texts up to which purging a document is a light write, which does
// not wait for a turn among the heavy ones.
const lightBytes = 8 << 20

// purge permanently deletes a document that has no shares, or some of its versions.
func (w *work) purge(id sheaf.DocumentID) (progress, error) {
	gone, err := w.PurgeDocument(w.ws.ID, id)
	w.ws.Storage -= gone.Bytes
	w.changes()
	if !gone.Whole {
		return part, err
	}
	return all, err
}
