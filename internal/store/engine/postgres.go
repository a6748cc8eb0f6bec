package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/sheaf"
)

const (
	// WriteTimeout bounds a whole transaction; no client's leaving does.
	WriteTimeout = 30 * time.Second
	// longTimeout bounds a restore.
	longTimeout = 24 * time.Hour
	// firstTimeout bounds the first statement on a connection, which waits for nobody's lock:
	// longer than that, and its server does not answer any more. Where connecting may take longer,
	// so may that.
	firstTimeout = 5 * time.Second
	// silentTimeout is how long one waits for a connection and its first answer while the server
	// says nothing to anybody else either: the answer 503 is promised within 2 seconds. Where
	// connecting may take longer, so may that.
	silentTimeout = 1500 * time.Millisecond
	// connectTimeout bounds the way to one host, unless the URL says otherwise; pingTimeout bounds
	// the question to an idle connection.
	connectTimeout = 3 * time.Second
	pingTimeout    = 2 * time.Second
	// maxReruns bounds how often a transaction that PostgreSQL undid is tried; between two tries it
	// pauses, from about firstPause up to longestPause.
	maxReruns    = 10
	firstPause   = 2 * time.Millisecond
	longestPause = 200 * time.Millisecond
)

// Postgres is one PostgreSQL database, which any number of nodes share.
type Postgres struct {
	pool     *pgxpool.Pool
	sessions *pgxpool.Pool // for what belongs to a session; the pool itself where that keeps them
	size     int32         // how many connections the pool may have
	first    time.Duration // bounds the first statement on a connection
	silent   time.Duration // bounds the wait for a server that says nothing to anybody
	heard    atomic.Int64  // when the server last said something, in nanoseconds since 1970
	options  Options       // who is told
	// pause waits that long, or until ctx ends. Tests replace it.
	pause func(ctx context.Context, d time.Duration)
}

// openPostgres connects, with the timeouts of a service whose database may be cut off or frozen.
func openPostgres(ctx context.Context, o Options) (*Postgres, error) {
	config, err := parsePostgres(o.DatabaseURL, "--database-url")
	if err != nil {
		return nil, err
	}
	if config.MaxConns < 8 && !strings.Contains(o.DatabaseURL, "pool_max_conns") {
		config.MaxConns = 16
	}
	if o.Connections > 0 {
		config.MaxConns = int32(o.Connections)
	}
	// Rows are read in the binary format, which the simple protocol lacks.
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	if o.DirectURL != "" {
		config.ConnConfig.DefaultQueryExecMode = throughPooler
	}
	e := &Postgres{size: config.MaxConns, options: o, pause: pause}
	patient := config.ConnConfig.ConnectTimeout
	e.first, e.silent = max(firstTimeout, patient), max(silentTimeout, patient)
	if e.pool, err = e.connect(ctx, config, o.DatabaseURL, "--database-url"); err != nil {
		return nil, err
	}
	if err := e.openSessions(ctx); err != nil {
		_ = e.Close()
		return nil, err
	}
	return e, nil
}

// parsePostgres reads the address that a flag names.
func parsePostgres(url, flag string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New(flag + " is not a PostgreSQL address: write postgres://user:password@host:5432/database")
	}
	return config, nil
}

// connect returns a pool that has reached its server.
func (e *Postgres) connect(ctx context.Context, config *pgxpool.Config, url, flag string) (*pgxpool.Pool, error) {
	// A host that is frozen or cut off refuses nothing: only time tells.
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	config.PingTimeout = pingTimeout
	config.ConnConfig.OnNotice = noteWarning
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("the PostgreSQL address cannot be used: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, unreachable(url, flag, err)
	}
	return pool, nil
}

// pause waits that long, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// unreachable says where PostgreSQL was looked for, without the password.
func unreachable(url, flag string, err error) error {
	where := "the address given"
	if c, parseErr := pgconn.ParseConfig(url); parseErr == nil {
		where = c.Host
	}
	return fmt.Errorf("PostgreSQL cannot be reached at %s: check %s and that it runs: %w", where, flag, err)
}

