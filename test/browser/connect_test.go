package browser

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest"
)

// D195, D196: an app leads a person to the consent page, which says who asks. The person narrows what it may do and agrees; the browser goes
// back to the app, which gets its tokens. The account page lists the app, and ends it.
func TestConnect_InTheBrowser(t *testing.T) {
	t.Parallel()
	port, err := sheaftest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	s := startService(t, "--addr", "127.0.0.1:"+port, "--public-url", "http://127.0.0.1:"+port)
	b := setUp(t, s)
	b.expected = "com.example.nobody" // no program on this machine takes that address
	b.furnish()
	asked := make(chan url.Values, 10)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><link rel=icon href=data:,><title>app</title><h1>The app goes on</h1>"))
		asked <- r.URL.Query()
	}))
	t.Cleanup(app.Close)
	post := func(path, kind, body string, answer any) {
		t.Helper()
		res, err := http.Post(s.URL+path, kind, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(answer); err != nil || res.StatusCode > 201 {
			t.Fatalf("%s: %d, %v", path, res.StatusCode, err)
		}
	}
	var registered struct {
		ID string `json:"client_id"`
	}
	post("/oauth/register", "application/json", `{"client_name":"Writing assistant","redirect_uris":["`+app.URL+`/back","com.example.nobody:/back"]}`, &registered)
	verifier := strings.Repeat("verifier", 6)
	sum := sha256.Sum256([]byte(verifier))
	request := url.Values{"response_type": {"code"}, "client_id": {registered.ID}, "redirect_uri": {app.URL + "/back"}, "state": {"s"}, "code_challenge_method": {"S256"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "scope": {"projects:read documents:read documents:write proposals:write proposals:read"}}

	b.open("/oauth/authorize?" + request.Encode())
	b.arrive("Connect Writing assistant?")
	b.read("Any program there can pretend to be this app")
	b.await(`document.querySelector('[value="documents:write"]').checked === false && document.querySelector('[value="proposals:write"]').checked`)
	b.shot("connect")
	b.click("=Cancel")
	b.await("document.title === 'app'")
	if q := <-asked; q.Get("error") != "access_denied" || q.Get("state") != "s" {
		t.Errorf("the app was told %v", q)
	}

	b.open("/oauth/authorize?" + request.Encode())
	b.arrive("Connect Writing assistant?")
	b.click(`[name=reach][value=part]`)
	b.click(".within [name=within]")
	b.click("form button.primary")
	b.await("document.title === 'app'")
	q := <-asked
	var tokens struct {
		Access string `json:"access_token"`
	}
	post("/oauth/token", "application/x-www-form-urlencoded", url.Values{"grant_type": {"authorization_code"}, "code": {q.Get("code")}, "client_id": {registered.ID},
		"redirect_uri": {app.URL + "/back"}, "code_verifier": {verifier}}.Encode(), &tokens)
	call := func() int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+tokens.Access)
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if got := call(); got != http.StatusOK {
		t.Errorf("the app's call is answered %d", got)
	}
	b.open("/account")
	b.arrive("Account")
	b.read("Writing assistant")
	b.shot("account")
	b.click("form[action$=disconnect] button")
	b.read("The app was disconnected.")
	if got := call(); got != http.StatusUnauthorized {
		t.Errorf("the call of an app that was disconnected is answered %d", got)
	}
	s.make("workspace", "create", "--name", "Second", "--plan", "pro", "--owner-email", "ada@example.com")
	b.open("/oauth/authorize?" + request.Encode())
	b.arrive("Connect Writing assistant?")
	b.read("Second")
	b.shot("connect-workspace")
	// The app on the device is not there, so the page that leads back to it stays.
	request.Set("redirect_uri", "com.example.nobody:/back")
	b.open("/oauth/authorize?" + request.Encode())
	b.arrive("Connect Writing assistant?")
	b.click("main ul.list a")
	b.await(`!!document.querySelector('[name=answer]')`)
	b.click("=Cancel")
	b.arrive("Writing assistant was not connected")
	b.shot("connected")
}
