package mail_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/mail"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/smtptest"
	"sheaf.dev/internal/store"
)

const (
	oldPassword = "the old password"
	newPassword = "the new password"
	firefox     = "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"
)

// office is a workspace with an owner who has a password, on a server that mails people.
type office struct {
	*testing.T
	api    *apitest.API
	app    *app.App
	server *smtptest.Server
	log    sheaftest.Output
	owner  app.Caller
	seen   int // letters that the test has looked at
}

var ada = app.SignIn{Email: "ada@example.com", Password: oldPassword, Address: "192.0.2.1", Agent: firefox}

// eachOffice runs the test on SQLite, and on two nodes with PostgreSQL. The clock stands still.
func eachOffice(t *testing.T, play func(o *office)) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Freeze()
		ws := a.Workspace(sheaf.Business, func(in *app.NewWorkspace) { in.Name, in.OwnerEmail = "Häuser", ada.Email })
		o := &office{T: t, api: a, server: smtptest.Start(t, smtptest.Config{}), owner: app.Caller{Workspace: ws.ID, User: ws.Owner, Role: sheaf.Owner, Plan: sheaf.Business}}
		o.app = app.New(app.Config{Store: a.Store, Now: a.Clock.Now, Random: rand.Reader, Webhooks: app.Webhooks{Box: a.Webhooks.Box}, Mails: true,
			Address: "https://sheaf.example.com", PasswordCost: app.PasswordCost{Passes: 1, Memory: 64, Threads: 1}})
		_, err := o.app.Operator().SetPassword(t.Context(), ada.Email, oldPassword)
		must(t, err)
		must(t, o.app.Rename(t.Context(), app.Session{User: sheaf.User{ID: o.owner.User}}, "Ada Löwe", sheaf.Opt[string]{}))
		play(o)
		if broken := a.Doctor(); len(broken) > 0 {
			t.Errorf("the doctor finds %q", broken)
		}
	})
}

// round runs one round of a Mailer that has just started.
func (o *office) round() error {
	return mail.New(mail.Config{Store: o.api.Store, Log: slog.New(slog.NewTextHandler(&o.log, nil)), Now: o.api.Clock.Now, Base: "https://sheaf.example.com",
		Box: o.api.Webhooks.Box, Random: rand.Reader, Server: mail.Server{Host: o.server.Host, Port: o.server.Port, From: "sheaf@example.com"}}).Round(context.Background())
}

// gets sends what is due, and checks to whom the new letters went. It returns the letters.
func (o *office) gets(when string, want ...string) (letters []letter) {
	o.Helper()
	must(o, o.round())
	all := o.server.Letters()
	var got []string
	for _, l := range all[o.seen:] {
		got = append(got, strings.Join(l.To, " "))
		letters = append(letters, read(o, l.Body))
	}
	o.seen = len(all)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		o.Fatalf("%s, letters went to %q, want %q\n%s", when, got, want, o.log.String())
	}
	return letters
}

func (l letter) has(t testing.TB, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(l.text, part) {
			t.Errorf("%q is not in\n%s", part, l.text)
		}
	}
}

var (
	resetLink      = regexp.MustCompile(`\nhttps://sheaf\.example\.com/sign-in/reset/([\w-]{43})\r?\n`)
	invitationLink = regexp.MustCompile(`\nhttps://sheaf\.example\.com/invite/([\w-]{43})\r?\n`)
)

// token returns the token of the link in the letter.
func (l letter) token(t testing.TB, link *regexp.Regexp) string {
	t.Helper()
	m := link.FindAllStringSubmatch(l.text, -1)
	if len(m) != 1 {
		t.Fatalf("%d links in\n%s", len(m), l.text)
	}
	return m[0][1]
}

func (o *office) ask(email string) {
	o.Helper()
	must(o, o.app.AskReset(o.Context(), email, app.Browser{Address: "203.0.113.7", Agent: firefox}))
}

