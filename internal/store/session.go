package store

import (
	"time"

	"sheaf.dev/internal/sheaf"
)

// Session is that a user is signed in. Hash stands for the token, which is not kept.
type Session struct {
	Hash      []byte
	User      sheaf.UserID
	CreatedAt time.Time
	SeenAt    time.Time // kept to about a minute
	ExpiresAt time.Time // however often it is used
}

const insertSession = `
INSERT INTO sessions (hash, user_id, created_at, seen_at, expires_at)
VALUES ($1, $2, $3, $4, $5)`

// InsertSession signs a user in.
func (tx *Tx) InsertSession(s Session) error {
	return tx.exec(insertSession, s.Hash, s.User, s.CreatedAt, s.SeenAt, s.ExpiresAt)
}

const selectSession = `
SELECT hash, user_id, created_at, seen_at, expires_at
FROM sessions
WHERE hash = $1`

// Session returns the session, whether it has ended or not, or NotFound.
func (r *Reader) Session(hash []byte) (Session, error) {
	return mustFind(r, "session", selectSession, func(w *row) Session {
		return Session{Hash: w.Blob(), User: readID[sheaf.UserID](w), CreatedAt: w.Time(), SeenAt: w.Time(), ExpiresAt: w.Time()}
	}, hash)
}

const touchSession = `
UPDATE sessions
SET seen_at = $2
WHERE hash = $1 AND seen_at < $2`

// TouchSession notes that the session was used.
func (tx *Tx) TouchSession(hash []byte, now time.Time) error { return tx.exec(touchSession, hash, now) }

// DeleteSession signs out.
func (tx *Tx) DeleteSession(hash []byte) error {
	return tx.exec(`DELETE FROM sessions WHERE hash = $1`, hash)
}

// DeleteSessions signs the user out everywhere.
func (tx *Tx) DeleteSessions(u sheaf.UserID) error {
	return tx.exec(`DELETE FROM sessions WHERE user_id = $1`, u)
}

// Failures is how often signing in failed under a name lately.
type Failures struct {
	Count int64
	At    time.Time // the last one
}

// Failures returns what is known of a name; none is the zero value.
func (r *Reader) Failures(name string) (Failures, error) {
	f, _, err := one(r, `SELECT failures, failed_at FROM sign_in_failures WHERE name = $1`, func(w *row) Failures {
		return Failures{w.Int(), w.Time()}
	}, name)
	return f, err
}

// LockFailures is Failures, and holds the name until the transaction ends.
func (tx *Tx) LockFailures(name string) (Failures, error) {
	// A row that is not there cannot be locked.
	err := tx.exec(`INSERT INTO sign_in_failures (name, failures, failed_at) VALUES ($1, 0, 0) ON CONFLICT (name) DO NOTHING`, name)
	if err != nil {
		return Failures{}, err
	}
	f, _, err := one(&tx.Reader, `SELECT failures, failed_at FROM sign_in_failures WHERE name = $1`+tx.dialect().ForUpdate(), func(w *row) Failures {
		return Failures{w.Int(), w.Time()}
	}, name)
	return f, err
}

const updateFailures = `
UPDATE sign_in_failures
SET failures = $2, failed_at = $3
WHERE name = $1`

// SetFailures writes what is known of a name that this transaction locked.
func (tx *Tx) SetFailures(name string, f Failures) error {
	return tx.exec(updateFailures, name, f.Count, f.At)
}

const forgiveFailure = `
UPDATE sign_in_failures
SET failures = failures - 1
WHERE name = $1 AND failures > 0`

// ForgiveFailure takes one failure back.
func (tx *Tx) ForgiveFailure(name string) error { return tx.exec(forgiveFailure, name) }

// ForgetFailures removes what is known of a name.
func (tx *Tx) ForgetFailures(name string) error {
	return tx.exec(`DELETE FROM sign_in_failures WHERE name = $1`, name)
}
