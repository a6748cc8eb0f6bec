package app

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/migrated"
	"sheaf.dev/internal/store"
)

const testPassword = "long enough"

// ada is the owner of the first workspace, with a password.
func ada(t *testing.T, a *App) (SignIn, FirstRun) {
	t.Helper()
	first, _, err := a.Operator().FirstRun(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	in := SignIn{Email: "ada@example.com", Password: testPassword, Address: "192.0.2.1"}
	if err := a.CompleteSetup(t.Context(), first.Link.Token, SetUp{Name: "Ada", Email: in.Email, Password: in.Password}); err != nil {
		t.Fatal(err)
	}
	return in, first
}

func (in SignIn) with(change func(*SignIn)) SignIn {
	change(&in)
	return in
}

func signIn(t *testing.T, a *App, in SignIn) (NewSession, Session) {
	t.Helper()
	n, err := a.SignIn(t.Context(), in, "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.Session(t.Context(), n.Token)
	if err != nil {
		t.Fatal(err)
	}
	return n, s
}

func TestSignIn_TellsNothingAboutWhoIsKnown(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		in, _ := ada(t, a)
		if _, err := a.Operator().CreateWorkspace(t.Context(), NewWorkspace{Name: "x", Plan: sheaf.Pro, OwnerEmail: "bob@example.com"}); err != nil {
			t.Fatal(err)
		}
		for name, wrong := range map[string]SignIn{
			"a wrong password":  in.with(func(s *SignIn) { s.Password = "wrong" }),
			"an unknown e-mail": in.with(func(s *SignIn) { s.Email = "nobody@example.com" }),
			"no password":       in.with(func(s *SignIn) { s.Email, s.Password = "bob@example.com", "" }),
		} {
			if _, err := a.SignIn(t.Context(), wrong, ""); err != error(errSignIn) {
				t.Errorf("%s: %v", name, err)
			}
		}
		n, s := signIn(t, a, in.with(func(s *SignIn) { s.Email = "ADA@example.com" }))
		if s.User.Email == nil || *s.User.Email != in.Email || len(s.Memberships) != 1 || s.Memberships[0].Role != sheaf.Owner || len(n.Token) < 40 {
			t.Errorf("%+v", s)
		}
	})
}

// Five wrong passwords are free. After that the next one is not even compared, however many come at
// once, and the right one has to wait too.
func TestSignIn_SlowsAnAccountDown(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		var wg sync.WaitGroup
		kinds := make([]sheaf.Kind, 12)
		for i := range kinds {
			wg.Go(func() {
				// Only a few attempts from one address may wait at once.
				for kinds[i] = sheaf.Unavailable; kinds[i] == sheaf.Unavailable; {
					_, err := a.SignIn(t.Context(), in.with(func(s *SignIn) { s.Password = "wrong" }), "")
					kinds[i] = sheaf.KindOf(err)
				}
			})
		}
		wg.Wait()
		count := map[sheaf.Kind]int{}
		for _, k := range kinds {
			count[k]++
		}
		if count[sheaf.Unauthorized] != 5 || count[sheaf.RateLimited] != 7 {
			t.Errorf("got %v", count)
		}
		if _, err := a.SignIn(t.Context(), in, ""); sheaf.KindOf(err) != sheaf.RateLimited {
			t.Errorf("the right password at once: %v", err)
		}
		*now = now.Add(time.Second)
		signIn(t, a, in)
		// The count starts again.
		if _, err := a.SignIn(t.Context(), in.with(func(s *SignIn) { s.Password = "wrong" }), ""); sheaf.KindOf(err) != sheaf.Unauthorized {
			t.Errorf("after a success: %v", err)
		}
	})
}

func TestBrake_DoublesTheWait(t *testing.T) {
	now := time.Now()
	b := brake{name: "x", free: 5, most: time.Minute}
	for failures, want := range map[int64]time.Duration{0: 0, 4: 0, 5: time.Second, 6: 2 * time.Second, 10: 32 * time.Second, 11: time.Minute, 1000: time.Minute} {
		if got := b.wait(store.Failures{Count: failures, At: now}, now); got != want {
			t.Errorf("after %d failures: %v, want %v", failures, got, want)
		}
	}
	if got := b.wait(store.Failures{Count: 1000, At: now.Add(-time.Hour)}, now); got != 0 {
		t.Errorf("an hour later: %v", got)
	}
	b.leak = time.Minute
	if got := b.count(store.Failures{Count: 7, At: now.Add(-150 * time.Second)}, now); got != 5 {
		t.Errorf("two minutes later %d of 7 count, want 5", got)
	}
}

// Two spellings that the store takes for one address are one account, known or not.
func TestSignIn_SlowsEverySpellingDown(t *testing.T) {
	one, other := brakesFor("", SignIn{Email: "sussy@example.com"}), brakesFor("", SignIn{Email: "SUßY@example.com"})
	if one.own[0] != other.own[0] || *one.account != *other.account {
		t.Errorf("%q and %q", one.account.name, other.account.name)
	}
}