// resets asks for a reset, and returns the token of the link.
func (o *office) resets() string {
	o.Helper()
	o.ask(ada.Email)
	return o.gets("after asking", ada.Email)[0].token(o, resetLink)
}

// signIn gives the password in a browser, and returns the session.
func (o *office) signIn(in app.SignIn) (app.NewSession, app.Session) {
	o.Helper()
	n, err := o.app.SignIn(o.Context(), in, "")
	must(o, err)
	s, err := o.app.Session(o.Context(), n.Token)
	must(o, err)
	return n, s
}

// D192: a reset is mailed with what to know about it, works once, ends every session, and leaves nothing of the
// link in the store.
func TestPeople_Reset(t *testing.T) {
	eachOffice(t, func(o *office) {
		n, _ := o.signIn(ada)
		o.gets("after signing in", ada.Email)
		o.ask("ADA@example.com")
		o.gets("after asking", ada.Email)
		l := read(o, o.server.Letters()[1].Body)
		l.has(o, "was asked for on ", "from the address 203.0.113.7 (Firefox on Linux)", "works once", "do nothing: your password stays as it is")
		if got := l.subject(o); got != "Choose a new password" {
			o.Errorf("the subject is %q", got)
		}
		token := l.token(o, resetLink)
		for range 2 { // looking does not use it up
			if u, err := o.app.Reset(o.Context(), token); err != nil || *u.Email != ada.Email {
				o.Fatalf("%+v, %v", u, err)
			}
		}
		if err := o.app.ResetPassword(o.Context(), token, "short", app.Browser{}); sheaf.KindOf(err) != sheaf.Invalid {
			o.Errorf("a short password: %v", err)
		}
		must(o, o.app.ResetPassword(o.Context(), token, newPassword, app.Browser{Address: "203.0.113.7"}))
		if _, err := o.app.Session(o.Context(), n.Token); sheaf.KindOf(err) != sheaf.Unauthorized {
			o.Errorf("the session before: %v", err)
		}
		if err := o.app.ResetPassword(o.Context(), token, "a third password", app.Browser{}); sheaf.KindOf(err) != sheaf.NotFound {
			o.Errorf("used twice: %v", err)
		}
		if _, err := o.app.SignIn(o.Context(), ada, ""); sheaf.KindOf(err) != sheaf.Unauthorized {
			o.Errorf("the old password: %v", err)
		}
		fresh := ada
		fresh.Password = newPassword
		o.signIn(fresh)
		o.gets("a new browser, because a new password forgets them", ada.Email)
		if _, err := o.app.Reset(o.Context(), "x"); sheaf.KindOf(err) != sheaf.NotFound {
			o.Errorf("an unknown link: %v", err)
		}
	})
}

// D192: a link works for an hour, and a newer one replaces it.
func TestPeople_ResetIsReplacedAndExpires(t *testing.T) {
	eachOffice(t, func(o *office) {
		first := o.resets()
		second := o.resets()
		if _, err := o.app.Reset(o.Context(), first); sheaf.KindOf(err) != sheaf.NotFound {
			o.Errorf("the replaced link: %v", err)
		}
		o.api.Clock.Advance(time.Hour - time.Second)
		if _, err := o.app.Reset(o.Context(), second); err != nil {
			o.Errorf("after almost an hour: %v", err)
		}
		o.api.Clock.Advance(time.Second)
		if err := o.app.ResetPassword(o.Context(), second, newPassword, app.Browser{}); sheaf.KindOf(err) != sheaf.NotFound {
			o.Errorf("after an hour: %v", err)
		}
		// A mail that cannot be sent within the hour is dropped: its link would not work.
		o.ask(ada.Email)
		o.server.Away(true)
		if err := o.round(); err == nil {
			o.Error("no mail server is no error")
		}
		o.server.Away(false)
		o.api.Clock.Advance(time.Hour)
		o.gets("an hour too late")
	})
}

