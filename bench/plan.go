package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// planFile is what `sheaf plan` calculates with, from the module's root.
const planFile = "cmd/sheaf/plan.json"

// planWithin is how far the processor time of a run may be from what the plan says for its load.
const planWithin = 0.30

// figures are what one operation costs, as planFile has it.
type figures struct {
	Date    string          `json:"date"`
	Machine string          `json:"machine"`
	Version string          `json:"version"`
	Kinds   map[string]cost `json:"kinds"`
	Idle    cost            `json:"idle"` // of one node without requests, for a second
}

// cost is that of one operation. Bytes are what it adds to PostgreSQL.
type cost struct {
	Node     float64 `json:"node_us"`
	Postgres float64 `json:"postgres_us"`
	Bytes    float64 `json:"bytes"`
}

// kind is one sort of request, and at what rate it is measured.
type kind struct {
	name string
	rate float64 // a second
	adds bool    // what it makes is kept
	ask  func(n int64) (o owner, method, path, body string)
}

// planRows measures what each kind of request and a delivery cost a node and PostgreSQL, writes that where `sheaf plan`
// reads it, and holds the plan against runs of three loads.
func (b *bench) planRows() {
	if len(b.only) == 0 {
		return // a run of its own: make plan
	}
	b.try("plan", func() error {
		c, err := b.sheafOnPostgres()
		if err != nil {
			return err
		}
		if err := c.fillTexts(); err != nil {
			return err
		}
		p := &planner{bench: b, c: c, db: c.options.DatabaseURL, client: &http.Client{Timeout: stallAfter, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
		hooks, _, err := c.spread(50, 1, b.endpoint.url+"/plan")
		if err != nil {
			return err
		}
		p.hooks = hooks
		if err := p.searchable(); err != nil {
			return err
		}
		if b.measures {
			if err := p.measure(); err != nil {
				return err
			}
		}
		return p.check()
	})
}

// planner has a node on PostgreSQL with the standard data.
type planner struct {
	*bench
	c      *contender
	db     string
	client *http.Client
	hooks  []webhook // of owners whose events are delivered at once
}

// kinds are measured at rates that a small installation has: fewer share a commit or a claim than at the limit.
func (p *planner) kinds() []kind {
	owners := p.c.owners
	at := func(n int64) owner { return owners[n%int64(len(owners))] }
	text := someText()
	create := func(o owner, n int64) (owner, string, string, string) {
		return o, "POST", "/api/v1/projects", fmt.Sprintf(`{"name":"Project %010d","description":"What everybody should know about it"}`, n)
	}
	return []kind{
		{"read", 300, false, func(n int64) (owner, string, string, string) {
			o := at(n)
			return o, "GET", "/api/v1/projects/" + o.Projects[n/100%int64(len(o.Projects))], ""
		}},
		{"list", 150, false, func(n int64) (owner, string, string, string) { return at(n), "GET", "/api/v1/projects?limit=50", "" }},
		{"search", 10, false, func(n int64) (owner, string, string, string) { return at(n), "GET", "/api/v1/search?q=everybody", "" }},
		{"write", 60, true, func(n int64) (owner, string, string, string) { return create(at(n), n) }},
		{"text", 20, true, func(n int64) (owner, string, string, string) {
			return at(n), "PUT", "/api/v1/documents/" + p.c.texts[n%int64(len(owners))] + "/content", fmt.Sprintf("%s%010d", text, n)
		}},
		{"delivery", 40, true, func(n int64) (owner, string, string, string) { return create(p.hooks[n%int64(len(p.hooks))].owner, n) }},
	}
}

// searchable waits until the index of search has the standard data.
func (p *planner) searchable() error {
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		var page struct{ Total int }
		err := p.c.process.callOnce(p.c.owners[0], "GET", "/api/v1/search?q=everybody", "", &page)
		if err == nil && page.Total > 0 {
			return nil
		}
	}
	return errors.New("the index of search was not ready within 5 minutes")
}

// spent is what a run cost.
type spent struct {
	done           map[string]int64 // operations by kind
	node, postgres time.Duration
	bytes          int64
	took           time.Duration
}

// run asks for so long, at the rates of the kinds whatever the answers take, with 16 clients for each kind at most.
func (p *planner) run(kinds []kind, d time.Duration) (spent, error) {
	before, err := p.size()
	if err != nil {
		return spent{}, err
	}
	node, postgres, began := p.c.process.cpu(), cpuOfTree(p.postmaster), time.Now()
	s := spent{done: map[string]int64{}}
	var group sync.WaitGroup
	done, failed := make([]atomic.Int64, len(kinds)), atomic.Pointer[error]{}
	for i, k := range kinds {
		var next atomic.Int64
		for range 16 {
			group.Go(func() {
				for {
					n := next.Add(1) - 1
					due := began.Add(time.Duration(float64(n) / k.rate * float64(time.Second)))
					if due.Sub(began) > d || failed.Load() != nil {
						return
					}
					time.Sleep(time.Until(due)) // the pace of the load
					if err := p.ask(k.ask(n)); err != nil {
						failed.Store(&err)
						return
					}
					done[i].Add(1)
				}
			})
		}
	}
	if len(kinds) == 0 {
		time.Sleep(d) // idle
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return s, *err
	}
	if err := p.c.recorded(p.hooks); err != nil {
		return s, err
	}
	for i, k := range kinds {
		s.done[k.name] = done[i].Load()
	}
	s.took, s.node, s.postgres = time.Since(began), p.c.process.cpu()-node, cpuOfTree(p.postmaster)-postgres
	after, err := p.size()
	s.bytes = after - before
	return s, err
}

// ask makes one request, and reads its answer.
func (p *planner) ask(o owner, method, path, body string) error {
	r, err := http.NewRequest(method, "http://"+p.c.process.addr+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+o.Token)
	r.Header.Set("Content-Type", "application/json")
	if method == "PUT" {
		r.Header.Set("Content-Type", "text/markdown")
	}
	answer, err := p.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s %s", method, path, answer.Status, text)
	}
	return err
}

