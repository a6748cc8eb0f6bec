package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// enter opens a session for a user who gave the right password and whom the transaction has locked. If the user has a
// second factor, or one is required, it opens a pending sign-in instead. `old` is the token of the session that a new
// one replaces, or "".
func (a *App) enter(tx *store.Tx, u sheaf.User, b Browser, old string) (NewSession, error) {
	_, found, err := tx.Factor(u.ID)
	if err != nil {
		return NewSession{}, err
	}
	if found || a.secondFactor {
		return a.wait(tx, u, nil, !found)
	}
	if _, _, err := tx.DeleteSession(tokenHash(old)); err != nil {
		return NewSession{}, err
	}
	if err := a.notifySignIn(tx, u, b); err != nil {
		return NewSession{}, err
	}
	return a.openSession(tx, u, b)
}

// wait opens a pending sign-in.
func (a *App) wait(tx *store.Tx, u sheaf.User, invitation []byte, setUp bool) (NewSession, error) {
	token, err := a.newToken()
	if err != nil {
		return NewSession{}, err
	}
	lives := pendingLives
	if setUp {
		lives = setUpLives
	}
	p := Pending{Token: token, ExpiresAt: a.now().Add(lives), SetUp: setUp}
	return NewSession{Pending: p}, tx.InsertPendingSignIn(store.PendingSignIn{Hash: tokenHash(token), User: u.ID, Invitation: invitation, ExpiresAt: p.ExpiresAt})
}

// Waiting is a pending sign-in as its page shows it.
type Waiting struct {
	User  sheaf.User
	SetUp bool // the user has no second factor
}

// Waiting returns the pending sign-in of a browser's token, or Unauthorized.
func (a *App) Waiting(ctx context.Context, token string) (Waiting, error) {
	return readUnasked(ctx, a, func(r *store.Reader) (w Waiting, err error) {
		p, err := a.pending(r, token)
		if err != nil {
			return w, err
		}
		if w.User, err = r.User(p.User); err != nil {
			return w, err
		}
		_, found, err := r.Factor(p.User)
		w.SetUp = !found
		return w, err
	})
}

// pending returns the pending sign-in of a token, or Unauthorized.
func (a *App) pending(r *store.Reader, token string) (store.PendingSignIn, error) {
	p, err := r.PendingSignIn(tokenHash(token))
	if sheaf.KindOf(err) == sheaf.NotFound || err == nil && !a.now().Before(p.ExpiresAt) {
		return p, errPending
	}
	return p, err
}

// FinishSignIn opens the session of a pending sign-in, with a code of the app or a recovery code, and accepts the
// invitation if the sign-in began with one. It returns Unauthorized without a pending sign-in, Invalid for a wrong code,
// and RateLimited after too many. `old` is the token of the session that this one replaces, or "".
func (a *App) FinishSignIn(ctx context.Context, token, code string, b Browser, old string) (NewSession, error) {
	var out NewSession
	var refusal error
	err := a.finish(ctx, token, b, func(tx *store.Tx, u sheaf.User) (err error) {
		out = NewSession{}
		if refusal, err = a.checkCode(tx, b.actor(u.ID), code); err != nil || refusal != nil {
			return err
		}
		if err := tx.DeletePendingSignIn(tokenHash(token)); err != nil {
			return err
		}
		if _, _, err := tx.DeleteSession(tokenHash(old)); err != nil {
			return err
		}
		if err := a.notifySignIn(tx, u, b); err != nil {
			return err
		}
		out, err = a.openSession(tx, u, b)
		return err
	}, func() bool { return refusal == nil })
	return out, firstError(err, refusal)
}

// FinishWithFactor sets up the second factor of a person whose pending sign-in needs one. It ends every session of the
// person and returns a new one, with the recovery codes. It returns Unauthorized without a pending sign-in, Invalid for a
// wrong code, and Conflict if the person has a second factor or the offer is of another sign-in.
func (a *App) FinishWithFactor(ctx context.Context, token string, in NewFactor, b Browser, old string) (NewSession, []string, error) {
	var out NewSession
	var codes []string
	err := a.finish(ctx, token, b, func(tx *store.Tx, u sheaf.User) error {
		secret, step, err := a.confirm(u, token, in)
		if err != nil {
			return err
		}
		if codes, err = a.insertFactor(tx, u.ID, secret, step, b); err != nil { // ends the pending sign-in too
			return err
		}
		if _, _, err := tx.DeleteSession(tokenHash(old)); err != nil {
			return err
		}
		if err := a.notifySignIn(tx, u, b); err != nil {
			return err
		}
		out, err = a.openSession(tx, u, b)
		return err
	}, func() bool { return true })
	return out, codes, err
}

// finish runs act in a transaction that has locked the user of the pending sign-in. If done reports that act signed the
// user in, it accepts the invitation of the sign-in.
func (a *App) finish(ctx context.Context, token string, b Browser, act func(tx *store.Tx, u sheaf.User) error, done func() bool) error {
	p, err := readUnasked(ctx, a, func(r *store.Reader) (store.PendingSignIn, error) { return a.pending(r, token) })
	if err != nil {
		return err
	}
	return a.writeUnasked(ctx, func(tx *store.Tx) error {
		// The user is locked after the workspace, as when a person joins one.
		var ws sheaf.Workspace
		var o Offer
		if p.Invitation != nil {
			if ws, o, err = a.lockOffer(tx, p.Invitation); err != nil {
				return err
			}
		}
		u, err := tx.LockUser(p.User)
		if err != nil {
			return err
		}
		// A new password, which locks the user too, ends it.
		if _, err := a.pending(&tx.Reader, token); err != nil {
			return err
		}
		if err := act(tx, u); err != nil || p.Invitation == nil || !done() {
			return err
		}
		return a.acceptInvitation(tx, ws.ID, o.Invitation, u, b)
	})
}
