package store

import (
	"bytes"
	"time"

	"sheaf.dev/internal/sheaf"
)

// Once identifies a request that takes effect only once, however often it is sent.
type Once struct {
	Method, Path, Key string
	BodyHash          []byte
	Restriction       int64 // number of the caller's restriction; 0: none
}

// Answer is the response to a request with an Idempotency-Key.
type Answer struct {
	Status         int
	Location, ETag string
	Body           []byte
}

const selectOnce = `
SELECT CASE WHEN created_at > $5 THEN 1 ELSE 0 END, bytes, body_hash, status, location, etag, body
FROM idempotency_keys
WHERE ws = $1 AND method = $2 AND path = $3 AND key = $4 AND restriction = $6`

// Remembered returns the answer that the request got after `since`, if any. The same key with
// another body is a Conflict. If the stored answer is older, found is false, and expired is what it
// counts in the workspace's quota.
func (r *Reader) Remembered(ws sheaf.WorkspaceID, o Once, since time.Time) (a Answer, found bool, expired int64, err error) {
	var fresh bool
	var hash []byte
	a, found, err = one(r, selectOnce, func(w *row) Answer {
		fresh, expired, hash = w.Bool(), w.Int(), w.Blob()
		return Answer{Status: int(w.Int()), Location: w.Text(), ETag: w.Text(), Body: []byte(w.Text())}
	}, ws, o.Method, o.Path, o.Key, since, o.Restriction)
	switch {
	case err != nil || !found:
		return Answer{}, false, 0, err
	case !fresh:
		return Answer{}, false, expired, nil
	case !bytes.Equal(hash, o.BodyHash):
		return Answer{}, false, 0, &sheaf.Error{Kind: sheaf.Conflict, Code: sheaf.CodeIdempotencyConflict,
			Text: "this Idempotency-Key was used with another body: repeat the first body, or send a new key"}
	}
	return a, true, 0, nil
}

const insertOnce = `
INSERT INTO idempotency_keys (ws, method, path, key, body_hash, status, location, etag, body, created_at, bytes, restriction)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (ws, method, path, key, restriction)
DO UPDATE SET body_hash = excluded.body_hash, status = excluded.status, location = excluded.location,
  etag = excluded.etag, body = excluded.body, created_at = excluded.created_at, bytes = excluded.bytes`

// Remember keeps the answer and counts it in w.Kept. It replaces an expired answer to the same key,
// whose bytes Remembered returned in this transaction. The caller saves w, which it has locked.
func (tx *Tx) Remember(w *sheaf.Workspace, o Once, a Answer, expired int64, now time.Time) error {
	// Every text in the row whose length a client controls counts in the workspace's quota.
	n := int64(len(o.Path) + len(o.Key) + len(a.Location) + len(a.ETag) + len(a.Body))
	w.Kept += n - expired
	return tx.exec(insertOnce, w.ID, o.Method, o.Path, o.Key, o.BodyHash, a.Status, a.Location, a.ETag, string(a.Body), now, n, o.Restriction)
}

const oldestOnce = `
SELECT w.id
FROM workspaces w
WHERE w.ws = (
  SELECT ws
  FROM idempotency_keys
  WHERE created_at < $1
  ORDER BY created_at
  LIMIT 1)`

const oldOnce = `
DELETE FROM idempotency_keys
WHERE ws = $1 AND (method, path, key, restriction) IN (
  SELECT o.method, o.path, o.key, o.restriction
  FROM (SELECT ws, method, path, key, restriction FROM idempotency_keys WHERE created_at < $2 ORDER BY created_at LIMIT $3) o
  WHERE o.ws = $1)
RETURNING bytes`

// DeleteAnswers reads the `most` oldest answers from before `before`, and deletes those of them
// that belong to the workspace of the oldest one. Their bytes leave that workspace's quota. It
// returns how many it deleted; 0 means that none are left.
//
// The transaction locks only that one workspace, so that no others wait for it.
func (tx *Tx) DeleteAnswers(before time.Time, most int) (int64, error) {
	ws, found, err := one(&tx.Reader, oldestOnce, readID[sheaf.WorkspaceID], before)
	if err != nil || !found {
		return 0, err
	}
	w, err := tx.LockWorkspace(ws)
	if err != nil {
		return 0, err
	}
	sizes, err := all(&tx.Reader, oldOnce, (*row).Int, ws, before, most)
	for _, n := range sizes {
		w.Kept -= n
	}
	if err != nil || len(sizes) == 0 {
		return 0, err
	}
	return int64(len(sizes)), tx.SaveWorkspace(w)
}
