package browser

import (
	"testing"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/oidctest"
)

// atProvider signs in on the provider's page, which the tab shows.
func (b *tab) atProvider(p *oidctest.Program, email string) {
	b.t.Helper()
	b.await("!!document.querySelector('[name=" + p.LoginField + "]')")
	b.fill("[name="+p.LoginField+"]", email)
	b.fill("[name="+p.PasswordField+"]", oidctest.Password)
	b.click("button[type=submit]")
}

// D190: a person accepts an invitation with the account at a provider, and signs in with it, in a real browser. An account with a
// password asks for it once.
func TestOIDC_InvitationSignInAndBinding(t *testing.T) {
	t.Parallel()
	port, err := sheaftest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	at := oidctest.Zitadel(t, "http://127.0.0.1:"+port+"/sign-in/provider/callback", "ada@example.com", "grace@example.com", "eve@example.com")
	s := startService(t, append(at.Flags(), "--addr", "127.0.0.1:"+port)...)
	owner := setUp(t, s)
	owner.click("=Members")
	owner.arrive("Members")
	owner.click("=Invite someone")
	owner.fill("dialog [name=email]", "grace@example.com")
	owner.click("=Create link")
	owner.see(".secret code")
	link, _ := ask[string](owner, "document.querySelector('.secret code').innerText")

	grace := newTab(t, s)
	grace.withoutScripts()
	heading := func(b *tab, h string) {
		b.t.Helper()
		b.await("document.querySelector('h1')?.innerText === " + quote(h))
	}
	grace.open(link)
	heading(grace, "Join My workspace")
	grace.click("#provider")
	grace.atProvider(at, "grace@example.com")
	heading(grace, "My workspace")
	grace.open("/account")
	heading(grace, "Account")

	eve := newTab(t, s)
	eve.open("/sign-in")
	eve.arrive("Sign in")
	eve.click("#provider")
	eve.atProvider(at, "eve@example.com")
	eve.arrive("Sign in")
	eve.read("Signing in with Example ID did not work.")

	ada := newTab(t, s)
	ada.open("/account")
	ada.arrive("Sign in")
	ada.click("#provider")
	ada.atProvider(at, "ada@example.com")
	ada.arrive("Enter your password once")
	ada.shot("sign-in-bind")
	ada.fill("[name=password]", "wrong password")
	ada.click("=Sign in")
	ada.read("The password is wrong.")
	ada.fill("[name=password]", password)
	ada.click("=Sign in")
	ada.arrive("Account")
	ada.signOut()
	ada.click("#provider")
	ada.atProvider(at, "ada@example.com")
	ada.arrive("My workspace")
}
