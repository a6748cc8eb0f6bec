package pgtest

import (
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
)

// reap reads the server's process id whenever it changes (0: none runs), until the pipe ends because its writer is
// done or dead. Then it stops the server if one runs, waits for its end and removes the folder.
//
// The end is seen in the pid file, which the server removes last: the process itself may stay as a zombie where
// nobody collects orphans.
const reap = `
server=0
while read -r line; do server=$line; done
if [ "$server" -ne 0 ]; then
	kill -QUIT "$server"
	tries=0
	while [ -e "$1/data/postmaster.pid" ] && [ "$tries" -lt 100 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
fi
rm -rf "$1" || { sleep 1; rm -rf "$1"; }
`

// A reaper outlives this process to clean up behind it. It hangs on a pipe, which the kernel closes even when the
// process is killed; a parent-death signal would be tied to a thread, exists on Linux alone and leaves the files.
type reaper struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// reapers keeps each reaper in reach until it finishes: the garbage collector closes a pipe that nobody refers to, and
// the server would end in the middle of a test.
var reapers sync.Map

func startReaper(dir string, attr *syscall.SysProcAttr) (*reaper, error) {
	cmd := exec.Command("/bin/sh", "-c", reap, "reap", dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = attr
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	r := &reaper{cmd, pipe}
	reapers.Store(r, true)
	return r, cmd.Start()
}

// watch tells which process to stop at the end, 0 for none. A reaper that cannot hear it has done its work already.
func (r *reaper) watch(pid int) { _, _ = fmt.Fprintln(r.pipe, pid) }

// finish lets the reaper do its work, and returns when it is done.
func (r *reaper) finish() error {
	reapers.Delete(r)
	_ = r.pipe.Close()
	return r.cmd.Wait()
}
