package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/sheaf"
)

// planFigures is what an operation costs a node and PostgreSQL, as `make plan` measured it.
//
//go:embed plan.json
var planFigures []byte

// figures are those of planFigures.
type figures struct {
	Date    string          `json:"date"`
	Machine string          `json:"machine"`
	Kinds   map[string]cost `json:"kinds"`
	Idle    cost            `json:"idle"` // of one node without requests, for a second
}

// cost is that of one operation: processor time in microseconds, and bytes that PostgreSQL keeps for
// it.
type cost struct {
	Node     float64 `json:"node_us"`
	Postgres float64 `json:"postgres_us"`
	Bytes    float64 `json:"bytes"`
}

// planCommand is sheaf plan. It opens nothing and asks nobody.
type planCommand struct {
	cli.Output
	Reads      float64       `help:"Reads of one record a second." placeholder:"N"`
	Lists      float64       `help:"Lists of 50 records a second." placeholder:"N"`
	Searches   float64       `help:"Searches a second, in workspaces of some hundred records." placeholder:"N"`
	Writes     float64       `help:"Records made, changed or deleted a second." placeholder:"N"`
	Texts      float64       `help:"Texts of 10 KB saved a second, beside the writes." placeholder:"N"`
	Deliveries float64       `help:"Webhook deliveries a second." placeholder:"N"`
	Workspaces int           `help:"How many workspaces there are." default:"1" placeholder:"N"`
	Bytes      string        `help:"Bytes of texts and media that are kept, with KB, MB, GB or TB (of 1024)." default:"0" placeholder:"SIZE"`
	Retention  time.Duration `help:"How long events and deliveries are kept." default:"720h" placeholder:"DURATION"`
	Nodes      int           `help:"Plan for that many nodes; 0 is as many as the load needs, and one more." default:"0" placeholder:"N"`
	NodeCores  int           `help:"Cores of one node." default:"2" placeholder:"N"`
}

const (
	// planBusy is how busy a machine may be: the rest is for peaks, for backups and for what a load
	// does beside the requests.
	planBusy = 0.5
	// planConnections is how many connections to PostgreSQL a node opens: for requests, for search
	// and to listen.
	planConnections = 27
	// planDisk is how much disk there should be for a byte that is kept: indexes are written anew,
	// and the log of PostgreSQL and a backup want their room.
	planDisk = 2
	// planWorkspace is what a workspace takes by itself, in bytes.
	planWorkspace = 16 << 10
)

// plan is what a load needs.
type plan struct {
	parts         []planPart
	node          float64 // cores of all nodes together
	postgres      float64 // cores
	nodes         int
	postgresCores int
	connections   int
	disk          int64
}

// planPart is what one kind of operation needs of it, in cores.
type planPart struct {
	kind           string
	rate           float64
	node, postgres float64
}

func (c *planCommand) Run(_ context.Context, p *program) error {
	kept, err := config.ParseBytes(c.Bytes)
	if err != nil || kept < 0 {
		return fmt.Errorf("--bytes: %q is not a number of bytes; write for example 500MB or 50GB", c.Bytes)
	}
	if err := c.validate(); err != nil {
		return err
	}
	var f figures
	if err := json.Unmarshal(planFigures, &f); err != nil {
		return fmt.Errorf("the figures of the plan: %w", err)
	}
	made := c.plan(f, kept)
	return c.Show(&p.Program, made, func() string { return made.text(c, f) })
}

// validate says which flag cannot be meant.
func (c *planCommand) validate() error {
	for _, l := range c.load() {
		if l.rate < 0 || math.IsInf(l.rate, 0) || math.IsNaN(l.rate) {
			return fmt.Errorf("--%s: %v is not a number of operations a second", l.flag, l.rate)
		}
	}
	if c.Workspaces < 1 || c.NodeCores < 1 {
		return errors.New("--workspaces and --node-cores are at least 1")
	}
	if c.Retention < 0 || c.Nodes < 0 {
		return errors.New("--retention and --nodes are not negative")
	}
	return nil
}

// planLoad is one kind of operation with its flag.
type planLoad struct {
	kind, flag string
	rate       float64
}