// D192: of a hundred asks in an hour three are mailed, and each gets the same answer.
func TestPeople_ThreeResetsAnHour(t *testing.T) {
	eachOffice(t, func(o *office) {
		three := []string{ada.Email, ada.Email, ada.Email}
		for range 50 {
			o.ask(ada.Email)
			o.ask("nobody@example.com")
		}
		letters := o.gets("asked fifty times", three...)
		if letters[0].Get("Message-ID") == letters[1].Get("Message-ID") {
			o.Error("two mails have one Message-ID")
		}
		for range 50 {
			o.ask("Ada@Example.com")
		}
		o.gets("asked a hundred times")
		o.api.Clock.Advance(time.Hour - time.Millisecond)
		o.ask(ada.Email)
		o.gets("within the hour")
		o.api.Clock.Advance(time.Millisecond)
		for range 10 {
			o.ask(ada.Email)
		}
		o.gets("an hour later", three...)
	})
}

// D192: no mail goes to an account without a password, to a person who is in no workspace any more, or to one who was
// erased. A changed password and an erased user end the links and the mails that wait.
func TestPeople_ResetEnds(t *testing.T) {
	eachOffice(t, func(o *office) {
		ctx := o.Context()
		o.join("bob@example.com", sheaf.Editor)
		o.ask("bob@example.com")
		o.gets("without a password")
		_, err := o.app.Operator().SetPassword(ctx, "bob@example.com", oldPassword)
		must(o, err)
		// Set by the operator, before and after the mail.
		o.ask("bob@example.com")
		link := o.gets("after asking", "bob@example.com")[0].token(o, resetLink)
		o.ask("bob@example.com")
		_, err = o.app.Operator().SetPassword(ctx, "bob@example.com", newPassword)
		must(o, err)
		o.gets("a new password of the operator")
		if _, err := o.app.Reset(ctx, link); sheaf.KindOf(err) != sheaf.NotFound {
			o.Errorf("the link from before a new password: %v", err)
		}
		// Changed by the person.
		link = o.resets()
		_, s := o.signIn(ada)
		o.gets("a sign-in", ada.Email)
		_, err = o.app.ChangePassword(ctx, s, oldPassword, newPassword, app.Browser{})
		must(o, err)
		if _, err := o.app.Reset(ctx, link); sheaf.KindOf(err) != sheaf.NotFound {
			o.Errorf("the link from before a changed password: %v", err)
		}
		o.api.Clock.Advance(time.Hour)
		// Removed from the last workspace.
		bob, err := o.app.Operator().User(ctx, "bob@example.com")
		must(o, err)
		o.ask("bob@example.com")
		must(o, o.app.RemoveMember(ctx, o.owner, bob.ID))
		o.gets("a removed person")
		// Erased.
		o.join("eve@example.com", sheaf.Editor)
		_, err = o.app.Operator().SetPassword(ctx, "eve@example.com", oldPassword)
		must(o, err)
		o.ask("eve@example.com")
		link = o.gets("after asking", "eve@example.com")[0].token(o, resetLink)
		o.ask("eve@example.com")
		_, err = o.app.Operator().EraseUser(ctx, "eve@example.com")
		must(o, err)
		o.gets("an erased person")
		if err := o.app.ResetPassword(ctx, link, newPassword, app.Browser{}); sheaf.KindOf(err) != sheaf.NotFound {
			o.Errorf("the link of an erased person: %v", err)
		}
	})
}

// join adds a member without a password.
func (o *office) join(email string, role sheaf.Role) sheaf.UserID {
	o.Helper()
	s := scene{T: o.T, api: o.api, people: map[string]sheaf.UserID{}}
	s.join(o.owner.Workspace, email, role)
	return s.people[email]
}

