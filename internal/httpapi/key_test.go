package httpapi_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/store"
)

// D50, D52: the record; the key itself is shown once.
func TestKey_Record(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		ws := a.Workspace(sheaf.Pro)
		first, k := ws.NewKey(nil)
		c := a.Client(first)
		r := c.POST(keys, `{"name":"Zapier","scopes":["keys:read","projects:read","projects:read"],"expires_at":"2026-11-16T11:00:00.1239+01:00"}`).Want(t, 201)
		secret, id := r.Text(t, "key"), r.Text(t, "id")
		record := `{"id":"$id","name":"Zapier","prefix":"$prefix","scopes":["keys:read","projects:read"],"restricted_to":null,"user_id":"$user","owner":"user",` +
			`"expires_at":"2026-11-16T10:00:00.123Z","last_used_at":null,"created_at":"2026-11-15T10:00:00.000Z"`
		vars := []string{"$id", id, "$prefix", secret[:10], "$user", string(ws.Owner), "$key", secret, "$first", string(k.ID), "$hint", first[:10]}
		wantBody(t, r, record+`,"key":"$key"}`, vars...)
		if !regexp.MustCompile(`^shf_[0-9A-Za-z]{46}$`).MatchString(secret) {
			t.Errorf("the key is %q", secret)
		}
		own := `{"id":"$first","name":"test","prefix":"$hint","scopes":["projects:read","projects:write","projects:admin","documents:read","documents:write",` +
			`"media:read","media:write","shares:read","shares:write","proposals:read","proposals:write","proposals:approve","releases:read","releases:write","brandings:read","brandings:write","webhooks:read","webhooks:write",` +
			`"events:read","events:write","keys:read","keys:write","audit:read"],"restricted_to":null,"user_id":"$user","owner":"user","expires_at":null,"last_used_at":null,"created_at":"2026-11-15T10:00:00.000Z"}`
		list := c.GET(keys).Want(t, 200)
		wantBody(t, list, `{"data":[`+own+`,`+record+`}],"total":2,"limit":50,"offset":0}`, vars...)
		wantSame(t, "reversed", c.GET(keys+"?order=desc").IDs(t), []string{id, string(k.ID)})
		if n := len(emitted(t, c, func() { c.DELETE(at(keys, id)).Want(t, 204) })); n != 0 {
			t.Errorf("keys emitted %d events", n) // D60
		}
		if strings.Contains(a.Log(), secret[10:30]) || strings.Contains(a.Log(), first[10:30]) {
			t.Error("a key is in the log")
		}
	})
}

// D52: bounds of the fields.
func TestKey_RefusedFields(t *testing.T) {
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Business).Client("")
	for field, bodies := range map[string][]string{
		"name": {`{"scopes":["keys:read"]}`, `{"name":"","scopes":["keys:read"]}`, `{"name":null,"scopes":["keys:read"]}`,
			`{"name":"` + strings.Repeat("é", 101) + `","scopes":["keys:read"]}`},
		"scopes": {`{"name":"k"}`, `{"name":"k","scopes":[]}`, `{"name":"k","scopes":null}`, `{"name":"k","scopes":"keys:read"}`,
			`{"name":"k","scopes":["keys:read",null]}`, `{"name":"k","scopes":["Keys:read"]}`, `{"name":"k","scopes":["keys:*"]}`},
		"expires_at": {`{"name":"k","scopes":["keys:read"],"expires_at":"tomorrow"}`, `{"name":"k","scopes":["keys:read"],"expires_at":1}`,
			`{"name":"k","scopes":["keys:read"],"expires_at":"2020-01-01T00:00:00Z"}`},
		"restricted_to": {`{"name":"k","scopes":["documents:read"],"restrict_to":{"project_ids":["` + nowhereID + `"]}}`,
			`{"name":"k","scopes":["documents:read"],"restrictedTo":null}`, `{"restricted_to":null,"name":"k","scopes":["documents:read"],"retricted_to":{}}`},
	} {
		for _, body := range bodies {
			c.POST(keys, body).WantError(t, 400, "VALIDATION_ERROR", field)
		}
	}
	c.POST(keys, fields{"name": strings.Repeat("é", 100), "scopes": []string{"keys:read"}, "expires_at": nil}).Want(t, 201)
	if n := len(c.GET(keys).IDs(t)); n != 2 {
		t.Errorf("%d keys", n)
	}
}

