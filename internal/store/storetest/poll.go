package storetest

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// pollGrown: a poll finds the logs and lanes that grew since a time, however many others there are.
func pollGrown(f *fixture) {
	idle := f.ws
	old := f.subscribe(sheaf.ShareCreated).ID
	f.appendMany(sheaf.ShareCreated, 3)
	before := f.now()
	f.ws, f.user = f.newWorkspace("busy")
	lane := f.subscribe(sheaf.ShareCreated).ID
	log := f.appendMany(sheaf.ShareCreated, 2)
	after := f.now().Add(time.Millisecond)
	grown := func(since time.Time) map[sheaf.WorkspaceID]int64 {
		found := map[sheaf.WorkspaceID]int64{}
		whole := get(f, func(r *store.Reader) (bool, error) {
			return r.GrownSince(since, func(ws sheaf.WorkspaceID, last int64) { found[ws] = last })
		})
		if !whole {
			f.Error("a poll of five events was not whole")
		}
		return found
	}
	waiting := func(since time.Time) map[sheaf.SubscriptionID]time.Time {
		return get(f, func(r *store.Reader) (map[sheaf.SubscriptionID]time.Time, error) {
			found, whole, err := r.WaitingLanesSince(since)
			if !whole {
				f.Error("a poll of five events was not whole")
			}
			return found, err
		})
	}
	last := f.workspace().LastEvent
	same(f, "grown since the other was busy", grown(before), map[sheaf.WorkspaceID]int64{f.ws.ID: last})
	same(f, "grown since then", grown(after), map[sheaf.WorkspaceID]int64{})
	all := grown(time.Time{})
	same(f, "grown since ever", slices.Sorted(maps.Keys(all)), slices.Sorted(slices.Values([]sheaf.WorkspaceID{idle.ID, f.ws.ID})))
	same(f, "waiting since the other was busy", waiting(before), map[sheaf.SubscriptionID]time.Time{lane: log[0].At})
	same(f, "waiting since then", waiting(after), map[sheaf.SubscriptionID]time.Time{})
	if found := waiting(time.Time{}); len(found) != 2 || found[old].IsZero() {
		f.Errorf("waiting since ever: %v", found)
	}
	// No event tells of a recovery.
	f.turn(lane, false)
	f.turn(lane, true)
	since := f.now()
	f.recovered(lane, store.Recoverable{}, nil)
	if found := waiting(since); len(found) != 1 || found[lane].Before(since) {
		f.Errorf("waiting since it was recovered: %v", found)
	}
}

