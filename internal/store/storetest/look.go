package storetest

import (
	"maps"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// looks: a look finds the logs and lanes that grew since a time, however many others there are.
func looks(f *fixture) {
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
			f.Error("a look at five events was not whole")
		}
		return found
	}
	waiting := func(since time.Time) map[sheaf.SubscriptionID]time.Time {
		return get(f, func(r *store.Reader) (map[sheaf.SubscriptionID]time.Time, error) {
			found, whole, err := r.WaitingLanesSince(since)
			if !whole {
				f.Error("a look at five events was not whole")
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

// lookRounds: rounds of any size pass over every workspace and every lane once, and begin again.
func lookRounds(f *fixture) {
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
				some, next, err := r.UpkeepAfter(at, most, f.now().Add(time.Hour), f.now())
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
