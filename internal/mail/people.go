package mail

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// The allowances of mails to people. A mail that exceeds one waits. Of resets, an e-mail can have three in an hour, on
// which the request decides.
var (
	invitationsOfWorkspace = store.MailRate{AtOnce: 20, Every: 3 * time.Minute}
	invitationsToOne       = store.MailRate{AtOnce: 5, Every: 12 * time.Minute}
	noticesToOne           = store.MailRate{AtOnce: 10, Every: 6 * time.Minute}
	lettersOfKind          = store.MailRate{AtOnce: 500, Every: 5 * time.Second} // of the whole installation
)

// errExpired drops a mail that came to nothing in its time.
var errExpired = errors.New("it could not be sent in time")

// toPerson is a mail to a person, ready to be sent.
type toPerson struct {
	text   []byte // nil: there is no longer a reason to send it
	person sheaf.User
	secret string // token in the text, which must not be logged
	rates  []store.MailRate
	next   time.Time // the rates allow no mail before this time
	ends   time.Time // after this time the mail is dropped
}

// sendToPerson sends one mail to a person, and stores the outcome. After a crash in between, it is sent again.
func (m *Mailer) sendToPerson(ctx context.Context, l store.Letter) error {
	mail, err := m.compose(ctx, l)
	if err != nil {
		return err
	}
	now := m.Now()
	switch {
	case mail.text == nil:
		return m.settleLetter(ctx, l)
	case !now.Before(mail.ends):
		return m.dropLetter(ctx, l, errExpired)
	case mail.next.After(now):
		return m.Store.Write(ctx, func(tx *store.Tx) error { return tx.DelayLetter(l, mail.next, false) })
	}
	if l.Kind == sheaf.LetterReset {
		issued, err := m.issue(ctx, l, mail.secret)
		if err != nil {
			return err
		}
		if !issued {
			return m.settleLetter(ctx, l)
		}
	}
	_, err = m.Server.Send(ctx, []sheaf.User{mail.person}, mail.text)
	switch {
	case err == nil:
		m.mails.WithLabelValues(sent).Inc()
		return m.Store.Write(ctx, func(tx *store.Tx) error { return tx.RecordLetter(l, mail.rates, m.Now()) })
	case permanent(err):
		return m.dropLetter(ctx, l, without(err, mail.secret))
	}
	m.mails.WithLabelValues(postponed).Inc()
	due := m.Now().Add(restAfter(l.Tries))
	return errors.Join(without(err, mail.secret), m.Store.Write(ctx, func(tx *store.Tx) error { return tx.DelayLetter(l, due, true) }))
}

// without returns the error without the secret: a mail server may repeat a line of the mail in its answer.
func without(err error, secret string) error {
	if secret == "" || !strings.Contains(err.Error(), secret) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), secret, "redacted"))
}

// newToken returns 256 random bits as text for a link.
func (m *Mailer) newToken() (string, error) {
	random := make([]byte, 32)
	if _, err := io.ReadFull(m.Random, random); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(random), nil
}

// issue stores the hash of the token of a reset. It returns false if the reset has ended, or a newer one was mailed.
func (m *Mailer) issue(ctx context.Context, l store.Letter, token string) (issued bool, err error) {
	hash := sha256.Sum256([]byte(token))
	err = m.Store.Write(ctx, func(tx *store.Tx) (err error) {
		issued, err = tx.IssueReset(l, hash[:])
		return err
	})
	return issued, err
}

// compose writes the mail. Its text is nil if there is no longer a reason for it.
func (m *Mailer) compose(ctx context.Context, l store.Letter) (mail toPerson, err error) {
	plain, err := m.Box.OpenLetter(string(l.Kind), l.ID, l.Sealed)
	if err != nil {
		m.Log.Warn("a mail was dropped, because it does not open with this master key", about(l)...)
		return mail, nil
	}
	said, err := sheaf.ReadLetter(plain)
	if err != nil {
		return mail, err
	}
	if l.Kind == sheaf.LetterReset { // made just before it is sent, so that it is stored nowhere
		if said.Token, err = m.newToken(); err != nil {
			return mail, err
		}
	}
	err = m.Store.Read(ctx, func(r *store.Reader) (err error) {
		mail = toPerson{}
		if l.Kind == sheaf.LetterInvitation {
			err = m.invite(r, l, said, &mail)
		} else {
			err = m.toMember(r, l, said, &mail)
		}
		if sheaf.KindOf(err) == sheaf.NotFound {
			mail.text, err = nil, nil // it was deleted
		}
		if err != nil || mail.text == nil {
			return err
		}
		every := lettersOfKind
		every.Name = string(l.Kind) + " of all"
		mail.rates = append(mail.rates, every)
		mail.next, err = r.NextMail(mail.rates)
		return err
	})
	if err != nil {
		return toPerson{}, fmt.Errorf("read what a mail to a person says: %w", err)
	}
	return mail, nil
}

