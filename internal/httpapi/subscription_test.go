package httpapi_test

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/store"
)

// D64, D17: the record in its order, wrapped alone and bare in the list; the secret is shown once.
func TestSubscription_Record(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		made := c.POST(subscriptions, fields{"name": " <ü> ", "url": hook, "events": []string{"project.updated", "project.created", "project.updated"},
			"headers": fields{"x-b": "2", "Authorization": "Bearer 1"}, "active": false, "failure_count": 9, "secret": "mine"}).Want(t, 201)
		sub := inside(t, made, "subscription")
		secret := sub["secret"].(string)
		if !regexp.MustCompile(`^whsec_[A-Za-z0-9+/]{56}$`).MatchString(secret) {
			t.Errorf("the secret is %q", secret)
		}
		record := `{"id":"ID","name":" <ü> ","url":"https://hooks.example.com/sheaf","events":["project.updated","project.created"],` +
			`"active":true,"failure_count":0,"created_at":"2026-11-15T10:00:00.000Z","updated_at":"2026-11-15T10:00:00.000Z",` +
			`"deactivated_at":null,"deactivation_reason":null,"last_error":null,"held_count":0,"header_names":["Authorization","x-b"],"filter":null}`
		id := idOf(sub)
		wantBody(t, made, `{"subscription":`+strings.TrimSuffix(record, "}")+`,"secret":"SECRET"}}`, "ID", id, "SECRET", secret)
		if got := made.Header.Get("Location"); got != a.Server.URL+at(subscriptions, id) {
			t.Errorf("Location: %s", got)
		}
		one := c.GET(at(subscriptions, id)).Want(t, 200)
		wantBody(t, one, `{"subscription":`+record+`}`, "ID", id)
		wantBody(t, c.GET(subscriptions), `{"data":[`+record+`],"total":1,"limit":50,"offset":0}`, "ID", id)
		if r := c.GET(at(subscriptions, id), "If-None-Match: "+one.Header.Get("ETag")); r.Status != 304 {
			t.Errorf("got %d", r.Status)
		}
	})
}

// D53: reading needs webhooks:read, acting webhooks:write, and neither implies the other.
func TestSubscription_Scopes(t *testing.T) {
	a := apitest.SQLite(t)
	ws := a.Workspace(sheaf.Business)
	c := ws.Client("")
	id := idOf(subscribe(t, c, nil))
	newProject(t, c)
	d := idOf(deliveriesOf(t, c, id, "")[0])
	event := c.GET(events).IDs(t)[0]
	one := at(subscriptions, id)
	for _, test := range []struct {
		method, path, body string
		needs              []sheaf.Scope
	}{
		{"GET", subscriptions, "", []sheaf.Scope{sheaf.WebhooksRead}},
		{"GET", one, "", []sheaf.Scope{sheaf.WebhooksRead}},
		{"GET", one + "/deliveries", "", []sheaf.Scope{sheaf.WebhooksRead}},
		{"GET", at(deliveries, d), "", []sheaf.Scope{sheaf.WebhooksRead}},
		{"GET", at(events, event) + "/deliveries", "", []sheaf.Scope{sheaf.EventsRead, sheaf.WebhooksRead}},
		{"POST", subscriptions, `{"name":"n","url":"` + hook + `","events":["project.created"]}`, []sheaf.Scope{sheaf.WebhooksWrite}},
		{"PATCH", one, `{"name":"n"}`, []sheaf.Scope{sheaf.WebhooksWrite}},
		{"POST", one + "/rotate-secret", "", []sheaf.Scope{sheaf.WebhooksWrite}},
		{"POST", one + "/recover", `{"since":"2020-01-01T00:00:00Z"}`, []sheaf.Scope{sheaf.WebhooksWrite}},
		{"POST", at(deliveries, d) + "/redeliver", "", []sheaf.Scope{sheaf.WebhooksWrite}},
		{"DELETE", one, "", []sheaf.Scope{sheaf.WebhooksWrite}},
	} {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			var body any
			if test.body != "" {
				body = test.body
			}
			for _, missing := range test.needs {
				rest := slices.DeleteFunc(slices.Clone(sheaf.AllScopes), func(s sheaf.Scope) bool { return s == missing })
				ws.Client(ws.Key(rest...)).Do(test.method, test.path, body).WantError(t, 403, "FORBIDDEN", string(missing))
			}
			if r := ws.Client(ws.Key(test.needs...)).Do(test.method, test.path, body); r.Status >= 300 {
				t.Errorf("got %d %s", r.Status, r.Body)
			}
		})
	}
	rest := slices.DeleteFunc(slices.Clone(sheaf.AllScopes), func(s sheaf.Scope) bool { return s == sheaf.WebhooksWrite })
	ws.Client(ws.Key(rest...)).POST(one+"/test", nil).WantError(t, 403, "FORBIDDEN", "webhooks:write")
}

