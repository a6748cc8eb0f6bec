package console

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"html"
	"image/color"
	"image/png"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// cookiesOf returns the cookies that an answer sets, by name. A deleted one is "".
func cookiesOf(got *httptest.ResponseRecorder) map[string]string {
	out := map[string]string{}
	for _, c := range got.Result().Cookies() {
		out[c.Name] = c.Value
	}
	return out
}

// withPending adds the cookie of a pending sign-in.
func withPending(token string) func(*http.Request) {
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "sheaf-factor", Value: token}) }
}

// factorTown is a town whose clock the test moves, and the phone of its owner.
type factorTown struct {
	*town
	now    time.Time
	secret string
	codes  []string
	log    bytes.Buffer
}

func newFactorTown(t *testing.T, require bool) *factorTown {
	t.Helper()
	w := &factorTown{town: newTown(t), now: time.Now().Truncate(time.Second)}
	clock := func() time.Time { return w.now }
	w.a = app.New(app.Config{Store: w.store, Index: w.index, Now: clock, Random: rand.Reader, PasswordCost: app.PasswordCost{Passes: 1, Memory: 64, Threads: 1},
		Webhooks: testWebhooks(t), RequireSecondFactor: require})
	w.c = New(Config{App: w.a, Log: slog.New(slog.NewTextHandler(&w.log, nil)), Now: clock})
	return w
}

func (w *factorTown) code(secret string) string {
	w.Helper()
	code, err := totp.GenerateCode(secret, w.now)
	w.must(err)
	return code
}

// next lets time pass until the phone shows another code.
func (w *factorTown) next() string {
	w.now = w.now.Add(time.Minute)
	return w.code(w.secret)
}

// wrong returns a code that is not accepted.
func (w *factorTown) wrong() string {
	w.Helper()
	for _, code := range []string{"000000", "111111", "222222", "333333"} {
		at := func(d time.Duration) string { c, _ := totp.GenerateCode(w.secret, w.now.Add(d)); return c }
		if code != at(-30*time.Second) && code != at(0) && code != at(30*time.Second) {
			return code
		}
	}
	w.Fatal("all codes are right")
	return ""
}

var (
	shownSecret = regexp.MustCompile(`<code id="factor-secret">([A-Z2-7 ]+)</code>`)
	shownCode   = regexp.MustCompile(`<li><code>([a-z2-7-]{19})</code></li>`)
)

// readOffer reads the page that sets up a second factor.
func (w *factorTown) readOffer(page string) url.Values {
	w.Helper()
	m := shownSecret.FindStringSubmatch(page)
	if m == nil {
		w.Fatalf("no secret is shown: %s", page)
	}
	w.secret = strings.ReplaceAll(m[1], " ", "")
	return hidden(page)
}

func (w *factorTown) readCodes(page string) {
	w.Helper()
	w.codes = nil
	for _, m := range shownCode.FindAllStringSubmatch(page, -1) {
		w.codes = append(w.codes, m[1])
	}
	if len(w.codes) != app.RecoveryCodes || len(slices.Compact(slices.Sorted(slices.Values(w.codes)))) != app.RecoveryCodes {
		w.Fatalf("%d recovery codes: %s", len(w.codes), page)
	}
}

// turnOn sets up the second factor of the owner, and signs in anew.
func (w *factorTown) turnOn() {
	w.Helper()
	form := w.readOffer(w.ask(http.MethodGet, "/account/second-factor", w.owner).Body.String())
	form.Set("code", w.code(w.secret))
	form.Set("current", "long enough")
	got := w.sendAs(w.owner, "/account/second-factor", form)
	w.readCodes(got.Body.String())
	w.owner = cookiesOf(got)["sheaf"]
}

// password sends the sign-in form of the owner, and returns the token of the pending sign-in.
func (w *factorTown) password(form url.Values, script ...func(*http.Request)) (*httptest.ResponseRecorder, string) {
	w.Helper()
	form.Set("email", "ada@example.com")
	form.Set("password", "long enough")
	got := w.sendAs("", "/sign-in", form, script...)
	all := cookiesOf(got)
	if all["sheaf"] != "" || all["sheaf-device"] != "" || all["sheaf-factor"] == "" {
		w.Fatalf("after the password: %d, cookies %v", got.Code, all)
	}
	return got, all["sheaf-factor"]
}

