package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// channel is what nodes tell each other on: only "look again", never what.
	channel = "sheaf_changed"
	// tellEvery bounds how often a node tells. NOTIFY takes a lock of the
	// whole database at its commit, so it is never in a write's transaction.
	tellEvery = 5 * time.Millisecond
	// showEvery bounds how often a node tells what only shows on pages.
	showEvery = time.Second
	// shown ends the payload that tells so.
	shown = " shown"
	// listenRest is the pause before a lost connection is opened again. What
	// is missed meanwhile the polls find.
	listenRest = 500 * time.Millisecond
	// silence is after how long without news the server is asked whether it is
	// still there: one that is frozen or cut off closes no connection.
	silence = 5 * time.Second
)

// neighbours tells other nodes of this one's commits.
type neighbours struct {
	node    string
	changed chan struct{} // has room for one
	shown   chan struct{} // has room for one
}

func newNeighbours() *neighbours {
	return &neighbours{node: rand.Text(), changed: make(chan struct{}, 1), shown: make(chan struct{}, 1)}
}

// read returns what another node told; false when it was this one.
func (n *neighbours) read(payload string) (Note, bool) {
	node, onlyShows := strings.CutSuffix(payload, shown)
	if onlyShows {
		return Note{Recorded: true}, node != n.node
	}
	return everything, node != n.node
}

// tell notes a commit that concerns other nodes; it returns at once.
func (n *neighbours) tell(note Note) {
	if note.urgent() {
		signal(n.changed)
	} else if note.Recorded {
		signal(n.shown)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// watch tells the other nodes of commits here, and reports theirs, until ctx
// ends. A lost connection is opened again.
func (e *postgresEngine) watch(ctx context.Context, tell func(Note)) error {
	var telling sync.WaitGroup
	telling.Go(func() { e.tellOthers(ctx, e.neighbours.changed, e.neighbours.node, tellEvery) })
	telling.Go(func() { e.tellOthers(ctx, e.neighbours.shown, e.neighbours.node+shown, showEvery) })
	for ctx.Err() == nil {
		if err := e.listen(ctx, tell); err != nil && ctx.Err() == nil {
			e.log.Warn("lost the connection on which other nodes tell of changes", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(listenRest):
			tell(everything) // whatever was told meanwhile was missed
		}
	}
	telling.Wait()
	return nil
}

// tellOthers sends the payload whenever there is a sign, at most once in every.
func (e *postgresEngine) tellOthers(ctx context.Context, signs <-chan struct{}, payload string, every time.Duration) {
	rest := time.NewTicker(every)
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-signs:
		}
		if _, err := e.pool.Exec(ctx, "SELECT pg_notify($1, $2)", channel, payload); err != nil && ctx.Err() == nil {
			e.log.Warn("could not tell other nodes of a change", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-rest.C:
		}
	}
}

// listen reports what other nodes tell, on a connection of its own.
func (e *postgresEngine) listen(ctx context.Context, tell func(Note)) error {
	c, err := pgx.ConnectConfig(ctx, e.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	if _, err := c.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	tell(everything)
	for {
		n, err := heard(ctx, c)
		if err != nil {
			return err
		}
		if n == nil {
			continue
		}
		if note, others := e.neighbours.read(n.Payload); others {
			tell(note)
		}
	}
}

// heard waits for a notification, and returns nil when there was none but the
// server is still there.
func heard(ctx context.Context, c *pgx.Conn) (*pgconn.Notification, error) {
	wait, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	n, err := c.WaitForNotification(wait)
	if err == nil || ctx.Err() != nil || wait.Err() == nil {
		return n, err
	}
	ping, cancel := context.WithTimeout(ctx, firstTimeout)
	defer cancel()
	return nil, c.Ping(ping)
}

// alone runs fn if no other node runs the chore of that name now. Should the
// connection that holds the lock die, another node may begin beside it: chores
// are such that this does no harm.
func (e *postgresEngine) alone(ctx context.Context, chore string, fn func(context.Context) error) error {
	c, err := e.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("lock chore %s: %w", chore, postgresError(err))
	}
	defer c.Release()
	key := lockKey(chore)
	var got bool
	if err := c.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", key).Scan(&got); err != nil || !got {
		return postgresError(err)
	}
	defer c.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", key)
	return fn(ctx)
}

func lockKey(chore string) int64 {
	h := fnv.New64a()
	h.Write([]byte("sheaf chore " + chore))
	return int64(h.Sum64())
}
