package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/pgtest"
)

// The events since a time, and their number, are the same as when the whole log is read, even if
// nodes' clocks differ, a clock is set back or ahead by an hour, and the oldest events were deleted.
func TestFirstSince_FindsWhatAScanFinds(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"SQLite": {Folder: t.TempDir()}, "PostgreSQL": {DatabaseURL: pgtest.URL(t)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openTest(t, o)
			put(t, s, testWorkspace(theWorkspace))
			random := rand.New(rand.NewPCG(1, 2))
			times := make([]time.Time, 301) // by number
			begin := time.UnixMilli(1_790_000_000_000)
			err := s.Write(context.Background(), func(tx *Tx) error {
				w, err := tx.LockWorkspace(theWorkspace)
				if err != nil {
					return err
				}
				var events []sheaf.Event
				for n := 1; n < len(times); n++ {
					at := begin.Add(time.Duration(n)*time.Second + time.Duration(random.IntN(9000))*time.Millisecond)
					if n > 100 && n <= 150 {
						at = at.Add(-time.Hour)
					}
					if n > 200 {
						at = at.Add(time.Duration(random.IntN(2)) * time.Hour)
					}
					events = append(events, sheaf.Event{ID: sheaf.EventID(fmt.Sprintf("evt_0198c0de-0000-7000-8000-%012x", n)),
						Type: sheaf.ProjectCreated, ResourceID: "0198c0de-0000-7000-8000-000000000077", At: at, Body: []byte("{}")})
				}
				if err := tx.AppendEvents(&w, events[:170]); err != nil {
					return err
				}
				if err := tx.SaveWorkspace(w); err != nil {
					return err
				}
				if w, err = tx.LockWorkspace(theWorkspace); err != nil {
					return err
				}
				if err := tx.AppendEvents(&w, events[170:]); err != nil {
					return err
				}
				for i, e := range events {
					times[i+1] = e.At
				}
				if err := tx.SaveWorkspace(w); err != nil {
					return err
				}
				_, err = tx.DeleteEvents(theWorkspace, 40, 40)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			var asked []time.Time
			for at := begin.Add(-time.Minute); at.Before(begin.Add(7 * time.Minute)); at = at.Add(777 * time.Millisecond) {
				asked = append(asked, at, at.Add(time.Hour))
			}
			for n := 2; n < len(times); n++ {
				if asked = append(asked, times[n]); times[n].Before(times[n-1]) {
					t.Fatalf("event %d is of %s, before the one before it, %s", n, times[n], times[n-1])
				}
			}
			for _, at := range asked {
				var want, many int64
				for n := len(times) - 1; n > 40; n-- {
					if !times[n].Before(at) {
						want = int64(n)
						many++
					}
				}
				var got int64
				var found bool
				var page sheaf.Page[sheaf.Event]
				err := s.Read(context.Background(), func(r *Reader) (err error) {
					if got, found, err = r.firstSince(theWorkspace, at); err != nil {
						return err
					}
					page, err = r.Events(theWorkspace, sheaf.EventFilter{Since: &at, Paging: sheaf.Paging{Limit: 1000}}, 0)
					return err
				})
				if err != nil || found != (want != 0) || found && got != want || page.Total != many || int64(len(page.Items)) != many {
					t.Fatalf("since %s: number %d, %t, of %d, %v, want number %d of %d", at, got, found, page.Total, err, want, many)
				}
			}
		})
	}
}
