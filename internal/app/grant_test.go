package app

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// connecting is an app that a person connects in a test.
type connectingApp struct {
	t        *testing.T
	a        *App
	client   sheaf.OAuthClient
	verifier string
}

const testRedirect = "https://app.example/callback"

func newConnectingApp(t *testing.T, a *App) connectingApp {
	t.Helper()
	c, err := a.RegisterApp(t.Context(), sheaf.OAuthClient{Name: "Helper", Redirects: []string{testRedirect}}, "192.0.2.7")
	if err != nil {
		t.Fatal(err)
	}
	return connectingApp{t, a, c, strings.Repeat("verifier-", 6)}
}

// consent is the consent that a person gives, which `change` may alter first.
func (x connectingApp) consent(change func(*NewGrant)) NewGrant {
	sum := sha256.Sum256([]byte(x.verifier))
	in := NewGrant{App: x.client, Redirect: testRedirect, Challenge: base64.RawURLEncoding.EncodeToString(sum[:]), Scopes: sheaf.DefaultGrantScopes}
	if change != nil {
		change(&in)
	}
	return in
}

func (x connectingApp) code(c Caller, change func(*NewGrant)) string {
	x.t.Helper()
	code, err := x.a.Connect(x.t.Context(), c, x.consent(change))
	if err != nil {
		x.t.Fatal(err)
	}
	return code
}

// connect connects the app and returns its first tokens.
func (x connectingApp) connect(c Caller, change func(*NewGrant)) Tokens {
	x.t.Helper()
	t, err := x.a.RedeemCode(x.t.Context(), x.redemption(x.code(c, change)))
	if err != nil {
		x.t.Fatal(err)
	}
	return t
}

func (x connectingApp) redemption(code string) Redemption {
	return Redemption{Code: code, Client: x.client.ID, Redirect: testRedirect, Verifier: x.verifier, Origin: testOrigin{}}
}

func (x connectingApp) renew(token string) (Tokens, error) {
	return x.a.RenewTokens(x.t.Context(), Renewal{Token: token, Client: x.client.ID, Origin: testOrigin{}})
}

// caller returns the app as a caller.
func (x connectingApp) caller(access string) (Caller, error) {
	c, err := x.a.Authenticate(x.t.Context(), access)
	if err == nil {
		err = x.a.CheckWithin(x.t.Context(), c)
	}
	return Caller{Workspace: c.Workspace, User: c.Key.UserID, Key: c.Key, Plan: c.Plan, Origin: testOrigin{}}, err
}

func (x connectingApp) acts(access string) Caller {
	x.t.Helper()
	c, err := x.caller(access)
	if err != nil {
		x.t.Fatal(err)
	}
	return c
}

// ended fails the test unless the access token no longer works.
func (x connectingApp) ended(what, access string) {
	x.t.Helper()
	if _, err := x.caller(access); sheaf.KindOf(err) != sheaf.Unauthorized {
		x.t.Errorf("%s: the access token still works: %v", what, err)
	}
}

func wantOAuth(t *testing.T, what string, err error, code string) {
	t.Helper()
	var refused *sheaf.OAuthError
	if !errors.As(err, &refused) || refused.Code != code {
		t.Errorf("%s: got %v, want %s", what, err, code)
	}
}

