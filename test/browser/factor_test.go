package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/hotp"
)

// authenticator shows the codes of a secret.
type authenticator struct {
	b      *tab
	secret string
	last   int64 // step of the last code, which is not accepted again
}

// give types codes and sends them until the page with that heading comes: on a slow machine a code may be too old when it
// arrives.
func (a *authenticator) give(button, heading string) {
	a.b.t.Helper()
	for range 4 {
		a.last = max(time.Now().Unix()/30, a.last+1)
		code, err := hotp.GenerateCode(a.secret, uint64(a.last))
		if err != nil {
			a.b.t.Fatal(err)
		}
		a.b.fill("[name=code]", code)
		if asked, _ := ask[bool](a.b, "!!document.querySelector('[name=current]')"); asked {
			a.b.fill("[name=current]", password)
		}
		// The page may show the refusal of an earlier code. The answer is the page without this field.
		ask[bool](a.b, "document.querySelector('[name=code]').dataset.sent = true")
		a.b.click(button)
		a.b.until("an answer to the code", "!document.querySelector('[data-sent]') && document.readyState === 'complete' && (document.querySelector('h1')?.innerText === "+quote(heading)+
			" || document.body.innerText.includes('The code is wrong'))")
		if there, _ := ask[bool](a.b, "document.querySelector('h1')?.innerText === "+quote(heading)); there {
			return
		}
	}
	a.b.t.Fatalf("no code led to the page %s", heading)
}

// readSecret reads the secret that the page shows. The QR code must be there: the policy of the page lets it load.
func (b *tab) readSecret() *authenticator {
	b.t.Helper()
	b.until("the QR code", "document.querySelector('img.qr')?.naturalWidth > 100")
	shown, _ := ask[string](b, "document.querySelector('#factor-secret').innerText")
	return &authenticator{b: b, secret: strings.ReplaceAll(shown, " ", "")}
}

// readRecoveryCodes reads the ten codes that the page shows once.
func (b *tab) readRecoveryCodes() []string {
	b.t.Helper()
	b.until("ten recovery codes", "document.querySelectorAll('#recovery-codes code').length === 10")
	shown, _ := ask[string](b, "[...document.querySelectorAll('#recovery-codes code')].map((c) => c.innerText).join(' ')")
	return strings.Fields(shown)
}

// signOut signs out with the menu.
func (b *tab) signOut() {
	b.t.Helper()
	b.click("button.avatar")
	b.click("=Sign out")
	b.arrive("Sign in")
}

// D191: the second factor works without scripts, and a server that requires a second factor leads a person to set it up.
func TestFactor_RequiredAndWithoutScripts(t *testing.T) {
	t.Parallel()
	s := startService(t, "--require-second-factor")
	b := newTab(t, s)
	b.withoutScripts()
	b.open(s.SetupLink)
	for name, text := range map[string]string{"name": "Ada", "email": "ada@example.com", "password": password, "again": password} {
		b.fill("[name="+name+"]", text)
	}
	b.click("=Finish setup")
	heading := func(h string) { b.t.Helper(); b.await("document.querySelector('h1')?.innerText === " + quote(h)) }
	heading("Set up a second factor")
	b.open("/account")
	heading("Sign in")
	b.fill("[name=email]", "ada@example.com")
	b.fill("[name=password]", password)
	b.click("=Sign in")
	heading("Set up a second factor")
	b.await("document.querySelector('img.qr')?.naturalWidth > 100")
	shown, _ := ask[string](b, "document.querySelector('#factor-secret').innerText")
	code, err := hotp.GenerateCode(strings.ReplaceAll(shown, " ", ""), uint64(time.Now().Unix()/30))
	if err != nil {
		t.Fatal(err)
	}
	b.fill("[name=code]", code)
	b.click("=Turn on")
	heading("Keep your recovery codes")
	recovery, _ := ask[string](b, "document.querySelector('#recovery-codes code').innerText")
	b.click("=I have kept them")
	heading("Account")

	other := newTab(t, s)
	other.withoutScripts()
	other.open("/account")
	other.await("document.querySelector('h1')?.innerText === 'Sign in'")
	other.fill("[name=email]", "ada@example.com")
	other.fill("[name=password]", password)
	other.click("=Sign in")
	other.await("document.querySelector('h1')?.innerText === 'Enter a code'")
	other.click("=Use a recovery code")
	other.fill("details [name=code]", recovery)
	other.click("=Sign in with a recovery code")
	other.await("document.querySelector('h1')?.innerText === 'Account'")
}
