package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// growthRows measures how figures change when the data grows. They are not in the quick form unless they
// are named.
func (b *bench) growthRows() {
	if b.quick && len(b.only) == 0 {
		return
	}
	b.try("many", b.manyProjects)
	b.try("file", b.growthFile)
	b.try("large", b.largeWorkspace)
	b.try("folder", b.deleteFolder)
	b.try("tree", b.tree)
	b.try("release", b.release)
	b.try("restricted", b.restricted)
	b.try("leave", b.leave)
	b.try("neighbour", b.neighbour)
	b.try("backlog", b.backlog)
	b.try("subscriptions", b.subscriptions)
	b.try("hold", b.hold)
	b.try("search", b.search)
	b.try("console", b.console)
}

// grown fills a database of its own and serves it, with further flags; end stops and removes it.
func (b *bench) grown(name string, fill func(store.Options) ([]owner, error), more ...string) (c *contender, end func() error, err error) {
	data := b.dataDir(name)
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, nil, err
	}
	o := store.Options{Folder: data}
	owners, err := fill(o)
	if err != nil {
		return nil, nil, err
	}
	p, err := b.startSheaf(name, data, more...)
	if err != nil {
		return nil, nil, err
	}
	c = &contender{name: name, process: p, owners: owners, hookOwners: owners, api: sheafAPI, options: o}
	return c, func() error {
		if err := c.process.stop(); err != nil {
			return err
		}
		return os.RemoveAll(data)
	}, nil
}

// again stops the server and starts it on the same data: its caches are empty.
func (b *bench) again(c *contender) error {
	if err := c.process.stop(); err != nil {
		return err
	}
	p, err := b.startSheaf(c.name, c.options.Folder)
	c.process = p
	return err
}

// sizes are the numbers of workspaces, of 100 projects each.
var sizes = []int{100, 1000, 10_000}

// manyProjects compares get and list over 10,000 projects in 100 workspaces with those over a hundred times as many.
// Warm: the same number of projects is read again and again. Cold: each request is the first of its kind after a start.
func (b *bench) manyProjects() error {
	rows := map[string]*row{}
	for _, work := range []string{"get, warm", "get, cold", "list, warm", "list, cold"} {
		rows[work] = b.begin(row{Work: work, Group: "growth", Conns: 16, Unit: "/s", Note: "projects in the service"})
	}
	var all []*contender
	for _, n := range sizes {
		c, end, err := b.grown(fmt.Sprint(n*100), func(o store.Options) ([]owner, error) {
			owners, err := seed(o, size{n, 100, 0})
			if err != nil {
				return nil, err
			}
			return owners, b.index(o) // or search would build its index of a million while the others are measured
		})
		if err != nil {
			return err
		}
		defer end()
		all = append(all, c)
	}
	for range b.rounds {
		for _, c := range all {
			if err := b.readMany(c, rows); err != nil {
				return err
			}
		}
	}
	largest := all[len(all)-1]
	if err := b.readyAgain(largest, "ready, 1 million projects"); err != nil {
		return err
	}
	if b.want("file") {
		if err := b.fileRow(sizes[len(sizes)-1]*100, largest.options.Folder); err != nil {
			return err
		}
	}
	for _, work := range []string{"get, warm", "get, cold", "list, warm", "list, cold"} {
		r := rows[work]
		r.atMost(1.3, r.ratio("10000", "1000000"), "1 million ≤ 1.3 × the time of 10 thousand")
		b.keep(r)
	}
	return nil
}

// readMany reads as many different things in a large service as there are in the small one, spread over all of it.
func (b *bench) readMany(c *contender, rows map[string]*row) error {
	part := *c
	part.owners = nil
	for i := range sizes[0] {
		part.owners = append(part.owners, c.owners[i*len(c.owners)/sizes[0]])
	}
	for work, requests := range map[string][][]byte{"get": part.every(sheafAPI.get), "list": pages(part.owners)} {
		if err := b.again(c); err != nil {
			return err
		}
		part.process = c.process
		if err := b.load(rows[work+", cold"], &part, workload{Requests: requests, Once: true}); err != nil {
			return err
		}
		if err := b.load(rows[work+", warm"], &part, workload{Requests: requests, Time: b.time}); err != nil {
			return err
		}
	}
	return nil
}

