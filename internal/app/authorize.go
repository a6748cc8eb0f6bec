package app

import (
	"context"

	"sheaf.dev/internal/disk"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// This file is the gate. A method that acts for a user takes a Caller, and reaches the store only
// by read, write, writeWhole or cascade. Each of them takes what the caller must be allowed to do,
// and checks it before it does anything. So no method can forget the check.
//
//	method(Caller) ──▶ read ──────▶ check ──▶ one snapshot
//	               ──▶ write ─────▶ check ──▶ transaction: lock the workspace, check again, act
//	               ──▶ writeWhole ▶ check ──▶ the same, perhaps in its turn among the heavy ones
//	               ──▶ cascade ───▶ check ──▶ the same, once for each of its transactions
//
//	method()       ──▶ readUnasked, readPart, readShown, writeUnasked, operate, operateDeleted
//	what was begun ──▶ conclude
//
// A change is checked twice. The first check is before the transaction: a caller who may not act
// gets that answer first, and makes no one else wait. The second is inside, under the lock of the
// workspace's row, because minutes can pass between the two: a body arrives slowly, a transaction
// waits for its turn. Revoking a key, removing a member and ending a plan take the same lock. Once
// they have returned, nothing more is done in that name.
//
// A read is checked once: its result was allowed to be seen when the request began.
//
// Some changes begin work outside the store: the bytes of a medium are written or removed. conclude
// ends that work, whatever happened to the caller meanwhile. It takes the workspace and nothing
// else.
//
// The gate also says what the caller sees (sight). The store shows nothing else, so no method can
// forget a restriction (store/sight.go). What a restricted caller may change is in restriction.go.
//
// The methods in the second group take no Caller. They find out who a person is (signing in,
// sessions, invitations), or serve the operator (Operator) or the readers of a share, whose Shared
// they take. archtest checks that nothing else uses the store, and that no method with a Caller
// leads to these.

// Caller is who makes a request: a user's key in a workspace, or a member of the workspace who is
// signed in to the console. It has either a Key or a Role. Every method sees only the records of
// the caller's workspace.
type Caller struct {
	Workspace sheaf.WorkspaceID
	User      sheaf.UserID // the user named in the events
	Key       sheaf.Key    // has no ID if the caller is a member
	Role      sheaf.Role   // role of the signed-in member; empty if the caller is a key
	// Within is what the signed-in member is restricted to; nil: the whole workspace. A key has its own.
	Within *sheaf.Restriction
	// Plan is the workspace's plan when the request began, for the edges. The rules check limits
	// against the stored plan, in the transaction.
	Plan sheaf.Plan
	// Origin is where the request comes from; nil: unknown.
	Origin Origin
	// Once is set when the request carries an Idempotency-Key.
	Once *Once
	// deletes means that the change deletes something, so it is allowed on a full disk too.
	deletes bool
	// Refusal, if set, is returned in place of every change: the request is only rehearsed, and
	// changes nothing.
	Refusal error
}

// Restriction returns what the caller is restricted to, or nil.
func (c Caller) Restriction() *sheaf.Restriction {
	if c.Role != "" {
		return c.Within
	}
	return c.Key.RestrictedTo
}

// sight returns what the store shows to the caller.
func (c Caller) sight() store.Sight {
	return store.Restricted(c.Restriction(), c.May(sheaf.BrandingsRead))
}

// May reports whether the caller has the scope. A key has the scopes that it was granted, a member
// those of the role. A restricted member has only those of the role that a restriction allows.
func (c Caller) May(s sheaf.Scope) bool {
	switch {
	case c.Role == "":
		return c.Key.Scopes.Has(s)
	case c.Within != nil:
		return c.Role.RestrictedScopes().Has(s)
	}
	return c.Role.Scopes().Has(s)
}

// Authorize returns Forbidden, naming the scope, unless the caller has it. The edges call it before
// work that precedes the method, such as reading a body.
func (c Caller) Authorize(s sheaf.Scope) error {
	switch {
	case c.May(s):
		return nil
	case c.Role != "" && c.Within != nil && (c.Role.Scopes().Has(s) || !sheaf.Editor.RestrictedScopes().Has(s)):
		return errPart(c.Within) // no role that can be restricted has it
	case c.Role != "":
		return sheaf.Forbiddenf("%s of this workspace can read this but not change it: ask an owner to make you %s", c.Role.Phrase(), sheaf.LowestRole(s).Phrase())
	}
	if c.Key.IsGrant() {
		return sheaf.Forbiddenf("this app was not allowed %s: the person who connected it can connect it again, and allow it", s)
	}
	return sheaf.Forbiddenf("this key lacks the scope %s: use a key that has it, or create one with it", s)
}

// AuthorizeOwner returns Forbidden unless the caller is an owner of the workspace. No key may
// change what only owners may: members, the name and the plan.
func (c Caller) AuthorizeOwner() error {
	if c.Role == sheaf.Owner {
		return nil
	}
	return sheaf.Forbiddenf("only an owner of this workspace can do that: ask one")
}

// A need is what a method requires of its caller. It returns why the caller may not act, or nil.
type need func(Caller) error

// scope requires all these scopes.
func scope(all ...sheaf.Scope) need {
	return func(c Caller) error {
		for _, s := range all {
			if err := c.Authorize(s); err != nil {
				return err
			}
		}
		return nil
	}
}

// whole requires the scope, and a caller without a restriction.
func whole(s sheaf.Scope) need {
	return func(c Caller) error {
		if err := c.Authorize(s); err != nil || c.Restriction() == nil {
			return err
		}
		return errPart(c.Restriction())
	}
}

// errPart returns the Forbidden for a restricted caller who asks for what belongs to the whole workspace.
func errPart(to *sheaf.Restriction) error {
	return sheaf.Forbiddenf("you see only %s, and this needs access to the whole workspace: ask an owner to do it, or to lift your restriction", to.Phrase())
}

// person requires a signed-in person whose role has the scope.
func person(s sheaf.Scope) need {
	return func(c Caller) error {
		if err := member(c); err != nil {
			return err
		}
		return c.Authorize(s)
	}
}

// owner requires an owner of the workspace.
func owner(c Caller) error { return c.AuthorizeOwner() }

// plans requires an owner of the workspace, on a server whose owners change plans.
func (a *App) plans(c Caller) error {
	if err := c.AuthorizeOwner(); err != nil || !a.fixedPlans {
		return err
	}
	return sheaf.Forbiddenf("on this server only its operator changes plans: ask the operator")
}

// member requires a signed-in person, in any role. A key gets the same refusal as from every other
// method about members.
func member(c Caller) error {
	if c.Role != "" {
		return nil
	}
	return c.AuthorizeOwner()
}

// ownerOr requires an owner, or the member u.
func ownerOr(u sheaf.UserID) need {
	return func(c Caller) error {
		if c.User == u {
			return member(c)
		}
		return c.AuthorizeOwner()
	}
}

// aKey requires a key, with any scopes.
func aKey(c Caller) error {
	if c.Key.ID == "" {
		return unauthorized("this is for API keys: send one")
	}
	return nil
}

// read runs act in one snapshot of the store, if the caller meets `needs`.
func read[T any](ctx context.Context, a *App, c Caller, needs need, act func(r *store.Reader) (T, error)) (out T, err error) {
	if err := needs(c); err != nil {
		return out, err
	}
	err = a.store.ReadIn(ctx, c.Workspace, c.sight(), func(r *store.Reader) (err error) {
		out, err = act(r)
		return err
	})
	return out, err
}

// write runs act in one transaction that locks the workspace, if the caller meets `needs`. The
// transaction includes the events that act emits and the caller's idempotency key. `fault` is an
// error of the request that does not depend on what is stored, or nil. It is returned only to a
// caller who meets `needs`, and before the transaction, so no one waits for it. On a full disk
// write returns Unavailable, unless the caller deletes.
func write[T any](ctx context.Context, a *App, c Caller, needs need, fault error, act func(w *work) (T, error)) (out T, err error) {
	if err := firstError(needs(c), c.Refusal, fault); err != nil {
		return out, err
	}
	if !c.deletes {
		if err := a.diskBelow(disk.Full); err != nil {
			return out, err
		}
	}
	err = a.store.WriteIn(ctx, c.Workspace, c.sight(), func(tx *store.Tx) (err error) {
		out, err = perform(tx, a, c, needs, act)
		return err
	})
	return out, err
}

// do is write for an act without a result.
func do(ctx context.Context, a *App, c Caller, needs need, fault error, act func(w *work) error) error {
	_, err := write(ctx, a, c, needs, fault, func(w *work) (struct{}, error) { return struct{}{}, act(w) })
	return err
}

// authorizeStored checks `needs` inside the transaction, with the key or role as stored now.
func (w *work) authorizeStored(needs need) error {
	c := w.caller
	if c.Role != "" {
		role, to, err := w.Rights(w.ws.ID, c.User)
		switch {
		case sheaf.KindOf(err) == sheaf.NotFound:
			return sheaf.Missing("workspace")
		case err != nil:
			return err
		case role != c.Role:
			return sheaf.Forbiddenf("your role in this workspace was changed to %s: load the page again", role)
		case !to.Is(c.Within):
			return sheaf.Forbiddenf("an owner has changed which part of this workspace you see: load the page again")
		}
		return needs(c)
	}
	k, err := w.RefreshKey(w.ws.ID, c.Key)
	if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
		return err
	}
	if err != nil || !k.Live(w.now) || !k.Takes(c.Key.Rotation, w.now) {
		if c.Key.IsGrant() {
			return errNoToken
		}
		return errNoKey
	}
	if !k.RestrictedTo.Is(c.Key.RestrictedTo) || k.Within != c.Key.Within {
		return sheaf.Forbiddenf("an owner has changed which part of this workspace your person sees: repeat the request")
	}
	if k.Within != 0 {
		if err := checkWithin(&w.Reader, w.ws.ID, k); err != nil {
			return err
		}
	}
	c.Key = k
	return firstError(w.ws.Plan.AllowAPI(), needs(c))
}