// load returns what was asked for, in the order of the flags.
func (c *planCommand) load() []planLoad {
	return []planLoad{{"read", "reads", c.Reads}, {"list", "lists", c.Lists}, {"search", "searches", c.Searches},
		{"write", "writes", c.Writes}, {"text", "texts", c.Texts}, {"delivery", "deliveries", c.Deliveries}}
}

// plan turns the load into machines. What a node does without requests is counted once for each of
// them, and how many they are follows from it.
func (c *planCommand) plan(f figures, kept int64) *plan {
	made := &plan{}
	log := 0.0
	for _, l := range c.load() {
		k := f.Kinds[l.kind]
		part := planPart{l.kind, l.rate, l.rate * k.Node / 1e6, l.rate * k.Postgres / 1e6}
		made.parts = append(made.parts, part)
		made.node += part.node
		made.postgres += part.postgres
		log += l.rate * k.Bytes * c.Retention.Seconds()
	}
	// One more than the load needs, so that any of them may be missing.
	made.nodes = c.Nodes
	if c.Nodes == 0 {
		made.nodes = max(2, 1+ceil(made.node/(planBusy*float64(c.NodeCores))))
	}
	made.parts = append(made.parts, planPart{"idle", float64(made.nodes), float64(made.nodes) * f.Idle.Node / 1e6, float64(made.nodes) * f.Idle.Postgres / 1e6})
	idle := made.parts[len(made.parts)-1]
	made.node += idle.node
	made.postgres += idle.postgres
	made.postgresCores = max(2, ceil(made.postgres/planBusy))
	made.connections = made.nodes*planConnections + 10
	made.disk = planDisk * (kept + int64(log) + int64(c.Workspaces)*planWorkspace)
	return made
}

func ceil(v float64) int { return int(math.Ceil(v)) }

// Fields implements sheaf.Record.
func (m *plan) Fields(o *sheaf.Object) {
	o.Int("node_millicores", int64(math.Round(1000*m.node)))
	o.Int("postgres_millicores", int64(math.Round(1000*m.postgres)))
	o.Int("nodes", int64(m.nodes))
	o.Int("postgres_cores", int64(m.postgresCores))
	o.Int("max_connections", int64(m.connections))
	o.Int("disk_bytes", m.disk)
}

// text shows the plan to a person.
func (m *plan) text(c *planCommand, f figures) string {
	var b strings.Builder
	b.WriteString(cli.Table("WHAT\tA SECOND\tNODES, CORES\tPOSTGRESQL, CORES", func(row func(cells ...any)) {
		for _, p := range m.parts {
			if p.kind == "idle" {
				row("nodes without requests", "", fmt.Sprintf("%.3f", p.node), fmt.Sprintf("%.3f", p.postgres))
			} else if p.rate > 0 {
				row(planNames[p.kind], fmt.Sprintf("%g", p.rate), fmt.Sprintf("%.3f", p.node), fmt.Sprintf("%.3f", p.postgres))
			}
		}
		row("together", "", fmt.Sprintf("%.3f", m.node), fmt.Sprintf("%.3f", m.postgres))
	}))
	fmt.Fprintf(&b, "\n%d nodes of %d cores and 512 MB, of which any one may be missing\n", m.nodes, c.NodeCores)
	fmt.Fprintf(&b, "PostgreSQL with %d cores, and a standby as large; max_connections = %d\n", m.postgresCores, m.connections)
	fmt.Fprintf(&b, "%s of disk for PostgreSQL and media\n", roughBytes(m.disk))
	fmt.Fprintf(&b, "\nBy processor time measured on %s, on %s; machines are half busy at most.\n", f.Date, f.Machine)
	return b.String()
}

// planNames are the kinds in the words of the table.
var planNames = map[string]string{"read": "reads of a record", "list": "lists of 50", "search": "searches", "write": "writes",
	"text": "texts of 10 KB", "delivery": "deliveries"}

// roughBytes shows bytes by the unit that leaves some digits.
func roughBytes(n int64) string {
	units := []string{"bytes", "KB", "MB", "GB", "TB"}
	v, at := float64(n), 0
	for ; v >= 10<<10 && at < len(units)-1; at++ {
		v /= 1 << 10
	}
	return fmt.Sprintf("%.0f %s", math.Ceil(v), units[at])
}
