package store

import (
	"fmt"
	"slices"

	"sheaf.dev/internal/sheaf"
)

const insertMember = `
INSERT INTO members (ws, user_id, role, created_at, restriction, restricted_to)
VALUES ($1, $2, $3, $4, $5, $6)`

// InsertMember makes the user a member. It returns ErrDuplicate if the user already is one.
func (tx *Tx) InsertMember(m sheaf.Membership) error {
	err := tx.exec(insertMember, m.Workspace.ID, m.User.ID, m.Role, m.Since, restrictionNumber(m.RestrictedTo), m.RestrictedTo.String())
	if err != nil {
		return fmt.Errorf("insert member %s: %w", m.User.ID, err)
	}
	return nil
}

const selectMembership = `
SELECT role, restriction, restricted_to
FROM members
WHERE ws = $1 AND user_id = $2`

// Role returns the user's role in the workspace, or NotFound.
func (r *Reader) Role(ws sheaf.WorkspaceID, u sheaf.UserID) (sheaf.Role, error) {
	return mustFind(r, "member", selectMembership, func(w *row) sheaf.Role { return sheaf.Role(w.Text()) }, ws, u)
}

// Rights returns the user's role in the workspace and what they are restricted to, or NotFound.
func (r *Reader) Rights(ws sheaf.WorkspaceID, u sheaf.UserID) (role sheaf.Role, to *sheaf.Restriction, err error) {
	role, err = mustFind(r, "member", selectMembership, func(w *row) sheaf.Role {
		role := sheaf.Role(w.Text())
		to = sheaf.ParseRestriction(w.Int(), w.Text())
		return role
	}, ws, u)
	return role, to, err
}

// IsMember reports whether the user belongs to the workspace.
func (r *Reader) IsMember(ws sheaf.WorkspaceID, u sheaf.UserID) (bool, error) {
	_, found, err := one(r, selectMembership, (*row).Text, ws, u)
	return found, err
}

const selectMembers = `
SELECT u.id, u.email, u.name, u.password_hash, u.password_allowed, u.created_at, u.erased_at, m.role, m.created_at, m.restriction, m.restricted_to
FROM members m
JOIN users u ON u.id = m.user_id
WHERE m.ws = $1
ORDER BY m.created_at, u.id`

// Members returns the workspace's members, longest membership first, without the Workspace field.
func (r *Reader) Members(ws sheaf.WorkspaceID) ([]sheaf.Membership, error) {
	return all(r, selectMembers, func(w *row) sheaf.Membership {
		return sheaf.Membership{User: scanUser(w), Role: sheaf.Role(w.Text()), Since: w.Time(), RestrictedTo: sheaf.ParseRestriction(w.Int(), w.Text())}
	}, ws)
}

const selectMemberships = `
SELECT w.id, w.name, w.plan, w.personal, w.created_at, w.version, w.last_number, w.last_event,
  w.projects, w.documents, w.subscriptions, w.storage, w.newest_at, w.newest_shared,
  w.brandings, w.default_branding, w.shares, w.filters, w.kept, w.given, w.last_event_at, w.restrictions, w.reviewed,
  w.deleted_at, w.ends_at, w.removing, m.role, m.created_at, m.restriction, m.restricted_to
FROM members m
JOIN workspaces w ON w.ws = m.ws
WHERE m.user_id = $1
ORDER BY w.created_at, w.id`

// Memberships returns the user's workspaces, oldest first, without the User field. Deleted workspaces
// are left out.
func (r *Reader) Memberships(u sheaf.UserID) ([]sheaf.Membership, error) {
	found, err := r.EveryMembership(u)
	return slices.DeleteFunc(found, func(m sheaf.Membership) bool { return m.Workspace.IsDeleted() }), err
}

// EveryMembership returns what Memberships returns, and also the deleted workspaces.
func (r *Reader) EveryMembership(u sheaf.UserID) ([]sheaf.Membership, error) {
	return all(r, selectMemberships, func(w *row) sheaf.Membership {
		return sheaf.Membership{Workspace: scanWorkspace(w), Role: sheaf.Role(w.Text()), Since: w.Time(), RestrictedTo: sheaf.ParseRestriction(w.Int(), w.Text())}
	}, u)
}

// Owners counts the owners of the workspace.
func (r *Reader) Owners(ws sheaf.WorkspaceID) (int64, error) {
	return r.count(`SELECT COUNT(*) FROM members WHERE ws = $1 AND role = 'owner'`, ws)
}

const updateRole = `
UPDATE members
SET role = $3
WHERE ws = $1 AND user_id = $2`

// SetRole changes a member's role, or returns NotFound.
func (tx *Tx) SetRole(ws sheaf.WorkspaceID, u sheaf.UserID, role sheaf.Role) error {
	return tx.mustChange("member", updateRole, ws, u, role)
}

const restrictMember = `
UPDATE members
SET restriction = $3, restricted_to = $4
WHERE ws = $1 AND user_id = $2`

// RestrictMember restricts a member to the records of `to`; nil lifts the restriction. It returns
// NotFound if the user is not a member.
func (tx *Tx) RestrictMember(ws sheaf.WorkspaceID, u sheaf.UserID, to *sheaf.Restriction) error {
	tx.note.Credentials = true // open pages show what the member saw before
	return tx.mustChange("member", restrictMember, ws, u, restrictionNumber(to), to.String())
}

const deleteMember = `
DELETE FROM members
WHERE ws = $1 AND user_id = $2`

// DeleteMember ends a membership, or returns NotFound.
func (tx *Tx) DeleteMember(ws sheaf.WorkspaceID, u sheaf.UserID) error {
	tx.note.Credentials = true
	return tx.mustChange("member", deleteMember, ws, u)
}
