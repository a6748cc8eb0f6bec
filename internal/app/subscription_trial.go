package app

import (
	"fmt"
	"sync"
	"time"

	"sheaf.dev/internal/sheaf"
)

// Limits on the test events that wait for their endpoints at once. The fewer slots are free, the
// fewer a workspace may have, so that workspaces whose endpoints hang leave some to the others.
const (
	testsPerSubscription = 2
	testsPerWorkspace    = 8
	testsAtOnce          = 256 // in this process
	testsPart            = 16  // a workspace may have a sixteenth of the free slots
)

// trials counts the test events in progress.
type trials struct {
	mu             sync.Mutex // guards what follows
	all            int        // in all workspaces; the maps only have counts above 0
	byWorkspace    map[sheaf.WorkspaceID]int
	bySubscription map[sheaf.SubscriptionID]int
}

func newTrials() *trials {
	return &trials{byWorkspace: map[sheaf.WorkspaceID]int{}, bySubscription: map[sheaf.SubscriptionID]int{}}
}

// acquire counts a test in, or refuses it. leave counts it out. If the subscription or workspace
// itself has too many, the refusal is RateLimited; if all together have too many, it is
// Unavailable.
func (t *trials) acquire(ws sheaf.WorkspaceID, id sheaf.SubscriptionID) (leave func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	free := testsAtOnce - t.all
	if free == 0 {
		return nil, &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: time.Second,
			Text: "the service runs its maximum of webhook tests, and nothing was sent: repeat the request after the seconds in Retry-After"}
	}
	if n := t.bySubscription[id]; n >= testsPerSubscription {
		return nil, tooManyTests(n, "this subscription")
	}
	if n := t.byWorkspace[ws]; n >= max(1, min(testsPerWorkspace, free/testsPart)) {
		return nil, tooManyTests(n, "this workspace")
	}
	t.count(ws, id, 1)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.count(ws, id, -1)
	}, nil
}

func tooManyTests(n int, of string) error {
	return &sheaf.Error{Kind: sheaf.RateLimited, Code: sheaf.CodeRateLimited, RetryAfter: time.Second,
		Text: fmt.Sprintf("%d tests of %s still wait for their endpoint, and nothing was sent: wait until one has ended, or retry after 1 seconds", n, of)}
}

// count adds n to the tests in progress of the workspace and the subscription.
func (t *trials) count(ws sheaf.WorkspaceID, id sheaf.SubscriptionID, n int) {
	t.all += n
	if t.byWorkspace[ws] += n; t.byWorkspace[ws] == 0 {
		delete(t.byWorkspace, ws)
	}
	if t.bySubscription[id] += n; t.bySubscription[id] == 0 {
		delete(t.bySubscription, id)
	}
}