// readUnasked runs act in one snapshot of the store, for methods without a Caller. All of them
// together use no more connections than one workspace may.
func readUnasked[T any](ctx context.Context, a *App, act func(r *store.Reader) (T, error)) (T, error) {
	return readPart(ctx, a, "", act)
}

// readPart is readUnasked with a share of the connections of its own, which `part` names.
func readPart[T any](ctx context.Context, a *App, part string, act func(r *store.Reader) (T, error)) (out T, err error) {
	err = a.store.ReadIn(ctx, sheaf.WorkspaceID(part), store.Everything, func(r *store.Reader) (err error) {
		out, err = act(r)
		return err
	})
	return out, err
}

// readShown runs act in one snapshot of the store, for the reader of a share. act must return only
// what the share shows. Its connection counts for the workspace of the share.
func readShown[T any](ctx context.Context, a *App, s sheaf.Shared, act func(r *store.Reader) (T, error)) (T, error) {
	return readPart(ctx, a, string(s.Workspace), act)
}

// writeUnasked runs act in one transaction that locks no workspace, for methods without a Caller.
func (a *App) writeUnasked(ctx context.Context, act func(tx *store.Tx) error) error {
	return a.store.Write(ctx, act)
}

// conclude ends, in one transaction that locks the workspace, work that an authorized transaction
// began, possibly in a process that is gone: the bytes of a medium, the tokens for a consent. It must not
// decide anything that a caller could decide otherwise.
func conclude[T any](ctx context.Context, a *App, ws sheaf.WorkspaceID, act func(w *work) (T, error)) (out T, err error) {
	err = a.store.WriteIn(ctx, ws, store.Everything, func(tx *store.Tx) (err error) {
		out, err = perform(tx, a, Caller{Workspace: ws}, nil, act)
		return err
	})
	return out, err
}

