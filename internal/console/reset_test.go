package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// mailTown is a town whose server mails people, and whose clock the test moves.
type mailTown struct {
	*town
	now time.Time
	log bytes.Buffer
}

func newMailTown(t *testing.T) *mailTown {
	t.Helper()
	w := &mailTown{town: newTown(t), now: time.Now().Truncate(time.Second)}
	clock := func() time.Time { return w.now }
	w.a = app.New(app.Config{Store: w.store, Index: w.index, Now: clock, Random: rand.Reader, PasswordCost: app.PasswordCost{Passes: 1, Memory: 64, Threads: 1},
		Webhooks: testWebhooks(t), Mails: true})
	w.c = New(Config{App: w.a, Log: slog.New(slog.NewTextHandler(&w.log, nil)), Now: clock, Address: "https://docs.example.com"})
	return w
}

// waiting returns the mails that wait, of one kind.
func (w *mailTown) waiting(kind sheaf.LetterKind) (out []store.Letter) {
	w.Helper()
	w.must(w.store.Read(context.Background(), func(r *store.Reader) error {
		all, err := r.LettersDue(w.now, 100)
		for _, l := range all {
			if l.Kind == kind {
				out = append(out, l)
			}
		}
		return err
	}))
	return out
}

// link asks for a reset, and returns the path of the link, which is stored as internal/mail does.
func (w *mailTown) link() string {
	w.Helper()
	w.sendAs("", "/sign-in/forgot", url.Values{"email": {"ada@example.com"}})
	token := rand.Text()
	hash := sha256.Sum256([]byte(token))
	waiting := w.waiting(sheaf.LetterReset)
	w.must(w.store.Write(context.Background(), func(tx *store.Tx) error {
		l := waiting[len(waiting)-1]
		if ok, err := tx.IssueReset(l, hash[:]); err != nil || !ok {
			w.Fatalf("%v, %v", ok, err)
		}
		return tx.SettleLetter(l)
	}))
	return "/sign-in/reset/" + token
}

// wantStatus checks the status of an answer, and that it is a page which tells no address to others and loads nothing
// from elsewhere.
func (w *mailTown) wantStatus(what string, got *httptest.ResponseRecorder, want int) string {
	w.Helper()
	if got.Code != want {
		w.Errorf("%s: %d, want %d\n%s", what, got.Code, want, got.Body)
	}
	h := got.Header()
	if h.Get("Referrer-Policy") != "no-referrer" || h.Get("Cache-Control") != "no-store" || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") {
		w.Errorf("%s has the headers %v", what, h)
	}
	for _, at := range []string{`src="http`, `href="http`, `src="//`, `action="http`} {
		if strings.Contains(got.Body.String(), at) {
			w.Errorf("%s leads to another host by %s", what, at)
		}
	}
	return got.Body.String()
}

// D192: the answer is the same for every e-mail, byte by byte, however often somebody asks.
func TestReset_TheAnswerIsTheSame(t *testing.T) {
	w := newMailTown(t)
	w.wantIn(w.wantStatus("the sign-in", w.ask(http.MethodGet, "/sign-in", ""), http.StatusOK), true, `<a href="/sign-in/forgot">Forgot your password?</a>`)
	w.wantIn(w.wantStatus("the form", w.ask(http.MethodGet, "/sign-in/forgot", ""), http.StatusOK), true, `name="email"`)
	_, err := w.a.Operator().CreateWorkspace(t.Context(), app.NewWorkspace{Name: "New", Plan: sheaf.Business, OwnerEmail: "unset@example.com"})
	w.must(err)
	first := ""
	for range 25 {
		for _, email := range []string{"ada@example.com", "ADA@example.com ", "nobody@example.com", "unset@example.com", "no address", "", strings.Repeat("x", 5000)} {
			got := w.sendAs("", "/sign-in/forgot", url.Values{"email": {email}})
			body := w.wantStatus(email, got, http.StatusOK)
			if first == "" {
				first = body
			}
			if body != first {
				t.Fatalf("the answer for %q is\n%s\nand not\n%s", email, body, first)
			}
		}
	}
	w.wantIn(first, true, "If an account with a password has this e-mail, a link is on its way.")
	if n := len(w.waiting(sheaf.LetterReset)); n != 3 {
		t.Errorf("%d mails wait", n)
	}
}

