package search

import (
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// While a pass takes the workspaces noted by name, a note of all workspaces from another process
// must not be lost. Nor must a workspace that could not be indexed.
func TestNotes_APassLosesNone(t *testing.T) {
	n := newNotes()
	var set sheaf.WorkspaceSet
	set.Add("a")
	set.All = true
	n.add(store.Note{Events: true, Workspaces: set})
	if named := n.drainNamed(); len(named) != 1 {
		t.Errorf("a pass takes %v, want a", named)
	}
	n.putBack("b")
	left := n.drain()
	if _, again := left.IDs["b"]; !left.All || !again || len(left.IDs) != 1 {
		t.Errorf("left are %+v, want all and b", left)
	}
	if last := n.drain(); last.All || len(last.IDs) != 0 {
		t.Errorf("then %+v is left, want nothing", last)
	}
}
