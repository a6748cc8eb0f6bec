//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// point is where the process ends, and left counts the passes there down to it.
var point, left = parse(os.Getenv(EnvKill))

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

// Pass kills the process, if this is the point and the pass that was named.
func Pass(p string) {
	if p != point || left.Add(-1) != 0 {
		return
	}
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	select {} // nothing after the point happens
}
