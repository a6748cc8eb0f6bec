package clustertest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/daemon"
)

// server is one program of the cluster, in a process namespace of its own: when it is killed,
// whatever it has started is gone with it at the same moment, as when a machine loses its power.
type server struct {
	*daemon.Server
	machine machine
}

// program is what a server runs.
type program struct {
	name  string   // of its folder
	files []string // documented ones, which it reads
	// more is called in its folder once the files are there; it may be nil.
	more func(dir string) error
	// line is its command line, in its folder.
	line []string
	// env names a file of its environment.
	env string
	// ready reports whether it can be used; nil is at once.
	ready func() error
}

// launch starts a program on a machine.
func (c *Cluster) launch(m machine, p program) (*server, error) {
	owner, err := daemon.Unprivileged()
	if err != nil {
		return nil, err
	}
	if owner == nil {
		return nil, errors.New("the cluster has namespaces, for which one must be root")
	}
	s, err := daemon.Launch(daemon.Config{
		Name:    p.name,
		Prepare: func(dir string) error { return c.prepare(m, p, dir, owner) },
		Command: func(dir, _ string) *exec.Cmd { return command(m, p, dir, owner) },
		Ready: func(string, string) error {
			if p.ready == nil {
				return nil
			}
			return p.ready()
		},
	})
	if err != nil {
		return nil, err
	}
	started := &server{s, m}
	c.servers = append(c.servers, started)
	return started, nil
}

// prepare writes the files of a program, for the user that it runs as.
func (c *Cluster) prepare(m machine, p program, dir string, owner *syscall.Credential) error {
	for _, file := range p.files {
		if err := c.write(file, m, dir); err != nil {
			return err
		}
	}
	if p.more != nil {
		if err := p.more(dir); err != nil {
			return err
		}
	}
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, int(owner.Uid), int(owner.Gid))
	})
}

// command runs a program in its namespaces, as its user. The first process in them asks to be killed
// with unshare, which it must do after it has changed its user, and all others die with it.
func command(m machine, p program, dir string, owner *syscall.Credential) *exec.Cmd {
	line := []string{"unshare", "--fork", "--pid", "--mount-proc", "--kill-child"}
	if m.network != "" {
		line = append(line, "nsenter", "--net=/run/netns/"+m.network)
	}
	line = append(line, "setpriv", fmt.Sprint("--reuid=", owner.Uid), fmt.Sprint("--regid=", owner.Gid), "--clear-groups", "--pdeathsig=KILL")
	line = slices.Concat(line, p.line)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TZ=UTC", "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	if p.env != "" {
		lines, err := environment(filepath.Join(dir, p.env))
		if err != nil {
			lines = []string{"SHEAF_TEST_BROKEN=" + err.Error()}
		}
		cmd.Env = append(cmd.Env, lines...)
	}
	return cmd
}

// freeze stops the clockwork of all that the server runs: the kernel accepts connections, and nobody
// answers on any.
func (s *server) freeze() error { return s.signalAll(syscall.SIGSTOP) }

// thaw lets it go on.
func (s *server) thaw() error { return s.signalAll(syscall.SIGCONT) }

// signalAll signals every process of the server's namespace, and again those that were born
// meanwhile. Its first process takes no such signal from inside, but from us it does.
func (s *server) signalAll(signal syscall.Signal) error {
	told := map[int]bool{}
	for {
		pids, err := s.processes()
		if err != nil {
			return err
		}
		before := len(told)
		for _, pid := range pids {
			if !told[pid] && syscall.Kill(pid, signal) == nil {
				told[pid] = true
			}
		}
		if len(told) == before {
			return nil
		}
	}
}

// kill ends the server and all that it has started, and returns when they are gone.
func (s *server) kill() error {
	if s.Pid() == 0 {
		return nil
	}
	space, err := s.space()
	if err != nil {
		return errors.Join(err, s.Kill())
	}
	if err := s.Kill(); err != nil {
		return err
	}
	if !sheaftest.Within(daemon.Timeout, func() bool { return len(within(space)) == 0 }) {
		return fmt.Errorf("%s is killed, and yet runs", s.machine.name)
	}
	return nil
}

// processes are those that the server runs in its namespace.
func (s *server) processes() ([]int, error) {
	space, err := s.space()
	if err != nil {
		return nil, err
	}
	return within(space), nil
}

// space names the process namespace of the server, that of the first process in it; nothing where that has ended by itself.
func (s *server) space() (string, error) {
	first, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", s.Pid(), s.Pid()))
	if err != nil || len(first) == 0 {
		return "", err
	}
	return os.Readlink("/proc/" + strings.TrimSpace(string(first)) + "/ns/pid")
}

// within returns the processes of a namespace.
func within(space string) (pids []int) {
	all, _ := os.ReadDir("/proc")
	for _, entry := range all {
		pid, notOne := strconv.Atoi(entry.Name())
		if notOne != nil {
			continue
		}
		if its, gone := os.Readlink("/proc/" + entry.Name() + "/ns/pid"); gone == nil && its == space {
			pids = append(pids, pid)
		}
	}
	return pids
}
