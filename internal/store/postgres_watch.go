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

	"sheaf.dev/internal/sheaf"
)

const (
	// channel is what nodes tell each other on: where to look again, never what
	// is there.
	channel = "sheaf_changed"
	// tellEvery bounds how often a node tells. NOTIFY takes a lock of the
	// whole database at its commit, so it is never in a write's transaction.
	tellEvery = 5 * time.Millisecond
	// showEvery bounds how often a node tells what only shows on pages.
	showEvery = time.Second
	// tellWorkspaces is how many workspaces a notice names at most; instead of
	// more it says "all". PostgreSQL allows 8,000 bytes.
	tellWorkspaces = 150
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
	changed *untold // what others act on
	shown   *untold // what only shows on pages
}

func newNeighbours() *neighbours {
	return &neighbours{node: rand.Text(), changed: newUntold(), shown: newUntold()}
}

// untold gathers what the next notice will say.
type untold struct {
	some chan struct{} // has room for one
	mu   sync.Mutex    // guards note
	note Note
}

func newUntold() *untold { return &untold{some: make(chan struct{}, 1)} }

func (u *untold) add(n Note) {
	n.Lanes, n.Changed = nil, nil // notices do not name them
	u.mu.Lock()
	u.note.add(n)
	u.mu.Unlock()
	select {
	case u.some <- struct{}{}:
	default:
	}
}

func (u *untold) take() Note {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := u.note
	u.note = Note{}
	return n
}

// tell notes a commit that concerns other nodes; it returns at once.
func (n *neighbours) tell(note Note) {
	if note.urgent() {
		n.changed.add(note)
	} else if note.Recorded {
		n.shown.add(note)
	}
}

// A notice is the node that tells, a letter for each kind of change, and the
// workspaces, separated by spaces: "NODE ed 0190b0a0-… 0190b0a1-…". Programs
// before this one wrote the node alone, and read any notice as everything.
func (n *neighbours) notice(note Note) string {
	kinds := []byte{}
	for i, is := range note.kinds() {
		if *is {
			kinds = append(kinds, noticeKinds[i])
		}
	}
	words := []string{n.node, string(kinds)}
	if note.Workspaces.All || len(note.Workspaces.IDs) > tellWorkspaces {
		return strings.Join(append(words, "all"), " ")
	}
	for id := range note.Workspaces.IDs {
		words = append(words, string(id))
	}
	return strings.Join(words, " ")
}

// noticeKinds has a letter for each of kinds.
const noticeKinds = "edscr"

func (n *Note) kinds() [len(noticeKinds)]*bool {
	return [...]*bool{&n.Events, &n.Deliveries, &n.Subscriptions, &n.Credentials, &n.Recorded}
}

// read returns what another node told; false when it was this one.
func (n *neighbours) read(notice string) (Note, bool) {
	words := strings.Fields(notice)
	if len(words) < 2 || words[1] == "shown" { // by a program before this one
		return everything, true
	}
	var note Note
	for i, is := range note.kinds() {
		*is = strings.IndexByte(words[1], noticeKinds[i]) >= 0
	}
	// Notices name no lanes.
	note.AnyLane = note.Deliveries || note.Subscriptions
	for _, id := range words[2:] {
		if id == "all" {
			note.Workspaces.All = true
		} else {
			note.Workspaces.Add(sheaf.WorkspaceID(id))
		}
	}
	return note, words[0] != n.node
}

// watch tells the other nodes of commits here, and reports theirs, until ctx
// ends. A lost connection is opened again.
func (e *postgresEngine) watch(ctx context.Context, tell func(Note)) error {
	var telling sync.WaitGroup
	telling.Go(func() { e.tellOthers(ctx, e.neighbours.changed, tellEvery) })
	telling.Go(func() { e.tellOthers(ctx, e.neighbours.shown, showEvery) })
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

// tellOthers sends a notice whenever there is something to tell, at most once in
// every. One that could not be sent goes with the next.
func (e *postgresEngine) tellOthers(ctx context.Context, u *untold, every time.Duration) {
	rest := time.NewTicker(every)
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-u.some:
		}
		note := u.take()
		if _, err := e.pool.Exec(ctx, "SELECT pg_notify($1, $2)", channel, e.neighbours.notice(note)); err != nil && ctx.Err() == nil {
			e.log.Warn("could not tell other nodes of a change", "error", err)
			u.add(note)
			wait(ctx, listenRest)
		}
		select {
		case <-ctx.Done():
			return
		case <-rest.C:
		}
	}
}

// wait returns after d, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
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
		n, err := e.heard(ctx, c)
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
func (e *postgresEngine) heard(ctx context.Context, c *pgx.Conn) (*pgconn.Notification, error) {
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
