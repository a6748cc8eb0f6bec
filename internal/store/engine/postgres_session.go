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

// Some of what is asked of PostgreSQL belongs to a session: LISTEN, the locks of chores and
// migrations, statements that are prepared once and then only named. A pooler in transaction mode,
// such as pgbouncer, gives the connection to somebody else after each transaction:
//
//	transactions   DatabaseURL ── pooler ──┐
//	                                       PostgreSQL
//	sessions       DirectURL ──────────────┘
//
// Where there is a DirectURL, transactions name no statement, and whatever belongs to a session
// goes there. Without one, DatabaseURL must keep sessions, which the start makes sure of: behind
// such a pooler a lock would stay with a connection that somebody else has got, and statements
// would not be known, now and then.

const (
	// throughPooler sends the text of each statement with its arguments. What it returns is asked
	// once, so that rows come in the binary format.
	throughPooler = pgx.QueryExecModeCacheDescribe
	// sessionConns bounds the connections of the direct way that wait in a pool: one for each chore
	// that may run at a time. Listening and long snapshots open their own.
	sessionConns = 4
	// sessionTries is how often a pooler may give the connection away.
	sessionTries = 5
	// sessionTimeout bounds a question of which no answer tells something too.
	sessionTimeout = 5 * time.Second
)

// sessionURL is the address that keeps sessions, and its flag.
func (o Options) sessionURL() (url, flag string) {
	if o.DirectURL != "" {
		return o.DirectURL, "--database-direct-url"
	}
	return o.DatabaseURL, "--database-url"
}

// openSessions connects to what keeps sessions, and makes sure that it does.
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
		return unreachable(url, flag, err)
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

// keepsSession returns an error, for a person, when something on the way to PostgreSQL gives the
// connection away between two transactions. A pooler shows by the number of the server's process,
// which it cannot know when a client connects. Whether it pools sessions shows by whether that
// number changes when somebody else takes the process for a transaction.
func keepsSession(ctx context.Context, c *pgx.Conn, flag string) error {
	process, err := serverProcess(ctx, c)
	if err != nil {
		return sheaf.UnavailableError(err)
	}
	if process == c.PgConn().PID() {
		return nil
	}
	// Who allows more time to connect has a server that may be slow to answer too.
	ctx, cancel := context.WithTimeout(ctx, max(sessionTimeout, c.Config().ConnectTimeout))
	defer cancel()
	other, err := pgx.ConnectConfig(ctx, c.Config())
	if err != nil {
		return nil // it has no second connection for us, and so none to give away
	}
	defer other.Close(context.WithoutCancel(ctx))
	for range sessionTries {
		if _, err := other.Exec(ctx, "BEGIN; SELECT 1"); err != nil {
			return nil // likewise
		}
		now, err := serverProcess(ctx, c)
		if err != nil || now != process { // no answer: the other one has got the only process
			return gaveAway(flag)
		}
		if _, err := other.Exec(ctx, "ROLLBACK"); err != nil {
			return sheaf.UnavailableError(err)
		}
	}
	return nil
}

// serverProcess asks for the number of the process behind a connection, without preparing the
// question.
func serverProcess(ctx context.Context, c *pgx.Conn) (pid uint32, err error) {
	err = c.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&pid)
	return pid, err
}

// gaveAway says which setting to change.
func gaveAway(flag string) error {
	if flag == "--database-direct-url" {
		return errors.New("--database-direct-url leads through a pooler in transaction mode: give the address of PostgreSQL itself")
	}
	return errors.New("--database-url leads through a pooler in transaction mode: give the address of PostgreSQL itself " +
		"by --database-direct-url too, or let the pooler keep sessions (pgbouncer: pool_mode = session)")
}

// sameDatabase returns an error, for a person, unless a lock that is taken through the pool is held
// for the direct connection too: else nodes would not hear of each other, and chores not be alone.
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
