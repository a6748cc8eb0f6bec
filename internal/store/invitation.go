package store

import (
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
)

const invitationColumns = `id, email, role, invited_by, created_at, expires_at, restriction, restricted_to`

func scanInvitation(r *row) sheaf.Invitation {
	return sheaf.Invitation{ID: readID[sheaf.InvitationID](r), Email: r.Text(), Role: sheaf.Role(r.Text()),
		InvitedBy: readID[sheaf.UserID](r), CreatedAt: r.Time(), ExpiresAt: r.Time(),
		RestrictedTo: sheaf.ParseRestriction(r.Int(), r.Text())}
}

const insertInvitation = `
INSERT INTO invitations (ws, id, hash, email, email_folded, role, invited_by, created_at, expires_at, restriction, restricted_to)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

// InsertInvitation stores an invitation with the hash of its link. It replaces an older one to the
// same e-mail, and returns it.
func (tx *Tx) InsertInvitation(ws sheaf.WorkspaceID, i sheaf.Invitation, hash []byte) (replaced []sheaf.Invitation, err error) {
	replaced, err = all(&tx.Reader, `DELETE FROM invitations WHERE ws = $1 AND email_folded = $2 RETURNING `+invitationColumns, scanInvitation, ws, Fold(i.Email))
	if err != nil {
		return nil, err
	}
	err = tx.exec(insertInvitation, ws, i.ID, hash, i.Email, Fold(i.Email), i.Role, i.InvitedBy, i.CreatedAt, i.ExpiresAt,
		restrictionNumber(i.RestrictedTo), i.RestrictedTo.String())
	if err != nil {
		return nil, fmt.Errorf("insert invitation %s: %w", i.ID, err)
	}
	return replaced, nil
}

const selectInvitations = `
SELECT ` + invitationColumns + `
FROM invitations
WHERE ws = $1 AND expires_at > $2
ORDER BY created_at, id`

// Invitations returns the workspace's open invitations, the oldest first.
func (r *Reader) Invitations(ws sheaf.WorkspaceID, now time.Time) ([]sheaf.Invitation, error) {
	return all(r, selectInvitations, scanInvitation, ws, now)
}

const countInvitations = `
SELECT COUNT(*)
FROM invitations
WHERE ws = $1 AND expires_at > $2 AND email_folded <> $3`

// OtherInvitations counts the workspace's open invitations to other e-mail addresses.
func (r *Reader) OtherInvitations(ws sheaf.WorkspaceID, email string, now time.Time) (int64, error) {
	return r.count(countInvitations, ws, now, Fold(email))
}

const selectInvitation = `
SELECT ` + invitationColumns + `, (SELECT w.id FROM workspaces w WHERE w.ws = invitations.ws)
FROM invitations
WHERE hash = $1 AND expires_at > $2 AND EXISTS (SELECT 1 FROM workspaces w WHERE w.ws = invitations.ws AND w.deleted_at = 0)`

// Invitation returns the open invitation with that link, and its workspace, or NotFound.
func (r *Reader) Invitation(hash []byte, now time.Time) (ws sheaf.WorkspaceID, i sheaf.Invitation, err error) {
	_, found, err := one(r, selectInvitation, func(w *row) bool {
		i, ws = scanInvitation(w), readID[sheaf.WorkspaceID](w)
		return true
	}, hash, now)
	if err == nil && !found {
		err = sheaf.Missing("invitation")
	}
	return ws, i, err
}

const deleteInvitation = `
DELETE FROM invitations
WHERE ws = $1 AND id = $2
RETURNING ` + invitationColumns

// DeleteInvitation deletes an invitation that was accepted or withdrawn, and returns it, or NotFound.
func (tx *Tx) DeleteInvitation(ws sheaf.WorkspaceID, id sheaf.InvitationID) (sheaf.Invitation, error) {
	return mustFind(&tx.Reader, "invitation", deleteInvitation, scanInvitation, ws, id)
}

const deleteInvitationsBy = `
DELETE FROM invitations
WHERE ws = $1 AND invited_by = $2
RETURNING ` + invitationColumns

// DeleteInvitationsBy deletes the invitations that a member has sent, and returns them.
func (tx *Tx) DeleteInvitationsBy(ws sheaf.WorkspaceID, u sheaf.UserID) ([]sheaf.Invitation, error) {
	return all(&tx.Reader, deleteInvitationsBy, scanInvitation, ws, u)
}

const invitedTo = `
SELECT w.id
FROM invitations i JOIN workspaces w ON w.ws = i.ws
WHERE i.email_folded = $1`

// InvitedTo returns the workspaces, also deleted ones, that have an invitation to the e-mail.
func (r *Reader) InvitedTo(email string) ([]sheaf.WorkspaceID, error) {
	return all(r, invitedTo, readID[sheaf.WorkspaceID], Fold(email))
}

const eraseInvitations = `
DELETE FROM invitations
WHERE ws = $1 AND email_folded = $2
RETURNING ` + invitationColumns

// EraseInvitations deletes the workspace's invitations to the e-mail, so that no byte of it stays, and
// returns them.
func (tx *Tx) EraseInvitations(ws sheaf.WorkspaceID, email string) ([]sheaf.Invitation, error) {
	tx.note.erased = true
	return all(&tx.Reader, eraseInvitations, scanInvitation, ws, Fold(email))
}