// D51, D52: a key grants only what it holds, for no longer than itself.
func TestKey_GrantsOnlyWhatItHolds(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		ws := a.Workspace(sheaf.Business)
		until := morning.Add(time.Hour)
		secret, _ := ws.NewKey(func(k *sheaf.Key) {
			k.Scopes, k.ExpiresAt = sheaf.Scopes{sheaf.ProjectsWrite, sheaf.KeysWrite}, &until
		})
		c := a.Client(secret)
		c.GET(projects).WantError(t, 403, "FORBIDDEN", "projects:read") // write does not imply read
		c.GET(keys).WantError(t, 403, "FORBIDDEN", "keys:read")
		c.POST(keys, `{"name":"k","scopes":["projects:write","projects:read"],"expires_at":"2026-11-15T11:00:00.000Z"}`).WantError(t, 403, "FORBIDDEN", "projects:read")
		for _, expires := range []string{`"2026-11-15T11:00:00.001Z"`, `null`} {
			c.POST(keys, `{"name":"k","scopes":["keys:write"],"expires_at":`+expires+`}`).WantError(t, 403, "FORBIDDEN", "expires_at", "2026-11-15T11:00:00.000Z")
		}
		c.POST(keys, `{"name":"k","scopes":["keys:write"]}`).WantError(t, 403, "FORBIDDEN", "expires_at")
		c.POST(keys, `{"name":"k","scopes":["keys:write"],"expires_at":"2026-11-15T10:00:00.000Z"}`).WantError(t, 400, "VALIDATION_ERROR", "expires_at")
		made := c.POST(keys, `{"name":"k","scopes":["keys:write"],"expires_at":"2026-11-15T11:00:00.000Z"}`).Want(t, 201)
		child := a.Client(made.Text(t, "key"))
		child.POST(keys, `{"name":"k","scopes":["projects:write"],"expires_at":"2026-11-15T10:30:00Z"}`).WantError(t, 403, "FORBIDDEN", "projects:write")
		child.POST(projects, `{"name":"p"}`).WantError(t, 403, "FORBIDDEN", "projects:write")
		// It ends when it says, to the millisecond.
		a.Clock.Set(until.Add(-time.Millisecond))
		child.GET(me).Want(t, 200)
		a.Clock.Set(until)
		child.GET(me).WantError(t, 401, "UNAUTHORIZED", "expired")
		c.GET(me).WantError(t, 401, "UNAUTHORIZED", "expired")
		secret, alive := ws.NewKey(nil)
		wantSame(t, "the live keys", a.Client(secret).GET(keys).IDs(t), []string{string(alive.ID)})
	})
}

// D52: the number of live keys holds exactly, also when 64 create at once.
func TestKey_LimitUnderConcurrency(t *testing.T) {
	for plan, most := range map[sheaf.Plan]int{sheaf.Pro: 5, sheaf.Business: 25} {
		t.Run(string(plan), func(t *testing.T) {
			apitest.Each(t, func(t *testing.T, a *apitest.API) {
				ws := a.Workspace(plan)
				c := ws.Client("")
				later := a.Clock.Now().Add(time.Hour).UTC().Format(time.RFC3339)
				rs := apitest.Together(64, func(i int) *apitest.Response {
					return c.POST(keys, fields{"name": fmt.Sprint(i), "scopes": []string{"projects:read"}, "expires_at": later})
				})
				if n := apitest.Statuses(rs); n[201] != most-1 || n[403] != 64-most+1 {
					t.Errorf("beside one key: %v", n)
				}
				secrets := map[string]bool{}
				var last *apitest.Response
				for _, r := range rs {
					if r.Status == 403 {
						r.WantError(t, 403, "KEY_LIMIT_REACHED", fmt.Sprint(most), string(plan))
						continue
					}
					secrets[r.Text(t, "key")] = true
					last = r
				}
				if len(secrets) != most-1 || len(c.GET(keys).IDs(t)) != most {
					t.Errorf("%d secrets, %d in the list", len(secrets), len(c.GET(keys).IDs(t)))
				}
				// A revoked or expired one makes room again; the operator has no more of it.
				body := fields{"name": "n", "scopes": []string{"projects:read"}}
				c.DELETE(at(keys, last.Text(t, "id"))).Want(t, 204)
				c.POST(keys, body).Want(t, 201)
				c.POST(keys, body).WantError(t, 403, "KEY_LIMIT_REACHED")
				if _, err := a.App.Operator().CreateKey(context.Background(), ws.ID, app.NewKey{Name: "o", Scopes: sheaf.AllScopes}); sheaf.KindOf(err) != sheaf.Forbidden {
					t.Errorf("the operator got %v", err)
				}
				a.Clock.Advance(2 * time.Hour)
				c.POST(keys, body).Want(t, 201)
			})
		})
	}
}

