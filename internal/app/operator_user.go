package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// SetPassword sets the password of the user with that e-mail, or
// returns NotFound. It returns Invalid for a password out of bounds.
func (o Operator) SetPassword(ctx context.Context, email, password string) (sheaf.User, error) {
	if err := checkPassword(password); err != nil {
		return sheaf.User{}, err
	}
	hash, err := hashPassword(password, o.app.random, o.app.cost)
	if err != nil {
		return sheaf.User{}, err
	}
	var user sheaf.User
	err = o.app.store.Write(ctx, func(tx *store.Tx) error {
		u, err := tx.UserByEmail(email)
		if err != nil {
			return err
		}
		u.PasswordHash = hash
		user = u
		// An open set-up link would let its holder in beside this password.
		if err := tx.UseSetupLinks(); err != nil {
			return err
		}
		// So would a session that was opened with the old one.
		if err := tx.DeleteSessions(u.ID); err != nil {
			return err
		}
		return tx.UpdateUser(u)
	})
	return user, forOperator(err, "user", email, "make one with sheaf workspace create --owner-email")
}

// User returns the user with that e-mail, or NotFound.
func (o Operator) User(ctx context.Context, email string) (sheaf.User, error) {
	u, err := read(ctx, o.app, Caller{}, func(r *store.Reader) (sheaf.User, error) { return r.UserByEmail(email) })
	return u, forOperator(err, "user", email, "make one with sheaf workspace create --owner-email")
}
