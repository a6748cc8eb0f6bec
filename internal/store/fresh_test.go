package store

import (
	"errors"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// freshWorld is a fresh over a database of one key, which the test changes by hand.
type freshWorld struct {
	t     *testing.T
	f     *fresh
	truth sheaf.Credential
	loads int
}

func newFreshWorld(t *testing.T) *freshWorld {
	return &freshWorld{t: t, f: newFresh(), truth: sheaf.Credential{Workspace: "ws", Plan: sheaf.Pro, Version: 5}}
}

// ask returns what a request is told, after during has run between reading the database and keeping what was read.
func (w *freshWorld) ask(during func()) sheaf.Credential {
	w.t.Helper()
	c, err := w.f.credential(sheaf.KeyHash{1}, func() (sheaf.Credential, error) {
		w.loads++
		c := w.truth
		if during != nil {
			during()
		}
		return c, nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *freshWorld) want(what string, plan sheaf.Plan, version int64, loads int) {
	w.t.Helper()
	if c := w.ask(nil); c.Plan != plan || c.Version != version || w.loads != loads {
		w.t.Errorf("%s: plan %s, version %d after %d loads; want %s, %d after %d", what, c.Plan, c.Version, w.loads, plan, version, loads)
	}
}

func TestFresh_KnowsNoVersionDuringACommit(t *testing.T) {
	w := newFreshWorld(t)
	w.want("at first", sheaf.Pro, 5, 1)
	settle := w.f.unsettle(map[sheaf.WorkspaceID]int64{"ws": 6}, false)
	w.want("during the commit", sheaf.Pro, 0, 1)
	w.truth.Version = 6
	settle(true)
	w.want("after it", sheaf.Pro, 6, 1)

	settle = w.f.unsettle(map[sheaf.WorkspaceID]int64{"ws": 7}, false)
	settle(false)
	w.want("after one that failed", sheaf.Pro, 6, 2)
}

func TestFresh_ForgetsCredentialsWithTheirCommit(t *testing.T) {
	w := newFreshWorld(t)
	w.want("at first", sheaf.Pro, 5, 1)
	settle := w.f.unsettle(nil, true)
	w.want("during the commit", sheaf.Pro, 0, 2) // read, and not kept
	w.want("during the commit", sheaf.Pro, 0, 3)
	w.truth.Plan = sheaf.Free
	settle(true)
	w.want("after it", sheaf.Free, 5, 4)
	w.want("and then", sheaf.Free, 5, 4)
	w.truth.Plan = sheaf.Business
	w.f.forget()
	w.want("after another process", sheaf.Business, 5, 5)
}

// What was read before a commit must not be kept after it.
func TestFresh_DoesNotKeepWhatACommitOvertook(t *testing.T) {
	w := newFreshWorld(t)
	c := w.ask(func() {
		settle := w.f.unsettle(nil, true)
		w.truth.Plan = sheaf.Free
		settle(true)
	})
	if c.Version != 0 {
		t.Errorf("the answer may come from a cache: version %d", c.Version)
	}
	w.want("the next", sheaf.Free, 5, 2)

	w = newFreshWorld(t)
	c = w.ask(func() {
		settle := w.f.unsettle(map[sheaf.WorkspaceID]int64{"ws": 6}, false)
		w.truth.Version = 6
		settle(true)
	})
	if c.Version != 6 {
		t.Errorf("version %d, and the commit made it 6", c.Version)
	}
	w.want("the next", sheaf.Pro, 6, 1)
}

func TestFresh_KeepsNoFailure(t *testing.T) {
	w := newFreshWorld(t)
	refused := errors.New("unknown")
	if _, err := w.f.credential(sheaf.KeyHash{1}, func() (sheaf.Credential, error) { return sheaf.Credential{}, refused }); err != refused {
		t.Errorf("got %v", err)
	}
	w.want("a key that exists by now", sheaf.Pro, 5, 1)
}