// A workspace makes ten times its keys in an hour, thrown away ones included; the operator is not
// asked.
func TestKey_NoMoreThanSomeInAnHour(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		body := fields{"name": "n", "scopes": []string{"projects:read"}}
		for range 49 {
			a.Clock.Advance(time.Second)
			r := c.POST(keys, body).Want(t, 201)
			c.DELETE(at(keys, r.Text(t, "id"))).Want(t, 204)
		}
		r := c.POST(keys, body).WantError(t, 429, "RATE_LIMITED", "50 API keys", "pro plan", "3551 seconds")
		if got := r.Header.Get("Retry-After"); got != "3551" {
			t.Errorf("Retry-After is %q", got)
		}
		c.GET(me).Want(t, 200)
		k, err := a.App.Operator().CreateKey(context.Background(), ws.ID, app.NewKey{Name: "o", Scopes: sheaf.AllScopes})
		if err != nil {
			t.Fatalf("the operator: %v", err)
		}
		ws.Revoke(k.ID)
		a.Clock.Advance(3551 * time.Second) // the first one is an hour old
		c.POST(keys, body).WantError(t, 429, "RATE_LIMITED", "1 seconds")
		a.Clock.Advance(time.Second) // the second too, since the operator's own counts
		rs := apitest.Together(8, func(int) *apitest.Response { return c.POST(keys, body) })
		if n := apitest.Statuses(rs); n[201] != 1 || n[429] != 7 {
			t.Errorf("of 8 at once, when one may be made: %v", n)
		}
	})
}

// D33, D55: a smaller plan ends nothing that there is; on free no key can be made, and none opens
// the API.
func TestKey_OnASmallerPlan(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		var clients []*apitest.Client
		for range 7 {
			clients = append(clients, ws.Client(""))
		}
		ws.SetPlan(sheaf.Pro)
		for _, c := range clients {
			c.GET(me).Want(t, 200)
		}
		clients[0].POST(keys, `{"name":"k","scopes":["keys:read"]}`).WantError(t, 403, "KEY_LIMIT_REACHED", "5")
		ws.SetPlan(sheaf.Free)
		clients[0].GET(me).WantError(t, 403, "PLAN_REQUIRED")
		if _, err := a.App.Operator().CreateKey(context.Background(), ws.ID, app.NewKey{Name: "o", Scopes: sheaf.AllScopes}); err == nil ||
			err.(*sheaf.Error).Code != sheaf.CodeKeyLimit {
			t.Errorf("the operator got %v", err)
		}
		ws.SetPlan(sheaf.Pro)
		clients[6].GET(me).Want(t, 200)
	})
}

