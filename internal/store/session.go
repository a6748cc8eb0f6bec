package store

import (
	"bytes"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// Session is one sign-in of a user. Hash is the hash of the token, which is not stored.
type Session struct {
	Hash      []byte
	User      sheaf.UserID
	CreatedAt time.Time
	SeenAt    time.Time // accurate to about a minute
	ExpiresAt time.Time // fixed: use does not extend it
	Address   string    // of the client that signed in
	Agent     string    // its User-Agent header
}

const insertSession = `
INSERT INTO sessions (hash, user_id, created_at, seen_at, expires_at, address, agent)
VALUES ($1, $2, $3, $4, $5, $6, $7)`

// InsertSession signs a user in.
func (tx *Tx) InsertSession(s Session) error {
	return tx.exec(insertSession, s.Hash, s.User, s.CreatedAt, s.SeenAt, s.ExpiresAt, s.Address, s.Agent)
}

const (
	sessionColumns = `hash, user_id, created_at, seen_at, expires_at, address, agent`

	selectSession = `
SELECT ` + sessionColumns + `
FROM sessions
WHERE hash = $1`

	selectSessionsOf = `
SELECT ` + sessionColumns + `
FROM sessions
WHERE user_id = $1 AND expires_at > $2 AND seen_at > $3
ORDER BY seen_at DESC, hash
LIMIT $4`
)

func scanSession(w *row) Session {
	return Session{Hash: w.Blob(), User: readID[sheaf.UserID](w), CreatedAt: w.Time(), SeenAt: w.Time(), ExpiresAt: w.Time(), Address: w.Text(), Agent: w.Text()}
}

// Session returns the session, expired or not, or NotFound.
func (r *Reader) Session(hash []byte) (Session, error) {
	return mustFind(r, "session", selectSession, scanSession, hash)
}

// SessionsOf returns up to `most` sessions of the user that have not expired and were used after
// `idleSince`, the one used last first.
func (r *Reader) SessionsOf(u sheaf.UserID, now, idleSince time.Time, most int) ([]Session, error) {
	return all(r, selectSessionsOf, scanSession, u, now, idleSince, most)
}

var (
	// selectVisits finds the sessions of open pages: those whose user is a member of the page's workspace,
	// with the restriction that the page was made for.
	selectVisits = engine.NewBulk(`
SELECT s.user_id, s.created_at, s.seen_at, s.expires_at
FROM sessions s
JOIN members m ON m.user_id = s.user_id
JOIN workspaces w ON w.ws = m.ws
WHERE s.hash = {hash} AND m.ws = {ws} AND m.restriction = {restriction} AND w.deleted_at = 0`, "", "hash bytes", "ws int", "restriction int")

	touchSessions = engine.NewBulk(`
UPDATE sessions
SET seen_at = {seen}
{rows}
WHERE sessions.hash = {hash} AND sessions.seen_at < {seen}`, "", "hash bytes", "seen int")
)

// Visit is an open page: the hash of the session's token, the workspace, and the number of the
// restriction that the page was made for, 0 for none.
type Visit struct {
	Hash        [32]byte
	Workspace   sheaf.WorkspaceID
	Restriction int64
}

// Visits returns the sessions of these pages, expired or not, by one query. A session is missing if it
// has ended, or if its user is no member of the workspace or has another restriction by now.
func (r *Reader) Visits(open []Visit) (map[Visit]Session, error) {
	rows, found := make([][]any, len(open)), map[Visit]Session{}
	for i, v := range open {
		rows[i] = []any{v.Hash[:], v.Workspace, v.Restriction}
	}
	err := r.run(selectVisits, rows, func(i int, w *row) {
		found[open[i]] = Session{Hash: open[i].Hash[:], User: readID[sheaf.UserID](w), CreatedAt: w.Time(), SeenAt: w.Time(), ExpiresAt: w.Time()}
	})
	return found, err
}

// TouchSessions records that these sessions were used.
func (tx *Tx) TouchSessions(hashes [][]byte, now time.Time) error {
	slices.SortFunc(hashes, bytes.Compare) // so that two nodes do not deadlock
	rows := make([][]any, len(hashes))
	for i, hash := range hashes {
		rows[i] = []any{hash, now}
	}
	return tx.run(touchSessions, rows, nothing)
}

// DeleteSession signs the session out, and returns its user. found is false if there is no such session.
func (tx *Tx) DeleteSession(hash []byte) (u sheaf.UserID, found bool, err error) {
	tx.note.Sessions = true
	return one(&tx.Reader, `DELETE FROM sessions WHERE hash = $1 RETURNING user_id`, readID[sheaf.UserID], hash)
}

// DeleteSessionOf signs the user out of one session, and reports whether it is one of the user's.
func (tx *Tx) DeleteSessionOf(u sheaf.UserID, hash []byte) (bool, error) {
	tx.note.Sessions = true
	n, err := tx.changed(`DELETE FROM sessions WHERE user_id = $1 AND hash = $2`, u, hash)
	return n > 0, err
}

// DeleteSessions signs the user out of all sessions, and ends the sign-ins that wait for the second factor.
func (tx *Tx) DeleteSessions(u sheaf.UserID) error {
	tx.note.Sessions = true
	if err := tx.exec(`DELETE FROM pending_sign_ins WHERE user_id = $1`, u); err != nil {
		return err
	}
	return tx.exec(`DELETE FROM sessions WHERE user_id = $1`, u)
}

// Failures is the number of recent failed sign-ins under a name.
type Failures struct {
	Count int64
	At    time.Time // time of the last one
}

// Failures returns the failed sign-ins under a name; the zero value if there are none.
func (r *Reader) Failures(name string) (Failures, error) {
	f, _, err := one(r, `SELECT failures, failed_at FROM sign_in_failures WHERE name = $1`, func(w *row) Failures {
		return Failures{w.Int(), w.Time()}
	}, name)
	return f, err
}

// LockFailures is Failures, and locks the name until the transaction ends.
func (tx *Tx) LockFailures(name string) (Failures, error) {
	// A missing row cannot be locked, so insert one first.
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

// SetFailures writes the count of a name that this transaction has locked.
func (tx *Tx) SetFailures(name string, f Failures) error {
	return tx.exec(updateFailures, name, f.Count, f.At)
}

const forgiveFailure = `
UPDATE sign_in_failures
SET failures = failures - 1
WHERE name = $1 AND failures > 0`

// ForgiveFailure subtracts one failure.
func (tx *Tx) ForgiveFailure(name string) error { return tx.exec(forgiveFailure, name) }

const forgetFrom = `
DELETE FROM sign_in_failures
WHERE substr(name, 1, length(CAST($1 AS TEXT))) = $1`

// ForgetFailuresFrom deletes the counts of all names that begin with `prefix`. It reads every name.
func (tx *Tx) ForgetFailuresFrom(prefix string) error { return tx.exec(forgetFrom, prefix) }

// ForgetFailures deletes the count of a name.
func (tx *Tx) ForgetFailures(name string) error {
	return tx.exec(`DELETE FROM sign_in_failures WHERE name = $1`, name)
}
