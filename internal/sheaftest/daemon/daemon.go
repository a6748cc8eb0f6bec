// Package daemon runs another project's server for tests, on loopback and in its own folder. Tests
// may kill, freeze and restart it. However the test process ends, the server is killed and its
// folder is deleted.
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

// Timeout bounds every operation on a server. None takes nearly as long, even on a busy machine.
const Timeout = 5 * time.Minute

// endServer works on a frozen server too.
const endServer = `kill -KILL "$server"`

// session does not get a Ctrl-C of the terminal: the reaper stops the server.
var session = &syscall.SysProcAttr{Setsid: true}

// Config describes a server.
type Config struct {
	Name string // in the name of its folder and in errors
	// Prepare creates the files that the server needs in its folder, once; it may be nil.
	Prepare func(dir string) error
	// Command runs the server on a port of loopback, with its files in the folder.
	Command func(dir, port string) *exec.Cmd
	// Ready returns nil if the server accepts requests.
	Ready func(dir, port string) error
	// Owner is the user of the server, who also owns its folder; nil is our own user.
	Owner *syscall.Credential
}

// A Server is a process for one test. Its methods are for one goroutine at a time. Methods without
// an error result fail the test instead.
type Server struct {
	Dir string // ours alone: the server's files and its log

	config Config
	t      testing.TB // nil after Launch
	port   string
	reaper *reaper.Reaper // ends the server when this process is gone
	pid    int            // 0 while stopped
}

// Start returns a running server, and removes it when the test ends.
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

// Launch starts a server without a test. It runs until Close, or until this process ends. Only
// methods that return an error may be called.
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

// findPort starts the server for the first time. If another process takes the port before the
// server does, it tries another one.
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

// Address returns the address that it listens on. Restart does not change it.
func (s *Server) Address() string { return net.JoinHostPort("127.0.0.1", s.port) }

// Pid returns the process id; 0 while it is stopped.
func (s *Server) Pid() int { return s.pid }

// Stop kills the server and blocks until its port refuses connections.
func (s *Server) Stop() {
	s.t.Helper()
	s.must("stop", s.stop())
}

// Restart kills the server if it runs, starts it on the same address, and blocks until it accepts
// requests.
func (s *Server) Restart() {
	s.t.Helper()
	s.must("restart", errors.Join(s.stop(), s.start()))
}

// Freeze suspends the server: the kernel accepts connections, but the server does not answer.
func (s *Server) Freeze() {
	s.t.Helper()
	err := syscall.Kill(s.pid, syscall.SIGSTOP)
	if err == nil {
		err = s.wait(syscall.WUNTRACED)
	}
	s.must("freeze", err)
}

// Thaw resumes a frozen server. It answers the requests that came meanwhile.
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

// start starts the server and waits until it accepts requests or has ended.
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

// ready waits until the server accepts requests. If it does not, ready stops the server.
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

// stop kills the server, if it runs, and blocks until it has ended.
func (s *Server) stop() error {
	if s.pid == 0 {
		return nil
	}
	if err := syscall.Kill(s.pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill it: %w", err)
	}
	return s.wait(0)
}

// wait calls wait4 with the options for the server. It does not use os/exec, which needs a
// goroutine while the server runs: tests that look for leaks would report it.
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

// Kill kills the server, if it runs, and blocks until it has ended.
func (s *Server) Kill() error { return s.stop() }

// Again starts a server that was killed, with the same files.
func (s *Server) Again() error { return s.start() }

// Log returns its output since its last start.
func (s *Server) Log() string {
	log, _ := os.ReadFile(s.log())
	return string(log)
}

// Close stops the server and deletes its files. A server from Start does not need it.
func (s *Server) Close() error {
	err := s.stop()
	if s.reaper == nil {
		return errors.Join(err, os.RemoveAll(s.Dir))
	}
	return errors.Join(err, s.reaper.Finish())
}
