package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// In a round of compareWith, each program has turnsOfRound turns of requestsOfTurn requests. Turns
// are short, so that a slow moment of the machine affects both programs equally.
const (
	turnsOfRound   = 20
	requestsOfTurn = 256
)

// compareWith runs the same work in turns on the build of Sheaf at `before` and on this one: it creates
// documents, then reads them, then lists them. For each build it prints the processor time per request,
// including work after the answer, such as indexing. Both builds begin with an empty store and have the
// same number of documents in every turn.
func (b *bench) compareWith(before string) error {
	if err := b.prepare(); err != nil {
		return err
	}
	after := b.program
	var both []*contender
	for i, program := range []string{before, after} {
		name := []string{"before", "after"}[i]
		b.program = program
		c, err := b.startEmpty(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		both = append(both, c)
	}
	for _, work := range []struct {
		name     string
		requests func(owner) [][]byte
	}{{"create", createsOf}, {"get", getsOf}, {"list", listsOf}} {
		if err := b.compareWork(both, work.name, work.requests); err != nil {
			return err
		}
	}
	return nil
}

// compareWork compares the processor time of one kind of work.
func (b *bench) compareWork(both []*contender, name string, requests func(owner) [][]byte) error {
	var ratios, costs []float64
	for round := range b.rounds + 1 {
		began := []time.Duration{both[0].process.cpu(), both[1].process.cpu()}
		for range turnsOfRound {
			for _, c := range both {
				m, err := b.generate(workload{Addr: c.process.addr, Conns: 64, Once: true, Requests: requests(c.owners[0])})
				if err != nil || m.Errors > 0 {
					return fmt.Errorf("%s: %d errors: %s %w", c.name, m.Errors, m.First, err)
				}
			}
		}
		var cost []float64
		for i, c := range both {
			c.process.settle()
			cost = append(cost, float64((c.process.cpu()-began[i]).Microseconds())/(turnsOfRound*requestsOfTurn))
		}
		if round == 0 {
			continue // both have warmed up
		}
		costs = append(costs, cost[0])
		ratios = append(ratios, cost[1]/cost[0])
		fmt.Printf("%s, round %2d: before %.1f µs, after %.1f µs, ratio %.3f\n", name, round, cost[0], cost[1], cost[1]/cost[0])
	}
	fmt.Printf("processor time of a %s, median of %d rounds: before %.1f µs, ratio %.3f (from %.3f to %.3f)\n",
		name, len(ratios), median(costs), median(ratios), slices.Min(ratios), slices.Max(ratios))
	return nil
}

// settle waits until the process has done what it does after its answers, such as indexing.
func (p *process) settle() {
	for used := p.cpu(); ; {
		time.Sleep(300 * time.Millisecond) // a pause before looking whether the process works
		now := p.cpu()
		if now-used <= time.Second/ticks {
			return
		}
		used = now
	}
}

// startEmpty makes one workspace with one project by b.program, and serves it.
func (b *bench) startEmpty(name string) (*contender, error) {
	data := filepath.Join(b.dir, name)
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, err
	}
	var key struct{ Key string }
	if err := b.administer(&struct{}{}, "workspace", "create", "--data", data, "--json", "--name", "bench", "--plan", "business"); err != nil {
		return nil, err
	}
	if err := b.administer(&key, "key", "create", "--data", data, "--json", "--name", "bench", "--scopes", "all"); err != nil {
		return nil, err
	}
	p, err := b.startSheaf(name, data)
	if err != nil {
		return nil, err
	}
	o := owner{Token: key.Key}
	var project struct{ ID string }
	if err := p.call(o, "POST", "/api/v1/projects", `{"name":"bench"}`, &project); err != nil {
		return nil, err
	}
	o.Projects = []string{project.ID}
	return &contender{name: name, process: p, owners: []owner{o}}, nil
}

// administer runs a command of the program and decodes what it prints.
func (b *bench) administer(out any, command ...string) error {
	printed, err := exec.Command(b.program, command...).Output()
	if err != nil {
		return fmt.Errorf("%v: %w", command[:2], err)
	}
	return json.Unmarshal(printed, out)
}

// createsOf returns the requests of one turn.
func createsOf(o owner) [][]byte {
	one := raw("POST", "/api/v1/documents", o, `{"project_id":"`+o.Projects[0]+`","title":"Page `+counter+`","content":"# A page\n\nWith a few words for the index."}`)
	return slices.Repeat([][]byte{one}, requestsOfTurn)
}

// getsOf returns the requests of one turn: each eighth request changes the project, which empties the caches; the others read it.
func getsOf(o owner) [][]byte { return readsOf(o, sheafAPI.get(o, o.Projects[0])) }

// listsOf returns the requests of one turn: each eighth request changes the project; the others list its documents.
func listsOf(o owner) [][]byte {
	return readsOf(o, raw("GET", "/api/v1/documents?limit=50&project_id="+o.Projects[0], o, ""))
}

func readsOf(o owner, read []byte) [][]byte {
	eight := append([][]byte{sheafAPI.update(o, o.Projects[0])}, slices.Repeat([][]byte{read}, 7)...)
	return slices.Repeat(eight, requestsOfTurn/8)
}
