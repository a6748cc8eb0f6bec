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
			if parent := f.Parent.Pointer(); parent != nil {
				_, err := r.Document(c.Workspace, *parent)
				if sheaf.KindOf(err) == sheaf.NotFound {
					err = noParent()
				}
				if err != nil {
					return sheaf.Page[sheaf.Document]{}, err
				}
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

// CreateDocument adds a document. Its project and parent must exist (NotFound) and fit together
// (Invalid). Its external id must be free (CONFLICT), and the plan must have room for it and its
// text (QUOTA_REACHED).
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
	if d.ParentID != nil {
		if _, err := w.checkPlace(nil, d); err != nil {
			return d, err
		}
	}
	if err := checkNewDocument(in); err != nil {
		return d, err
	}
	if err := w.mayName(nil, in.Content); err != nil {
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
	if !in.SortOrder.Set {
		d.SortOrder = d.DefaultOrder()
	}
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
	holder, found, err := w.Unrestricted().DocumentWith(w.ws.ID, *d.ExternalID)
	if err != nil || !found || holder.ID == d.ID {
		return err
	}
	_, unseen := w.AnyDocument(w.ws.ID, holder.ID)
	switch {
	case unseen == nil && holder.Deleted != nil:
		return sheaf.Conflictf("external_id %q belongs to the deleted document %s: restore it, delete it for good, or choose another external_id",
			sheaf.Clip(*d.ExternalID), holder.ID)
	}
	return externalIDTaken("document", *d.ExternalID, string(holder.ID), unseen)
}

// PutDocument upserts the document with that external id. If it exists, it is changed as by
// UpdateDocument; if it is deleted, it is also restored; if there is none, it is created as by
// CreateDocument. With a match, it only changes an existing document that is not deleted (else
// NotFound).
func (a *App) PutDocument(ctx context.Context, c Caller, externalID string, in sheaf.DocumentChange, match sheaf.Match) (Put[sheaf.Document], error) {
	fault := firstError(checkPut(externalID, &in.ExternalID), in.Check())
	text := newText(in, fault)
	return writeWhole(ctx, a, c, scope(sheaf.DocumentsWrite), fault, func(w *work, at stage) (out Put[sheaf.Document], err error) {
		before, found, err := w.DocumentWith(w.ws.ID, externalID)
		switch {
		case err != nil:
		case match.Asked && (!found || before.Deleted != nil):
			err = nothingToMatch("document", externalID)
		case found:
			out.Record, err = w.applyToDocument(before, in, text, match, at)
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
		return w.outside("document", "project_id")
	}
	return w.CheckProject(w.ws.ID, *id)
}

// UpdateDocument changes the fields that were sent. If nothing changes, nothing is written. A
// change of the title or the text makes a version, and the plan must have room for its text
// (QUOTA_REACHED).
func (a *App) UpdateDocument(ctx context.Context, c Caller, id sheaf.DocumentID, in sheaf.DocumentChange, match sheaf.Match) (sheaf.Document, error) {
	fault := checkDocumentChange(in)
	text := newText(in, fault)
	return writeWhole(ctx, a, c, scope(sheaf.DocumentsWrite), fault, func(w *work, at stage) (sheaf.Document, error) {
		return w.updateDocument(id, in, text, match, at)
	})
}

// checkDocumentChange returns the error of a change of a document that does not depend on what is
// stored.
func checkDocumentChange(in sheaf.DocumentChange) error {
	return checkChange(in.Empty(), "title, description, project_id, parent_id, sort_order, content, external_id, url, metadata", in.Check())
}

// updateDocument changes the fields that were sent, or returns NotFound. `text` is the prepared
// text of the change.
func (w *work) updateDocument(id sheaf.DocumentID, in sheaf.DocumentChange, text store.Text, match sheaf.Match, at stage) (sheaf.Document, error) {
	before, err := w.Document(w.ws.ID, id)
	if err != nil {
		return before, err
	}
	return w.applyToDocument(before, in, text, match, at)
}

// applyToDocument changes the fields that were sent, and restores the document if it is deleted.
// `text` is the prepared text of the change. If the project changes, the documents below come
// along; if these are too many for a light write, it returns errHeavy on the light stage.
func (w *work) applyToDocument(before sheaf.Document, in sheaf.DocumentChange, text store.Text, match sheaf.Match, at stage) (sheaf.Document, error) {
	d := in.Apply(before)
	if before.Deleted != nil && !in.ParentID.Set {
		if err := w.returnTo(&d); err != nil {
			return before, err
		}
	}
	to, err := w.newPlace(before, d)
	if err := firstMissing(err, match.Check(before.Revision)); err != nil {
		return before, err
	}
	if to.carry && at == light && w.portion(light, int64(1+len(to.below))) == 0 {
		return before, errHeavy
	}
	if in.Content.Set {
		d.ContentBytes, d.ContentSHA256 = text.Bytes(), text.SHA256()
	}
	if d.Deleted != nil {
		d.Deleted, d.Deletion = nil, 0 // alone, without those that were deleted with it
	}
	if err := w.mayName(&before, in.Content); err != nil {
		return before, err
	}
	if err := w.mayShow(&before, d, in.Content); err != nil {
		return before, err
	}
	after, err := w.changeDocument(before, d, text)
	if err == nil && to.carry {
		err = w.carry(after, to.below)
	}
	return after, err
}

// changeDocument replaces `before` by d and emits its event, unless the two are equal. If `before`
// was deleted, the event is document.created. text is the text of d; it is empty if the text is
// unchanged.
func (w *work) changeDocument(before, d sheaf.Document, text store.Text) (sheaf.Document, error) {
	return w.changeDocumentBy(w.author(), before, d, text)
}

// changeDocumentBy is changeDocument for a given author of the new version.
func (w *work) changeDocumentBy(by sheaf.Author, before, d sheaf.Document, text store.Text) (sheaf.Document, error) {
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
		w.review(&before) // the event shows only where the document is now
		w.emit(sheaf.DocumentCreated, string(d.ID), &d)
	} else {
		w.emit(sheaf.DocumentUpdated, string(d.ID), &sheaf.Updated{Before: &before, After: &d})
	}
	if !versioned {
		return d, w.UpdateDocument(w.ws.ID, before, d)
	}
	grown, err := w.AddVersion(w.ws.ID, before, d, by, text)
	w.ws.Storage += grown
	return d, err
}

// PurgeDocument permanently deletes a soft-deleted document, with its texts, versions and shares. A
// document that is not deleted is a CONFLICT. So is one that is in releases, unless `released` is set:
// then it is removed from them too. The document has no event, since its deletion had
// one; each of its shares has one. If there are many shares they go first, in chunks; then the document
// leaves its releases, a few in each chunk; then, if they have much text, old versions go.
func (a *App) PurgeDocument(ctx context.Context, c Caller, id sheaf.DocumentID, released bool, match sheaf.Match) error {
	needs := scope(sheaf.DocumentsWrite)
	if released {
		needs = scope(sheaf.DocumentsWrite, sheaf.ReleasesWrite)
	}
	var removed []*store.Removal
	err := a.cascade(ctx, c, needs, func(w *work, at stage) (progress, error) {
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
		if err := w.mayPurge(d); err != nil {
			return nothing, err
		}
		if err := w.mayLeaveReleases(id, released); err != nil {
			return nothing, err
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
		if at == light && released {
			return nothing, nil // each release is a change of many rows
		}
		unused, more, err := w.dropFromReleases(id)
		if err != nil {
			return nothing, err
		}
		removed = append(removed, unused...)
		if more {
			w.changes()
			return part, nil
		}
		return w.purge(id)
	})
	for _, r := range removed {
		a.finishRemoval(context.WithoutCancel(ctx), r)
	}
	return err
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
