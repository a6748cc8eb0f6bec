package app

import (
	"fmt"
	"sync"
	"time"

	"sheaf.dev/internal/sheaf"
)

// How many test events may wait for their endpoints at once. The fewer places are free, the fewer a
// workspace may have, so that those whose endpoints hang leave some to the others.
const (
	testsPerSubscription = 2
	testsPerWorkspace    = 8
	testsAtOnce          = 256 // in the process
	testsPart            = 16  // a workspace may have the 16th part of the places that are free
)

// trials counts the test events under way.
type trials struct {
	mu             sync.Mutex // guards what follows
	all            int        // in all workspaces; the maps have only who has some
	byWorkspace    map[sheaf.WorkspaceID]int
	bySubscription map[sheaf.SubscriptionID]int
}

func newTrials() *trials {
	return &trials{byWorkspace: map[sheaf.WorkspaceID]int{}, bySubscription: map[sheaf.SubscriptionID]int{}}
}

// enter counts a test in, or refuses it; the function that it returns counts it out. Whoever has
// too many themselves is RateLimited, and told to wait for those; when all together have too many
// it is Unavailable.
func (t *trials) enter(ws sheaf.WorkspaceID, id sheaf.SubscriptionID) (leave func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	free := testsAtOnce - t.all
	if free == 0 {
		return nil, &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: time.Second,
			Text: "the service waits for as many tests as it can, nothing was sent: repeat the request after the seconds that Retry-After names"}
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
		Text: fmt.Sprintf("%d tests of %s still wait for their endpoint, nothing was sent: wait until one has ended, or retry after 1 seconds", n, of)}
}

// count adds n tests under way to the workspace and the subscription.
func (t *trials) count(ws sheaf.WorkspaceID, id sheaf.SubscriptionID, n int) {
	t.all += n
	if t.byWorkspace[ws] += n; t.byWorkspace[ws] == 0 {
		delete(t.byWorkspace, ws)
	}
	if t.bySubscription[id] += n; t.bySubscription[id] == 0 {
		delete(t.bySubscription, id)
	}
}
