package store

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"maps"
	"slices"
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
	// tellMost is how many workspaces a notice names at most, and how many lanes; instead of more
	// it says "all". PostgreSQL allows 8,000 bytes, and each is 23.
	tellMost = 150
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

// add gathers what a commit changed, and wakes whoever tells.
func (u *untold) add(n Note) {
	n.Changed = nil // notices do not name them
	u.mu.Lock()
	u.note.add(n)
	u.mu.Unlock()
	select {
	case u.some <- struct{}{}:
	default:
	}
}

// empty returns what was gathered, and begins anew.
func (u *untold) empty() Note {
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

// A notice is four words, separated by spaces: the node that tells, a letter for each kind of
// change, the workspaces, and the lanes whose deliveries may be due. Each of the last two is "all",
// "-" for none, or identifiers in base64 with commas between: "NODE ed AZCwoA… all".
func (n *neighbours) notice(note Note) string {
	kinds := []byte{}
	for i, is := range note.kinds() {
		if *is {
			kinds = append(kinds, noticeKinds[i])
		}
	}
	return strings.Join([]string{n.node, string(kinds), shortIDs(note.Workspaces.All, slices.Collect(maps.Keys(note.Workspaces.IDs))),
		shortIDs(note.AnyLane, note.Lanes)}, " ")
}

// shortIDs writes identifiers as a notice has them.
func shortIDs[T ~string](all bool, ids []T) string {
	switch {
	case all || len(ids) > tellMost:
		return "all"
	case len(ids) == 0:
		return "-"
	}
	words := make([]string, len(ids))
	for i, id := range ids {
		u, _ := sheaf.UUIDBytes(string(id))
		words[i] = base64.RawURLEncoding.EncodeToString(u[:])
	}
	return strings.Join(words, ",")
}

// longIDs reads what shortIDs wrote; what it does not understand is all.
func longIDs[T ~string](word string) (all bool, ids []T) {
	if word == "-" {
		return false, nil
	}
	for part := range strings.SplitSeq(word, ",") {
		b, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil || len(b) != 16 {
			return true, nil
		}
		ids = append(ids, T(sheaf.FormatUUID([16]byte(b))))
	}
	return false, ids
}

// noticeKinds has a letter for each of kinds.
const noticeKinds = "edscr"

func (n *Note) kinds() [len(noticeKinds)]*bool {
	return [...]*bool{&n.Events, &n.Deliveries, &n.Subscriptions, &n.Credentials, &n.Recorded}
}

// read returns what another node told; false when it was this one.
func (n *neighbours) read(notice string) (Note, bool) {
	words := strings.Split(notice, " ")
	if len(words) != 4 { // by a program of another time
		return everything, true
	}
	var note Note
	for i, is := range note.kinds() {
		*is = strings.IndexByte(words[1], noticeKinds[i]) >= 0
	}
	all, workspaces := longIDs[sheaf.WorkspaceID](words[2])
	note.Workspaces.All = all
	for _, id := range workspaces {
		note.Workspaces.Add(id)
	}
	note.AnyLane, note.Lanes = longIDs[sheaf.SubscriptionID](words[3])
	return note, words[0] != n.node
}

// Watch tells other nodes of commits here, and reports to the listeners what other nodes commit,
// until ctx ends.
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

// tellOthers sends a notice whenever there is something to tell, at most once in every. One that
// could not be sent goes with the next.
func (s *Store) tellOthers(ctx context.Context, u *untold, every time.Duration) {
	rest := time.NewTicker(every)
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-u.some:
		}
		note := u.empty()
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
