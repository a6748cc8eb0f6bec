package engine

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// channel is the NOTIFY channel of all nodes. Notices say where to look, never what is there.
	channel = "sheaf_changed"
	// listenRest is the pause before a lost connection is opened again. Polling finds what is
	// missed meanwhile.
	listenRest = 500 * time.Millisecond
	// silence is the time without a notice after which the server is pinged: a frozen or
	// unreachable server closes no connection.
	silence = 5 * time.Second
)

// Notify implements Engine. It is never part of a write's transaction, because NOTIFY locks the
// whole database at its commit.
func (e *Postgres) Notify(ctx context.Context, notice string) error {
	_, err := e.pool.Exec(ctx, "SELECT pg_notify($1, $2)", channel, notice)
	return err
}

// Listen implements Engine. A lost connection is opened again.
func (e *Postgres) Listen(ctx context.Context, heard func(notice string), missed func()) {
	for ctx.Err() == nil {
		if err := e.listen(ctx, heard, missed); err != nil && ctx.Err() == nil {
			e.options.Log.Warn("lost the connection on which other nodes tell of changes", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(listenRest):
			missed() // notices sent meanwhile are lost
		}
	}
}

// listen calls heard for each notice, on a connection of its own, until the connection fails.
func (e *Postgres) listen(ctx context.Context, heard func(notice string), missed func()) error {
	c, err := pgx.ConnectConfig(ctx, e.sessions.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	if _, err := c.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	missed()
	for {
		n, err := e.next(ctx, c)
		if err != nil {
			return err
		}
		if n != nil {
			heard(n.Payload)
		}
	}
}

// next waits for a notification. It returns nil if there was none but the server still answers.
func (e *Postgres) next(ctx context.Context, c *pgx.Conn) (*pgconn.Notification, error) {
	wait, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	n, err := c.WaitForNotification(wait)
	if err == nil || ctx.Err() != nil || wait.Err() == nil {
		return n, err
	}
	ping, cancel := context.WithTimeout(ctx, e.first)
	defer cancel()
	return nil, c.Ping(ping)
}

// EmptyLog implements Engine. It does nothing: VACUUM reclaims what was deleted.
func (e *Postgres) EmptyLog() {}

// Alone implements Engine. If the connection that holds the lock dies, another node may start the
// chore beside it: chores are written so that this does no harm.
func (e *Postgres) Alone(ctx context.Context, chore string, fn func(context.Context) error) error {
	c, err := e.sessions.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("lock chore %s: %w", chore, postgresError(err))
	}
	defer c.Release()
	// The key of the chore's advisory lock.
	h := fnv.New64a()
	h.Write([]byte("sheaf chore " + chore))
	key := int64(h.Sum64())
	var got bool
	if err := c.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", key).Scan(&got); err != nil || !got {
		return postgresError(err)
	}
	defer c.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", key)
	return fn(ctx)
}