// D52, D55: revoking counts for the very next request.
func TestKey_RevokedAtOnce(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		for range 5 {
			made := c.POST(keys, fields{"name": "k", "scopes": []string{"projects:read"}}).Want(t, 201)
			victim, id := a.Client(made.Text(t, "key")), made.Text(t, "id")
			together(8, func(i int) {
				if i == 0 {
					c.DELETE(at(keys, id))
					if r := victim.GET(projects); r.Status != 401 {
						t.Errorf("right after it was revoked: %d %s", r.Status, r.Body)
					}
					return
				}
				victim.GET(projects) // brings the key back into any cache there is
			})
			victim.GET(projects).WantError(t, 401, "UNAUTHORIZED", "revoked")
			c.DELETE(at(keys, id)).WantError(t, 404, "NOT_FOUND")
			if ids := c.GET(keys).IDs(t); len(ids) != 1 {
				t.Errorf("live keys: %q", ids)
			}
		}
		others := a.Workspace(sheaf.Pro)
		_, inTheirName := ws.NewKey(func(k *sheaf.Key) { k.UserID = others.Owner })
		c.POST(at(keys, string(inTheirName.ID))+"/rotate", "").WantError(t, 403, "FORBIDDEN", "another user")
		_, theirs := others.NewKey(nil)
		unknown := c.DELETE(at(keys, nowhereID)).WantError(t, 404, "NOT_FOUND")
		wantBody(t, c.DELETE(at(keys, string(theirs.ID))).Want(t, 404), string(unknown.Body))
		// Also its own.
		secret, own := ws.NewKey(nil)
		a.Client(secret).DELETE(at(keys, string(own.ID))).Want(t, 204)
		a.Client(secret).GET(me).WantError(t, 401, "UNAUTHORIZED")
	})
}

// D52a: who am I, for any key of a paid plan.
func TestMe(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		ws := a.Workspace(sheaf.Business, func(w *app.NewWorkspace) { w.Name, w.OwnerEmail, w.Personal = "Ada's", "ada@example.com", true })
		secret, k := ws.NewKey(func(k *sheaf.Key) { k.Scopes = sheaf.Scopes{sheaf.DocumentsRead} })
		c := a.Client(secret)
		body := `{"key":{"id":"$key","name":"test","prefix":"$prefix","scopes":["documents:read"],"restricted_to":null,"user_id":"$user","owner":"user","expires_at":null,"last_used_at":$used,` +
			`"created_at":"2026-11-15T10:00:00.000Z"},"user":{"id":"$user","email":"ada@example.com","name":""},` +
			`"workspace":{"id":"$ws","name":"Ada's","personal":true},"plan":"business","rate_limit":{"limit":500,"remaining":$left,"reset":0},"storage":{"used":0,"quota":null}}`
		vars := []string{"$key", string(k.ID), "$prefix", secret[:10], "$user", string(ws.Owner), "$ws", string(ws.ID)}
		wantBody(t, c.GET(me).Want(t, 200), body, append(vars, "$used", "null", "$left", "499")...)
		// last_used_at is written periodically, and no cache hides it.
		a.WriteUsage()
		wantBody(t, c.GET(me).Want(t, 200), body, append(vars, "$used", `"2026-11-15T10:00:00.000Z"`, "$left", "498")...)
		ws.SetPlan(sheaf.Free)
		c.GET(me).WantError(t, 403, "PLAN_REQUIRED")
	}, apitest.PlanLimits)
}

// D52: last_used_at is of the last use, and of that key alone.
func TestKey_LastUsed(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		ws := a.Workspace(sheaf.Pro)
		c, other := ws.Client(""), ws.Client("")
		c.GET(projects).Want(t, 200)
		a.WriteUsage()
		a.Clock.Advance(time.Minute)
		used := other.GET(keys).Want(t, 200).Items(t)
		if used[0]["last_used_at"] != "2026-11-15T10:00:00.000Z" || used[1]["last_used_at"] != nil {
			t.Errorf("used at %v and %v", used[0]["last_used_at"], used[1]["last_used_at"])
		}
	})
}

// D55: what another node, or the command line beside it, changes counts here: at once on
// PostgreSQL, in 2 s on SQLite.
func TestKey_ChangedByAnotherProcess(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		secret, k := ws.NewKey(nil)
		c := a.Client(secret)
		c.GET(me).Want(t, 200)
		s, err := store.Open(context.Background(), a.Options)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		other := app.New(app.Config{Store: s, Now: a.Clock.Now, Random: rand.Reader}).Operator()
		within := patience // of a busy machine: see TestSQLite_CommitOfAnotherProcessIsNoticed
		if a.Options.DatabaseURL != "" {
			within = 0
		}
		soon := func(status int) {
			t.Helper()
			for begun := time.Now(); c.GET(me).Status != status; {
				if time.Since(begun) > within {
					t.Fatalf("after %v it is %d", within, c.GET(me).Status)
				}
			}
		}
		if _, err := other.SetPlan(context.Background(), ws.ID, sheaf.Free); err != nil {
			t.Fatal(err)
		}
		soon(403)
		if _, err := other.SetPlan(context.Background(), ws.ID, sheaf.Business); err != nil {
			t.Fatal(err)
		}
		soon(200)
		if _, err := other.RevokeKey(context.Background(), k.ID); err != nil {
			t.Fatal(err)
		}
		soon(401)
	})
}