// D192: the link shows a form, which looking at does not use up. The form works once, signs nobody in, and ends the
// sessions.
func TestReset_OnThePages(t *testing.T) {
	w := newMailTown(t)
	link := w.link()
	for range 3 {
		w.wantIn(w.wantStatus("the link", w.ask(http.MethodGet, link, ""), http.StatusOK), true, "<bdi>ada@example.com</bdi>", `autocomplete="new-password"`)
		if got := w.ask(http.MethodHead, link, ""); got.Code != http.StatusOK {
			t.Errorf("HEAD: %d", got.Code)
		}
	}
	w.wantIn(w.wantStatus("two passwords", w.sendAs("", link, url.Values{"password": {"a new password"}, "again": {"another one"}}), http.StatusBadRequest), true, "The two passwords differ.")
	w.wantIn(w.wantStatus("a short one", w.sendAs("", link, url.Values{"password": {"short"}, "again": {"short"}}), http.StatusBadRequest), true, "at least 8 are needed")
	if got := w.ask(http.MethodPost, link, "", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }); got.Code != http.StatusForbidden {
		t.Errorf("another site: %d", got.Code)
	}
	got := w.sendAs("", link, url.Values{"password": {"a new password"}, "again": {"a new password"}})
	if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/sign-in?done=reset" || len(got.Result().Cookies()) != 0 {
		t.Fatalf("%d, %v", got.Code, got.Header())
	}
	w.wantIn(w.wantStatus("the sign-in", w.ask(http.MethodGet, "/sign-in?done=reset", ""), http.StatusOK), true, "Your password is changed.")
	if got := w.ask(http.MethodGet, "/account", w.owner); got.Code != http.StatusSeeOther {
		t.Errorf("the session before: %d", got.Code)
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		w.wantIn(w.wantStatus("the used link", w.ask(method, link, ""), http.StatusNotFound), true, "This link is closed", `href="/sign-in/forgot"`)
	}
	in := func(password string) int {
		return w.sendAs("", "/sign-in", url.Values{"email": {"ada@example.com"}, "password": {password}}).Code
	}
	if in("long enough") != http.StatusUnauthorized || in("a new password") != http.StatusSeeOther {
		t.Error("the new password does not replace the old one")
	}
	if log := w.log.String(); !strings.Contains(log, "a password was reset") || strings.Contains(log, strings.TrimPrefix(link, "/sign-in/reset/")) || strings.Contains(log, "@example.com") {
		t.Errorf("the log is\n%s", log)
	}
	expired := w.link()
	w.now = w.now.Add(time.Hour)
	w.wantStatus("an expired link", w.ask(http.MethodGet, expired, ""), http.StatusNotFound)
}

// D192: an invitation's page says that the link is mailed, and shows it too. Without mail it says that it is not.
func TestInvite_SaysWhetherItIsMailed(t *testing.T) {
	w := newMailTown(t)
	form := url.Values{"email": {"kim@example.com"}, "role": {"member"}}
	w.wantIn(w.send("/w/{workspace}/members/invite", form).Body.String(), true, "Sheaf mails it to <strong>kim@example.com</strong>.", "https://docs.example.com/invite/")
	if n := len(w.waiting(sheaf.LetterInvitation)); n != 1 {
		t.Errorf("%d mails wait", n)
	}
	silent := newTown(t)
	silent.wantIn(silent.send("/w/{workspace}/members/invite", form).Body.String(), true, "yourself: Sheaf does not mail it.")
}

// D192: without mail, the sign-in says whom to ask, and offers no reset.
func TestReset_WithoutMail(t *testing.T) {
	w := newTown(t)
	w.wantIn(w.ask(http.MethodGet, "/sign-in", "").Body.String(), true, "Ask an owner of your workspace, or the operator of this server")
	w.wantIn(w.ask(http.MethodGet, "/sign-in", "").Body.String(), false, "/sign-in/forgot")
	if got := w.ask(http.MethodGet, "/sign-in/forgot", ""); got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/sign-in" {
		t.Errorf("the form: %d, %v", got.Code, got.Header())
	}
	if got := w.sendAs("", "/sign-in/forgot", url.Values{"email": {"ada@example.com"}}); got.Code != http.StatusNotFound {
		t.Errorf("asking: %d", got.Code)
	}
	got := w.ask(http.MethodGet, "/sign-in/reset/x", "")
	w.wantIn(got.Body.String(), true, "This link is closed")
	w.wantIn(got.Body.String(), false, "/sign-in/forgot")
}

// D192: the console tells where a key was created, and whether a browser is known.
func TestNotices_KnowTheBrowser(t *testing.T) {
	w := newMailTown(t)
	const agent = "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"
	in := func(device string) map[string]string {
		return cookiesOf(w.sendAs("", "/sign-in", url.Values{"email": {"ada@example.com"}, "password": {"long enough"}}, func(r *http.Request) {
			r.Header.Set("User-Agent", agent)
			if device != "" {
				r.AddCookie(&http.Cookie{Name: "sheaf-device", Value: device})
			}
		}))
	}
	said := func() sheaf.Letter {
		t.Helper()
		all := w.waiting(sheaf.LetterNotice)
		l := all[len(all)-1]
		plain, err := testWebhooks(t).Box.OpenLetter(string(l.Kind), l.ID, l.Sealed)
		w.must(err)
		out, err := sheaf.ReadLetter(plain)
		w.must(err)
		return out
	}
	cookies := in("")
	if l := said(); l.About != sheaf.AboutSignIn || l.Agent != agent || l.Address == "" {
		t.Errorf("the notice is %+v", l)
	}
	if len(cookies["sheaf-device"]) == 0 {
		t.Fatalf("the cookies are %v", cookies)
	}
	in(cookies["sheaf-device"])
	if n := len(w.waiting(sheaf.LetterNotice)); n != 1 {
		t.Errorf("after a sign-in with a browser that is known, %d notices wait", n)
	}
	w.now = w.now.Add(time.Second)
	w.send("/w/{workspace}/keys", url.Values{"name": {"Nightly"}, "scope": {"projects:read"}})
	if l := said(); l.About != sheaf.AboutKey || l.Key != "Nightly" || l.Address == "" || l.Workspace != w.caller.Workspace {
		t.Errorf("the notice is %+v", l)
	}
}
