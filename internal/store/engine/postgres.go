package engine

import (
	"context"
	"errors"
	"fmt"
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
	// WriteTimeout is the limit of a whole transaction. A client that disconnects does not end it.
	WriteTimeout = 30 * time.Second
	// longTimeout is the limit of a restore or a cascade.
	longTimeout = 24 * time.Hour
	// firstTimeout is the limit of the first statement on a connection, which waits for no lock: if
	// it takes longer, the server is not responding. If the connect timeout is longer, that
	// applies.
	firstTimeout = 5 * time.Second
	// silentTimeout is how long a call waits for a connection and its first answer while the server
	// answers no other call either. It is below 2 seconds, within which the answer 503 is promised.
	// If the connect timeout is longer, that applies.
	silentTimeout = 1500 * time.Millisecond
	// connectTimeout is the limit of connecting to one host, unless the URL sets another;
	// pingTimeout is that of a ping on an idle connection.
	connectTimeout = 3 * time.Second
	pingTimeout    = 2 * time.Second
	// maxReruns is how often a transaction that PostgreSQL aborts is tried. The pause between two
	// tries grows from about firstPause to longestPause.
	maxReruns    = 10
	firstPause   = 2 * time.Millisecond
	longestPause = 200 * time.Millisecond
)

// Postgres is one PostgreSQL database, which any number of nodes share.
type Postgres struct {
	pool     *pgxpool.Pool
	sessions *pgxpool.Pool // for statements that need a session; the same as pool if that keeps sessions
	size     int32         // the most connections of the pool
	first    time.Duration // limit of the first statement on a connection
	silent   time.Duration // limit of the wait for a server that answers no call
	heard    atomic.Int64  // when the server last answered, in nanoseconds since 1970
	options  Options       // has the functions to call about commits
	// pause waits for d, or until ctx ends. Tests replace it.
	pause func(ctx context.Context, d time.Duration)
}

// openPostgres connects, with timeouts that allow for a database that is unreachable or frozen.
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

// parsePostgres parses the address; flag is the option that it came from.
func parsePostgres(url, flag string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New(flag + " is not a PostgreSQL address: write postgres://user:password@host:5432/database")
	}
	return config, nil
}

// connect returns a pool that has reached the server.
func (e *Postgres) connect(ctx context.Context, config *pgxpool.Config, url, flag string) (*pgxpool.Pool, error) {
	// A frozen or unreachable host refuses nothing: only a timeout detects it.
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
		return nil, unreachable(ctx, url, flag, err)
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

// unreachable returns an error that names the host, without the password. If ctx has ended, the error
// says that instead: the driver may report it as a bad connection.
func unreachable(ctx context.Context, url, flag string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("stopped before PostgreSQL answered: %w", cause)
	}
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

// on runs fn on a connection of the pool, after the statement begin. The end of `wait` stops it
// while it waits for a connection; after that, the end of ctx does. If the connection proves dead
// at the first statement, as all do after a restart of the server, it is replaced: nothing was done
// on it. If begin is empty, fn must be one statement that only reads. While the server answers
// nothing, calls give up early (errSilent).
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
			e.pool.Reset() // the other connections lead to the same server
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

// WriteIn implements Engine. It does not queue by tenant: transactions wait for a connection, which
// Slots distributes.
func (e *Postgres) WriteIn(ctx context.Context, _ string, fn func(*Tx) error) error {
	return e.Write(ctx, fn)
}

// WriteHeavyIn implements Engine.
func (e *Postgres) WriteHeavyIn(ctx context.Context, _ string, fn func(*Tx) error) error {
	return e.WriteLong(ctx, fn)
}

// WriteLong implements Engine.
func (e *Postgres) WriteLong(ctx context.Context, fn func(*Tx) error) error {
	return e.writeWithin(ctx, longTimeout, fn)
}

// writeWithin runs fn in a transaction that lasts at most `limit`. It runs fn again if PostgreSQL
// aborted the transaction for a reason of its own.
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
			return sheaf.UnavailableError(err) // no transaction is under way, so the caller may leave
		}
	}
}

// pauseAfter returns the pause after a transaction was aborted n times. It is random, so that
// transactions that collided do not collide again, and grows with n. chance is from 0 to 1.
func pauseAfter(n int, chance float64) time.Duration {
	longest := min(firstPause<<(n-1), longestPause)
	return longest/2 + time.Duration(chance*float64(longest/2))
}

// once runs fn in one transaction. From its first statement until COMMIT is answered, a client that
// disconnects cannot cancel it.
func (e *Postgres) once(ctx context.Context, limit time.Duration, fn func(*Tx) error) error {
	wait, cancel := context.WithTimeout(ctx, WriteTimeout)
	defer cancel()
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	tx := &Tx{Reader: Reader{dialect: onPostgres}}
	settle := func(bool) {}
	err := e.on(wait, ctx, "BEGIN", func(c *postgresConn) error {
		tx.conn, c.writes = c, true
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

// postgresConn implements conn with pgx's native API.
type postgresConn struct {
	ctx  context.Context
	c    *pgx.Conn
	hear func() // called when the server has answered

	writes bool // in a transaction that may write
}

// query implements conn.
func (c *postgresConn) query(sql string, args []any, each func(*Row) error) error {
	if c.writes {
		failpoint.Pass(failpoint.Statement)
	}
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
	if c.writes {
		failpoint.Pass(failpoint.Statement)
	}
	tag, err := c.c.Exec(c.ctx, sql, plainAll(args)...)
	if err == nil {
		c.hear()
	}
	return tag.RowsAffected(), postgresError(err)
}

// commit returns nil only if the server confirmed the commit without a warning. The server answers
// ROLLBACK to the COMMIT of a failed transaction. It sends a warning if the wait for a synchronous
// standby was cancelled; then the standby may lack the transaction. In that case, and if the
// connection is lost, the outcome is unknown.
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

// warned is the key under which a connection stores its server's last warning.
const warned = "sheaf.warned"

// noteWarning stores a warning of the server, for commit.
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
