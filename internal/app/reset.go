package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// A person who forgot the password asks for a mail with a link, and chooses a new password there:
//
//	POST /sign-in/forgot ──▶ AskReset ──▶ a row, whether or not a user has the e-mail
//	internal/mail ─────────▶ a token, whose hash is stored ──▶ the mail
//	POST /sign-in/reset/… ─▶ ResetPassword ──▶ a new password; every session and every link ends
//
// The link signs nobody in: the person then signs in as usual, with the second factor if there is one.

var errReset = &sheaf.Error{Kind: sheaf.NotFound, Code: sheaf.CodeNotFound,
	Text: "this link was used or replaced, or has expired: ask for a new one"}

// resetName returns the name under which resets of an e-mail are counted, whether or not a user has it.
func resetName(email string) string { return shortHash([]byte("reset\n" + store.Fold(email))) }

// maxTypedEmail bounds the bytes of an e-mail that somebody typed. No user has a longer one.
const maxTypedEmail = 254

// AskReset asks for a mail with a link to choose a new password. At most three are asked for in an hour for each
// e-mail. It returns the same, after the same work, whether or not a user has the e-mail and a password, and whether or
// not too many were asked for. It returns NotFound if the server sends no mail.
func (a *App) AskReset(ctx context.Context, email string, b Browser) error {
	if !a.mails {
		return sheaf.Missing("page")
	}
	if err := a.passwordsOpen(ctx); err != nil {
		return err
	}
	email = email[:min(len(email), maxTypedEmail+1)]
	name := resetName(email)
	sealed := a.webhooks.Box.Letter(string(sheaf.LetterReset), name, sheaf.Letter{Address: b.Address, Agent: cleanAgent(b.Agent)}.Bytes())
	return a.writeUnasked(ctx, func(tx *store.Tx) error {
		user, err := tx.UserByEmail(email)
		if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
			return err
		}
		var to *sheaf.UserID
		if err == nil && a.UsesPassword(user) {
			to = &user.ID
		}
		return tx.AskReset(name, to, sealed, a.now())
	})
}

// Reset returns the user who may choose a new password with the token of a link, or NotFound. It does not use up the
// link.
func (a *App) Reset(ctx context.Context, token string) (sheaf.User, error) {
	return readUnasked(ctx, a, func(r *store.Reader) (u sheaf.User, err error) {
		id, err := r.Reset(tokenHash(token), a.now())
		if err == nil {
			u, err = r.User(id)
		}
		if err == nil && !a.UsesPassword(u) {
			err = errReset
		}
		return u, noReset(err)
	})
}

// noReset rewords NotFound.
func noReset(err error) error {
	if sheaf.KindOf(err) == sheaf.NotFound {
		return errReset
	}
	return err
}

// ResetPassword uses up the link of a reset: it sets a new password, and ends every session, pending sign-in and link
// of the person. A second factor stays. It returns NotFound for a link that was used or replaced or has expired, and
// Invalid for a password that is too short or too long.
func (a *App) ResetPassword(ctx context.Context, token, password string, b Browser) error {
	if err := checkPassword(password); err != nil {
		return err
	}
	// Hashing is expensive, so only the holder of a link may cause it.
	user, err := a.Reset(ctx, token)
	if err != nil {
		return err
	}
	hash, err := a.hashInLine(ctx, password, a.lines.strangers, b.Address)
	if err != nil {
		return err
	}
	return a.writeUnasked(ctx, func(tx *store.Tx) error {
		u, err := tx.LockUser(user.ID)
		if err != nil {
			return noReset(err)
		}
		if _, err := tx.Reset(tokenHash(token), a.now()); err != nil { // again: another request may have used the link
			return noReset(err)
		}
		if !a.UsesPassword(u) {
			return errReset
		}
		u.PasswordHash = hash
		if err := a.replacePassword(tx, u); err != nil {
			return err
		}
		if err := a.auditInstance(tx, b.actor(u.ID), sheaf.ActionPasswordChanged, u.ID, nil); err != nil {
			return err
		}
		// The person's own wrong guesses at the old password must not slow down the new one.
		return tx.ForgetFailures(brakesFor(u.ID, SignIn{Address: b.Address}).own[0].name)
	})
}

// replacePassword stores the new password of a user whom the transaction has locked. It ends what the old one opened:
// sessions, pending sign-ins, and links to choose another.
func (a *App) replacePassword(tx *store.Tx, u sheaf.User) error {
	if err := tx.UpdateUser(u); err != nil {
		return err
	}
	if err := tx.DeleteSessions(u.ID); err != nil {
		return err
	}
	return tx.EndResets(u.ID)
}
