package store

import (
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
)

const (
	missingTexts = `
SELECT id, content_hash, content_bytes
FROM documents
WHERE ws = $1 AND project_id = $2 AND deleted_at IS NULL AND content_hash IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM release_texts t WHERE t.ws = documents.ws AND t.hash = documents.content_hash)
LIMIT $3`

	missingFields = `
SELECT id, fields_hash, COALESCE(octet_length(description), 0) + COALESCE(octet_length(url), 0) + COALESCE(octet_length(metadata), 0)
FROM documents
WHERE ws = $1 AND project_id = $2 AND deleted_at IS NULL AND fields_hash IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM release_texts t WHERE t.ws = documents.ws AND t.hash = documents.fields_hash)
LIMIT $3`
)

// TextSource is a document, and the hash and about the length of its text or, if Fields is set, of its
// fields (fields.go).
type TextSource struct {
	Document sheaf.DocumentID
	SHA256   string
	Bytes    int64
	Fields   bool
}

// MissingReleaseTexts returns up to `most` texts, and fields, of the documents of a project that no
// release has.
func (r *Reader) MissingReleaseTexts(ws sheaf.WorkspaceID, project sheaf.ProjectID, most int64) ([]TextSource, error) {
	found, err := all(r, missingTexts, func(w *row) TextSource {
		return TextSource{readID[sheaf.DocumentID](w), readHash(w), w.Int(), false}
	}, ws, project, most)
	if err != nil || int64(len(found)) >= most {
		return found, err
	}
	fields, err := all(r, missingFields, func(w *row) TextSource {
		return TextSource{readID[sheaf.DocumentID](w), readHash(w), w.Int(), true}
	}, ws, project, most-int64(len(found)))
	return append(found, fields...), err
}

const selectText = `
SELECT ` + TextColumns + `
FROM texts
WHERE ws = $1 AND document_id = $2 AND hash = $3`

// SourceText returns the text of a source; found is false if no version of the document has it any more.
func (r *Reader) SourceText(ws sheaf.WorkspaceID, s TextSource) (text string, found bool, err error) {
	var unpacked error
	text, found, err = one(r, selectText, func(w *row) (text string) {
		text, unpacked = ScanText(w)
		return text
	}, ws, s.Document, textHash(s.SHA256))
	if err == nil {
		err = unpacked
	}
	return text, found, err
}

const copyReleaseText = `
INSERT INTO release_texts (ws, hash, form, bytes, body, media, until)
SELECT ws, hash, form, bytes, body, $4, $5
FROM texts
WHERE ws = $1 AND document_id = $2 AND hash = $3
ON CONFLICT (hash, ws) DO NOTHING
RETURNING bytes`

// CopyReleaseText copies the text of a source for releases. `media` are the ids that the text names.
// Without a release, the text is kept until `until`. It returns by how many bytes the workspace's
// storage grows: 0 if the text is there already, or if no version of the document has it any more.
func (tx *Tx) CopyReleaseText(ws sheaf.WorkspaceID, s TextSource, media []sheaf.MediumID, until time.Time) (grown int64, err error) {
	err = tx.query(copyReleaseText, func(r *row) { grown += r.Int() }, ws, s.Document, textHash(s.SHA256), storedMedia(media), until)
	if err != nil {
		return 0, fmt.Errorf("copy a text of document %s for releases: %w", s.Document, err)
	}
	return grown, nil
}

const selectFields = `
SELECT description, external_id, url, metadata, fields_hash
FROM documents
WHERE ws = $1 AND id = $2`

// CopyReleaseFields is CopyReleaseText for the fields of a source.
func (tx *Tx) CopyReleaseFields(ws sheaf.WorkspaceID, s TextSource, until time.Time) (grown int64, err error) {
	var hash []byte
	d, found, err := one(&tx.Reader, selectFields, func(w *row) sheaf.Document {
		d := sheaf.Document{ID: s.Document, Description: w.OptText(), ExternalID: w.OptText(), URL: w.OptText(), Metadata: readMetadata(w)}
		hash = w.OptBlob()
		return d
	}, ws, s.Document)
	if err != nil || !found {
		return 0, err
	}
	if !SameFields(&d, hash) {
		return 0, fmt.Errorf("the fields of document %s do not match their hash", s.Document)
	}
	return tx.InsertReleaseText(ws, NewText(fieldsOf(&d)), nil, until)
}

const renewTexts = `
UPDATE release_texts
SET until = $2
WHERE ws = $1 AND until < $3`

// RenewReleaseTexts keeps the texts that no release has until `until`, if they would be kept until less
// than `due`.
func (tx *Tx) RenewReleaseTexts(ws sheaf.WorkspaceID, until, due time.Time) error {
	return tx.exec(renewTexts, ws, until, due)
}

// storedMedia returns the ids, one after the other; nil for none.
func storedMedia(ids []sheaf.MediumID) any {
	var out []byte
	for _, id := range ids {
		if u, ok := sheaf.UUIDBytes(string(id)); ok {
			out = append(out, u[:]...)
		}
	}
	if out == nil {
		return nil
	}
	return out
}
