package doctor

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/engine"
)

// checkReleases are the checks of releases.
var checkReleases = []check{
	// A release has as many documents as it says, and belongs to a project that exists.
	{name: "release", judge: tells("release %s says that it has %s documents, and has %s"), sql: `
SELECT id, documents, has
FROM (SELECT r.id, r.documents, (SELECT COUNT(*) FROM release_documents d WHERE d.ws = r.ws AND d.release = r.number) AS has
  FROM releases r
  WHERE r.ws = $1 AND r.removing = 0) q
WHERE documents <> has`},
	{name: "release project", judge: tells("release %s belongs to the project %s, which does not exist"), sql: `
SELECT r.id, r.project_id
FROM releases r
WHERE r.ws = $1 AND r.removing = 0 AND NOT EXISTS (SELECT 1 FROM projects p WHERE p.ws = r.ws AND p.id = r.project_id)`},

	// The rows of documents and media belong to a release.
	{name: "release rows", judge: tells("%s rows of the release with the number %s belong to no release"), sql: `
SELECT COUNT(*), release
FROM (SELECT release FROM release_documents WHERE ws = $1 UNION ALL SELECT release FROM release_media WHERE ws = $1) x
WHERE NOT EXISTS (SELECT 1 FROM releases r WHERE r.ws = $1 AND r.number = x.release)
GROUP BY release`},

	// Every document of a release has its text and its fields, and its parent is in the same release.
	{name: "release text missing", judge: tells("document %s of the release with the number %s lacks its text"), sql: `
SELECT d.document_id, d.release
FROM release_documents d
WHERE d.ws = $1 AND d.content_hash IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM release_texts t WHERE t.ws = d.ws AND t.hash = d.content_hash AND t.bytes = d.content_bytes)`},
	{name: "release fields missing", judge: tells("document %s of the release with the number %s lacks its description, external id, url and metadata"), sql: `
SELECT d.document_id, d.release
FROM release_documents d
WHERE d.ws = $1 AND d.fields_hash IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM release_texts t WHERE t.ws = d.ws AND t.hash = d.fields_hash)`},
	{name: "release parent", judge: tells("document %s of the release with the number %s is below a document that the release does not have"), sql: `
SELECT d.document_id, d.release
FROM release_documents d
JOIN releases r ON r.ws = d.ws AND r.number = d.release AND r.removing = 0
WHERE d.ws = $1 AND d.parent_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM release_documents p WHERE p.ws = d.ws AND p.release = d.release AND p.document_id = d.parent_id)`},

	// A text that no release has is waiting for a release.
	{name: "release text unused", judge: tells("%s texts are kept for releases, and no release has them"), sql: `
SELECT n
FROM (SELECT COUNT(*) AS n FROM release_texts t WHERE t.ws = $1 AND t.until IS NULL
  AND NOT EXISTS (SELECT 1 FROM release_documents d WHERE d.ws = t.ws AND d.content_hash = t.hash)
  AND NOT EXISTS (SELECT 1 FROM release_documents d WHERE d.ws = t.ws AND d.fields_hash = t.hash)) q
WHERE n > 0`},

	// Each text matches its hash.
	{name: "release text hash", judge: sameReleaseText, sql: `
SELECT hash, ` + store.TextColumns + `
FROM release_texts
WHERE ws = $1`},

	// A share shows a release of its own project.
	{name: "shared release", judge: tells("share %s shows the release %s, which its project does not have"), sql: `
SELECT s.id, s.release_id
FROM shares s
WHERE s.ws = $1 AND s.release_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM releases r WHERE r.ws = s.ws AND r.id = s.release_id AND r.project_id = s.resource_id AND r.removing = 0)`},
}

// sameReleaseText unpacks a text and compares it with its hash.
func sameReleaseText(_ *patient, r *engine.Row) string {
	hash := r.Blob()
	text, err := store.ScanText(r)
	if err != nil {
		return fmt.Sprintf("a text of releases cannot be read: %v", err)
	}
	if sum := sha256.Sum256([]byte(text)); string(sum[:]) != string(hash) {
		return fmt.Sprintf("a text of releases does not match its hash %s", hex.EncodeToString(hash))
	}
	return ""
}
