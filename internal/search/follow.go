package search

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/engine"
)

// The follower writes the index. Commits wake it. It indexes changes in batches: each batch is read
// from one snapshot of the store and written in one transaction of the index. It takes one batch of
// every workspace that has changes, then the next batch of each.
//
// On PostgreSQL one node follows, under a lock. If that node loses the lock without noticing and a
// second node begins, neither harms the other: every transaction first checks that the space has
// not changed since it was read (space.hold).

const (
	// Every pollEvery the follower polls for changes that no commit announced to it. It checks the
	// logs that grew since the last poll, and the next roundLogs logs of a round over all logs. So
	// idle workspaces cost little. A node that does not follow tries to take over at the same
	// interval.
	pollEvery = time.Second
	roundLogs = 100
	// lookBack is added to the interval that a poll covers. It allows for commits that end later
	// than the time in their event's id, and for differences between the nodes' clocks.
	lookBack = 2 * time.Second
	// gatherFor is the pause between two passes, in which writes collect into one batch. A batch
	// costs nearly the same whatever its size, and every workspace that writes needs one. After a
	// long pass (many workspaces write, or the machine is busy) the pause is twice as long as the
	// pass, up to gatherMost. Searches do not wait for the pause: they read from the store what the
	// index lacks.
	gatherFor  = 500 * time.Millisecond
	gatherMost = time.Second
	// forgetEvery is the number of polls between two removals of spaces whose workspace is gone.
	// Workspaces are not deleted while the program runs, but a restored database may lack some.
	forgetEvery = 3600
	// A batch takes in at most batchChanges events and about batchBytes of text. It reads
	// groupRecords records at a time, because each may have a megabyte.
	batchChanges = 512
	batchBytes   = 4 << 20
	groupRecords = 16
)

