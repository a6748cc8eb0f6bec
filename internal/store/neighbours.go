package store

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"sheaf.dev/internal/sheaf"
)

const (
	// tellEvery bounds how often a node tells what others act on.
	tellEvery = 5 * time.Millisecond
	// showEvery bounds how often a node tells what only shows on pages.
	showEvery = time.Second
	// tellRest is the pause after a notice that could not be sent.
	tellRest = 500 * time.Millisecond
	// tellWorkspaces is how many workspaces a notice names at most; instead of
	// more it says "all". PostgreSQL allows 8,000 bytes.
	tellWorkspaces = 150
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

// Watch tells other nodes of commits here, and reports to the listeners what
// other nodes commit, until ctx ends.
func (s *Store) Watch(ctx context.Context) error {
	var telling sync.WaitGroup
	if s.neighbours != nil {
		telling.Go(func() { s.tellOthers(ctx, s.neighbours.changed, tellEvery) })
		telling.Go(func() { s.tellOthers(ctx, s.neighbours.shown, showEvery) })
	}
	s.engine.Listen(ctx, func(notice string) {
		if note, others := s.neighbours.read(notice); others {
			s.announce(note)
		}
	}, func() { s.announce(everything) })
	telling.Wait()
	return nil
}

// tellOthers sends a notice whenever there is something to tell, at most once in
// every. One that could not be sent goes with the next.
func (s *Store) tellOthers(ctx context.Context, u *untold, every time.Duration) {
	rest := time.NewTicker(every)
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-u.some:
		}
		note := u.take()
		if err := s.engine.Notify(ctx, s.neighbours.notice(note)); err != nil && ctx.Err() == nil {
			s.log.Warn("could not tell other nodes of a change", "error", err)
			u.add(note)
			wait(ctx, tellRest)
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
