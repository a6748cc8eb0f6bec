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

// server is one program of the cluster, in its own process namespace. If it is killed, all
// processes that it has started end at the same moment, as in a power failure.
type server struct {
	*daemon.Server
	machine machine
}

// program describes the program of a server.
type program struct {
	name  string   // of its folder
	files []string // documented ones, which it reads
	// more is called with its folder after the files are written; it may be nil.
	more func(dir string) error
	// line is its command line, in its folder.
	line []string
	// env is the name of a file with its environment variables.
	env string
	// ready returns nil if the program can be used. A nil function means at once.
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

// prepare writes the files of a program, owned by its user.
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

// command returns the command that runs a program in its namespaces, as its user. The first process
// in them asks the kernel to kill it when unshare ends. It must do so after changing its user. All
// other processes end with it.
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

// freeze suspends all processes of the server: the kernel accepts connections, but no process
// answers.
func (s *server) freeze() error { return s.signalAll(syscall.SIGSTOP) }

// thaw resumes them.
func (s *server) thaw() error { return s.signalAll(syscall.SIGCONT) }

// signalAll sends a signal to every process of the server's namespace, and repeats that for
// processes that were started meanwhile. The first process of a namespace ignores such a signal
// from inside, but not from us.
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

// kill kills the server and all processes that it has started, and blocks until they have ended.
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

// processes returns the processes in the server's namespace.
func (s *server) processes() ([]int, error) {
	space, err := s.space()
	if err != nil {
		return nil, err
	}
	return within(space), nil
}

// space returns the name of the server's process namespace; empty if its first process has ended.
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
