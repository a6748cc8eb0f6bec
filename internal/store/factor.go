package store

import (
	"time"

	"sheaf.dev/internal/sheaf"
)

// Factor is the second factor of a user.
type Factor struct {
	User      sheaf.UserID
	Secret    []byte // sealed: see seal.Box.FactorSecret
	CreatedAt time.Time
	LastStep  int64 // time step of the newest accepted code
	Failures  int64 // wrong codes in a row, and when the last one was given
	FailedAt  time.Time
}

const selectFactor = `
SELECT user_id, secret, created_at, last_step, failures, failed_at
FROM factors
WHERE user_id = $1`

func scanFactor(w *row) Factor {
	return Factor{User: readID[sheaf.UserID](w), Secret: w.Blob(), CreatedAt: w.Time(), LastStep: w.Int(), Failures: w.Int(), FailedAt: w.Time()}
}

// Factor returns the second factor of the user. found is false if the user has none.
func (r *Reader) Factor(u sheaf.UserID) (f Factor, found bool, err error) {
	return one(r, selectFactor, scanFactor, u)
}

// LockFactor is Factor, and locks the factor until the transaction ends.
func (tx *Tx) LockFactor(u sheaf.UserID) (f Factor, found bool, err error) {
	return one(&tx.Reader, selectFactor+tx.dialect().ForUpdate(), scanFactor, u)
}

const insertFactor = `
INSERT INTO factors (user_id, secret, created_at, last_step)
VALUES ($1, $2, $3, $4)`

// InsertFactor adds the second factor of a user who has none. The transaction has locked the user.
func (tx *Tx) InsertFactor(f Factor) error {
	return tx.exec(insertFactor, f.User, f.Secret, f.CreatedAt, f.LastStep)
}

const updateFactor = `
UPDATE factors
SET last_step = $2, failures = $3, failed_at = $4
WHERE user_id = $1`

// UpdateFactor writes the last step and the wrong codes of a factor that this transaction has locked.
func (tx *Tx) UpdateFactor(f Factor) error {
	return tx.exec(updateFactor, f.User, f.LastStep, f.Failures, f.FailedAt)
}

// DeleteFactor deletes the second factor of the user, and the recovery codes. It reports whether the user
// had a factor.
func (tx *Tx) DeleteFactor(u sheaf.UserID) (had bool, err error) {
	if err := tx.exec(`DELETE FROM recovery_codes WHERE user_id = $1`, u); err != nil {
		return false, err
	}
	n, err := tx.changed(`DELETE FROM factors WHERE user_id = $1`, u)
	return n > 0, err
}

// SetRecoveryCodes replaces the recovery codes of the user by those with these hashes.
func (tx *Tx) SetRecoveryCodes(u sheaf.UserID, hashes [][]byte) error {
	if err := tx.exec(`DELETE FROM recovery_codes WHERE user_id = $1`, u); err != nil {
		return err
	}
	for _, hash := range hashes {
		if err := tx.exec(`INSERT INTO recovery_codes (user_id, hash) VALUES ($1, $2)`, u, hash); err != nil {
			return err
		}
	}
	return nil
}

// UseRecoveryCode deletes a recovery code of the user, and reports whether there was one with that hash.
func (tx *Tx) UseRecoveryCode(u sheaf.UserID, hash []byte) (used bool, err error) {
	n, err := tx.changed(`DELETE FROM recovery_codes WHERE user_id = $1 AND hash = $2`, u, hash)
	return n > 0, err
}

// RecoveryCodes returns how many recovery codes of the user are left.
func (r *Reader) RecoveryCodes(u sheaf.UserID) (int64, error) {
	return r.count(`SELECT COUNT(*) FROM recovery_codes WHERE user_id = $1`, u)
}

// UsersWithFactor returns the users who have a second factor.
func (r *Reader) UsersWithFactor() (map[sheaf.UserID]bool, error) {
	ids, err := all(r, `SELECT user_id FROM factors`, func(w *row) sheaf.UserID { return readID[sheaf.UserID](w) })
	has := make(map[sheaf.UserID]bool, len(ids))
	for _, id := range ids {
		has[id] = true
	}
	return has, err
}

// PendingSignIn is a sign-in after the right password that waits for the second factor. Hash is the hash of
// the token, which is not stored.
type PendingSignIn struct {
	Hash       []byte
	User       sheaf.UserID
	Invitation []byte // hash of the link of the invitation that it accepts; nil: none
	ExpiresAt  time.Time
}

const insertPendingSignIn = `
INSERT INTO pending_sign_ins (hash, user_id, invitation, expires_at)
VALUES ($1, $2, $3, $4)`

// InsertPendingSignIn adds a sign-in that waits.
func (tx *Tx) InsertPendingSignIn(p PendingSignIn) error {
	return tx.exec(insertPendingSignIn, p.Hash, p.User, optBlob(p.Invitation), p.ExpiresAt)
}

const selectPendingSignIn = `
SELECT hash, user_id, invitation, expires_at
FROM pending_sign_ins
WHERE hash = $1`

// PendingSignIn returns the sign-in that waits, expired or not, or NotFound.
func (r *Reader) PendingSignIn(hash []byte) (PendingSignIn, error) {
	return mustFind(r, "sign-in", selectPendingSignIn, func(w *row) PendingSignIn {
		return PendingSignIn{Hash: w.Blob(), User: readID[sheaf.UserID](w), Invitation: w.OptBlob(), ExpiresAt: w.Time()}
	}, hash)
}

// DeletePendingSignIn deletes a sign-in that waits.
func (tx *Tx) DeletePendingSignIn(hash []byte) error {
	return tx.exec(`DELETE FROM pending_sign_ins WHERE hash = $1`, hash)
}
