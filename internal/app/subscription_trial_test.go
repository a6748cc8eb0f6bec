package app

import (
	"fmt"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// A subscription, a workspace and the process have their own limits on tests in progress. Hanging
// tests of many workspaces leave some slots to the next.
func TestTrials_AreBounded(t *testing.T) {
	t.Parallel()
	trials := newTrials()
	var leave []func()
	enter := func(ws, id string) sheaf.Kind {
		out, err := trials.acquire(sheaf.WorkspaceID(ws), sheaf.SubscriptionID(id))
		if err != nil {
			return sheaf.KindOf(err)
		}
		leave = append(leave, out)
		return 0
	}
	fill := func(ws string) (n int) {
		for i := range 20 {
			for enter(ws, fmt.Sprint(ws, i)) == 0 {
				n++
			}
		}
		return n
	}
	for i := range testsPerSubscription {
		if kind := enter("a", "one"); kind != 0 {
			t.Fatalf("test %d of a subscription: %v", i, kind)
		}
	}
	if kind := enter("a", "one"); kind != sheaf.RateLimited {
		t.Errorf("one more of a subscription: %v", kind)
	}
	if n := fill("a"); n != testsPerWorkspace-testsPerSubscription {
		t.Errorf("%d more of the workspace", n)
	}
	if kind := enter("a", "new"); kind != sheaf.RateLimited {
		t.Errorf("one more of a workspace: %v", kind)
	}
	workspaces := 0
	for fill(fmt.Sprint(workspaces)) > 0 {
		workspaces++
	}
	if workspaces < 50 || trials.all != testsAtOnce {
		t.Errorf("%d workspaces hold all %d", workspaces, trials.all)
	}
	if kind := enter("late", "x"); kind != sheaf.Unavailable {
		t.Errorf("one more than all: %v", kind)
	}
	for _, out := range leave {
		out()
	}
	if trials.all != 0 || len(trials.byWorkspace) != 0 || len(trials.bySubscription) != 0 || fill("late") != testsPerWorkspace {
		t.Errorf("what has ended is still counted: %+v", trials)
	}
}