// size is how many bytes the database has.
func (p *planner) size() (n int64, err error) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, p.db)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	return n, conn.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&n)
}

// planTime is how long each kind is measured, after a fifth of that to warm up.
const planTime = 12 * time.Second

// measure finds what one operation of each kind costs beyond an idle node, and writes it.
func (p *planner) measure() error {
	f := figures{Date: p.results.Date, Machine: p.results.Machine.String(), Version: p.results.Version, Kinds: map[string]cost{}}
	if _, err := p.run(p.kinds(), planTime/5); err != nil {
		return err
	}
	idle, err := p.run(nil, planTime)
	if err != nil {
		return err
	}
	seconds := idle.took.Seconds()
	f.Idle = cost{Node: round(micros(idle.node) / seconds), Postgres: round(micros(idle.postgres) / seconds)}
	for _, k := range p.kinds() {
		s, err := p.run([]kind{k}, planTime)
		if err != nil {
			return err
		}
		n := float64(s.done[k.name])
		c := cost{Node: round((micros(s.node) - f.Idle.Node*s.took.Seconds()) / n), Postgres: round((micros(s.postgres) - f.Idle.Postgres*s.took.Seconds()) / n)}
		if k.adds {
			c.Bytes = round(max(0, float64(s.bytes)/n))
		}
		if k.name == "delivery" { // the write that it belongs to is counted already
			w := f.Kinds["write"]
			c = cost{Node: c.Node - w.Node, Postgres: c.Postgres - w.Postgres, Bytes: max(0, c.Bytes-w.Bytes)}
		}
		f.Kinds[k.name] = c
		p.logf("%-10s %6.0f in %v: node %5.0f µs, PostgreSQL %5.0f µs, %6.0f bytes\n", k.name, n, s.took.Round(time.Second), c.Node, c.Postgres, c.Bytes)
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.out, "..", "..", planFile), append(text, '\n'), 0o644)
}

func micros(d time.Duration) float64 { return float64(d.Microseconds()) }

func round(v float64) float64 { return math.Round(v) }

// compared is what a load was planned to need and what it took, in cores.
type compared struct {
	Load               string
	Rates              map[string]float64 // operations a second
	Node, Postgres     float64            // measured
	NodeIn, PostgresIn float64            // planned
}

// check lets three loads run and compares the processor time of node and PostgreSQL with the plan's. The program is
// built once more, because the plan is built in.
func (p *planner) check() error {
	root, program := filepath.Join(p.out, "..", ".."), filepath.Join(p.dir, "sheaf-plan")
	if err := p.goBuild(root, program, "./cmd/sheaf"); err != nil {
		return err
	}
	var all []compared
	for _, load := range []struct {
		name   string
		factor float64
	}{{"small", 0.1}, {"medium", 0.3}, {"large", 0.8}} {
		kinds := p.kinds()
		for i := range kinds {
			kinds[i].rate *= load.factor
		}
		s, err := p.run(kinds, 2*planTime)
		if err != nil {
			return err
		}
		c, err := s.compare(load.name, program)
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	return errors.Join(p.judge(all), p.write(all))
}

// judge prints how far each measured figure is from the planned one, and returns which are too far.
func (p *planner) judge(all []compared) (err error) {
	for _, c := range all {
		for _, part := range []struct {
			name              string
			planned, measured float64
		}{{"node", c.NodeIn, c.Node}, {"PostgreSQL", c.PostgresIn, c.Postgres}} {
			off := part.measured/part.planned - 1
			p.logf("%-8s %-12s planned %.3f cores, measured %.3f: %+.0f %%\n", c.Load, part.name, part.planned, part.measured, 100*off)
			if math.Abs(off) > planWithin {
				err = errors.Join(err, fmt.Errorf("%s, %s load: %.3f cores are planned and %.3f were used", part.name, c.Load, part.planned, part.measured))
			}
		}
	}
	return err
}

// write keeps what was compared beside the other results.
func (p *planner) write(all []compared) error {
	text, err := json.MarshalIndent(map[string]any{"date": p.results.Date, "machine": p.results.Machine.String(), "version": p.results.Version, "loads": all}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.out, "..", "results", "plan.json"), append(text, '\n'), 0o644)
}

// compare asks the program for the plan of what was really done.
func (s spent) compare(load, program string) (c compared, err error) {
	seconds := s.took.Seconds()
	c = compared{Load: load, Rates: map[string]float64{}, Node: s.node.Seconds() / seconds, Postgres: s.postgres.Seconds() / seconds}
	args := []string{"plan", "--json", "--nodes", "1"}
	for kind, flag := range map[string]string{"read": "--reads", "list": "--lists", "search": "--searches", "write": "--writes", "text": "--texts", "delivery": "--deliveries"} {
		n := s.done[kind]
		if kind == "write" {
			n += s.done["delivery"] // each of these is of a write
		}
		c.Rates[kind] = math.Round(100*float64(n)/seconds) / 100
		args = append(args, flag, fmt.Sprint(c.Rates[kind]))
	}
	out, err := exec.Command(program, args...).Output()
	if err != nil {
		return c, fmt.Errorf("sheaf plan: %w", err)
	}
	var plan struct {
		Node     float64 `json:"node_millicores"`
		Postgres float64 `json:"postgres_millicores"`
	}
	err = json.Unmarshal(out, &plan)
	c.NodeIn, c.PostgresIn = plan.Node/1000, plan.Postgres/1000
	return c, err
}
