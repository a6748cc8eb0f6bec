package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// lockUserByEmail returns the user with that e-mail, or NotFound. The transaction has locked the user then, so the
// user is as no other transaction can change them.
func lockUserByEmail(tx *store.Tx, email string) (sheaf.User, error) {
	u, err := tx.UserByEmail(email)
	if err != nil {
		return u, err
	}
	return tx.LockUser(u.ID)
}

// AllowPassword allows the user with that e-mail to sign in with a password even if the server has turned passwords off, or
// takes that back. It returns NotFound for an unknown e-mail.
func (o Operator) AllowPassword(ctx context.Context, email string, allowed bool) (u sheaf.User, err error) {
	err = o.app.writeUnasked(ctx, func(tx *store.Tx) error {
		if u, err = lockUserByEmail(tx, email); err != nil {
			return err
		}
		u.PasswordAllowed = allowed
		if err := tx.AllowPassword(u.ID, allowed); err != nil {
			return err
		}
		return o.app.auditInstance(tx, anOperator, sheaf.ActionPasswordAllowed, u.ID, sheaf.RecordFunc(func(o *sheaf.Object) { o.Bool("allowed", allowed) }))
	})
	return u, forOperator(err, "user", email, "sheaf user list shows all users")
}

// ForgetProvider frees the accounts at sign-in providers that are bound to the user with that e-mail, and ends every session
// of the user. The next sign-in at the provider binds one anew. It returns NotFound for an unknown e-mail. `had` is false if none
// was bound: then nothing changes.
func (o Operator) ForgetProvider(ctx context.Context, email string) (u sheaf.User, had bool, err error) {
	err = o.app.writeUnasked(ctx, func(tx *store.Tx) error {
		if u, err = lockUserByEmail(tx, email); err != nil {
			return err
		}
		n, err := tx.DeleteIdentities(u.ID)
		if had = n > 0; err != nil || !had {
			return err
		}
		if err := tx.DeleteSessions(u.ID); err != nil {
			return err
		}
		return o.app.auditInstance(tx, anOperator, sheaf.ActionProviderForgotten, u.ID, nil)
	})
	return u, had, forOperator(err, "user", email, "sheaf user list shows all users")
}