// invite writes the mail of an invitation, if the invitation is open.
func (m *Mailer) invite(r *store.Reader, l store.Letter, said sheaf.Letter, mail *toPerson) error {
	hash := sha256.Sum256([]byte(said.Token))
	ws, i, err := r.Invitation(hash[:], m.Now())
	if err != nil {
		return err
	}
	w, err := r.Workspace(ws)
	if err != nil {
		return err
	}
	by, err := r.User(i.InvitedBy)
	if err != nil {
		return err
	}
	who := cmp.Or(by.Name, emailOf(by), "An owner")
	mail.person, mail.secret, mail.ends = sheaf.User{Email: &i.Email}, said.Token, i.ExpiresAt
	var body strings.Builder
	fmt.Fprintf(&body, "%s invites you to the workspace %s, as %s.\n\n", oneLine(who), quoted(w.Name), i.Role.Phrase())
	fmt.Fprintf(&body, "Open this link to join. It works once, until %s:\n%s/invite/%s\n\n", moment(i.ExpiresAt), m.Base, said.Token)
	fmt.Fprintf(&body, "The invitation was made %s%s, an owner of the workspace. If you do not know the person, do nothing: without the link nobody joins in your name.\n",
		moment(i.CreatedAt), " by "+describe(by))
	mail.text = m.letter("invitation-"+string(i.ID), fmt.Sprintf("%s invites you to %s", oneLine(who), quoted(w.Name)), body.String(), []sheaf.User{mail.person})
	one, all := invitationsToOne, invitationsOfWorkspace
	one.Name, all.Name = store.MailRateTo(l.Kind, i.Email), "invitation of "+string(ws)
	mail.rates = []store.MailRate{one, all}
	return nil
}

// toMember writes a mail to a person about their account. There is none for a person who was erased, has no e-mail, or
// is a member of no workspace any more.
func (m *Mailer) toMember(r *store.Reader, l store.Letter, said sheaf.Letter, mail *toPerson) error {
	u, err := r.User(l.User)
	if err != nil || u.Email == nil || u.ErasedAt != nil {
		return err
	}
	in, err := r.EveryMembership(u.ID)
	if err != nil || len(in) == 0 {
		return err
	}
	var subject, body string
	if l.Kind == sheaf.LetterReset {
		if u.PasswordHash == "" {
			return nil
		}
		subject, body = m.resetText(l, said)
		mail.ends = l.At.Add(store.ResetLives)
	} else {
		if subject, body, err = m.noticeText(r, l, said); err != nil || body == "" {
			return err
		}
		mail.ends = l.At.Add(store.LettersKept)
		one := noticesToOne
		one.Name = store.MailRateTo(l.Kind, *u.Email)
		mail.rates = []store.MailRate{one}
	}
	mail.person, mail.secret = u, said.Token
	id := l.ID
	if l.Kind == sheaf.LetterReset { // each try has another link, so it is another mail
		id = sheaf.NewUUID(m.Now(), m.Random)
	}
	mail.text = m.letter(string(l.Kind)+"-"+id, subject, body, []sheaf.User{u})
	return nil
}

// resetText returns the subject and the text of a mail with a link to choose a new password.
func (m *Mailer) resetText(l store.Letter, said sheaf.Letter) (subject, body string) {
	var b strings.Builder
	fmt.Fprintf(&b, "A new password for your account on %s was asked for %s.\n\n", m.Base, where(l.At, said))
	fmt.Fprintf(&b, "Open this link to choose it. It works once, until %s:\n%s/sign-in/reset/%s\n\n", moment(l.At.Add(store.ResetLives)), m.Base, said.Token)
	b.WriteString("A newer mail of this kind replaces the link. Your second factor stays, if you have set one up.\n\n" +
		"If you did not ask for it, do nothing: your password stays as it is. If such mails go on, tell the operator of the server.\n")
	return "Choose a new password", b.String()
}

