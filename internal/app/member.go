package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Members is who belongs to a workspace, and who is invited.
type Members struct {
	Members     []sheaf.Membership
	Invitations []sheaf.Invitation // for owners alone
}

// Members returns who belongs to the caller's workspace. A key sees nobody.
func (a *App) Members(ctx context.Context, c Caller) (Members, error) {
	return read(ctx, a, c, member, func(r *store.Reader) (m Members, err error) {
		if m.Members, err = r.Members(c.Workspace); err != nil || c.Role != sheaf.Owner {
			return m, err
		}
		m.Invitations, err = r.Invitations(c.Workspace, a.now())
		return m, err
	})
}

// SetRole changes what a member may do. What they made and could not make any more ends with it:
// the invitations of somebody who is no owner any more, the keys of somebody who is no admin. It
// returns NotFound for a user who is no member, and Conflict when the workspace would be left
// without an owner.
func (a *App) SetRole(ctx context.Context, c Caller, u sheaf.UserID, role sheaf.Role, was sheaf.Opt[sheaf.Role]) error {
	return do(ctx, a, c, owner, nil, func(w *work) error {
		now, err := w.Role(w.ws.ID, u)
		if err != nil {
			return err
		}
		if err := seen(was, now); err != nil {
			return err
		}
		if err := w.ownerStays(u, role); err != nil {
			return err
		}
		if err := w.SetRole(w.ws.ID, u, role); err != nil {
			return err
		}
		return w.endBeyond(u, role)
	})
}

// endBeyond ends what the user made and the role does not allow: an admin's invitations, and also
// the keys of a member, or of somebody who leaves (role is empty then).
func (w *work) endBeyond(u sheaf.UserID, role sheaf.Role) error {
	if role == sheaf.Owner {
		return nil
	}
	if err := w.DeleteInvitationsBy(w.ws.ID, u); err != nil || role == sheaf.Admin {
		return err
	}
	return w.RevokeKeysOf(w.ws.ID, u, w.now)
}

// RemoveMember ends a membership, the member's keys in this workspace and the invitations that they
// made. Owners may remove anybody, everybody else only themselves. It returns Conflict for the last
// owner.
func (a *App) RemoveMember(ctx context.Context, c Caller, u sheaf.UserID) error {
	c.deletes = true
	return do(ctx, a, c, ownerOr(u), nil, func(w *work) error {
		if err := w.ownerStays(u, ""); err != nil {
			return err
		}
		if err := w.DeleteMember(w.ws.ID, u); err != nil {
			return err
		}
		return w.endBeyond(u, "")
	})
}

// ownerStays returns Conflict when the user is the last owner and would be one no longer.
func (w *work) ownerStays(u sheaf.UserID, becomes sheaf.Role) error {
	role, err := w.Role(w.ws.ID, u)
	if err != nil || role != sheaf.Owner || becomes == sheaf.Owner {
		return err
	}
	owners, err := w.Owners(w.ws.ID)
	if err == nil && owners < 2 {
		err = sheaf.Conflictf("a workspace needs an owner, and this is its last: make somebody else an owner first")
	}
	return err
}

// RenameWorkspace changes the workspace's name, which owners may. It returns Invalid for a name
// that is empty or too long.
func (a *App) RenameWorkspace(ctx context.Context, c Caller, name string, was sheaf.Opt[string]) error {
	return do(ctx, a, c, owner, NewWorkspace{Name: name}.check(), func(w *work) error {
		if err := seen(was, w.ws.Name); err != nil {
			return err
		}
		return w.RenameWorkspace(w.ws.ID, name)
	})
}

// ChangePlan changes the workspace's plan, which owners may. What the new plan does not include
// stays, and is refused when it is used.
func (a *App) ChangePlan(ctx context.Context, c Caller, p sheaf.Plan, was sheaf.Opt[sheaf.Plan]) error {
	return do(ctx, a, c, owner, nil, func(w *work) error {
		if err := seen(was, w.ws.Plan); err != nil {
			return err
		}
		return w.SetPlan(w.ws.ID, p)
	})
}

// seen returns PRECONDITION_FAILED when the caller says what was there before the change, and now
// something else is. A record of one field needs no revision: its value is one.
func seen[T comparable](was sheaf.Opt[T], now T) error {
	if was.Set && was.Value != now {
		return &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed,
			Text: "somebody changed this since you read it: read it again, and repeat the change if it is still wanted"}
	}
	return nil
}
