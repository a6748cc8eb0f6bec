package app

import (
	"errors"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/oidc"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/oidctest"
	"sheaf.dev/internal/store"
)

var grace = oidctest.Person{Subject: "4711", Email: "grace@example.com", Name: "Grace Hopper", Verified: true}

// adaThere is the account of the owner at the provider.
var adaThere = oidctest.Person{Subject: "1815", Email: "Ada@Example.com", Name: "Ada Lovelace", Verified: true}

// signOn is the sign-in at a provider, for one App.
type signOn struct {
	*testing.T
	a  *App
	at *oidctest.Provider
	b  Browser
}

func newSignOn(t *testing.T, a *App, now *time.Time) signOn {
	t.Helper()
	at := oidctest.New(t)
	at.Now = func() time.Time { return *now }
	p := oidc.New(oidc.Config{Issuer: at.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, Redirect: "https://docs.example.com/back", Now: at.Now})
	t.Cleanup(p.Close)
	a.provider = &SignInProvider{Provider: p, Name: "Example ID"}
	return signOn{t, a, at, Browser{Address: "192.0.2.9"}}
}

// begin begins a sign-in and lets the person sign in at the provider.
func (o signOn) begin(who oidctest.Person, invitation string) ProviderAnswer {
	o.Helper()
	s, err := o.a.BeginProviderSignIn(o.Context(), "/account", invitation, o.b)
	if err != nil {
		o.Fatal(err)
	}
	back, err := url.Parse(o.at.SignIn(s.Address, who))
	if err != nil {
		o.Fatal(err)
	}
	return ProviderAnswer{Sealed: s.Sealed, State: back.Query().Get("state"), Code: back.Query().Get("code")}
}

func (o signOn) finish(in ProviderAnswer) (Entered, error) {
	return o.a.FinishProviderSignIn(o.Context(), in, o.b, "")
}

func (o signOn) signIn(who oidctest.Person, invitation string) (Entered, error) {
	o.Helper()
	return o.finish(o.begin(who, invitation))
}

// enters signs in, and returns the session.
func (o signOn) enters(who oidctest.Person, invitation string) Session {
	o.Helper()
	n, err := o.signIn(who, invitation)
	if err != nil {
		var refused *OIDCRefusal
		_ = errors.As(err, &refused)
		o.Fatalf("%v: %+v", err, refused)
	}
	return o.session(n)
}

func (o signOn) session(n Entered) Session {
	o.Helper()
	if n.Token == "" || n.Binding != "" || n.Device != "" || n.Pending.Token != "" {
		o.Fatalf("no session was opened: %+v", n)
	}
	s, err := o.a.Session(o.Context(), n.Token)
	if err != nil {
		o.Fatal(err)
	}
	return s
}

// refused wants a refusal with that reason and without a session. Its sentence is the same for every reason.
func (o signOn) refused(n Entered, err error, want OIDCReason) {
	o.Helper()
	var refused *OIDCRefusal
	var shown *sheaf.Error
	if !errors.As(err, &refused) || refused.Reason != want || n.Token != "" || n.Binding != "" {
		o.Errorf("%+v, %v: the reason is %+v, not %s", n, err, refused, want)
		return
	}
	if !errors.As(err, &shown) || shown.Kind != sheaf.Unauthorized ||
		shown.Text != "Signing in with Example ID did not work. Try again, or ask your administrator, whose log has the reason." {
		o.Errorf("the person sees %+v", shown)
	}
}

func (o signOn) invite(f FirstRun, email string, role sheaf.Role) NewInvitation {
	o.Helper()
	i, err := o.a.Operator().Invite(o.Context(), f.Workspace.ID, email, role, nil)
	if err != nil {
		o.Fatal(err)
	}
	return i
}

func (o signOn) users() []UserIn {
	o.Helper()
	all, err := o.a.Operator().Users(o.Context())
	if err != nil {
		o.Fatal(err)
	}
	return all
}

