package sheaftest_test

import (
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
)

type tests func() int

func (t tests) Run() int { return t() }

func TestPatient_WaitsForGoroutinesThatEnd(t *testing.T) {
	var ended atomic.Bool
	code := sheaftest.Patient(tests(func() int {
		go func() {
			<-time.After(time.Second) // more than goleak waits
			ended.Store(true)
		}()
		return 0
	})).Run()
	if code != 0 || !ended.Load() {
		t.Errorf("got %d before the goroutine ended", code)
	}
}