// D55: on every node: what one writes and revokes, the other neither shows nor admits any more.
func TestNodes_ShareOneDatabase(t *testing.T) {
	a := apitest.Postgres(t)
	s, err := store.Open(context.Background(), a.Options)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rules := app.New(app.Config{Store: s, Now: a.Clock.Now, Random: rand.Reader})
	node := a.Serve(rules)
	ws := a.Workspace(sheaf.Pro)
	secret, k := ws.NewKey(nil)
	c := a.Client(secret)
	ask := func() (int, string) {
		t.Helper()
		req := httptest.NewRequest("GET", projects, nil)
		req.Header.Set("Authorization", "Bearer "+secret)
		w := httptest.NewRecorder()
		node.ServeHTTP(w, req)
		return w.Code, w.Body.String()
	}
	for i := range 10 {
		name := fmt.Sprint("written on the other node ", i)
		if status, body := ask(); status != 200 || strings.Contains(body, name) { // fills its cache
			t.Fatalf("got %d %s", status, body)
		}
		create(t, c, projects, fields{"name": name})
		if _, body := ask(); !strings.Contains(body, name) {
			t.Fatalf("the other node answers from the past: %s", body)
		}
	}
	ws.Revoke(k.ID)
	if status, _ := ask(); status != 401 {
		t.Errorf("the other node answers %d to a revoked key", status)
	}
}

// D53: the credential of the webhook endpoints is a key with their own scopes; no other scope will
// do.
func TestKey_ScopesOfWebhooks(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		const subscriptions = "/api/webhooks/subscriptions"
		ws := a.Workspace(sheaf.Pro)
		body := fields{"name": "w", "url": "https://example.com/hook", "events": []string{"project.created"}}
		var others []sheaf.Scope
		for _, s := range sheaf.AllScopes {
			if s != sheaf.WebhooksRead && s != sheaf.WebhooksWrite {
				others = append(others, s)
			}
		}
		reader, writer, neither := ws.Client(ws.Key(sheaf.WebhooksRead)), ws.Client(ws.Key(sheaf.WebhooksWrite)), ws.Client(ws.Key(others...))
		for _, c := range []*apitest.Client{reader, neither} {
			c.POST(subscriptions, body).WantError(t, 403, "FORBIDDEN", "webhooks:write")
		}
		for _, c := range []*apitest.Client{writer, neither} {
			c.GET(subscriptions).WantError(t, 403, "FORBIDDEN", "webhooks:read")
		}
		made := writer.POST(subscriptions, body).Want(t, 201)
		one := at(subscriptions, made.JSON["subscription"].(fields)["id"].(string))
		reader.GET(one).Want(t, 200)
		writer.GET(one).WantError(t, 403, "FORBIDDEN", "webhooks:read")
		for _, c := range []*apitest.Client{reader, neither} {
			c.PATCH(one, fields{"name": "x"}).WantError(t, 403, "FORBIDDEN", "webhooks:write")
			c.DELETE(one).WantError(t, 403, "FORBIDDEN", "webhooks:write")
			for _, action := range []string{"test", "rotate-secret", "recover"} {
				c.POST(one+"/"+action, `{"since":"2026-01-01T00:00:00Z"}`).WantError(t, 403, "FORBIDDEN", "webhooks:write")
			}
		}
		writer.DELETE(one).Want(t, 204)
	})
}

