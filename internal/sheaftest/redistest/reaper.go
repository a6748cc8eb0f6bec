package redistest

import (
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
)

// reap reads the server's process id whenever it changes (0: none runs), until the pipe ends because its writer is
// done or dead. Then it kills the server, which works on a frozen one too, and removes the folder.
const reap = `
server=0
while read -r line; do server=$line; done
[ "$server" -eq 0 ] || kill -KILL "$server"
rm -rf "$1" || { sleep 1; rm -rf "$1"; }
`

// A reaper outlives this process to clean up behind it. It hangs on a pipe, which the kernel closes even when the
// process is killed. It is the same as in pgtest, but for the way to end the server.
type reaper struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// reapers keeps each reaper in reach until it finishes: the garbage collector closes a pipe that nobody refers to.
var reapers sync.Map

func startReaper(dir string) (*reaper, error) {
	cmd := exec.Command("/bin/sh", "-c", reap, "reap", dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // keeps a Ctrl-C in the terminal away
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	r := &reaper{cmd, pipe}
	reapers.Store(r, true)
	return r, cmd.Start()
}

// watch tells which process to kill at the end, 0 for none. A reaper that cannot hear it has done its work already.
func (r *reaper) watch(pid int) { _, _ = fmt.Fprintln(r.pipe, pid) }

// finish lets the reaper do its work, and returns when it is done.
func (r *reaper) finish() error {
	reapers.Delete(r)
	_ = r.pipe.Close()
	return r.cmd.Wait()
}
