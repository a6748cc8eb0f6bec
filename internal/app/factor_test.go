package app

import (
	"bytes"
	"encoding/base32"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/migrated"
	"sheaf.dev/internal/store"
)

// phone is an authenticator app.
type phone struct {
	t      *testing.T
	secret string // in base32
	now    *time.Time
}

func (p phone) code() string { return p.codeAt(0) }

// codeAt returns the code that is shown `steps` steps from now.
func (p phone) codeAt(steps int) string {
	p.t.Helper()
	code, err := totp.GenerateCode(p.secret, p.now.Add(time.Duration(steps)*factorStep*time.Second))
	if err != nil {
		p.t.Fatal(err)
	}
	return code
}

// wrong returns a code that is none of those that are accepted now.
func (p phone) wrong() string {
	p.t.Helper()
	for n := 0; ; n++ {
		code := fmt.Sprintf("%06d", n)
		if code != p.codeAt(-1) && code != p.code() && code != p.codeAt(1) {
			return code
		}
	}
}

// next lets so much time pass that the app shows a new code.
func (p phone) next() string {
	*p.now = p.now.Add(2 * factorStep * time.Second)
	return p.code()
}

// setUp sets up the second factor of a person who is signed in. It returns the new session.
func setUp(t *testing.T, a *App, s Session, password string, now *time.Time) (phone, []string, NewSession) {
	t.Helper()
	offer, err := a.OfferFactor(s.User, s.token, "")
	if err != nil {
		t.Fatal(err)
	}
	p := phone{t, offer.Secret, now}
	n, codes, err := a.SetUpFactor(t.Context(), s, NewFactor{offer.Sealed, p.code()}, password, Browser{})
	if err != nil {
		t.Fatal(err)
	}
	return p, codes, n
}

// pend gives the right password and returns the token of the pending sign-in.
func pend(t *testing.T, a *App, in SignIn) string {
	t.Helper()
	n, err := a.SignIn(t.Context(), in, "")
	if err != nil {
		t.Fatal(err)
	}
	if n.Token != "" || n.Device != "" || n.Pending.Token == "" {
		t.Fatalf("the password alone signed in: %+v", n)
	}
	return n.Pending.Token
}

// twoNodes runs the test with two nodes of one store: on SQLite two rules over one store, on PostgreSQL two stores.
func twoNodes(t *testing.T, test func(t *testing.T, nodes []*App, now *time.Time)) {
	for name, options := range map[string]func(*testing.T) store.Options{
		"sqlite":   func(t *testing.T) store.Options { return store.Options{Folder: migrated.Folder(t)} },
		"postgres": func(t *testing.T) store.Options { return store.Options{DatabaseURL: migrated.URL(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, now := options(t), time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
			var nodes []*App
			for i := range 2 {
				if i > 0 && o.DatabaseURL == "" {
					nodes = append(nodes, newNode(t, nodes[0].store, &now))
					continue
				}
				st, err := store.Open(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = st.Close() })
				nodes = append(nodes, newNode(t, st, &now))
			}
			test(t, nodes, &now)
		})
	}
}

// D191: the password and a code sign in, the password alone does not.
func TestFactor_SignIn(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, first := ada(t, a)
		_, s := signIn(t, a, in)
		p, codes, n := setUp(t, a, s, in.Password, now)
		if len(codes) != RecoveryCodes || len(codes[0]) != 19 {
			t.Errorf("recovery codes: %q", codes)
		}
		if _, err := a.Session(t.Context(), n.Token); err != nil {
			t.Errorf("the browser that set it up was signed out: %v", err)
		}
		pending := pend(t, a, in)
		if _, err := a.Session(t.Context(), pending); sheaf.KindOf(err) != sheaf.Unauthorized {
			t.Errorf("a pending sign-in is a session: %v", err)
		}
		if _, err := a.FinishSignIn(t.Context(), n.Token, p.next(), Browser{}, ""); sheaf.KindOf(err) != sheaf.Unauthorized {
			t.Errorf("a session is a pending sign-in: %v", err)
		}
		w, err := a.Waiting(t.Context(), pending)
		if err != nil || w.SetUp || w.User.ID != s.User.ID {
			t.Errorf("%+v, %v", w, err)
		}
		if _, err := a.FinishSignIn(t.Context(), pending, p.wrong(), Browser{}, ""); err != error(errCode) {
			t.Errorf("a wrong code: %v", err)
		}
		done, err := a.FinishSignIn(t.Context(), pending, " "+p.code()[:3]+" "+p.code()[3:]+" ", Browser{Agent: "test"}, "")
		if err != nil || done.Token == "" || done.Device == "" || done.Pending.Token != "" {
			t.Fatalf("%+v, %v", done, err)
		}
		if _, err := a.Session(t.Context(), done.Token); err != nil {
			t.Error(err)
		}
		if _, err := a.FinishSignIn(t.Context(), pending, p.next(), Browser{}, ""); err != errPending {
			t.Errorf("a pending sign-in was used twice: %v", err)
		}
		// A key needs no second factor.
		if _, err := a.Authenticate(t.Context(), first.Key); err != nil {
			t.Errorf("the key: %v", err)
		}
	})
}

