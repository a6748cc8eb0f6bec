package crash

import (
	"io"
	"mime/quotedprintable"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/sheaftest/smtptest"
)

// D192: a server that is killed right after it showed an invitation and answered a forgotten password mails both links
// when it is started again.
func TestKill_MailsToPeopleAreSent(t *testing.T) {
	for name, database := range map[string]func(*testing.T) string{
		"SQLite":     func(*testing.T) string { return "" },
		"PostgreSQL": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, post := newProgram(t, database(t)), smtptest.Start(t, smtptest.Config{})
			ws := p.Ask(t, "workspace", "create", "--name", "Acme", "--plan", "business", "--owner-email", "ada@example.com")["id"].(string)
			set := p.Command("user", "set-password", "ada@example.com")
			set.Stdin = strings.NewReader("long enough\n")
			if out, err := set.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			flags := []string{"--public-url", "http://docs.example.com", "--smtp-url", "smtp://127.0.0.1:" + post.Port + "?from=sheaf@example.com"}
			s := p.Start(t, flags...)
			jar, err := cookiejar.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			send := func(path string, form url.Values) string {
				t.Helper()
				res, err := (&http.Client{Jar: jar}).PostForm(s.URL+path, form)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				body, err := io.ReadAll(res.Body)
				if err != nil || res.StatusCode != http.StatusOK {
					t.Fatalf("%s: %d %s %v", path, res.StatusCode, body, err)
				}
				return string(body)
			}
			send("/sign-in", url.Values{"email": {"ada@example.com"}, "password": {"long enough"}})
			post.Away(true) // what was not sent before the kill is sent after it
			page := send("/w/"+ws+"/members/invite", url.Values{"email": {"bob@example.com"}, "role": {"editor"}})
			send("/sign-in/forgot", url.Values{"email": {"ada@example.com"}})
			s.Kill()
			post.Away(false)
			s = p.Start(t, flags...)
			link := regexp.MustCompile(`<code>(http://docs\.example\.com/invite/[\w-]{43})</code>`).FindStringSubmatch(page)
			if link == nil {
				t.Fatalf("no link in %s", page)
			}
			sheaftest.Eventually(t, "the invitation and the reset are mailed", func() bool {
				invited, reset := false, false
				for _, l := range post.Letters() {
					text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(l.Body[strings.Index(l.Body, "\r\n\r\n"):])))
					if err != nil {
						t.Fatal(err)
					}
					invited = invited || strings.Contains(string(text), link[1]) && l.To[0] == "bob@example.com"
					reset = reset || strings.Contains(string(text), "http://docs.example.com/sign-in/reset/") && l.To[0] == "ada@example.com"
				}
				return invited && reset
			})
		})
	}
}
