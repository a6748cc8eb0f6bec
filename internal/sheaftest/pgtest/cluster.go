package pgtest

import (
	"bytes"
	"context"
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

	"github.com/jackc/pgx/v5"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/daemon"
	"sheaf.dev/internal/sheaftest/reaper"
)

// Mode is a way to stop a cluster.
type Mode syscall.Signal

const (
	Fast      = Mode(syscall.SIGINT)  // connections are closed, open transactions rolled back
	Immediate = Mode(syscall.SIGQUIT) // a crash that PostgreSQL notices: the next start recovers from the log
	Kill      = Mode(syscall.SIGKILL) // a crash that it does not notice
)

// superuser is the role in every URL of a cluster.
const superuser = "postgres"

// settings make a cluster fast to start and cheap to run in parallel. Writes are not flushed to the
// disk, which matters only in a power cut: commits survive Stop in every Mode.
var settings = []string{
	"fsync=off",
	"full_page_writes=off",
	"shared_buffers=32MB",
	"max_connections=800",
	"max_wal_size=256MB",
	"autovacuum=on",
	"listen_addresses=127.0.0.1",
	"logging_collector=off",
}

// endServer stops the server and waits until it has removed its pid file, which is its last action.
// The process itself may stay as a zombie if no process collects orphans.
const endServer = `
	kill -QUIT "$server"
	tries=0
	while [ -e "$1/data/postmaster.pid" ] && [ "$tries" -lt 3000 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
`

// A Cluster is a PostgreSQL server for one test. Its methods are for one goroutine at a time.
type Cluster struct {
	bin      string // the folder of initdb and postgres
	dir      string // ours alone: data, the unix socket, the server's log
	password string
	port     string
	attr     *syscall.SysProcAttr // the user of its processes, in a session of their own
	reaper   *reaper.Reaper       // ends the server when this process is gone
	server   int                  // process id, 0 while stopped
	frozen   []int                // process ids that Freeze has stopped
}

// Start returns a running cluster for this test, and removes it when the test ends. Without
// PostgreSQL the test is skipped, or fails if SHEAF_TEST_REQUIRE is 1.
func Start(t testing.TB) *Cluster {
	t.Helper()
	c, err := Launch()
	if err != nil {
		unavailable(t, err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("stop PostgreSQL: %v", err)
		}
	})
	return c
}