// D191: codes of the steps before and after the present one are accepted, others are not.
func TestFactor_Steps(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		_, s := signIn(t, a, in)
		p, _, _ := setUp(t, a, s, in.Password, now)
		*now = now.Add(time.Hour)
		for _, test := range []struct {
			steps int
			want  error
		}{{-2, errCode}, {2, errCode}, {-1, nil}, {0, nil}, {1, nil}, {0, errCodeUsed}, {1, errCodeUsed}} {
			if _, err := a.FinishSignIn(t.Context(), pend(t, a, in), p.codeAt(test.steps), Browser{}, ""); err != test.want {
				t.Errorf("a code of %d steps from now: %v, want %v", test.steps, err, test.want)
			}
		}
	})
}

// D191: the code that set the factor up, and any other, works once, however many browsers and nodes use it at once.
func TestFactor_ACodeWorksOnce(t *testing.T) {
	twoNodes(t, func(t *testing.T, nodes []*App, now *time.Time) {
		a := nodes[0]
		in, _ := ada(t, a)
		_, s := signIn(t, a, in)
		p, codes, _ := setUp(t, a, s, in.Password, now)
		if _, err := a.FinishSignIn(t.Context(), pend(t, a, in), p.code(), Browser{}, ""); err != error(errCodeUsed) {
			t.Errorf("the code that set it up: %v", err)
		}
		for what, code := range map[string]func() string{"a code": p.next, "a recovery code": func() string { return strings.ToUpper(codes[3]) }} {
			code := code()
			var pending []string
			for range 4 {
				pending = append(pending, pend(t, a, in))
			}
			errs := make([]error, len(pending))
			var wg sync.WaitGroup
			for i, token := range pending {
				wg.Go(func() { _, errs[i] = nodes[i%2].FinishSignIn(t.Context(), token, code, Browser{}, "") })
			}
			wg.Wait()
			in := 0
			for _, err := range errs {
				if err == nil {
					in++
				} else if sheaf.KindOf(err) != sheaf.Invalid {
					t.Errorf("%s: %v", what, err)
				}
			}
			if in != 1 {
				t.Errorf("%s signed in %d times: %v", what, in, errs)
			}
			*now = now.Add(factorCloses)
		}
	})
}

// D191: five wrong codes close it for 15 minutes: of 64 at once on two nodes five are compared, and a new process knows.
func TestFactor_FiveWrongCodesCloseIt(t *testing.T) {
	twoNodes(t, func(t *testing.T, nodes []*App, now *time.Time) {
		a := nodes[0]
		in, _ := ada(t, a)
		_, s := signIn(t, a, in)
		p, codes, _ := setUp(t, a, s, in.Password, now)
		p.next()
		first, second := pend(t, a, in), pend(t, a, in)
		var mu sync.Mutex
		count := map[sheaf.Kind]int{}
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				code, token := p.wrong(), first
				if i%3 == 0 {
					code = "wron-gwro-ngwr-ongw" // they count alike
				}
				if i%2 == 0 {
					token = second
				}
				_, err := nodes[i%2].FinishSignIn(t.Context(), token, code, Browser{}, "")
				mu.Lock()
				defer mu.Unlock()
				count[sheaf.KindOf(err)]++
			})
		}
		wg.Wait()
		if count[sheaf.Invalid] != wrongCodes || count[sheaf.RateLimited] != 64-wrongCodes {
			t.Errorf("got %v", count)
		}
		restarted := newNode(t, a.store, now)
		for _, code := range []string{p.code(), codes[0]} {
			_, err := restarted.FinishSignIn(t.Context(), first, code, Browser{}, "")
			if e, ok := err.(*sheaf.Error); !ok || e.Kind != sheaf.RateLimited || e.RetryAfter <= 0 || e.RetryAfter > factorCloses {
				t.Errorf("a right code while it is closed: %v", err)
			}
		}
		*now = now.Add(factorCloses - time.Second)
		late := pend(t, a, in)
		if _, err := a.FinishSignIn(t.Context(), late, p.code(), Browser{}, ""); sheaf.KindOf(err) != sheaf.RateLimited {
			t.Errorf("one second before the end: %v", err)
		}
		*now = now.Add(time.Second)
		if _, err := a.FinishSignIn(t.Context(), late, p.wrong(), Browser{}, ""); err != error(errCode) {
			t.Errorf("after 15 minutes, a wrong code: %v", err)
		}
		if _, err := a.FinishSignIn(t.Context(), late, p.code(), Browser{}, ""); err != nil {
			t.Errorf("after 15 minutes: %v", err)
		}
		// The right code has forgotten the wrong one: four more do not close it.
		again := pend(t, a, in)
		for range wrongCodes - 1 {
			if _, err := a.FinishSignIn(t.Context(), again, p.wrong(), Browser{}, ""); err != error(errCode) {
				t.Errorf("after the right code: %v", err)
			}
		}
		if _, err := a.FinishSignIn(t.Context(), again, p.next(), Browser{}, ""); err != nil {
			t.Errorf("after four wrong codes: %v", err)
		}
	})
}

