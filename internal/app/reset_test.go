package app

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// waiting returns the mails to people that wait.
func waiting(t *testing.T, a *App) []store.Letter {
	t.Helper()
	due, err := readUnasked(t.Context(), a, func(r *store.Reader) ([]store.Letter, error) { return r.LettersDue(a.now(), 1000) })
	if err != nil {
		t.Fatal(err)
	}
	return due
}

// issued stores a link for a reset that waits, as internal/mail does, and returns its token.
func issued(t *testing.T, a *App, l store.Letter) string {
	t.Helper()
	token, err := a.newToken()
	if err != nil {
		t.Fatal(err)
	}
	var ok bool
	if err := a.writeUnasked(t.Context(), func(tx *store.Tx) (err error) {
		ok, err = tx.IssueReset(l, tokenHash(token))
		return err
	}); err != nil || !ok {
		t.Fatalf("%v, %v", ok, err)
	}
	return token
}

// D192: of 64 clients that ask at once on two nodes, each gets the same answer, and three mails are sent in an hour.
func TestReset_SixtyFourAtOnce(t *testing.T) {
	twoNodes(t, func(t *testing.T, nodes []*App, now *time.Time) {
		ada(t, nodes[0])
		for round := range 2 {
			var wg sync.WaitGroup
			start := make(chan struct{})
			for n := range 64 {
				a := nodes[n%2]
				a.mails = true
				wg.Go(func() {
					<-start
					if err := a.AskReset(t.Context(), "ada@example.com", Browser{Address: fmt.Sprintf("192.0.2.%d", n)}); err != nil {
						t.Errorf("the answer is %v", err)
					}
				})
			}
			close(start)
			wg.Wait()
			due := waiting(t, nodes[0])
			if len(due) != 3 {
				t.Fatalf("round %d: %d mails wait", round, len(due))
			}
			for _, l := range due {
				if err := nodes[1].writeUnasked(t.Context(), func(tx *store.Tx) error { return tx.SettleLetter(l) }); err != nil {
					t.Fatal(err)
				}
			}
			*now = now.Add(time.Hour)
		}
	})
}

