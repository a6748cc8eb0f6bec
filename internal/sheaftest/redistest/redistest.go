// Package redistest provides a real Redis for one test, which may stop, freeze and flush it
// (package daemon). It starts the installed redis-server on loopback, without persistence, and does
// not use one that was already running.
package redistest

import (
	"crypto/rand"
	"errors"
	"net/url"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gomodule/redigo/redis"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/daemon"
)

// ErrNotInstalled says that no Redis server was found on the machine.
var ErrNotInstalled = errors.New("redis-server is not installed: ./scripts/test installs it")

// A Server is a Redis for one test. Stop and Restart delete its data.
type Server struct {
	*daemon.Server
	t        testing.TB
	password string
}

// Start returns a running, empty server, and removes it when the test ends. Without Redis the test
// is skipped, or fails if SHEAF_TEST_REQUIRE is 1.
func Start(t testing.TB) *Server {
	t.Helper()
	return start(t, rand.Text())
}

// start starts a server with the password and further arguments.
func start(t testing.TB, password string, args ...string) *Server {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		sheaftest.Unable(t, ErrNotInstalled.Error())
	}
	return &Server{daemon.Start(t, config(program, password, args...)), t, password}
}

func config(program, password string, args ...string) daemon.Config {
	return daemon.Config{
		Name: "redis-server",
		Command: func(dir, port string) *exec.Cmd {
			base := []string{"--port", port, "--bind", "127.0.0.1", "--unixsocket", socket(dir),
				"--requirepass", password, "--masterauth", password, "--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no"}
			return exec.Command(program, append(base, args...)...)
		},
		Ready: func(dir, _ string) error {
			_, err := do(dir, password, "PING")
			return err
		},
	}
}

func socket(dir string) string { return filepath.Join(dir, "socket") }

// do runs a command over the socket in our own folder, so that no other server can answer.
func do(dir, password, command string, args ...any) (any, error) {
	options := []redis.DialOption{redis.DialReadTimeout(daemon.Timeout)}
	if password != "" {
		options = append(options, redis.DialPassword(password))
	}
	conn, err := redis.Dial("unix", socket(dir), options...)
	if err != nil {
		return nil, err
	}
	reply, err := conn.Do(command, args...)
	return reply, errors.Join(err, conn.Close())
}

// URL returns the server's address for --redis-url, with a password. Restart does not change it.
func (s *Server) URL() string { return address(s.Server, s.password) }

func address(s *daemon.Server, password string) string {
	return (&url.URL{Scheme: "redis", User: url.UserPassword("", password), Host: s.Address(), Path: "/0"}).String()
}

// Flush removes all data.
func (s *Server) Flush() {
	s.t.Helper()
	s.Do("FLUSHALL")
}

// Do runs a command and returns its reply as redigo does.
func (s *Server) Do(command string, args ...any) any {
	s.t.Helper()
	reply, err := do(s.Dir, s.password, command, args...)
	if err != nil {
		s.t.Fatalf("Redis %s: %v", command, err)
	}
	return reply
}