// D52a, D54: me tells the same as the headers.
func TestRateLimit_InMe(t *testing.T) {
	a := apitest.SQLite(t, apitest.PlanLimits)
	a.Clock.Set(morning)
	c := a.Workspace(sheaf.Pro).Client("")
	for i := range 100 {
		r := c.GET(me).Want(t, 200)
		want := fmt.Sprintf(`"plan":"pro","rate_limit":{"limit":100,"remaining":%d,"reset":%s},"storage":{"used":0,"quota":null}}`, 99-i, r.Header.Get("RateLimit-Reset"))
		if !strings.HasSuffix(string(r.Body), want) {
			t.Fatalf("got %s, want …%s", r.Body, want)
		}
	}
}

// rotate rotates a key by the command line, and returns its new secret.
func rotate(a *apitest.API, ws *apitest.Workspace, id sheaf.KeyID, grace time.Duration) string {
	k, err := a.App.Operator().RotateKey(context.Background(), id, grace)
	if err != nil {
		panic(err)
	}
	return *k.Secret
}

// D207: a rotated key keeps its id and what it may do. Its old secret ends at once, or works for the
// grace; an older one ends in any case.
func TestKey_Rotate(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		first, k := ws.NewKey(func(k *sheaf.Key) { k.Scopes = sheaf.Scopes{sheaf.ProjectsRead} })
		path := at(keys, string(k.ID)) + "/rotate"
		wantWorks := func(what string, status int, secrets ...string) {
			t.Helper()
			for i, secret := range secrets {
				if r := a.Client(secret).GET(projects); r.Status != status {
					t.Errorf("%s, secret %d: %d %s", what, i, r.Status, r.Body)
				}
			}
		}
		r := c.POST(path, "").Want(t, 200)
		second := r.Text(t, "key")
		wantBody(t, r, `{"id":"$id","name":"test","prefix":"$prefix","scopes":["projects:read"],"restricted_to":null,"user_id":"$user","owner":"user","expires_at":null,`+
			`"last_used_at":null,"created_at":"2026-11-15T10:00:00.000Z","key":"$key"}`,
			"$id", string(k.ID), "$prefix", second[:10], "$user", string(ws.Owner), "$key", second)
		wantWorks("without a grace", 401, first)
		wantWorks("the new one", 200, second)

		third := c.POST(path, fields{"grace_seconds": 60}).Want(t, 200).Text(t, "key")
		wantWorks("within the grace", 200, second, third)
		if got := a.Client(second).GET(me).JSON["key"].(fields)["prefix"]; got != third[:10] {
			t.Errorf("the old secret shows the prefix %v", got)
		}
		a.Clock.Advance(time.Minute - time.Millisecond)
		wantWorks("until its last millisecond", 200, second, third)
		a.Clock.Advance(time.Millisecond)
		wantWorks("after it", 401, first, second)
		wantWorks("the new one stays", 200, third)

		fourth := c.POST(path, fields{"grace_seconds": 86400}).Want(t, 200).Text(t, "key")
		fifth := c.POST(path, fields{"grace_seconds": 86400}).Want(t, 200).Text(t, "key")
		wantWorks("two rotations later", 401, third)
		wantWorks("the last two", 200, fourth, fifth)
		last := c.POST(path, fields{"grace_seconds": nil}).Want(t, 200).Text(t, "key")
		wantWorks("ended at once", 401, fourth, fifth)
		wantWorks("the last one", 200, last)
		if n := len(c.GET(keys).IDs(t)); n != 2 {
			t.Errorf("%d keys", n)
		}
		// A previous secret ends with its key.
		c.POST(path, fields{"grace_seconds": 60}).Want(t, 200)
		ws.Revoke(k.ID)
		wantWorks("of a revoked key", 401, last)
		c.POST(path, "").WantError(t, 404, "NOT_FOUND")
	})
}