// D195: a code works once, for a minute, and only with what it was asked for with. The second use ends the grant.
func TestGrant_Code(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		v := newVillage(t, a)
		x := newConnectingApp(t, a)
		code := x.code(v.owner, nil)
		for name, change := range map[string]func(*Redemption){
			"another code":             func(r *Redemption) { r.Code += "x" },
			"another app":              func(r *Redemption) { r.Client = "other" },
			"another redirect address": func(r *Redemption) { r.Redirect += "/" },
			"another verifier":         func(r *Redemption) { r.Verifier += "x" },
			"no verifier":              func(r *Redemption) { r.Verifier = "" },
		} {
			in := x.redemption(code)
			change(&in)
			_, err := a.RedeemCode(t.Context(), in)
			wantOAuth(t, name, err, "invalid_grant")
		}
		in := x.redemption(code)
		in.Resource = "https://other.example/mcp"
		_, err := a.RedeemCode(t.Context(), in)
		wantOAuth(t, "another resource", err, "invalid_target")

		in.Resource = "HTTPS://Docs.Example.com/mcp/" // as some apps write it
		tokens, err := a.RedeemCode(t.Context(), in)
		if err != nil || tokens.ExpiresIn != time.Hour || !slices.Equal(tokens.Scopes, sheaf.DefaultGrantScopes) {
			t.Fatalf("%+v, %v", tokens, err)
		}
		if got := v.names(x.acts(tokens.Access)); got != "Filed Hidden Single" {
			t.Errorf("the app sees %q", got)
		}
		_, err = a.RedeemCode(t.Context(), x.redemption(code))
		wantOAuth(t, "a code that was used", err, "invalid_grant")
		x.ended("after the code came twice", tokens.Access)
		_, err = x.renew(tokens.Refresh)
		wantOAuth(t, "a token of the ended grant", err, "invalid_grant")

		late := x.code(v.owner, nil)
		*now = now.Add(time.Minute)
		_, err = a.RedeemCode(t.Context(), x.redemption(late))
		wantOAuth(t, "a code after a minute", err, "invalid_grant")
		sweep := func(before time.Time) (n int64) {
			t.Helper()
			v.must(a.writeUnasked(t.Context(), func(tx *store.Tx) (err error) {
				n, err = tx.DeleteUnredeemedGrants(before, 100)
				return err
			}))
			return n
		}
		x.connect(v.owner, nil)
		if early, swept := sweep(now.Add(-time.Second)), sweep(now.Add(time.Hour)); early != 0 || swept != 1 {
			t.Errorf("%d grants were swept before their end and %d after it, want 0 and the one whose code was not redeemed", early, swept)
		}
	})
}

// D195: an access token works for an hour. Refresh tokens rotate: the previous one gets the same answer for a minute, and
// ends the grant later, as does any older one.
func TestGrant_Refresh(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		v := newVillage(t, a)
		x := newConnectingApp(t, a)
		first := x.connect(v.owner, nil)
		*now = now.Add(30 * time.Minute)
		second, err := x.renew(first.Refresh)
		if err != nil || second.Access == first.Access || second.Refresh == first.Refresh {
			t.Fatalf("%+v, %v", second, err)
		}
		x.acts(first.Access) // until its hour is over
		*now = now.Add(59 * time.Second)
		again, err := x.renew(first.Refresh)
		if err != nil || again.Access != second.Access || again.Refresh != second.Refresh || again.ExpiresIn != time.Hour-59*time.Second {
			t.Errorf("the repetition got %+v, %v, want the same tokens", again, err)
		}
		*now = now.Add(29*time.Minute + time.Second)
		x.ended("an hour later", first.Access)
		x.acts(second.Access)
		third, err := x.renew(second.Refresh)
		if err != nil {
			t.Fatal(err)
		}
		forged := third.Refresh[:len(third.Refresh)-1] + map[bool]string{true: "b", false: "a"}[strings.HasSuffix(third.Refresh, "a")]
		for name, token := range map[string]string{"a forged token": forged, "no token": "shr_", "a key": sheaf.NewSecretKey(strings.NewReader(strings.Repeat("abcdefgh", 30))),
			"a token of the future": strings.Replace(third.Refresh, "_3_", "_4_", 1), "an access token": third.Access} {
			_, err := x.renew(token)
			wantOAuth(t, name, err, "invalid_grant")
		}
		_, err = a.RenewTokens(t.Context(), Renewal{Token: third.Refresh, Client: "other"})
		wantOAuth(t, "the token of another app", err, "invalid_grant")
		_, err = a.RenewTokens(t.Context(), Renewal{Token: third.Refresh, Client: x.client.ID, Scopes: []string{"documents:write"}})
		wantOAuth(t, "a scope that was not granted", err, "invalid_scope")
		_, err = a.RenewTokens(t.Context(), Renewal{Token: third.Refresh, Client: x.client.ID, Resource: "https://docs.example.com/api"})
		wantOAuth(t, "another resource", err, "invalid_target")
		x.acts(third.Access) // none of these ended it
		*now = now.Add(time.Minute)
		_, err = x.renew(second.Refresh)
		wantOAuth(t, "an old refresh token after a minute", err, "invalid_grant")
		x.ended("after an old refresh token", third.Access)
	})
}

