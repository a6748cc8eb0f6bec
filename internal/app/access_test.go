package app

import (
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/oidctest"
)

// D190, D191: what each way to sign in gives a person in each state, and what the session then shows.
func TestSignIn_Matrix(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		ctx := t.Context()
		o := newSignOn(t, a, now)
		in, _ := ada(t, a)
		owner := caller(t, a, mustSignIn(t, a, in).Token)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		inside, err := a.CreateProject(ctx, owner, sheaf.ProjectChange{Name: sheaf.Some("Inside")})
		must(err)
		_, err = a.CreateProject(ctx, owner, sheaf.ProjectChange{Name: sheaf.Some("Outside")})
		must(err)
		withPassword := func(email string) SignIn { return SignIn{Email: email, Password: testPassword, Address: "192.0.2.2"} }
		there := func(email string) oidctest.Person {
			return oidctest.Person{Subject: email, Email: email, Name: email, Verified: true}
		}

		invited(t, a, owner, "factor@example.com", sheaf.Editor)
		_, s := signIn(t, a, withPassword("factor@example.com"))
		setUp(t, a, s, testPassword, now)
		i, err := a.Invite(ctx, owner, "provider@example.com", sheaf.Editor, nil)
		must(err)
		o.enters(there("provider@example.com"), i.Token)
		removed := invited(t, a, owner, "removed@example.com", sheaf.Editor)
		must(a.RemoveMember(ctx, owner, removed.User))
		invited(t, a, owner, "erased@example.com", sheaf.Editor)
		_, err = a.Operator().EraseUser(ctx, "erased@example.com")
		must(err)
		restricted := invited(t, a, owner, "restricted@example.com", sheaf.Editor)
		must(a.Restrict(ctx, owner, restricted.User, &RestrictTo{Projects: []sheaf.ProjectID{inside.ID}}, sheaf.Opt[string]{}))
		expired, err := a.Invite(ctx, owner, "expired@example.com", sheaf.Editor, nil)
		must(err)
		*now = now.Add(invitationLives + time.Minute)
		_, _, err = a.Join(ctx, Join{Token: expired.Token, Name: "E", Password: testPassword, Address: "192.0.2.2"}, "")
		wantKind(t, "the link of an expired invitation", err, sheaf.NotFound)

		// sees returns how many projects a session shows. A token that opens no session shows none.
		sees := func(token string) int {
			t.Helper()
			s, err := a.Session(ctx, token)
			if err != nil || len(s.Memberships) == 0 {
				return 0
			}
			c, _, err := s.Caller(s.Memberships[0].Workspace.ID)
			must(err)
			page, err := a.Projects(ctx, c, sheaf.ProjectFilter{Paging: sheaf.Paging{Limit: 10}})
			must(err)
			return int(page.Total)
		}
		for _, c := range []struct {
			state              string
			email              string
			password, provider string
			projects           int
		}{
			{"password only", "ada@example.com", "session", "asks for the password", 2},
			{"second factor", "factor@example.com", "asks for a code", "asks for the password", 0},
			{"provider only", "provider@example.com", "refused", "session", 2},
			{"removed member", "removed@example.com", "session", "refused", 0},
			{"erased user", "erased@example.com", "refused", "refused", 0},
			{"expired invitation", "expired@example.com", "refused", "refused", 0},
			{"restricted person", "restricted@example.com", "session", "asks for the password", 1},
			{"unknown", "nobody@example.com", "refused", "refused", 0},
		} {
			n, err := a.SignIn(ctx, withPassword(c.email), "")
			got, token := "session", n.Token
			switch {
			case err != nil:
				wantKind(t, c.state, err, sheaf.Unauthorized)
				got = "refused"
			case n.Pending.Token != "":
				got, token = "asks for a code", n.Pending.Token // which must open nothing
			}
			if got != c.password {
				t.Errorf("%s: the password gives a %s, want %s", c.state, got, c.password)
			}
			shown := sees(token)

			e, err := o.signIn(there(c.email), "")
			got = "session"
			switch {
			case err != nil:
				wantKind(t, c.state+" at the provider", err, sheaf.Unauthorized)
				got = "refused"
			case e.Binding != "":
				got = "asks for the password"
				shown = max(shown, sees(e.Binding))
			default:
				shown = max(shown, sees(e.Token))
			}
			if got != c.provider {
				t.Errorf("%s: the provider gives a %s, want %s", c.state, got, c.provider)
			}
			if shown != c.projects {
				t.Errorf("%s: %d projects are shown, want %d", c.state, shown, c.projects)
			}
		}
	})
}
