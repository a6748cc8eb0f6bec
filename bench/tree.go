package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// tree measures the tree of a project's documents: the first page of a level of 10,000 beside a page of the list of its project,
// and how long another tenant's writes wait while a subtree of 1,000 documents moves to another project.
func (b *bench) tree() error {
	servers, end, err := b.onBoth("tree", size{2, 2, 0})
	if err != nil {
		return err
	}
	for _, c := range servers {
		if err := b.treeOn(c); err != nil {
			return err
		}
	}
	return end()
}

func (b *bench) treeOn(c *contender) error {
	o := c.owners[0]
	wide, err := seedBelow(c, o, o.Projects[0], 10_000)
	if err != nil {
		return err
	}
	moved, err := seedBelow(c, o, o.Projects[0], 1_000)
	if err != nil {
		return err
	}
	if err := c.vacuum("documents"); err != nil {
		return err
	}
	const list = "/api/v1/documents?limit=50"
	r := b.begin(row{Work: "first page of a level of 10,000 documents", Group: "growth", Conns: 1, Unit: "ms", Note: "cold: each after a write; " + c.name})
	for range b.rounds {
		for name, path := range map[string]string{"list of the project": list + "&project_id=" + o.Projects[0], "level": list + "&sort=sort_order&parent_id=" + wide} {
			m, err := b.generate(workload{Addr: c.process.addr, Conns: 1, Time: b.time / 2, Warm: b.time / 8,
				Before: [][]byte{sheafAPI.update(o, o.Projects[0])}, Requests: [][]byte{raw("GET", path, o, "")}})
			if err != nil || m.Errors > 0 {
				return fmt.Errorf("%s: %s %w", path, m.First, err)
			}
			r.figure(name).add(sample{value: m.P50, p50: m.P50, p99: m.P99})
		}
	}
	b.keep(r)
	r.atMost(1.1, r.ratio("level", "list of the project"), "≤ 1.1 × a page of the project's list")

	r = b.begin(row{Work: "move of a subtree of 1,000 documents", Group: "growth", Conns: 1, Unit: "ms", Note: "to another project, while another tenant writes; " + c.name})
	for i := range b.rounds {
		err := b.beside(r, c, "the move", func() error {
			return c.process.call(o, "POST", "/api/v1/documents/"+moved+"/move", `{"project_id":"`+o.Projects[(i+1)%2]+`","parent_id":null}`, nil)
		})
		if err != nil {
			return err
		}
	}
	b.keep(r)
	r.atMost(100, r.figure("the move, another's longest write").Median, "another's longest write ≤ 100 ms")
	return nil
}

// vacuum does on PostgreSQL what autovacuum does within a minute.
func (c *contender) vacuum(tables ...string) error {
	url := c.options.DatabaseURL
	if url == "" {
		return nil
	}
	bin, err := postgresBin()
	if err != nil {
		return err
	}
	if out, err := exec.Command(filepath.Join(bin, "psql"), url, "-c", "VACUUM ANALYZE "+strings.Join(tables, ", ")).CombinedOutput(); err != nil {
		return fmt.Errorf("vacuum: %w: %s", err, out)
	}
	return nil
}

// seedBelow adds a document to a project, and n-1 documents below it. It returns the id of the first.
func seedBelow(c *contender, o owner, project string, n int) (top string, err error) {
	ctx := context.Background()
	st, err := store.Open(ctx, c.options)
	if err != nil {
		return "", err
	}
	defer st.Close()
	err = st.Write(ctx, func(tx *store.Tx) error {
		w, err := tx.LockWorkspace(o.Workspace)
		if err != nil {
			return err
		}
		now := time.Now().UTC().Truncate(time.Millisecond)
		id := sheaf.ProjectID(project)
		var above *sheaf.DocumentID
		for i := range n {
			w.LastNumber++
			w.Documents++
			d := sheaf.Document{ID: sheaf.DocumentID(newID(now)), Title: fmt.Sprintf("Page %d", i), ProjectID: &id, ParentID: above,
				CreatedAt: now, UpdatedAt: now, Number: w.LastNumber, Revision: 1, Version: 1}
			d.SortOrder = d.DefaultOrder()
			if err := tx.InsertDocument(w.ID, d, sheaf.Author{}); err != nil {
				return err
			}
			if above == nil {
				above, top = &d.ID, string(d.ID)
			}
		}
		w.Version = max(w.Version+1, now.UnixMicro())
		return tx.SaveWorkspace(w)
	})
	return top, err
}