// D192: an invitation is mailed with its link, which is stored only sealed and only until it is sent. A program that is
// killed after the invitation was acknowledged sends it when it starts again.
func TestPeople_Invitation(t *testing.T) {
	eachOffice(t, func(o *office) {
		ctx := o.Context()
		i, err := o.app.Invite(ctx, o.owner, "bob@example.com", sheaf.Editor, nil)
		must(o, err)
		if got := o.sealedLetters(); len(got) != 1 || bytes.Contains(got[0], []byte(i.Token)) {
			o.Errorf("waiting: %q", got)
		}
		l := o.gets("when invited", "bob@example.com")[0]
		if got := l.token(o, invitationLink); got != i.Token {
			o.Errorf("the mail has the token %s, the page %s", got, i.Token)
		}
		l.has(o, `Ada Löwe invites you to the workspace "Häuser", as an editor.`, "by Ada Löwe (ada@example.com)", "If you do not know the person, do nothing")
		if got := l.subject(o); got != `Ada Löwe invites you to "Häuser"` {
			o.Errorf("the subject is %q", got)
		}
		if got := o.sealedLetters(); len(got) > 0 {
			o.Errorf("after it was sent, %q waits", got)
		}
		_, _, err = o.app.Join(ctx, app.Join{Token: i.Token, Name: "Bob", Password: oldPassword}, "")
		must(o, err)
		o.gets("a new person in their first browser")

		// Of two invitations to one person the newer is mailed, and none that was withdrawn.
		_, err = o.app.Invite(ctx, o.owner, "eve@example.com", sheaf.Member, nil)
		must(o, err)
		newer, err := o.app.Invite(ctx, o.owner, "eve@example.com", sheaf.Member, nil)
		must(o, err)
		if got := o.gets("invited twice", "eve@example.com")[0].token(o, invitationLink); got != newer.Token {
			o.Error("the replaced link was mailed")
		}
		gone, err := o.app.Invite(ctx, o.owner, "kim@example.com", sheaf.Member, nil)
		must(o, err)
		must(o, o.app.Withdraw(ctx, o.owner, gone.ID))
		o.gets("withdrawn")

		// It waits for the mail server as long as the link is valid.
		late, err := o.app.Invite(ctx, o.owner, "kim@example.com", sheaf.Member, nil)
		must(o, err)
		o.server.Away(true)
		if err := o.round(); err == nil {
			o.Error("no mail server is no error")
		}
		o.api.Clock.Advance(3 * 24 * time.Hour)
		o.server.Away(false)
		if got := o.gets("three days later", "kim@example.com")[0].token(o, invitationLink); got != late.Token {
			o.Error("another link was mailed")
		}
	})
}

// sealedLetters returns what is stored of the invitations' mails.
func (o *office) sealedLetters() (out [][]byte) {
	o.Helper()
	must(o, o.api.Store.Read(o.Context(), func(r *store.Reader) error {
		due, err := r.LettersDue(o.api.Clock.Now().Add(time.Hour), 100)
		for _, l := range due {
			out = append(out, l.Sealed)
		}
		return err
	}))
	return out
}

// D192: a workspace mails 20 invitations at once, and then one every three minutes; one address gets 5 at once, and then
// one every 12 minutes. Other workspaces do not wait for them.
func TestPeople_InvitationsAreBounded(t *testing.T) {
	eachOffice(t, func(o *office) {
		ctx := o.Context()
		var want []string
		for n := range 22 {
			email := fmt.Sprintf("p%d@example.com", n)
			_, err := o.app.Invite(ctx, o.owner, email, sheaf.Member, nil)
			must(o, err)
			o.api.Clock.Advance(time.Millisecond)
			want = append(want, email)
		}
		o.gets("22 invitations", want[:20]...)
		other := o.api.Workspace(sheaf.Business, func(in *app.NewWorkspace) { in.OwnerEmail = ada.Email })
		caller := app.Caller{Workspace: other.ID, User: other.Owner, Role: sheaf.Owner, Plan: sheaf.Business}
		_, err := o.app.Invite(ctx, caller, "other@example.com", sheaf.Member, nil)
		must(o, err)
		o.gets("another workspace", "other@example.com")
		o.api.Clock.Advance(3 * time.Minute)
		o.gets("three minutes later", want[20])
		o.gets("at once after it")
		o.api.Clock.Advance(3 * time.Minute)
		o.gets("six minutes later", want[21])
		for range 7 {
			_, err := o.app.Invite(ctx, caller, "often@example.com", sheaf.Member, nil)
			must(o, err)
			must(o, o.round())
		}
		o.gets("invited seven times", "often@example.com", "often@example.com", "often@example.com", "often@example.com", "often@example.com")
		o.api.Clock.Advance(12 * time.Minute)
		o.gets("twelve minutes later", "often@example.com")
	})
}