// bytesOfAProject is what a project of the growth seed took in the SQLite file, its indexes included, in an early development
// version whose keys were long (100,000 projects in 1,000 workspaces: 58.8 MB).
const bytesOfAProject = 616

// growthFile seeds the file only to measure its size, unless the size was measured with the reads.
func (b *bench) growthFile() error {
	if b.fileSeen {
		return nil
	}
	workspaces := sizes[len(sizes)-1]
	if b.quick {
		workspaces /= 10
	}
	data := b.dataDir("file")
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(data)
	if _, err := seed(store.Options{Folder: data}, size{workspaces, 100, 0}); err != nil {
		return err
	}
	return b.fileRow(workspaces*100, data)
}

func (b *bench) fileRow(projects int, data string) error {
	info, err := os.Stat(filepath.Join(data, store.FileName))
	if err != nil {
		return err
	}
	r := b.begin(row{Work: "file of the growth seed", Group: "growth", Unit: "MB", Note: fmt.Sprint(projects, " projects")})
	r.figure("sheaf").add(sample{value: float64(info.Size()) / megabyte})
	r.figure("before small keys").add(sample{value: float64(projects) * bytesOfAProject / megabyte})
	b.keep(r)
	r.atMost(0.6, r.ratio("sheaf", "before small keys"), "≤ 0.6 of what it was")
	b.fileSeen = true
	return nil
}

// onBoth fills a new SQLite file and serves it, and adds Sheaf on PostgreSQL if that is wanted. end stops
// the server on SQLite.
func (b *bench) onBoth(name string, n size) (servers []*contender, end func() error, err error) {
	c, end, err := b.grown(name, func(o store.Options) ([]owner, error) { return seed(o, n) })
	if err != nil {
		return nil, nil, err
	}
	if !b.postgres {
		return []*contender{c}, end, nil
	}
	p, err := b.sheafOnPostgres()
	return []*contender{c, p}, end, err
}

// pages are 16 different lists of 50 for each owner.
func pages(owners []owner) (out [][]byte) {
	for _, sort := range []string{"sort_order", "name", "created_at", "updated_at"} {
		for _, order := range []string{"asc", "desc"} {
			for _, offset := range []int{0, 50} {
				for _, o := range owners {
					out = append(out, raw("GET", fmt.Sprintf("/api/v1/projects?limit=50&sort=%s&order=%s&offset=%d", sort, order, offset), o, ""))
				}
			}
		}
	}
	return out
}

// largeWorkspace compares cold pages of workspaces that hold from 100 to 100,000 projects: each after a write to it.
func (b *bench) largeWorkspace() error {
	projects := []int{100, 1000, 10_000, 100_000}
	c, end, err := b.grown("large", func(o store.Options) (all []owner, err error) {
		for _, n := range projects {
			owners, err := seed(o, size{1, n, 0})
			if err != nil {
				return nil, err
			}
			all = append(all, owners...)
		}
		return all, nil
	})
	if err != nil {
		return err
	}
	r := b.begin(row{Work: "cold page of one workspace", Group: "growth", Conns: 1, Unit: "ms"})
	for range b.rounds {
		for i, n := range projects {
			if err := b.page(r, c, c.owners[i], fmt.Sprintf("first of %d", n), 0); err != nil {
				return err
			}
		}
		last := c.owners[len(projects)-1]
		for name, offset := range map[string]int{"at 50000 of 100000": 50_000, "last of 100000": 99_950} {
			if err := b.page(r, c, last, name, offset); err != nil {
				return err
			}
		}
	}
	b.keep(r)
	r.atMost(1.5, r.ratio("first of 100000", "first of 100"), "first page of 100,000 ≤ 1.5 × of 100")
	r.atMost(40, r.ratio("at 50000 of 100000", "first of 100000"), "page at 50,000 ≤ 40 × the first")
	r.atMost(4, r.ratio("last of 100000", "first of 100000"), "last page ≤ 4 × the first")
	return end()
}

