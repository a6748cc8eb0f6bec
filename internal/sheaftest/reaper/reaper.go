// Package reaper stops the server of a test process and deletes its files, however the process
// ends.
package reaper

import (
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
)

// work reads the server's process id whenever it changes (0: none runs). When the pipe ends,
// because its writer has finished or died, it ends the server with the caller's command and deletes
// the folder.
const work = `
server=0
while read -r line; do server=$line; done
if [ "$server" -ne 0 ]; then
	%s
fi
rm -rf "$1" || { sleep 1; rm -rf "$1"; }
`

// A Reaper is a process that outlives this one to clean up after it. It waits for the end of a
// pipe, which the kernel closes even if this process is killed. A parent-death signal would depend
// on a thread, exists only on Linux, and would not delete the files.
type Reaper struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// reapers keeps a reference to each reaper until it finishes. Without it the garbage collector
// would close the pipe, and the server would end in the middle of a test.
var reapers sync.Map

// Start returns a reaper of the folder. `end` is the shell command that ends the server: "$server"
// is its process id, "$1" the folder. The attributes should create a new session, so that a Ctrl-C
// of the terminal does not reach the reaper.
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

// Watch sets the process to end; 0 for none. If the pipe is closed, the reaper has already
// finished.
func (r *Reaper) Watch(pid int) { _, _ = fmt.Fprintln(r.pipe, pid) }

// Finish makes the reaper clean up, and blocks until it has finished.
func (r *Reaper) Finish() error {
	reapers.Delete(r)
	_ = r.pipe.Close()
	return r.cmd.Wait()
}
