package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

const (
	// idleTenants is how many workspaces do nothing, each with an event and a webhook; fewTenants is how many the
	// control has.
	idleTenants, fewTenants = 100_000, 100
	// idleFor is how long they are watched: two sweeps, and part of each round.
	idleFor = 130 * time.Second
	// quietBelow is the share of a core below which a server has done what it does after a start, which it gets
	// quietWithin for: search builds an index of each workspace.
	quietBelow  = 0.05
	quietWithin = 20 * time.Minute
)

// idleRows measures the processor time of a server, with its PostgreSQL, whose workspaces all do nothing.
func (b *bench) idleRows() error {
	for _, engine := range []string{"SQLite", "PostgreSQL"} {
		if engine == "PostgreSQL" && !b.postgres && b.quick {
			continue
		}
		r := b.begin(row{Work: "idle workspaces, " + engine, Group: "process", Unit: "% of a core"})
		for _, n := range []int{fewTenants, idleTenants} {
			share, err := b.idleOn(engine, n)
			if err != nil {
				return err
			}
			r.figure(fmt.Sprint(n)).add(sample{value: 100 * share})
		}
		more := r.figure(fmt.Sprint(idleTenants)).Median - r.figure(fmt.Sprint(fewTenants)).Median
		r.atMost(1, more, "100,000 idle workspaces cost ≤ 1 % of a core more than 100")
		b.keep(r)
	}
	return nil
}

// idleOn returns the share of a core that a server of n idle workspaces takes.
func (b *bench) idleOn(engine string, n int) (float64, error) {
	name := fmt.Sprint("idle-", engine, "-", n)
	data, o, more := b.dataDir(name), store.Options{}, []string{}
	if engine == "SQLite" {
		if err := os.Mkdir(data, 0o700); err != nil {
			return 0, err
		}
		o.Folder = data
		defer os.RemoveAll(data)
	} else {
		url, err := b.startPostgres()
		if err != nil {
			return 0, err
		}
		o.DatabaseURL, more = url, []string{"--database-url", url}
	}
	if err := seedIdle(o, n); err != nil {
		return 0, err
	}
	p, err := b.startSheaf(name, data, more...)
	if err != nil {
		return 0, err
	}
	share := func(d time.Duration) float64 {
		used := p.cpu()
		if o.DatabaseURL != "" {
			used += cpuOfTree(b.postmaster)
		}
		time.Sleep(d) // what is measured
		now := p.cpu()
		if o.DatabaseURL != "" {
			now += cpuOfTree(b.postmaster)
		}
		return float64(now-used) / float64(d)
	}
	for began := time.Now(); share(10*time.Second) > quietBelow; {
		if time.Since(began) > quietWithin {
			return 0, fmt.Errorf("a server of %d idle workspaces on %s was not quiet within %v of its start", n, engine, quietWithin)
		}
	}
	idle := share(idleFor)
	return idle, p.stop()
}

// seedIdle makes workspaces that have an event and a webhook, for which it was nothing.
func seedIdle(o store.Options, n int) error {
	ctx := context.Background()
	if err := store.Migrate(ctx, o); err != nil {
		return err
	}
	st, err := store.Open(ctx, o)
	if err != nil {
		return err
	}
	defer st.Close()
	all := make([]int, n)
	for some := range slices.Chunk(all, 500) {
		if err := st.Write(ctx, func(tx *store.Tx) error {
			for range some {
				if err := seedIdleOne(tx); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func seedIdleOne(tx *store.Tx) error {
	now := time.Now().UTC().Truncate(time.Millisecond)
	id := sheaf.WorkspaceID(newID(now))
	if err := tx.InsertWorkspace(sheaf.Workspace{ID: id, Name: "Idle", Plan: sheaf.Business, CreatedAt: now}); err != nil {
		return err
	}
	w, err := tx.LockWorkspace(id)
	if err != nil {
		return err
	}
	w.LastNumber++
	hook := sheaf.Subscription{ID: sheaf.SubscriptionID(newID(now)), Name: "idle", URL: "https://example.com/", Events: []sheaf.EventType{sheaf.ShareDeleted},
		Active: true, Number: w.LastNumber, Revision: 1, CreatedAt: now, UpdatedAt: now}
	if err := tx.InsertSubscription(id, hook, store.Sealed{Secret: []byte("x")}); err != nil {
		return err
	}
	w.Subscriptions++
	e := sheaf.Event{ID: sheaf.EventID(sheaf.EventPrefix + newID(now)), Type: sheaf.MediaUploaded, ResourceID: newID(now), At: now, Body: []byte("{}")}
	if err := tx.AppendEvents(&w, []sheaf.Event{e}); err != nil {
		return err
	}
	w.Version = max(w.Version+1, now.UnixMicro())
	return tx.SaveWorkspace(w)
}