// A person who tries many accounts is slowed down by their address.
func TestSignIn_SlowsAnAddressDown(t *testing.T) {
	now := time.Now()
	b := brakesFor("", SignIn{Email: "x@example.com", Address: "192.0.2.1"}).own[1]
	if b.name != "address 192.0.2.1" || b.wait(store.Failures{Count: 19, At: now}, now) != 0 || b.wait(store.Failures{Count: 20, At: now}, now) != time.Second ||
		b.wait(store.Failures{Count: 99, At: now}, now) != 15*time.Minute {
		t.Errorf("%+v", b)
	}
}

func TestSession_EndsByItselfAndByWish(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		open := func(n NewSession) bool {
			_, err := a.Session(t.Context(), n.Token)
			if err != nil && sheaf.KindOf(err) != sheaf.Unauthorized {
				t.Fatal(err)
			}
			return err == nil
		}
		idle, _ := signIn(t, a, in)
		*now = now.Add(sessionIdle - time.Millisecond)
		if !open(idle) {
			t.Error("it ended before it was idle for long")
		}
		*now = now.Add(sessionIdle)
		if open(idle) {
			t.Error("an idle session is open")
		}
		used, _ := signIn(t, a, in)
		for end := now.Add(sessionLives); now.Before(end); *now = now.Add(6 * time.Hour) {
			if !open(used) {
				t.Fatal("a session in use ended")
			}
		}
		if open(used) {
			t.Error("a session is open for longer than it may be")
		}
		if open(NewSession{Token: ""}) || open(NewSession{Token: "x"}) {
			t.Error("what is no token opens a session")
		}

		one, _ := signIn(t, a, in)
		two, s := signIn(t, a, in)
		if err := a.SignOut(t.Context(), one.Token, Browser{}); err != nil || open(one) || !open(two) {
			t.Errorf("sign out: %v", err)
		}
		if err := a.SignOutEverywhere(t.Context(), s); err != nil || open(two) {
			t.Errorf("sign out everywhere: %v", err)
		}
	})
}

// A full disk refuses writes, but people can still read.
func TestSession_GoesOnWhereNothingCanBeWritten(t *testing.T) {
	o := store.Options{DatabaseURL: migrated.URL(t)}
	onEngine(t, o, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		n, _ := signIn(t, a, in)
		db, err := pgx.Connect(t.Context(), o.DatabaseURL)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close(t.Context())
		_, err = db.Exec(t.Context(), `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$;
			CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON sessions FOR EACH ROW EXECUTE FUNCTION full_disk()`)
		if err != nil {
			t.Fatal(err)
		}
		*now = now.Add(2 * sessionNoted)
		if s, err := a.Session(t.Context(), n.Token); err != nil || *s.User.Email != in.Email {
			t.Errorf("got %+v, %v", s.User, err)
		}
		if _, err := a.SignIn(t.Context(), in, ""); sheaf.KindOf(err) != sheaf.Unavailable {
			t.Errorf("something can still be written: %v", err)
		}
		*now = now.Add(sessionIdle)
		_, err = a.Session(t.Context(), n.Token)
		wantKind(t, "a session that nobody could keep alive", err, sheaf.Unauthorized)
	})
}

func TestSession_EndsWithThePassword(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		in, _ := ada(t, a)
		old, s := signIn(t, a, in)
		if _, err := a.ChangePassword(t.Context(), s, "wrong", "another password", Browser{}); sheaf.KindOf(err) != sheaf.Unauthorized {
			t.Errorf("with a wrong password: %v", err)
		}
		fresh, err := a.ChangePassword(t.Context(), s, in.Password, "another password", Browser{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Session(t.Context(), old.Token); sheaf.KindOf(err) != sheaf.Unauthorized {
			t.Errorf("the session of the old password: %v", err)
		}
		if _, err := a.Session(t.Context(), fresh.Token); err != nil {
			t.Errorf("the session of who changed it: %v", err)
		}
		if _, err := a.Operator().SetPassword(t.Context(), in.Email, "a third password"); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Session(t.Context(), fresh.Token); sheaf.KindOf(err) != sheaf.Unauthorized {
			t.Errorf("after the operator has set one: %v", err)
		}
	})
}

