package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// guess tries a wrong password for an account from an address.
func guess(t *testing.T, a *App, email, address string) error {
	t.Helper()
	_, err := a.SignIn(t.Context(), SignIn{Email: email, Password: "a wrong guess", Address: address}, "")
	if k := sheaf.KindOf(err); k != sheaf.Unauthorized && k != sheaf.RateLimited {
		t.Fatalf("a guess: %v", err)
	}
	return err
}

// A person who guesses passwords from a few addresses, however often, locks out only themselves.
// The owner can sign in at every minute, even from a new browser.
func TestSignIn_AnAttackerDoesNotLockTheOwnerOut(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		entered, guesses := 0, 0
		for range 40 {
			for range 4 {
				*now = now.Add(15 * time.Second)
				for i := range 3 {
					if err := guess(t, a, in.Email, fmt.Sprint("203.0.113.", i)); sheaf.KindOf(err) == sheaf.Unauthorized {
						guesses++
					}
				}
			}
			if _, err := a.SignIn(t.Context(), in, ""); err == nil {
				entered++
			} else {
				t.Log(err)
			}
		}
		if entered != 40 || guesses > 3*20 {
			t.Errorf("the right password got in %d of 40 times, beside %d guesses", entered, guesses)
		}
	})
}

// If hundreds of addresses guess, the account's brake is on. A browser in which the owner signed in
// before is not affected. Trying again while the brake is on counts against the address.
func TestSignIn_AKnownBrowserPassesTheBrakeOfItsAccount(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		first, _ := signIn(t, a, in)
		known := in.with(func(s *SignIn) { s.Device = first.Device })
		entered, stranger := 0, 0
		for minute := range 40 {
			networks := 4
			if minute == 0 {
				networks = 60 // more than are free
			}
			for i := range networks {
				guess(t, a, in.Email, fmt.Sprintf("2001:db8:%x:%x::/64", minute, i))
			}
			if _, err := a.SignIn(t.Context(), known, ""); err == nil {
				entered++
			}
			if _, err := a.SignIn(t.Context(), in.with(func(s *SignIn) { s.Address = fmt.Sprint("198.51.100.", minute) }), ""); err == nil {
				stranger++
			}
			*now = now.Add(time.Minute)
		}
		t.Logf("a known browser got in %d of 40 times, another one %d", entered, stranger)
		if entered != 40 || stranger > 20 {
			t.Errorf("the known browser got in %d of 40 times, another %d: want 40, and a brake that brakes", entered, stranger)
		}

		guess(t, a, in.Email, "203.0.113.8") // so that the wait is the longest
		for i := range 5 {
			err := guess(t, a, in.Email, "203.0.113.9")
			if sheaf.KindOf(err) != sheaf.RateLimited || !strings.Contains(err.Error(), "signed in before") {
				t.Errorf("guess %d beside the account's brake: %v", i, err)
			}
		}
		if err := guess(t, a, in.Email, "203.0.113.9"); strings.Contains(err.Error(), "signed in before") {
			t.Errorf("the sixth guess costs the address nothing: %v", err)
		}
		err := a.store.Read(t.Context(), func(r *store.Reader) error {
			f, err := r.Failures("address 203.0.113.9")
			if f.Count != 5 {
				t.Errorf("the address has %d failures, want 5", f.Count)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// An account that does not exist is slowed down like one that does, with the same text.
func TestSignIn_BrakesTellNothingAboutWhoIsKnown(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		first, _ := signIn(t, a, in)
		try := func(email, net string, i int) string {
			_, err := a.SignIn(t.Context(), SignIn{Email: email, Password: "a wrong guess", Address: fmt.Sprint(net, i%12), Device: "x" + first.Device}, "")
			return err.Error()
		}
		for i := range 90 {
			if known, unknown := try(in.Email, "203.0.113.", i), try("nobody@example.com", "198.51.100.", i); known != unknown {
				t.Fatalf("attempt %d: %q for who is known and %q for who is not", i, known, unknown)
			}
			if i%10 == 0 {
				*now = now.Add(time.Second)
			}
		}
	})
}

// A browser's token is bound to one account and its password, and expires after some months.
func TestDevice_IsBoundToAccountPasswordAndTime(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		if _, err := a.Operator().CreateWorkspace(t.Context(), NewWorkspace{Name: "x", Plan: sheaf.Pro, OwnerEmail: "bob@example.com"}); err != nil {
			t.Fatal(err)
		}
		n, s := signIn(t, a, in)
		recognised := func(email, token string) bool {
			user, err := readUnasked(t.Context(), a, func(r *store.Reader) (sheaf.User, error) { return r.UserByEmail(email) })
			if err != nil {
				t.Fatal(err)
			}
			_, ok := a.knownDevice(user, token)
			return ok
		}
		name, rest, _ := strings.Cut(n.Device, ".")
		until, signature, _ := strings.Cut(rest, ".")
		withoutPassword := name + "." + until + "." + signDevice("", "", name+"."+until)
		if !recognised(in.Email, n.Device) {
			t.Error("the browser is not recognised")
		}
		for what, token := range map[string]string{
			"nothing": "", "another name": "x" + n.Device, "no signature": name + "." + until + ".", "another end": name + ".9" + until + "." + signature,
			"a long one": strings.Repeat("x", 10_000) + n.Device,
		} {
			if recognised(in.Email, token) {
				t.Errorf("%s is recognised", what)
			}
		}
		if recognised("bob@example.com", n.Device) || recognised("bob@example.com", withoutPassword) {
			t.Error("it is recognised for somebody else, who has no password")
		}
		if _, ok := a.knownDevice(sheaf.User{}, withoutPassword); ok {
			t.Error("it is recognised for nobody")
		}
		*now = now.Add(deviceLives - time.Second)
		if !recognised(in.Email, n.Device) {
			t.Error("it ended too early")
		}
		*now = now.Add(time.Second)
		if recognised(in.Email, n.Device) {
			t.Error("it does not end")
		}
		*now = now.Add(-time.Hour)
		changed, err := a.ChangePassword(t.Context(), s, in.Password, in.Password, Browser{})
		if err != nil {
			t.Fatal(err)
		}
		if recognised(in.Email, n.Device) || !recognised(in.Email, changed.Device) {
			t.Error("a new password did not change the token")
		}
	})
}