// D192: people learn of a sign-in from a new browser, not from one that is remembered.
func TestPeople_NewBrowser(t *testing.T) {
	eachOffice(t, func(o *office) {
		n, _ := o.signIn(ada)
		l := o.gets("a new browser", ada.Email)[0]
		l.has(o, "signed in to your account on https://sheaf.example.com on ", "from the address 192.0.2.1 (Firefox on Linux)", "If it was not you, change your password", "https://sheaf.example.com/account")
		known := ada
		known.Device = n.Device
		for range 3 {
			_, s := o.signIn(known)
			must(o, o.app.SignOutEverywhere(o.Context(), s))
		}
		o.gets("a remembered browser")
		known.Device += "x"
		o.signIn(known)
		o.gets("a forged memory", ada.Email)
		for range 30 {
			o.signIn(ada)
		}
		o.gets("thirty more", strings.Fields(strings.Repeat(ada.Email+" ", 8))...)
		o.api.Clock.Advance(6 * time.Minute)
		o.gets("six minutes later", ada.Email)
		// After a day those that still wait are dropped. No more than 20 waited.
		o.api.Clock.Advance(24 * time.Hour)
		o.gets("a day later")
		if n := len(o.sealedLetters()); n > 0 {
			o.Errorf("%d still wait", n)
		}
	})
}

// D192, D191: people learn that a second factor was set up or removed. A reset does not remove it.
func TestPeople_Factor(t *testing.T) {
	eachOffice(t, func(o *office) {
		ctx := o.Context()
		n, s := o.signIn(ada)
		o.gets("a new browser", ada.Email)
		here := app.Browser{Address: "192.0.2.1", Agent: firefox, Device: n.Device}
		offer, err := o.app.OfferFactor(s.User, n.Token, "")
		must(o, err)
		code := func() string {
			o.Helper()
			o.api.Clock.Advance(time.Minute)
			out, err := totp.GenerateCode(offer.Secret, o.api.Clock.Now())
			must(o, err)
			return out
		}
		if _, _, err := o.app.SetUpFactor(ctx, s, app.NewFactor{Sealed: offer.Sealed, Code: code()}, "wrong", here); sheaf.KindOf(err) != sheaf.Unauthorized {
			o.Errorf("a wrong password: %v", err)
		}
		o.gets("a set-up that was refused")
		_, codes, err := o.app.SetUpFactor(ctx, s, app.NewFactor{Sealed: offer.Sealed, Code: code()}, oldPassword, here)
		must(o, err)
		l := o.gets("a second factor", ada.Email)[0]
		l.has(o, "A second factor was set up", "from the address 192.0.2.1 (Firefox on Linux)", "If it was not you", "sheaf user reset-factors")
		for _, secret := range append(codes, offer.Secret, oldPassword) {
			if strings.Contains(l.text, secret) {
				o.Errorf("the mail has the secret %s", secret)
			}
		}

		must(o, o.app.ResetPassword(ctx, o.resets(), newPassword, app.Browser{}))
		in := ada
		in.Password = newPassword
		p, err := o.app.SignIn(ctx, in, "")
		must(o, err)
		if p.Token != "" || p.Pending.Token == "" || p.Pending.SetUp {
			o.Fatalf("after a reset the password alone leads to %+v", p)
		}
		o.gets("before the code")
		out, err := o.app.FinishSignIn(ctx, p.Pending.Token, code(), app.Browser{Agent: firefox}, "")
		must(o, err)
		o.gets("after the code", ada.Email)
		s, err = o.app.Session(ctx, out.Token)
		must(o, err)
		_, err = o.app.TurnOffFactor(ctx, s, newPassword, app.Browser{Address: "192.0.2.9", Agent: firefox})
		must(o, err)
		o.gets("no second factor", ada.Email)[0].has(o, "was removed on ", "192.0.2.9", "If it was not you, change your password")
	})
}

