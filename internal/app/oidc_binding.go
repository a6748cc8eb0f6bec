package app

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// askPassword returns an identity that waits for the password of the user.
func (a *App) askPassword(e providerEntry, user sheaf.User) (Entered, error) {
	e.User, e.Until = user.ID, a.now().Add(bindingLives)
	plain, err := json.Marshal(e)
	if err != nil {
		return Entered{}, fmt.Errorf("bind an identity: %w", err)
	}
	return Entered{Next: e.Next, Binding: base64.RawURLEncoding.EncodeToString(a.webhooks.Box.ProviderBinding(plain)), BindingExpiresAt: e.Until}, nil
}

// proves returns a refusal if the user is not the one whose password was checked, or has a second factor and gave no right
// code. A wrong code was counted, so the transaction must be committed.
func (a *App) proves(tx *store.Tx, e providerEntry, user sheaf.User, b Browser) (refusal, err error) {
	if user.ID != e.proven.ID || user.PasswordHash != e.proven.PasswordHash {
		return nil, errSignIn
	}
	_, found, err := tx.Factor(user.ID)
	if err != nil || !found {
		return nil, err
	}
	return a.checkCode(tx, b.actor(user.ID), e.code)
}

// errBinding says that nothing waits for a password.
var errBinding = unauthorized("The sign-in took too long, or was ended. Sign in again.")

// Binding is an account whose password is asked for, once, so that an account at the provider is bound to it.
type Binding struct {
	User   sheaf.User
	Next   string
	Factor bool // a code of the second factor is asked for too
}

// Binding returns the account for a browser's Entered.Binding, or Unauthorized.
func (a *App) Binding(ctx context.Context, sealed string) (Binding, error) {
	e, err := a.openBinding(sealed)
	if err != nil {
		return Binding{}, err
	}
	return readUnasked(ctx, a, func(r *store.Reader) (out Binding, err error) {
		out.Next = e.Next
		if out.User, err = r.User(e.User); err != nil {
			return out, err
		}
		_, out.Factor, err = r.Factor(e.User)
		return out, err
	})
}

func (a *App) openBinding(sealed string) (e providerEntry, err error) {
	if a.provider == nil || !openSealed(sealed, a.webhooks.Box.OpenProviderBinding, &e) || !a.now().Before(e.Until) || e.Issuer != a.provider.Issuer() {
		return e, errBinding
	}
	return e, nil
}

// BindProvider binds an account at the provider to the user whose password is given, and opens a session. `code` is one of
// the user's second factor, if there is one. It returns Unauthorized without a binding, and the errors of SignIn and of
// FinishSignIn as *sheaf.Error with the fields password and code.
func (a *App) BindProvider(ctx context.Context, sealed, password, code string, b Browser, old string) (Entered, error) {
	e, err := a.openBinding(sealed)
	if err != nil {
		return Entered{}, err
	}
	user, err := readUnasked(ctx, a, func(r *store.Reader) (sheaf.User, error) { return r.User(e.User) })
	if err != nil {
		return Entered{}, err
	}
	in := SignIn{Address: b.Address}
	if user.Email != nil {
		in.Email = *user.Email
	}
	err = a.checkPasswordOf(ctx, user, password, brakesFor(user.ID, in), a.lines.strangers, b.Address)
	err = a.countWrong(ctx, user.ID, b.Address, err)
	if sheaf.KindOf(err) == sheaf.Unauthorized {
		return Entered{}, sheaf.InvalidField("password", "The password is wrong.")
	}
	if err != nil {
		return Entered{}, err
	}
	e.proven, e.code = &user, code
	out, err := a.enterByProvider(ctx, e, b, old, func(*store.Tx) error { return nil })
	if sheaf.KindOf(err) == sheaf.Unauthorized { // the password was changed at this moment
		err = errBinding
	}
	return out, a.refusedBecause(ctx, b, err)
}