// D56: 3 and 20, exactly, also for concurrent clients; inactive ones count, deleted ones do not.
func TestSubscription_LimitUnderConcurrency(t *testing.T) {
	for plan, most := range map[sheaf.Plan]int{sheaf.Pro: 3, sheaf.Business: 20} {
		t.Run(string(plan), func(t *testing.T) {
			apitest.Each(t, func(t *testing.T, a *apitest.API) {
				ws := a.Workspace(plan)
				c := ws.Client("")
				body := fields{"name": "n", "url": hook, "events": []string{"project.created"}}
				rs := apitest.Together(64, func(int) *apitest.Response { return c.POST(subscriptions, body) })
				if n := apitest.Statuses(rs); n[201] != most || n[403] != 64-most {
					t.Fatalf("got %v", n)
				}
				all := c.GET(subscriptions).IDs(t)
				if len(all) != most {
					t.Errorf("the list has %d", len(all))
				}
				c.PATCH(at(subscriptions, all[0]), fields{"active": false}).Want(t, 200)
				c.POST(subscriptions, body).WantError(t, 403, "SUBSCRIPTION_LIMIT_REACHED", string(plan))
				c.DELETE(at(subscriptions, all[1])).Want(t, 204)
				c.DELETE(at(subscriptions, all[1])).WantError(t, 404, "NOT_FOUND")
				c.POST(subscriptions, body).Want(t, 201)
				c.POST(subscriptions, body).WantError(t, 403, "SUBSCRIPTION_LIMIT_REACHED")
				ws.SetPlan(sheaf.Business) // and back: what is over the limit stays
				if plan == sheaf.Business {
					ws.SetPlan(sheaf.Pro)
					c.POST(subscriptions, body).WantError(t, 403, "SUBSCRIPTION_LIMIT_REACHED", "3")
					c.PATCH(at(subscriptions, all[0]), fields{"active": true}).Want(t, 200)
				}
			})
		})
	}
}

// D64, D6: what PATCH changes, and what it does not.
func TestSubscription_Patch(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		made := subscribe(t, c, fields{"headers": fields{"X-Token": "t0psecret"}})
		one := at(subscriptions, idOf(made))
		before := c.GET(one).Want(t, 200)
		a.Clock.Advance(time.Second)
		for _, same := range []fields{{"name": "n"}, {"url": hook}, {"active": true}, {"events": []string{"project.created", "project.created"}},
			{"headers": fields{"X-Token": "t0psecret"}}, {"name": "n", "failure_count": 7, "header_names": []string{"a"}, "last_error": "e"}} {
			wantBody(t, c.PATCH(one, same).Want(t, 200), string(before.Body))
		}
		r := c.PATCH(one, fields{"name": "m", "events": []string{"webhook.test"}}).Want(t, 200)
		got := inside(t, r, "subscription")
		if got["updated_at"] != "2026-11-15T10:00:01.000Z" || got["name"] != "m" || jsonOf(got["events"]) != `["webhook.test"]` {
			t.Errorf("got %s", r.Body)
		}
		if _, shown := got["secret"]; shown {
			t.Errorf("it shows the secret: %s", r.Body)
		}
		c.PATCH(one, fields{"name": "x"}, "If-Match: "+before.Header.Get("ETag")).WantError(t, 412, "PRECONDITION_FAILED")
		c.PATCH(one, fields{"headers": fields{"X-Token": "another"}}).Want(t, 200)
		if after := c.GET(one); after.Header.Get("ETag") == r.Header.Get("ETag") {
			t.Error("another header's value left the ETag as it was")
		}
		for _, bad := range []string{`{}`, `{"color":"red"}`, `{"name":null}`, `{"name":" "}`, `{"url":null}`, `{"events":null}`, `{"events":[]}`,
			`{"active":null}`, `{"active":"true"}`, `{"active":1}`, `{"headers":[]}`, `{"headers":{"a":1}}`, `{"headers":{"a":null}}`, `{"events":"project.created"}`} {
			c.PATCH(one, bad).WantError(t, 400, "VALIDATION_ERROR")
		}
		if n := c.GET(events).JSON["total"]; n != 0.0 {
			t.Errorf("%v events", n) // D60: subscriptions emit none
		}
	})
}

