package httpapi

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sheaf.dev/internal/sheaf"
)

// D63b: a commit wakes the readers of its own workspace. One that woke them all would cost, with
// 2,000 readers, twenty times the processor time of the write.
func TestReaders_WakeThoseOfTheWorkspace(t *testing.T) {
	s := newReaders()
	for _, ws := range []sheaf.WorkspaceID{"here", "here", "there"} {
		defer s.join(ws)()
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
	first, second := s.join("w"), s.join("w")
	first()
	if len(s.in) != 1 {
		t.Error("forgotten though somebody reads")
	}
	second()
	if len(s.in) > 0 {
		t.Errorf("kept of a workspace that nobody reads: %v", s.in)
	}
}

// A node asks for the keys of all its open streams at once, however many there are, and again when
// another stream was opened or the answer is old.
func TestReaders_AskForAllKeysAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newReaders()
		asked, revoked := [][]sheaf.KeyHash{}, sheaf.KeyHash{7}
		ask := func(_ context.Context, hashes []sheaf.KeyHash) (map[sheaf.KeyHash]sheaf.Credential, error) {
			asked = append(asked, hashes)
			found := map[sheaf.KeyHash]sheaf.Credential{}
			for _, h := range hashes {
				if h != revoked {
					found[h] = sheaf.Credential{Plan: sheaf.Pro}
				}
			}
			return found, nil
		}
		all := func(when string, n byte, questions int) {
			t.Helper()
			for i := range n {
				c, known, err := s.credential(t.Context(), ask, sheaf.KeyHash{i})
				if !known || (err != nil) != (i == revoked[0]) || err == nil && c.Plan != sheaf.Pro {
					t.Errorf("%s, key %d is %v, known %t, error %v", when, i, c.Plan, known, err)
				}
			}
			if len(asked) != questions || len(asked[len(asked)-1]) != int(n) {
				t.Errorf("%s, the store was asked %d times, want %d, at last for %d of %d keys", when, len(asked), questions, len(asked[len(asked)-1]), n)
			}
		}
		for i := range byte(100) {
			defer s.holdKey(sheaf.KeyHash{i})()
		}
		all("at first", 100, 1)
		defer s.holdKey(sheaf.KeyHash{100})()
		all("with another stream", 101, 2)
		time.Sleep(checkServes) // simulated time
		synctest.Wait()
		all("when the answer is old", 101, 3)
	})
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
