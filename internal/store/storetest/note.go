package storetest

import (
	"context"
	"slices"
	"sync"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// recordTells: an outcome that is a success makes no lane due, and every node gets the note about it.
func recordTells(n *nodes) {
	s := n.subscribe(sheaf.ProjectCreated)
	n.appendMany(sheaf.ProjectCreated, 1)
	outcomes := n.outcomes(n.claim(s.ID, 1, time.Minute), arrived)
	told := make(chan store.Note, 1000)
	n.both[1].OnCommit(func(note store.Note) { told <- note })
	defer n.watch()()
	if n.both[0] != n.both[1] {
		n.hear(told, func(note store.Note) bool { return note.Events }) // it listens now
	}
	n.must(n.record(outcomes))
	n.hear(told, func(note store.Note) bool { return note.Recorded && !note.Events })
}

// commitTellsWhere: every node hears in which workspace something happened, and of no other.
func commitTellsWhere(n *nodes) {
	told := make(chan store.Note, 1000)
	n.both[1].OnCommit(func(note store.Note) { told <- note })
	defer n.watch()()
	if n.both[0] != n.both[1] {
		n.hear(told, func(note store.Note) bool { return note.Workspaces.All }) // it listens now
	}
	n.subscribe(sheaf.ProjectCreated)
	n.hear(told, func(note store.Note) bool { return note.Subscriptions && n.onlyHere(note) })
	n.appendMany(sheaf.ProjectCreated, 1)
	n.hear(told, func(note store.Note) bool { return note.Events && note.Deliveries && n.onlyHere(note) })
}

func (n *nodes) onlyHere(note store.Note) bool {
	_, here := note.Workspaces.IDs[n.ws.ID]
	return here && len(note.Workspaces.IDs) == 1 && !note.Workspaces.All
}

// watch lets the nodes tell each other; stop ends that.
func (n *nodes) watch() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	for _, s := range slices.Compact(slices.Clone(n.both)) {
		watching.Go(func() { _ = s.Watch(ctx) })
	}
	return func() {
		cancel()
		watching.Wait()
	}
}

func (n *nodes) hear(told <-chan store.Note, wanted func(store.Note) bool) {
	n.Helper()
	for deadline := time.After(5 * time.Minute); ; {
		select {
		case note := <-told:
			if wanted(note) {
				return
			}
		case <-deadline:
			n.Fatal("the other node was not told")
		}
	}
}