// operate is write for the operator. For a deleted workspace that can be brought back it returns
// Conflict, which says how.
func operate[T any](ctx context.Context, o Operator, ws sheaf.WorkspaceID, act func(w *work) (T, error)) (out T, err error) {
	err = o.app.store.WriteIn(ctx, ws, store.Everything, func(tx *store.Tx) (err error) {
		out, err = perform(tx, o.app, Caller{Workspace: ws}, nil, act)
		if sheaf.KindOf(err) == sheaf.NotFound {
			if w, failed := tx.LockWorkspace(ws); failed == nil && w.Restorable(o.app.now()) {
				return sheaf.Conflictf("workspace %s is deleted, and its data stays until %s: bring it back first with sheaf workspace undelete", ws, w.EndsAt.Format(sheaf.TimeFormat))
			}
		}
		return err
	})
	return out, err
}

// operateDeleted runs act in one heavy transaction that locks a workspace, which may be deleted, for the
// operator. It returns NotFound for an unknown workspace.
func operateDeleted[T any](ctx context.Context, o Operator, ws sheaf.WorkspaceID, act func(tx *store.Tx, w sheaf.Workspace) (T, error)) (out T, err error) {
	err = o.app.store.WriteHeavyIn(ctx, ws, store.Everything, func(tx *store.Tx) error {
		w, err := tx.LockWorkspace(ws)
		if err == nil {
			out, err = act(tx, w)
		}
		return err
	})
	return out, err
}
