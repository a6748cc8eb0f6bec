package app

import (
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/migrated"
	"sheaf.dev/internal/store"
)

// eachEngine runs the test with an empty store of each engine.
func eachEngine(t *testing.T, test func(t *testing.T, a *App, now *time.Time)) {
	for name, options := range map[string]func(*testing.T) store.Options{
		"sqlite":   func(t *testing.T) store.Options { return store.Options{Folder: migrated.Folder(t)} },
		"postgres": func(t *testing.T) store.Options { return store.Options{DatabaseURL: migrated.GuardedURL(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEngine(t, options(t), test)
		})
	}
}

func onEngine(t *testing.T, o store.Options, test func(t *testing.T, a *App, now *time.Time)) {
	t.Helper()
	st, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	now := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	test(t, newNode(t, st, &now), &now)
}

// testMasterKey is that of all nodes.
var testMasterKey = make([]byte, 32)

// newNode returns an App whose clock is now.
func newNode(t *testing.T, st *store.Store, now *time.Time) *App {
	t.Helper()
	box, err := seal.New(testMasterKey, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{Store: st, Now: func() time.Time { return *now }, Random: rand.Reader, Webhooks: Webhooks{Box: box, Guard: guard.New(nil)},
		Connecting: &Connecting{Issuer: "https://docs.example.com", Resource: "https://docs.example.com/mcp"},
		Address:    "https://docs.example.com", PasswordCost: PasswordCost{Passes: 1, Memory: 64, Threads: 1}})
}

func TestFirstRun_OfManyNodesOneMakesIt(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		count := 0
		for range 8 {
			wg.Go(func() {
				_, made, err := a.Operator().FirstRun(t.Context())
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				if made {
					count++
				}
			})
		}
		wg.Wait()
		all, err := a.Operator().Workspaces(t.Context())
		if err != nil || count != 1 || len(all) != 1 || all[0].Plan != sheaf.Business {
			t.Errorf("made %d times: %+v, %v", count, all, err)
		}
	})
}

// warmUp makes the store open n connections.
func warmUp(t *testing.T, a *App, n int) {
	t.Helper()
	var all, done sync.WaitGroup
	all.Add(n)
	for range n {
		done.Go(func() {
			err := a.store.Read(t.Context(), func(*store.Reader) error {
				all.Done()
				all.Wait()
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
}

func TestCompleteSetup_OfManyPostsOneWins(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		first, _, err := a.Operator().FirstRun(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		hash, err := hashPassword("long enough", rand.Reader, a.cost)
		if err != nil {
			t.Fatal(err)
		}
		errs := make([]error, 4)
		warmUp(t, a, len(errs)) // so that dialling and hashing do not separate the posts
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				errs[i] = a.useSetupLink(t.Context(), first.Link.Token, SetUp{Name: "Ada", Email: "ada@example.com"}, hash)
			})
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			switch {
			case err == nil:
				won++
			case sheaf.KindOf(err) != sheaf.NotFound:
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("%d of the posts won", won)
		}
		u, err := a.Operator().User(t.Context(), "ADA@example.com")
		if err != nil || !passwordMatches(u.PasswordHash, "long enough") || u.ID != first.Workspace.Owner {
			t.Errorf("%+v, %v", u, err)
		}
	})
}

func TestSetupLink_LivesAnHour(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		first, _, err := a.Operator().FirstRun(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		*now = now.Add(time.Hour - time.Millisecond)
		if err := a.CheckSetupLink(t.Context(), first.Link.Token); err != nil {
			t.Error(err)
		}
		*now = now.Add(time.Millisecond)
		if err := a.CheckSetupLink(t.Context(), first.Link.Token); sheaf.KindOf(err) != sheaf.NotFound {
			t.Errorf("after an hour: %v", err)
		}
		if err := a.CompleteSetup(t.Context(), first.Link.Token, SetUp{Name: "Ada", Email: "ada@example.com", Password: "long enough"}); sheaf.KindOf(err) != sheaf.NotFound {
			t.Errorf("after an hour: %v", err)
		}
	})
}

// If the operator created another user first, the link must not rename that user.
func TestCompleteSetup_IsForTheOwnerOfTheFirstRun(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		if _, err := a.Operator().CreateWorkspace(t.Context(), NewWorkspace{Name: "x", Plan: sheaf.Pro, OwnerEmail: "bob@example.com"}); err != nil {
			t.Fatal(err)
		}
		*now = now.Add(time.Second)
		first, _, err := a.Operator().FirstRun(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := a.CompleteSetup(t.Context(), first.Link.Token, SetUp{Name: "Ada", Email: "BOB@example.com", Password: "long enough"}); sheaf.KindOf(err) != sheaf.Invalid {
			t.Errorf("another's e-mail: %v", err)
		}
		if err := a.CompleteSetup(t.Context(), first.Link.Token, SetUp{Name: "Ada", Email: "ada@example.com", Password: "long enough"}); err != nil {
			t.Errorf("the refused post used up the link: %v", err)
		}
		if bob, err := a.Operator().User(t.Context(), "bob@example.com"); err != nil || bob.PasswordHash != "" {
			t.Errorf("%+v, %v", bob, err)
		}
	})
}
