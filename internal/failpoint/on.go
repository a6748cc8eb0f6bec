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

// goal is where the process ends: at the pass of point at which left reaches 0. If there is a goal
// after it, the process lives on until that one. A goal without a point counts every pass.
type goal struct {
	point string
	left  atomic.Int64
	after *goal
}

var current atomic.Pointer[goal]

func init() {
	if target := os.Getenv(EnvKill); target != "" {
		current.Store(parse(target))
	}
}

func parse(target string) *goal {
	first, then, goesOn := strings.Cut(target, "+")
	g := &goal{}
	point, number, _ := strings.Cut(first, ":")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 {
		panic(fmt.Sprintf("%s is %q: want a point and a number, such as posted:3 or accepting:1+20", EnvKill, target))
	}
	g.point = point
	g.left.Store(n)
	if goesOn {
		g.after = &goal{}
		g.after.left.Store(1)
		if m, err := strconv.ParseInt(then, 10, 64); err != nil {
			g.after.point = then
		} else {
			g.after.left.Store(m)
		}
	}
	return g
}

// Pass kills the process, if this is the point and the pass that was named.
func Pass(p string) {
	g := current.Load()
	if g == nil || g.point != "" && p != g.point || g.left.Add(-1) != 0 {
		return
	}
	if g.after != nil {
		current.Store(g.after)
		return
	}
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	select {} // nothing after the point happens
}
