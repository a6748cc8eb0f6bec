// Package redistest gives tests a real Redis of their own, which they may stop, freeze and flush.
// It starts the installed redis-server on loopback, without persistence, and never touches one that
// was already running.
//
// A test package needs no TestMain: whatever way the process ends, its servers are killed and their
// files removed.
package redistest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/reaper"
)

// ErrNotInstalled says that no Redis server was found on the machine.
var ErrNotInstalled = errors.New("redis-server is not installed: ./scripts/test installs it")

// timeout bounds every single act on a server: far beyond what any of them takes on a busy machine.
const timeout = 5 * time.Minute

// endServer works on a frozen server too.
const endServer = `kill -KILL "$server"`

// session keeps a Ctrl-C in the terminal away: the reaper decides when the server stops.
var session = &syscall.SysProcAttr{Setsid: true}

// A Server is a Redis of the test's own. Its methods are for one goroutine at a time, and fail the
// test when they cannot do what they say.
type Server struct {
	t        testing.TB
	program  string
	dir      string // ours alone: the unix socket, the server's log
	password string
	port     string
	reaper   *reaper.Reaper // ends the server when this process is gone
	pid      int            // 0 while stopped
}

// Start returns a running, empty server, which goes away when the test ends. Without Redis the test
// is skipped, or fails if SHEAF_TEST_REQUIRE is 1.
func Start(t testing.TB) *Server {
	t.Helper()
	s, err := launch()
	if err != nil {
		unavailable(t, err)
	}
	s.t = t
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Errorf("stop Redis: %v", err)
		}
	})
	return s
}

// unavailable ends the test: Redis not being installed is a reason to skip, anything else is a
// failure.
func unavailable(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, ErrNotInstalled) {
		sheaftest.Unable(t, err.Error())
	}
	t.Fatal(err)
}

// launch starts a server outside of any test.
func launch() (*Server, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, ErrNotInstalled
	}
	dir, err := os.MkdirTemp("", "sheaf-redis-")
	if err != nil {
		return nil, err
	}
	s := &Server{program: program, dir: dir, password: rand.Text()}
	if s.reaper, err = reaper.Start(dir, endServer, session); err == nil {
		err = s.findPort()
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
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

// URL returns the server's address as --redis-url takes it, with a password. It stays the same over
// Restart.
func (s *Server) URL() string {
	return (&url.URL{Scheme: "redis", User: url.UserPassword("", s.password), Host: s.address(), Path: "/0"}).String()
}

// Stop kills the server and returns when it is gone: its port refuses connections and its data is
// lost.
func (s *Server) Stop() {
	s.t.Helper()
	if err := s.stop(); err != nil {
		s.t.Fatal(err)
	}
}

// Restart stops the server if it runs, starts it, empty, on the same address, and returns when it
// takes connections.
func (s *Server) Restart() {
	s.t.Helper()
	if err := errors.Join(s.stop(), s.start()); err != nil {
		s.t.Fatal(err)
	}
}

// Freeze stops the server's clockwork: connections are accepted by the kernel, and nobody answers
// on them.
func (s *Server) Freeze() {
	s.t.Helper()
	err := syscall.Kill(s.pid, syscall.SIGSTOP)
	if err == nil {
		err = s.wait(syscall.WUNTRACED)
	}
	if err != nil {
		s.t.Fatalf("freeze Redis: %v", err)
	}
}

// Thaw lets a frozen server go on: it serves what it has been sent meanwhile.
func (s *Server) Thaw() {
	s.t.Helper()
	if err := syscall.Kill(s.pid, syscall.SIGCONT); err != nil {
		s.t.Fatalf("thaw Redis: %v", err)
	}
}

// Flush removes all data.
func (s *Server) Flush() {
	s.t.Helper()
	s.Do("FLUSHALL")
}

// Do runs a command and returns its reply as redigo does.
func (s *Server) Do(command string, args ...any) any {
	s.t.Helper()
	reply, err := s.do(command, args...)
	if err != nil {
		s.t.Fatalf("Redis %s: %v", command, err)
	}
	return reply
}

// do goes over the socket in our own folder, so that it cannot be another server that answers on
// the port.
func (s *Server) do(command string, args ...any) (any, error) {
	conn, err := redis.Dial("unix", s.socket(), redis.DialPassword(s.password), redis.DialReadTimeout(timeout))
	if err != nil {
		return nil, err
	}
	reply, err := conn.Do(command, args...)
	return reply, errors.Join(err, conn.Close())
}

// start runs the server and waits until it takes connections or has ended.
func (s *Server) start() error {
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(s.program, "--port", s.port, "--bind", "127.0.0.1", "--unixsocket", s.socket(),
		"--requirepass", s.password, "--dir", s.dir, "--save", "", "--appendonly", "no", "--daemonize", "no")
	cmd.Dir = s.dir
	cmd.SysProcAttr = session
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	s.pid = cmd.Process.Pid
	s.reaper.Watch(s.pid)
	return errors.Join(cmd.Process.Release(), s.ready())
}

// ready waits until the server takes connections. A server that does not get there is stopped.
func (s *Server) ready() error {
	var err, waitErr error
	sheaftest.Within(timeout, func() bool {
		if _, err = s.do("PING"); err == nil {
			return true
		}
		waitErr = s.wait(syscall.WNOHANG)
		return s.pid == 0 || waitErr != nil
	})
	if err == nil {
		return nil
	}
	log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	err = fmt.Errorf("start redis-server: %w\n%s", err, log)
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
		return fmt.Errorf("kill Redis: %w", err)
	}
	return errors.Join(s.wait(0), os.Remove(s.socket()))
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
		return fmt.Errorf("wait for Redis: %w", err)
	}
	if pid != 0 && (status.Exited() || status.Signaled()) {
		s.pid = 0
		s.reaper.Watch(0)
	}
	return nil
}

// close stops the server and removes its files.
func (s *Server) close() error {
	err := s.stop()
	if s.reaper == nil {
		return errors.Join(err, os.RemoveAll(s.dir))
	}
	return errors.Join(err, s.reaper.Finish())
}

func (s *Server) address() string { return net.JoinHostPort("127.0.0.1", s.port) }
func (s *Server) socket() string  { return filepath.Join(s.dir, "socket") }
