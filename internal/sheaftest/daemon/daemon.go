// Package daemon runs another project's server for tests, on loopback and in a folder of its own.
// Tests may kill, freeze and start it again. Whatever way the process of the tests ends, the server is
// killed and its folder removed.
package daemon

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/reaper"
)

// Timeout bounds every single act on a server: far beyond what any of them takes on a busy machine.
const Timeout = 5 * time.Minute

// endServer works on a frozen server too.
const endServer = `kill -KILL "$server"`

// session keeps a Ctrl-C in the terminal away: the reaper decides when the server stops.
var session = &syscall.SysProcAttr{Setsid: true}

// Config is what a server is.
type Config struct {
	Name string // what it is called in the name of its folder and in errors
	// Prepare makes what the server needs in its folder, once; it may be nil.
	Prepare func(dir string) error
	// Command runs the server on a port of loopback, with its files in the folder.
	Command func(dir, port string) *exec.Cmd
	// Ready asks the server whether it takes requests; nil says that it does.
	Ready func(dir, port string) error
	// Owner is the user that the server runs as, who also owns its folder; nil is our own.
	Owner *syscall.Credential
}

// A Server is a process of the test's own. Its methods are for one goroutine at a time. Those without
// an error fail the test when they cannot do what they say.
type Server struct {
	Dir string // ours alone: what the server keeps, and its log

	config Config
	t      testing.TB // nil for one that was launched
	port   string
	reaper *reaper.Reaper // ends the server when this process is gone
	pid    int            // 0 while stopped
}

// Start returns a running server, which goes away when the test ends.
func Start(t testing.TB, c Config) *Server {
	t.Helper()
	s, err := Launch(c)
	if err != nil {
		t.Fatal(err)
	}
	s.t = t
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("stop %s: %v", c.Name, err)
		}
	})
	return s
}

// Launch starts a server outside of any test: it goes away by Close, or with the process. Only what
// returns an error may be called of it.
func Launch(c Config) (*Server, error) {
	dir, err := os.MkdirTemp("", "sheaf-"+c.Name+"-")
	if err != nil {
		return nil, err
	}
	s := &Server{Dir: dir, config: c}
	if c.Owner != nil {
		err = os.Chown(dir, int(c.Owner.Uid), int(c.Owner.Gid))
	}
	if err == nil && c.Prepare != nil {
		err = c.Prepare(dir)
	}
	if err == nil {
		s.reaper, err = reaper.Start(dir, endServer, session)
	}
	if err == nil {
		err = s.findPort()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// findPort starts the server for the first time. Another process may take the free port before the
// server does: then take another.
func (s *Server) findPort() (err error) {
	for range 5 {
		if s.port, err = sheaftest.FreePort(); err != nil {
			return err
		}
		if err = s.start(); err == nil {
			return nil
		}
	}
	return err
}

// Address is where it listens. It stays the same over Restart.
func (s *Server) Address() string { return net.JoinHostPort("127.0.0.1", s.port) }

// Pid is that of the process, 0 while it is stopped.
func (s *Server) Pid() int { return s.pid }

// Stop kills the server and returns when it is gone: its port refuses connections.
func (s *Server) Stop() {
	s.t.Helper()
	s.must("stop", s.stop())
}

// Restart kills the server if it runs, starts it on the same address, and returns when it takes
// requests.
func (s *Server) Restart() {
	s.t.Helper()
	s.must("restart", errors.Join(s.stop(), s.start()))
}

// Freeze stops the server's clockwork: connections are accepted by the kernel, and nobody answers
// on them.
func (s *Server) Freeze() {
	s.t.Helper()
	err := syscall.Kill(s.pid, syscall.SIGSTOP)
	if err == nil {
		err = s.wait(syscall.WUNTRACED)
	}
	s.must("freeze", err)
}

// Thaw lets a frozen server go on: it serves what it has been sent meanwhile.
func (s *Server) Thaw() {
	s.t.Helper()
	s.must("thaw", syscall.Kill(s.pid, syscall.SIGCONT))
}

func (s *Server) must(act string, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%s %s: %v", act, s.config.Name, err)
	}
}

// start runs the server and waits until it takes requests or has ended.
func (s *Server) start() error {
	log, err := os.Create(s.log())
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := s.config.Command(s.Dir, s.port)
	cmd.Dir = s.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: s.config.Owner} // a session as that of the reaper
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	s.pid = cmd.Process.Pid
	s.reaper.Watch(s.pid)
	return errors.Join(cmd.Process.Release(), s.ready())
}

func (s *Server) log() string { return filepath.Join(s.Dir, "log") }

// ready waits until the server takes requests. A server that does not get there is stopped.
func (s *Server) ready() error {
	var err, waitErr error
	sheaftest.Within(Timeout, func() bool {
		if err = s.config.Ready(s.Dir, s.port); err == nil {
			return true
		}
		waitErr = s.wait(syscall.WNOHANG)
		return s.pid == 0 || waitErr != nil
	})
	if err == nil {
		return nil
	}
	log, _ := os.ReadFile(s.log())
	err = fmt.Errorf("start %s: %w\n%s", s.config.Name, err, log)
	if waitErr != nil {
		return errors.Join(err, waitErr)
	}
	return errors.Join(err, s.stop())
}

// stop kills the server, if it runs, and returns when it is gone.
func (s *Server) stop() error {
	if s.pid == 0 {
		return nil
	}
	if err := syscall.Kill(s.pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill it: %w", err)
	}
	return s.wait(0)
}

// wait asks wait4, with its options, for a change of the server. It is not os/exec that waits,
// since that takes a goroutine for as long as the server runs, which would be a leak to the tests
// that look for leaks.
func (s *Server) wait(options int) error {
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(s.pid, &status, options, nil)
	for errors.Is(err, syscall.EINTR) {
		pid, err = syscall.Wait4(s.pid, &status, options, nil)
	}
	if err != nil {
		return fmt.Errorf("wait for it: %w", err)
	}
	if pid != 0 && (status.Exited() || status.Signaled()) {
		s.pid = 0
		s.reaper.Watch(0)
	}
	return nil
}

// Kill kills the server, if it runs, and returns when it is gone.
func (s *Server) Kill() error { return s.stop() }

// Again starts a server that was killed, with the same files.
func (s *Server) Again() error { return s.start() }

// Log returns what it has written since its last start.
func (s *Server) Log() string {
	log, _ := os.ReadFile(s.log())
	return string(log)
}

// Close stops the server and removes its files. One that was started for a test needs none.
func (s *Server) Close() error {
	err := s.stop()
	if s.reaper == nil {
		return errors.Join(err, os.RemoveAll(s.Dir))
	}
	return errors.Join(err, s.reaper.Finish())
}
