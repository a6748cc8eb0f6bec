// Package s3test gives tests a real S3 server of their own, which they may kill, freeze and start
// again. It is versitygw, at the version of the module in the folder versitygw, which keeps objects
// as files; it is built once into the user's cache folder.
//
// A test package needs no TestMain: whatever way the process ends, its servers are killed and their
// files removed.
package s3test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/reaper"
)

// Bucket is the name of the bucket that every server has.
const Bucket = "media"

// timeout bounds every single act on a server: far beyond what any of them takes on a busy machine.
const timeout = 5 * time.Minute

// endServer works on a frozen server too.
const endServer = `kill -KILL "$server"`

// session keeps a Ctrl-C in the terminal away: the reaper decides when the server stops.
var session = &syscall.SysProcAttr{Setsid: true}

// A Server is an S3 service of the test's own, with one empty bucket. Its methods are for one
// goroutine at a time, and fail the test when they cannot do what they say.
type Server struct {
	t       testing.TB
	program string
	dir     string // ours alone: the objects, their metadata, the server's log
	access  string
	secret  string
	port    string
	reaper  *reaper.Reaper // ends the server when this process is gone
	pid     int            // 0 while stopped
}

// Start returns a running server, which goes away when the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	program, err := built()
	if err != nil {
		sheaftest.Unable(t, err.Error())
	}
	s, err := launch(program)
	if err != nil {
		t.Fatal(err)
	}
	s.t = t
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Errorf("stop the S3 server: %v", err)
		}
	})
	return s
}

// launch starts a server outside of any test.
func launch(program string) (*Server, error) {
	dir, err := os.MkdirTemp("", "sheaf-s3-")
	if err != nil {
		return nil, err
	}
	s := &Server{program: program, dir: dir, access: "sheaf", secret: rand.Text()}
	err = errors.Join(os.MkdirAll(s.Objects(), 0o700), os.Mkdir(s.metadata(), 0o700))
	if err == nil {
		s.reaper, err = reaper.Start(dir, endServer, session)
	}
	if err == nil {
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

// URL returns the bucket's address as --media-url takes it.
func (s *Server) URL() string { return "s3://" + Bucket }

// Env returns the settings by which programs reach the server, in the form of os.Environ. They stay
// the same over Restart.
func (s *Server) Env() []string {
	var env []string
	for _, name := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"} {
		env = append(env, name+"="+s.Getenv(name))
	}
	return env
}

// Getenv is os.Getenv with the settings of Env and nothing else.
func (s *Server) Getenv(name string) string {
	return map[string]string{"AWS_ENDPOINT_URL_S3": "http://" + s.address(), "AWS_ACCESS_KEY_ID": s.access,
		"AWS_SECRET_ACCESS_KEY": s.secret, "AWS_REGION": "us-east-1"}[name]
}

// Objects is the folder in which the bucket's objects are files.
func (s *Server) Objects() string { return filepath.Join(s.dir, "objects", Bucket) }

func (s *Server) metadata() string { return filepath.Join(s.dir, "metadata") }

// Stop kills the server and returns when it is gone: its port refuses connections. What it had
// acknowledged stays.
func (s *Server) Stop() {
	s.t.Helper()
	if err := s.stop(); err != nil {
		s.t.Fatal(err)
	}
}

// Restart kills the server if it runs, starts it on the same address with what it had, and returns
// when it takes requests.
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
		s.t.Fatalf("freeze the S3 server: %v", err)
	}
}

// Thaw lets a frozen server go on: it serves what it has been sent meanwhile.
func (s *Server) Thaw() {
	s.t.Helper()
	if err := syscall.Kill(s.pid, syscall.SIGCONT); err != nil {
		s.t.Fatalf("thaw the S3 server: %v", err)
	}
}

// start runs the server and waits until it takes requests or has ended.
func (s *Server) start() error {
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(s.program, s.address(), s.access, s.secret, filepath.Dir(s.Objects()), s.metadata())
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

// ready waits until the server takes requests. A server that does not get there is stopped.
func (s *Server) ready() error {
	var err, waitErr error
	sheaftest.Within(timeout, func() bool {
		if err = s.healthy(); err == nil {
			return true
		}
		waitErr = s.wait(syscall.WNOHANG)
		return s.pid == 0 || waitErr != nil
	})
	if err == nil {
		return nil
	}
	log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	err = fmt.Errorf("start versitygw: %w\n%s", err, log)
	if waitErr != nil {
		return errors.Join(err, waitErr)
	}
	return errors.Join(err, s.stop())
}

func (s *Server) healthy() error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address()+"/health", nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("its health is answered with %d", res.StatusCode)
	}
	return nil
}

// stop kills the server, if it runs, and returns when it is gone.
func (s *Server) stop() error {
	if s.pid == 0 {
		return nil
	}
	if err := syscall.Kill(s.pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the S3 server: %w", err)
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
		return fmt.Errorf("wait for the S3 server: %w", err)
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
