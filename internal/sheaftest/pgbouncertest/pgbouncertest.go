// Package pgbouncertest provides a real pgbouncer before a PostgreSQL for one test, which may stop,
// freeze and restart it (package daemon).
package pgbouncertest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/daemon"
)

// ErrNotInstalled says that no pgbouncer was found on the machine.
var ErrNotInstalled = errors.New("pgbouncer is not installed: ./scripts/test installs it")

// Mode says when pgbouncer gives a connection to PostgreSQL to the next client.
type Mode string

// The modes that tests use.
const (
	Session     Mode = "session"
	Transaction Mode = "transaction"
)

// A Server is a pgbouncer for one test.
type Server struct {
	*daemon.Server
	to *url.URL // PostgreSQL
}

// settings is the configuration of pgbouncer: all databases of the server, with the user of its
// address.
const settings = `[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir = %s
pool_mode = %s
auth_type = scram-sha-256
auth_file = %s
max_client_conn = 1000
default_pool_size = %d
server_login_retry = 1
`

// Start returns a running pgbouncer before the PostgreSQL at an address, with `pool` connections to
// it for each database. It is removed when the test ends. Without pgbouncer the test is skipped, or
// fails if SHEAF_TEST_REQUIRE is 1.
func Start(t testing.TB, postgres string, mode Mode, pool int) *Server {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/pgbouncer")
	}
	if err != nil {
		sheaftest.Unable(t, ErrNotInstalled.Error())
	}
	to, err := url.Parse(postgres)
	if err != nil {
		t.Fatal("the address of PostgreSQL is no URL")
	}
	owner, err := daemon.Unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	return &Server{daemon.Start(t, daemon.Config{
		Name:    "pgbouncer",
		Owner:   owner,
		Prepare: func(dir string) error { return writeUsers(dir, to) },
		Command: func(dir, port string) *exec.Cmd {
			file := filepath.Join(dir, "pgbouncer.ini")
			content := fmt.Sprintf(settings, to.Hostname(), to.Port(), port, dir, mode, users(dir), pool)
			if err := os.WriteFile(file, []byte(content), 0o644); err != nil { // the folder is 0700
				t.Error(err)
			}
			return exec.Command(program, file)
		},
		Ready: func(dir, port string) error { return ping(to, dir, port) },
	}), to}
}

func users(dir string) string { return filepath.Join(dir, "users.txt") }

// writeUsers writes the file with the password, which pgbouncer's clients and PostgreSQL use.
func writeUsers(dir string, to *url.URL) error {
	password, _ := to.User.Password()
	line := fmt.Sprintf("%q %q\n", to.User.Username(), password)
	return os.WriteFile(users(dir), []byte(line), 0o644)
}

// ping connects over the socket in our own folder, so that no other server can answer.
func ping(to *url.URL, dir, port string) error {
	ctx, cancel := context.WithTimeout(context.Background(), daemon.Timeout)
	defer cancel()
	at := *to
	at.Host, at.RawQuery = "", url.Values{"host": {dir}, "port": {port}}.Encode()
	c, err := pgx.Connect(ctx, at.String())
	if err != nil {
		return err
	}
	return c.Close(ctx)
}

// URL returns the address of a database through pgbouncer, from the address of the database itself.
// Restart does not change it.
func (s *Server) URL(database string) string {
	u, err := url.Parse(database)
	if err != nil {
		panic("pgbouncertest: the address of a database is no URL")
	}
	u.Host = s.Address()
	return u.String()
}