// Connections implements Engine.
func (e *Postgres) Connections() (reads, writes int) { return int(e.size), int(e.size) }

var onPostgres = Dialect{Postgres: true}

// Close implements Engine.
func (e *Postgres) Close() error {
	e.pool.Close()
	if e.sessions != nil && e.sessions != e.pool {
		e.sessions.Close()
	}
	return nil
}

// Read implements Engine.
func (e *Postgres) Read(ctx context.Context, fn func(*Reader) error) error {
	return e.on(ctx, ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", func(c *postgresConn) error {
		defer c.c.Exec(c.ctx, "ROLLBACK")
		return fn(&Reader{conn: c, dialect: onPostgres})
	})
}

// on runs fn on a connection of the pool, after begin. Until there is one, the end of wait stops
// it; from then on, that of ctx. A connection that proves dead at the first statement, as all do
// after a restart of the server, is replaced: nothing was done on it. Without begin, fn is one
// statement that only reads. While the server says nothing, nobody waits for long.
func (e *Postgres) on(wait, ctx context.Context, begin string, fn func(*postgresConn) error) error {
	begun := time.Now()
	for dead := int32(0); ; dead++ {
		c, err := e.acquire(wait, begun)
		if err != nil {
			return sheaf.UnavailableError(err)
		}
		again, err := e.use(ctx, c, begun, begin, fn)
		if !again || dead > e.size || errors.Is(err, errSilent) {
			return err
		}
	}
}

// acquire waits for a connection of the pool.
func (e *Postgres) acquire(wait context.Context, begun time.Time) (*pgxpool.Conn, error) {
	wait, done := e.attend(wait, begun, 0)
	defer done()
	c, err := e.pool.Acquire(wait)
	return c, orSilent(wait, err)
}

// use runs fn on c, and reports whether c was dead before anything was done.
func (e *Postgres) use(ctx context.Context, c *pgxpool.Conn, begun time.Time, begin string, fn func(*postgresConn) error) (dead bool, err error) {
	defer c.Release()
	first, done := e.attend(ctx, begun, e.first)
	defer done()
	conn := &postgresConn{ctx: first, c: c.Conn(), hear: e.hear}
	if begin == "" {
		err = fn(conn)
	} else {
		_, err = conn.exec(begin, nil)
	}
	if err != nil {
		if first.Err() != nil && ctx.Err() == nil {
			e.pool.Reset() // the others lead to the same server
		}
		return conn.c.IsClosed(), orSilent(first, err)
	}
	if begin == "" {
		return false, nil
	}
	done()
	conn.ctx = ctx
	return false, fn(conn)
}

// Write implements Engine.
func (e *Postgres) Write(ctx context.Context, fn func(*Tx) error) error {
	return e.writeWithin(ctx, WriteTimeout, fn)
}

// WriteIn implements Engine: transactions wait for a connection, which Slots share out.
func (e *Postgres) WriteIn(ctx context.Context, _ string, fn func(*Tx) error) error {
	return e.Write(ctx, fn)
}

// WriteLong implements Engine.
func (e *Postgres) WriteLong(ctx context.Context, fn func(*Tx) error) error {
	return e.writeWithin(ctx, longTimeout, fn)
}

// writeWithin runs fn in a transaction that lasts for the limit at most, and again when PostgreSQL
// undid it for reasons of its own.
func (e *Postgres) writeWithin(ctx context.Context, limit time.Duration, fn func(*Tx) error) error {
	for n := 1; ; n++ {
		err := e.once(ctx, limit, fn)
		if !rerun(err) {
			return err
		}
		if n == maxReruns {
			return sheaf.UnavailableError(err)
		}
		if e.pause(ctx, pauseAfter(n, rand.Float64())); ctx.Err() != nil {
			return sheaf.UnavailableError(err) // nothing is under way: whoever left need not be waited for
		}
	}
}