// D191: each recovery code works once, and new ones replace all.
func TestFactor_RecoveryCodes(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		_, s := signIn(t, a, in)
		p, codes, _ := setUp(t, a, s, in.Password, now)
		n, err := a.FinishSignIn(t.Context(), pend(t, a, in), codes[0], Browser{}, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.FinishSignIn(t.Context(), pend(t, a, in), codes[0], Browser{}, ""); err != error(errRecovery) {
			t.Errorf("used twice: %v", err)
		}
		if s, err = a.Session(t.Context(), n.Token); err != nil {
			t.Fatal(err)
		}
		if f, err := a.Factor(t.Context(), s); err != nil || !f.On || f.Codes != RecoveryCodes-1 || f.Required {
			t.Errorf("%+v, %v", f, err)
		}
		if _, err := a.NewRecoveryCodes(t.Context(), s, "a wrong one"); sheaf.KindOf(err) != sheaf.Unauthorized {
			t.Errorf("new codes for a wrong password: %v", err)
		}
		if _, err := a.NewRecoveryCodes(t.Context(), s, p.wrong()); err != error(errCode) {
			t.Errorf("new codes for a wrong code: %v", err)
		}
		fresh, err := a.NewRecoveryCodes(t.Context(), s, p.next())
		if err != nil || len(fresh) != RecoveryCodes {
			t.Fatalf("%q, %v", fresh, err)
		}
		if _, err := a.NewRecoveryCodes(t.Context(), s, p.code()); err != error(errCodeUsed) {
			t.Errorf("new codes for a code that was used: %v", err)
		}
		if fresh, err = a.NewRecoveryCodes(t.Context(), s, in.Password); err != nil {
			t.Fatal(err)
		}
		if _, err := a.FinishSignIn(t.Context(), pend(t, a, in), codes[1], Browser{}, ""); err != error(errRecovery) {
			t.Errorf("a code that was replaced: %v", err)
		}
		if _, err := a.FinishSignIn(t.Context(), pend(t, a, in), strings.ReplaceAll(strings.ToUpper(fresh[9]), "-", " "), Browser{}, ""); err != nil {
			t.Errorf("a new code: %v", err)
		}
	})
}

// D191: a pending sign-in ends after minutes, with a new password, and when its person signs out everywhere.
func TestFactor_PendingSignInsEnd(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		_, s := signIn(t, a, in)
		p, _, n := setUp(t, a, s, in.Password, now)
		s, err := a.Session(t.Context(), n.Token)
		if err != nil {
			t.Fatal(err)
		}
		late := pend(t, a, in)
		*now = now.Add(pendingLives)
		wantEnded := func(why, token string) {
			t.Helper()
			if _, err := a.FinishSignIn(t.Context(), token, p.next(), Browser{}, ""); err != errPending {
				t.Errorf("%s: %v", why, err)
			}
			if _, err := a.Waiting(t.Context(), token); err != errPending {
				t.Errorf("%s: %v", why, err)
			}
		}
		wantEnded("after ten minutes", late)
		open := pend(t, a, in)
		if n, err = a.ChangePassword(t.Context(), s, in.Password, "another long one", Browser{}); err != nil {
			t.Fatal(err)
		}
		in.Password = "another long one"
		wantEnded("after a new password", open)
		open = pend(t, a, in)
		if _, err := a.Operator().SetPassword(t.Context(), in.Email, "a third long one"); err != nil {
			t.Fatal(err)
		}
		in.Password = "a third long one"
		wantEnded("after the operator set a password", open)
		// … which did not remove the factor.
		open = pend(t, a, in)
		last, err := a.FinishSignIn(t.Context(), open, p.next(), Browser{}, "")
		if err != nil {
			t.Fatal(err)
		}
		if s, err = a.Session(t.Context(), last.Token); err != nil {
			t.Fatal(err)
		}
		open = pend(t, a, in)
		if err := a.SignOutEverywhere(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		wantEnded("after signing out everywhere", open)
		wantEnded("no token", "")
	})
}