// noticeText returns the subject and the text of a notice. The text is empty for a notice that this program does not
// know.
func (m *Mailer) noticeText(r *store.Reader, l store.Letter, said sheaf.Letter) (subject, body string, err error) {
	account := m.Base + "/account"
	var b strings.Builder
	switch said.About {
	case sheaf.AboutSignIn:
		subject = "Your account was signed in to from a new browser"
		fmt.Fprintf(&b, "Somebody signed in to your account on %s %s. This browser was not signed in to your account before, or has forgotten it.\n\n", m.Base, where(l.At, said))
		fmt.Fprintf(&b, "If it was you, do nothing.\n\nIf it was not you, change your password at once, which signs out every other browser:\n%s\n", account)
	case sheaf.AboutFactor:
		subject = "A second factor was set up for your account"
		fmt.Fprintf(&b, "A second factor was set up for your account on %s %s. Signing in now takes a code of an authenticator app.\n\n", m.Base, where(l.At, said))
		b.WriteString("If it was you, do nothing.\n\nIf it was not you, somebody knows your password, and you cannot sign in without their app. Ask the operator of the server at once to run sheaf user reset-factors and sheaf user set-password.\n")
	case sheaf.AboutFactorOff:
		subject = "The second factor of your account was removed"
		fmt.Fprintf(&b, "The second factor of your account on %s was removed %s. Every other browser was signed out.\n\n", m.Base, where(l.At, said))
		fmt.Fprintf(&b, "If it was you, do nothing.\n\nIf it was not you, change your password at once, and set up a second factor again:\n%s\n", account)
	case sheaf.AboutApp:
		w, err := r.Workspace(said.Workspace)
		if err != nil {
			return "", "", err
		}
		subject = fmt.Sprintf("An app was connected to %s", quoted(w.Name))
		fmt.Fprintf(&b, "The app %s may now act in your name in the workspace %s on %s. It was allowed %s.\n\n", quoted(said.Key), quoted(w.Name), m.Base, where(l.At, said))
		fmt.Fprintf(&b, "If it was you, do nothing.\n\nIf it was not you, disconnect the app and change your password:\n%s\n", account)
	case sheaf.AboutKey:
		w, err := r.Workspace(said.Workspace)
		if err != nil {
			return "", "", err
		}
		subject = fmt.Sprintf("An API key was created in %s", quoted(w.Name))
		with := ""
		if said.WithKey != "" {
			with = fmt.Sprintf(", with the API key %s", quoted(said.WithKey))
		}
		fmt.Fprintf(&b, "The API key %s was created in your name in the workspace %s on %s%s, %s.\n\n", quoted(said.Key), quoted(w.Name), m.Base, with, where(l.At, said))
		fmt.Fprintf(&b, "If it was you or a program of yours, do nothing.\n\nIf it was not, revoke the key, and the one that created it:\n%s/w/%s/keys\nThen change your password:\n%s\n", m.Base, w.ID, account)
	default:
		return "", "", nil
	}
	b.WriteString("\nYou get this because it concerns your account.\n")
	return subject, b.String(), nil
}

// where says when something happened, and from where.
func where(at time.Time, said sheaf.Letter) string {
	out := moment(at)
	if said.Address != "" {
		out += " from the address " + oneLine(said.Address)
	}
	return out + " (" + sheaf.BrowserName(said.Agent) + ")"
}

func moment(t time.Time) string { return "on " + t.UTC().Format("2 January 2006 at 15:04 UTC") }

// quoted returns a text that a person wrote, within quotation marks and in one line.
func quoted(s string) string { return fmt.Sprintf("%q", oneLine(s)) }

// oneLine returns the text without control characters, so that nobody adds lines to a mail.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x2028 || r == 0x2029 || r == 0x85 }), " ")
}

// describe returns the name and the e-mail of a person.
func describe(u sheaf.User) string {
	email := emailOf(u)
	if u.Name == "" || email == "" {
		return oneLine(cmp.Or(u.Name, email, "an owner"))
	}
	return oneLine(u.Name) + " (" + email + ")"
}

func emailOf(u sheaf.User) string {
	if u.Email == nil {
		return ""
	}
	return *u.Email
}

// about returns what the log says of a mail: neither the e-mail nor the text.
func about(l store.Letter) []any {
	out := []any{"kind", string(l.Kind)}
	if l.User != "" {
		return append(out, "user_id", string(l.User))
	}
	return append(out, "workspace_id", string(l.Workspace), "invitation_id", string(l.Invitation))
}

// dropLetter gives up a mail to a person.
func (m *Mailer) dropLetter(ctx context.Context, l store.Letter, why error) error {
	m.mails.WithLabelValues(dropped).Inc()
	m.Log.Warn("gave up a mail to a person", append(about(l), "error", why)...)
	return m.settleLetter(ctx, l)
}

func (m *Mailer) settleLetter(ctx context.Context, l store.Letter) error {
	return m.Store.Write(ctx, func(tx *store.Tx) error { return tx.SettleLetter(l) })
}