// D64, D68a: by hand off and on.
func TestSubscription_Switch(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		id := idOf(subscribe(t, c, nil))
		newProject(t, c)
		a.Clock.Advance(time.Second)
		off := inside(t, c.PATCH(at(subscriptions, id), fields{"active": false}).Want(t, 200), "subscription")
		wantJSON(t, "off", []any{off["active"], off["deactivation_reason"], off["deactivated_at"], off["held_count"]},
			[]any{false, "manual", "2026-11-15T10:00:01.000Z", 1})
		newProject(t, c)
		wantJSON(t, "held", states(t, c, id), map[string]int{"held": 2})
		a.Clock.Advance(time.Second)
		again := inside(t, c.PATCH(at(subscriptions, id), fields{"active": false}).Want(t, 200), "subscription")
		wantJSON(t, "off again", without(again, "held_count"), without(off, "held_count"))
		c.POST(at(subscriptions, id)+"/recover", fields{"since": "2020-01-01T00:00:00Z"}).WantError(t, 400, "VALIDATION_ERROR", "inactive")
		on := inside(t, c.PATCH(at(subscriptions, id), fields{"active": true}).Want(t, 200), "subscription")
		wantJSON(t, "on", []any{on["active"], on["deactivation_reason"], on["deactivated_at"], on["held_count"]}, []any{true, nil, nil, 2})
		wantJSON(t, "nothing goes out by itself", states(t, c, id), map[string]int{"held": 2})
	})
}

// refusedHeaders are the names that HTTP or the service sets.
var refusedHeaders = strings.Fields(`Host Connection Keep-Alive TE Trailer Transfer-Encoding Upgrade Content-Type Content-Length
	Content-Encoding content-x Accept-Encoding User-Agent Cookie Expect Proxy-Authorization Proxy-X Forwarded X-Forwarded-For
	X-Forwarded-Host x-forwarded-anything Idempotency-Key X-Idempotency-Key webhook-id webhook-timestamp webhook-signature
	Webhook-Anything X-Service-Signature`)

