package render

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// threadTime returns the processor time of this goroutine, which keeps its thread until the test
// ends.
func threadTime(t *testing.T) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	const rusageThread = 1
	var u syscall.Rusage
	if err := syscall.Getrusage(rusageThread, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