// D191: the second factor is set up on the account page, asked for at the sign-in, and turned off, without a script.
func TestFactor_OnThePages(t *testing.T) {
	w := newFactorTown(t, false)
	w.wantIn(w.ask(http.MethodGet, "/account", w.owner).Body.String(), true, "Set up a second factor")
	page := w.ask(http.MethodGet, "/account/second-factor", w.owner).Body.String()
	form := w.readOffer(page)
	w.wantIn(page, false, "http://", "https://") // nothing is asked of another host
	picture := html.UnescapeString(regexp.MustCompile(`<img class="qr" src="([^"]+)"`).FindStringSubmatch(page)[1])
	data, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(picture, "data:image/png;base64,"))
	w.must(err)
	img, err := png.Decode(bytes.NewReader(data))
	w.must(err)
	at := func(i int) color.Color { return color.Gray16Model.Convert(img.At(i, i)) }
	if at(0) != color.White || at(qrMargin*qrModule-1) != color.White || at(qrMargin*qrModule) != color.Black {
		t.Errorf("the QR code begins with %v, %v and %v", at(0), at(qrMargin*qrModule-1), at(qrMargin*qrModule))
	}
	offer, err := w.a.OfferFactor(w.session(w.owner).User, w.owner, form.Get("offer"))
	w.must(err)
	if same, side, err := qrCode(offer.URL); err != nil || string(same) != picture || side != img.Bounds().Dx() || offer.Secret != w.secret {
		t.Errorf("the QR code is not that of the secret: %v", err)
	}

	// A wrong code and a wrong password are told, and the offer stays.
	for want, change := range map[string]url.Values{
		"The code is wrong":              {"code": {w.wrong()}, "current": {"long enough"}},
		"The current password is wrong.": {"code": {w.code(w.secret)}, "current": {"wrong wrong"}},
	} {
		form.Set("code", change.Get("code"))
		form.Set("current", change.Get("current"))
		got := w.sendAs(w.owner, "/account/second-factor", form)
		w.wantIn(got.Body.String(), true, want)
		secret := w.secret
		if w.readOffer(got.Body.String()); got.Code != http.StatusBadRequest || w.secret != secret {
			t.Errorf("%s: %d, another secret: %v", want, got.Code, w.secret != secret)
		}
	}
	form.Set("code", w.code(w.secret))
	form.Set("current", "long enough")
	got := w.sendAs(w.owner, "/account/second-factor", form)
	w.readCodes(got.Body.String())
	first := w.owner
	if w.owner = cookiesOf(got)["sheaf"]; w.ask(http.MethodGet, "/account", first).Code != http.StatusSeeOther {
		t.Error("the old session is open")
	}
	w.wantIn(w.ask(http.MethodGet, "/account", w.owner).Body.String(), true, "10 recovery codes left", "Turn off")
	if got := w.ask(http.MethodGet, "/account/second-factor", w.owner); got.Header().Get("Location") != "/account" {
		t.Errorf("setting up a second one: %d", got.Code)
	}

	// Signing in asks for a code; a recovery code works too.
	got, pending := w.password(url.Values{"next": {"/account"}})
	if to := got.Header().Get("Location"); got.Code != http.StatusSeeOther || to != "/sign-in/code?next=%2Faccount" {
		t.Errorf("%d to %s", got.Code, to)
	}
	asks := w.ask(http.MethodGet, "/sign-in/code?next=%2Faccount", "", withPending(pending)).Body.String()
	w.wantIn(asks, true, "Code of your authenticator app", "Use a recovery code")
	form = hidden(asks)
	form.Del("recovery")
	form.Set("code", w.wrong())
	got = w.sendAs("", "/sign-in/code", form, withPending(pending))
	w.wantIn(got.Body.String(), true, "The code is wrong. Type the code that the app shows now.")
	form.Set("code", w.next())
	got = w.sendAs("", "/sign-in/code", form, withPending(pending))
	all := cookiesOf(got)
	if to := got.Header().Get("Location"); got.Code != http.StatusSeeOther || to != "/account" || all["sheaf"] == "" || all["sheaf-factor"] != "" {
		t.Fatalf("the right code: %d to %s, %v", got.Code, to, all)
	}
	_, pending = w.password(url.Values{})
	got = w.sendAs("", "/sign-in/code", url.Values{"code": {"aaaa-bbbb-cccc-dddd"}, "recovery": {"1"}}, withPending(pending))
	w.wantIn(got.Body.String(), true, "The recovery code is wrong, or was used before.", `<details id="recovery" class="more" open>`)
	if got = w.sendAs("", "/sign-in/code", url.Values{"code": {w.codes[0]}, "recovery": {"1"}}, withPending(pending)); cookiesOf(got)["sheaf"] == "" {
		t.Fatalf("a recovery code: %d %s", got.Code, got.Body)
	}
	w.owner = cookiesOf(got)["sheaf"]
	w.wantIn(w.ask(http.MethodGet, "/account", w.owner).Body.String(), true, "9 recovery codes left")

	// New recovery codes, and turning it off.
	got = w.sendAs(w.owner, "/account/second-factor/codes", url.Values{"proof": {"wrong wrong"}})
	w.wantIn(got.Body.String(), true, "The password is wrong.")
	got = w.sendAs(w.owner, "/account/second-factor/codes", url.Values{"proof": {w.wrong()}})
	w.wantIn(got.Body.String(), true, "The code is wrong.")
	old := w.codes
	w.readCodes(w.sendAs(w.owner, "/account/second-factor/codes", url.Values{"proof": {"long enough"}}).Body.String())
	if slices.ContainsFunc(w.codes, func(s string) bool { return slices.Contains(old, s) }) {
		t.Error("an old recovery code is shown as a new one")
	}
	if got = w.sendAs(w.owner, "/account/second-factor/off", url.Values{"proof": {w.wrong()}}); got.Code != http.StatusBadRequest {
		t.Errorf("turned off by a wrong code: %d", got.Code)
	}
	got = w.sendAs(w.owner, "/account/second-factor/off", url.Values{"proof": {w.next()}})
	if to := got.Header().Get("Location"); to != "/account?done=factor-off" {
		t.Fatalf("turned off: %d to %s %s", got.Code, to, got.Body)
	}
	w.wantIn(w.ask(http.MethodGet, "/account?done=factor-off", cookiesOf(got)["sheaf"]).Body.String(), true, "Second factor turned off.", "Set up a second factor")

	for _, secret := range append(append(old, w.codes...), w.secret, offer.Sealed, pending, w.code(w.secret)) {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	if !strings.Contains(w.log.String(), "a code of a second factor was refused") {
		t.Error("the log does not say that codes were refused")
	}
}

