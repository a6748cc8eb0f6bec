package console

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"
)

// D193: the account page lists the person's browsers, and each of the others can be signed out.
func TestAccount_ListsAndEndsSessions(t *testing.T) {
	w := newTown(t)
	const phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Mobile/15E148 Safari/604.1 <b>"
	in := w.sendAs("", "/sign-in", url.Values{"email": {"ada@example.com"}, "password": {"long enough"}}, func(r *http.Request) {
		r.Header.Set("User-Agent", phone)
	})
	var other string
	for _, cookie := range in.Result().Cookies() {
		if cookie.Name == "sheaf" {
			other = cookie.Value
		}
	}
	account := func(token string) string { return w.ask(http.MethodGet, "/account", token).Body.String() }
	page := account(w.owner)
	w.wantIn(page, true, "Safari on iPhone", "Unknown browser", "this browser", "from 192.0.2.1")
	w.wantIn(account(w.member), false, "Safari on iPhone")
	ends := regexp.MustCompile(`/account/sessions/[0-9a-f]{64}/end`).FindAllString(page, -1)
	if len(ends) != 1 {
		t.Fatalf("the page offers %v, want one other browser", ends)
	}
	if got := w.ask(http.MethodPost, ends[0], w.member); got.Code != http.StatusSeeOther { // not the member's: nothing happens
		t.Errorf("another person: %d", got.Code)
	}
	w.wantIn(account(other), true, "Safari on iPhone")
	if got := w.ask(http.MethodPost, ends[0], w.owner); got.Header().Get("Location") != "/account?done=session" {
		t.Errorf("sign out: %d %v", got.Code, got.Header())
	}
	w.wantIn(w.ask(http.MethodGet, "/account?done=session", w.owner).Body.String(), true, "That browser was signed out.")
	w.wantIn(account(w.owner), false, "Safari on iPhone")
	if got := w.ask(http.MethodGet, "/account", other); got.Code != http.StatusSeeOther {
		t.Errorf("the browser that was signed out: %d", got.Code)
	}
	if got := w.ask(http.MethodPost, "/account/sessions/x/end", w.owner); got.Code != http.StatusNotFound {
		t.Errorf("no id: %d", got.Code)
	}
}