// Run follows the logs of all workspaces until ctx ends. Of several nodes, one follows at a time;
// the others wait to take over.
func (x *Index) Run(ctx context.Context) error {
	x.Store.OnCommit(x.noted.add)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := x.Open(ctx)
		if err == nil {
			err = x.notice(x.engine.Alone(ctx, "search", x.follow))
		}
		if errors.Is(err, errReplace) {
			err = x.replace(ctx)
		}
		if err != nil && ctx.Err() == nil {
			x.Log.Warn("could not follow the log for the index of search", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// CatchUp indexes everything that is in the store now. If another node or process follows, CatchUp
// returns at once. Run must not be running on this index.
func (x *Index) CatchUp(ctx context.Context) (err error) {
	// If the file turns out to be damaged, it is replaced, and the next attempt fills it.
	for range 3 {
		if err = x.Open(ctx); err != nil {
			return err
		}
		err = x.notice(x.engine.Alone(ctx, "search", x.catchUp))
		if errors.Is(err, errReplace) {
			err = x.replace(ctx)
		} else if !x.suspect.Load() {
			return err
		}
	}
	return err
}

func (x *Index) catchUp(ctx context.Context) error {
	if x.lost(ctx) {
		return errReplace
	}
	defer x.startFollowing(ctx)()
	todo, err := x.todo(ctx, everyLog)
	if err != nil {
		return err
	}
	return x.pass(ctx, todo)
}

// startFollowing sets up the state of a follower. The returned function releases it.
func (x *Index) startFollowing(ctx context.Context) (end func()) {
	x.known, x.looked, x.round = map[sheaf.WorkspaceID]int64{}, time.Time{}, store.Round{}
	x.built = manyBuilt // the first poll reads every log, which leaves as much garbage as a build
	if err := x.notice(x.resume(ctx)); err != nil && ctx.Err() == nil {
		x.Log.Warn("could not check the whole search index at once: each workspace is checked by itself", "error", err)
	}
	return func() {
		x.known, x.sealing = nil, nil
		x.figures.stopFollowing()
	}
}

// follow indexes changes until ctx ends or the database fails.
func (x *Index) follow(ctx context.Context) error {
	defer x.startFollowing(ctx)()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	rest := time.NewTimer(0)
	defer rest.Stop()
	for n, how := 0, everyLog; ; n, how = n+1, someLogs {
		if x.lost(ctx) {
			return errReplace
		}
		began := x.Now()
		todo, err := x.todo(ctx, how)
		if err == nil {
			err = x.pass(ctx, todo)
		}
		if err == nil && n%forgetEvery == 0 {
			err = x.forgetGone(ctx)
		}
		if err != nil {
			return err
		}
		for looked := false; !looked; {
			rest.Reset(min(max(gatherFor, 2*x.Now().Sub(began)), gatherMost))
			select {
			case <-ctx.Done():
				return nil
			case <-rest.C:
			}
			select {
			case <-ctx.Done():
				return nil
			case <-poll.C:
				looked = true
			case <-x.noted.some:
				began = x.Now()
				if todo, err = x.todo(ctx, toldOf); err == nil {
					err = x.pass(ctx, todo)
				}
				if err != nil {
					return err
				}
			}
		}
	}
}

// reach says how todo looks for workspaces that no commit announced.
type reach int

const (
	toldOf   reach = iota // it does not, unless a commit announced all workspaces
	someLogs              // it checks the logs that grew since the last poll, and the next ones of the round
	everyLog
)

// todo returns the workspaces that may have changes to index: those that commits announced and
// those that a poll finds.
func (x *Index) todo(ctx context.Context, how reach) (map[sheaf.WorkspaceID]struct{}, error) {
	told := x.noted.drain()
	if how == toldOf && !told.All {
		return told.IDs, nil
	}
	todo := map[sheaf.WorkspaceID]struct{}{}
	maps.Copy(todo, told.IDs)
	at := func(ws sheaf.WorkspaceID, last int64) {
		if at, known := x.known[ws]; !known || at != last {
			todo[ws] = struct{}{}
		}
	}
	began := x.Now()
	err := x.Store.Read(ctx, func(r *store.Reader) error {
		asked, err := r.ReindexAsked()
		if err != nil {
			return err
		}
		if asked != x.figures.asked.Swap(asked) {
			clear(x.known)
			how = everyLog
		}
		if how != everyLog && (told.All || !x.Store.AnnouncesAll()) {
			since := x.looked
			if began.Before(since) { // the clock was set back
				since = began
			}
			whole, err := r.GrownSince(since.Add(-lookBack), at)
			if err != nil {
				return err
			}
			if !whole {
				how = everyLog
			}
		}
		if how == everyLog {
			return r.EachLog(at)
		}
		x.round, err = r.LogsAfter(x.round, roundLogs, at)
		return err
	})
	if err == nil && (how == everyLog || told.All || !x.Store.AnnouncesAll()) {
		x.looked = began
	}
	return todo, err
}

// pass indexes every pending change of the workspaces in todo, and of those that change meanwhile. While
// indexing is paused, they stay noted for a later pass. Searches read from the store what the index lacks.
func (x *Index) pass(ctx context.Context, todo map[sheaf.WorkspaceID]struct{}) error {
	for ctx.Err() == nil {
		if x.Paused != nil && x.Paused() {
			for ws := range todo {
				x.noted.putBack(ws)
				if _, known := x.known[ws]; known { // the others may have nothing to index
					x.figures.builds(ws, x.Now())
				}
			}
			return nil
		}
		busy := false
		for _, ws := range slices.Collect(maps.Keys(todo)) {
			more, err := x.step(ctx, ws)
			if x.notice(err); err != nil && ctx.Err() == nil && !errors.Is(err, errLost) {
				x.Log.Warn("could not take changes into the index of search", "workspace_id", ws, "error", err)
			}
			if busy = busy || more; !more || err != nil {
				delete(todo, ws)
			}
			if err != nil {
				x.noted.putBack(ws)
			}
		}
		if !busy {
			var err error
			if busy, err = x.removeSome(ctx); err != nil || !busy {
				// Free the buffers of the build. After many records, return memory to the system too: Go would
				// keep it for minutes, because an idle server rarely collects garbage.
				x.sealing = nil
				if x.built >= manyBuilt {
					debug.FreeOSMemory()
					x.built = 0
				}
				return err
			}
		}
		for ws := range x.noted.drainNamed() {
			if todo == nil {
				todo = map[sheaf.WorkspaceID]struct{}{}
			}
			todo[ws] = struct{}{}
		}
	}
	return nil
}

// step does one piece of work for a workspace and reports whether more is left.
func (x *Index) step(ctx context.Context, ws sheaf.WorkspaceID) (more bool, err error) {
	var serves, built *space
	err = x.engine.Read(ctx, func(r *engine.Reader) (err error) {
		serves, built, err = x.spacesOf(r, ws)
		return err
	})
	if err != nil {
		return false, err
	}
	repaired, err := x.repair(ctx, ws, serves, built)
	if err != nil || repaired {
		return repaired, err
	}
	if serves != nil {
		if more, err = x.advance(ctx, ws, serves); err != nil {
			return false, err
		}
	}
	if built != nil {
		return true, x.build(ctx, ws, serves, built)
	}
	if !more && serves != nil {
		x.known[ws] = serves.cursor
		x.figures.caughtUp(ws)
	}
	return more, nil
}

// repair marks spaces that cannot continue for removal, and begins a new space if the workspace
// needs one. It reports whether it changed anything.
func (x *Index) repair(ctx context.Context, ws sheaf.WorkspaceID, serves, built *space) (did bool, err error) {
	var log store.Log
	var asked int64
	var mark []byte
	goesOn := map[*space]bool{}
	err = x.Store.Read(ctx, func(r *store.Reader) (err error) {
		var found bool
		if log, found, err = r.Log(ws); err != nil || !found {
			return err
		}
		if asked, err = r.ReindexAsked(); err != nil {
			return err
		}
		for _, s := range []*space{serves, built} {
			if s == nil {
				continue
			}
			if goesOn[s], err = s.follows(r, ws, log); err != nil {
				return err
			}
		}
		mark, err = markOf(r, ws, log.Last)
		return err
	})
	if err != nil {
		return false, err
	}
	var gone []*space
	if serves != nil && (!goesOn[serves] || serves.form != form) {
		gone = append(gone, serves)
	}
	if built != nil && (!goesOn[built] || built.form != form || built.asked < asked) {
		gone = append(gone, built)
		built = nil
	}
	anew := built == nil && (serves == nil || len(gone) > 0 && gone[0] == serves || serves.asked < asked)
	if len(gone) == 0 && !anew {
		return false, nil
	}
	err = x.engine.Write(ctx, func(tx *engine.Tx) error {
		for _, s := range gone {
			if err := s.markLeaving(tx); err != nil {
				return err
			}
		}
		if !anew {
			return nil
		}
		n, err := tx.Changed(insertSpace, wsBytes(ws), form, asked, log.Last, mark)
		if err == nil && n == 0 {
			err = errLost
		}
		return err
	})
	if err == nil && anew {
		x.figures.rebuilds.Inc()
	}
	return true, err
}

// follows reports whether the space can continue from its cursor. It cannot if the log has lost
// events after the cursor. It cannot either if the log ends before the cursor or has another event
// there, as after a restore.
func (s *space) follows(r *store.Reader, ws sheaf.WorkspaceID, log store.Log) (bool, error) {
	switch {
	case s.cursor > log.Last:
		return false, nil
	case log.First == 0:
		return s.cursor == log.Last, nil
	case log.First > s.cursor:
		return log.First == s.cursor+1, nil
	}
	mark, err := markOf(r, ws, s.cursor)
	return string(mark) == string(s.mark), err
}

// markOf returns the id of event `number` as bytes, or nil if the log no longer has the event.
func markOf(r *store.Reader, ws sheaf.WorkspaceID, number int64) ([]byte, error) {
	event, found, err := r.EventAt(ws, number)
	if err != nil || !found {
		return nil, err
	}
	b, _ := sheaf.UUIDBytes(string(event[len(sheaf.EventPrefix):]))
	return b[:], nil
}

// batch is what one transaction writes to the index.
type batch struct {
	ids     []id
	records []record
	more    bool // more changes follow than the batch has

	cursor int64 // the last event of a batch of changes
	mark   []byte
	oldest time.Time // when the first change happened

	kind, upTo int64 // the start of the next batch of a build
}

// advance indexes the next batch of changes. If no more follow, it does one piece of deferred work:
// it seals a chunk or empties a sparse one. It reports whether more is left.
func (x *Index) advance(ctx context.Context, ws sheaf.WorkspaceID, s *space) (more bool, err error) {
	b, err := x.changes(ctx, ws, s.cursor)
	if err != nil {
		return false, fmt.Errorf("read changes: %w", err)
	}
	if b.cursor > s.cursor {
		x.figures.fellBehind(ws, b.oldest)
		after := *s
		after.cursor, after.mark = b.cursor, b.mark
		if err := x.writeBatch(ctx, s, after, b); err != nil || b.more {
			return true, err
		}
	}
	return x.tend(ctx, s)
}

// writeBatch writes a batch into the space s and saves `after` as its new state.
func (x *Index) writeBatch(ctx context.Context, s *space, after space, b batch) error {
	var saved space
	err := x.engine.Write(ctx, func(tx *engine.Tx) error {
		saved = after
		if err := saved.hold(tx); err != nil {
			return err
		}
		if err := saved.replace(tx, b.ids, b.records); err != nil {
			return err
		}
		return saved.save(tx)
	})
	if err == nil {
		*s = saved
	}
	return err
}

// changes reads the next changes after the event `cursor`, from one snapshot of the store.
func (x *Index) changes(ctx context.Context, ws sheaf.WorkspaceID, cursor int64) (b batch, err error) {
	b.cursor = cursor
	var found []store.Findable
	err = x.Store.Read(ctx, func(r *store.Reader) error {
		b, found = batch{cursor: cursor}, nil
		changes, err := r.ChangesAfter(ws, cursor, batchChanges)
		if err != nil || len(changes) == 0 {
			return err
		}
		var n int
		if found, n, err = readGroups(r, ws, changes, func(c *store.Change) (sheaf.SearchType, string) { return c.Type, c.ID }); err != nil {
			return err
		}
		last := &changes[n-1]
		b.oldest, b.cursor, b.more = changes[0].At, last.Number, n < len(changes) || n == batchChanges
		if b.mark, err = markOf(r, ws, b.cursor); err != nil {
			return err
		}
		for i := range changes[:n] {
			if changes[i].Type != "" {
				b.ids = append(b.ids, idOf(changes[i].ID))
			}
		}
		return nil
	})
	b.fold(found)
	return b, err
}

func idOf(text string) id {
	b, _ := sheaf.UUIDBytes(text)
	return b
}

// fold builds the records of what was found, each once. It is called after the snapshot is closed,
// because it takes processor time.
func (b *batch) fold(found []store.Findable) {
	slices.SortFunc(b.ids, func(x, y id) int { return slices.Compare(x[:], y[:]) })
	b.ids = slices.Compact(b.ids)
	seen := map[string]bool{}
	for i := range found {
		if !seen[found[i].ID] {
			seen[found[i].ID] = true
			b.records = append(b.records, newRecord(&found[i]))
		}
	}
}