// D207: what rotating a key needs, and what it refuses.
func TestKey_RotateIsRefused(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		ws := a.Workspace(sheaf.Business)
		_, k := ws.NewKey(func(k *sheaf.Key) { k.Scopes = sheaf.Scopes{sheaf.ProjectsRead, sheaf.KeysWrite} })
		soon, later := morning.Add(time.Hour), morning.Add(2*time.Hour)
		_, short := ws.NewKey(func(k *sheaf.Key) { k.ExpiresAt = &soon })
		path := at(keys, string(k.ID)) + "/rotate"
		c := ws.Client("")
		for _, grace := range []string{`-1`, `86401`, `0.5`, `"1"`, `true`} {
			c.POST(path, `{"grace_seconds":`+grace+`}`).WantError(t, 400, "VALIDATION_ERROR", "grace_seconds")
		}
		ws.Client(ws.Key(sheaf.KeysRead)).POST(path, "").WantError(t, 403, "FORBIDDEN", "keys:write")
		ws.Client(ws.Key(sheaf.KeysWrite)).POST(path, "").WantError(t, 403, "FORBIDDEN", "projects:read")
		ends, _ := ws.NewKey(func(k *sheaf.Key) { k.ExpiresAt = &later })
		a.Client(ends).POST(path, "").WantError(t, 403, "FORBIDDEN", "2026-11-15T12:00:00.000Z")
		a.Client(ends).POST(at(keys, string(short.ID))+"/rotate", "").Want(t, 200)
		_, theirs := a.Workspace(sheaf.Pro).NewKey(nil)
		unknown := c.POST(at(keys, nowhereID)+"/rotate", "").WantError(t, 404, "NOT_FOUND")
		wantBody(t, c.POST(at(keys, string(theirs.ID))+"/rotate", "").Want(t, 404), string(unknown.Body))
		a.Clock.Set(soon)
		c.POST(at(keys, string(short.ID))+"/rotate", "").WantError(t, 404, "NOT_FOUND")
		c.POST(path, "").Want(t, 200)
	})
}

// D57, D207: a repetition has no second effect, and does not show the secret again.
func TestKey_RotateOnce(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		old, k := ws.NewKey(nil)
		c, path := a.Client(old), at(keys, string(k.ID))+"/rotate"
		once := "Idempotency-Key: rotate-1"
		secret := c.POST(path, `{"grace_seconds":60}`, once).Want(t, 200).Text(t, "key")
		for _, c := range []*apitest.Client{c, a.Client(secret)} {
			again := c.POST(path, `{"grace_seconds":60}`, once).Want(t, 200)
			if again.Header.Get("Idempotent-Replayed") != "true" || again.JSON["key"] != nil || again.JSON["id"] != string(k.ID) {
				t.Errorf("repeated: %s", again.Body)
			}
			c.POST(path, `{"grace_seconds":61}`, once).WantError(t, 409, "IDEMPOTENCY_CONFLICT")
		}
	})
}

// D207: during its grace the old secret does all that the key may, but it does not rotate the key again.
func TestKey_AnOldSecretDoesNotRotate(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		old, k := ws.NewKey(nil)
		_, other := ws.NewKey(nil)
		path := at(keys, string(k.ID)) + "/rotate"
		now := a.Client(old).POST(path, fields{"grace_seconds": 3600}).Want(t, 200).Text(t, "key")
		for _, grace := range []any{nil, 0, 3600} {
			a.Client(old).POST(path, fields{"grace_seconds": grace}).WantError(t, 403, "FORBIDDEN", "use the new secret")
		}
		a.Client(old).GET(me).Want(t, 200)
		a.Client(old).POST(at(keys, string(other.ID))+"/rotate", "").Want(t, 200)
		a.Client(now).GET(me).Want(t, 200)
		a.Client(now).POST(path, "").Want(t, 200)
		a.Client(old).GET(me).WantError(t, 401, "UNAUTHORIZED")
	})
}

