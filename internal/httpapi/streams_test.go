package httpapi

import (
	"testing"

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

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
