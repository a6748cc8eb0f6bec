package app

import (
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// ImportVersion is a version of a document. Beside a document it is the present one, whose title and
// text are the document's; alone it is a past one.
type ImportVersion struct {
	Number         int64
	Title, Content sheaf.Opt[string] // of a past one
	UserID         *sheaf.UserID
	KeyID          *sheaf.KeyID
	CreatedAt      *time.Time // nil: when the document was changed last
}

// Content is the text of a document or of a version; other records have none.
func (r ImportRecord) Content() string {
	switch {
	case r.Document != nil:
		return r.Document.Content.Value
	case r.Version != nil:
		return r.Version.Content.Value
	}
	return ""
}

// present is the present version of a document that is imported. Where the record does not tell, it
// is the first one, and by the workspace's owner.
func (r ImportRecord) present(owner sheaf.UserID, created, updated time.Time) sheaf.Version {
	v := r.Version
	switch {
	case v == nil:
		return sheaf.Version{Number: 1, UserID: &owner, CreatedAt: created}
	case v.CreatedAt == nil && v.Number == 1:
		updated = created
	case v.CreatedAt != nil:
		updated = v.CreatedAt.Truncate(time.Millisecond)
	}
	return sheaf.Version{Number: v.Number, UserID: v.UserID, KeyID: v.KeyID, CreatedAt: updated}
}

// checkVersion refuses numbers that no version has, and a time that is still to come.
func (o Operator) checkVersion(v *ImportVersion) error {
	switch {
	case v == nil:
		return nil
	case v.Number < 1 || v.Number > sheaf.MaxNumber:
		return sheaf.InvalidField("version", "version must be 1 to %d: correct it", int64(sheaf.MaxNumber))
	case v.CreatedAt != nil && v.CreatedAt.After(o.app.now().Add(futureSlack)):
		return sheaf.Invalidf("the time of version %d is in the future: correct it, or this machine's clock", v.Number)
	}
	return nil
}

// importedDocument is the document whose versions follow: which of them are there, and which texts
// were accepted for it.
type importedDocument struct {
	id    sheaf.DocumentID
	kept  store.KeptVersions
	texts map[string]bool // by hash
}

// acceptedText is a text to be saved.
type acceptedText struct {
	of   sheaf.DocumentID
	text store.Text
}

// turnTo begins with the versions of a document, unless it has begun already: the batch before this
// one may have ended within them.
func (im *importing) turnTo(r *store.Reader, id sheaf.DocumentID) error {
	if im.current.id == id {
		return nil
	}
	kept, found, err := r.KeptVersions(im.ws.ID, id)
	if err == nil && !found {
		err = notEarlier("document_id", "document", string(id))
	}
	im.current = importedDocument{id, kept, map[string]bool{}}
	return err
}

// acceptVersion accepts a past version when it is the one before the oldest that the document has.
// So those of a new document are accepted one after the other, also when the import was interrupted
// between them, and a document that was there keeps its own: any other version is skipped, as is one
// beyond the most that are kept.
func (im *importing) acceptVersion(r *store.Reader, record ImportRecord) error {
	id, v := sheaf.DocumentID(record.ID), record.Version
	if err := im.turnTo(r, id); err != nil {
		return err
	}
	kept := &im.current.kept
	if v.Number != kept.Oldest-1 || kept.Present-v.Number >= sheaf.MaxVersions {
		im.out.Skipped.Versions++
		return nil
	}
	if err := im.acceptText(r, record.text); err != nil {
		return err
	}
	kept.Oldest = v.Number
	im.out.Added.Versions++
	created, _ := record.times(im.now)
	im.newVersions = append(im.newVersions, store.NewVersion{Document: id, Version: sheaf.Version{Number: v.Number, Title: v.Title.Value,
		ContentBytes: record.text.Bytes(), ContentSHA256: record.text.SHA256(), UserID: v.UserID, KeyID: v.KeyID, CreatedAt: created}})
	return nil
}

// acceptText counts a text of the document whose turn it is, once however many versions have it. No
// plan bounds what an operator imports, as none bounds the records.
func (im *importing) acceptText(r *store.Reader, t store.Text) error {
	doc := &im.current
	if t.Bytes() == 0 || doc.texts[t.SHA256()] {
		return nil
	}
	if has, err := r.HasText(im.ws.ID, doc.id, t); has || err != nil {
		return err
	}
	im.ws.Storage += t.Bytes()
	doc.texts[t.SHA256()] = true
	im.newTexts = append(im.newTexts, acceptedText{doc.id, t})
	return nil
}

// saveVersions writes the texts and the past versions that were accepted. The texts are counted
// already. A past version has no event, and so it changes the workspace's version itself.
func (w *work) saveVersions(im *importing) error {
	for _, t := range im.newTexts {
		if _, err := w.InsertText(w.ws.ID, t.of, t.text); err != nil {
			return err
		}
	}
	if len(im.newVersions) > 0 {
		w.changes()
	}
	return w.InsertVersions(w.ws.ID, im.newVersions)
}