func (w *factorTown) session(token string) app.Session {
	w.Helper()
	s, err := w.a.Session(w.Context(), token)
	w.must(err)
	return s
}

// D191: a person who has only given the password opens nothing, changes nothing, and cannot set up another second factor.
func TestFactor_ThePasswordAloneOpensNothing(t *testing.T) {
	w := newFactorTown(t, false)
	w.turnOn()
	_, pending := w.password(url.Values{})
	before := w.everything()
	for _, r := range w.c.allRoutes() {
		if r.who.level <= byAnyone {
			continue
		}
		got := w.ask(r.method, w.address(r.path), pending, withPending(pending))
		to := got.Header().Get("Location")
		if r.method == http.MethodGet && (got.Code != http.StatusSeeOther || !strings.HasPrefix(to, "/sign-in")) || r.method == http.MethodPost && got.Code != http.StatusUnauthorized {
			t.Errorf("%s %s: %d to %q", r.method, r.path, got.Code, to)
		}
	}
	if got := w.ask(http.MethodGet, "/sign-in/set-up", "", withPending(pending)); got.Header().Get("Location") != "/sign-in/code?next=" {
		t.Errorf("setting up another: %d", got.Code)
	}
	user := w.session(w.owner).User
	offer, err := w.a.OfferFactor(user, pending, "")
	w.must(err)
	got := w.sendAs("", "/sign-in/set-up", url.Values{"offer": {offer.Sealed}, "code": {w.code(offer.Secret)}}, withPending(pending))
	if all := cookiesOf(got); got.Code != http.StatusConflict || all["sheaf"] != "" {
		t.Errorf("a second factor in place of a code: %d %v", got.Code, all)
	}
	// Another browser, which has the code and not the cookie, is asked for the password.
	got = w.sendAs("", "/sign-in/code", url.Values{"code": {w.next()}})
	w.wantIn(got.Body.String(), true, "Give your password again.", `action="/sign-in"`)
	if got.Code != http.StatusUnauthorized || cookiesOf(got)["sheaf"] != "" {
		t.Errorf("without the cookie: %d", got.Code)
	}
	if got := w.ask(http.MethodGet, "/sign-in/code?next=%2Faccount", ""); got.Header().Get("Location") != "/sign-in?next=%2Faccount" {
		t.Errorf("the page without the cookie: %d %v", got.Code, got.Header())
	}
	// After ten minutes the cookie is worth nothing.
	w.now = w.now.Add(10 * time.Minute)
	if got = w.sendAs("", "/sign-in/code", url.Values{"code": {w.code(w.secret)}}, withPending(pending)); got.Code != http.StatusUnauthorized || cookiesOf(got)["sheaf"] != "" {
		t.Errorf("ten minutes later: %d", got.Code)
	}
	if w.everything() != before {
		t.Error("something was changed")
	}
}

