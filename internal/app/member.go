package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Members lists the members of a workspace and the open invitations.
type Members struct {
	Members     []sheaf.Membership
	Invitations []sheaf.Invitation // only for owners
}

// Members returns the members of the caller's workspace. A key may not read them. A restricted member
// gets the names and roles of the others, and neither their e-mails nor their restrictions.
func (a *App) Members(ctx context.Context, c Caller) (Members, error) {
	return read(ctx, a, c, member, func(r *store.Reader) (m Members, err error) {
		if m.Members, err = r.Members(c.Workspace); err != nil {
			return m, err
		}
		for i := range m.Members {
			if other := &m.Members[i]; c.Within != nil && other.User.ID != c.User {
				other.User.Email, other.RestrictedTo = nil, nil
			}
		}
		if c.Role != sheaf.Owner {
			return m, nil
		}
		m.Invitations, err = r.Invitations(c.Workspace, a.now())
		return m, err
	})
}

// Erased returns those of these users that were erased. The console shows them as such.
func (a *App) Erased(ctx context.Context, c Caller, ids []sheaf.UserID) (map[sheaf.UserID]bool, error) {
	return read(ctx, a, c, member, func(r *store.Reader) (map[sheaf.UserID]bool, error) { return r.ErasedUsers(ids) })
}

// SetRole changes a member's role. It also ends what the member created and may no longer create:
// the invitations of someone who is no longer an owner, the keys of someone who becomes an
// editor or a member, unless they belong to the workspace, and the connected apps that have a scope beyond the role. It returns NotFound for a user who is not a
// member. It returns Conflict if the workspace would have no owner, or if the member is restricted and
// the role allows no restriction: an owner must lift the restriction first.
func (a *App) SetRole(ctx context.Context, c Caller, u sheaf.UserID, role sheaf.Role, was sheaf.Opt[sheaf.Role]) error {
	return do(ctx, a, c, owner, nil, func(w *work) error {
		now, to, err := w.Rights(w.ws.ID, u)
		if err != nil {
			return err
		}
		if err := seen(was, now); err != nil {
			return err
		}
		if to != nil && !role.MayBeRestricted() {
			return sheaf.Conflictf("this member is restricted to %s, but %s must see the whole workspace: lift the restriction first", to.Phrase(), role.Phrase())
		}
		if err := w.ownerStays(u, role); err != nil {
			return err
		}
		if err := w.SetRole(w.ws.ID, u, role); err != nil {
			return err
		}
		if err := w.noteRole(u, role, now); err != nil {
			return err
		}
		w.audit(sheaf.ActionMemberRoleChanged, string(u), namedFacts("role", string(now)), namedFacts("role", string(role)))
		if err := w.fitGrants(u, role, to); err != nil {
			return err
		}
		return w.endBeyond(u, role)
	})
}

// Restrict limits a member to these records; nil lifts the restriction. A restriction revokes the
// member's keys, because they may reach beyond it; keys of the workspace stay. The member's connected apps stay too, and
// see no more than the member. It returns Invalid for a
// restriction that names no records or too many, or that the member's role does not allow. It returns
// NotFound for a user who is not a member and for unknown records. `was` is the stored form of the
// restriction that the caller has seen.
func (a *App) Restrict(ctx context.Context, c Caller, u sheaf.UserID, restrictTo *RestrictTo, was sheaf.Opt[string]) error {
	return do(ctx, a, c, owner, nil, func(w *work) error {
		role, before, err := w.Rights(w.ws.ID, u)
		if err != nil {
			return err
		}
		if err := firstError(restrictTo.checkPerson(role), seen(was, before.String())); err != nil {
			return err
		}
		to, err := w.restriction(restrictTo)
		if err != nil || to.Is(before) {
			return err
		}
		if err := w.RestrictMember(w.ws.ID, u, to); err != nil {
			return err
		}
		w.audit(sheaf.ActionMemberRestrictionChanged, string(u), memberFacts(role, before), memberFacts(role, to))
		if err := w.fitGrants(u, role, to); err != nil {
			return err
		}
		if to == nil {
			return w.endRestrictions()
		}
		return w.endBeyond(u, role)
	})
}

