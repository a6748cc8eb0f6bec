package browser

import (
	"io"
	"mime/quotedprintable"
	"regexp"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/oidctest"
	"sheaf.dev/internal/sheaftest/smtptest"
)

// atProvider signs in on the provider's page, which the tab shows.
func (b *tab) atProvider(p *oidctest.Program, email string) {
	b.t.Helper()
	b.await("!!document.querySelector('[name=" + p.LoginField + "]')")
	b.fill("[name="+p.LoginField+"]", email)
	b.fill("[name="+p.PasswordField+"]", oidctest.Password)
	b.click("button[type=submit]")
}

// mailed waits for a mail to that address with a link that contains `part`, and returns the link.
func (s *service) mailed(post *smtptest.Server, to, part string) (link string) {
	s.t.Helper()
	links := regexp.MustCompile(`http://\S+` + part + `\S+`)
	sheaftest.Eventually(s.t, "the link "+part+" is mailed", func() bool {
		for _, l := range post.Letters() {
			text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(l.Body[strings.Index(l.Body, "\r\n\r\n"):])))
			if err != nil {
				s.t.Fatal(err)
			}
			if l.To[0] == to {
				link = links.FindString(string(text))
			}
			if link != "" {
				return true
			}
		}
		return false
	})
	return link
}

// D190, D191, D192, D193: a person accepts a mailed invitation with the account at a provider. Another one sets up a second factor,
// loses the phone and signs in with a recovery code, ends the other session, chooses a new password by mail, and at last uses the
// provider too. The provider is another project's program.
func TestSignIn_ByEveryWay(t *testing.T) {
	t.Parallel()
	const changed = "another good one"
	port, err := sheaftest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address, post := "http://127.0.0.1:"+port, smtptest.Start(t, smtptest.Config{})
	at := oidctest.Zitadel(t, address+"/sign-in/provider/callback", "ada@example.com", "grace@example.com", "eve@example.com")
	s := startService(t, append(at.Flags(), "--addr", "127.0.0.1:"+port, "--public-url", address, "--smtp-url", "smtp://127.0.0.1:"+post.Port+"?from=sheaf@example.com")...)
	ada := setUp(t, s)

	ada.click("=Members")
	ada.arrive("Members")
	ada.click("=Invite someone")
	ada.fill("dialog [name=email]", "grace@example.com")
	ada.click("dialog button.primary")
	ada.see(".secret code")
	grace := newTab(t, s)
	grace.withoutScripts()
	heading := func(b *tab, h string) {
		b.t.Helper()
		b.await("document.querySelector('h1')?.innerText === " + quote(h))
	}
	grace.open(s.mailed(post, "grace@example.com", "/invite/"))
	heading(grace, "Join My workspace")
	grace.click("#provider")
	grace.atProvider(at, "grace@example.com")
	heading(grace, "My workspace")
	grace.open("/account")
	heading(grace, "Account")
	eve := newTab(t, s) // whom nobody invited
	eve.open("/sign-in")
	eve.arrive("Sign in")
	eve.click("#provider")
	eve.atProvider(at, "eve@example.com")
	eve.arrive("Sign in")
	eve.read("Signing in with Example ID did not work.")

	ada.open("/account")
	ada.arrive("Account")
	ada.click("=Set up a second factor")
	ada.arrive("Set up a second factor")
	phone := ada.readSecret()
	ada.shot("second-factor")
	phone.give("=Turn on", "Keep your recovery codes")
	codes := ada.readRecoveryCodes()
	ada.shot("recovery-codes")
	ada.click("=I have kept them")
	ada.arrive("Account")
	ada.read("10 recovery codes left")
	ada.picture("account-second-factor")
	ada.signOut()
	ada.shot("sign-in-with-mail")
	ada.signInHere()
	ada.arrive("Enter a code")
	ada.fill("[name=code]", "000000")
	ada.click("=Sign in")
	ada.read("The code is wrong.")
	ada.shot("sign-in-code")
	phone.give("=Sign in", "My workspace")

	other := newTab(t, s) // without the phone
	other.open("/account")
	other.arrive("Sign in")
	other.signInHere()
	other.arrive("Enter a code")
	other.click("=Use a recovery code")
	other.fill("details [name=code]", strings.ToUpper(codes[4]))
	other.click("=Sign in with a recovery code")
	other.arrive("Account")
	other.read("9 recovery codes left")
	other.click("form[action*='/account/sessions/'] button")
	other.await("document.readyState === 'complete' && !document.querySelector(\"form[action*='/account/sessions/']\")")
	ada.open("/account")
	ada.arrive("Sign in")

	ada.click("=Forgot your password?")
	ada.arrive("Forgot your password?")
	ada.shot("forgot")
	ada.fill("[name=email]", "ada@example.com")
	ada.click("=Send the link")
	ada.arrive("Look into your mail")
	ada.read("a link is on its way")
	ada.shot("forgot-sent")
	link := s.mailed(post, "ada@example.com", "/sign-in/reset/")
	ada.open(link)
	ada.arrive("Choose a new password")
	ada.shot("reset")
	ada.fill("[name=password]", changed)
	ada.fill("[name=again]", "another bad one")
	ada.click("=Change password")
	ada.read("The two passwords differ.")
	ada.fill("[name=password]", changed)
	ada.fill("[name=again]", changed)
	ada.click("=Change password")
	ada.arrive("Sign in")
	ada.read("Your password is changed. Sign in with the new one.")
	other.open("/account")
	other.arrive("Sign in") // the new password ended this session
	other.open(link)
	other.arrive("This link is closed")
	other.shot("reset-closed")
	ada.signInHere()
	ada.read("The e-mail or the password is wrong.")
	ada.fill("[name=password]", changed)
	ada.click("form[action$='/sign-in'] button[type=submit]")
	ada.arrive("Enter a code") // the second factor is still needed
	phone.give("=Sign in", "My workspace")

	ada.open("/account")
	ada.arrive("Account")
	ada.fill("[name=proof]", changed)
	ada.click("=New recovery codes")
	ada.arrive("Keep your recovery codes")
	if fresh := ada.readRecoveryCodes(); fresh[0] == codes[0] {
		t.Error("the recovery codes are not new")
	}
	ada.click("=I have kept them")
	ada.arrive("Account")
	ada.fill("[name=proof]", changed)
	ada.click("=Turn off")
	ada.read("Second factor turned off.")
	ada.signOut()
	ada.click("#provider")
	ada.atProvider(at, "ada@example.com")
	ada.arrive("Enter your password once")
	ada.shot("sign-in-bind")
	ada.fill("[name=password]", "wrong password")
	ada.click("=Sign in")
	ada.read("The password is wrong.")
	ada.fill("[name=password]", changed)
	ada.click("=Sign in")
	ada.arrive("My workspace")
	ada.signOut()
	ada.click("#provider")
	ada.atProvider(at, "ada@example.com")
	ada.arrive("My workspace")
}