// D190: an open invitation lets a new person in, with its role. The session ends after 12 hours.
func TestOIDC_AnInvitationLetsIn(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		_, first := ada(t, a)
		o := newSignOn(t, a, now)
		o.wantRefused(grace, "", OIDCNoMember)
		if n := len(o.users()); n != 1 {
			t.Fatalf("there are %d users", n)
		}
		o.invite(first, "GRACE@example.com", sheaf.Editor)
		n, err := o.signIn(grace, "")
		if err != nil {
			t.Fatal(err)
		}
		s := o.session(n)
		if s.User.Name != "Grace Hopper" || *s.User.Email != "grace@example.com" || s.User.PasswordHash != "" || len(s.Memberships) != 1 || s.Memberships[0].Role != sheaf.Editor {
			t.Errorf("%+v", s)
		}
		if want := now.Add(12 * time.Hour); !n.ExpiresAt.Equal(want) || n.Next != "/account" {
			t.Errorf("the session ends at %v, not %v, and leads to %q", n.ExpiresAt, want, n.Next)
		}
		*now = now.Add(11 * time.Hour)
		if _, err := a.Session(t.Context(), n.Token); err != nil {
			t.Fatal(err)
		}
		*now = now.Add(time.Hour)
		if _, err := a.Session(t.Context(), n.Token); sheaf.KindOf(err) != sheaf.Unauthorized {
			t.Errorf("after 12 hours of use: %v", err)
		}
		if again := o.enters(grace, ""); again.User.ID != s.User.ID {
			t.Errorf("the second sign-in is of %s", again.User.ID)
		}
	})
}

// wantRefused wants a sign-in to be refused with that reason.
func (o signOn) wantRefused(who oidctest.Person, invitation string, want OIDCReason) {
	o.Helper()
	n, err := o.signIn(who, invitation)
	o.refused(n, err, want)
}

// D190: an owner's invitation is accepted by its link alone, and an invitation lets in no other e-mail.
func TestOIDC_AnOwnersInvitation(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		_, first := ada(t, a)
		o := newSignOn(t, a, now)
		i := o.invite(first, grace.Email, sheaf.Owner)
		o.wantRefused(grace, "", OIDCNoMember)
		other := grace
		other.Subject, other.Email = "2", "eve@example.com"
		o.wantRefused(other, i.Token, OIDCOtherInvitation)
		o.wantRefused(grace, "made up", OIDCNoInvitation)
		n, err := o.signIn(grace, i.Token)
		if err != nil {
			t.Fatal(err)
		}
		if s := o.session(n); s.Memberships[0].Role != sheaf.Owner || n.Next != "/w/"+string(first.Workspace.ID)+"/projects" {
			t.Errorf("%+v leads to %s", s.Memberships, n.Next)
		}
		o.wantRefused(grace, i.Token, OIDCNoInvitation)
		if len(o.users()) != 2 {
			t.Errorf("%+v", o.users())
		}
	})
}

// D190: an invitation keeps its restriction.
func TestOIDC_KeepsARestriction(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, first := ada(t, a)
		o := newSignOn(t, a, now)
		_, s := signIn(t, a, in)
		c, _, err := s.Caller(first.Workspace.ID)
		if err != nil {
			t.Fatal(err)
		}
		p, err := a.CreateProject(t.Context(), c, sheaf.ProjectChange{Name: sheaf.Some("Handbook")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Invite(t.Context(), c, grace.Email, sheaf.Member, &RestrictTo{Projects: []sheaf.ProjectID{p.ID}}); err != nil {
			t.Fatal(err)
		}
		m := o.enters(grace, "").Memberships[0]
		if m.RestrictedTo == nil || !m.RestrictedTo.Names(string(p.ID)) {
			t.Errorf("%+v", m)
		}
	})
}

