package store

import (
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

const (
	// ResetLives is how long the link of a reset is valid after it was asked for.
	ResetLives = time.Hour
	// ResetsKept is how long a reset counts: at most resetsAnHour of an e-mail are asked for in this time.
	ResetsKept   = time.Hour
	resetsAnHour = 3
)

const (
	firstReset = `
INSERT INTO password_resets (name, number, asked_at)
VALUES ($1, 0, 0)
ON CONFLICT (name, number) DO NOTHING`

	lockResets = `
SELECT number, asked_at
FROM password_resets
WHERE name = $1
ORDER BY number`

	askReset = `
INSERT INTO password_resets (name, number, user_id, asked_at, letter, due)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (name, number) DO UPDATE
SET user_id = excluded.user_id, asked_at = excluded.asked_at, letter = excluded.letter, due = excluded.due, tries = 0, hash = NULL`
)

// AskReset stores that a reset was asked for under the name of an e-mail, unless resetsAnHour were within the last
// ResetsKept. If a user is given, it requests the mail. It does the same work for an e-mail that no user has.
func (tx *Tx) AskReset(name string, u *sheaf.UserID, sealed []byte, now time.Time) error {
	// A missing row cannot be locked, so insert one first.
	if err := tx.exec(firstReset, name); err != nil {
		return err
	}
	asked := map[int64]time.Time{}
	type slot struct {
		number int64
		at     time.Time
	}
	slots, err := all(&tx.Reader, lockResets+tx.dialect().ForUpdate(), func(w *row) slot { return slot{w.Int(), w.Time()} }, name)
	if err != nil {
		return err
	}
	for _, s := range slots {
		asked[s.number] = s.at
	}
	if _, locked := asked[0]; !locked {
		return engine.ErrRerun // the sweep deleted it at this moment
	}
	for number := range int64(resetsAnHour) {
		if at, taken := asked[number]; taken && now.Sub(at) < ResetsKept {
			continue
		}
		var due *time.Time
		if u != nil {
			due = &now
		}
		return tx.exec(askReset, name, number, u, now, sealed, due)
	}
	return nil
}

const (
	newerReset = `
SELECT COUNT(*)
FROM password_resets
WHERE user_id = $1 AND hash IS NOT NULL AND (asked_at > $2 OR asked_at = $2 AND number > $3)`

	issueReset = `
UPDATE password_resets
SET hash = $4
WHERE name = $1 AND number = $2 AND asked_at = $3 AND due IS NOT NULL`

	endOlderResets = `
UPDATE password_resets
SET hash = NULL
WHERE user_id = $1 AND NOT (name = $2 AND number = $3)`
)

// IssueReset stores the hash of the link of a reset that is about to be mailed, and ends the older links of the
// user. issued is false if the reset has ended, or a newer one was mailed.
func (tx *Tx) IssueReset(l Letter, hash []byte) (issued bool, err error) {
	newer, err := tx.count(newerReset, l.User, l.At, l.number)
	if err != nil || newer > 0 {
		return false, err
	}
	n, err := tx.changed(issueReset, l.ID, l.number, l.At, hash)
	if err != nil || n == 0 {
		return false, err
	}
	return true, tx.exec(endOlderResets, l.User, l.ID, l.number)
}

const selectReset = `
SELECT u.id
FROM password_resets r
JOIN users u ON u.id = r.user_id
WHERE r.hash = $1 AND r.asked_at > $2 AND u.erased_at IS NULL AND u.password_hash <> ''`

// Reset returns the user who may choose a new password by the link with that hash, or NotFound.
func (r *Reader) Reset(hash []byte, now time.Time) (sheaf.UserID, error) {
	return mustFind(r, "reset", selectReset, func(w *row) sheaf.UserID { return readID[sheaf.UserID](w) }, hash, now.Add(-ResetLives))
}

const endResets = `
UPDATE password_resets
SET letter = NULL, due = NULL, hash = NULL
WHERE user_id = $1`

// EndResets ends the links of the user, and the mails with links that wait. What was asked for still counts.
func (tx *Tx) EndResets(u sheaf.UserID) error { return tx.exec(endResets, u) }

// ForgetResets deletes what was asked for under the name of an e-mail.
func (tx *Tx) ForgetResets(name string) error {
	return tx.exec(`DELETE FROM password_resets WHERE name = $1`, name)
}
