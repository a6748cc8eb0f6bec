package app

import (
	"context"

	"sheaf.dev/internal/disk"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// This file is the gate. A method that acts for somebody takes a Caller, and reaches the store by
// read, write, writeWhole or cascade alone: each of them is told what the caller must be allowed, and asks
// before it does anything. So no method can forget to ask.
//
//	method(Caller) ──▶ read ──────▶ ask ──▶ one snapshot
//	               ──▶ write ─────▶ ask ──▶ transaction: lock the workspace, ask again, act
//	               ──▶ writeWhole ▶ ask ──▶ the same, perhaps in its turn among the heavy ones
//	               ──▶ cascade ───▶ ask ──▶ the same, once for each of its transactions
//
//	method()       ──▶ readUnasked, readPart, readShown, writeUnasked, operate
//	what was begun ──▶ conclude
//
// A change is asked for twice. Before the transaction, since whoever may not do something must not
// make everybody else wait for it, and is told so before anything else. Inside, under the lock of
// the workspace's row, since minutes can lie between the two: a body arrives slowly, a transaction
// waits for its turn. Whoever revokes a key, removes a member or ends a plan takes the same lock,
// and may rely on it that nothing is done in its name once that has returned.
//
// A read is asked for once: what it returns was allowed to be seen when the request began.
//
// What a change begins outside the store, the bytes of a medium being written or removed, is ended by
// conclude whatever became of the caller meanwhile. It is told whose row it is, and nothing else.
//
// The methods in the line before the last take no Caller: they find out who somebody is (signing in, sessions,
// invitations), serve whoever runs the program (Operator), or whoever has the address of a share,
// whose Shared they take. archtest has the test that nothing
// else touches the store, and that no method with a Caller leads to these.

// Caller is who asks: a key of a user in a workspace, or a member of it who is signed in to the
// console. It has either a Key or a Role. Every method takes one and sees nothing of any other
// workspace.
type Caller struct {
	Workspace sheaf.WorkspaceID
	User      sheaf.UserID // in whose name the events are
	Key       sheaf.Key    // without an ID where a member asks
	Role      sheaf.Role   // of the member who is signed in; empty where a key asks
	// Plan is that of the workspace when the request began, for edges. The rules judge limits on
	// the stored one, in the transaction.
	Plan sheaf.Plan
	// Once is set when the request carries an Idempotency-Key.
	Once *Once
	// deletes says that the change deletes something: it is carried out on a full disk too.
	deletes bool
	// Refusal is returned in place of every change, when it is set: the caller looks at what would be
	// said, and does nothing.
	Refusal error
}

// May reports whether the caller holds the scope: a key holds what it was granted, a member what
// the role allows.
func (c Caller) May(s sheaf.Scope) bool {
	if c.Role != "" {
		return c.Role.Scopes().Has(s)
	}
	return c.Key.Scopes.Has(s)
}

// Authorize returns Forbidden, naming the scope, unless the caller holds it. The edges ask it for
// what they do before they call a method, such as reading a body.
func (c Caller) Authorize(s sheaf.Scope) error {
	switch {
	case c.May(s):
		return nil
	case c.Role != "":
		return sheaf.Forbiddenf("a %s of this workspace can look at this and change nothing: ask an owner to make you an admin", c.Role)
	}
	return sheaf.Forbiddenf("this key lacks the scope %s: use a key that has it, or create one with it", s)
}

// AuthorizeOwner returns Forbidden unless the caller owns the workspace. No key opens what owners
// alone may change: members, the name and the plan.
func (c Caller) AuthorizeOwner() error {
	if c.Role == sheaf.Owner {
		return nil
	}
	return sheaf.Forbiddenf("only an owner of this workspace can do that: ask one")
}

// A need is what a method demands of its caller. It returns why the caller may not, or nil.
type need func(Caller) error

// scope demands all these scopes.
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

// owner demands an owner of the workspace.
func owner(c Caller) error { return c.AuthorizeOwner() }

// member requires a signed-in person, in any role. A key gets the same refusal as from every other
// method about members.
func member(c Caller) error {
	if c.Role != "" {
		return nil
	}
	return c.AuthorizeOwner()
}

// ownerOr demands an owner, or that member.
func ownerOr(u sheaf.UserID) need {
	return func(c Caller) error {
		if c.User == u {
			return member(c)
		}
		return c.AuthorizeOwner()
	}
}

// aKey demands a key, whatever its scopes are.
func aKey(c Caller) error {
	if c.Key.ID == "" {
		return unauthorized("this is for API keys: send one")
	}
	return nil
}

// read runs act in one snapshot of the store, if the caller may.
func read[T any](ctx context.Context, a *App, c Caller, needs need, act func(r *store.Reader) (T, error)) (out T, err error) {
	if err := needs(c); err != nil {
		return out, err
	}
	err = a.store.ReadIn(ctx, c.Workspace, func(r *store.Reader) (err error) {
		out, err = act(r)
		return err
	})
	return out, err
}

// write runs act in one transaction that holds the workspace, if the caller may, with the events
// that it emits and the caller's idempotency key. fault is what is wrong with the request whatever
// is stored, nil for nothing: who may not act does not learn of it, and nobody waits for it. On a full disk
// it is Unavailable, unless the caller deletes.
func write[T any](ctx context.Context, a *App, c Caller, needs need, fault error, act func(w *work) (T, error)) (out T, err error) {
	if err := firstError(needs(c), c.Refusal, fault); err != nil {
		return out, err
	}
	if !c.deletes {
		if err := a.diskBelow(disk.Full); err != nil {
			return out, err
		}
	}
	err = a.store.WriteIn(ctx, c.Workspace, func(tx *store.Tx) (err error) {
		out, err = perform(tx, a, c, needs, act)
		return err
	})
	return out, err
}

// do is write for what returns nothing.
func do(ctx context.Context, a *App, c Caller, needs need, fault error, act func(w *work) error) error {
	_, err := write(ctx, a, c, needs, fault, func(w *work) (struct{}, error) { return struct{}{}, act(w) })
	return err
}

// askAgain asks inside the transaction, with what is stored about the caller's key or role now.
func (w *work) askAgain(needs need) error {
	c := w.caller
	if c.Role != "" {
		role, err := w.Role(w.ws.ID, c.User)
		switch {
		case sheaf.KindOf(err) == sheaf.NotFound:
			return sheaf.Missing("workspace")
		case err != nil:
			return err
		case role != c.Role:
			return sheaf.Forbiddenf("your role in this workspace was changed to %s: load the page again", role)
		}
		return needs(c)
	}
	k, err := w.Key(w.ws.ID, c.Key.ID)
	if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
		return err
	}
	if err != nil || !k.Live(w.now) {
		return errNoKey
	}
	c.Key = k
	return firstError(w.ws.Plan.AllowAPI(), needs(c))
}