// D190: an e-mail counts if it is verified, or if the provider does not say and is trusted. If it is not verified, it never counts.
func TestOIDC_TheEmailMustBeVerified(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		_, first := ada(t, a)
		o := newSignOn(t, a, now)
		i := o.invite(first, grace.Email, sheaf.Member)
		with := func(verified any, email string) oidctest.Person {
			who := grace
			who.Verified, who.Email = verified, email
			return who
		}
		o.wantRefused(with(false, grace.Email), i.Token, OIDCUnverified)
		o.wantRefused(with(nil, grace.Email), i.Token, OIDCUnverified)
		o.wantRefused(with(true, ""), i.Token, OIDCNoEmail)
		o.wantRefused(with(true, "grace"), i.Token, OIDCNoEmail)
		a.provider.TrustEmail = true
		o.wantRefused(with(false, grace.Email), i.Token, OIDCUnverified)
		o.wantRefused(with("false", grace.Email), i.Token, OIDCUnverified)
		o.enters(with(nil, grace.Email), i.Token)
	})
}

// D190: the subject decides. An account whose e-mail changed at the provider stays what it is, and another subject with the
// e-mail of a bound account is refused.
func TestOIDC_TheSubjectDecides(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		_, first := ada(t, a)
		o := newSignOn(t, a, now)
		o.invite(first, grace.Email, sheaf.Member)
		was := o.enters(grace, "").User
		changed := grace
		changed.Email, changed.Verified, changed.Name = "ada@example.com", false, "Ada" // that of another account
		if is := o.enters(changed, "").User; is.ID != was.ID || *is.Email != grace.Email || is.Name != was.Name {
			t.Errorf("%+v became %+v", was, is)
		}
		thief := grace
		thief.Subject = "666"
		o.wantRefused(thief, "", OIDCOtherSubject)
		// The operator frees the account.
		if _, had, err := a.Operator().ForgetProvider(t.Context(), "grace@example.COM"); err != nil || !had {
			t.Fatalf("%v %v", had, err)
		}
		if is := o.enters(thief, "").User; is.ID != was.ID {
			t.Errorf("%+v became %+v", was, is)
		}
		o.wantRefused(grace, "", OIDCOtherSubject)
	})
}

// D190: binding to an account with a password asks for it once, and for a code if it has a second factor. Nothing is opened
// before.
func TestOIDC_BindingAsksForThePasswordOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		_, s := signIn(t, a, in)
		p, _, _ := setUp(t, a, s, in.Password, now)
		a.secondFactor = true
		o := newSignOn(t, a, now)
		n, err := o.signIn(adaThere, "")
		if err != nil || n.Token != "" || n.Binding == "" {
			t.Fatalf("%+v, %v", n, err)
		}
		if b, err := a.Binding(t.Context(), n.Binding); err != nil || *b.User.Email != in.Email || !b.Factor {
			t.Errorf("%+v, %v", b, err)
		}
		bind := func(sealed, password, code string) (Entered, error) {
			return a.BindProvider(t.Context(), sealed, password, code, o.b, "")
		}
		field := func(err error, want string) {
			t.Helper()
			var e *sheaf.Error
			if !errors.As(err, &e) || e.Field != want {
				t.Errorf("%v is not about %s", err, want)
			}
		}
		_, err = bind(n.Binding, "wrong", p.next())
		field(err, "password")
		_, err = bind(n.Binding, in.Password, p.wrong())
		field(err, "code")
		_, err = bind(n.Binding, in.Password, "")
		field(err, "code")
		if _, err := bind("x"+n.Binding, in.Password, p.code()); sheaf.KindOf(err) != sheaf.Unauthorized {
			t.Errorf("a made up binding: %v", err)
		}
		if o.users()[0].Provider {
			t.Error("it is bound before the password was given")
		}
		bound, err := bind(n.Binding, in.Password, p.next())
		if err != nil {
			t.Fatal(err)
		}
		if s := o.session(bound); *s.User.Email != in.Email || !bound.ExpiresAt.Equal(now.Add(12*time.Hour)) {
			t.Errorf("%+v", s)
		}
		// From now on neither the password nor the second factor is asked for.
		o.enters(adaThere, "")

		other := adaThere
		other.Subject = "2"
		o.wantRefused(other, "", OIDCOtherSubject)
	})
}

