package store

import (
	"bytes"
	"time"

	"sheaf.dev/internal/sheaf"
)

// Once names a request that must have one effect however often it is sent.
type Once struct {
	Method, Path, Key string
	BodyHash          []byte
}

// Answer is what such a request was answered.
type Answer struct {
	Status         int
	Location, ETag string
	Body           []byte
}

const selectOnce = `
SELECT body_hash, status, location, etag, body
FROM idempotency_keys
WHERE ws = $1 AND method = $2 AND path = $3 AND key = $4 AND created_at > $5`

// Remembered returns the answer that the request got before, if it did since then. The same key
// with another body is a Conflict.
func (r *Reader) Remembered(ws sheaf.WorkspaceID, o Once, since time.Time) (Answer, bool, error) {
	var hash []byte
	a, found, err := one(r, selectOnce, func(w *row) Answer {
		hash = w.Blob()
		return Answer{Status: int(w.Int()), Location: w.Text(), ETag: w.Text(), Body: []byte(w.Text())}
	}, ws, o.Method, o.Path, o.Key, since)
	if found && !bytes.Equal(hash, o.BodyHash) {
		return Answer{}, false, &sheaf.Error{Kind: sheaf.Conflict, Code: sheaf.CodeIdempotencyConflict,
			Text: "this Idempotency-Key was used with another body: repeat the first body, or send a new key"}
	}
	return a, found, err
}

const insertOnce = `
INSERT INTO idempotency_keys (ws, method, path, key, body_hash, status, location, etag, body, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (ws, method, path, key)
DO UPDATE SET body_hash = excluded.body_hash, status = excluded.status, location = excluded.location,
  etag = excluded.etag, body = excluded.body, created_at = excluded.created_at`

// Remember keeps the answer; an expired one with the same key is replaced.
func (tx *Tx) Remember(ws sheaf.WorkspaceID, o Once, a Answer, now time.Time) error {
	return tx.exec(insertOnce, ws, o.Method, o.Path, o.Key, o.BodyHash, a.Status, a.Location, a.ETag, string(a.Body), now)
}

const oldOnce = `
DELETE FROM idempotency_keys
WHERE (ws, method, path, key) IN (
  SELECT ws, method, path, key
  FROM idempotency_keys
  WHERE created_at < $1
  ORDER BY created_at
  LIMIT $2)`

// DeleteAnswers removes at most that many answers from before a time, and returns how many it
// removed.
func (tx *Tx) DeleteAnswers(before time.Time, most int) (int64, error) {
	return tx.changed(oldOnce, before, most)
}
