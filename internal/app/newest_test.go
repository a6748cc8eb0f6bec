package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/migrated"
	"sheaf.dev/internal/store"
)

// poller copies documents as docs/recipes describes: it asks for what has changed since the newest
// time that it has seen, including that time, from the start of each page and never by an offset.
type poller struct {
	newest time.Time
	seen   map[sheaf.DocumentID]time.Time
}

func (p *poller) poll(t *testing.T, a *App, c Caller) {
	t.Helper()
	for {
		since := p.newest
		page, err := a.Documents(context.Background(), c, sheaf.DocumentFilter{UpdatedSince: &since, Sort: sheaf.DocumentsByUpdated,
			Paging: sheaf.Paging{Limit: sheaf.MaxLimit}})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page.Items {
			p.seen[d.ID], p.newest = d.UpdatedAt, d.UpdatedAt
		}
		if !page.More() {
			return
		}
		if !p.newest.After(since) {
			t.Fatalf("a page of %d does not lead on from %v", len(page.Items), since)
		}
	}
}

// wantAll compares the copy with what is stored.
func (p *poller) wantAll(t *testing.T, a *App, c Caller) {
	t.Helper()
	for offset := 0; ; offset += sheaf.MaxLimit {
		page, err := a.Documents(context.Background(), c, sheaf.DocumentFilter{Paging: sheaf.Paging{Limit: sheaf.MaxLimit, Offset: offset}})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page.Items {
			if !p.seen[d.ID].Equal(d.UpdatedAt) {
				t.Errorf("document %s (%s) was changed at %v, and the poller knows %v", d.ID, d.Title, d.UpdatedAt, p.seen[d.ID])
			}
		}
		if !page.More() {
			return
		}
	}
}

// ownerOfOne creates a workspace and returns its owner.
func ownerOfOne(t *testing.T, a *App) Caller {
	t.Helper()
	w, err := a.Operator().CreateWorkspace(t.Context(), NewWorkspace{Name: "w", Plan: sheaf.Business})
	if err != nil {
		t.Fatal(err)
	}
	return Caller{Workspace: w.ID, User: w.Owner, Role: sheaf.Owner, Plan: sheaf.Business}
}

// D86: two nodes whose clocks differ by minutes, and jump, write in turns. A poller of either
// misses nothing.
func TestPoller_MissesNothingWhateverTheClocksAre(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]func(t *testing.T) store.Options{
		"sqlite":   func(t *testing.T) store.Options { return store.Options{Folder: migrated.Folder(t)} },
		"postgres": func(t *testing.T) store.Options { return store.Options{DatabaseURL: migrated.URL(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEngine(t, o(t), func(t *testing.T, one *App, now *time.Time) {
				ahead := 7 * time.Minute
				two := New(Config{Store: one.store, Now: func() time.Time { return now.Add(ahead) }, Random: rand.Reader})
				c := ownerOfOne(t, one)
				p := poller{seen: map[sheaf.DocumentID]time.Time{}}
				var ids []sheaf.DocumentID
				for i := range 60 {
					a := []*App{one, two}[i%2]
					d, err := a.CreateDocument(t.Context(), c, sheaf.DocumentChange{Title: sheaf.Some(fmt.Sprint(i))})
					if err != nil {
						t.Fatal(err)
					}
					ids = append(ids, d.ID)
					other := []*App{two, one}[i%2]
					if _, err := other.UpdateDocument(t.Context(), c, ids[i/2], sheaf.DocumentChange{Title: sheaf.Some(fmt.Sprint(i, " again"))}, sheaf.Match{}); err != nil {
						t.Fatal(err)
					}
					if i%5 == 0 {
						p.poll(t, []*App{one, two}[i/5%2], c)
					}
					switch i % 7 {
					case 3:
						*now = now.Add(-time.Minute)
					case 5:
						ahead = -ahead
					case 6:
						*now = now.Add(20 * time.Second)
					}
				}
				p.poll(t, one, c)
				p.wantAll(t, one, c)
			})
		})
	}
}

// D86: a cascade, or many changes at one instant, give the same time to fewer records than a page
// has.
func TestPoller_LeadsOnPastManyOfOneInstant(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) { // the clock stands still
		c := ownerOfOne(t, a)
		project, err := a.CreateProject(t.Context(), c, sheaf.ProjectChange{Name: sheaf.Some("p")})
		if err != nil {
			t.Fatal(err)
		}
		p := poller{seen: map[sheaf.DocumentID]time.Time{}}
		for range 230 {
			if _, err := a.CreateDocument(t.Context(), c, sheaf.DocumentChange{Title: sheaf.Some("d"), ProjectID: sheaf.Some(project.ID)}); err != nil {
				t.Fatal(err)
			}
		}
		p.poll(t, a, c)
		p.wantAll(t, a, c)
		if err := a.DeleteProject(t.Context(), c, project.ID, sheaf.Match{}); err != nil {
			t.Fatal(err)
		}
		p.poll(t, a, c)
		p.wantAll(t, a, c)
	})
}

// The promises about times, one after the other.
func TestNewest_TimesNeverFallAndAreSharedByFew(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	w := &work{now: start}
	last, shared := time.Time{}, 0
	note := func(at time.Time) {
		t.Helper()
		if at.Before(last) {
			t.Fatalf("%v was given after %v", at, last)
		}
		if shared++; at.After(last) {
			last, shared = at, 1
		}
		if shared > mostShared {
			t.Fatalf("%d records have the time %v", shared, at)
		}
	}
	for i := range 1000 {
		switch {
		case i%3 == 0:
			note(w.createdAt())
		case i%3 == 1:
			before := last.Add(-time.Duration(i%2) * time.Millisecond)
			at := w.updatedAt(before)
			if !at.After(before) {
				t.Fatalf("a change of %v is at %v", before, at)
			}
			note(at)
		case i%30 == 2:
			at := w.updatedTogether()
			if !at.After(last) {
				t.Fatalf("a page shares %v with what was before it", at)
			}
			last, shared = at, mostShared
		}
		w.now = w.now.Add(time.Duration(math.Sin(float64(i))*1e6) * time.Microsecond / 100).Truncate(time.Millisecond)
	}
}