// D64a: which headers are refused, and by which bounds.
func TestSubscription_HeadersRefused(t *testing.T) {
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Business).Client("")
	id := idOf(subscribe(t, c, nil))
	refused := func(name, value string) {
		t.Helper()
		headers := fields{name: value}
		for _, r := range []*apitest.Response{c.PATCH(at(subscriptions, id), fields{"headers": headers}),
			c.POST(subscriptions, fields{"name": "n", "url": hook, "events": []string{"project.created"}, "headers": headers})} {
			r.WantError(t, 400, "VALIDATION_ERROR", "headers")
			if len(value) > 3 && bytes.Contains(r.Body, []byte(value)) {
				t.Errorf("%s shows the value", r.Body)
			}
		}
	}
	for _, name := range refusedHeaders {
		for _, spelling := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
			refused(spelling, "value")
		}
	}
	for _, name := range []string{"", " ", "a b", "a:", "ü", "a\tb", "a(b", "X-A,B", "a\r\nb", strings.Repeat("a", 101)} {
		refused(name, "value")
	}
	for _, value := range []string{"", strings.Repeat("v", 1001), "secret\r\nX-Injected: 1", "tab\there", "sécret", "\u007fdelete", " padded", "padded "} {
		refused("X-A", value)
	}
	eleven, ten := fields{}, fields{}
	for i := range 11 {
		eleven["x-"+string(rune('a'+i))] = "v"
		if i < 10 {
			ten["x-"+string(rune('a'+i))] = "v"
		}
	}
	c.PATCH(at(subscriptions, id), fields{"headers": eleven}).WantError(t, 400, "VALIDATION_ERROR", "11", "10")
	c.PATCH(at(subscriptions, id), `{"headers":{"X-Token":"a","x-token":"b"}}`).WantError(t, 400, "VALIDATION_ERROR", "x-token", "twice")
	c.PATCH(at(subscriptions, id), `{"headers":{"X-Token":"a","X-Token":"b"}}`).WantError(t, 400, "VALIDATION_ERROR", "X-Token")
	if got := subscription(t, c, id)["header_names"]; jsonOf(got) != "[]" {
		t.Errorf("a refused PATCH left %v", got)
	}
	for _, good := range []fields{ten, {strings.Repeat("a", 100): strings.Repeat("v", 1000)}, {"!#$%&'*+-.^_`|~": "!~ x"},
		{"Authorization": "Basic dTpw", "Accept": "a/b", "Cookies": "x", "Web-Hook": "1", "X-Forwarded": "1", "Proxy": "1", "Content": "1"}} {
		c.PATCH(at(subscriptions, id), fields{"headers": good}).Want(t, 200)
	}
}

// D64a: PATCH replaces the set, null clears it, another origin drops it.
func TestSubscription_HeadersReplacedAndDropped(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		to := receiver(t, a)
		_, port, _ := strings.Cut(strings.TrimPrefix(to.URL, "https://"), ":")
		id := idOf(subscribe(t, c, fields{"url": to.URL, "headers": fields{"X-A": "first"}}))
		for _, step := range []struct {
			body      fields
			names     string
			sent, not string
		}{
			{fields{"headers": fields{"X-B": "b", "x-c": "c"}}, `["X-B","x-c"]`, "X-B", "X-A"},
			{fields{"name": "renamed"}, `["X-B","x-c"]`, "X-C", "X-A"},
			{fields{"url": to.URL + "/other?query=1"}, `["X-B","x-c"]`, "X-B", "X-A"},
			{fields{"url": "https://localhost:" + port}, `[]`, "", "X-B"},
			{fields{"headers": fields{"X-D": "d"}}, `["X-D"]`, "X-D", "X-B"},
			{fields{"url": to.URL, "headers": fields{"X-E": "e"}}, `["X-E"]`, "X-E", "X-D"},
			{fields{"url": "https://localhost:" + port, "headers": fields{"X-E": "e"}}, `["X-E"]`, "X-E", "X-D"},
			{fields{"headers": nil}, `[]`, "", "X-E"},
			{fields{"headers": fields{"X-F": "f"}}, `["X-F"]`, "X-F", "X-E"},
			{fields{"headers": fields{}}, `[]`, "", "X-F"},
		} {
			got := inside(t, c.PATCH(at(subscriptions, id), step.body).Want(t, 200), "subscription")
			if jsonOf(got["header_names"]) != step.names {
				t.Errorf("%v: header_names %v", step.body, got["header_names"])
			}
			before := len(to.Requests())
			c.POST(at(subscriptions, id)+"/test", nil).Want(t, 200)
			h := await(t, to, before+1)[before].Header
			if step.sent != "" && h.Get(step.sent) == "" || h.Get(step.not) != "" {
				t.Errorf("%v: sent %v", step.body, h)
			}
		}
		c.PATCH(at(subscriptions, id), fields{"headers": fields{"X-G": "g"}}).Want(t, 200)
		for _, other := range []string{"https://hooks.example.com:444/a", "https://hooks.example.com/a", "https://hooks.example.org/a"} {
			c.PATCH(at(subscriptions, id), fields{"url": other, "headers": fields{"X-G": "g"}}).Want(t, 200)
			same := inside(t, c.PATCH(at(subscriptions, id), fields{"url": strings.ToUpper(other[:20]) + other[20:]}).Want(t, 200), "subscription")
			if jsonOf(same["header_names"]) != `["X-G"]` {
				t.Errorf("%s in upper case drops the headers", other)
			}
			if other == "https://hooks.example.com/a" {
				same = inside(t, c.PATCH(at(subscriptions, id), fields{"url": "https://hooks.example.com:443/a"}).Want(t, 200), "subscription")
				if jsonOf(same["header_names"]) != `["X-G"]` {
					t.Error("port 443 drops the headers")
				}
			}
		}
	})
}

