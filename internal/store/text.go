package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"sheaf.dev/internal/sheaf"
)

// Text is the text of a document in its stored form. Hashing and compressing take processor time,
// so make it before the transaction begins. The zero value is the empty text, which has no row.
type Text struct {
	hash  [sha256.Size]byte
	bytes int64 // uncompressed length
	form  int64
	body  []byte
}

// NewText prepares a text for the store.
func NewText(content string) Text {
	if content == "" {
		return Text{}
	}
	t := Text{hash: sha256.Sum256([]byte(content)), bytes: int64(len(content))}
	t.form, t.body = pack(content)
	return t
}

// Bytes returns the uncompressed length of the text.
func (t *Text) Bytes() int64 { return t.bytes }

// SHA256 returns the hash in hexadecimal, as records show it.
func (t *Text) SHA256() string {
	if t.bytes == 0 {
		return sheaf.EmptySHA256
	}
	return hex.EncodeToString(t.hash[:])
}

// textHash converts a record's hash to the stored form; nil (NULL) for the empty text.
func textHash(shown string) any {
	if shown == sheaf.EmptySHA256 || shown == "" {
		return nil
	}
	hash, err := hex.DecodeString(shown)
	if err != nil {
		return nil
	}
	return hash
}

// readHash is the inverse of textHash.
func readHash(r *row) string {
	if r.Null() {
		r.Skip()
		return sheaf.EmptySHA256
	}
	var hash [sha256.Size]byte
	var digits [2 * sha256.Size]byte
	return string(digits[:hex.Encode(digits[:], r.Into(hash[:0]))])
}

// TextColumns are what ScanText reads, in its order.
const TextColumns = `form, bytes, body`

// ScanText reads a text of TextColumns, which are NULL for the empty text.
func ScanText(r *row) (string, error) {
	if r.Null() {
		r.Skip()
		r.Skip()
		r.Skip()
		return "", nil
	}
	form, bytes, body := r.Int(), r.Int(), r.Blob()
	text, err := unpack(form, body, bytes)
	if err == nil && int64(len(text)) != bytes {
		err = fmt.Errorf("it has %d bytes and should have %d", len(text), bytes)
	}
	if err != nil {
		return "", fmt.Errorf("unpack a text: %w", err)
	}
	return text, nil
}

const selectDocumentText = `
SELECT ` + DocumentColumns + `, ` + TextColumns + `
FROM documents
LEFT JOIN texts ON texts.ws = documents.ws AND texts.document_id = documents.id AND texts.hash = documents.content_hash
WHERE documents.ws = $1 AND documents.id = $2`

// DocumentText returns the workspace's document with its text, or NotFound when there is none or it
// is deleted.
func (r *Reader) DocumentText(ws sheaf.WorkspaceID, id sheaf.DocumentID) (sheaf.DocumentText, error) {
	var unpacked error
	d, found, err := one(r, selectDocumentText, func(w *row) (d sheaf.DocumentText) {
		d.Document = ScanDocument(w)
		d.Content, unpacked = ScanText(w)
		return d
	}, ws, id)
	if err == nil && found {
		found, err = r.seesIn(ws, d.ProjectID)
	}
	switch {
	case err != nil:
		return sheaf.DocumentText{}, err
	case !found || d.Deleted != nil:
		return sheaf.DocumentText{}, sheaf.Missing("document")
	}
	return d, unpacked
}

const insertText = `
INSERT INTO texts (ws, document_id, hash, form, bytes, body)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (document_id, ws, hash) DO NOTHING`

// InsertText stores a text of an existing document. It returns by how many bytes the workspace's
// storage grows: 0 if the document already has this text in some version.
func (tx *Tx) InsertText(ws sheaf.WorkspaceID, id sheaf.DocumentID, t Text) (grown int64, err error) {
	if t.bytes == 0 {
		return 0, nil
	}
	n, err := tx.changed(insertText, ws, id, t.hash[:], t.form, t.bytes, t.body)
	if err != nil {
		return 0, fmt.Errorf("insert a text of document %s: %w", id, err)
	}
	return n * t.bytes, nil
}

// HasText reports whether some version of the document has this text.
func (r *Reader) HasText(ws sheaf.WorkspaceID, id sheaf.DocumentID, t Text) (bool, error) {
	n, err := r.count(`SELECT COUNT(*) FROM texts WHERE ws = $1 AND document_id = $2 AND hash = $3`, ws, id, t.hash[:])
	return n > 0, err
}