// endBeyond ends what the user created and the role does not allow: the invitations unless the role
// is owner, and the keys unless it is owner or admin. `role` is empty for a user who leaves.
func (w *work) endBeyond(u sheaf.UserID, role sheaf.Role) error {
	if role == sheaf.Owner {
		return nil
	}
	invitations, err := w.DeleteInvitationsBy(w.ws.ID, u)
	w.auditWithdrawn(invitations)
	if err != nil || role == sheaf.Admin {
		return err
	}
	keys, err := w.RevokeKeysOf(w.ws.ID, u, w.now)
	if err != nil {
		return err
	}
	w.auditRevoked(keys)
	return w.endRestrictions()
}

// RemoveMember ends a membership, the member's own keys in this workspace and the invitations that they
// created. Owners may remove anyone, others only themselves. It returns Conflict for the last
// owner.
func (a *App) RemoveMember(ctx context.Context, c Caller, u sheaf.UserID) error {
	c.deletes = true
	return do(ctx, a, c, ownerOr(u), nil, func(w *work) error {
		if err := w.ownerStays(u, ""); err != nil {
			return err
		}
		if err := w.noteLeaving(u); err != nil {
			return err
		}
		if err := w.DeleteMember(w.ws.ID, u); err != nil {
			return err
		}
		if err := w.fitGrants(u, "", nil); err != nil {
			return err
		}
		return w.endBeyond(u, "")
	})
}

// ownerStays returns Conflict if the user is the last owner and would no longer be one.
func (w *work) ownerStays(u sheaf.UserID, becomes sheaf.Role) error {
	role, err := w.Role(w.ws.ID, u)
	if err != nil || role != sheaf.Owner || becomes == sheaf.Owner {
		return err
	}
	owners, err := w.Owners(w.ws.ID)
	if err == nil && owners < 2 {
		err = sheaf.Conflictf("this is the last owner of the workspace: make another member an owner first")
	}
	return err
}

// RenameWorkspace changes the workspace's name. Only owners may. It returns Invalid for a name that
// is empty or too long.
func (a *App) RenameWorkspace(ctx context.Context, c Caller, name string, was sheaf.Opt[string]) error {
	return do(ctx, a, c, owner, NewWorkspace{Name: name}.check(), func(w *work) error {
		if err := seen(was, w.ws.Name); err != nil {
			return err
		}
		w.audit(sheaf.ActionWorkspaceRenamed, string(w.ws.ID), namedFacts("name", w.ws.Name), namedFacts("name", name))
		return w.RenameWorkspace(w.ws.ID, name)
	})
}

// ChangePlan changes the workspace's plan. Only owners may, and with Config.FixedPlans nobody but the
// operator. Records that the new plan does not include are kept, but using them is refused.
func (a *App) ChangePlan(ctx context.Context, c Caller, p sheaf.Plan, was sheaf.Opt[sheaf.Plan]) error {
	return do(ctx, a, c, a.plans, nil, func(w *work) error {
		if err := seen(was, w.ws.Plan); err != nil {
			return err
		}
		return w.setPlan(p)
	})
}

// setPlan changes the workspace's plan.
func (w *work) setPlan(p sheaf.Plan) error {
	w.audit(sheaf.ActionWorkspacePlanChanged, string(w.ws.ID), namedFacts("plan", string(w.ws.Plan)), namedFacts("plan", string(p)))
	return w.SetPlan(w.ws.ID, p)
}

// FixedPlans reports whether only the operator changes plans.
func (a *App) FixedPlans() bool { return a.fixedPlans }

// seen returns PRECONDITION_FAILED if the caller says what the value was before the change, and it
// is now another. A record of one field needs no revision: its value serves as one.
func seen[T comparable](was sheaf.Opt[T], now T) error {
	if was.Set && was.Value != now {
		return &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed,
			Text: "this was changed after you read it: read it again, and repeat the change if you still want it"}
	}
	return nil
}
