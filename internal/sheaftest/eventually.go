package sheaftest

import (
	"testing"
	"time"
)

// patience is how long a test waits for what must come: for ever, as far as a good run on a busy
// machine knows.
const patience = 5 * time.Minute

// Eventually returns when done says so. It is for what another process or goroutine is about to do
// and signals in no other way, and fails the test when that never comes. Inside a synctest bubble
// wait for the bubble instead.
func Eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	if !Within(patience, done) {
		t.Fatalf("never came: %s", what)
	}
}

// Within is Eventually for what may fail to come, or where there is no test to fail: it returns
// true as soon as done says so, and false when the time is over. It asks at least once.
func Within(limit time.Duration, done func() bool) bool {
	for deadline := time.Now().Add(limit); !done(); {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(5 * time.Millisecond) // until the next look: what is asked for gives no signal
	}
	return true
}
