package engine

import (
	"errors"
	"testing"
)

// value belongs to a space and changes with credentials' commits.
type value struct{ space, plan string }

// freshWorld is a Freshness over a database of one value, which the test changes directly.
type freshWorld struct {
	t       *testing.T
	f       *Freshness[int, string, value]
	truth   value
	version int64 // of the space
	loads   int
}

func newTestFreshness() *Freshness[int, string, value] {
	return NewFreshness[int](func(v value) string { return v.space })
}

func newFreshWorld(t *testing.T) *freshWorld {
	return &freshWorld{t: t, f: newTestFreshness(), truth: value{"ws", "pro"}, version: 5}
}

// ask returns what a request gets. during runs between reading the database and keeping the value.
func (w *freshWorld) ask(during func()) (value, int64) {
	w.t.Helper()
	v, version, err := w.f.Value(1, func() (value, int64, error) {
		w.loads++
		v, version := w.truth, w.version
		if during != nil {
			during()
		}
		return v, version, nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return v, version
}

func (w *freshWorld) want(what, plan string, version int64, loads int) {
	w.t.Helper()
	if v, got := w.ask(nil); v.plan != plan || got != version || w.loads != loads {
		w.t.Errorf("%s: plan %s, version %d after %d loads; want %s, %d after %d", what, v.plan, got, w.loads, plan, version, loads)
	}
}

func TestFreshness_KnowsNoVersionDuringACommit(t *testing.T) {
	w := newFreshWorld(t)
	w.want("at first", "pro", 5, 1)
	settle := w.f.Unsettle(map[string]int64{"ws": 6}, false)
	w.want("during the commit", "pro", 0, 1)
	w.version = 6
	settle(true)
	w.want("after it", "pro", 6, 1)

	settle = w.f.Unsettle(map[string]int64{"ws": 7}, false)
	settle(false)
	w.want("after one that failed", "pro", 6, 2)
}

func TestFreshness_ForgetsValuesWithTheirCommit(t *testing.T) {
	w := newFreshWorld(t)
	w.want("at first", "pro", 5, 1)
	settle := w.f.Unsettle(nil, true)
	w.want("during the commit", "pro", 0, 2) // read but not kept
	w.want("during the commit", "pro", 0, 3)
	w.truth.plan = "free"
	settle(true)
	w.want("after it", "free", 5, 4)
	w.want("and then", "free", 5, 4)
	w.truth.plan = "business"
	w.f.Forget()
	w.want("after another process", "business", 5, 5)
}

// A value that was read before a commit must not be kept after it.
func TestFreshness_DoesNotKeepWhatACommitOvertook(t *testing.T) {
	w := newFreshWorld(t)
	_, version := w.ask(func() {
		settle := w.f.Unsettle(nil, true)
		w.truth.plan = "free"
		settle(true)
	})
	if version != 0 {
		t.Errorf("the answer may come from a cache: version %d", version)
	}
	w.want("the next", "free", 5, 2)

	w = newFreshWorld(t)
	_, version = w.ask(func() {
		settle := w.f.Unsettle(map[string]int64{"ws": 6}, false)
		w.version = 6
		settle(true)
	})
	if version != 6 {
		t.Errorf("version %d, and the commit made it 6", version)
	}
	w.want("the next", "pro", 6, 1)
}

func TestFreshness_KeepsNoFailure(t *testing.T) {
	w := newFreshWorld(t)
	refused := errors.New("unknown")
	if _, _, err := w.f.Value(1, func() (value, int64, error) { return value{}, 0, refused }); err != refused {
		t.Errorf("got %v", err)
	}
	w.want("a key that exists by now", "pro", 5, 1)
}

func TestFreshness_WhenFullItKeepsNoOlderVersion(t *testing.T) {
	f := newTestFreshness()
	for i := range maxValues {
		f.values[i] = value{space: "other"}
	}
	load := func() (value, int64, error) {
		// A commit between loading a value and keeping it.
		f.Unsettle(map[string]int64{"w": 6}, false)(true)
		return value{space: "w"}, 5, nil
	}
	for range 2 {
		if _, version, err := f.Value(-1, load); err != nil || version == 5 {
			t.Errorf("got version %d, %v, which a commit has replaced", version, err)
		}
	}
}