// D192: of two requests that use a link at once, one does.
func TestReset_UsedByManyAtOnce(t *testing.T) {
	twoNodes(t, func(t *testing.T, nodes []*App, _ *time.Time) {
		ada(t, nodes[0])
		nodes[0].mails = true
		if err := nodes[0].AskReset(t.Context(), "ada@example.com", Browser{}); err != nil {
			t.Fatal(err)
		}
		token := issued(t, nodes[0], waiting(t, nodes[0])[0])
		var wg sync.WaitGroup
		var mu sync.Mutex
		var won []string
		for n := range 6 {
			wg.Go(func() {
				password := fmt.Sprintf("a new password %d", n)
				err := nodes[n%2].ResetPassword(t.Context(), token, password, Browser{Address: "192.0.2.1"})
				if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
					t.Errorf("got %v", err)
				}
				if err == nil {
					mu.Lock()
					won = append(won, password)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Fatalf("%d requests used the link", len(won))
		}
		signIn(t, nodes[1], SignIn{Email: "ada@example.com", Password: won[0], Address: "192.0.2.1"})
	})
}

// D192: the newest mail has the link that works, even if an older one is sent after it.
func TestReset_OrderOfMails(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		ada(t, a)
		a.mails = true
		for range 2 {
			if err := a.AskReset(t.Context(), "ada@example.com", Browser{}); err != nil {
				t.Fatal(err)
			}
			*now = now.Add(time.Second)
		}
		due := waiting(t, a)
		newest := issued(t, a, due[1])
		if err := a.writeUnasked(t.Context(), func(tx *store.Tx) error {
			ok, err := tx.IssueReset(due[0], tokenHash("older"))
			if ok {
				t.Error("an older mail replaced the newer link")
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Reset(t.Context(), newest); err != nil {
			t.Errorf("the newest link: %v", err)
		}
	})
}

// D192: wrong guesses before a reset do not slow down the new password.
func TestReset_ForgetsWrongGuesses(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		in, _ := ada(t, a)
		a.mails = true
		for range 8 {
			_, _ = a.SignIn(t.Context(), in.with(func(in *SignIn) { in.Password = "wrong" }), "")
		}
		if _, err := a.SignIn(t.Context(), in, ""); sheaf.KindOf(err) != sheaf.RateLimited {
			t.Fatalf("after eight wrong guesses: %v", err)
		}
		if err := a.AskReset(t.Context(), in.Email, Browser{}); err != nil {
			t.Fatal(err)
		}
		if err := a.ResetPassword(t.Context(), issued(t, a, waiting(t, a)[0]), "a new password", in.browser()); err != nil {
			t.Fatal(err)
		}
		signIn(t, a, in.with(func(in *SignIn) { in.Password = "a new password" }))
	})
}

// D192, D206: nothing that waits for a person, and no count of their asks, outlives the person.
func TestReset_ErasedPerson(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		in, _ := ada(t, a)
		a.mails = true
		n, _ := signIn(t, a, in)
		owner := caller(t, a, n.Token)
		bob := invited(t, a, owner, "bob@example.com", sheaf.Editor)
		if err := a.AskReset(t.Context(), "bob@example.com", Browser{}); err != nil {
			t.Fatal(err)
		}
		if err := a.writeUnasked(t.Context(), func(tx *store.Tx) error {
			return a.notify(tx, bob.User, sheaf.Letter{About: sheaf.AboutSignIn})
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Invite(t.Context(), owner, "kim@example.com", sheaf.Editor, nil); err != nil {
			t.Fatal(err)
		}
		of := func(u sheaf.UserID) (n int) {
			for _, l := range waiting(t, a) {
				if l.User == u || l.Invitation != "" {
					n++
				}
			}
			return n
		}
		if n := of(bob.User); n != 3 {
			t.Fatalf("%d mails wait", n)
		}
		for _, email := range []string{"bob@example.com", "kim@example.com"} {
			if _, err := a.Operator().EraseUser(t.Context(), email); err != nil {
				t.Fatal(err)
			}
		}
		if n := of(bob.User); n != 0 {
			t.Errorf("%d mails wait for erased people", n)
		}
	})
}

// D192: at most 20 notices wait for a person, however often something happens.
func TestNotices_AreBounded(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		in, _ := ada(t, a)
		a.mails = true
		for range 25 {
			signIn(t, a, in)
		}
		if n := len(waiting(t, a)); n != 20 {
			t.Errorf("%d notices wait", n)
		}
	})
}

// D190, D192: if passwords are off, only a person who is allowed one can reset it. A link that was mailed before that
// ended chooses no password.
func TestReset_PasswordsOff(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		ctx := t.Context()
		in, _ := ada(t, a)
		a.mails, a.passwordsOff = true, true
		wantKind(t, "nobody may use a password", a.AskReset(ctx, in.Email, Browser{Address: "192.0.2.1"}), sheaf.Forbidden)
		if _, err := a.Operator().AllowPassword(ctx, in.Email, true); err != nil {
			t.Fatal(err)
		}
		if err := a.AskReset(ctx, in.Email, Browser{Address: "192.0.2.1"}); err != nil {
			t.Fatal(err)
		}
		due := waiting(t, a)
		if len(due) != 1 {
			t.Fatalf("%d mails wait", len(due))
		}
		token := issued(t, a, due[0])
		if _, err := a.Reset(ctx, token); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Operator().AllowPassword(ctx, in.Email, false); err != nil {
			t.Fatal(err)
		}
		_, err := a.Reset(ctx, token)
		wantKind(t, "the link afterwards", err, sheaf.NotFound)
		wantKind(t, "a password afterwards", a.ResetPassword(ctx, token, testPassword, Browser{}), sheaf.NotFound)
	})
}