// D65: which addresses are refused, on create and on PATCH, where the operator allows nothing special.
func TestSubscription_URL(t *testing.T) {
	a := apitest.SQLite(t)
	c := guarded(t, a).Client(a.Workspace(sheaf.Business).Key())
	id := idOf(subscribe(t, c, nil))
	for _, bad := range []string{"http://hooks.example.com/", "HTTP://hooks.example.com/", "ftp://hooks.example.com/", "hooks.example.com", "//hooks.example.com/",
		"https://", "https:///a", "https://?a", "https:hooks.example.com", "", " https://hooks.example.com/", "https://hooks.example.com/a b",
		"https://user@hooks.example.com/", "https://user:pw@hooks.example.com/", "https://@hooks.example.com/", "https://hooks.example.com/#part", "https://hooks.example.com/#",
		"https://hooks.example.com:22/", "https://hooks.example.com:23/", "https://hooks.example.com:25/", "https://hooks.example.com:110/",
		"https://hooks.example.com:143/", "https://hooks.example.com:465/", "https://hooks.example.com:587/", "https://hooks.example.com:993/",
		"https://hooks.example.com:995/", "https://hooks.example.com:0022/", "https://hooks.example.com:0/", "https://hooks.example.com:65536/", "https://hooks.example.com:x/",
		"https://127.0.0.1/", "https://127.1/", "https://0x7f000001/", "https://0X7F.1/", "https://2130706433/", "https://0177.0.0.1/", "https://017700000001/",
		"https://10.0.0.1/", "https://10.1/", "https://192.168.1.1/", "https://172.16.0.1/", "https://169.254.169.254/latest", "https://100.64.0.1/",
		"https://0.0.0.0/", "https://0/", "https://255.255.255.255/", "https://224.0.0.1/", "https://192.0.2.1/", "https://127.0.0.1./",
		"https://[::1]/", "https://[::]/", "https://[::ffff:10.0.0.1]/", "https://[::ffff:a00:1]/", "https://[fe80::1]/", "https://[fe80::1%25eth0]/", "https://[fc00::1]/",
		"https://[64:ff9b::a00:1]/", "https://[2002:a00:1::]/", "https://[::10.0.0.1]/", "https://[127.0.0.1]/", "https://[hooks.example.com]/",
		"https://①②⑦.⓪.⓪.①/", "https://１２７.０.０.１/", "https://127。0。0。1/", "https://localhost/", "https://LOCALHOST:8443/", "https://a.localhost/", "https://localhost./",
		"https://1.2.3.4.5/", "https://1.2.3.256/", "https://hooks..example.com/", "https://hooks.example.com\\@127.0.0.1/", "https://%31%32%37.0.0.1/",
		"https://hooks.example.com/\u200b", "https://hooks.example.com/" + strings.Repeat("a", 2049-26)} {
		c.POST(subscriptions, fields{"name": "n", "url": bad, "events": []string{"project.created"}}).WantError(t, 400, "VALIDATION_ERROR", "url")
		c.PATCH(at(subscriptions, id), fields{"url": bad}).WantError(t, 400, "VALIDATION_ERROR", "url")
	}
	for _, good := range []string{"https://hooks.example.com", "https://hooks.example.com:8443/a?b=c&d=%20", "HTTPS://Hooks.Example.com/", "https://internal/", "https://bücher.example/ü",
		"https://hooks.example.com/" + strings.Repeat("a", 2048-26), "https://8.8.8.8/", "https://[2606:4700::1111]/", "https://metadata.google.internal/", "https://1.2.3.4.example.com/"} {
		got := inside(t, c.PATCH(at(subscriptions, id), fields{"url": good}).Want(t, 200), "subscription")
		if got["url"] != good {
			t.Errorf("%s became %s", good, got["url"])
		}
	}
}

