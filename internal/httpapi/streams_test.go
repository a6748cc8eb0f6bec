package httpapi

import (
	"context"
	"maps"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// D63b: a commit wakes the readers of its own workspace. If it woke all readers, 2,000 of them
// would cost twenty times the processor time of the write.
func TestReaders_WakeThoseOfTheWorkspace(t *testing.T) {
	s := newReaders()
	for _, ws := range []sheaf.WorkspaceID{"here", "here", "there"} {
		defer s.join(ws, new(stream))()
	}
	first, second, other := s.grows("here"), s.grows("here"), s.grows("there")
	var changed sheaf.WorkspaceSet
	changed.Add("here")
	changed.Add("nobody reads")
	s.wake(changed)
	if !closed(first) || !closed(second) || closed(other) {
		t.Errorf("after a change here: here %v and %v, there %v", closed(first), closed(second), closed(other))
	}
	if closed(s.grows("here")) {
		t.Error("the next change here was told before it came")
	}
	s.wake(sheaf.WorkspaceSet{All: true})
	if !closed(other) {
		t.Error("not woken by a change that may be everywhere")
	}
}

func TestReaders_ForgetAWorkspaceWithItsLastReader(t *testing.T) {
	s := newReaders()
	first, second := s.join("w", new(stream)), s.join("w", new(stream))
	first()
	if len(s.in) != 1 {
		t.Error("forgotten though somebody reads")
	}
	second()
	if len(s.in) > 0 {
		t.Errorf("kept of a workspace that nobody reads: %v", s.in)
	}
}

// D63b: a node asks for the keys of all its open streams at once, however many there are, and ends those
// whose key cannot be used, and no other.
func TestReaders_AskForAllKeysAtOnce(t *testing.T) {
	s := newReaders()
	const revoked = 7
	ended := map[byte]bool{}
	for i := range byte(100) {
		for range 2 { // two streams of each key
			defer s.join("w", &stream{key: sheaf.KeyHash{i}, end: func() { ended[i] = true }})()
		}
	}
	var asked [][]sheaf.KeyHash
	answer := func(err error) func(context.Context, []sheaf.KeyHash) (map[sheaf.KeyHash]bool, error) {
		return func(_ context.Context, hashes []sheaf.KeyHash) (map[sheaf.KeyHash]bool, error) {
			asked = append(asked, hashes)
			found := map[sheaf.KeyHash]bool{}
			for _, h := range hashes {
				found[h] = h[0] != revoked
			}
			return found, err
		}
	}
	s.checkKeys(t.Context(), answer(&sheaf.Error{Kind: sheaf.Unavailable}))
	if len(ended) > 0 {
		t.Errorf("ended while the store cannot be asked: %v", ended)
	}
	s.checkKeys(t.Context(), answer(nil))
	if want := map[byte]bool{revoked: true}; !maps.Equal(ended, want) {
		t.Errorf("ended %v, want %v", ended, want)
	}
	if len(asked) != 2 || len(asked[1]) != 100 {
		t.Errorf("the store was asked %d times, at last for %d keys; want once for 100 keys each time", len(asked), len(asked[len(asked)-1]))
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
