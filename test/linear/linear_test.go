// Package linear asks a served program from many clients at once, kills it in between, and lets porcupine judge
// whether what they saw has an order: one in which every answer was right, and which no client saw turned around.
package linear

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(sheaftest.Patient(m), goleak.Cleanup(proctest.Exit))
}

const (
	// between is how many answers come between two kills.
	between = 150
	// judging bounds how long porcupine may look at a history; what it cannot judge is a failure.
	judging = 30 * time.Minute
)

// cluster is a program on one database, served by one node or two.
type cluster struct {
	t       *testing.T
	program *proctest.Program
	key     string
	nodes   []*proctest.Server
}

func newCluster(t *testing.T, count int, database string) *cluster {
	t.Helper()
	c := &cluster{t: t, program: proctest.New(t), nodes: make([]*proctest.Server, count)}
	c.program.Database = database
	c.key = c.program.Workspace(t, "Acme")
	for i := range c.nodes {
		c.nodes[i] = c.program.Start(t)
	}
	return c
}

func TestLinear_ThroughKillsOnSQLite(t *testing.T) {
	t.Parallel()
	newCluster(t, 1, "").prove("linearizable, kill -9, SQLite", proof.Rounds(3, 60, 300))
}

func TestLinear_ThroughKillsOfEitherNodeOnPostgres(t *testing.T) {
	t.Parallel()
	newCluster(t, 2, pgtest.URL(t)).prove("linearizable, kill -9 of either of two nodes, PostgreSQL", proof.Rounds(3, 60, 300))
}

// prove kills one node after the other under load, and judges what the clients saw.
func (c *cluster) prove(name string, kills int) {
	row := proof.Row{Name: name, Control: "a cache before the server that serves an old GET"}
	row.Caught = proof.Catches(c.controlCaught)
	l := startLoad(c, nil)
	for i := range kills {
		l.await(between)
		n := i % len(c.nodes)
		c.nodes[n].Kill()
		c.nodes[n] = c.program.Start(c.t)
		l.setTargets(c.nodes)
	}
	l.await(between)
	h := l.stop()
	row.Lost = h.judge(c.t) + c.ailments()
	row.Figures = []proof.Figure{{Name: "kills", Value: kills}, {Name: "operations", Value: len(h.operations)},
		{Name: "answers lost", Value: h.lost()}, {Name: "projects", Value: len(partition(h.operations))}, {Name: "violations", Value: row.Lost}}
	row.Report(c.t)
}

// controlCaught has the clients ask through a cache that serves old answers, which must be noticed.
func (c *cluster) controlCaught() bool {
	l := startLoad(c, newStaleCache())
	l.await(2 * between)
	h := l.stop()
	return porcupine.CheckOperationsTimeout(projects, h.operations, judging) == porcupine.Illegal
}

// ailments counts what the doctor finds in the end.
func (c *cluster) ailments() int {
	found, err := sheaftest.Doctor(c.program.Binary, c.program.Flags()...)
	if err != nil {
		c.t.Error(err)
	}
	for _, f := range found {
		c.t.Errorf("doctor: %s: %s", f.Check, f.Text)
	}
	return len(found)
}

// judge returns how many projects have a history without an order, and shows one.
func (h *history) judge(t *testing.T) (violations int) {
	for _, fault := range h.faults {
		t.Error(fault)
		violations++
	}
	for _, part := range partition(h.operations) {
		if verdict := porcupine.CheckOperationsTimeout(projects, part, judging); verdict != porcupine.Ok {
			violations++
			t.Errorf("judged %s:\n%s", verdict, printed(part))
		}
	}
	return violations
}

func printed(operations []porcupine.Operation) string {
	var b strings.Builder
	for _, o := range operations {
		end := "never"
		if o.Return != never {
			end = time.Duration(o.Return).String()
		}
		fmt.Fprintf(&b, "%12v to %12v  client %d  %v → %v\n", time.Duration(o.Call), end, o.ClientId, o.Input, o.Output)
	}
	return b.String()
}