// D190: what waits for a password ends with time, and with a new password.
func TestOIDC_BindingsEnd(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		o := newSignOn(t, a, now)
		n, err := o.signIn(adaThere, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Operator().SetPassword(t.Context(), in.Email, "a new password"); err != nil {
			t.Fatal(err)
		}
		if _, err := a.BindProvider(t.Context(), n.Binding, in.Password, "", o.b, ""); sheaf.KindOf(err) != sheaf.Invalid {
			t.Errorf("the old password: %v", err)
		}
		*now = now.Add(bindingLives)
		if _, err := a.BindProvider(t.Context(), n.Binding, "a new password", "", o.b, ""); sheaf.KindOf(err) != sheaf.Unauthorized {
			t.Errorf("too late: %v", err)
		}
		// Guesses are slowed down like those at the sign-in.
		n, err = o.signIn(adaThere, "")
		if err != nil {
			t.Fatal(err)
		}
		var last error
		for range 7 {
			_, last = a.BindProvider(t.Context(), n.Binding, "wrong", "", o.b, "")
		}
		if sheaf.KindOf(last) != sheaf.RateLimited {
			t.Errorf("after many wrong passwords: %v", last)
		}
	})
}

// D190: a sign-in works once, in the browser that began it, within its time.
func TestOIDC_WorksOnce(t *testing.T) {
	twoNodes(t, func(t *testing.T, nodes []*App, now *time.Time) {
		a := nodes[0]
		_, first := ada(t, a)
		o := newSignOn(t, a, now)
		nodes[1].provider = a.provider
		o.invite(first, grace.Email, sheaf.Member)
		o.enters(grace, "")
		in := o.begin(grace, "")
		stranger := o.begin(grace, "")
		mixed := in
		mixed.Sealed = stranger.Sealed
		n, err := o.finish(mixed)
		o.refused(n, err, OIDCNotBegun)
		n, err = o.finish(ProviderAnswer{State: in.State, Code: in.Code})
		o.refused(n, err, OIDCNotBegun)
		n, err = o.finish(ProviderAnswer{Sealed: in.Sealed, State: in.State, Error: "access_denied"})
		o.refused(n, err, OIDCRefusedThere)

		// The provider lets a code be redeemed again, and both nodes try together: one session is opened.
		o.at.Change(func() { o.at.Lenient = true })
		var opened atomic.Int64
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				n, err := nodes[i%2].FinishProviderSignIn(t.Context(), in, o.b, "")
				if err == nil {
					opened.Add(1)
					return
				}
				o.refused(n, err, OIDCUsed)
			})
		}
		wg.Wait()
		if opened.Load() != 1 {
			t.Errorf("%d sessions were opened", opened.Load())
		}
		*now = now.Add(providerSignInLives)
		n, err = o.finish(stranger)
		o.refused(n, err, OIDCNotBegun)
	})
}

