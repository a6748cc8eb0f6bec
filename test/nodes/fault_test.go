package nodes

import (
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest/pgbouncertest"
	"sheaf.dev/internal/sheaftest/pgtest"
)

// firstSuccessWithin bounds how long nothing succeeds once PostgreSQL takes connections again.
const firstSuccessWithin = 15 * time.Second

// enough is how many writes are acknowledged before a fault, and between two, so that they tell something.
const enough = 30

// faults are what happens to nodes under load.
type faults struct {
	t     *testing.T
	load  *load
	nodes []*node
	site  *site
}

// startFaults begins to write through a node for each list of further arguments.
func startFaults(t *testing.T, r *receiver, database string, nodes ...[]string) *faults {
	t.Helper()
	r.fails = 5 // so that the faults meet retries too
	f := &faults{t: t, site: newSite(t, database, "--webhook-ca-file", r.roots, "--webhook-timeout", "10s", "--webhook-retry-delays", "50ms,1s,30s")}
	for _, args := range nodes {
		f.nodes = append(f.nodes, f.site.start(args...))
	}
	f.nodes[0].subscribe(r.url)
	f.load = startLoad(t, 6, f.nodes...)
	f.calm()
	return f
}

// measure makes a fault and waits for the first success after it. gone returns when the part is gone, back when it, or
// what takes its place, is there again.
func (f *faults) measure(what string, gone, back func() error) {
	f.t.Helper()
	if err := gone(); err != nil {
		f.t.Fatal(err)
	}
	lost := time.Now()
	if err := back(); err != nil {
		f.t.Fatal(err)
	}
	returned := time.Now()
	first := f.load.first(lost)
	after := max(0, first.Sub(returned))
	figure(f.t, "%s: first success %v after it was gone, %v after it was back", what,
		first.Sub(lost).Round(time.Millisecond), after.Round(time.Millisecond))
	if after > promised(firstSuccessWithin) {
		f.t.Errorf("%s: nothing succeeded for %v", what, after)
	}
	f.calm()
}

// calm lets some writes succeed between two faults.
func (f *faults) calm() {
	f.t.Helper()
	had := f.load.count()
	time.Sleep(scaled(0, 2*time.Second)) // the pace of the faults
	within(f.t, patience, "the load goes on", func() bool { return f.load.count() >= had+enough })
}

func (f *faults) finish(r *receiver) {
	f.t.Helper()
	found := f.load.settle(f.nodes[0], r.counts)
	l := f.load
	found.check(f.t)
	figure(f.t, "%d writes acknowledged, %d of them repeated with their key, %d given up: 0 lost, 0 made twice; %d events, 0 missing, %d arrived again",
		len(l.made), l.repeated, l.unknown, len(found.created), found.again())
}

// D154: PostgreSQL and the pooler before it restarted and nodes killed under load: nothing that was acknowledged is lost,
// every event arrives. One node is at PostgreSQL directly, the other behind the pooler.
func TestFaults_RestartsAndKills(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	cluster := pgtest.Start(t)
	pooler := pgbouncertest.Start(t, cluster.URL(), pgbouncertest.Transaction, 20)
	f := startFaults(t, r, cluster.URL(), nil, []string{"--database-url", pooler.URL(cluster.URL()), "--database-direct-url", cluster.URL()})
	for i := range scaled(1, 5) {
		mode := []pgtest.Mode{pgtest.Immediate, pgtest.Fast, pgtest.Kill}[i%3]
		f.measure("PostgreSQL restarted", func() error { return cluster.Stop(mode) }, cluster.Restart)
	}
	for i := range scaled(1, 5) {
		old := f.nodes[i%2]
		f.measure("node killed", func() error { old.kill(); return nil }, func() error {
			f.nodes[i%2] = old.again()
			f.load.replace(old, f.nodes[i%2])
			return nil
		})
	}
	for range scaled(1, 5) {
		f.measure("pgbouncer restarted", func() error { pooler.Stop(); return nil }, func() error { pooler.Restart(); return nil })
	}
	for _, n := range f.nodes {
		within(t, patience, "each node is ready again", func() bool { return n.status(n.key, "/readyz") == 200 })
	}
	f.finish(r)
}

// D154: the primary is lost under load and its synchronous standby takes over: the nodes find it by themselves. A primary that
// freezes keeps its connections open and answers nothing; being frozen, it needs no other fence. What it was at is given
// up after 30 s only, since a COMMIT may wait that long, so that it is other clients who succeed first.
func TestFaults_FailoverToTheStandby(t *testing.T) {
	t.Parallel()
	for _, way := range scaled([]string{"killed"}, []string{"killed", "frozen"}) {
		t.Run(way, func(t *testing.T) {
			r := newReceiver(t)
			primary := pgtest.Start(t)
			standby := primary.Standby(t)
			database := pgtest.Either(primary, standby)
			if way == "frozen" {
				database = pgtest.ImpatientEither(primary, standby)
			}
			f := startFaults(t, r, database, nil, nil)
			lose := map[string]func() error{"frozen": primary.Freeze, "killed": func() error { return primary.Stop(pgtest.Kill) }}
			f.measure("failover, the primary "+way, lose[way], func() error {
				defer f.load.add(4)
				return standby.Promote()
			})
			f.finish(r)
			for _, n := range f.nodes {
				n.must(200, "GET", "/readyz", nil)
			}
		})
	}
}
