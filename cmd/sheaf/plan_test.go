package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

// The figures that are built in are complete: every kind costs a node and PostgreSQL something, and it is said when and
// where that was measured.
func TestPlan_HasMeasuredFigures(t *testing.T) {
	t.Parallel()
	var f figures
	if err := json.Unmarshal(planFigures, &f); err != nil {
		t.Fatal(err)
	}
	for _, l := range (&planCommand{}).load() {
		if c := f.Kinds[l.kind]; c.Node <= 0 || c.Postgres <= 0 {
			t.Errorf("a %s costs %+v", l.kind, c)
		}
		if planNames[l.kind] == "" {
			t.Errorf("a %s has no name in the table", l.kind)
		}
	}
	if _, err := time.Parse("2006-01-02", f.Date); err != nil || f.Machine == "" || f.Idle.Node <= 0 {
		t.Errorf("measured on %q, on %q, idle %+v", f.Date, f.Machine, f.Idle)
	}
}

// A plan is the sum of its parts, has a node to spare, and leaves every machine half idle.
func TestPlan_SumsUp(t *testing.T) {
	t.Parallel()
	f := figures{Idle: cost{Node: 10_000, Postgres: 20_000}, Kinds: map[string]cost{
		"read": {Node: 100, Postgres: 50}, "write": {Node: 1000, Postgres: 2000, Bytes: 1000}, "delivery": {Node: 500, Postgres: 500, Bytes: 100}}}
	c := &planCommand{Reads: 10_000, Writes: 500, Deliveries: 1000, Workspaces: 100, Retention: 1000 * time.Second, NodeCores: 2}
	got := c.plan(f, 1<<30)
	// Nodes: 1 + 0.5 + 0.5 cores of work at half load are 2 of 2 cores, and one more; each idles with 0.01.
	if got.nodes != 3 || math.Abs(got.node-2.03) > 1e-9 || math.Abs(got.postgres-2.06) > 1e-9 {
		t.Errorf("nodes %d with %v cores, PostgreSQL %v", got.nodes, got.node, got.postgres)
	}
	if got.postgresCores != 5 || got.connections != 3*planConnections+10 {
		t.Errorf("PostgreSQL has %d cores and %d connections", got.postgresCores, got.connections)
	}
	// 500 writes a second keep 1000 bytes each, 1000 deliveries 100, for 1000 seconds.
	if want := int64(2 * (1<<30 + 500_000_000 + 100_000_000 + 100*planWorkspace)); got.disk != want {
		t.Errorf("disk %d, want %d", got.disk, want)
	}
	if c.Nodes = 7; c.plan(f, 0).nodes != 7 {
		t.Error("--nodes is not taken")
	}
	if small := (&planCommand{NodeCores: 2, Workspaces: 1}).plan(f, 0); small.nodes != 2 || small.postgresCores != 2 {
		t.Errorf("nothing to do needs %d nodes and %d cores", small.nodes, small.postgresCores)
	}
}

func TestPlan_Command(t *testing.T) {
	t.Parallel()
	out := sheafCommand(t, "plan", "--reads", "500", "--writes", "50", "--deliveries", "200", "--workspaces", "100", "--bytes", "50GB").succeeds(t)
	for _, want := range []string{"reads of a record", "deliveries", "together", "nodes of 2 cores", "max_connections", "of disk"} {
		if !strings.Contains(out, want) {
			t.Errorf("the plan lacks %q:\n%s", want, out)
		}
	}
	var plan map[string]int64
	text := sheafCommand(t, "plan", "--json", "--writes", "50", "--bytes", "1GB").succeeds(t)
	if err := json.Unmarshal([]byte(text), &plan); err != nil || plan["nodes"] < 2 || plan["disk_bytes"] < 2<<30 || plan["node_millicores"] == 0 {
		t.Errorf("%s: %v", text, err)
	}
	sheafCommand(t, "plan", "--bytes", "much").fails(t, "--bytes", "500MB")
	sheafCommand(t, "plan", "--bytes=-1").fails(t, "--bytes")
	sheafCommand(t, "plan", "--reads=-1").fails(t, "--reads")
	sheafCommand(t, "plan", "--reads", "NaN").fails(t, "--reads")
	sheafCommand(t, "plan", "--workspaces", "0").fails(t, "--workspaces")
	sheafCommand(t, "plan", "--node-cores", "0").fails(t, "--node-cores")
	sheafCommand(t, "plan", "--retention=-1s").fails(t, "--retention")
}
