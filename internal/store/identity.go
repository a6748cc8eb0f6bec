package store

import (
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
)

// Identity is an account at a sign-in provider with which a user signs in.
type Identity struct {
	Issuer, Subject string
	User            sheaf.UserID
	CreatedAt       time.Time
}

// IdentityUser returns the user of an account at a provider. found is false if the account is bound to nobody.
func (r *Reader) IdentityUser(issuer, subject string) (u sheaf.UserID, found bool, err error) {
	return one(r, `SELECT user_id FROM identities WHERE issuer = $1 AND subject = $2`, readID[sheaf.UserID], issuer, subject)
}

// HasIdentity reports whether an account of the provider is bound to the user.
func (r *Reader) HasIdentity(u sheaf.UserID, issuer string) (bool, error) {
	n, err := r.count(`SELECT COUNT(*) FROM identities WHERE user_id = $1 AND issuer = $2`, u, issuer)
	return n > 0, err
}

const insertIdentity = `
INSERT INTO identities (issuer, subject, user_id, created_at)
VALUES ($1, $2, $3, $4)`

// InsertIdentity binds an account at a provider to a user. It returns ErrDuplicate if the account is bound already, or if
// the user has another one of this provider.
func (tx *Tx) InsertIdentity(i Identity) error {
	if err := tx.exec(insertIdentity, i.Issuer, i.Subject, i.User, i.CreatedAt); err != nil {
		return fmt.Errorf("bind an identity to user %s: %w", i.User, err)
	}
	return nil
}

// DeleteIdentities frees the user's accounts at providers, and returns how many there were.
func (tx *Tx) DeleteIdentities(u sheaf.UserID) (int64, error) {
	return tx.changed(`DELETE FROM identities WHERE user_id = $1`, u)
}

// UsersWithIdentity returns the users who have an account at a provider.
func (r *Reader) UsersWithIdentity() (map[sheaf.UserID]bool, error) {
	ids, err := all(r, `SELECT DISTINCT user_id FROM identities`, func(w *row) sheaf.UserID { return readID[sheaf.UserID](w) })
	has := make(map[sheaf.UserID]bool, len(ids))
	for _, id := range ids {
		has[id] = true
	}
	return has, err
}

const useSignIn = `
INSERT INTO used_sign_ins (hash, expires_at)
VALUES ($1, $2)
ON CONFLICT (hash) DO NOTHING`

// UseSignIn stores that the sign-in with the state of this hash was completed. It reports false if it was before.
func (tx *Tx) UseSignIn(hash []byte, expires time.Time) (first bool, err error) {
	n, err := tx.changed(useSignIn, hash, expires)
	return n > 0, err
}

// OpenInvitation is an invitation that a person can accept without its link.
type OpenInvitation struct {
	Workspace sheaf.WorkspaceID
	Hash      []byte // of the token in the link
}

const openInvitationsTo = `
SELECT w.id, i.hash
FROM invitations i JOIN workspaces w ON w.ws = i.ws
WHERE i.email_folded = $1 AND i.expires_at > $2 AND i.role <> 'owner' AND w.deleted_at = 0
ORDER BY w.id
LIMIT $3`

// OpenInvitationsTo returns up to `most` open invitations to the e-mail, ignoring case, in the order of the workspaces'
// ids. Those of owners are not among them: they are accepted by their links alone.
func (r *Reader) OpenInvitationsTo(email string, now time.Time, most int) ([]OpenInvitation, error) {
	return all(r, openInvitationsTo, func(w *row) OpenInvitation {
		return OpenInvitation{Workspace: readID[sheaf.WorkspaceID](w), Hash: w.Blob()}
	}, Fold(email), now, most)
}