// D195: of many requests with one code or one refresh token, on two nodes, the grant lives or ends as if they had come one
// after the other.
func TestGrant_Races(t *testing.T) {
	twoNodes(t, func(t *testing.T, nodes []*App, now *time.Time) {
		v := newVillage(t, nodes[0])
		x := newConnectingApp(t, nodes[0])
		at := func(do func(a *App) (Tokens, error)) (got []Tokens, refused int) {
			var mu sync.Mutex
			var wg sync.WaitGroup
			for i := range 16 {
				wg.Go(func() {
					t, err := do(nodes[i%2])
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						refused++
						wantOAuth(x.t, "a race", err, "invalid_grant")
						return
					}
					got = append(got, t)
				})
			}
			wg.Wait()
			return got, refused
		}
		code := x.code(v.owner, nil)
		got, refused := at(func(a *App) (Tokens, error) { return a.RedeemCode(t.Context(), x.redemption(code)) })
		if len(got) != 1 || refused != 15 {
			t.Fatalf("%d requests redeemed the code, and %d were refused", len(got), refused)
		}
		x.ended("after the code came 16 times", got[0].Access)

		tokens := x.connect(v.owner, nil)
		got, refused = at(func(a *App) (Tokens, error) {
			return a.RenewTokens(t.Context(), Renewal{Token: tokens.Refresh, Client: x.client.ID})
		})
		for _, one := range got {
			if one.Access != got[0].Access || one.Refresh != got[0].Refresh {
				t.Errorf("two requests got different tokens: %+v and %+v", one, got[0])
			}
		}
		if refused != 0 {
			t.Errorf("%d renewals were refused", refused)
		}
		x.acts(got[0].Access)
	})
}

// D196: an app gets no scope that is not for apps, or that its person lacks, and no restriction beyond the person's.
func TestGrant_Consent(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		v := newVillage(t, a)
		x := newConnectingApp(t, a)
		bob := caller(t, a, v.join("bob@example.com", sheaf.Member, nil))
		carl := caller(t, a, v.join("carl@example.com", sheaf.Editor, v.here()))
		wants := func(what string, c Caller, kind sheaf.Kind, change func(*NewGrant)) {
			t.Helper()
			_, err := a.Connect(t.Context(), c, x.consent(change))
			wantKind(t, what, err, kind)
		}
		for _, s := range sheaf.AllScopes {
			if !sheaf.GrantScopes.Has(s) {
				wants(string(s), v.owner, sheaf.Invalid, func(g *NewGrant) { g.Scopes = sheaf.Scopes{s} })
			}
		}
		for _, s := range []sheaf.Scope{sheaf.KeysRead, sheaf.KeysWrite, sheaf.WebhooksRead, sheaf.WebhooksWrite, sheaf.EventsWrite, sheaf.AuditRead, sheaf.ProjectsAdmin} {
			if sheaf.GrantScopes.Has(s) {
				t.Errorf("an app can get %s", s)
			}
		}
		wants("no scope", v.owner, sheaf.Invalid, func(g *NewGrant) { g.Scopes = nil })
		wants("a scope beyond the role", bob, sheaf.Forbidden, func(g *NewGrant) { g.Scopes = sheaf.Scopes{sheaf.DocumentsWrite} })
		wants("a project that the person does not see", carl, sheaf.NotFound, func(g *NewGrant) { g.RestrictTo = &RestrictTo{Projects: []sheaf.ProjectID{v.hidden}} })
		wants("a scope that does not go with a restriction", v.owner, sheaf.Invalid, func(g *NewGrant) {
			g.Scopes, g.RestrictTo = sheaf.Scopes{sheaf.BrandingsWrite}, &RestrictTo{Projects: []sheaf.ProjectID{v.hidden}}
		})
		past := now.Add(-time.Second)
		wants("an end in the past", v.owner, sheaf.Invalid, func(g *NewGrant) { g.ExpiresAt = &past })
		key := Caller{Workspace: v.owner.Workspace, User: v.owner.User, Key: sheaf.Key{ID: "k", Scopes: sheaf.AllScopes}}
		wants("a key", key, sheaf.Forbidden, nil)

		tomorrow := now.Add(24 * time.Hour)
		short := x.connect(bob, func(g *NewGrant) { g.ExpiresAt = &tomorrow })
		*now = tomorrow
		x.ended("after the chosen end", short.Access)
		_, err := x.renew(short.Refresh)
		wantOAuth(t, "a renewal after the chosen end", err, "invalid_grant")
	})
}