// Launch returns a running cluster without a test. It runs until Close, or until this process ends.
// If the machine has no PostgreSQL, the error is ErrNotInstalled.
func Launch() (*Cluster, error) {
	bin, err := Binaries()
	if err != nil {
		return nil, err
	}
	owner, err := daemon.Unprivileged()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sheaf-pg-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		bin:      bin,
		dir:      dir,
		password: rand.Text(),
		// A session of its own does not get a Ctrl-C of the terminal: the reaper stops the server.
		attr: &syscall.SysProcAttr{Credential: owner, Setsid: true},
	}
	if err := c.create(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// create creates the cluster's files and starts it for the first time.
func (c *Cluster) create() error { return c.prepare(c.initdb) }

// prepare starts the cluster for the first time, with the data that fill creates.
func (c *Cluster) prepare(fill func() error) (err error) {
	if c.attr.Credential != nil {
		if err := os.Chown(c.dir, int(c.attr.Credential.Uid), int(c.attr.Credential.Gid)); err != nil {
			return err
		}
	}
	if c.reaper, err = reaper.Start(c.dir, endServer, c.attr); err != nil {
		return err
	}
	if err := fill(); err != nil {
		return err
	}
	// If another process takes the port before the server does, try another one.
	for range 5 {
		if c.port, err = sheaftest.FreePort(); err != nil {
			return err
		}
		if err = c.Restart(); err == nil {
			return nil
		}
	}
	return err
}

// URL returns the superuser's URL of the database postgres, over TCP. Restart does not change it.
// Its timeouts are long, because a server on a busy machine may answer late.
func (c *Cluster) URL() string {
	return fmt.Sprintf("%s&connect_timeout=%.0f", c.ImpatientURL(), timeout.Seconds())
}

// Env returns the environment variables that name the cluster to other test processes, which must
// end before it.
func (c *Cluster) Env() []string { return []string{EnvURL + "=" + c.URL(), EnvEnds + "=1"} }

// ImpatientURL returns the URL without long timeouts, for tests that freeze the server.
func (c *Cluster) ImpatientURL() string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, c.password),
		Host:     c.address(),
		Path:     "/postgres",
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// SocketURL returns the URL over the unix socket, which needs no password.
func (c *Cluster) SocketURL() string {
	query := url.Values{"host": {c.dir}, "port": {c.port}}
	return (&url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/postgres", RawQuery: query.Encode()}).String()
}

// Stop stops the server and blocks until its port refuses connections. A stopped cluster stays
// stopped.
func (c *Cluster) Stop(mode Mode) error {
	if c.server == 0 {
		return nil
	}
	if err := syscall.Kill(c.server, syscall.Signal(mode)); err != nil {
		return fmt.Errorf("signal PostgreSQL: %w", err)
	}
	c.thaw()
	if _, err := c.collect(0); err != nil {
		return err
	}
	return c.awaitPortClosed()
}

// awaitPortClosed blocks until no process listens on the port. A process that a killed server has
// just forked may still do so.
func (c *Cluster) awaitPortClosed() error {
	var last error
	closed := sheaftest.Within(timeout, func() bool {
		conn, err := net.Dial("tcp", c.address())
		if err == nil {
			err = conn.Close()
		}
		last = err
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	if !closed {
		return errors.Join(fmt.Errorf("PostgreSQL is stopped, and yet %s answers", c.address()), last)
	}
	return nil
}

// collect calls wait4 with the options, and returns whether the server has ended. It does not use
// os/exec, which needs a goroutine while the server runs: tests that look for leaks would report
// it.
func (c *Cluster) collect(options int) (ended bool, err error) {
	pid, err := syscall.Wait4(c.server, nil, options, nil)
	for errors.Is(err, syscall.EINTR) {
		pid, err = syscall.Wait4(c.server, nil, options, nil)
	}
	if err != nil {
		return false, fmt.Errorf("wait for PostgreSQL: %w", err)
	}
	if pid == 0 {
		return false, nil
	}
	c.server = 0
	c.reaper.Watch(0)
	return true, nil
}

// Restart stops the server if it runs, starts it on the same address with the same data, and blocks
// until it accepts connections.
func (c *Cluster) Restart() error {
	if err := c.Stop(Fast); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var err error
	sheaftest.Within(timeout, func() bool {
		err = c.start(ctx)
		return err == nil || !c.orphaned() || ctx.Err() != nil
	})
	return err
}

// start starts the server and waits until it accepts connections or has ended.
func (c *Cluster) start(ctx context.Context) error {
	log, err := os.Create(c.logFile())
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"-D", c.dataDir(), "-k", c.dir, "-p", c.port}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	cmd := c.command("postgres", args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	c.server = cmd.Process.Pid
	c.reaper.Watch(c.server)
	return errors.Join(cmd.Process.Release(), c.ready(ctx))
}

// ready waits until the server accepts connections. If it does not, ready stops the server.
func (c *Cluster) ready(ctx context.Context) error {
	var err, waitErr error
	ended := false
	sheaftest.Within(timeout, func() bool {
		if err = c.ping(ctx); err == nil || ctx.Err() != nil {
			return true
		}
		ended, waitErr = c.collect(syscall.WNOHANG)
		return ended || waitErr != nil
	})
	switch {
	case err == nil:
		return nil
	case ended || waitErr != nil:
		return errors.Join(c.failure(err), waitErr)
	default:
		return errors.Join(c.failure(err), c.Stop(Kill))
	}
}

// ping connects once.
func (c *Cluster) ping(ctx context.Context) error {
	// The socket is in our own folder, so no other server can answer.
	conn, err := pgx.Connect(ctx, c.SocketURL())
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// orphaned reports whether the last start failed because processes of a killed server still use its
// memory.
func (c *Cluster) orphaned() bool {
	log, _ := os.ReadFile(c.logFile())
	return bytes.Contains(log, []byte("pre-existing shared memory block"))
}

// failure adds the server's log to the error.
func (c *Cluster) failure(err error) error {
	log, _ := os.ReadFile(c.logFile())
	return fmt.Errorf("PostgreSQL did not start: %w\n%s", err, log)
}

// Close stops the server and removes its files.
func (c *Cluster) Close() error {
	err := c.Stop(Immediate)
	if c.reaper == nil {
		return errors.Join(err, os.RemoveAll(c.dir))
	}
	return errors.Join(err, c.reaper.Finish())
}

// initdb creates the data folder. Its collation is deliberately not C: if a query that must sort by
// bytes lacks COLLATE "C", a test fails.
func (c *Cluster) initdb() error {
	password := filepath.Join(c.dir, "password")
	if err := os.WriteFile(password, []byte(c.password+"\n"), 0o644); err != nil { // the folder is 0700
		return err
	}
	cmd := c.command("initdb", "-D", c.dataDir(), "-U", superuser, "--pwfile", password, "--no-sync",
		"--auth-local=trust", "--auth-host=password", "--encoding=UTF8",
		"--locale=C", "--locale-provider=icu", "--icu-locale=en-US")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// command returns the command of one of PostgreSQL's programs, as the owner of the files.
func (c *Cluster) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, program), args...)
	cmd.Dir = c.dir
	cmd.SysProcAttr = c.attr
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	return cmd
}

func (c *Cluster) address() string { return net.JoinHostPort("127.0.0.1", c.port) }
func (c *Cluster) dataDir() string { return filepath.Join(c.dir, "data") }
func (c *Cluster) logFile() string { return filepath.Join(c.dir, "log") }