// D65, D3: events and names.
func TestSubscription_EventsAndName(t *testing.T) {
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Business).Client("")
	post := func(body string) *apitest.Response { return c.POST(subscriptions, body) }
	for body, part := range map[string]string{
		`{"name":"n","url":"https://a.example"}`:                                                             "events",
		`{"name":"n","events":["project.created"]}`:                                                          "url",
		`{"url":"https://a.example","events":["project.created"]}`:                                           "name",
		`{"name":"n","url":"https://a.example","events":[]}`:                                                 "events",
		`{"name":"n","url":"https://a.example","events":null}`:                                               "events",
		`{"name":"n","url":"https://a.example","events":"project.created"}`:                                  "events",
		`{"name":"n","url":"https://a.example","events":[1]}`:                                                "events",
		`{"name":"n","url":"https://a.example","events":["*"]}`:                                              "*",
		`{"name":"n","url":"https://a.example","events":["project.*"]}`:                                      "project.*",
		`{"name":"n","url":"https://a.example","events":["project.created","Project.Created"]}`:              "Project.Created",
		`{"name":"","url":"https://a.example","events":["project.created"]}`:                                 "name",
		`{"name":"\t ","url":"https://a.example","events":["project.created"]}`:                              "name",
		`{"name":"` + strings.Repeat("ü", 101) + `","url":"https://a.example","events":["project.created"]}`: "100",
		`{"name":7,"url":"https://a.example","events":["project.created"]}`:                                  "name",
	} {
		post(body).WantError(t, 400, "VALIDATION_ERROR", part)
	}
	post(`{"name":"`+strings.Repeat("ü", 100)+`","url":"https://a.example","events":["project.created"],"headers":null}`).Want(t, 201)
	var every []string
	for _, e := range sheaf.EventTypes {
		every = append(every, string(e))
	}
	if sub := subscribe(t, c, fields{"events": append(slices.Clone(every), every...)}); jsonOf(sub["events"]) != jsonOf(every) || len(every) != 29 {
		t.Errorf("got %v", sub["events"])
	}
	c.GET(at(subscriptions, "x")).WantError(t, 400, "VALIDATION_ERROR", "id")
	c.GET(at(subscriptions, nowhereID)).WantError(t, 404, "NOT_FOUND")
}

// D57: a repetition shows no secret, of a creation and of a rotation.
func TestSubscription_Repeated(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		body := fields{"name": "n", "url": hook, "events": []string{"project.created"}, "headers": fields{"X-Token": "t0psecret"}}
		rs := apitest.Together(8, func(int) *apitest.Response { return c.POST(subscriptions, body, "Idempotency-Key: k") })
		id := repeated(t, rs, 201)
		rs = apitest.Together(8, func(int) *apitest.Response {
			return c.POST(at(subscriptions, id)+"/rotate-secret", nil, "Idempotency-Key: k")
		})
		repeated(t, rs, 200)
		c.POST(subscriptions, without(body, "headers"), "Idempotency-Key: k").WantError(t, 409, "IDEMPOTENCY_CONFLICT")
		if n := len(c.GET(subscriptions).IDs(t)); n != 1 {
			t.Errorf("%d subscriptions", n)
		}
	})
}

// repeated checks that one answer of all shows the secret, and returns the subscription's id.
func repeated(t *testing.T, rs []*apitest.Response, status int) string {
	t.Helper()
	secrets, id := 0, ""
	for _, r := range rs {
		sub := inside(t, r.Want(t, status), "subscription")
		id = idOf(sub)
		secret, shown := sub["secret"]
		if !shown || (secret == nil) != (r.Header.Get("Idempotent-Replayed") == "true") {
			t.Errorf("replayed %q: %s", r.Header.Get("Idempotent-Replayed"), r.Body)
		}
		if secret != nil {
			secrets++
		}
	}
	if secrets != 1 {
		t.Errorf("%d answers show the secret", secrets)
	}
	return id
}

