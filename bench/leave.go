package main

import (
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"os/exec"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// leaving is the number of documents of the workspace that is deleted.
const leaving = 100_000

// leave measures how long another tenant's writes wait while the running server removes a workspace of 100,000 documents, which
// `sheaf workspace delete --delete-after 0` has deleted. It measures once per engine, because a removal takes minutes.
func (b *bench) leave() error {
	servers, end, err := b.onBoth("leave", size{2, 1, 0})
	if err != nil {
		return err
	}
	for _, c := range servers {
		if err := b.leaveOn(c); err != nil {
			return err
		}
	}
	return end()
}

func (b *bench) leaveOn(c *contender) error {
	o, writes := c.owners[0], workload{Addr: c.process.addr, Conns: 1, Time: 4 * time.Second, Requests: [][]byte{sheafAPI.create(c.owners[1], "")}}
	if err := seedLeaving(c, o); err != nil {
		return err
	}
	if err := c.vacuum("documents", "events", "texts"); err != nil {
		return err
	}
	if err := c.indexed(o); err != nil {
		return err
	}
	if _, err := b.generate(writes); err != nil { // not measured: the seed's writes are still being copied into the file
		return err
	}
	r := b.begin(row{Work: "another tenant's longest write", Group: "growth", Conns: 1, Unit: "ms", Note: "while a workspace of 100,000 documents is removed; " + c.name})
	quiet, err := b.generate(writes)
	if err != nil {
		return err
	}
	r.figure("nothing else").add(sample{value: quiet.Max, p50: quiet.P50, p99: quiet.P99})
	st, err := store.Open(context.Background(), c.options)
	if err != nil {
		return err
	}
	defer st.Close()
	if err := b.deleteWorkspace(c, o.Workspace); err != nil {
		return err
	}
	var began time.Time
	var longest measured
	for gone := false; !gone; {
		beside, err := b.generate(writes)
		if err != nil {
			return err
		}
		if beside.Errors > 0 {
			r.figure("during the removal").Void = beside.First
		}
		if beside.Max > longest.Max {
			longest = beside
		}
		var removing bool
		if gone, removing, err = removal(st, o.Workspace); err != nil {
			return err
		}
		if removing && began.IsZero() {
			began = time.Now().Add(-writes.Time / 2)
		}
	}
	r.figure("during the removal").add(sample{value: longest.Max, p50: longest.P50, p99: longest.P99})
	if !began.IsZero() {
		r.figure("the removal itself, within 4 s").add(sample{value: float64(time.Since(began).Milliseconds())})
	}
	b.keep(r)
	r.atMost(150, r.figure("during the removal").Median, "≤ 150 ms during the removal")
	return nil
}

// deleteWorkspace runs sheaf workspace delete beside the server.
func (b *bench) deleteWorkspace(c *contender, id sheaf.WorkspaceID) error {
	args := []string{"workspace", "delete", string(id), "--delete-after", "0", "--data", c.options.Folder}
	if c.options.DatabaseURL != "" { // with 0 the command would remove the data itself, instead of the server
		args = []string{"workspace", "delete", string(id), "--delete-after", "1ms", "--data", b.dir, "--database-url", c.options.DatabaseURL}
	}
	cmd := exec.Command(b.program, args...)
	cmd.SysProcAttr = withParent
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("delete the workspace: %w: %s", err, out)
	}
	return nil
}

// removal reports whether a workspace is removed, and whether its removal has begun.
func removal(st *store.Store, id sheaf.WorkspaceID) (gone, begun bool, err error) {
	err = st.Read(context.Background(), func(r *store.Reader) error {
		w, err := r.Workspace(id)
		if sheaf.KindOf(err) == sheaf.NotFound {
			gone, err = true, nil
		}
		begun = w.Removing
		return err
	})
	return gone, begun, err
}

// seedLeaving adds 100,000 documents in 100 projects, each with a description and a text of 2 KB, and as many events.
func seedLeaving(c *contender, o owner) error {
	ctx := context.Background()
	st, err := store.Open(ctx, c.options)
	if err != nil {
		return err
	}
	defer st.Close()
	random := mathrand.New(mathrand.NewPCG(3, 4))
	vocabulary := newVocabulary(random)
	const projects = 100
	for range projects {
		err := st.Write(ctx, func(tx *store.Tx) error {
			ids, err := seedProjects(tx, o.Workspace, nil, 1, 0)
			if err != nil {
				return err
			}
			if err := seedPages(tx, o, ids[0], leaving/projects, func(i int) string { return textOf(i, random, vocabulary) }); err != nil {
				return err
			}
			return appendEvents(tx, o, leaving/projects)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// seedPages adds n documents with these texts to a project.
func seedPages(tx *store.Tx, o owner, project string, n int, write func(i int) string) error {
	w, err := tx.LockWorkspace(o.Workspace)
	if err != nil {
		return err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	id := sheaf.ProjectID(project)
	for i := range n {
		w.LastNumber++
		w.Documents++
		content := write(i)
		t := store.NewText(content)
		d := sheaf.Document{ID: sheaf.DocumentID(newID(now)), Title: fmt.Sprintf("Page %d", i), Description: &content, ProjectID: &id, CreatedAt: now,
			UpdatedAt: now, Number: w.LastNumber, Revision: 1, Version: 1, ContentBytes: t.Bytes(), ContentSHA256: t.SHA256()}
		d.SortOrder = d.DefaultOrder()
		if err := tx.InsertDocument(w.ID, d, sheaf.Author{}); err != nil {
			return err
		}
		grown, err := tx.InsertText(w.ID, d.ID, t)
		if err != nil {
			return err
		}
		w.Storage += grown
	}
	w.Version = max(w.Version+1, now.UnixMicro())
	return tx.SaveWorkspace(w)
}
