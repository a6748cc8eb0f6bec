package engine

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// Snapshots implements Engine. It takes no connection from the pool. The end of ctx interrupts it,
// even in the middle of a query. So does a write-ahead log that grows too large meanwhile.
func (e *SQLite) Snapshots(ctx context.Context) (snapshot func(func(*Reader) error) error, done func(), err error) {
	c, err := openConn(e.path, true)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c.c.SetInterrupt(ctx.Done())
	return func(fn func(*Reader) error) error {
		defer e.snapshots.begin(c, cancel)()
		if _, err := c.exec("BEGIN", nil); err != nil {
			return interrupted(ctx, err)
		}
		defer c.c.SetInterrupt(ctx.Done())
		err := fn(&Reader{conn: c})
		c.c.SetInterrupt(nil) // otherwise ROLLBACK would be interrupted too
		_, ended := c.exec("ROLLBACK", nil)
		return interrupted(ctx, errors.Join(err, ended))
	}, func() { cancel(nil); c.close() }, nil
}

// Snapshots implements Engine.
func (e *Postgres) Snapshots(ctx context.Context) (snapshot func(func(*Reader) error) error, done func(), err error) {
	config := e.sessions.Config().ConnConfig.Copy()
	// By default pgx would close the connection, and wait 15 s for the server.
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: firstTimeout}
	}
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, nil, postgresError(err)
	}
	conn := &postgresConn{ctx: ctx, c: c, hear: e.hear}
	return func(fn func(*Reader) error) error {
		if _, err := conn.exec("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", nil); err != nil {
			return interrupted(ctx, err)
		}
		defer c.Exec(context.WithoutCancel(ctx), "ROLLBACK")
		return interrupted(ctx, fn(&Reader{conn: conn, dialect: onPostgres}))
	}, func() { c.Close(context.WithoutCancel(ctx)) }, nil
}

// interrupted returns the reason why ctx ended if there is an error and ctx has ended; otherwise
// err.
func interrupted(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() == nil:
		return err
	case errors.Is(context.Cause(ctx), errGrownBySnapshot):
		return errGrownBySnapshot
	}
	return ctx.Err()
}