// readUnasked runs act in one snapshot of the store, for methods that take no Caller. All of them
// together hold no more connections than one workspace may.
func readUnasked[T any](ctx context.Context, a *App, act func(r *store.Reader) (T, error)) (T, error) {
	return readPart(ctx, a, "", act)
}

// readPart is readUnasked with a part of the connections of its own, named as no workspace is.
func readPart[T any](ctx context.Context, a *App, part string, act func(r *store.Reader) (T, error)) (out T, err error) {
	err = a.store.ReadIn(ctx, sheaf.WorkspaceID(part), func(r *store.Reader) (err error) {
		out, err = act(r)
		return err
	})
	return out, err
}

// readShown runs act in one snapshot of the store, for the reader of a share. What act returns must be
// what the share shows.
func readShown[T any](ctx context.Context, a *App, s sheaf.Shared, act func(r *store.Reader) (T, error)) (out T, err error) {
	err = a.store.ReadIn(ctx, s.Workspace, func(r *store.Reader) (err error) {
		out, err = act(r)
		return err
	})
	return out, err
}

// writeUnasked runs act in one transaction that holds nothing, for methods that take no Caller.
func (a *App) writeUnasked(ctx context.Context, act func(tx *store.Tx) error) error {
	return a.store.Write(ctx, act)
}

// conclude ends, in one transaction that holds the workspace, what a transaction that asked has begun,
// or one whose process is gone. It may decide nothing that a caller could want otherwise.
func conclude[T any](ctx context.Context, a *App, ws sheaf.WorkspaceID, act func(w *work) (T, error)) (out T, err error) {
	err = a.store.WriteIn(ctx, ws, func(tx *store.Tx) (err error) {
		out, err = perform(tx, a, Caller{Workspace: ws}, nil, act)
		return err
	})
	return out, err
}

// operate is write for whoever runs the program.
func operate[T any](ctx context.Context, o Operator, ws sheaf.WorkspaceID, act func(w *work) (T, error)) (out T, err error) {
	err = o.app.store.WriteIn(ctx, ws, func(tx *store.Tx) (err error) {
		out, err = perform(tx, o.app, Caller{Workspace: ws}, nil, act)
		return err
	})
	return out, err
}
