package httpapi_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// FuzzRequest sends whole requests past every parser on the way in: path, query with its cursors,
// key, conditions, idempotency key, forwarded host and body. Whatever comes, the answer is one of
// the contract: never a 5xx, and JSON with a code when it refuses.
func FuzzRequest(f *testing.F) {
	a := apitest.SQLite(f)
	ws := a.Workspace(sheaf.Business)
	key := ws.Key()
	made := ws.Client(key).POST("/api/v1/projects", map[string]any{"name": "Guides"}).Want(f, 201)
	project := "/api/v1/projects/" + made.Text(f, "id")
	for _, seed := range requestSeeds(project) {
		f.Add(seed.method, seed.target, seed.name, seed.value, seed.body)
	}
	f.Fuzz(func(t *testing.T, method, target, name, value string, body []byte) {
		r := fuzzedRequest(method, target, name, value, body)
		if r == nil || strings.HasSuffix(r.URL.Path, "/stream") {
			return // not a request that a server would hand over, or one whose answer never ends
		}
		if r.Header.Get("Authorization") == "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		w := httptest.NewRecorder()
		a.Front.ServeHTTP(w, r)
		checkFuzzedAnswer(t, r, w)
	})
}

type requestSeed struct {
	method, target, name, value string
	body                        []byte
}

func requestSeeds(project string) []requestSeed {
	seeds := []requestSeed{
		{"GET", "/api/v1/projects?limit=5&offset=2&sort=name&order=desc&q=gu", "If-None-Match", `W/"1-abc", *`, nil},
		{"GET", "/api/v1/events?after=0&limit=3&type=project.created", "Authorization", "Basic YTpi", nil},
		{"GET", "/api/v1/events?after=-1", "X-Forwarded-Host", "a,b:99999", nil},
		{"PATCH", project, "If-Match", `"1-0123456789abcdef"`, []byte(`{"name":"New","description":null}`)},
		{"POST", "/api/v1/projects", "Idempotency-Key", "a key", []byte(`{"name":"<Guides>","color":"#ff0000"}`)},
		{"POST", "/api/v1/folders", "Content-Type", "application/json; charset=utf-8", []byte(`{"name":"F","entity_type":"project"}`)},
		{"POST", "/api/v1/brandings", "", "", []byte(`{"name":"B","color_primary":"#FFcc00","font":"serif","footer":"x","logo_media_id":null}`)},
		{"GET", "/api/v1/brandings?folder_id=null&updated_since=2026-01-02T03:04:05Z", "", "", nil},
		{"POST", "/api/v1/webhooks", "X-Request-Id", "r", []byte(`{"name":"w","url":"https://[::1]:0/","events":["*"]}`)},
		{"DELETE", "/api/v1/projects/%00", "", "", nil},
	}
	for _, attack := range attacks {
		seeds = append(seeds, requestSeed{"POST", "/api/v1/projects", "", "", []byte(`{"name":` + attack + `}`)})
	}
	return seeds
}

// fuzzedRequest returns the request as net/http would hand it over, or nil where it would have
// refused it.
func fuzzedRequest(method, target, name, value string, body []byte) *http.Request {
	r, err := http.NewRequest(method, "http://sheaf.test/", strings.NewReader(string(body)))
	if err != nil || len(body) > 1<<16 {
		return nil
	}
	if r.URL, err = r.URL.Parse(target); err != nil || r.URL.Host != "sheaf.test" || !strings.HasPrefix(r.URL.Path, "/api/v1/") {
		return nil
	}
	r.RequestURI, r.RemoteAddr = target, "192.0.2.1:1234"
	if name != "" && !strings.ContainsAny(name+value, "\r\n\x00") {
		r.Header.Set(name, value)
	}
	return r
}

func checkFuzzedAnswer(t *testing.T, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code >= 500 || w.Code < 200 {
		t.Fatalf("%s %s: %d %s", r.Method, r.URL, w.Code, w.Body)
	}
	if w.Code < 400 || r.Method == http.MethodHead {
		return
	}
	var refusal struct{ Error, Code string }
	if err := json.Unmarshal(w.Body.Bytes(), &refusal); err != nil || refusal.Error == "" || refusal.Code == "" {
		t.Fatalf("%s %s: %d without an error and a code: %s", r.Method, r.URL, w.Code, w.Body)
	}
}

// FuzzContent puts a body as the text of a document. What is taken comes back byte for byte, raw and in
// JSON, and what is not leaves the text as it was; UTF-8 without NUL is always taken.
func FuzzContent(f *testing.F) {
	a := apitest.SQLite(f)
	c := a.Workspace(sheaf.Business).Client("")
	one := "/api/v1/documents/" + c.POST("/api/v1/documents", map[string]any{"title": "t"}).Want(f, 201).Text(f, "id")
	for _, text := range append([]string{"", "# Title\r\n\n“quoted” \\ <b>\t\x01 \U0001F600\n", "a\x00b", "a\xff", "\xed\xa0\x80", "\ufeff", "\u2028"}, slices.Collect(maps.Values(attacks))...) {
		f.Add("text/markdown", []byte(text))
	}
	f.Add("text/plain; charset=utf-8", []byte("plain"))
	f.Add("application/json", []byte(`{"content":"no"}`))
	f.Fuzz(func(t *testing.T, media string, body []byte) {
		if strings.ContainsFunc(media, func(r rune) bool { return r < ' ' || r > '~' }) || len(body) > 1<<16 {
			return // no header that a client could send
		}
		before := c.GET(one).Want(t, 200).Text(t, "content")
		r := c.Do("PUT", one+"/content", body, "Content-Type: "+media)
		want := before
		switch valid := utf8.Valid(body) && !bytes.ContainsRune(body, 0); {
		case r.Status == 200 && valid:
			want = string(body)
		case r.Status == 200 || media == "text/markdown" && valid:
			t.Errorf("%d for %q: %s", r.Status, body, r.Body)
		default:
			r.WantError(t, 400, "VALIDATION_ERROR")
		}
		if got := string(c.GET(one+"/content").Want(t, 200).Body); got != want {
			t.Errorf("put %q, got %q", body, got)
		}
		if got := c.GET(one).Want(t, 200).Text(t, "content"); got != want {
			t.Errorf("put %q, got %q in JSON", body, got)
		}
	})
}
