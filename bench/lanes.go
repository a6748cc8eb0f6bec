package main

import (
	"errors"
	"fmt"
	"math"

	"sheaf.dev/internal/store"
)

// backlog compares the rate of deliveries without and with a large backlog for a dead endpoint: one that does
// not answer, and one that refuses the connection.
func (b *bench) backlog() error {
	hangs, refuses := 1_000_000, 100_000 // of these, filling a million would take longest
	if b.quick {                         // the form by which the row itself is tried
		hangs, refuses = 10_000, 10_000
	}
	return errors.Join(b.besideBacklog("that hangs", b.endpoint.url+"/hang", hangs, 0.92),
		b.besideBacklog("that refuses", "https://127.0.0.1:9/hook", refuses, 0.9))
}

// besideBacklog lets two servers deliver: one without a backlog, and one with `waiting` deliveries for the dead
// endpoint. They take turns, because the speed of the machine changes within a minute.
func (b *bench) besideBacklog(name, dead string, waiting int, promise float64) error {
	type side struct {
		server  *contender
		hooks   []webhook
		waiting string
	}
	var sides []side
	var ends []func() error
	for _, n := range []int{0, waiting} {
		c, end, err := b.grown(fmt.Sprint("backlog-", n), func(o store.Options) ([]owner, error) { return seed(o, size{2, 1, 0}) })
		if err != nil {
			return err
		}
		ends = append(ends, end)
		if _, err := c.subscribe(c.owners[1], dead); err != nil {
			return err
		}
		if err := b.addBacklog(c, c.owners[1], n); err != nil {
			return err
		}
		hooks, _, err := c.spread(lanes, lanes, b.endpoint.url+"/hook")
		if err != nil {
			return err
		}
		sides = append(sides, side{c, hooks, fmt.Sprint(n)})
	}
	r := b.begin(row{Work: "deliver, beside a backlog " + name, Group: "growth", Conns: 64, Unit: "/s"})
	for round := range 2*b.rounds + 1 {
		for _, s := range sides {
			m, err := b.deliver(s.server, s.hooks, s.server.owners[:1], 10_000)
			if err != nil {
				return err
			}
			if round == 0 {
				continue // it makes the connections, of a server that was just started
			}
			r.figure(s.waiting).add(m)
			b.logf("%-38s %3d  %-8s %9s %s\n", r.Work, r.Conns, s.waiting, short(m.value), r.Unit)
		}
	}
	b.keep(r)
	r.atLeast(promise, sides[1].waiting, sides[0].waiting, "beside "+sides[1].waiting+" ≥ %.2f × beside none")
	for _, end := range ends {
		if err := end(); err != nil {
			return err
		}
	}
	return nil
}

// addBacklog adds events of an owner whose endpoint is dead while the server is stopped. It then waits until
// search has read them. Otherwise search would read a million events during the measurement.
func (b *bench) addBacklog(c *contender, o owner, n int) error {
	if err := c.process.stop(); err != nil {
		return err
	}
	for ; n > 0; n -= 20_000 {
		if err := c.enqueue([]owner{o}, min(n, 20_000)); err != nil {
			return err
		}
	}
	p, err := b.startSheaf(c.name, c.options.Folder)
	if err != nil {
		return err
	}
	c.process = p
	return c.indexed(o)
}

// subscriptions compares the same number of deliveries to one subscription and to growing numbers of them,
// in turns.
func (b *bench) subscriptions() error {
	const deliveries = 20_000
	numbers := []int{1, 10, 100, 1000}
	c, end, err := b.grown("subscriptions", func(o store.Options) ([]owner, error) { return seed(o, size{57, 1, 0}) })
	if err != nil {
		return err
	}
	hooks, owners := map[int][]webhook{}, map[int][]owner{}
	for _, n := range numbers {
		if hooks[n], owners[n], err = c.spread(n, 20, b.endpoint.url+"/hook"); err != nil {
			return err
		}
		c.hookOwners = c.hookOwners[len(owners[n]):] // events are created only by owners whose hooks are measured
	}
	r := b.begin(row{Work: "deliver to more subscriptions", Group: "growth", Unit: "/s", Note: "each takes 16 at a time"})
	for round := range b.rounds + 1 {
		for _, n := range numbers {
			m, err := b.deliver(c, hooks[n], owners[n], deliveries/n)
			if err != nil {
				return err
			}
			if round > 0 { // the first makes the connections
				r.figure(fmt.Sprint(n)).add(m)
			}
		}
	}
	b.keep(r)
	most, least := 0.0, math.Inf(1)
	for _, f := range r.Figures {
		most, least = max(most, f.Median), min(least, f.Median)
	}
	r.atMost(1.5, most/least, "the best ≤ 1.5 × the worst")
	return end()
}

// hold deactivates a subscription with a large backlog, activates it again, and recovers what was held, while
// another tenant writes. The other tenant's wait is about the time for which the writer was occupied. The
// request itself also counts the held deliveries, without the writer.
func (b *bench) hold() error {
	waiting := 1_000_000
	if b.quick {
		waiting = 20_000
	}
	c, end, err := b.grown("hold", func(o store.Options) ([]owner, error) { return seed(o, size{2, 1, 0}) })
	if err != nil {
		return err
	}
	// It hangs, so that nothing of it is delivered meanwhile.
	h, err := c.subscribe(c.owners[0], b.endpoint.url+"/hang")
	if err != nil {
		return err
	}
	if err := b.addBacklog(c, c.owners[0], waiting); err != nil {
		return err
	}
	r := b.begin(row{Work: "turning a lane off and on", Group: "growth", Unit: "ms", Note: fmt.Sprint(waiting, " deliveries wait in it")})
	one := "/api/webhooks/subscriptions/" + h.id
	for range b.rounds {
		for _, step := range []struct{ name, method, path, body string }{
			{"deactivate", "PATCH", one, `{"active":false}`},
			{"reactivate", "PATCH", one, `{"active":true}`},
			{"recover", "POST", one + "/recover", `{"since":"2020-01-01T00:00:00Z"}`},
		} {
			if err := b.beside(r, c, step.name, func() error { return c.process.call(h.owner, step.method, step.path, step.body, nil) }); err != nil {
				return err
			}
		}
	}
	b.keep(r)
	for _, name := range []string{"deactivate", "reactivate", "recover"} {
		r.atMost(200, r.figure(name+", another's longest write").Median, name+" keeps others waiting ≤ 200 ms")
	}
	return end()
}
