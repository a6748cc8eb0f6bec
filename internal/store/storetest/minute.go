package storetest

import (
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

func minutes(f *fixture) {
	other, _ := f.newWorkspace("Other")
	at := time.Date(2026, 5, 6, 7, 8, 30, 0, time.UTC)
	first := sheaf.Counts{Requests: 5, RateLimited: 1, Delivered: 2, Retried: 3, Failed: 4, TookSum: 6 * time.Millisecond, TookMax: 4 * time.Millisecond, Took: [7]int64{1, 2, 3, 4, 5, 6, 7}}
	more := sheaf.Counts{Requests: 1, TookMax: 2 * time.Millisecond, Took: [7]int64{6: 1}}
	add := func(ws sheaf.WorkspaceID, at time.Time, c sheaf.Counts) {
		f.write(func(tx *store.Tx) error { return tx.AddMinute(ws, sheaf.Minute{At: at, Counts: c}) })
	}
	add(f.ws.ID, at, first)
	add(other.ID, at, more)
	add(f.ws.ID, at.Add(20*time.Second), more)
	add(f.ws.ID, at.Add(time.Minute), more)
	sum := first
	sum.Add(more)
	read := func(since time.Time) []sheaf.Minute {
		return get(f, func(r *store.Reader) ([]sheaf.Minute, error) { return r.Minutes(f.ws.ID, since) })
	}
	begin := at.Truncate(time.Minute)
	same(f, "the minutes", read(at), []sheaf.Minute{{At: begin, Counts: sum}, {At: begin.Add(time.Minute), Counts: more}})
	same(f, "the last minute", read(at.Add(time.Minute)), []sheaf.Minute{{At: begin.Add(time.Minute), Counts: more}})
	removed := int64(0)
	f.write(func(tx *store.Tx) (err error) {
		removed, err = tx.DeleteMinutes(at.Add(time.Minute), 1)
		return err
	})
	same(f, "how many were removed at most", removed, 1)
	f.write(func(tx *store.Tx) (err error) {
		removed, err = tx.DeleteMinutes(at.Add(time.Minute), 10)
		return err
	})
	same(f, "how many were left to remove", removed, 1)
	same(f, "what stays", len(read(at)), 1)
}
