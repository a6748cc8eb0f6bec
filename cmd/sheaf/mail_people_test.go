package main

import (
	"io"
	"io/fs"
	"mime/quotedprintable"
	"net/http"
	netmail "net/mail"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/smtptest"
)

// letterText returns the readable text of a mail.
func letterText(t *testing.T, l smtptest.Letter) string {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(l.Body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// D192: the whole program mails an invitation, a reset and notices. The canaries are every password, code, key, cookie and
// link of the test: none is in the log, a metric, the data folder or a mail, but the link that the mail is for.
func TestServe_MailsPeople(t *testing.T) {
	t.Parallel()
	post := smtptest.Start(t, smtptest.Config{})
	data, metrics := filepath.Join(t.TempDir(), "data"), freeAddress(t)
	s := start(t, "--data", data, "--public-url", "http://docs.example.com", "--metrics-addr", metrics, "--log-level", "debug",
		"--smtp-url", "smtp://127.0.0.1:"+post.Port+"?from=sheaf@example.com")
	secrets := map[string]string{} // by what they are
	here := func(link string) string { return strings.Replace(link, "http://docs.example.com", s.url, 1) }
	part := func(in, pattern string) string {
		t.Helper()
		m := regexp.MustCompile(pattern).FindStringSubmatch(in)
		if m == nil {
			t.Fatalf("%s is not in %s", pattern, in)
		}
		return m[1]
	}
	count := 0
	gets := func(what string) string {
		t.Helper()
		count++
		sheaftest.Eventually(t, what+" is mailed", func() bool { return len(post.Letters()) >= count })
		return letterText(t, post.Letters()[count-1])
	}
	cookies := func(whose string, b *browser) {
		t.Helper()
		at, _ := url.Parse(s.url)
		for _, c := range b.Jar.Cookies(at) {
			secrets[whose+" cookie "+c.Name] = c.Value
		}
	}

	ada := newBrowser(t)
	_, home, _ := ada.send(http.MethodPost, here(printedLink.FindString(s.stdout.String())), url.Values{"name": {"Ada"}, "email": {"ada@example.com"}, "password": {"the first password"}, "again": {"the first password"}})
	workspace := part(home, `^(/w/[0-9a-f-]{36})`)
	secrets["first password"] = "the first password"
	cookies("first", ada)

	// An invitation: the mail and the page have the same link.
	_, _, page := ada.send(http.MethodPost, s.url+workspace+"/members/invite", url.Values{"email": {"bob@example.com"}, "role": {"editor"}})
	link := part(page, `<code>(http://docs\.example\.com/invite/[\w-]{43})</code>`)
	if l := gets("an invitation"); strings.Count(l, link) != 1 || !strings.Contains(l, "Ada invites you") {
		t.Errorf("the page has %s, the mail\n%s", link, l)
	}
	secrets["invitation"] = link[strings.LastIndexByte(link, '/')+1:]
	bob := newBrowser(t)
	bob.send(http.MethodPost, here(link), url.Values{"name": {"Bob"}, "password": {"password of bob"}, "again": {"password of bob"}})
	secrets["bob's password"] = "password of bob"
	cookies("bob's", bob)

	// A key and a second factor.
	_, _, page = ada.send(http.MethodPost, s.url+workspace+"/keys", url.Values{"name": {"Nightly"}, "scope": {"projects:read"}})
	secrets["key"] = part(page, `(shf_[0-9A-Za-z]{46})`)
	if l := gets("a new key"); !strings.Contains(l, `The API key "Nightly" was created in your name`) || !strings.Contains(l, "from the address 127.0.0.1") {
		t.Errorf("the mail is\n%s", l)
	}
	_, _, page = ada.send(http.MethodGet, s.url+"/account/second-factor", nil)
	factor := strings.ReplaceAll(part(page, `<code id="factor-secret">([A-Z2-7 ]+)</code>`), " ", "")
	code, err := totp.GenerateCode(factor, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	_, _, page = ada.send(http.MethodPost, s.url+"/account/second-factor", url.Values{"offer": {part(page, `name="offer" value="([^"]+)"`)}, "code": {code}, "current": {"the first password"}})
	recovery := part(page, `<li><code>([a-z2-7-]{19})</code></li>`)
	secrets["second factor"], secrets["recovery code"] = factor, recovery
	if l := gets("a second factor"); !strings.Contains(l, "A second factor was set up") {
		t.Errorf("the mail is\n%s", l)
	}
	cookies("second", ada)

	// A reset: asked for in another browser, in which the person then signs in with the second factor.
	other := newBrowser(t)
	if _, _, page = other.send(http.MethodPost, s.url+"/sign-in/forgot", url.Values{"email": {"ada@example.com"}}); !strings.Contains(page, "a link is on its way") {
		t.Fatalf("asking is answered by %s", page)
	}
	link = part(gets("a reset"), `\n(http://docs\.example\.com/sign-in/reset/[\w-]{43})\n`)
	secrets["reset"] = link[strings.LastIndexByte(link, '/')+1:]
	other.send(http.MethodGet, here(link), nil)
	if _, at, _ := other.send(http.MethodPost, here(link), url.Values{"password": {"the second password"}, "again": {"the second password"}}); at != "/sign-in" {
		t.Fatalf("the reset leads to %s", at)
	}
	secrets["second password"] = "the second password"
	if _, at, _ := ada.send(http.MethodGet, s.url+"/account", nil); at != "/sign-in" {
		t.Errorf("after the reset the other browser is at %s", at)
	}
	if _, at, _ := other.send(http.MethodPost, s.url+"/sign-in", url.Values{"email": {"ada@example.com"}, "password": {"the second password"}}); at != "/sign-in/code" {
		t.Errorf("after the reset signing in leads to %s", at)
	}
	cookies("pending", other)
	if _, at, _ := other.send(http.MethodPost, s.url+"/sign-in/code", url.Values{"code": {recovery}, "next": {"/account"}}); at != "/account" {
		t.Errorf("the code leads to %s", at)
	}
	if l := gets("a new browser"); !strings.Contains(l, "signed in to your account") {
		t.Errorf("the mail is\n%s", l)
	}
	cookies("third", other)
	if code, _, _ := other.send(http.MethodGet, here(link), nil); code != http.StatusNotFound {
		t.Errorf("the used link gets %d", code)
	}

	figures := body(t, "http://"+metrics+"/metrics")
	if want := `sheaf_mails_total{outcome="sent"} 5`; !strings.Contains(figures, want) {
		t.Errorf("the metrics lack %s", want)
	}
	s.stop(t)
	if len(post.Letters()) != count {
		t.Errorf("%d mails were sent, want %d", len(post.Letters()), count)
	}
	places := map[string]string{"the log": s.stderr.String(), "the metrics": figures}
	for i, l := range post.Letters() {
		places["mail "+string(rune('1'+i))] = l.Body + letterText(t, l)
	}
	for name, content := range filesIn(t, data) {
		places[name] = content
	}
	places["sheaf audit --instance"] = sheafCommand(t, "audit", "--instance", "--data", data).succeeds(t)
	places["sheaf audit"] = sheafCommand(t, "audit", "--data", data).succeeds(t)
	if !strings.Contains(places["sheaf audit --instance"], "recovery_code.used") || !strings.Contains(places["sheaf audit"], "key.created") {
		t.Errorf("the audit logs are %s%s", places["sheaf audit --instance"], places["sheaf audit"])
	}
	if len(secrets) < 12 {
		t.Fatalf("only %d canaries: %v", len(secrets), secrets)
	}
	for what, secret := range secrets {
		for where, text := range places {
			own := what == "invitation" && where == "mail 1" || what == "reset" && where == "mail 4"
			if found := strings.Contains(text, secret); found != own {
				t.Errorf("the %s is in %s: %v", what, where, found)
			}
		}
	}
}

// filesIn returns the files of a folder by their names.
func filesIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		out[filepath.Base(path)] = string(content)
		return err
	})
	if err != nil || len(out) < 2 {
		t.Fatalf("%d files: %v", len(out), err)
	}
	return out
}

// D192: with the public address alone, or the mail server alone, nothing is mailed to people, and the sign-in says whom to
// ask.
func TestServe_MailsPeopleOnlyWithBothSettings(t *testing.T) {
	t.Parallel()
	post := smtptest.Start(t, smtptest.Config{})
	for name, flags := range map[string][]string{
		"no mail server": {"--public-url", "http://docs.example.com"},
		"no address":     {"--smtp-url", "smtp://127.0.0.1:" + post.Port + "?from=sheaf@example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, append(flags, "--data", filepath.Join(t.TempDir(), "data"))...)
			if page := body(t, s.url+"/sign-in"); !strings.Contains(page, "Ask an owner of your workspace, or the operator") || strings.Contains(page, "/sign-in/forgot") {
				t.Errorf("the sign-in is %s", page)
			}
			if code, _, _ := newBrowser(t).send(http.MethodPost, s.url+"/sign-in/forgot", url.Values{"email": {"ada@example.com"}}); code != http.StatusNotFound {
				t.Errorf("asking for a reset gets %d", code)
			}
		})
	}
}
