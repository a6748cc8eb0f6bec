package sheaftest

import (
	"testing"
	"time"
)

// patience is how long a test waits for what must come: for ever, as far as a good run on a busy machine knows.
const patience = 5 * time.Minute

// Eventually returns when done says so. It is for what another process or goroutine is about to do and signals in no
// other way, and fails the test when that never comes. Inside a synctest bubble wait for the bubble instead.
func Eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never came: %s", what)
		}
	}
}