// D197: a person connects at most 10 apps to a workspace, and codes count while they work.
func TestGrant_Limit(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		v := newVillage(t, a)
		x := newConnectingApp(t, a)
		var wg sync.WaitGroup
		var mu sync.Mutex
		made := 0
		for range 24 {
			wg.Go(func() {
				_, err := a.Connect(t.Context(), v.owner, x.consent(nil))
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					made++
				} else {
					wantKind(t, "one app too many", err, sheaf.Conflict)
				}
			})
		}
		wg.Wait()
		if made != sheaf.MaxGrantsOfPerson {
			t.Errorf("%d apps were connected, want %d", made, sheaf.MaxGrantsOfPerson)
		}
		x.code(caller(t, a, v.join("bob@example.com", sheaf.Member, nil)), nil)
		*now = now.Add(time.Minute)
		x.code(v.owner, nil)
		page, err := a.Keys(t.Context(), v.owner, sheaf.Paging{Limit: 100})
		if err != nil || slices.ContainsFunc(page.Items, func(k sheaf.Key) bool { return k.IsGrant() }) {
			t.Errorf("the list of keys is %+v, %v", page.Items, err)
		}
	})
}

// D197: a grant ends with the membership, with a role below its scopes, and by its person; and it is no key that others
// could rotate.
func TestGrant_Ends(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		v := newVillage(t, a)
		x := newConnectingApp(t, a)
		writes := func(g *NewGrant) { g.Scopes = sheaf.Scopes{sheaf.ProjectsRead, sheaf.DocumentsWrite} }
		token := v.join("bob@example.com", sheaf.Editor, nil)
		bob := caller(t, a, token)
		session, err := a.Session(t.Context(), token)
		v.must(err)
		reading, writing := x.connect(bob, nil), x.connect(bob, writes)
		own, err := a.OwnGrants(t.Context(), session)
		if err != nil || len(own) != 2 || own[0].Workspace.ID != v.owner.Workspace || own[0].Host() != "app.example" {
			t.Fatalf("%+v, %v", own, err)
		}
		all, err := a.Grants(t.Context(), v.owner)
		if err != nil || len(all) != 2 || all[0].Name != "Helper" {
			t.Fatalf("%+v, %v", all, err)
		}
		wantKind(t, "rotating a grant as a key", second(a.RotateKey(t.Context(), v.owner, all[0].ID, 0)), sheaf.NotFound)
		wantKind(t, "revoking a grant as a key", a.RevokeKey(t.Context(), v.owner, all[0].ID), sheaf.NotFound)
		carl := caller(t, a, v.join("carl@example.com", sheaf.Member, nil))
		wantKind(t, "ending the grant of another", a.EndGrant(t.Context(), carl, all[0].ID), sheaf.NotFound)

		v.must(a.SetRole(t.Context(), v.owner, bob.User, sheaf.Member, sheaf.Opt[sheaf.Role]{}))
		x.ended("as a member", writing.Access)
		x.acts(reading.Access)
		v.must(a.EndGrant(t.Context(), caller(t, a, token), own[0].ID))
		x.ended("after its person ended it", reading.Access)
		wantKind(t, "ending it again", a.EndGrant(t.Context(), caller(t, a, token), own[0].ID), sheaf.NotFound)

		reading = x.connect(caller(t, a, token), nil)
		all, err = a.Grants(t.Context(), v.owner)
		v.must(err)
		v.must(a.EndGrant(t.Context(), v.owner, all[0].ID))
		x.ended("after an owner ended it", reading.Access)

		reading = x.connect(caller(t, a, token), nil)
		v.must(a.EndToken(t.Context(), reading.Access, "other", testOrigin{}))
		x.acts(reading.Access)
		v.must(a.EndToken(t.Context(), reading.Access, x.client.ID, testOrigin{}))
		x.ended("after the app ended it", reading.Access)

		reading = x.connect(caller(t, a, token), nil)
		v.must(a.EndToken(t.Context(), reading.Refresh, x.client.ID, testOrigin{}))
		x.ended("after the app ended it by its refresh token", reading.Access)

		reading = x.connect(caller(t, a, token), nil)
		pending := x.code(caller(t, a, token), nil)
		v.must(a.RemoveMember(t.Context(), v.owner, bob.User))
		x.ended("after its person was removed", reading.Access)
		_, err = x.renew(reading.Refresh)
		wantOAuth(t, "a renewal for a person who was removed", err, "invalid_grant")
		_, err = a.RedeemCode(t.Context(), x.redemption(pending))
		wantOAuth(t, "a code of a person who was removed", err, "invalid_grant")

		reading = x.connect(carl, nil)
		_, err = a.Operator().SetPlan(t.Context(), v.owner.Workspace, sheaf.Free)
		v.must(err)
		_, err = x.renew(reading.Refresh)
		wantOAuth(t, "a renewal on the free plan", err, "invalid_grant")
		v.must(a.EndToken(t.Context(), reading.Refresh, x.client.ID, testOrigin{}))
		_, err = a.Operator().SetPlan(t.Context(), v.owner.Workspace, sheaf.Pro)
		v.must(err)
		x.ended("after the app ended it on the free plan", reading.Access)

		reading = x.connect(carl, nil)
		k := x.acts(reading.Access).Key.ID
		wantKind(t, "rotating a grant by a command", second(a.Operator().RotateKey(t.Context(), k, 0)), sheaf.NotFound)
		v.must(second(a.RevokeWithMade(t.Context(), v.owner, k)))
		x.ended("after it was revoked with what it made", reading.Access)
		reading = x.connect(carl, nil)
		v.must(second(a.Operator().RevokeKey(t.Context(), x.acts(reading.Access).Key.ID)))
		x.ended("after the operator revoked it", reading.Access)
	})
}