// D193: setting up and turning off a second factor end the person's other sessions.
func TestFactor_EndsOtherSessions(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		other, _ := signIn(t, a, in)
		mine, s := signIn(t, a, in)
		wantOut := func(what string, tokens ...string) {
			t.Helper()
			for _, token := range tokens {
				if _, err := a.Session(t.Context(), token); sheaf.KindOf(err) != sheaf.Unauthorized {
					t.Errorf("%s left a session open: %v", what, err)
				}
			}
		}
		p, _, n := setUp(t, a, s, in.Password, now)
		wantOut("setting it up", other.Token, mine.Token)
		s, err := a.Session(t.Context(), n.Token)
		if err != nil {
			t.Fatal(err)
		}
		second, err := a.FinishSignIn(t.Context(), pend(t, a, in), p.next(), Browser{}, "")
		if err != nil {
			t.Fatal(err)
		}
		for proof, want := range map[string]sheaf.Kind{"": sheaf.Unauthorized, "wrong wrong": sheaf.Unauthorized, p.wrong(): sheaf.Invalid} {
			if _, err := a.TurnOffFactor(t.Context(), s, proof, Browser{}); sheaf.KindOf(err) != want {
				t.Errorf("turning it off with %q: %v", proof, err)
			}
		}
		off, err := a.TurnOffFactor(t.Context(), s, p.next(), Browser{})
		if err != nil || off.Token == "" {
			t.Fatalf("%+v, %v", off, err)
		}
		wantOut("turning it off", n.Token, second.Token)
		if s, err = a.Session(t.Context(), off.Token); err != nil {
			t.Fatal(err)
		}
		if f, err := a.Factor(t.Context(), s); err != nil || f.On || f.Codes != 0 {
			t.Errorf("%+v, %v", f, err)
		}
		for _, proof := range []string{in.Password, p.next()} {
			if _, err := a.TurnOffFactor(t.Context(), s, proof, Browser{}); sheaf.KindOf(err) != sheaf.Conflict {
				t.Errorf("turning it off twice: %v", err)
			}
		}
		signIn(t, a, in) // with the password alone
	})
}

// D191: an offer is confirmed by its code, with the password, in the session that it was made for, and once.
func TestFactor_IsConfirmed(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		_, s := signIn(t, a, in)
		_, other := signIn(t, a, in)
		offer, err := a.OfferFactor(s.User, s.token, "")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(offer.URL, "otpauth://totp/Sheaf%20docs.example.com:ada@example.com?") || !strings.Contains(offer.URL, "secret="+offer.Secret) {
			t.Errorf("the QR code says %s", offer.URL)
		}
		if same, err := a.OfferFactor(s.User, s.token, offer.Sealed); err != nil || same != offer {
			t.Errorf("shown again: %+v, %v", same, err)
		}
		p := phone{t, offer.Secret, now}
		for name, test := range map[string]struct {
			s        Session
			in       NewFactor
			password string
			want     sheaf.Kind
		}{
			"a wrong code":         {s, NewFactor{offer.Sealed, p.wrong()}, in.Password, sheaf.Invalid},
			"no code":              {s, NewFactor{offer.Sealed, ""}, in.Password, sheaf.Invalid},
			"a wrong password":     {s, NewFactor{offer.Sealed, p.code()}, "a wrong one", sheaf.Unauthorized},
			"another session":      {other, NewFactor{offer.Sealed, p.code()}, in.Password, sheaf.Conflict},
			"a secret of its own":  {s, NewFactor{"AAAA", p.code()}, in.Password, sheaf.Conflict},
			"an offer that is bad": {s, NewFactor{"!", p.code()}, in.Password, sheaf.Conflict},
		} {
			if _, _, err := a.SetUpFactor(t.Context(), test.s, test.in, test.password, Browser{}); sheaf.KindOf(err) != test.want {
				t.Errorf("%s: %v", name, err)
			}
		}
		signIn(t, a, in)
		n, _, err := a.SetUpFactor(t.Context(), s, NewFactor{offer.Sealed, p.code()}, in.Password, Browser{})
		if err != nil {
			t.Fatal(err)
		}
		if s, err = a.Session(t.Context(), n.Token); err != nil {
			t.Fatal(err)
		}
		again, err := a.OfferFactor(s.User, s.token, "")
		if err != nil {
			t.Fatal(err)
		}
		q := phone{t, again.Secret, now}
		if _, _, err := a.SetUpFactor(t.Context(), s, NewFactor{again.Sealed, q.code()}, in.Password, Browser{}); err != error(errFactorOn) {
			t.Errorf("a second one: %v", err)
		}
	})
}

