package browser

import (
	"io"
	"mime/quotedprintable"
	"regexp"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/smtptest"
)

var mailedReset = regexp.MustCompile(`\n(http://\S+/sign-in/reset/\S+)\r?\n`)

// D192: a person who forgot the password asks for a link, gets it by mail, opens it, chooses a new password, and signs in
// with it.
func TestReset_ByMail(t *testing.T) {
	t.Parallel()
	post := smtptest.Start(t, smtptest.Config{})
	port, err := sheaftest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	s := startService(t, "--addr", "127.0.0.1:"+port, "--public-url", "http://127.0.0.1:"+port, "--smtp-url", "smtp://127.0.0.1:"+post.Port+"?from=sheaf@example.com")
	owner := setUp(t, s)

	b := newTab(t, s)
	b.open("/account")
	b.arrive("Sign in")
	b.click("=Forgot your password?")
	b.arrive("Forgot your password?")
	b.shot("forgot")
	b.fill("[name=email]", "ada@example.com")
	b.click("=Send the link")
	b.arrive("Look into your mail")
	b.read("a link is on its way")
	b.shot("forgot-sent")
	sheaftest.Eventually(t, "the link is mailed", func() bool { return len(post.Letters()) == 1 })
	body := post.Letters()[0].Body
	text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(body[strings.Index(body, "\r\n\r\n"):])))
	if err != nil {
		t.Fatal(err)
	}
	link := mailedReset.FindStringSubmatch(string(text))
	if link == nil {
		t.Fatalf("no link in %s", text)
	}

	b.open(link[1])
	b.arrive("Choose a new password")
	b.shot("reset")
	b.fill("[name=password]", "another good one")
	b.fill("[name=again]", "another bad one")
	b.click("=Change password")
	b.read("The two passwords differ.")
	b.fill("[name=password]", "another good one")
	b.fill("[name=again]", "another good one")
	b.click("=Change password")
	b.arrive("Sign in")
	b.read("Your password is changed. Sign in with the new one.")
	b.signInHere()
	b.read("The e-mail or the password is wrong.")
	b.fill("[name=password]", "another good one")
	b.click("form[action$='/sign-in'] button.primary")
	b.arrive("My workspace")

	b.open(link[1])
	b.arrive("This link is closed")
	b.shot("reset-closed")
	owner.open("/account")
	owner.arrive("Sign in")
	owner.shot("sign-in-with-mail")
}
