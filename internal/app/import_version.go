package app

import (
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// ImportVersion is a version of a document. With a document it is the present version, whose title
// and text are the document's. Alone it is a past version.
type ImportVersion struct {
	Number         int64
	Title, Content sheaf.Opt[string] // of a past version
	UserID         *sheaf.UserID
	KeyID          *sheaf.KeyID
	CreatedAt      *time.Time // nil: when the document was last changed
	ProposalID     *sheaf.ProposalID
	Restored       *int64 // number of an earlier version that it restored; nil: none
}

// Content returns the text of a document, a version, a proposal or a document of a release. Other
// records have none.
func (r ImportRecord) Content() string {
	switch {
	case r.Document != nil:
		return r.Document.Content.Value
	case r.Version != nil:
		return r.Version.Content.Value
	case r.ProposalText != nil:
		return *r.ProposalText
	case r.Released != nil:
		return r.Released.Content.Value
	}
	return ""
}

// present returns the present version of an imported document. If the record has none, it is
// version 1, by the workspace's owner.
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
	return sheaf.Version{Number: v.Number, UserID: v.UserID, KeyID: v.KeyID, ProposalID: v.ProposalID, CreatedAt: updated, Restored: v.Restored}
}

// checkVersion refuses numbers that no version can have, and times in the future.
func (o Operator) checkVersion(v *ImportVersion) error {
	switch {
	case v == nil:
		return nil
	case v.Number < 1 || v.Number > sheaf.MaxNumber:
		return sheaf.InvalidField("version", "version must be 1 to %d: correct it", int64(sheaf.MaxNumber))
	case v.Restored != nil && (*v.Restored < 1 || *v.Restored >= v.Number):
		return sheaf.InvalidField("restored_version", "restored_version of version %d must be the number of an earlier version: correct it, or leave it out", v.Number)
	case v.CreatedAt != nil && v.CreatedAt.After(o.app.now().Add(futureSlack)):
		return sheaf.Invalidf("the time of version %d is in the future: correct it, or this machine's clock", v.Number)
	}
	return nil
}

// importedDocument is the document whose versions are being imported: the versions that it has, and
// the texts that were accepted for it.
type importedDocument struct {
	id    sheaf.DocumentID
	kept  store.KeptVersions
	texts map[string]bool // by hash
}

// acceptedText is a text to save.
type acceptedText struct {
	of   sheaf.DocumentID
	text store.Text
}

// setCurrent makes `id` the current document. It may be that already, if the previous batch ended among
// its versions.
func (im *importing) setCurrent(r *store.Reader, id sheaf.DocumentID) error {
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

// acceptVersion accepts a past version if it is the one before the oldest that the document has. So
// the versions of a new document are accepted one after the other, even if the import was
// interrupted between them. A document that existed before keeps its own versions. All other
// versions are skipped, and so are those beyond MaxVersions.
func (im *importing) acceptVersion(r *store.Reader, record ImportRecord) error {
	id, v := sheaf.DocumentID(record.ID), record.Version
	if err := im.setCurrent(r, id); err != nil {
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
		ContentBytes: record.text.Bytes(), ContentSHA256: record.text.SHA256(), UserID: v.UserID, KeyID: v.KeyID, ProposalID: v.ProposalID, CreatedAt: created, Restored: v.Restored}})
	return nil
}

// acceptText counts a text of the current document once, even if several versions have it. No plan
// limits what an operator imports, neither its texts nor its records.
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

// saveVersions writes the accepted texts and past versions. The texts are counted already. Past
// versions have no event, so saveVersions itself raises the workspace's version.
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