func (b *bench) page(r *row, c *contender, o owner, name string, offset int) error {
	list := raw("GET", fmt.Sprintf("/api/v1/projects?limit=50&offset=%d", offset), o, "")
	m, err := b.generate(workload{Addr: c.process.addr, Conns: 1, Time: b.time / 2, Warm: b.time / 8,
		Before: [][]byte{sheafAPI.update(o, o.Projects[0])}, Requests: [][]byte{list}})
	if err != nil {
		return err
	}
	if m.Errors > 0 {
		r.figure(name).Void = m.First
		return nil
	}
	r.figure(name).add(sample{value: m.P50, p50: m.P50, p99: m.P99})
	return nil
}

// deleteFolder deletes a folder of 10,000 projects, with 20 webhooks that get an event of each, while another tenant writes.
func (b *bench) deleteFolder() error {
	const projects = 10_000
	c, end, err := b.grown("folder", func(o store.Options) ([]owner, error) { return seed(o, size{2, 1, 0}) })
	if err != nil {
		return err
	}
	r := b.begin(row{Work: "another tenant's longest write", Group: "growth", Conns: 1, Unit: "ms", Note: "while a folder of 10,000 projects is deleted, with 20 webhooks"})
	for range b.rounds {
		if err := b.deleteOnce(r, c, projects); err != nil {
			return err
		}
	}
	b.keep(r)
	r.atMost(150, r.figure("during the deletion").Median, "≤ 150 ms during the deletion")
	return end()
}

func (b *bench) deleteOnce(r *row, c *contender, projects int) error {
	var folder struct{ ID sheaf.FolderID }
	if err := c.process.call(c.owners[0], "POST", "/api/v1/folders", `{"name":"Large","entity_type":"project"}`, &folder); err != nil {
		return err
	}
	if err := fillFolder(c, folder.ID, projects); err != nil {
		return err
	}
	writes := workload{Addr: c.process.addr, Conns: 1, Time: 2 * time.Second, Requests: [][]byte{sheafAPI.create(c.owners[1], "")}}
	quiet, err := b.generate(writes)
	if err != nil {
		return err
	}
	r.figure("nothing else").add(sample{value: quiet.Max, p50: quiet.P50, p99: quiet.P99})
	// The webhooks are created now, so they get the events of the deletion, and none of the filling.
	hooks := make([]webhook, 20)
	for i := range hooks {
		if hooks[i], err = c.subscribe(c.owners[0], b.endpoint.url+"/hook"); err != nil {
			return err
		}
	}
	deleted := make(chan error, 1)
	began := time.Now()
	go func() {
		time.Sleep(200 * time.Millisecond)
		began = time.Now()
		err := c.process.call(c.owners[0], "DELETE", "/api/v1/folders/"+string(folder.ID), "", nil)
		r.figure("the deletion itself").add(sample{value: float64(time.Since(began).Microseconds()) / 1e3})
		deleted <- err
	}()
	writes.Time = 4 * time.Second
	busy, err := b.generate(writes)
	if err != nil {
		return err
	}
	if err := <-deleted; err != nil {
		return err
	}
	r.figure("during the deletion").add(sample{value: busy.Max, p50: busy.P50, p99: busy.P99})
	return c.unsubscribe(hooks) // with what they have not got yet
}

func fillFolder(c *contender, folder sheaf.FolderID, n int) error {
	ctx := context.Background()
	st, err := store.Open(ctx, c.options)
	if err != nil {
		return err
	}
	defer st.Close()
	return st.Write(ctx, func(tx *store.Tx) error {
		_, err := seedProjects(tx, c.owners[0].Workspace, &folder, n, 0)
		return err
	})
}

// beside calls do while another tenant writes. It adds the duration of do, its processor time, and the
// longest wait of the other tenant.
func (b *bench) beside(r *row, c *contender, name string, do func() error) error {
	writes := workload{Addr: c.process.addr, Conns: 1, Time: time.Second, Requests: [][]byte{sheafAPI.create(c.owners[1], "")}}
	type ended struct {
		m   measured
		err error
	}
	other := make(chan ended, 1)
	go func() {
		m, err := b.generate(writes)
		other <- ended{m, err}
	}()
	time.Sleep(200 * time.Millisecond)
	began := time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r.figure(name).add(sample{value: float64(time.Since(began).Microseconds()) / 1e3})
	e := <-other
	if e.err != nil {
		return e.err
	}
	r.figure(name + ", another's longest write").add(sample{value: e.m.Max, p50: e.m.P50, p99: e.m.P99})
	return nil
}