// Guesses of others do not keep a signed-in person from changing the password. The person's own
// guesses have a brake.
func TestChangePassword_HasABrakeOfItsOwn(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		_, s := signIn(t, a, in)
		for i := range 80 {
			guess(t, a, in.Email, fmt.Sprint("203.0.113.", i))
		}
		for range 5 {
			_, err := a.ChangePassword(t.Context(), s, "wrong", "another password", Browser{})
			wantKind(t, "a wrong password", err, sheaf.Unauthorized)
		}
		_, err := a.ChangePassword(t.Context(), s, in.Password, "another password", Browser{})
		wantKind(t, "the sixth", err, sheaf.RateLimited)
		*now = now.Add(time.Second)
		if _, err := a.ChangePassword(t.Context(), s, in.Password, "another password", Browser{}); err != nil {
			t.Error(err)
		}
	})
}

// D112: a turn to hash a password comes within five seconds or not at all. Names get turns fairly,
// and a client that has left does not wait. Strangers leave one slot of hashing free.
func TestLines_AreSharedOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLines()
		done, err := l.turn(t.Context(), l.readers, "attacker")
		if err != nil {
			t.Fatal(err)
		}
		ctx, hangUp := context.WithCancel(t.Context())
		var hungUp atomic.Int64
		var all sync.WaitGroup
		for range lineEach {
			all.Go(func() {
				if _, err := l.turn(ctx, l.readers, "attacker"); errors.Is(err, context.Canceled) {
					hungUp.Add(1)
				}
			})
		}
		synctest.Wait()
		_, err = l.turn(t.Context(), l.readers, "attacker")
		wantKind(t, "one more of the same", err, sheaf.Unavailable)

		// Others have their own line, or are served before those who wait.
		setter, err := l.turn(t.Context(), l.setters, "attacker")
		if err != nil {
			t.Fatalf("setting a password beside: %v", err)
		}
		setter()
		served := make(chan struct{})
		all.Go(func() {
			theirs, err := l.turn(t.Context(), l.readers, "somebody else")
			if err != nil {
				t.Errorf("somebody else: %v", err)
				return
			}
			close(served)
			theirs()
		})
		synctest.Wait()
		hangUp()
		synctest.Wait()
		if n := hungUp.Load(); n != lineEach {
			t.Errorf("%d of %d who hung up have left", n, lineEach)
		}
		done()
		<-served

		// A turn that does not come.
		done, err = l.turn(t.Context(), l.readers, "slow")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = l.turn(t.Context(), l.readers, "late")
		wantKind(t, "a turn that does not come", err, sheaf.Unavailable)
		if waited := time.Since(began); waited != turnWithin {
			t.Errorf("it waited for %s", waited)
		}
		done()

		// Hashing itself is bounded, and no one waits longer for it.
		first, _ := l.turn(t.Context(), l.known, "a")
		second, _ := l.turn(t.Context(), l.known, "b")
		if _, err = l.turn(t.Context(), l.strangers, "c"); err == nil {
			t.Error("three are hashed at once")
		}
		wantKind(t, "a third", err, sheaf.Unavailable)
		first()
		second()
		stranger, err := l.turn(t.Context(), l.strangers, "c")
		if err != nil {
			t.Fatal(err)
		}
		if known, err := l.turn(t.Context(), l.known, "a"); err != nil {
			t.Error("strangers may take all of hashing")
		} else {
			known()
		}
		stranger()
		all.Wait()
	})
}
