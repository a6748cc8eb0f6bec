// Package reaper cleans up behind a test process that started a server, whatever way the process
// ends.
package reaper

import (
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
)

// work reads the server's process id whenever it changes (0: none runs), until the pipe ends
// because its writer is done or dead. Then it ends the server if one runs, in the way of its
// caller, and removes the folder.
const work = `
server=0
while read -r line; do server=$line; done
if [ "$server" -ne 0 ]; then
	%s
fi
rm -rf "$1" || { sleep 1; rm -rf "$1"; }
`

// A Reaper outlives this process to clean up behind it. It hangs on a pipe, which the kernel closes
// even when the process is killed; a parent-death signal would be tied to a thread, exists on Linux
// alone and leaves the files.
type Reaper struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// reapers keeps each reaper in reach until it finishes: the garbage collector closes a pipe that
// nobody refers to, and the server would end in the middle of a test.
var reapers sync.Map

// Start returns a reaper of the folder. The shell runs end to end the server: "$server" is its
// process id, "$1" the folder. The attributes should make a session of its own, which keeps a
// Ctrl-C in the terminal away.
func Start(dir, end string, attr *syscall.SysProcAttr) (*Reaper, error) {
	cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf(work, end), "reap", dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = attr
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	r := &Reaper{cmd, pipe}
	reapers.Store(r, true)
	return r, cmd.Start()
}

// Watch tells which process to end, 0 for none. A reaper that cannot hear it has done its work
// already.
func (r *Reaper) Watch(pid int) { _, _ = fmt.Fprintln(r.pipe, pid) }

// Finish lets the reaper do its work, and returns when it is done.
func (r *Reaper) Finish() error {
	reapers.Delete(r)
	_ = r.pipe.Close()
	return r.cmd.Wait()
}
