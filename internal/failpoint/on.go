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

// point is where the process ends, and left counts the passes there down to it. If further is not 0, the process
// lives on, and ends at that pass of any point afterwards.
var (
	point, left, further = parse(os.Getenv(EnvKill))
	counting             atomic.Bool // the process counts further passes
)

func parse(target string) (point string, left, further *atomic.Int64) {
	point, number, _ := strings.Cut(target, ":")
	number, more, counts := strings.Cut(number, "+")
	n, err := strconv.ParseInt(number, 10, 64)
	m := int64(0)
	if counts && err == nil {
		m, err = strconv.ParseInt(more, 10, 64)
	}
	if target != "" && (err != nil || n < 1 || counts && m < 1) {
		panic(fmt.Sprintf("%s is %q: want a point and a number, such as posted:3 or accepting:1+20", EnvKill, target))
	}
	left, further = new(atomic.Int64), new(atomic.Int64)
	left.Store(n)
	further.Store(m)
	return point, left, further
}

// Pass kills the process, if this is the point and the pass that was named.
func Pass(p string) {
	switch {
	case counting.Load():
		if further.Add(-1) != 0 {
			return
		}
	case p != point || left.Add(-1) != 0:
		return
	case further.Load() > 0:
		counting.Store(true)
		return
	}
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	select {} // nothing after the point happens
}