func second[T any](_ T, err error) error { return err }

// D197: a grant sees what both it and its person may see, whatever changes later, also what is moved.
func TestGrant_SeesNoMoreThanItsPerson(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		v := newVillage(t, a)
		x := newConnectingApp(t, a)
		token := v.join("bob@example.com", sheaf.Editor, nil)
		bob := func() Caller { return caller(t, a, token) }
		only := func(p ...sheaf.ProjectID) func(*NewGrant) {
			return func(g *NewGrant) {
				g.Scopes, g.RestrictTo = sheaf.Scopes{sheaf.ProjectsRead, sheaf.ProjectsWrite}, &RestrictTo{Projects: p}
			}
		}
		everything, chosen, hidden := x.connect(bob(), nil), x.connect(bob(), only(v.filed, v.hidden)), x.connect(bob(), only(v.hidden))
		sees := func(what, access, want string) {
			t.Helper()
			if got := v.names(x.acts(access)); got != want {
				t.Errorf("%s: it sees %q, want %q", what, got, want)
			}
		}
		sees("everything", everything.Access, "Filed Hidden Single")
		sees("chosen", chosen.Access, "Filed Hidden")

		v.restrict(bob(), v.here())
		sees("everything, after a restriction", everything.Access, "Filed Single")
		sees("chosen, after a restriction", chosen.Access, "Filed")
		x.ended("it saw nothing any more", hidden.Access)
		later := x.connect(bob(), only(v.filed))
		sees("chosen by a restricted person", later.Access, "Filed")
		renewed, err := x.renew(later.Refresh)
		v.must(err)

		// The project leaves what the person sees.
		before := x.acts(renewed.Access)
		_, err = a.MoveProject(t.Context(), v.owner, v.filed, &v.outside, sheaf.Match{})
		v.must(err)
		for _, access := range []string{renewed.Access, chosen.Access} {
			if c, err := x.caller(access); sheaf.KindOf(err) != sheaf.Forbidden {
				t.Errorf("an app still acts on a project that its person no longer sees: %q, %v", v.names(c), err)
			}
		}
		err = second(a.UpdateProject(t.Context(), before, v.filed, sheaf.ProjectChange{Name: sheaf.Some("Renamed")}, sheaf.Match{}))
		wantKind(t, "a change by a request that began before", err, sheaf.Forbidden)
		sees("everything, after the move", everything.Access, "Single")
		_, err = a.MoveProject(t.Context(), v.owner, v.filed, &v.inner, sheaf.Match{})
		v.must(err)
		sees("chosen, after the project came back", renewed.Access, "Filed")

		v.restrict(bob(), &RestrictTo{Projects: []sheaf.ProjectID{v.single}})
		x.ended("nothing is left of its choice", renewed.Access)
		sees("everything, after another restriction", everything.Access, "Single")
		v.restrict(bob(), nil)
		sees("everything, without a restriction", everything.Access, "Filed Hidden Single")
		v.must(a.EndGrant(t.Context(), v.owner, x.acts(everything.Access).Key.ID))
		if n := v.live(); n != 0 {
			t.Errorf("%d restrictions are live", n)
		}
	})
}