// pollMany: one query finds the ends of many logs, and one the sessions of many open pages.
func pollMany(f *fixture) {
	here, user := f.ws, f.user
	f.appendMany(sheaf.ShareCreated, 3)
	f.ws, f.user = f.newWorkspace("another")
	f.appendMany(sheaf.ShareCreated, 1)
	ids := []sheaf.WorkspaceID{here.ID, f.ws.ID, sheaf.WorkspaceID(f.id())}
	for range 20 { // as many as are asked for in another way than a few
		w, _ := f.newWorkspace("quiet")
		ids = append(ids, w.ID)
	}
	ends := get(f, func(r *store.Reader) (map[sheaf.WorkspaceID]int64, error) { return r.LogEnds(ids) })
	if len(ends) != 22 || ends[here.ID] != 3 || ends[f.ws.ID] != 1 || ends[ids[4]] != 0 {
		f.Errorf("the logs end at %v", ends)
	}

	now := f.now()
	session := store.Session{Hash: bytes.Repeat([]byte{1}, 32), User: user.ID, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(time.Hour)}
	other := store.Session{Hash: bytes.Repeat([]byte{2}, 32), User: f.user.ID, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(time.Hour)}
	f.write(func(tx *store.Tx) error { return errors.Join(tx.InsertSession(session), tx.InsertSession(other)) })
	visit := func(s store.Session, ws sheaf.Workspace) store.Visit {
		return store.Visit{Hash: [32]byte(s.Hash), Workspace: ws.ID}
	}
	open := []store.Visit{visit(session, here), visit(other, f.ws), visit(other, here)} // the last is no member there
	for i := range byte(20) {
		open = append(open, store.Visit{Hash: [32]byte{100 + i}, Workspace: here.ID})
	}
	visits := func() map[store.Visit]store.Session {
		return get(f, func(r *store.Reader) (map[store.Visit]store.Session, error) { return r.Visits(open) })
	}
	same(f, "sessions of open pages", visits(), map[store.Visit]store.Session{open[0]: session, open[1]: other})
	later := now.Add(time.Minute)
	used := [][]byte{other.Hash, session.Hash}
	for _, v := range open[3:] { // sessions that have ended
		used = append(used, v.Hash[:])
	}
	f.write(func(tx *store.Tx) error { return tx.TouchSessions(used, later) })
	f.write(func(tx *store.Tx) error { return tx.TouchSessions([][]byte{session.Hash}, now) }) // late: it stays
	session.SeenAt, other.SeenAt = later, later
	same(f, "after they were used", visits(), map[store.Visit]store.Session{open[0]: session, open[1]: other})
	f.write(func(tx *store.Tx) error {
		_, _, err := tx.DeleteSession(other.Hash)
		return err
	})
	same(f, "after one ended", visits(), map[store.Visit]store.Session{open[0]: session})
	to := &sheaf.Restriction{Number: 7, Projects: []sheaf.ProjectID{sheaf.ProjectID(f.id())}}
	f.write(func(tx *store.Tx) error { return tx.RestrictMember(here.ID, user.ID, to) })
	same(f, "after a restriction", visits(), map[store.Visit]store.Session{})
	unrestricted := open[0]
	open[0].Restriction = to.Number
	same(f, "under the restriction", visits(), map[store.Visit]store.Session{open[0]: session})
	f.write(func(tx *store.Tx) error { return tx.RestrictMember(here.ID, user.ID, nil) })
	same(f, "after it was lifted", visits(), map[store.Visit]store.Session{})
	open[0] = unrestricted
	f.write(func(tx *store.Tx) error { return tx.DeleteMember(here.ID, user.ID) })
	same(f, "after a membership ended", visits(), map[store.Visit]store.Session{})
}

// pollRounds: rounds of any size pass over every workspace and every lane once, and begin again.
func pollRounds(f *fixture) {
	want, lanes := map[sheaf.WorkspaceID]int64{}, map[sheaf.SubscriptionID]time.Time{}
	for i := range 5 {
		if i > 0 {
			f.ws, f.user = f.newWorkspace("another")
		}
		for range i {
			lanes[f.subscribe(sheaf.ShareCreated).ID] = time.Time{}
		}
		log := f.appendMany(sheaf.ShareCreated, 1+i)
		want[f.ws.ID] = f.workspace().LastEvent
		for id, at := range lanes {
			if at.IsZero() {
				lanes[id] = log[0].At
			}
		}
	}
	for _, most := range []int{1, 2, 3, 5, 100} {
		got, found, kept := map[sheaf.WorkspaceID]int64{}, map[sheaf.SubscriptionID]time.Time{}, 0
		for at, n := (store.Round{}), 0; n == 0 || at != (store.Round{}); n++ {
			at = get(f, func(r *store.Reader) (store.Round, error) {
				seen := 0
				next, err := r.LogsAfter(at, most, func(ws sheaf.WorkspaceID, last int64) { got[ws], seen = last, seen+1 })
				if seen > most {
					f.Errorf("a piece of %d had %d workspaces", most, seen)
				}
				return next, err
			})
		}
		for at, n := (store.Round{}), 0; n == 0 || at != (store.Round{}); n++ {
			at = get(f, func(r *store.Reader) (store.Round, error) {
				some, next, err := r.WaitingLanesAfter(at, most)
				if len(some) > most {
					f.Errorf("a piece of %d had %d lanes", most, len(some))
				}
				maps.Copy(found, some)
				return next, err
			})
		}
		for at, n := (store.Round{}), 0; n == 0 || at != (store.Round{}); n++ {
			at = get(f, func(r *store.Reader) (store.Round, error) {
				some, next, err := r.UpkeepAfter(at, most, store.Old{Log: f.now().Add(time.Hour), Trash: f.now()})
				for _, w := range some {
					if w.OldLog && !w.OldTrash {
						kept++
					}
				}
				return next, err
			})
		}
		same(f, "workspaces", got, want)
		same(f, "lanes", found, lanes)
		same(f, "old logs", kept, len(want))
	}
}