// D191: after five wrong codes the page says how long to wait.
func TestFactor_FiveWrongCodes(t *testing.T) {
	w := newFactorTown(t, false)
	w.turnOn()
	_, pending := w.password(url.Values{})
	for range 5 {
		w.sendAs("", "/sign-in/code", url.Values{"code": {w.wrong()}}, withPending(pending))
	}
	got := w.sendAs("", "/sign-in/code", url.Values{"code": {w.next()}}, withPending(pending))
	w.wantIn(got.Body.String(), true, "5 wrong codes were given. No code is accepted for 15 minutes: try again in 14m0s.")
	if got.Code != http.StatusTooManyRequests || got.Header().Get("Retry-After") != "840" || cookiesOf(got)["sheaf"] != "" {
		t.Errorf("%d %v", got.Code, got.Header())
	}
}

// D191: a form that was interrupted comes back after the code, on a page and in the dialog.
func TestFactor_KeepsAnInterruptedForm(t *testing.T) {
	w := newFactorTown(t, false)
	w.turnOn()
	before := w.everything()
	for _, script := range [][]func(*http.Request){nil, {byDialog}} {
		asked := w.sendAs("", "/w/{workspace}/folders", url.Values{"name": {"typed & kept"}, "type": {"project"}}, script...)
		got, pending := w.password(hidden(asked.Body.String()), script...)
		page := got.Body.String()
		if got.Code != http.StatusOK || !strings.Contains(page, "Code of your authenticator app") || strings.Contains(page, "<html") != (script == nil) {
			t.Fatalf("%d %s", got.Code, page)
		}
		form := hidden(page)
		for name := range form {
			form.Set(name, form.Get(name)) // the page has two forms
		}
		form.Set("code", w.next())
		got = w.sendAs("", "/sign-in/code", form, append(script, withPending(pending))...)
		if got.Code != http.StatusConflict || !strings.Contains(got.Body.String(), "typed &amp; kept") || cookiesOf(got)["sheaf"] == "" {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	}
	if w.everything() != before {
		t.Error("the form changed something")
	}
}

// D191: if a second factor is required, a person without one sets it up after the password, and does nothing before.
func TestFactor_RequiredOnThePages(t *testing.T) {
	w := newFactorTown(t, true)
	before := w.everything()
	asked := w.sendAs("", "/w/{workspace}/folders", url.Values{"name": {"typed & kept"}, "type": {"project"}})
	got, pending := w.password(hidden(asked.Body.String()))
	w.wantIn(got.Body.String(), true, "This server requires a second factor")
	for _, path := range []string{"/account", "/w/{workspace}/projects", "/account/second-factor"} {
		if got := w.ask(http.MethodGet, w.address(path), pending, withPending(pending)); got.Code != http.StatusSeeOther {
			t.Errorf("%s before it is set up: %d", path, got.Code)
		}
	}
	if got := w.ask(http.MethodGet, "/sign-in/code", "", withPending(pending)); got.Header().Get("Location") != "/sign-in/set-up?next=" {
		t.Errorf("the page of codes: %d %v", got.Code, got.Header())
	}
	w.readOffer(w.ask(http.MethodGet, "/sign-in/set-up?next=%2Faccount", "", withPending(pending)).Body.String())
	form := w.readOffer(got.Body.String())
	form.Set("code", w.wrong())
	got = w.sendAs("", "/sign-in/set-up", form, withPending(pending))
	w.wantIn(got.Body.String(), true, "The code is wrong")
	form = w.readOffer(got.Body.String())
	form.Set("code", w.code(w.secret))
	got = w.sendAs("", "/sign-in/set-up", form, withPending(pending))
	page := got.Body.String()
	w.readCodes(page)
	token := cookiesOf(got)["sheaf"]
	if w.ask(http.MethodGet, "/account", w.owner).Code != http.StatusSeeOther {
		t.Error("an older session is open")
	}
	w.owner = token
	got = w.sendAs(token, "/sign-in/continue", hidden(page))
	if got.Code != http.StatusConflict || !strings.Contains(got.Body.String(), "typed &amp; kept") {
		t.Errorf("the form did not come back: %d %s", got.Code, got.Body)
	}
	if w.everything() != before {
		t.Error("something was changed")
	}
	// A person who replaces the app sets up the other one before anything else.
	w.wantIn(w.ask(http.MethodGet, "/account", token).Body.String(), true, "Replace the app")
	got = w.sendAs(token, "/account/second-factor/off", url.Values{"proof": {"long enough"}})
	if all := cookiesOf(got); got.Header().Get("Location") != "/sign-in/set-up?next=%2Faccount" || all["sheaf"] != "" || all["sheaf-factor"] == "" {
		t.Errorf("replacing the app: %d %v", got.Code, all)
	}
	if got := w.ask(http.MethodGet, "/account", token); got.Code != http.StatusSeeOther {
		t.Errorf("the session without a second factor: %d", got.Code)
	}
	// A new person sets it up too.
	i, err := w.a.Operator().Invite(w.Context(), w.caller.Workspace, "zoe@example.com", sheaf.Editor, nil)
	w.must(err)
	got = w.sendAs("", "/invite/"+i.Token, url.Values{"name": {"Zoe"}, "password": {"long enough"}, "again": {"long enough"}})
	if all := cookiesOf(got); all["sheaf"] != "" || all["sheaf-factor"] == "" || !strings.HasPrefix(got.Header().Get("Location"), "/sign-in/set-up?next=%2Fw%2F") {
		t.Errorf("joining: %d %v %v", got.Code, all, got.Header())
	}
}

// D191: a person with a second factor accepts an invitation with the password and a code.
func TestFactor_InvitationOnThePages(t *testing.T) {
	w := newFactorTown(t, false)
	w.turnOn()
	other := w.callerOf(w.stranger).Workspace
	i, err := w.a.Operator().Invite(w.Context(), other, "ada@example.com", sheaf.Editor, nil)
	w.must(err)
	got := w.sendAs("", "/invite/"+i.Token, url.Values{"password": {"long enough"}})
	all := cookiesOf(got)
	if all["sheaf"] != "" || all["sheaf-factor"] == "" || len(w.session(w.owner).Memberships) != 1 {
		t.Fatalf("the password alone: %d %v", got.Code, all)
	}
	to, err := url.Parse(got.Header().Get("Location"))
	w.must(err)
	got = w.sendAs("", "/sign-in/code", url.Values{"code": {w.next()}, "next": {to.Query().Get("next")}}, withPending(all["sheaf-factor"]))
	if got.Header().Get("Location") != "/w/"+string(other)+"/projects" || len(w.session(w.owner).Memberships) != 2 {
		t.Errorf("with the code: %d %v", got.Code, got.Header())
	}
}
