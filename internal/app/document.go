package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Documents returns a page of the caller's documents without the deleted.
func (a *App) Documents(ctx context.Context, c Caller, f sheaf.DocumentFilter) (sheaf.Page[sheaf.Document], error) {
	return read(ctx, a, c, scope(sheaf.DocumentsRead), func(r *store.Reader) (sheaf.Page[sheaf.Document], error) {
		return r.Documents(c.Workspace, f)
	})
}

// Document returns one document, or NotFound.
func (a *App) Document(ctx context.Context, c Caller, id sheaf.DocumentID) (sheaf.Document, error) {
	return read(ctx, a, c, scope(sheaf.DocumentsRead), func(r *store.Reader) (sheaf.Document, error) {
		return r.Document(c.Workspace, id)
	})
}

// CreateDocument adds a document. Its project must exist (NotFound), and the plan have room for it
// (QUOTA_REACHED).
func (a *App) CreateDocument(ctx context.Context, c Caller, in sheaf.DocumentChange) (sheaf.Document, error) {
	return write(ctx, a, c, scope(sheaf.DocumentsWrite), checkNewDocument(in), func(w *work) (sheaf.Document, error) {
		d := in.Apply(sheaf.Document{})
		if err := w.projectExists(d.ProjectID); err != nil {
			return d, err
		}
		if err := w.checkRecords(); err != nil {
			return d, err
		}
		d.ID, d.Number, d.Revision = sheaf.DocumentID(a.newID()), w.nextNumber(), 1
		d.CreatedAt, d.UpdatedAt = w.now, w.now
		w.ws.Documents++
		w.emit(sheaf.DocumentCreated, string(d.ID), &d)
		return d, w.InsertDocument(w.ws.ID, d)
	})
}

func checkNewDocument(in sheaf.DocumentChange) error {
	if !in.Title.Set {
		return sheaf.Invalidf("title is required: give it 1 to %d characters", sheaf.MaxName)
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

// UpdateDocument changes the fields that were sent. What changes nothing leaves no trace.
func (a *App) UpdateDocument(ctx context.Context, c Caller, id sheaf.DocumentID, in sheaf.DocumentChange, match sheaf.Match) (sheaf.Document, error) {
	fault := checkChange(in.Empty(), "title, description, project_id", in.Check())
	return write(ctx, a, c, scope(sheaf.DocumentsWrite), fault, func(w *work) (sheaf.Document, error) {
		before, err := w.Document(w.ws.ID, id)
		if err != nil {
			return before, err
		}
		if err := firstMissing(w.projectExists(in.ProjectID.Pointer()), match.Check(before.Revision)); err != nil {
			return before, err
		}
		d := in.Apply(before)
		if sheaf.SameFields(&before, &d) {
			return before, nil
		}
		d.Revision++
		d.UpdatedAt = w.after(before.UpdatedAt)
		w.emit(sheaf.DocumentUpdated, string(d.ID), &sheaf.Updated{Before: &before, After: &d})
		return d, w.UpdateDocument(w.ws.ID, before, d)
	})
}

// DeleteDocument deletes softly: the document is gone from every list and count until it is
// restored.
func (a *App) DeleteDocument(ctx context.Context, c Caller, id sheaf.DocumentID, match sheaf.Match) error {
	return do(ctx, a, c, scope(sheaf.DocumentsWrite), nil, func(w *work) error {
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
	})
}

// RestoreDocument undoes a deletion. One that is not deleted stays as it is. When its project is
// gone meanwhile, it is in none. The plan must have room for it (QUOTA_REACHED).
func (a *App) RestoreDocument(ctx context.Context, c Caller, id sheaf.DocumentID) (sheaf.Document, error) {
	return write(ctx, a, c, scope(sheaf.DocumentsWrite), nil, func(w *work) (sheaf.Document, error) {
		before, err := w.AnyDocument(w.ws.ID, id)
		if err != nil || before.Deleted == nil {
			return before, err
		}
		if err := w.checkRecords(); err != nil {
			return before, err
		}
		d := before
		d.Deleted = nil
		d.Revision++
		d.UpdatedAt = w.after(before.UpdatedAt)
		w.ws.Documents++
		w.emit(sheaf.DocumentCreated, string(d.ID), &d)
		return d, w.UpdateDocument(w.ws.ID, before, d)
	})
}
