package main

import (
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"time"
)

// neighbours is how many connections a tenant uses that writes as much as it can.
const neighbours = 12

// neighbour measures what another tenant's creates wait for while one tenant sends batches, and while it sends
// texts of 1 MiB, on twelve connections. The promise is a ratio: the same creates are measured alone, in turns
// with those beside the other tenant.
func (b *bench) neighbour() error {
	servers, end, err := b.onBoth("neighbour", size{2, 1, 0})
	if err != nil {
		return err
	}
	for _, c := range servers {
		for _, load := range []struct{ name, path, body string }{
			{"batches of 100", "/api/v1/batch", hundredProjects()},
			{"texts of 1 MiB", "/api/v1/documents", largeText()},
		} {
			r := b.begin(row{Work: "another tenant's create, " + load.name, Group: "growth", Conns: 1, Unit: "ms",
				Note: fmt.Sprintf("p99; %s: one tenant writes on %d connections", c.name, neighbours)})
			for range b.rounds {
				if err := b.besideNeighbour(r, c, raw("POST", load.path, c.owners[0], load.body)); err != nil {
					return err
				}
			}
			b.keep(r)
			r.atMost(5, r.ratio("beside it", "alone"), "p99 beside it ≤ 5 × alone")
		}
	}
	return end()
}

// besideNeighbour measures creates alone, and then beside the neighbour's requests.
func (b *bench) besideNeighbour(r *row, c *contender, request []byte) error {
	creates := workload{Addr: c.process.addr, Conns: 1, Time: 4 * b.time, SkipPass: true, Requests: [][]byte{sheafAPI.create(c.owners[1], "")}}
	alone, err := b.generate(creates)
	if err != nil {
		return err
	}
	r.figure("alone").add(sample{value: alone.P99, p50: alone.P50, p99: alone.P99})
	loud := make(chan error, 1)
	go func() {
		_, err := b.generate(workload{Addr: c.process.addr, Conns: neighbours, Time: creates.Time + 2*time.Second, SkipPass: true, Requests: [][]byte{request}})
		loud <- err
	}()
	time.Sleep(time.Second) // until all of its connections are at it
	beside, err := b.generate(creates)
	if err != nil {
		return err
	}
	r.figure("beside it").add(sample{value: beside.P99, p50: beside.P50, p99: beside.P99})
	return <-loud
}

// hundredProjects is a batch of as many operations as one may have.
func hundredProjects() string {
	one := `{"action":"create","resource_type":"project","body":{` + newProject + `}}`
	return `{"operations":[` + strings.TrimSuffix(strings.Repeat(one+",", 100), ",") + `]}`
}

// largeText is a document whose text of nearly 1 MiB cannot be packed well.
func largeText() string {
	random := mathrand.New(mathrand.NewPCG(5, 6))
	var text strings.Builder
	for text.Len() < 1<<20-100 {
		fmt.Fprintf(&text, "%x", random.Uint64())
	}
	return `{"title":"A large text","content":"` + text.String()[:1<<20-100] + ` Project ` + counter + `"}`
}
