package engine

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"sheaf.dev/internal/sheaf"
)

// Some features of PostgreSQL need a session: LISTEN, the locks of chores and migrations, and
// prepared statements. A pooler in transaction mode, such as pgbouncer, gives the connection to
// another client after each transaction:
//
//	transactions   DatabaseURL ── pooler ──┐
//	                                       PostgreSQL
//	sessions       DirectURL ──────────────┘
//
// With a DirectURL, transactions use no prepared statements, and everything that needs a session
// uses the DirectURL. Without one, DatabaseURL must keep sessions, which is checked at the start.
// Otherwise a lock would stay with a connection that another client has got, and prepared
// statements would sometimes be missing.

const (
	// throughPooler sends the text of each statement with its arguments. The result columns are
	// described once and cached, so that rows come in the binary format.
	throughPooler = pgx.QueryExecModeCacheDescribe
	// sessionConns is the size of the pool of direct connections: one for each chore that may run
	// at the same time. Listen and Snapshots open their own.
	sessionConns = 4
	// sessionTries is how often keepsSession checks whether a pooler gives the connection away. A busy pooler often hands the
	// other connection another process, so a few tries find nothing.
	sessionTries = 40
	// sessionTimeout is the limit of a check for which no answer is a result too.
	sessionTimeout = 5 * time.Second
)

// sessionURL returns the address that must keep sessions, and its flag.
func (o Options) sessionURL() (url, flag string) {
	if o.DirectURL != "" {
		return o.DirectURL, "--database-direct-url"
	}
	return o.DatabaseURL, "--database-url"
}

// openSessions connects to the address that must keep sessions, and checks that it does.
func (e *Postgres) openSessions(ctx context.Context) (err error) {
	e.sessions = e.pool
	url, flag := e.options.sessionURL()
	if e.options.DirectURL != "" {
		config, err := parsePostgres(url, flag)
		if err != nil {
			return err
		}
		config.MaxConns = sessionConns
		if e.sessions, err = e.connect(ctx, config, url, flag); err != nil {
			e.sessions = nil
			return err
		}
	}
	c, err := e.sessions.Acquire(ctx)
	if err != nil {
		return unreachable(ctx, url, flag, err)
	}
	defer c.Release()
	if err := keepsSession(ctx, c.Conn(), flag); err != nil || e.sessions == e.pool {
		return err
	}
	return e.sameDatabase(ctx, c)
}

// needSession is keepsSession for the migrations, which use database/sql.
func needSession(ctx context.Context, db *sql.DB, flag string) error {
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Raw(func(driver any) error { return keepsSession(ctx, driver.(*stdlib.Conn).Conn(), flag) })
}

// keepsSession returns an error, worded for a person, if a pooler gives the connection away between
// two transactions. A pooler is detected by the server's process id: it cannot know that id when a
// client connects. Whether it keeps sessions is detected by whether the id changes when another
// connection takes the process for a transaction.
func keepsSession(ctx context.Context, c *pgx.Conn, flag string) error {
	process, err := serverProcess(ctx, c)
	if err != nil {
		return sheaf.UnavailableError(err)
	}
	if process == c.PgConn().PID() {
		return nil
	}
	// A longer connect timeout means that the server may be slow to answer, too.
	ctx, cancel := context.WithTimeout(ctx, max(sessionTimeout, c.Config().ConnectTimeout))
	defer cancel()
	other, err := pgx.ConnectConfig(ctx, c.Config())
	if err != nil {
		return nil // the pooler has no second connection, so it cannot give ours away
	}
	defer other.Close(context.WithoutCancel(ctx))
	for range sessionTries {
		if _, err := other.Exec(ctx, "BEGIN; SELECT 1"); err != nil {
			return nil // likewise
		}
		now, err := serverProcess(ctx, c)
		if err != nil || now != process { // no answer: the other connection has the only process
			if flag == "--database-direct-url" {
				return errors.New("--database-direct-url leads through a pooler in transaction mode: give the address of PostgreSQL itself")
			}
			return errors.New("--database-url leads through a pooler in transaction mode: give the address of PostgreSQL itself " +
				"by --database-direct-url too, or let the pooler keep sessions (pgbouncer: pool_mode = session)")
		}
		if _, err := other.Exec(ctx, "ROLLBACK"); err != nil {
			return sheaf.UnavailableError(err)
		}
	}
	return nil
}

// serverProcess returns the id of the server process behind a connection, without a prepared
// statement.
func serverProcess(ctx context.Context, c *pgx.Conn) (pid uint32, err error) {
	err = c.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&pid)
	return pid, err
}

// sameDatabase returns an error, worded for a person, unless the pool and the direct connection
// lead to the same database: a lock taken by one must be held for the other. Otherwise nodes would
// not hear of each other, and several would run the same chore.
func (e *Postgres) sameDatabase(ctx context.Context, direct *pgxpool.Conn) error {
	var random [8]byte
	_, _ = rand.Read(random[:])
	key := int64(binary.BigEndian.Uint64(random[:])) // #nosec G115 -- any number will do
	return e.on(ctx, ctx, "BEGIN", func(c *postgresConn) error {
		defer c.c.Exec(ctx, "ROLLBACK")
		if _, err := c.exec("SELECT pg_advisory_xact_lock($1)", []any{key}); err != nil {
			return err
		}
		var free bool
		if err := direct.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1)", key).Scan(&free); err != nil {
			return fmt.Errorf("ask --database-direct-url for a lock: %w", postgresError(err))
		}
		if free {
			return errors.New("--database-direct-url leads to another database than --database-url: give both the same one")
		}
		return nil
	})
}