// D191: with --require-second-factor, a person without one sets it up before they are signed in.
func TestFactor_Required(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		old, _ := signIn(t, a, in)
		a.secondFactor = true
		n, err := a.SignIn(t.Context(), in, "")
		if err != nil || n.Token != "" || !n.Pending.SetUp {
			t.Fatalf("%+v, %v", n, err)
		}
		pending := n.Pending.Token
		w, err := a.Waiting(t.Context(), pending)
		if err != nil || !w.SetUp {
			t.Errorf("%+v, %v", w, err)
		}
		if _, err := a.FinishSignIn(t.Context(), pending, "000000", Browser{}, ""); sheaf.KindOf(err) != sheaf.Conflict {
			t.Errorf("a code without a factor: %v", err)
		}
		offer, err := a.OfferFactor(w.User, pending, "")
		if err != nil {
			t.Fatal(err)
		}
		p := phone{t, offer.Secret, now}
		if _, _, err := a.FinishWithFactor(t.Context(), pending, NewFactor{offer.Sealed, p.wrong()}, Browser{}, ""); err != error(errCode) {
			t.Errorf("a wrong code: %v", err)
		}
		parallel := pend(t, a, in)
		done, codes, err := a.FinishWithFactor(t.Context(), pending, NewFactor{offer.Sealed, p.code()}, Browser{}, "")
		if err != nil || done.Token == "" || len(codes) != RecoveryCodes {
			t.Fatalf("%+v, %q, %v", done, codes, err)
		}
		if _, err := a.Session(t.Context(), old.Token); sheaf.KindOf(err) != sheaf.Unauthorized {
			t.Errorf("a session from before: %v", err)
		}
		if _, err := a.Waiting(t.Context(), parallel); err != errPending {
			t.Errorf("another pending sign-in: %v", err)
		}
		// A person who has one cannot set up another instead of giving a code.
		pending = pend(t, a, in)
		theirs, err := a.OfferFactor(w.User, pending, "")
		if err != nil {
			t.Fatal(err)
		}
		q := phone{t, theirs.Secret, now}
		if _, _, err := a.FinishWithFactor(t.Context(), pending, NewFactor{theirs.Sealed, q.code()}, Browser{}, ""); err != error(errFactorOn) {
			t.Errorf("a second factor in place of a code: %v", err)
		}
		// A person who replaces the app sets up the other one at once.
		s, err := a.Session(t.Context(), done.Token)
		if err != nil {
			t.Fatal(err)
		}
		off, err := a.TurnOffFactor(t.Context(), s, p.next(), Browser{})
		if err != nil || off.Token != "" || !off.Pending.SetUp {
			t.Errorf("%+v, %v", off, err)
		}
		if _, err := a.Session(t.Context(), done.Token); sheaf.KindOf(err) != sheaf.Unauthorized {
			t.Errorf("a session without a second factor: %v", err)
		}
	})
}