// D55, D207: of 64 clients that rotate a key with its own secret at once, one succeeds. With a grace the
// others get 403. Without a grace, a request with the old secret is refused if it begins after that answer.
func TestKey_RotateTogether(t *testing.T) {
	for grace, refused := range map[int]int{0: 401, 3600: 403} {
		t.Run(fmt.Sprintf("grace %d", grace), func(t *testing.T) {
			apitest.Each(t, func(t *testing.T, a *apitest.API) {
				ws := a.Workspace(sheaf.Business)
				old, k := ws.NewKey(nil)
				path := at(keys, string(k.ID)) + "/rotate"
				rs := apitest.Together(64, func(i int) *apitest.Response {
					c := a.Client(old)
					r := c.POST(path, fields{"grace_seconds": grace})
					if after := c.POST(projects, fields{"name": fmt.Sprint(i)}); grace == 0 && after.Status != 401 {
						t.Errorf("a write after the answer %d: %d %s", r.Status, after.Status, after.Body)
					}
					return r
				})
				if n := apitest.Statuses(rs); n[200] != 1 || n[refused] != 63 {
					t.Errorf("got %v", n)
				}
				works := 0
				for _, r := range rs {
					if r.Status == 200 && a.Client(r.Text(t, "key")).GET(me).Status == 200 {
						works++
					}
				}
				if works != 1 {
					t.Errorf("%d of the new secrets work", works)
				}
				if r := a.Client(old).GET(me); (r.Status == 401) != (grace == 0) {
					t.Errorf("the old secret is answered with %d %s", r.Status, r.Body)
				}
				if n := ws.Client("").GET(projects).JSON["total"]; grace == 0 && n != 0.0 {
					t.Errorf("%v projects were made", n)
				}
			})
		})
	}
}

// D55, D207: what another node, or the command line beside it, rotates counts here: at once on
// PostgreSQL, in 2 s on SQLite.
func TestKey_RotatedByAnotherProcess(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		old, k := ws.NewKey(nil)
		a.Client(old).GET(me).Want(t, 200)
		s, err := store.Open(context.Background(), a.Options)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		other := app.New(app.Config{Store: s, Now: a.Clock.Now, Random: rand.Reader}).Operator()
		next, err := other.RotateKey(context.Background(), k.ID, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		within := patience
		if a.Options.DatabaseURL != "" {
			within = 0
		}
		soon := func(secret string, status int) {
			t.Helper()
			for begun := time.Now(); a.Client(secret).GET(me).Status != status; {
				if time.Since(begun) > within {
					t.Fatalf("after %v it is not %d", within, status)
				}
			}
		}
		soon(*next.Secret, 200)
		a.Client(old).GET(me).Want(t, 200)
		if _, err := other.RotateKey(context.Background(), k.ID, 0); err != nil {
			t.Fatal(err)
		}
		soon(*next.Secret, 401)
		soon(old, 401)
		if _, err := other.RotateKey(context.Background(), k.ID, 25*time.Hour); sheaf.KindOf(err) != sheaf.Invalid {
			t.Errorf("a grace of 25 hours: %v", err)
		}
	})
}

// D207: a key of the workspace is shown as such. A user's key can neither make nor rotate one; what
// it makes itself belongs to the workspace too.
func TestKey_OfTheWorkspace(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		made, err := a.App.Operator().CreateKey(context.Background(), ws.ID, app.NewKey{Name: "pipeline", Scopes: sheaf.AllScopes, OfWorkspace: true})
		if err != nil {
			t.Fatal(err)
		}
		own := a.Client(*made.Secret)
		if got := own.GET(me).Want(t, 200).JSON["key"].(fields)["owner"]; got != "workspace" {
			t.Errorf("it belongs to %v", got)
		}
		for _, c := range []*apitest.Client{c, own} {
			c.POST(keys, `{"name":"k","scopes":["keys:read"],"owner":"workspace"}`).WantError(t, 400, "VALIDATION_ERROR", "owner", "console")
		}
		if got := c.POST(keys, `{"name":"k","scopes":["keys:read"],"owner":"user"}`).Want(t, 201).Text(t, "owner"); got != "user" {
			t.Errorf("of a user's key: %s", got)
		}
		if got := own.POST(keys, `{"name":"k","scopes":["keys:read"]}`).Want(t, 201).Text(t, "owner"); got != "workspace" {
			t.Errorf("of a key of the workspace: %s", got)
		}
		path := at(keys, string(made.ID)) + "/rotate"
		c.POST(path, "").WantError(t, 403, "FORBIDDEN", "of the workspace")
		if got := own.POST(path, "").Want(t, 200).Text(t, "owner"); got != "workspace" {
			t.Errorf("rotated: %s", got)
		}
		own.GET(me).WantError(t, 401, "UNAUTHORIZED")
	})
}
