package main

import (
	"context"
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// restricted measures keys that see part of a workspace of 100,000 documents in 100 projects: half of it through a folder, and one
// project. Each list is read right after a write to the workspace, so no cache answers it. The log of the workspace has 1,000,000
// events, half of them in the log of the folder's restriction.
func (b *bench) restricted() error {
	servers, end, err := b.onBoth("restricted", size{1, 1, 0})
	if err != nil {
		return err
	}
	for _, c := range servers {
		if err := b.restrictedOn(c); err != nil {
			return err
		}
	}
	return end()
}

func (b *bench) restrictedOn(c *contender) error {
	o := c.owners[0]
	var folder struct{ ID string }
	if err := c.process.call(o, "POST", "/api/v1/folders", `{"name":"inside","entity_type":"project"}`, &folder); err != nil {
		return err
	}
	id := sheaf.FolderID(folder.ID)
	inside, err := seedHalf(c, o, &id)
	if err != nil {
		return err
	}
	if _, err := seedHalf(c, o, nil); err != nil {
		return err
	}
	half, err := c.restrictedKey(o, `{"folder_ids":["`+folder.ID+`"]}`)
	if err != nil {
		return err
	}
	one, err := c.restrictedKey(o, `{"project_ids":["`+inside[0]+`"]}`)
	if err != nil {
		return err
	}
	if err := seedLog(c, o, inside[1], o.Projects[0], &id, 1_000_000); err != nil {
		return err
	}
	if err := c.vacuum("documents", "events", "restricted_events"); err != nil {
		return err
	}

	var queries []string
	for _, sort := range []string{"created_at", "updated_at", "title"} {
		for _, offset := range []int{0, 25_000} {
			queries = append(queries, fmt.Sprintf("/api/v1/documents?limit=50&sort=%s&offset=%d", sort, offset))
		}
	}
	r := b.begin(row{Work: "list of documents with a restricted key", Group: "growth", Conns: 1, Unit: "ms", Note: "100,000 documents, cold: each after a write; " + c.name})
	for range b.rounds {
		for name, who := range map[string]owner{"everything": o, "a folder with half of it": half, "one project of 1,000": one} {
			if err := b.readCold(r, c, name, who, o, queries); err != nil {
				return err
			}
		}
	}
	b.keep(r)
	worst := 0.0
	for _, name := range []string{"a folder with half of it", "one project of 1,000"} {
		worst = max(worst, r.figure(name).P99)
	}
	r.atMost(100, worst, "restricted: p99 ≤ 100 ms")

	r = b.begin(row{Work: "first page of 1,000,000 events with a restricted key", Group: "growth", Conns: 1, Unit: "ms", Note: "with its total; " + c.name})
	for range b.rounds {
		for name, who := range map[string]owner{"everything": o, "a folder with half of it": half} {
			if err := b.readCold(r, c, name, who, o, []string{"/api/v1/events?limit=50"}); err != nil {
				return err
			}
		}
	}
	b.keep(r)
	r.atMost(3, r.ratio("a folder with half of it", "everything"), "≤ 3 × without a restriction")
	return nil
}

// readCold reads these pages with the key of `who`, each after a write by `writer`.
func (b *bench) readCold(r *row, c *contender, name string, who, writer owner, queries []string) error {
	var pages [][]byte
	for _, q := range queries {
		pages = append(pages, raw("GET", q, who, ""))
	}
	m, err := b.generate(workload{Addr: c.process.addr, Conns: 1, Time: b.time / 2, Warm: b.time / 8,
		Before: [][]byte{sheafAPI.update(writer, writer.Projects[0])}, Requests: pages})
	if err != nil || m.Errors > 0 {
		return fmt.Errorf("%s: %s %w", name, m.First, err)
	}
	if m.P50 == 0 {
		return fmt.Errorf("%s: no page was answered within %s", name, b.time/2)
	}
	r.figure(name).add(sample{value: m.P50, p50: m.P50, p99: m.P99})
	return nil
}

// restrictedKey makes a key that is restricted to the record `to`.
func (c *contender) restrictedKey(o owner, to string) (owner, error) {
	var key struct{ Key string }
	err := c.process.call(o, "POST", "/api/v1/api-keys", `{"name":"restricted","scopes":["projects:read","documents:read","events:read"],"restricted_to":`+to+`}`, &key)
	o.Token = key.Key
	return o, err
}

// seedHalf adds 50 projects of 1,000 documents each to the folder.
func seedHalf(c *contender, o owner, folder *sheaf.FolderID) (projects []string, err error) {
	ctx := context.Background()
	st, err := store.Open(ctx, c.options)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	for range 10 { // 5,000 documents in one transaction
		err := st.Write(ctx, func(tx *store.Tx) error {
			more, err := seedProjects(tx, o.Workspace, folder, 5, 1000)
			projects = append(projects, more...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return projects, nil
}

// seedLog appends n events, alternately about a project in the folder and about one outside of it.
func seedLog(c *contender, o owner, inside, outside string, folder *sheaf.FolderID, n int) error {
	ctx := context.Background()
	st, err := store.Open(ctx, c.options)
	if err != nil {
		return err
	}
	defer st.Close()
	const most = 50_000 // in one transaction
	for ; n > 0; n -= most {
		err := st.Write(ctx, func(tx *store.Tx) error {
			w, err := tx.LockWorkspace(o.Workspace)
			if err != nil {
				return err
			}
			now := time.Now().UTC().Truncate(time.Millisecond)
			for range most / 1000 {
				batch := make([]sheaf.Event, 1000)
				for i := range batch {
					batch[i] = createdEvent(w, now)
					batch[i].Places = &sheaf.Places{Projects: []sheaf.ProjectID{sheaf.ProjectID(outside)}}
					if i%2 == 0 {
						batch[i].Places = &sheaf.Places{Projects: []sheaf.ProjectID{sheaf.ProjectID(inside)}, Folders: []sheaf.FolderID{*folder}}
					}
				}
				if err := tx.AppendEvents(&w, batch); err != nil {
					return err
				}
			}
			return tx.SaveWorkspace(w)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
