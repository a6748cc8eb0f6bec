package browser

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// D208: a real browser lets a page of a listed origin call the API with a key, and read the headers that a program needs. A page of another
// origin reads nothing, and neither reads the console with the cookie of a person who is signed in.
func TestCORS_APageOfAnotherOrigin(t *testing.T) {
	t.Parallel()
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><link rel=icon href=data:,><title>app</title><p id=said></p>"))
	}))
	t.Cleanup(app.Close)
	other := strings.Replace(app.URL, "127.0.0.1", "localhost", 1)
	s := startService(t, "--cors-origins", app.URL)
	for _, test := range []struct{ origin, call, want string }{
		{app.URL, `fetch('` + s.URL + `/api/v1/projects', {method: 'POST', headers: {Authorization: 'Bearer ` + s.Key + `', 'Content-Type': 'application/json', 'Idempotency-Key': 'k'}, body: '{"name": "made in a page"}'})
			.then(async r => [r.status, (await r.json()).name, !!r.headers.get('ETag'), r.headers.get('RateLimit-Limit'), !!r.headers.get('X-Request-Id')].join())`, "201,made in a page,true,500,true"},
		{app.URL, `fetch('` + s.URL + `/api/v1/projects').then(r => '' + r.status)`, "401"},
		{app.URL, `fetch('` + s.URL + `/login', {credentials: 'include'}).then(r => 'read ' + r.status, e => e.name)`, "TypeError"},
		{app.URL, `fetch('` + s.URL + `/api/v1/projects', {credentials: 'include'}).then(r => 'read ' + r.status, e => e.name)`, "TypeError"},
		{other, `fetch('` + s.URL + `/api/v1/projects', {headers: {Authorization: 'Bearer ` + s.Key + `'}}).then(r => 'read ' + r.status, e => e.name)`, "TypeError"},
	} {
		b := newTab(t, s)
		if test.want == "TypeError" {
			b.expected = "blocked by CORS policy"
		}
		b.open(test.origin)
		b.until("the page is there", `document.title === 'app'`)
		b.until("the call is made", `(`+test.call+`.then(said => document.querySelector('#said').textContent = said), true)`)
		b.until("the answer is "+test.want, `document.querySelector('#said').textContent === `+"`"+test.want+"`")
	}
}
