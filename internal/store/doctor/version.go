package doctor

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/engine"
)

// checkVersions are the promises about the texts of documents and their versions.
var checkVersions = []check{
	// A document that is not empty has its text, and the text is as long as the document says.
	{name: "document text", judge: tells("document %s, version %s, has a text of %s bytes, and stored are %s"), sql: `
SELECT d.id, d.version, d.content_bytes, t.bytes
FROM documents d
LEFT JOIN texts t ON t.ws = d.ws AND t.document_id = d.id AND t.hash = d.content_hash
WHERE d.ws = $1 AND (d.content_hash IS NULL AND d.content_bytes <> 0
  OR d.content_hash IS NOT NULL AND (t.bytes IS NULL OR t.bytes <> d.content_bytes))`},

	// So has each past version.
	{name: "version text", judge: tells("version %s of document %s has a text of %s bytes, and stored are %s"), sql: `
SELECT v.version, v.document_id, v.content_bytes, t.bytes
FROM versions v
LEFT JOIN texts t ON t.ws = v.ws AND t.document_id = v.document_id AND t.hash = v.content_hash
WHERE v.ws = $1 AND (v.content_hash IS NULL AND v.content_bytes <> 0
  OR v.content_hash IS NOT NULL AND (t.bytes IS NULL OR t.bytes <> v.content_bytes))`},

	// The past versions of a document lead up to the present one without a gap.
	{name: "version gap", judge: tells("document %s has version %s and not the one after it"), sql: `
SELECT v.document_id, v.version
FROM versions v
WHERE v.ws = $1
  AND NOT EXISTS (SELECT 1 FROM versions n WHERE n.ws = v.ws AND n.document_id = v.document_id AND n.version = v.version + 1)
  AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.ws = v.ws AND d.id = v.document_id AND d.version = v.version + 1)`},

	// Every text is that of some version, past or present.
	{name: "text unused", judge: tells("document %s has a text of %s bytes that is in none of its versions"), sql: `
SELECT t.document_id, t.bytes
FROM texts t
WHERE t.ws = $1
  AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.ws = t.ws AND d.id = t.document_id AND d.content_hash = t.hash)
  AND NOT EXISTS (SELECT 1 FROM versions v WHERE v.ws = t.ws AND v.document_id = t.document_id AND v.content_hash = t.hash)`},

	// Each text matches its hash.
	{name: "document fields", judge: sameFields, sql: `
SELECT id, description, external_id, url, metadata, fields_hash
FROM documents
WHERE ws = $1`},
	{name: "text hash", judge: sameText, sql: `
SELECT document_id, hash, ` + store.TextColumns + `
FROM texts
WHERE ws = $1`},
}

// sameFields compares the fields of a document with their hash.
func sameFields(_ *patient, r *engine.Row) string {
	id := sheaf.FormatUUID(r.ID())
	d := sheaf.Document{Description: r.OptText(), ExternalID: r.OptText(), URL: r.OptText(), Metadata: sheaf.Metadata(r.Text())}
	if store.SameFields(&d, r.OptBlob()) {
		return ""
	}
	return fmt.Sprintf("the description, external id, url and metadata of document %s do not match their hash", id)
}

// sameText unpacks a text and compares it with its hash.
func sameText(_ *patient, r *engine.Row) string {
	id, hash := sheaf.FormatUUID(r.ID()), r.Blob()
	text, err := store.ScanText(r)
	if err != nil {
		return fmt.Sprintf("a text of document %s cannot be read: %v", id, err)
	}
	if sum := sha256.Sum256([]byte(text)); string(sum[:]) != string(hash) {
		return fmt.Sprintf("a text of document %s is another than its hash %s says", id, hex.EncodeToString(hash))
	}
	return ""
}