// D193: a person sees the open sessions of their own account and can end each.
func TestSession_IsListedAndEnded(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		signIn(t, a, in) // it will have been idle for too long
		*now = now.Add(sessionIdle)
		laptop, s := signIn(t, a, in.with(func(s *SignIn) { s.Agent = "Firefox/144\x00\xff" + strings.Repeat("x", 1000) }))
		*now = now.Add(2 * time.Hour)
		phone, _ := signIn(t, a, in.with(func(s *SignIn) { s.Address, s.Agent = "192.0.2.9", "a phone" }))
		stranger, err := a.Operator().CreateWorkspace(t.Context(), NewWorkspace{Name: "x", Plan: sheaf.Pro, OwnerEmail: "bob@example.com"})
		if err != nil {
			t.Fatal(err)
		}
		bob := Session{User: sheaf.User{ID: stranger.Owner}}
		list, err := a.SignedIn(t.Context(), s)
		if err != nil || len(list) != 2 {
			t.Fatalf("%+v %v", list, err)
		}
		other, own := list[0], list[1]
		if other.Present || other.Address != "192.0.2.9" || other.Agent != "a phone" || !other.SeenAt.Equal(*now) {
			t.Errorf("the phone is %+v", other)
		}
		if !own.Present || own.Address != in.Address || !strings.HasPrefix(own.Agent, "Firefox/144xxx") || len(own.Agent) > mostAgent || !own.CreatedAt.Equal(now.Add(-2*time.Hour)) {
			t.Errorf("the laptop is %+v", own)
		}
		if none, err := a.SignedIn(t.Context(), bob); err != nil || len(none) > 0 {
			t.Errorf("another person has %+v %v", none, err)
		}
		for _, try := range []func() error{
			func() error { return a.EndSession(t.Context(), bob, other.ID) },
			func() error { return a.EndSession(t.Context(), s, "00") },
		} {
			if err := try(); err != nil {
				t.Error(err)
			}
		}
		wantKind(t, "no id", a.EndSession(t.Context(), s, "nonsense"), sheaf.NotFound)
		if _, err := a.Session(t.Context(), phone.Token); err != nil {
			t.Errorf("before it was ended: %v", err)
		}
		for range 2 {
			if err := a.EndSession(t.Context(), s, other.ID); err != nil {
				t.Error(err)
			}
		}
		if _, err := a.Session(t.Context(), phone.Token); sheaf.KindOf(err) != sheaf.Unauthorized {
			t.Errorf("after it was ended: %v", err)
		}
		if _, err := a.Session(t.Context(), laptop.Token); err != nil {
			t.Errorf("the session that ended the other: %v", err)
		}
	})
}

// Signing in again replaces the session that the browser had.
func TestSignIn_MakesANewToken(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		in, _ := ada(t, a)
		first, _ := signIn(t, a, in)
		second, err := a.SignIn(t.Context(), in, first.Token)
		if err != nil || second.Token == first.Token {
			t.Fatalf("%v", err)
		}
		if _, err := a.Session(t.Context(), first.Token); sheaf.KindOf(err) != sheaf.Unauthorized {
			t.Errorf("the old token: %v", err)
		}
	})
}

// A sender of made-up cookies does not block people whose session was found before.
func TestSession_UnknownCookiesTakeNoPlaceFromKnownOnes(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		in, _ := ada(t, a)
		known, _ := signIn(t, a, in)
		const many = 60          // more than the connections of one share
		var settled atomic.Int64 // strangers who have a connection, or were refused one
		release := make(chan struct{})
		var strangers sync.WaitGroup
		for range many {
			strangers.Go(func() {
				// A stranger who finds no connection is refused after a while, which does not
				// matter here.
				_, err := readPart(t.Context(), a, a.sessions.part(tokenHash("made up")), func(*store.Reader) (bool, error) {
					settled.Add(1)
					<-release
					return true, nil
				})
				if err != nil {
					settled.Add(1)
				}
			})
		}
		defer strangers.Wait()
		defer close(release)
		sheaftest.Eventually(t, "every stranger has a place, or waits for one", func() bool {
			return settled.Load()+int64(goroutinesIn("engine.(*slot).await")) >= many
		})
		if _, err := a.Session(t.Context(), known.Token); err != nil {
			t.Errorf("the session of a person, while strangers keep their share full: %v", err)
		}
	})
}

// goroutinesIn counts the goroutines that are in a function. Nothing else shows how many wait
// there.
func goroutinesIn(function string) int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), function+"(")
}

func TestKnownSessions_AreBoundedAndForgotten(t *testing.T) {
	k := &knownSessions{user: map[string]sheaf.UserID{}}
	for i := range maxKnownSessions + 10 {
		k.know([]byte{byte(i), byte(i >> 8)}, "ada")
	}
	if len(k.user) != maxKnownSessions {
		t.Errorf("%d are known, want %d", len(k.user), maxKnownSessions)
	}
	k.know([]byte("x"), "ada")
	if got := k.part([]byte("x")); got != "user ada" {
		t.Errorf("the share is %q", got)
	}
	k.forget([]byte("x"))
	if got := k.part([]byte("x")); got != "" {
		t.Errorf("the share of a session that has ended is %q", got)
	}
}