// pauseAfter is how long a transaction that PostgreSQL undid n times waits: at random, so that
// those which met do not meet again, and the longer the more often it happened. chance is from 0 to
// 1.
func pauseAfter(n int, chance float64) time.Duration {
	longest := min(firstPause<<(n-1), longestPause)
	return longest/2 + time.Duration(chance*float64(longest/2))
}

// once runs fn in one transaction. From its first statement to the answer of COMMIT no client's
// leaving can cancel it.
func (e *Postgres) once(ctx context.Context, limit time.Duration, fn func(*Tx) error) error {
	wait, cancel := context.WithTimeout(ctx, WriteTimeout)
	defer cancel()
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	tx := &Tx{Reader: Reader{dialect: onPostgres}}
	settle := func(bool) {}
	err := e.on(wait, ctx, "BEGIN", func(c *postgresConn) error {
		tx.conn = c
		failpoint.Pass(failpoint.Begun)
		if err := safely(fn, tx); err != nil {
			c.c.Exec(ctx, "ROLLBACK")
			return err
		}
		settle = e.options.Committing([]any{tx.Note})
		failpoint.Pass(failpoint.BeforeCommit)
		return c.commit()
	})
	failpoint.Pass(failpoint.AfterCommit)
	settle(err == nil)
	return err
}

// ReadOne implements Engine.
func (e *Postgres) ReadOne(ctx context.Context, fn func(*Reader) error) error {
	return e.on(ctx, ctx, "", func(c *postgresConn) error { return fn(&Reader{conn: c, dialect: onPostgres}) })
}

// postgresConn is a connection of pgx' native API.
type postgresConn struct {
	ctx  context.Context
	c    *pgx.Conn
	hear func() // is told that the server has said something
}

// query implements conn.
func (c *postgresConn) query(sql string, args []any, each func(*Row) error) error {
	rows, err := c.c.Query(c.ctx, sql, plainAll(args)...)
	if err != nil {
		return postgresError(err)
	}
	defer rows.Close()
	r := &Row{oids: rows.FieldDescriptions()}
	for rows.Next() {
		r.raw, r.at = rows.RawValues(), 0
		if err := each(r); err != nil {
			return err
		}
	}
	c.hear()
	return postgresError(rows.Err())
}

// exec implements conn.
func (c *postgresConn) exec(sql string, args []any) (int64, error) {
	tag, err := c.c.Exec(c.ctx, sql, plainAll(args)...)
	if err == nil {
		c.hear()
	}
	return tag.RowsAffected(), postgresError(err)
}

// commit returns nil only when the server said without a warning that the transaction is committed:
// it answers ROLLBACK to the COMMIT of a failed one, and a warning when somebody cancelled the wait
// for a synchronous standby, which may then lack it. That is unknown, as is a lost connection.
func (c *postgresConn) commit() error {
	data := c.c.PgConn().CustomData()
	delete(data, warned)
	tag, err := c.c.Exec(c.ctx, "COMMIT")
	if err != nil {
		return postgresError(err)
	}
	if w, ok := data[warned]; ok {
		return sheaf.UnavailableError(fmt.Errorf("commit: the server warned: %v", w))
	}
	if tag.String() != "COMMIT" {
		return fmt.Errorf("commit: the server answered %q", tag.String())
	}
	return nil
}

// warned is where a connection keeps the last warning of its server.
const warned = "sheaf.warned"

// noteWarning keeps a warning of the server, for commit to find.
func noteWarning(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.SeverityUnlocalized == "WARNING" {
		c.CustomData()[warned] = n.Message
	}
}

// plainAll is plain for all arguments of a statement.
func plainAll(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = plain(a)
	}
	return out
}

// isClosed reports whether the connection went away under the statement.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
}