// D191: the operator removes a second factor, and with it every session.
func TestFactor_TheOperatorResetsIt(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		_, s := signIn(t, a, in)
		if _, had, err := a.Operator().ResetFactors(t.Context(), in.Email); had || err != nil {
			t.Errorf("without a factor: %v, %v", had, err)
		}
		if _, err := a.Session(t.Context(), s.token); err != nil {
			t.Errorf("without a factor, a session was ended: %v", err)
		}
		_, codes, n := setUp(t, a, s, in.Password, now)
		pending := pend(t, a, in)
		if users, err := a.Operator().Users(t.Context()); err != nil || len(users) != 1 || !users[0].SecondFactor {
			t.Errorf("%+v, %v", users, err)
		}
		u, had, err := a.Operator().ResetFactors(t.Context(), strings.ToUpper(in.Email))
		if !had || err != nil || u.ID != s.User.ID {
			t.Errorf("%+v, %v, %v", u, had, err)
		}
		if _, err := a.Session(t.Context(), n.Token); sheaf.KindOf(err) != sheaf.Unauthorized {
			t.Errorf("a session stayed: %v", err)
		}
		if _, err := a.FinishSignIn(t.Context(), pending, codes[0], Browser{}, ""); err != errPending {
			t.Errorf("a pending sign-in stayed: %v", err)
		}
		_, s = signIn(t, a, in)
		// Recovery codes of the old one are gone.
		p, _, _ := setUp(t, a, s, in.Password, now)
		if _, err := a.FinishSignIn(t.Context(), pend(t, a, in), codes[0], Browser{}, ""); err != error(errRecovery) {
			t.Errorf("an old recovery code: %v", err)
		}
		if _, err := a.FinishSignIn(t.Context(), pend(t, a, in), p.next(), Browser{}, ""); err != nil {
			t.Error(err)
		}
		if _, _, err := a.Operator().ResetFactors(t.Context(), "nobody@example.com"); sheaf.KindOf(err) != sheaf.NotFound {
			t.Errorf("an unknown e-mail: %v", err)
		}
	})
}

// D191: a person with a second factor joins a workspace with the code, not with the password alone.
func TestFactor_Invitation(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		_, s := signIn(t, a, in)
		other, err := a.Operator().CreateWorkspace(t.Context(), NewWorkspace{Name: "Other", Plan: sheaf.Pro, OwnerEmail: "bob@example.com"})
		if err != nil {
			t.Fatal(err)
		}
		p, _, _ := setUp(t, a, s, in.Password, now)
		i, err := a.Operator().Invite(t.Context(), other.ID, in.Email, sheaf.Editor, nil)
		if err != nil {
			t.Fatal(err)
		}
		join := Join{Token: i.Token, Password: in.Password, Address: in.Address}
		n, ws, err := a.Join(t.Context(), join, "")
		if err != nil || n.Token != "" || n.Pending.Token == "" || ws != other.ID {
			t.Fatalf("%+v, %v, %v", n, ws, err)
		}
		joined := func() bool {
			users, err := a.Operator().Users(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range users {
				if u.ID == s.User.ID {
					return len(u.Memberships) == 2
				}
			}
			return false
		}
		if joined() {
			t.Error("the password alone joined")
		}
		if _, err := a.FinishSignIn(t.Context(), n.Pending.Token, p.wrong(), Browser{}, ""); err != error(errCode) || joined() {
			t.Errorf("a wrong code: %v", err)
		}
		if _, err := a.FinishSignIn(t.Context(), n.Pending.Token, p.next(), Browser{}, ""); err != nil || !joined() {
			t.Errorf("a right code: %v", err)
		}
		if _, err := a.Offer(t.Context(), i.Token); sheaf.KindOf(err) != sheaf.NotFound {
			t.Errorf("the invitation can be used again: %v", err)
		}
	})
}

// D191: the store has neither the secret nor a recovery code.
func TestFactor_IsStoredSealed(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		_, s := signIn(t, a, in)
		p, codes, _ := setUp(t, a, s, in.Password, now)
		secret, err := base32.StdEncoding.DecodeString(p.secret)
		if err != nil {
			t.Fatal(err)
		}
		err = a.store.Read(t.Context(), func(r *store.Reader) error {
			f, found, err := r.Factor(s.User.ID)
			if err != nil || !found {
				t.Fatalf("%v, %v", found, err)
			}
			if bytes.Contains(f.Secret, secret) || bytes.Contains(f.Secret, []byte(p.secret)) {
				t.Error("the secret is stored in the clear")
			}
			if got, err := a.webhooks.Box.OpenFactorSecret(string(s.User.ID), f.Secret); err != nil || !bytes.Equal(got, secret) {
				t.Errorf("it opens as %x, %v", got, err)
			}
			if _, err := a.webhooks.Box.OpenFactorSecret("another user", f.Secret); err == nil {
				t.Error("it opens for another user")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if h := recoveryHash(s.User.ID, strings.ReplaceAll(codes[0], "-", "")); bytes.Equal(h, recoveryHash("another", strings.ReplaceAll(codes[0], "-", ""))) || len(h) != 32 {
			t.Errorf("%x", h)
		}
	})
}