// D192: the person in whose name a key was created learns of it: who did it, with which key, and from where.
func TestPeople_NewKey(t *testing.T) {
	eachOffice(t, func(o *office) {
		ctx := o.Context()
		from := app.Browser{Address: "192.0.2.1", Agent: firefox}
		k, err := o.app.CreateKey(ctx, o.owner, app.NewKey{Name: `Nightly "import"`, Scopes: sheaf.AllScopes, From: from})
		must(o, err)
		l := o.gets("a key", ada.Email)[0]
		l.has(o, `The API key "Nightly \"import\"" was created in your name in the workspace "Häuser"`, "from the address 192.0.2.1 (Firefox on Linux)", "revoke the key", "/w/"+string(o.owner.Workspace)+"/keys")
		if strings.Contains(l.text, *k.Secret) || strings.Contains(l.text, k.Prefix) {
			o.Errorf("a part of the key is in\n%s", l.text)
		}
		byKey := app.Caller{Workspace: o.owner.Workspace, User: o.owner.User, Key: k.Key, Plan: sheaf.Business}
		_, err = o.app.CreateKey(ctx, byKey, app.NewKey{Name: "Second\r\n\r\nline", Scopes: sheaf.AllScopes, From: from})
		must(o, err)
		o.gets("a key of a key", ada.Email)[0].has(o, `The API key "Second line" was`, `with the API key "Nightly \"import\""`)
		_, err = o.app.RotateKey(ctx, o.owner, k.ID, 0)
		must(o, err)
		o.gets("a rotated key")
	})
}

// D192: neither names nor e-mails add a header, a recipient or a line to a mail.
func TestPeople_HostileNames(t *testing.T) {
	eachOffice(t, func(o *office) {
		ctx := o.Context()
		ws := o.api.Workspace(sheaf.Business, func(in *app.NewWorkspace) {
			in.Name, in.OwnerEmail = "W\u2028X\" <b>https://evil.example</b>", "o'neil+%0d%0a=?utf-8?q?x?=@example.com"
		})
		_, err := o.app.Operator().SetPassword(ctx, "o'neil+%0d%0a=?utf-8?q?x?=@example.com", oldPassword)
		must(o, err)
		hostile := "Eve\r\nBcc: victim@example.com\r\n\r\nFree money"
		must(o, o.api.Store.Write(ctx, func(tx *store.Tx) error { // as an import or an older program may have stored it
			u, err := tx.User(ws.Owner)
			u.Name = hostile
			if err != nil {
				return err
			}
			return tx.UpdateUser(u)
		}))
		caller := app.Caller{Workspace: ws.ID, User: ws.Owner, Role: sheaf.Owner, Plan: sheaf.Business}
		_, err = o.app.Invite(ctx, caller, "bob@example.com", sheaf.Member, nil)
		must(o, err)
		l := o.gets("invited", "bob@example.com")[0]
		if l.Get("Bcc") != "" || len(l.Header["To"]) != 1 || strings.Contains(l.text, "\nFree money") || strings.Contains(l.text, "\nBcc") || l.Get("Content-Type") != "text/plain; charset=utf-8" {
			o.Errorf("got %v\n%s", l.Header, l.text)
		}
		if got := l.subject(o); strings.ContainsAny(got, "\r\n\u2028") {
			o.Errorf("the subject is %q", got)
		}
		o.ask("o'neil+%0d%0a=?utf-8?q?x?=@example.com")
		r := o.gets("a reset", "o'neil+%0d%0a=?utf-8?q?x?=@example.com")[0]
		if r.Get("Bcc") != "" || len(r.Header["To"]) != 1 {
			o.Errorf("got %v", r.Header)
		}
		for _, email := range []string{"a@example.com\r\nBcc: b@example.com", "a@example.com, b@example.com", "<a@example.com>", "a b@example.com", "\"a\r\n\"@example.com"} {
			if _, err := o.app.Invite(ctx, caller, email, sheaf.Member, nil); sheaf.KindOf(err) != sheaf.Invalid {
				o.Errorf("%q: %v", email, err)
			}
			o.ask(email)
		}
		o.gets("no address")
	})
}