// D64a, D57: neither secrets nor the values of headers can be read in the database, the log or an answer.
func TestSubscription_SecretsAreSealedAtRest(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		to := receiver(t, a)
		a.Deliver(quick)
		to.Answer(echo)
		body := fields{"name": "n", "url": to.URL, "events": []string{"project.created"}, "headers": fields{"X-Token": "t0p-s3cret-value"}}
		r := c.POST(subscriptions, body, "Idempotency-Key: k").Want(t, 201)
		id := idOf(inside(t, r, "subscription"))
		old := inside(t, r, "subscription")["secret"].(string)
		secret := inside(t, c.POST(at(subscriptions, id)+"/rotate-secret", nil, "Idempotency-Key: k").Want(t, 200), "subscription")["secret"].(string)
		newProject(t, c)
		d := settled(t, c, id)[0]
		c.POST(at(subscriptions, id)+"/test", nil).Want(t, 200)

		hidden := []string{"t0p-s3cret-value", old, secret, strings.TrimPrefix(secret, "whsec_")}
		shown := map[string][]byte{"the log": []byte(a.Log()), "the database": database(t, a), "a list": c.GET(subscriptions).Body,
			"one": c.GET(at(subscriptions, id)).Body, "a delivery": c.GET(at(deliveries, idOf(d))).Body}
		for where, bytesOf := range shown {
			for _, h := range hidden {
				if bytes.Contains(bytesOf, []byte(h)) {
					t.Errorf("%s shows %q", where, h)
				}
			}
		}
		if !bytes.Contains(shown["the database"], []byte("X-Token")) || !bytes.Contains(shown["a delivery"], []byte("•••")) {
			t.Error("the test looks at nothing")
		}
	})
}

// database returns all that the store has written.
func database(t *testing.T, a *apitest.API) (out []byte) {
	t.Helper()
	if a.Options.DatabaseURL == "" {
		files, err := filepath.Glob(filepath.Join(a.Options.Folder, "*"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, b...)
		}
		return out
	}
	db, err := sql.Open("pgx", a.Options.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// XML shows blobs in base64: those that matter are looked at by themselves.
	for _, query := range []string{`SELECT schema_to_xml('public', true, true, '')::text`,
		`SELECT encode(secret, 'escape') || encode(old_secret, 'escape') || encode(headers, 'escape') FROM subscriptions`} {
		var dump []byte
		if err := db.QueryRowContext(context.Background(), query).Scan(&dump); err != nil {
			t.Fatal(err)
		}
		out = append(out, dump...)
	}
	return out
}

// A PATCH that is answered with an error has changed nothing, also if the caller leaves right after the commit.
func TestSubscription_PatchSaysWhatHappened(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		made, err := a.App.CreateSubscription(t.Context(), ownerOf(ws), sheaf.SubscriptionChange{Name: sheaf.Some("hook"),
			URL: sheaf.Some("https://hook.example/"), Events: sheaf.Some([]string{"project.created"})})
		if err != nil {
			t.Fatal(err)
		}
		var leave atomic.Pointer[context.CancelFunc]
		a.Store.OnCommit(func(store.Note) {
			if l := leave.Load(); l != nil {
				(*l)()
			}
		})
		// Another node's note of an earlier commit may end the context before the write: then it is tried again.
		for {
			ctx, cancel := context.WithCancel(t.Context())
			leave.Store(&cancel)
			_, failed := a.App.UpdateSubscription(ctx, ownerOf(ws), made.ID, sheaf.SubscriptionChange{Active: sheaf.Some(false)}, sheaf.Match{})
			cancel()
			now, err := a.App.Subscription(t.Context(), ownerOf(ws), made.ID)
			if err != nil {
				t.Fatal(err)
			}
			if failed == nil {
				if now.Active {
					t.Error("it is still active")
				}
				return
			}
			if !now.Active {
				t.Fatalf("it was turned off, and the caller got %v", failed)
			}
		}
	})
}
