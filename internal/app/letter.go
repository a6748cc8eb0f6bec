package app

import (
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// People get mails about invitations, resets of passwords, and what happened to their accounts. The transaction that
// causes a mail requests it, and internal/mail sends it. Nothing waits for a mail.

// Mails reports whether the server mails links and notices to people.
func (a *App) Mails() bool { return a.mails }

// notify requests a notice to a person about their account. Without mail it does nothing.
func (a *App) notify(tx *store.Tx, u sheaf.UserID, l sheaf.Letter) error {
	if !a.mails {
		return nil
	}
	id := a.newID()
	return tx.InsertLetter(u, id, a.webhooks.Box.Letter(string(sheaf.LetterNotice), id, l.Bytes()), a.now())
}

// notifySignIn requests a notice that the user signs in, unless the user was signed in with this browser before. The
// transaction has locked the user. A browser can only be remembered for a user with a password.
func (a *App) notifySignIn(tx *store.Tx, u sheaf.User, b Browser) error {
	if _, known := a.knownDevice(u, b.Device); known || b.Expected || u.PasswordHash == "" {
		return nil
	}
	return a.notify(tx, u.ID, sheaf.Letter{About: sheaf.AboutSignIn, Address: b.Address, Agent: cleanAgent(b.Agent)})
}

// mailInvitation requests the mail with the link of an invitation. Without mail it does nothing.
func (w *work) mailInvitation(i sheaf.InvitationID, token string) error {
	if !w.app.mails {
		return nil
	}
	sealed := w.app.webhooks.Box.Letter(string(sheaf.LetterInvitation), string(i), sheaf.Letter{Token: token}.Bytes())
	return w.MailInvitation(w.ws.ID, i, sealed, w.now)
}
