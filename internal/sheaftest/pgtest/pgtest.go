// Package pgtest provides a real PostgreSQL for tests: a database for one test on a cluster that
// the whole run shares, or a cluster for one test that may stop and kill it. It starts the
// installed binaries. It does not use a cluster that was already running, except the one named by
// SHEAF_TEST_POSTGRES_URL.
//
// A test package needs no TestMain: however the process ends, its cluster is stopped and the files
// are deleted.
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sheaf.dev/internal/sheaftest"
)

const (
	// EnvURL is the URL of a running cluster, with a superuser. URL creates its databases there.
	EnvURL = "SHEAF_TEST_POSTGRES_URL"
	// EnvEnds is 1 if that cluster ends with the run, so that a template may stay on it.
	EnvEnds = "SHEAF_TEST_POSTGRES_ENDS"
)

// timeout bounds every operation on a cluster. None takes nearly as long, even on a busy machine.
const timeout = 5 * time.Minute

// URL returns the URL of a new, empty database. It is dropped when the test ends, even if
// connections are open. The first call in a process starts a cluster, unless
// SHEAF_TEST_POSTGRES_URL names one. Without PostgreSQL the test is skipped, or fails if
// SHEAF_TEST_REQUIRE is 1.
func URL(t testing.TB) string {
	t.Helper()
	server, err := shared()
	if err != nil {
		unavailable(t, err)
	}
	return create(t, server, emptyTemplate)
}

// emptyTemplate accepts no connections, so any number of tests can copy it at once.
const emptyTemplate = "template0"

// create returns the URL of a new copy of the template, which is dropped when the test ends.
func create(t testing.TB, server, template string) string {
	t.Helper()
	name := "sheaf_test_" + strings.ToLower(rand.Text())
	if err := execute(server, "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		t.Fatalf("create the test's database: %v", err)
	}
	t.Cleanup(func() {
		if err := execute(server, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return withDatabase(server, name)
}

// shared returns the superuser's URL of the cluster that all tests of this process use.
var shared = sync.OnceValues(func() (string, error) {
	if given := os.Getenv(EnvURL); given != "" {
		return given, nil
	}
	c, err := Launch()
	if err != nil {
		return "", err
	}
	return c.URL(), nil
})

// unavailable ends the test. If PostgreSQL is not installed, the test is skipped; any other error
// is a failure.
func unavailable(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, ErrNotInstalled) {
		sheaftest.Unable(t, err.Error())
	}
	t.Fatal(err)
}

// execute runs one statement on a connection of its own.
// Execute runs statements on a database.
func Execute(url, statements string) error { return execute(url, statements) }

func execute(server, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// withDatabase returns the server's URL with another database in it.
func withDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic(fmt.Sprintf("pgtest: pgx took an address that is no URL; %s must be one", EnvURL))
	}
	u.Path = "/" + name
	return u.String()
}
