package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// EditDocument replaces passages of the text, and changes the other fields that were sent. It looks
// for the passages in the text that is stored at the moment of the change. So if two callers edit
// different passages at the same time, both edits are kept. A passage that does not occur, or
// occurs several times, is a CONFLICT. Otherwise EditDocument is like UpdateDocument. An edit
// reveals what the text contains, so the caller must be allowed to read it.
func (a *App) EditDocument(ctx context.Context, c Caller, id sheaf.DocumentID, edits []sheaf.Edit, in sheaf.DocumentChange, match sheaf.Match) (sheaf.Document, error) {
	needs := scope(sheaf.DocumentsRead, sheaf.DocumentsWrite)
	fault := firstError(checkChange(len(edits) == 0 && in.Empty(), "edits, title, description", in.Check()), sheaf.CheckEdits(edits))
	if err := firstError(needs(c), c.Refusal, fault); err != nil {
		return sheaf.Document{}, err
	}
	ready, err := a.prepareEdit(ctx, c, needs, id, edits, match)
	if err != nil {
		return sheaf.Document{}, err
	}
	return writeWhole(ctx, a, c, needs, fault, func(w *work, at stage) (sheaf.Document, error) {
		before, err := w.Document(w.ws.ID, id)
		if err != nil {
			return before, err
		}
		change := in
		var text store.Text
		if change.Content, text, err = w.edited(before, edits, ready, match); err != nil {
			return before, err
		}
		return w.applyToDocument(before, change, text, match, at)
	})
}

// preparedEdit is the edited text, prepared before the transaction: compressing a long text takes
// time, and all writes to this workspace would wait for it.
type preparedEdit struct {
	of      string // hash of the text that was edited
	content string
	text    store.Text
}

// prepareEdit edits the text that is stored now. It returns at once the errors that the transaction
// would return.
func (a *App) prepareEdit(ctx context.Context, c Caller, needs need, id sheaf.DocumentID, edits []sheaf.Edit, match sheaf.Match) (out preparedEdit, err error) {
	d, err := read(ctx, a, c, needs, func(r *store.Reader) (sheaf.DocumentText, error) { return r.DocumentText(c.Workspace, id) })
	if err != nil {
		return out, err
	}
	if err := match.Check(d.Revision); err != nil {
		return out, err
	}
	if out.content, err = sheaf.ApplyEdits(d.Content, edits); err != nil {
		return out, err
	}
	out.of, out.text = d.ContentSHA256, store.NewText(out.content)
	return out, nil
}

// edited returns the edited text, and its prepared form. If the text has changed since prepareEdit,
// the edits are applied again to the new text.
func (w *work) edited(before sheaf.Document, edits []sheaf.Edit, ready preparedEdit, match sheaf.Match) (content sheaf.Opt[string], text store.Text, err error) {
	if len(edits) == 0 {
		return content, text, nil
	}
	if before.ContentSHA256 == ready.of {
		return sheaf.Some(ready.content), ready.text, nil
	}
	if err := match.Check(before.Revision); err != nil {
		return content, text, err
	}
	d, err := w.DocumentText(w.ws.ID, before.ID)
	if err != nil {
		return content, text, err
	}
	edited, err := sheaf.ApplyEdits(d.Content, edits)
	if err != nil {
		return content, text, err
	}
	return sheaf.Some(edited), store.NewText(edited), nil
}
