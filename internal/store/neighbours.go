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
	// notifyEvery is the least time between two notices about changes that other nodes act on.
	notifyEvery = 5 * time.Millisecond
	// showEvery is the least time between two notices about changes that only update pages.
	showEvery = time.Second
	// notifyRetry is the pause after a notice that could not be sent.
	notifyRetry = 500 * time.Millisecond
	// maxNamed is the most workspaces, and the most lanes, that a notice names; with more it says
	// "all". PostgreSQL allows 8,000 bytes per notice, and each id takes 23.
	maxNamed = 150
)

// neighbours notifies other nodes of this node's commits.
type neighbours struct {
	node    string
	changed *outbox // changes that other nodes act on
	shown   *outbox // changes that only update pages
}

func newNeighbours() *neighbours {
	return &neighbours{node: rand.Text(), changed: newOutbox(), shown: newOutbox()}
}

// outbox collects the changes for the next notice.
type outbox struct {
	some chan struct{} // has a value while there is something to send; capacity 1
	mu   sync.Mutex    // guards note
	note Note
}

func newOutbox() *outbox { return &outbox{some: make(chan struct{}, 1)} }

// add merges what a commit changed, and wakes the sender.
func (u *outbox) add(n Note) {
	n.Changed = nil // notices do not name them
	u.mu.Lock()
	u.note.add(n)
	u.mu.Unlock()
	select {
	case u.some <- struct{}{}:
	default:
	}
}

// empty returns the collected changes and clears them.
func (u *outbox) empty() Note {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := u.note
	u.note = Note{}
	return n
}

// queue queues a commit's changes for other nodes and returns at once.
func (n *neighbours) queue(note Note) {
	if note.urgent() {
		n.changed.add(note)
	} else if note.Recorded {
		n.shown.add(note)
	}
}

// notice returns the text sent to other nodes: four words, separated by spaces. They are the
// sending node, a letter for each kind of change, the workspaces, and the lanes whose deliveries
// may be due. Each of the last two is "all", "-" for none, or ids in base64, separated by commas:
// "NODE ed AZCwoA… all".
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

// shortIDs formats ids as a word of a notice.
func shortIDs[T ~string](all bool, ids []T) string {
	switch {
	case all || len(ids) > maxNamed:
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

// longIDs parses what shortIDs wrote. A word that it cannot parse means all.
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

// noticeKinds has one letter for each element of kinds.
const noticeKinds = "edscri"

func (n *Note) kinds() [len(noticeKinds)]*bool {
	return [...]*bool{&n.Events, &n.Deliveries, &n.Subscriptions, &n.Credentials, &n.Recorded, &n.Sessions}
}

// read parses a notice. It returns false if this node sent it.
func (n *neighbours) read(notice string) (Note, bool) {
	words := strings.Split(notice, " ")
	if len(words) != 4 { // sent by another version of the program
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

// Watch notifies other nodes of commits here, and calls the listeners for commits of other nodes.
// It blocks until ctx ends.
func (s *Store) Watch(ctx context.Context) error {
	var senders sync.WaitGroup
	if s.neighbours != nil {
		senders.Go(func() { s.sendNotices(ctx, s.neighbours.changed, notifyEvery) })
		senders.Go(func() { s.sendNotices(ctx, s.neighbours.shown, showEvery) })
	}
	s.engine.Listen(ctx, func(notice string) {
		if note, others := s.neighbours.read(notice); others {
			s.announce(note)
		}
	}, func() { s.announce(everything) })
	senders.Wait()
	return nil
}

// sendNotices sends a notice whenever there are changes, at most one per `every`. A notice that
// could not be sent is merged into the next.
func (s *Store) sendNotices(ctx context.Context, u *outbox, every time.Duration) {
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
			select {
			case <-ctx.Done():
			case <-time.After(notifyRetry):
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-rest.C:
		}
	}
}