// D190: two first sign-ins of a person at once make one user.
func TestOIDC_FirstSignInsTogether(t *testing.T) {
	twoNodes(t, func(t *testing.T, nodes []*App, now *time.Time) {
		_, first := ada(t, nodes[0])
		o := newSignOn(t, nodes[0], now)
		nodes[1].provider = nodes[0].provider
		o.invite(first, grace.Email, sheaf.Member)
		ins := []ProviderAnswer{o.begin(grace, ""), o.begin(grace, ""), o.begin(grace, ""), o.begin(grace, "")}
		var wg sync.WaitGroup
		var opened atomic.Int64
		for i, in := range ins {
			wg.Go(func() {
				_, err := nodes[i%2].FinishProviderSignIn(t.Context(), in, o.b, "")
				var refused *OIDCRefusal
				if err == nil {
					opened.Add(1)
				} else if !errors.As(err, &refused) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if opened.Load() == 0 || len(o.users()) != 2 {
			t.Errorf("%d sessions were opened, of %d users", opened.Load(), len(o.users()))
		}
		o.enters(grace, "")
	})
}

// D190: a removed member and an erased user are refused.
func TestOIDC_WhoLeftIsRefused(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, first := ada(t, a)
		o := newSignOn(t, a, now)
		o.invite(first, grace.Email, sheaf.Member)
		u := o.enters(grace, "").User
		_, s := signIn(t, a, in)
		c, _, err := s.Caller(first.Workspace.ID)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.RemoveMember(t.Context(), c, u.ID); err != nil {
			t.Fatal(err)
		}
		o.wantRefused(grace, "", OIDCNoMember)
		// A new invitation lets the same user in.
		o.invite(first, grace.Email, sheaf.Member)
		if again := o.enters(grace, "").User; again.ID != u.ID {
			t.Errorf("%s came back as %s", u.ID, again.ID)
		}
		if _, err := a.Operator().EraseUser(t.Context(), grace.Email); err != nil {
			t.Fatal(err)
		}
		if bound, err := readUnasked(t.Context(), a, func(r *store.Reader) (bool, error) { return r.HasIdentity(u.ID, o.at.URL) }); err != nil || bound {
			t.Errorf("the account at the provider is still bound to the erased user: %v", err)
		}
		o.wantRefused(grace, "", OIDCNoMember)
	})
}

// D190: with passwords off, no password signs in, and binding asks for none. The operator makes an exception.
func TestOIDC_PasswordsOff(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, first := ada(t, a)
		_, s := signIn(t, a, in)
		o := newSignOn(t, a, now)
		i := o.invite(first, grace.Email, sheaf.Member)
		a.passwordsOff = true
		off := func(what string, err error) {
			t.Helper()
			var e *sheaf.Error
			if !errors.As(err, &e) || e.Kind != sheaf.Forbidden || e.Text != "Passwords are turned off on this server, and nothing was changed. Sign in with Example ID. If that does not work, ask your administrator to run sheaf user allow-password." {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err := a.SignIn(t.Context(), in, "")
		off("a sign-in", err)
		_, err = a.SignIn(t.Context(), in.with(func(s *SignIn) { s.Email = "nobody@example.com" }), "")
		off("a sign-in of nobody", err)
		_, err = a.ChangePassword(t.Context(), s, in.Password, "another password", Browser{})
		off("another password", err)
		_, _, err = a.Join(t.Context(), Join{Token: i.Token, Name: "Grace", Password: "long enough"}, "")
		off("joining", err)
		if w, err := a.SignInWays(t.Context()); err != nil || w.Passwords || !w.PasswordsOff {
			t.Errorf("%+v, %v", w, err)
		}
		// An exception for one person opens nothing for others.
		o.enters(grace, i.Token)
		if _, err := a.Operator().SetPassword(t.Context(), grace.Email, "long enough"); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Operator().AllowPassword(t.Context(), "ADA@example.com", true); err != nil {
			t.Fatal(err)
		}
		if w, err := a.SignInWays(t.Context()); err != nil || !w.Passwords {
			t.Errorf("%+v, %v", w, err)
		}
		if _, err := a.SignIn(t.Context(), in, ""); err != nil {
			t.Errorf("the exception: %v", err)
		}
		if _, err := a.SignIn(t.Context(), SignIn{Email: grace.Email, Password: "long enough"}, ""); !errors.Is(err, errSignIn) {
			t.Errorf("another person: %v", err)
		}
		// The exception's password is asked for when the account is bound.
		if n, err := o.signIn(adaThere, ""); err != nil || n.Binding == "" {
			t.Errorf("%+v, %v", n, err)
		}
		if _, err := a.Operator().AllowPassword(t.Context(), in.Email, false); err != nil {
			t.Fatal(err)
		}
		_, err = a.SignIn(t.Context(), in, "")
		off("after the exception", err)
		o.enters(adaThere, "")
		if _, err := a.Operator().AllowPassword(t.Context(), "nobody@example.com", true); sheaf.KindOf(err) != sheaf.NotFound {
			t.Errorf("an unknown e-mail: %v", err)
		}
	})
}

// D190: with passwords off, the set-up link takes the owner's e-mail, and the owner signs in at the provider. The set-up can be
// repeated until then.
func TestOIDC_SetUpWithoutPasswords(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		o := newSignOn(t, a, now)
		a.passwordsOff = true
		first, _, err := a.Operator().FirstRun(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		o.wantRefused(adaThere, "", OIDCNoMember)
		if err := a.CompleteSetup(t.Context(), first.Link.Token, SetUp{Name: "Ada", Email: "ade@example.com"}); err != nil {
			t.Fatal(err)
		}
		o.wantRefused(adaThere, "", OIDCNoMember)
		link, err := a.Operator().SetupLink(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := a.CompleteSetup(t.Context(), link.Token, SetUp{Name: "Ada", Email: "ada@example.com"}); err != nil {
			t.Fatal(err)
		}
		if pending, err := a.SetupPending(t.Context()); err != nil || !pending {
			t.Errorf("before the first sign-in: %v %v", pending, err)
		}
		if s := o.enters(adaThere, ""); s.Memberships[0].Role != sheaf.Owner {
			t.Errorf("%+v", s)
		}
		if pending, err := a.SetupPending(t.Context()); err != nil || pending {
			t.Errorf("after the first sign-in: %v %v", pending, err)
		}
		if _, err := a.Operator().SetupLink(t.Context()); sheaf.KindOf(err) != sheaf.Conflict {
			t.Errorf("another link: %v", err)
		}
	})
}

// D190: what the protocol refuses opens no session, and no reason is revealed. A provider that is down is a sentence too.
func TestOIDC_RefusesWhatTheProtocolRefuses(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		_, first := ada(t, a)
		o := newSignOn(t, a, now)
		o.invite(first, grace.Email, sheaf.Member)
		for reason, claims := range map[OIDCReason]func(map[string]any){
			oidc.BadNonce:    func(c map[string]any) { c["nonce"] = "another" },
			oidc.BadAudience: func(c map[string]any) { c["aud"] = "another" },
			oidc.BadIssuer:   func(c map[string]any) { c["iss"] = o.at.URL + "/" },
			oidc.Expired:     func(c map[string]any) { c["exp"] = now.Add(-time.Second).Unix() },
		} {
			o.at.Change(func() { o.at.Claims = claims })
			o.wantRefused(grace, "", reason)
		}
		in := o.begin(grace, "")
		o.at.Change(func() { o.at.Off = true })
		_, err := o.finish(in)
		var refused *OIDCRefusal
		if !errors.As(err, &refused) || refused.Reason != oidc.Unavailable || sheaf.KindOf(err) != sheaf.Unavailable || refused.Error() != "Example ID cannot be reached at the moment. Try again in a few seconds." {
			t.Errorf("%v: %+v", err, refused)
		}
		if len(o.users()) != 1 {
			t.Errorf("%+v", o.users())
		}
	})
}

// D190: the records of used sign-ins do not grow for ever.
func TestOIDC_UsedSignInsAreSwept(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		_, first := ada(t, a)
		o := newSignOn(t, a, now)
		o.invite(first, grace.Email, sheaf.Member)
		o.enters(grace, "")
		sweep := func() (n int64) {
			if err := a.store.Write(t.Context(), func(tx *store.Tx) (err error) { n, err = tx.DeleteUsedSignInsEnded(*now, 10); return err }); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := sweep(); n != 0 {
			t.Errorf("%d deleted too early", n)
		}
		*now = now.Add(providerSignInLives)
		if n := sweep(); n != 1 {
			t.Errorf("%d deleted", n)
		}
	})
}
