package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// webhook is a subscription of one of the owners.
type webhook struct {
	owner owner
	id    string
}

// subscribe makes a subscription for project.created.
func (c *contender) subscribe(o owner, url string) (webhook, error) {
	var made struct{ Subscription struct{ ID string } }
	body := fmt.Sprintf(`{"name":"bench","url":%q,"events":["project.created","project.updated"]}`, url)
	err := c.process.call(o, "POST", "/api/webhooks/subscriptions", body, &made)
	return webhook{o, made.Subscription.ID}, err
}

func (c *contender) unsubscribe(hooks []webhook) (err error) {
	for _, h := range hooks {
		err = errors.Join(err, c.process.call(h.owner, "DELETE", "/api/webhooks/subscriptions/"+h.id, "", nil))
	}
	return err
}

// spread creates n subscriptions, at most 20 per owner, and returns them with the owners that have any.
func (c *contender) spread(n, each int, url string) (hooks []webhook, used []owner, err error) {
	for i := 0; len(hooks) < n; i++ {
		used = append(used, c.hookOwners[i])
		for range min(each, n-len(hooks)) {
			h, err := c.subscribe(c.hookOwners[i], url)
			if err != nil {
				return nil, nil, err
			}
			hooks = append(hooks, h)
		}
	}
	return hooks, used, nil
}

// enqueue writes events for the owners beside the running server, all in one transaction, so that the server
// finds them together. The time that it takes from then on is that of delivering alone.
func (c *contender) enqueue(owners []owner, events int) error {
	ctx := context.Background()
	st, err := store.Open(ctx, c.options)
	if err != nil {
		return err
	}
	defer st.Close()
	return st.Write(ctx, func(tx *store.Tx) error {
		for _, o := range owners {
			if err := appendEvents(tx, o, events); err != nil {
				return err
			}
		}
		return nil
	})
}

func appendEvents(tx *store.Tx, o owner, n int) error {
	w, err := tx.LockWorkspace(o.Workspace)
	if err != nil {
		return err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	for n > 0 {
		batch := make([]sheaf.Event, min(n, 1000))
		for i := range batch {
			batch[i] = createdEvent(w, now)
		}
		if err := tx.AppendEvents(&w, batch); err != nil {
			return err
		}
		n -= len(batch)
	}
	return tx.SaveWorkspace(w)
}

// createdEvent is what creating a project tells.
func createdEvent(w sheaf.Workspace, now time.Time) sheaf.Event {
	p := sheaf.Project{ID: sheaf.ProjectID(newID(now)), Name: "Project 0000000000", Description: text("What everybody should know about it"),
		Icon: text("book-open"), Color: text("#2563eb"), Visibility: sheaf.Private, CreatedAt: now, UpdatedAt: now}
	e := sheaf.Envelope{ID: sheaf.EventID(sheaf.EventPrefix + newID(now)), Type: sheaf.ProjectCreated, At: now, UserID: sheaf.UserID(newID(now)),
		Workspace: &w.ID, ResourceID: string(p.ID), Payload: sheaf.AppendJSON(nil, &p)}
	return e.Event()
}

// deliver sends `events` events to each owner's subscriptions and returns the deliveries per second, from the
// first arrival until the last one's attempt is recorded.
func (b *bench) deliver(c *contender, hooks []webhook, owners []owner, events int) (sample, error) {
	if err := b.endpoint.ask("/reset", nil); err != nil {
		return sample{}, err
	}
	cpu, bytes := c.process.cpu(), c.process.allocated()
	n := events * len(hooks) / len(owners) * len(owners)
	if err := c.enqueue(owners, events); err != nil {
		return sample{}, err
	}
	t, err := b.endpoint.await(n, 5*time.Minute)
	if err != nil {
		return sample{}, err
	}
	if t.Count < n {
		return sample{}, fmt.Errorf("%d deliveries of %d came", t.Count, n)
	}
	stalls.Add(int64(t.Count - n)) // answers that were not in time: these came again
	if err := c.recorded(hooks); err != nil {
		return sample{}, err
	}
	took := time.Now().UnixNano() - t.First
	return sample{value: float64(n) / time.Duration(took).Seconds(), cpu: float64((c.process.cpu() - cpu).Microseconds()) / float64(n),
		bytes: (c.process.allocated() - bytes) / float64(n)}, nil
}

// recorded waits until nothing is waiting or being sent.
func (c *contender) recorded(hooks []webhook) error {
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		open, err := c.open(hooks)
		if err != nil || open == 0 {
			return err
		}
	}
	return errors.New("attempts were not recorded within 5 minutes")
}

