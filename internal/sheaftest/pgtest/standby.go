package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"sheaf.dev/internal/sheaftest"
)

// standbyName is the standby's name on the primary.
const standbyName = "sheaf_standby"

// Standby returns a copy of the running cluster that follows it by streaming replication. It is
// synchronous: from now on a COMMIT on the primary returns only when the standby has it, or if the
// wait is cancelled. It is removed when the test ends.
func (c *Cluster) Standby(t testing.TB) *Cluster {
	t.Helper()
	s, err := c.launchStandby()
	if err != nil {
		t.Fatalf("start a standby: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("stop the standby: %v", err)
		}
	})
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '" + standbyName + "'", "SELECT pg_reload_conf()"} {
		if err := execute(c.SocketURL(), statement); err != nil {
			t.Fatalf("make the standby synchronous: %v", err)
		}
	}
	if err := c.awaitStandby(); err != nil {
		t.Fatal(err)
	}
	return s
}

// launchStandby starts a copy of the cluster that follows it.
func (c *Cluster) launchStandby() (*Cluster, error) {
	dir, err := os.MkdirTemp("", "sheaf-pg-")
	if err != nil {
		return nil, err
	}
	s := &Cluster{bin: c.bin, dir: dir, password: c.password, attr: c.attr}
	if err := s.createFrom(c); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// createFrom copies the cluster's files from a running primary.
func (c *Cluster) createFrom(primary *Cluster) error {
	return c.prepare(func() error {
		from := fmt.Sprintf("host=%s port=%s user=%s application_name=%s", primary.dir, primary.port, superuser, standbyName)
		out, err := c.command("pg_basebackup", "-d", from, "-D", c.dataDir(), "-R", "-X", "stream", "-c", "fast", "--no-sync").CombinedOutput()
		if err != nil {
			return fmt.Errorf("pg_basebackup: %w\n%s", err, out)
		}
		return nil
	})
}

// awaitStandby blocks until the primary lists its standby as synchronous.
func (c *Cluster) awaitStandby() error {
	var n int
	var err error
	sheaftest.Within(timeout, func() bool {
		n, err = c.count("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'")
		return err != nil || n > 0
	})
	if err == nil && n == 0 {
		err = errors.New("the standby did not become synchronous")
	}
	return err
}

// count runs a query that returns one number.
func (c *Cluster) count(query string) (n int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.SocketURL())
	if err != nil {
		return 0, err
	}
	err = conn.QueryRow(ctx, query).Scan(&n)
	return n, errors.Join(err, conn.Close(ctx))
}

// Promote makes a standby a primary, and blocks until it accepts writes. It polls with short
// statements, because a long one would be cancelled if it conflicts with the replay.
func (c *Cluster) Promote() error {
	var promoted int
	_, err := c.count("SELECT pg_promote(false)::int")
	if err != nil {
		return err
	}
	sheaftest.Within(timeout, func() bool {
		promoted, err = c.count("SELECT (NOT pg_is_in_recovery())::int")
		return promoted == 1
	})
	if err == nil && promoted != 1 {
		err = errors.New("the standby was not promoted")
	}
	return err
}

// Freeze suspends the server and its child processes: the kernel accepts connections, but no
// process answers. Stop ends a frozen server too.
func (c *Cluster) Freeze() error {
	// The parent is stopped first, so that it cannot fork. Until it has stopped, it still may.
	if err := syscall.Kill(c.server, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("freeze PostgreSQL: %w", err)
	}
	c.frozen = []int{c.server}
	if err := c.awaitStopped(); err != nil {
		return err
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", c.server, c.server))
	if err != nil {
		return fmt.Errorf("freeze PostgreSQL: %w", err)
	}
	for _, child := range strings.Fields(string(children)) {
		pid, err := strconv.Atoi(child)
		if err != nil {
			return err
		}
		if err := syscall.Kill(pid, syscall.SIGSTOP); err == nil {
			c.frozen = append(c.frozen, pid)
		}
	}
	return nil
}

// awaitStopped blocks until the kernel has suspended the server.
func (c *Cluster) awaitStopped() error {
	var status syscall.WaitStatus
	_, err := syscall.Wait4(c.server, &status, syscall.WUNTRACED, nil)
	for errors.Is(err, syscall.EINTR) {
		_, err = syscall.Wait4(c.server, &status, syscall.WUNTRACED, nil)
	}
	if err == nil && !status.Stopped() {
		c.server, c.frozen = 0, nil
		c.reaper.Watch(0)
		err = errors.New("it has ended")
	}
	if err != nil {
		return fmt.Errorf("freeze PostgreSQL: %w", err)
	}
	return nil
}

// thaw resumes the frozen processes, so that they can handle the signal that ends them.
func (c *Cluster) thaw() {
	for _, pid := range c.frozen {
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may have ended
	}
	c.frozen = nil
}

// Either returns the URL for a client that must find the one of the two that accepts writes. Its
// timeouts are long, as those of URL.
func Either(primary, standby *Cluster) string {
	return fmt.Sprintf("%s&connect_timeout=%.0f", ImpatientEither(primary, standby), timeout.Seconds())
}

// ImpatientEither returns the URL without long timeouts, for tests that freeze one of them.
func ImpatientEither(primary, standby *Cluster) string {
	query := url.Values{"sslmode": {"disable"}, "target_session_attrs": {"read-write"}}
	return (&url.URL{Scheme: "postgres", User: url.UserPassword(superuser, primary.password),
		Host: primary.address() + "," + standby.address(), Path: "/postgres", RawQuery: query.Encode()}).String()
}
