package store

import (
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

const userColumns = `id, email, name, password_hash, password_allowed, created_at, erased_at`

func scanUser(r *row) sheaf.User {
	return sheaf.User{ID: readID[sheaf.UserID](r), Email: r.OptText(), Name: r.Text(), PasswordHash: r.Text(), PasswordAllowed: r.Bool(), CreatedAt: r.Time(), ErasedAt: r.OptTime()}
}

const insertUser = `
INSERT INTO users (id, email, email_folded, name, password_hash, created_at)
VALUES ($1, $2, $3, $4, $5, $6)`

// InsertUser adds a user. It returns ErrDuplicate if another user has the e-mail, ignoring case.
func (tx *Tx) InsertUser(u sheaf.User) error {
	err := tx.exec(insertUser, u.ID, u.Email, foldOpt(u.Email), u.Name, u.PasswordHash, u.CreatedAt)
	if err != nil {
		return fmt.Errorf("insert user %s: %w", u.ID, err)
	}
	return nil
}

// User returns the user, or NotFound.
func (r *Reader) User(id sheaf.UserID) (sheaf.User, error) {
	return r.user(`SELECT `+userColumns+` FROM users WHERE id = $1`, id)
}

// UserByEmail returns the user with that e-mail, ignoring case, or NotFound.
func (r *Reader) UserByEmail(email string) (sheaf.User, error) {
	return r.user(`SELECT `+userColumns+` FROM users WHERE email_folded = $1`, Fold(email))
}

// LockUser is User, and locks the user until the transaction ends.
func (tx *Tx) LockUser(id sheaf.UserID) (sheaf.User, error) {
	return tx.user(`SELECT `+userColumns+` FROM users WHERE id = $1`+tx.dialect().ForUpdate(), id)
}

var erasedUsers = engine.NewBulk(`
SELECT id
FROM users
WHERE id = {id} AND erased_at IS NOT NULL`, "", "id id")

// ErasedUsers returns those of these users that were erased.
func (r *Reader) ErasedUsers(ids []sheaf.UserID) (map[sheaf.UserID]bool, error) {
	rows, found := make([][]any, len(ids)), map[sheaf.UserID]bool{}
	for i, id := range ids {
		rows[i] = []any{id}
	}
	err := r.run(erasedUsers, rows, func(i int, _ *row) { found[ids[i]] = true })
	return found, err
}

const eraseUser = `
UPDATE users
SET email = NULL, email_folded = NULL, name = $2, password_hash = '', password_allowed = 0, erased_at = $3
WHERE id = $1`

// EraseUser overwrites what tells who the user is. It deletes the sessions, the second factor, the identities and the
// waiting mails of the user, and in every workspace the invitations to the e-mail and those that the user sent. The id stays.
func (tx *Tx) EraseUser(u sheaf.User, now time.Time) error {
	tx.note.erased = true
	if u.Email != nil {
		if err := tx.exec(`DELETE FROM invitations WHERE email_folded = $1`, Fold(*u.Email)); err != nil {
			return err
		}
	}
	if err := tx.exec(`DELETE FROM invitations WHERE invited_by = $1`, u.ID); err != nil {
		return err
	}
	if err := tx.DeleteSessions(u.ID); err != nil {
		return err
	}
	if _, err := tx.DeleteFactor(u.ID); err != nil {
		return err
	}
	if _, err := tx.DeleteIdentities(u.ID); err != nil {
		return err
	}
	if err := tx.DeleteLetters(u.ID); err != nil {
		return err
	}
	if err := tx.exec(`DELETE FROM password_resets WHERE user_id = $1`, u.ID); err != nil {
		return err
	}
	return tx.exec(eraseUser, u.ID, sheaf.ErasedUser, now)
}

// Users returns every user, the oldest first.
func (r *Reader) Users() ([]sheaf.User, error) {
	return all(r, `SELECT `+userColumns+` FROM users ORDER BY created_at, id`, scanUser)
}

func (r *Reader) user(sql string, arg any) (sheaf.User, error) {
	return mustFind(r, "user", sql, scanUser, arg)
}

const updateUser = `
UPDATE users
SET email = $2, email_folded = $3, name = $4, password_hash = $5
WHERE id = $1`

// UpdateUser writes the user's fields. It returns ErrDuplicate if another user has the e-mail.
func (tx *Tx) UpdateUser(u sheaf.User) error {
	err := tx.exec(updateUser, u.ID, u.Email, foldOpt(u.Email), u.Name, u.PasswordHash)
	if err != nil {
		return fmt.Errorf("update user %s: %w", u.ID, err)
	}
	return nil
}

const countSignIns = `
SELECT (SELECT COUNT(*) FROM users WHERE password_hash <> '') + (SELECT COUNT(*) FROM identities)`

// AnySignIn reports whether any user has a password, or has signed in with the provider.
func (r *Reader) AnySignIn() (bool, error) {
	n, err := r.count(countSignIns)
	return n > 0, err
}

// AllowPassword stores whether the user may sign in with a password even if the server has turned passwords off.
func (tx *Tx) AllowPassword(u sheaf.UserID, allowed bool) error {
	n := 0
	if allowed {
		n = 1
	}
	return tx.exec(`UPDATE users SET password_allowed = $2 WHERE id = $1`, u, n)
}

// AnyPasswordAllowed reports whether any user may sign in with a password although the server has turned passwords off.
func (r *Reader) AnyPasswordAllowed() (bool, error) {
	n, err := r.count(`SELECT COUNT(*) FROM users WHERE password_allowed = 1 AND password_hash <> ''`)
	return n > 0, err
}

// FirstOwner returns the owner of the oldest workspace, or NotFound.
func (r *Reader) FirstOwner() (sheaf.User, error) {
	const first = `
SELECT u.id, u.email, u.name, u.password_hash, u.password_allowed, u.created_at, u.erased_at
FROM users u
JOIN members m ON m.user_id = u.id AND m.role = 'owner'
JOIN workspaces w ON w.ws = m.ws
ORDER BY w.created_at, w.id, m.created_at, u.id
LIMIT 1`
	return mustFind(r, "user", first, scanUser)
}

const insertSetupLink = `
INSERT INTO setup_links (hash, created_at, expires_at)
VALUES ($1, $2, $3)`

// InsertSetupLink stores the hash of a one-time link.
func (tx *Tx) InsertSetupLink(hash []byte, now, expires time.Time) error {
	return tx.exec(insertSetupLink, hash, now, expires)
}

// SetupLink reports whether a link with that hash may still be used.
func (r *Reader) SetupLink(hash []byte, now time.Time) (bool, error) {
	n, err := r.count(`SELECT COUNT(*) FROM setup_links WHERE hash = $1 AND expires_at > $2`, hash, now)
	return n > 0, err
}

// UseSetupLinks deletes all setup links, the used one and older ones.
func (tx *Tx) UseSetupLinks() error { return tx.exec(`DELETE FROM setup_links`) }