// open counts the deliveries that are not done. If there are many subscriptions, it asks for all of them at
// once.
func (c *contender) open(hooks []webhook) (n int64, err error) {
	if len(hooks) > 20 {
		return c.openAnywhere()
	}
	for _, h := range hooks {
		for _, state := range []string{"waiting", "sending"} {
			var page struct{ Total int64 }
			path := "/api/webhooks/subscriptions/" + h.id + "/deliveries?limit=1&state=" + state
			if err := c.process.call(h.owner, "GET", path, "", &page); err != nil {
				return 0, err
			}
			n += page.Total
		}
	}
	return n, nil
}

// openAnywhere asks the metrics, which count in the store at each scrape.
func (c *contender) openAnywhere() (int64, error) {
	text, err := c.process.metrics()
	if err != nil {
		return 0, err
	}
	waiting, known := metric(text, `sheaf_deliveries{state="waiting"}`)
	sending, also := metric(text, `sheaf_deliveries{state="sending"}`)
	if !known || !also {
		return 1, nil // the store was too busy to be counted in: it is asked again
	}
	return int64(waiting + sending), nil
}

// post runs the bare client.
func (b *bench) post(count int, rate float64, conns int) (measured, error) {
	p := posting{posted: b.body, CA: b.caFile(), Conns: conns, Count: count, Rate: rate}
	p.URL = b.endpoint.url + "/hook"
	var m measured
	err := b.child("post", p, &m)
	stalls.Add(int64(m.Stalls))
	return m, err
}

// deliveryRows measures the webhooks.
func (b *bench) deliveryRows() {
	ready := func(measure func([]*contender) error) func() error {
		return func() error {
			servers, err := b.servers()
			if err == nil {
				err = b.learnBody(servers[0])
			}
			if err != nil {
				return err
			}
			return measure(servers)
		}
	}
	b.try("deliver", ready(b.throughput))
	b.try("latency", ready(b.latency))
	b.try("hung", ready(func(servers []*contender) error { return b.hung(servers[0]) }))
}

// learnBody lets Sheaf deliver a few events, and keeps one of them for the bare client.
func (b *bench) learnBody(c *contender) error {
	if b.body.Body != nil {
		return nil
	}
	hooks, owners, err := c.spread(1, 1, b.endpoint.url+"/hook")
	if err != nil {
		return err
	}
	if _, err := b.deliver(c, hooks, owners, 10); err != nil {
		return err
	}
	if err := b.endpoint.ask("/last", &b.body); err != nil {
		return err
	}
	return c.unsubscribe(hooks)
}

// lanes is the number of subscriptions that share the work. Each has at most 16 requests in flight, so
// there are 64 at a time, as with the bare client.
const lanes = 4

func (b *bench) throughput(servers []*contender) error {
	r := b.begin(row{Work: "deliver, attempts recorded", Group: "deliveries", Conns: 64, Unit: "/s"})
	events := 5000
	if b.quick {
		events = 2000
	}
	hooks, owners := map[string][]webhook{}, map[string][]owner{}
	for _, c := range servers {
		var err error
		if hooks[c.name], owners[c.name], err = c.spread(lanes, lanes, b.endpoint.url+"/hook"); err != nil {
			return err
		}
		// The connections are made before the time counts.
		if _, err = b.deliver(c, hooks[c.name], owners[c.name], 500); err != nil {
			return err
		}
	}
	for range b.rounds {
		m, err := b.post(events*lanes, 0, 64)
		if err != nil {
			return err
		}
		r.figure("limit").add(sample{value: m.rate(), cpu: m.CPU, p50: m.P50, p99: m.P99})
		for _, c := range servers {
			s, err := b.deliver(c, hooks[c.name], owners[c.name], events)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			r.figure(c.name).add(s)
			b.logf("%-28s %3d  %-18s %9s %s of %s\n", r.Work, 64, c.name, short(s.value), r.Unit, short(m.rate()))
		}
	}
	b.keep(r)
	r.atLeast(0.55, "sheaf", "limit", "≥ %.2f of the limit")
	if r.has(onPostgres) {
		r.atLeast(0.43, onPostgres, "limit", "on PostgreSQL ≥ %.2f of the limit")
	}
	for _, c := range servers {
		if err := c.unsubscribe(hooks[c.name]); err != nil {
			return err
		}
	}
	return nil
}

// paced writes at a rate. For each write it returns the times from the answer, and from the request, to the
// delivery. The writes of the owner with the number `skip` are left out. A delivery can come before the answer,
// which counts as 0.
func (b *bench) paced(c *contender, owners []owner, rate float64, d time.Duration, skip int) (fromAnswer, fromRequest []time.Duration, err error) {
	if err := b.endpoint.ask("/reset", nil); err != nil {
		return nil, nil, err
	}
	p := pacing{Addr: c.process.addr, Rate: rate, Time: d}
	for _, o := range owners {
		p.Requests = append(p.Requests, sheafAPI.create(o, ""))
	}
	var done []written
	if err := b.child("pace", p, &done); err != nil {
		return nil, nil, err
	}
	times, err := b.arrivals(done, skip)
	if err != nil {
		return nil, nil, err
	}
	for _, w := range done {
		stalls.Add(int64(w.Stalls))
		if w.Owner == skip || w.Stalls > 0 {
			continue
		}
		fromAnswer = append(fromAnswer, time.Duration(max(0, times[w.ID]-w.Answered)))
		fromRequest = append(fromRequest, time.Duration(times[w.ID]-w.Sent))
	}
	return fromAnswer, fromRequest, nil
}

