package httpapi

import (
	"testing"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// D63b: a commit wakes the readers of its own workspace. One that woke them all would cost, with 2,000 readers, twenty
// times the processor time of the write.
func TestStreams_WakeThoseOfTheWorkspace(t *testing.T) {
	s := newStreams()
	here, there := app.Caller{Workspace: "here"}, app.Caller{Workspace: "there"}
	for _, c := range []*app.Caller{&here, &here, &there} {
		leave, err := s.enter(c)
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
	}
	first, second, other := s.next("here"), s.next("here"), s.next("there")
	var changed sheaf.WorkspaceSet
	changed.Add("here")
	changed.Add("nobody reads")
	s.wake(changed)
	if !closed(first) || !closed(second) || closed(other) {
		t.Errorf("after a change here: here %v and %v, there %v", closed(first), closed(second), closed(other))
	}
	if closed(s.next("here")) {
		t.Error("the next change here was told before it came")
	}
	s.wake(sheaf.WorkspaceSet{All: true})
	if !closed(other) {
		t.Error("not woken by a change that may be everywhere")
	}
}

func TestStreams_ForgetAWorkspaceWithItsLastReader(t *testing.T) {
	s := newStreams()
	leave, err := s.enter(&app.Caller{Workspace: "w"})
	if err != nil {
		t.Fatal(err)
	}
	s.next("w")
	leave()
	if len(s.woken)+len(s.open) > 0 {
		t.Errorf("kept of a workspace that nobody reads: %v, %v", s.woken, s.open)
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