// D200: what happens to grants is in the audit log, with who did it and without any secret.
func TestGrant_IsAudited(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		v := newVillage(t, a)
		app := newConnectingApp(t, a)
		x := &auditor{T: t, a: a, ws: v.owner.Workspace}
		x.added()
		facts := `{"name":"Helper","client_id":"ID","redirect_host":"app.example","scopes":["projects:read"],"restricted_to":null,"user_id":"ID","expires_at":null`
		only := func(g *NewGrant) { g.Scopes = sheaf.Scopes{sheaf.ProjectsRead} }
		by := v.owner
		by.Origin = testOrigin{}
		code := app.code(by, only)
		x.want("a consent", []string{"app.connected by person 192.0.2.9 req-9 is " + facts + "}"}, nil)
		tokens, err := a.RedeemCode(t.Context(), app.redemption(code))
		v.must(err)
		_, err = app.renew(tokens.Refresh)
		v.must(err)
		x.want("tokens", nil, nil)
		_, _ = a.RedeemCode(t.Context(), app.redemption(code))
		x.want("a code that came twice", []string{"app.disconnected by key 192.0.2.9 req-9 was " + facts + `,"reason":"code_reused"}`}, nil)
		_, _ = a.RedeemCode(t.Context(), app.redemption(code))
		x.want("a code that came three times", nil, nil)
	})
}

// D195: an address registers 20 apps an hour, also with many requests at once.
func TestApps_RegistrationsAreBounded(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		register := func(address string) error {
			return second(a.RegisterApp(t.Context(), sheaf.OAuthClient{Name: "Helper", Redirects: []string{testRedirect}}, address))
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		made := 0
		for range 32 {
			wg.Go(func() {
				err := register("192.0.2.7")
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					made++
				} else {
					wantKind(t, "one app too many", err, sheaf.RateLimited)
				}
			})
		}
		wg.Wait()
		if made != 20 {
			t.Errorf("%d apps were registered, want 20", made)
		}
		if err := register("192.0.2.8"); err != nil {
			t.Errorf("another address: %v", err)
		}
		*now = now.Add(time.Hour)
		if err := register("192.0.2.7"); err != nil {
			t.Errorf("an hour later: %v", err)
		}
	})
}