// arrivals waits for the events about everything that was written, except by the owner with the number
// `skip`.
func (b *bench) arrivals(done []written, skip int) (map[string]int64, error) {
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		var times map[string]int64
		if err := b.endpoint.ask("/times", &times); err != nil {
			return nil, err
		}
		missing := slices.IndexFunc(done, func(w written) bool { return w.Owner != skip && times[w.ID] == 0 })
		if missing < 0 {
			return times, nil
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("the event about %s did not come within 2 minutes", done[missing].ID)
		}
	}
}

// latency compares the time from a write to its arrival with that of a bare POST. The moment of the commit is
// not visible from outside: it is between the request and its answer. The judged time begins with the request
// and includes the fsync, so it is never too short.
func (b *bench) latency(servers []*contender) error {
	r := b.begin(row{Work: "commit to arrival at 100/s", Group: "deliveries", Unit: "ms"})
	d := 5 * time.Second
	if b.quick {
		d = 2 * time.Second
	}
	hooks, owners := map[string][]webhook{}, map[string][]owner{}
	for _, c := range servers {
		var err error
		if hooks[c.name], owners[c.name], err = c.spread(10, 1, b.endpoint.url+"/timed"); err != nil {
			return err
		}
		if _, _, err = b.paced(c, owners[c.name], 100, time.Second, -1); err != nil {
			return err
		}
	}
	for range b.rounds {
		m, err := b.post(int(100*d.Seconds()), 100, 8)
		if err != nil {
			return err
		}
		r.figure("limit").add(sample{value: m.P50, p50: m.P50, p99: m.P99})
		for _, c := range servers {
			after, whole, err := b.paced(c, owners[c.name], 100, d, -1)
			if err != nil {
				return err
			}
			p50, p99, _ := quantiles(whole)
			r.figure(c.name).add(sample{value: p50, p50: p50, p99: p99})
			p50, p99, _ = quantiles(after)
			r.figure(c.name + ", from the answer").add(sample{value: p50, p50: p50, p99: p99})
		}
	}
	b.keep(r)
	r.atMost(12, r.ratio("sheaf", "limit"), "p50 ≤ 12 × the bare POST's")
	for _, c := range servers {
		if err := c.unsubscribe(hooks[c.name]); err != nil {
			return err
		}
	}
	return nil
}

// hung compares the healthy endpoints' times with and without one that hangs.
func (b *bench) hung(c *contender) error {
	r := b.begin(row{Work: "99 healthy beside 1 hung, 500/s", Group: "deliveries", Unit: "ms"})
	d := 5 * time.Second
	if b.quick {
		d = 2 * time.Second
	}
	hooks, owners, err := c.spread(100, 1, b.endpoint.url+"/timed")
	if err != nil {
		return err
	}
	if _, _, err := b.paced(c, owners, 500, 2*time.Second, 0); err != nil {
		return err
	}
	for range b.rounds {
		for _, path := range []string{"/timed", "/hang"} {
			if err := c.unsubscribe(hooks[:1]); err != nil {
				return err
			}
			if hooks[0], err = c.subscribe(owners[0], b.endpoint.url+path); err != nil {
				return err
			}
			_, whole, err := b.paced(c, owners, 500, d, 0)
			if err != nil {
				return err
			}
			p50, p99, _ := quantiles(whole)
			r.figure(map[string]string{"/timed": "none hung", "/hang": "one hung"}[path]).add(sample{value: p99, p50: p50, p99: p99})
			b.logf("%-28s      %-18s p50 %s p99 %s ms\n", "at 500/s", path, short(p50), short(p99))
		}
	}
	b.keep(r)
	r.atMost(1.3, r.ratio("one hung", "none hung"), "p99 ≤ 1.3 × without")
	return c.unsubscribe(hooks)
}

// child runs another part of this program in a process of its own.
func (b *bench) child(part string, in, out any) error {
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	answer, err := b.command(part, text)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, out)
}

// servers starts Sheaf, on both engines where that is asked for, with the receiver.
func (b *bench) servers() ([]*contender, error) {
	sheaf, err := b.sheaf()
	if err != nil {
		return nil, err
	}
	if !b.postgres {
		return []*contender{sheaf}, nil
	}
	second, err := b.sheafOnPostgres()
	return []*contender{sheaf, second}, err
}

func (b *bench) dataDir(name string) string { return filepath.Join(b.dir, name) }