// D192: no token is in the log, even if the mail server repeats the link in its answer, and neither is an e-mail.
func TestPeople_LogHasNoSecret(t *testing.T) {
	eachOffice(t, func(o *office) {
		i, err := o.app.Invite(o.Context(), o.owner, "bob@example.com", sheaf.Editor, nil)
		must(o, err)
		o.server.RefuseQuoting(451)
		for range 2 {
			if err := o.round(); err == nil || strings.Contains(err.Error(), i.Token) || !strings.Contains(err.Error(), "/invite/redacted") {
				o.Errorf("the error is %v", err)
			}
			o.api.Clock.Advance(5 * time.Minute)
		}
		o.ask(ada.Email)
		if err := o.round(); err == nil || !strings.Contains(err.Error(), "/sign-in/reset/redacted") {
			o.Errorf("the error is %v", err)
		}
		o.server.RefuseQuoting(550)
		o.api.Clock.Advance(time.Hour / 2)
		o.gets("refused for good")
		log := o.log.String()
		if strings.Contains(log, i.Token) || strings.Contains(log, "@example.com") || regexp.MustCompile(`[\w-]{43}`).MatchString(log) {
			o.Errorf("the log is\n%s", log)
		}
		if strings.Count(log, "gave up a mail to a person") != 2 {
			o.Errorf("the log is\n%s", log)
		}
		if got := o.sealedLetters(); len(got) > 0 {
			o.Errorf("%d still wait", len(got))
		}
	})
}

// D192: without mail nothing is stored, and nothing can be asked for.
func TestPeople_WithoutMail(t *testing.T) {
	eachOffice(t, func(o *office) {
		silent := app.New(app.Config{Store: o.api.Store, Now: o.api.Clock.Now, Random: rand.Reader, PasswordCost: app.PasswordCost{Passes: 1, Memory: 64, Threads: 1}})
		if err := silent.AskReset(o.Context(), ada.Email, app.Browser{}); sheaf.KindOf(err) != sheaf.NotFound {
			o.Errorf("asked: %v", err)
		}
		_, err := silent.Invite(o.Context(), o.owner, "bob@example.com", sheaf.Editor, nil)
		must(o, err)
		_, err = silent.SignIn(o.Context(), ada, "")
		must(o, err)
		_, err = silent.CreateKey(o.Context(), o.owner, app.NewKey{Name: "k", Scopes: sheaf.AllScopes})
		must(o, err)
		if got := o.sealedLetters(); len(got) > 0 {
			o.Errorf("%d wait", len(got))
		}
		o.gets("without mail")
	})
}

// D192: a mail that does not open with the master key is dropped, and the log names it.
func TestPeople_AnotherMasterKey(t *testing.T) {
	eachOffice(t, func(o *office) {
		must(o, o.api.Store.Write(o.Context(), func(tx *store.Tx) error {
			return tx.InsertLetter(o.owner.User, sheaf.NewUUID(o.api.Clock.Now(), rand.Reader), []byte("not sealed with this key"), o.api.Clock.Now())
		}))
		o.gets("a mail that does not open")
		if log := o.log.String(); !strings.Contains(log, "does not open with this master key") || !strings.Contains(log, string(o.owner.User)) {
			o.Errorf("the log is %s", log)
		}
		if got := o.sealedLetters(); len(got) > 0 {
			o.Errorf("%d still wait", len(got))
		}
	})
}
