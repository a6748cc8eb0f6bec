package model

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/store"
)

// anything stands for a value that the model leaves open.
const anything = "{any}"

var (
	symbolForm = regexp.MustCompile(`\{[a-z]+\d+\}`)
	wholeForm  = regexp.MustCompile(`^\{[a-z]+\d+\}$`)
)

// engine is the real API on one database, and what it calls the things of the sequence that is under way.
type engine struct {
	name      string
	api       *apitest.API
	handler   http.Handler
	workspace *apitest.Workspace
	reviewer  sheaf.UserID      // owner of the workspace of the strangers
	strangers map[string]string // of another workspace
	values    map[string]string // by symbol
	symbols   map[string]string // by value
	tags      map[string]string // ETag by what it stands for
	meanings  map[string]string // the other way
	kept      map[string]int    // bytes of reported events and of answers for a repetition, by name
}

// strangers are made in another workspace: requests name them, and must not find them.
var strangers = []struct{ symbol, path, body string }{
	{"{xp1}", "/api/v1/projects", `{"name":"stranger"}`},
	{"{xf1}", "/api/v1/folders", `{"name":"stranger","entity_type":"project"}`},
	{"{xb1}", "/api/v1/brandings", `{"name":"stranger"}`},
	{"{xd1}", "/api/v1/documents", `{"title":"stranger"}`},
	{"{xm1}", "/api/v1/media", `the bytes of a stranger`},
	{"{xh1}", "/api/v1/shares", `{"resource_type":"document","resource_id":"{xd1}"}`},
	{"{xk1}", "/api/v1/api-keys", `{"name":"stranger","scopes":["keys:read"]}`},
	{"{xe1}", "/api/v1/events", `{"type":"media.uploaded","resource_id":"` + unknown + `","payload":{}}`},
	{"{xpr1}", "/api/v1/proposals", `{"title":"stranger","changes":[{"op":"delete","document_id":"{xd1}","base_version":1}]}`},
	{"{xs1}", hooksPath, `{"name":"stranger","url":"https://example.com/","events":["project.created"]}`},
}

func newEngine(t testing.TB, name string, api *apitest.API) *engine {
	e := &engine{name: name, api: api, handler: api.Front, strangers: map[string]string{}}
	other := api.Workspace("business")
	e.reviewer = other.Owner
	key := other.Key()
	for _, s := range strangers {
		body := symbolForm.ReplaceAllStringFunc(s.body, func(symbol string) string { return e.strangers[symbol] })
		r := httptest.NewRequest("POST", s.path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+key)
		made, _ := e.serve(r).body.(record)
		if wrapped, ok := made["subscription"].(record); ok {
			made = wrapped
		}
		id, ok := made["id"].(string)
		if !ok {
			t.Fatalf("make a stranger: %v", made)
		}
		e.strangers[s.symbol] = id
	}
	return e
}

// begin makes the workspace of a new sequence, with one key of all scopes.
func (e *engine) begin(plan string, personal bool, now time.Time) {
	e.api.Clock.Set(now)
	e.values, e.symbols = map[string]string{}, map[string]string{}
	e.tags, e.meanings, e.kept = map[string]string{}, map[string]string{}, map[string]int{}
	for s, v := range e.strangers {
		e.values[s], e.symbols[v] = v, s
	}
	if personal {
		e.workspace = e.api.Workspace("business", apitest.Personal)
	} else {
		e.workspace = e.api.Workspace("business")
	}
	e.setPlan(plan)
	e.bind("{w1}", string(e.workspace.ID))
	e.bind("{u1}", string(e.workspace.Owner))
	e.bind("{u2}", string(e.reviewer))
	e.newKey("1", "")
	e.join()
	e.newKey("2", e.reviewer)
}

// join makes the user of another workspace an admin, who reviews proposals.
func (e *engine) join() {
	err := e.api.Store.Write(context.Background(), func(tx *store.Tx) error {
		return tx.InsertMember(sheaf.Membership{Workspace: sheaf.Workspace{ID: e.workspace.ID}, User: sheaf.User{ID: e.reviewer}, Role: sheaf.Admin, Since: e.api.Clock.Now()})
	})
	if err != nil {
		panic(err)
	}
}

// newKey makes a key by hand, of the owner or another user, which the model calls by that number.
func (e *engine) newKey(number string, of sheaf.UserID) {
	secret, k := e.workspace.NewKey(func(k *sheaf.Key) { k.UserID = cmp.Or(of, k.UserID) })
	e.bind("{secretkey"+number+"}", secret)
	e.bind("{k"+number+"}", string(k.ID))
	e.bind("{prefix"+number+"}", k.Prefix)
}

func (e *engine) setPlan(plan string) {
	switch plan {
	case "free":
		e.workspace.SetPlan("free")
	case "pro":
		e.workspace.SetPlan("pro")
	case "business":
		e.workspace.SetPlan("business")
	}
}

func (e *engine) bind(symbol, value string) {
	e.values[symbol], e.symbols[value] = value, symbol
}

// knows reports whether the engine has shown what the symbol stands for.
func (e *engine) knows(symbol string) bool { return e.values[symbol] != "" }

// translate puts the engine's own names into a text.
func (e *engine) translate(s string) string {
	return symbolForm.ReplaceAllStringFunc(s, func(symbol string) string {
		if v := e.values[symbol]; v != "" {
			return v
		}
		panic(fmt.Sprintf("%s was not shown %s, and it is asked for", e.name, symbol))
	})
}

// exchange is what came back, read.
type exchange struct {
	method string // of the request
	status int
	header http.Header
	body   any
	text   string
}

// send asks the engine at that time.
func (e *engine) send(q request, now time.Time) exchange {
	e.api.Clock.Set(now)
	address := "http://sheaf.test" + e.translate(q.path)
	if len(q.query) > 0 {
		address += "?" + e.translate(strings.Join(q.query, "&"))
	}
	r, err := http.NewRequest(q.method, address, strings.NewReader(e.translate(q.text)))
	if err != nil {
		panic(err) // the steps write addresses that parse
	}
	r.RemoteAddr = "192.0.2.1:1234"
	e.setHeaders(r.Header, q)
	return e.serve(r)
}

func (e *engine) serve(r *http.Request) exchange {
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, r)
	x := exchange{method: r.Method, status: w.Code, header: w.Header(), text: w.Body.String()}
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &x.body); err != nil {
			x.body = err.Error()
		}
	}
	return x
}

func (e *engine) setHeaders(h http.Header, q request) {
	if q.as != "" {
		h.Set("Authorization", "Bearer "+e.translate(q.as))
	}
	if q.once != "" {
		h.Set("Idempotency-Key", q.once)
	}
	if q.match != "" {
		h.Set("If-Match", e.tagFor(q.match))
	}
	if q.none != "" {
		h.Set("If-None-Match", e.tagFor(q.none))
	}
	for _, line := range q.headers {
		name, value, _ := strings.Cut(line, ": ")
		h.Set(name, e.encode(value))
	}
}

// encode puts the engine's own names into a header, which carries them in base64.
func (e *engine) encode(s string) string {
	return symbolForm.ReplaceAllStringFunc(s, func(symbol string) string {
		return base64.StdEncoding.EncodeToString([]byte(e.translate(symbol)))
	})
}

// tagFor returns the ETag that the engine has sent for the same; "*" is itself, and what it never sent matches nothing.
func (e *engine) tagFor(meaning string) string {
	if meaning == "*" {
		return "*"
	}
	if tag := e.tags[meaning]; tag != "" {
		return tag
	}
	return `"0-00000000000000000000"`
}
