//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	target, planted = os.Getenv(EnvKill), os.Getenv(EnvPlant)
	point, left     = parse(target)
)

func parse(target string) (point string, left *atomic.Int64) {
	point, number, _ := strings.Cut(target, ":")
	n, err := strconv.ParseInt(number, 10, 64)
	if target != "" && (err != nil || n < 1) {
		panic(fmt.Sprintf("%s is %q: want a point and a number, such as posted:3", EnvKill, target))
	}
	left = new(atomic.Int64)
	left.Store(n)
	return point, left
}

// answerWithin is what a false answer takes to reach its client: a planted fault must be seen.
const answerWithin = 200 * time.Millisecond

// Pass kills the process, if this is the point and the pass that was named.
func Pass(p string) {
	if p != point || left.Add(-1) != 0 {
		return
	}
	if planted != "" {
		time.Sleep(answerWithin) // the other side of a socket, which tells nobody that it has read
	}
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	select {} // nothing after the point happens
}

// Planted reports whether that fault is to be made.
func Planted(fault string) bool { return fault == planted }
