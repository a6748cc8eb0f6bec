package sheaftest

import (
	"testing"
	"time"
)

// patience is how long a test waits for something that must happen. It is far longer than that
// takes, even on a busy machine.
const patience = 5 * time.Minute

// Eventually blocks until done returns true, and fails the test if that does not happen. It is for
// actions of another process or goroutine that give no signal. Inside a synctest bubble, wait for
// the bubble instead.
func Eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	if !Within(patience, done) {
		t.Fatalf("never came: %s", what)
	}
}

// Within is Eventually without a failure: it returns true as soon as done does, and false after
// `limit`. It calls done at least once.
func Within(limit time.Duration, done func() bool) bool {
	for deadline := time.Now().Add(limit); !done(); {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(5 * time.Millisecond) // until the next call: the condition gives no signal
	}
	return true
}