// D195: what an app may say about itself, and where a code may be sent.
func TestApps_Descriptions(t *testing.T) {
	t.Parallel()
	for redirect, ok := range map[string]bool{
		"https://app.example/callback": true, "http://127.0.0.1/cb": true, "http://[::1]:8080/cb": true, "http://localhost/cb": true,
		"cursor://anysphere.cursor-retrieval/oauth": true, "com.example.app:/cb": true,
		"http://app.example/cb": false, "http://127.0.0.1.example/cb": false, "https://": false, "https://u@app.example/": false, "https://app.example/#x": false,
		"javascript:alert(1)": false, "data:text/html,x": false, "file:///etc/passwd": false, "JavaScript:alert(1)": false, "/cb": false, "": false,
		"https://%D1%81laude.ai/cb": false, "https://сlaude.ai/cb": false, "https://claude.ai%E2%88%95x.evil.example/": false,
		"https://app.example/a b": false, "https://app.example/\nx": false, "blob:https://app.example/": false,
	} {
		c := sheaf.OAuthClient{Name: "x", Redirects: []string{redirect}}
		if err := c.Check(); (err == nil) != ok {
			t.Errorf("%q: %v", redirect, err)
		}
	}
	c := sheaf.OAuthClient{Redirects: []string{"http://127.0.0.1/cb", "https://app.example/cb"}}
	for redirect, ok := range map[string]bool{
		"http://127.0.0.1/cb": true, "http://127.0.0.1:49152/cb": true, "http://127.0.0.1:1/cb?x=1": false, "http://localhost:1/cb": false, "http://127.0.0.1:1/other": false,
		"https://app.example/cb": true, "https://app.example:8443/cb": false, "https://app.example/cb/": false, "https://app.example/CB": false, "": false,
		"http://127.0.0.1:x@evil.example/cb": false, "http://127.0.0.1:1/cb#x": false,
	} {
		if got := c.Allows(redirect); got != ok {
			t.Errorf("%q is allowed: %v", redirect, got)
		}
	}
}

// D195: an app with a document is the one that the document describes, and no document leads inside the network.
func TestApps_Documents(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		_, s := signIn(t, a, in)
		const id = "https://app.example/client.json"
		text, asked := "", ""
		a.connecting.Document = func(_ context.Context, address string) ([]byte, error) {
			asked = address
			if text == "" {
				return nil, errors.New("unreachable")
			}
			return []byte(text), nil
		}
		good := `{"client_id": "` + id + `", "client_name": "Helper", "redirect_uris": ["http://127.0.0.1/cb"], "grant_types": ["authorization_code"], "x": 1}`
		text = good
		if c, err := a.ConnectingApp(t.Context(), s, id); err != nil || c.Name != "Helper" || !c.Allows("http://127.0.0.1:99/cb") || asked != id {
			t.Errorf("%+v, %v", c, err)
		}
		for what, bad := range map[string]string{
			"unreachable": "", "no JSON": "<html>", "of another app": strings.Replace(good, "client.json", "other.json", 1), "without addresses": `{"client_id": "` + id + `", "client_name": "x"}`,
			"with a secret": strings.Replace(good, `"x": 1`, `"token_endpoint_auth_method": "client_secret_basic"`, 1), "without a name": strings.Replace(good, "Helper", "", 1),
			"with a hidden character": strings.Replace(good, "Helper", "Hel\\u202eper", 1), "with a NUL": strings.Replace(good, "Helper", "Hel\\u0000per", 1),
			"with another grant": strings.Replace(good, "authorization_code", "implicit", 1), "with an unsafe address": strings.Replace(good, "http://127.0.0.1/cb", "javascript:x", 1),
		} {
			text = bad
			_, err := a.ConnectingApp(t.Context(), s, id)
			wantOAuth(t, "a document "+what, err, "invalid_client")
		}
		text, asked = good, ""
		for _, id := range []string{"https://127.0.0.1/c", "https://localhost/c", "https://169.254.169.254/latest", "https://[::1]/c", "https://app.example", "https://app.example/",
			"https://app.example/a/../c", "https://app.example/%2e%2e/c", "https://u:p@app.example/c", "https://app.example/c#x", "https://app.example:22/c", "https://аpp.example/c",
			"https://app.example/" + strings.Repeat("c", 600), "0190b0a0-0000-7000-8000-00000000dead", "", "http://app.example/c"} {
			_, err := a.ConnectingApp(t.Context(), s, id)
			wantOAuth(t, fmt.Sprintf("the id %.40q", id), err, "invalid_client")
		}
		if asked != "" {
			t.Errorf("%q was asked", asked)
		}
	})
}
