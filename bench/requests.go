package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sheaf.dev/internal/store"
)

// contender is a program that does the same work as the others: the limit, Sheaf on either engine, the
// peer.
type contender struct {
	name    string
	process *process
	owners  []owner
	api     api

	// Of Sheaf alone: where its data is, and owners without projects, whose webhooks are measured.
	options    store.Options
	hookOwners []owner
	texts      []string // the id of a document of 10 KB of each owner; none before they are asked for
}

// api is how a contender is asked. The limit is asked as Sheaf is.
type api struct {
	get, list, create, update func(o owner, project string) []byte
}

// raw is a request as it goes over the wire.
func raw(method, path string, o owner, body string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nAccept: application/json\r\n", method, path, o.Token)
	if body != "" {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n" + body)
	return b.Bytes()
}

const newProject = `"name":"Project ` + counter + `","description":"What everybody should know about it","icon":"book-open","color":"#2563eb"`

var sheafAPI = api{
	get:    func(o owner, p string) []byte { return raw("GET", "/api/v1/projects/"+p, o, "") },
	list:   func(o owner, _ string) []byte { return raw("GET", "/api/v1/projects?limit=50", o, "") },
	create: func(o owner, _ string) []byte { return raw("POST", "/api/v1/projects", o, "{"+newProject+"}") },
	update: func(o owner, p string) []byte {
		return raw("PATCH", "/api/v1/projects/"+p, o, `{"name":"Project `+counter+`"}`)
	},
}

const peerProjects = "/api/collections/projects/records"

// The peer's list has its total unless the request leaves it out, and its get returns the documents by
// expand.
var peerAPI = api{
	get: func(o owner, p string) []byte {
		return raw("GET", peerProjects+"/"+p+"?expand=documents_via_project", o, "")
	},
	list: func(o owner, _ string) []byte {
		return raw("GET", peerProjects+"?perPage=50&sort=sort_order,created", o, "")
	},
	create: func(o owner, _ string) []byte {
		return raw("POST", peerProjects, o, `{"owner":"`+subject(o.Token)+`","visibility":"private",`+newProject+`}`)
	},
	update: func(o owner, p string) []byte {
		return raw("PATCH", peerProjects+"/"+p, o, `{"name":"Project `+counter+`"}`)
	},
}

// every makes one request for each project of each owner; first makes one for each owner.
func (c *contender) every(make func(owner, string) []byte) (out [][]byte) {
	for i := range len(c.owners[0].Projects) {
		for _, o := range c.owners {
			out = append(out, make(o, o.Projects[i]))
		}
	}
	return out
}

func (c *contender) first(make func(owner, string) []byte) (out [][]byte) {
	for _, o := range c.owners {
		out = append(out, make(o, o.Projects[0]))
	}
	return out
}

// load runs the generator against the contender and adds a sample to the row.
func (b *bench) load(r *row, c *contender, w workload) error {
	w.Addr, w.Conns = c.process.addr, r.Conns
	f := r.figure(c.name)
	cpu, bytes := c.process.cpu(), c.process.allocated()
	m, err := b.generate(w)
	if err != nil {
		return fmt.Errorf("%s, %s: %w", r.Work, c.name, err)
	}
	if m.Errors > 0 {
		f.Void = fmt.Sprintf("%d errors: %s", m.Errors, m.First)
		return nil
	}
	s := sample{value: m.rate(), p50: m.P50, p99: m.P99}
	if w.Before == nil && w.Warm == 0 {
		n := float64(m.Count)
		s.cpu = float64((c.process.cpu() - cpu).Microseconds()) / n
		s.bytes = (c.process.allocated() - bytes) / n
	}
	f.add(s)
	b.logf("%-28s %3d  %-18s %9s %s\n", r.Work, r.Conns, c.name, short(s.value), r.Unit)
	return nil
}

// alternate warms every contender up, and then lets them work in turn. What is to come first in each turn may be told.
func (b *bench) alternate(r *row, who []*contender, work func(*contender) workload, first ...func() error) error {
	for _, c := range who {
		w := work(c)
		w.Time = time.Millisecond
		if w.Before == nil {
			if err := b.warm(c, w, r.Conns); err != nil {
				return err
			}
		}
	}
	for range b.rounds {
		for _, f := range first {
			if err := f(); err != nil {
				return err
			}
		}
		for _, c := range who {
			w := work(c)
			w.Warm = 0
			w.Time = b.time
			if err := b.load(r, c, w); err != nil {
				return err
			}
		}
	}
	b.keep(r)
	return nil
}

func (b *bench) warm(c *contender, w workload, conns int) error {
	w.Addr, w.Conns, w.Warm = c.process.addr, max(conns, 16), b.time/3
	m, err := b.generate(w)
	if err == nil && m.Errors > 0 {
		err = fmt.Errorf("%s, warming up: %d errors: %s", c.name, m.Errors, m.First)
	}
	return err
}

// requestRows measures the requests that were asked for.
func (b *bench) requestRows() {
	var all []*contender // the limit first
	for _, work := range []struct {
		name    string
		measure func(all []*contender, conns int) error
	}{{"get", b.get}, {"list", b.list}, {"cold", b.cold}, {"update", b.update}, {"create", b.create}, {"text", b.text}, {"accept", b.accept}} {
		for _, conns := range b.conns {
			b.try(work.name, func() (err error) {
				if all == nil {
					if all, err = b.contenders(); err != nil {
						return err
					}
				}
				return work.measure(all, conns)
			})
		}
	}
}

func (b *bench) get(all []*contender, conns int) error {
	r := b.begin(row{Work: "get a project", Group: "requests", Conns: conns, Unit: "/s"})
	if err := b.alternate(r, all, func(c *contender) workload { return workload{Requests: c.every(c.api.get)} }); err != nil {
		return err
	}
	b.promise(r, 64, 0.60, 10)
	return nil
}

func (b *bench) list(all []*contender, conns int) error {
	r := b.begin(row{Work: "list 50 with total", Group: "requests", Conns: conns, Unit: "/s"})
	if err := b.alternate(r, all, func(c *contender) workload { return workload{Requests: c.first(c.api.list)} }); err != nil {
		return err
	}
	b.promise(r, 64, 0.60, 30)
	return nil
}

func (b *bench) cold(all []*contender, conns int) error {
	r := b.begin(row{Work: "list 50 with total, cold", Group: "requests", Conns: conns, Unit: "/s"})
	err := b.alternate(r, all[1:], func(c *contender) workload {
		return workload{Before: c.first(c.api.update), Requests: c.first(c.api.list)}
	})
	if err != nil {
		return err
	}
	b.promise(r, 64, 0, 6)
	return nil
}

// promise adds the targets of a row against the limit and the peer, if the row is measured with `conns` clients.
func (b *bench) promise(r *row, conns int, limit, peer float64) {
	if r.Conns != conns {
		return
	}
	if limit > 0 {
		r.atLeast(limit, "sheaf", "limit", "≥ %.2f of the limit")
	}
	if peer > 0 {
		r.atLeast(peer, "sheaf", "peer", "≥ %g × the peer")
	}
}

func (b *bench) update(all []*contender, conns int) error {
	r := b.begin(row{Work: "update a project", Group: "requests", Conns: conns, Unit: "/s"})
	if err := b.alternate(r, all[1:], func(c *contender) workload { return workload{Requests: c.every(c.api.update), SkipPass: true} }); err != nil {
		return err
	}
	b.promise(r, 64, 0, 2.8)
	return nil
}

func (b *bench) create(all []*contender, conns int) error {
	r := b.begin(row{Work: "create a project", Group: "requests", Conns: conns, Unit: "/s"})
	creates := func(c *contender) workload { return workload{Requests: c.first(c.api.create), SkipPass: true} }
	if err := b.alternate(r, all[1:], creates, func() error { return b.writeLimit(r, all[1]) }); err != nil {
		return err
	}
	b.promise(r, 64, 0.55, 3.2)
	b.promise(r, 1, 0, 1.6)
	return nil
}

// writeLimit measures bare SQLite inserts into a table with as many rows as Sheaf's has by now: one by one
// for one client, in groups for more.
func (b *bench) writeLimit(r *row, sheaf *contender) error {
	full, err := sheaf.projects()
	if err != nil {
		return err
	}
	t, err := openRaw(b.dir, full)
	if err != nil {
		return err
	}
	defer t.close()
	var v float64
	cpu, made := ownCPU(), t.n
	if r.Conns == 1 {
		v, err = t.oneByOne(b.time)
	} else {
		v, err = t.grouped(r.Conns, b.time)
	}
	r.figure("limit").add(sample{value: v, cpu: float64((ownCPU() - cpu).Microseconds()) / float64(max(1, t.n-made))})
	b.logf("%-28s %3d  %-18s %9s %s, with %d before\n", r.Work, r.Conns, "limit", short(v), r.Unit, full)
	return err
}

// projects returns how many all owners have.
func (c *contender) projects() (n int, err error) {
	for _, o := range c.owners {
		err := persist(func() error {
			answer, err := record(c.process.addr, raw("GET", "/api/v1/projects?limit=1", o, ""))
			if err != nil {
				return err
			}
			var page struct{ Total int }
			err = json.Unmarshal(answer.Body, &page)
			n += page.Total
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

// contenders starts the limit, Sheaf and the peer on the same data. The limit is the first.
func (b *bench) contenders() ([]*contender, error) {
	servers, err := b.servers()
	if err != nil {
		return nil, err
	}
	limit, err := b.limit(servers[0])
	if err != nil {
		return nil, err
	}
	out := append([]*contender{limit}, servers...)
	if b.peer {
		peer, err := b.startPeer()
		if err != nil {
			return nil, err
		}
		out = append(out, peer)
	}
	return out, nil
}

// limit records what Sheaf answers and starts the bare handler with it.
func (b *bench) limit(sheaf *contender) (*contender, error) {
	o := sheaf.owners[0]
	return b.bare("limit", sheaf, map[string][]byte{
		"":                 sheafAPI.get(o, o.Projects[0]),
		"/api/v1/projects": sheafAPI.list(o, ""),
	})
}

// bare starts a bare handler that gives the answers that Sheaf gives to these requests, by path; any other path gets that
// of "". The file of the answers has that name.
func (b *bench) bare(name string, sheaf *contender, requests map[string][]byte) (*contender, error) {
	answers := map[string]recorded{}
	for path, request := range requests {
		err := persist(func() (err error) {
			answers[path], err = record(sheaf.process.addr, request)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(answers)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(b.dir, name+".json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	addr, stats := freeAddr(), freeAddr()
	p, err := b.start(name, b.self, nil, "limit", addr, stats, file)
	if err != nil {
		return nil, err
	}
	p.addr, p.stats = addr, stats
	_, err = p.ready("/")
	return &contender{name: "limit", process: p, owners: sheaf.owners, api: sheafAPI, texts: sheaf.texts}, err
}

// patient waits until it is a stall.
var patient = &http.Client{Timeout: stallAfter}

// record makes a request by Go's own client and keeps the answer, except the date, which the server adds.
func record(addr string, request []byte) (recorded, error) {
	head, body, _ := strings.Cut(string(request), "\r\n\r\n")
	count([]byte(body), 0)
	lines := strings.Split(head, "\r\n")
	parts := strings.Split(lines[0], " ")
	r, err := http.NewRequest(parts[0], "http://"+addr+parts[1], strings.NewReader(strings.ReplaceAll(body, counter, "0000000000")))
	if err != nil {
		return recorded{}, err
	}
	for _, line := range lines[2:] {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	answer, err := patient.Do(r)
	if err != nil {
		return recorded{}, stalledIf(true, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode/100 != 2 {
		return recorded{}, stalledIf(err != nil || answer.StatusCode == http.StatusServiceUnavailable, fmt.Errorf("%s: %s: %s %v", lines[0], answer.Status, text, err))
	}
	answer.Header.Del("Date")
	return recorded{answer.StatusCode, answer.Header, text}, nil
}
