package nodes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

// Every node is replaced, one after the other, behind the documented haproxy and under load, and in the middle the
// database gets the next schema. No request fails, what was acknowledged is there, and every event arrives. In the
// quick form the test migrates; in the long one the next program does, which is built for it.
func TestUpgrade_NodesAreReplacedOneByOne(t *testing.T) {
	t.Parallel()
	u := newUpgrade(t)
	for range proof.Rounds(1, 4, 20) {
		for i := range u.nodes {
			u.replace(i)
		}
	}
	u.readers.stop()
	found := u.writes.settle(u.front, u.receiver.counts)
	found.check(t)
	if now := u.schema(); now != u.before+1 {
		t.Errorf("the database has schema %d, want %d", now, u.before+1)
	}
	if failed := u.readers.failed.Load(); failed > 0 {
		t.Errorf("%d of %d reads failed", failed, u.readers.done.Load())
	}
	proof.Row{Name: "nodes replaced one by one, with a migration between",
		Figures: []proof.Figure{{Name: "nodes replaced", Value: u.replaced}, {Name: "reads", Value: u.readers.done.Load()},
			{Name: "writes", Value: len(found.acknowledged)}, {Name: "writes that were repeated", Value: u.writes.repeated},
			{Name: "deliveries", Value: len(found.arrived)}, {Name: "that came twice", Value: found.again()}},
		Lost:    int(u.readers.failed.Load()) + len(found.reconcile()),
		Control: "all nodes stopped before the next begins", Caught: u.failsWithoutNodes()}.Report(t)
}

// upgrade is a site with haproxy before three nodes, and load on it.
type upgrade struct {
	t        *testing.T
	site     *site
	nodes    []*node
	front    *node // haproxy
	receiver *receiver
	writes   *load
	readers  *readers
	db       *pgx.Conn
	before   int // schema
	replaced int
}

func newUpgrade(t *testing.T) *upgrade {
	t.Helper()
	r := newReceiver(t)
	u := &upgrade{t: t, receiver: r, site: newSite(t, pgtest.URL(t), "--trusted-proxy", "127.0.0.0/8", "--webhook-ca-file", r.roots)}
	for range 3 {
		u.nodes = append(u.nodes, u.site.start("--addr", ownAddress()))
	}
	u.front = &node{t: t, url: startHAProxy(t, findHAProxy(t), u.nodes), key: u.site.key, client: u.nodes[0].client}
	u.db = connect(t, u.site.program.Database)
	u.before = u.schema()
	u.front.subscribe(r.url)
	u.writes, u.readers = startLoad(t, 0, u.front), startReaders(t, 2, u.front)
	u.writes.balanced = true
	u.writes.add(2)
	return u
}

// ownAddress is one of loopback that no other test listens on, so that nobody takes the port of a node that is being
// replaced.
func ownAddress() string {
	return fmt.Sprintf("127.%d.%d.%d:0", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
}

func (u *upgrade) schema() int {
	u.t.Helper()
	return count(u.t, u.db, "SELECT max(version) FROM schema_compat")
}

// replace does what docs/operations.md says: stop one node, start the next program in its place, and go on when the
// balancer sends it requests.
func (u *upgrade) replace(i int) {
	u.t.Helper()
	old := u.nodes[i]
	old.terminate()
	if u.replaced == 0 {
		u.migrate()
	}
	n := launchProgram(u.t, u.next(), old.key, append(old.args, "--addr", strings.TrimPrefix(old.url, "http://")))
	n.await()
	u.nodes[i] = n
	u.replaced++
	mark := n.mark()
	within(u.t, patience, "the balancer sends it requests", func() bool { return u.front.mark() == mark })
	u.writes.first(time.Now())
	had := u.receiver.total()
	within(u.t, patience, "deliveries go on", func() bool { return u.receiver.total() > had })
}

// next is the program of the upgrade.
func (u *upgrade) next() string {
	if proof.Rounds(0, 1, 1) == 0 {
		return proctest.Binary(u.t)
	}
	return proctest.Next(u.t)
}

// migrate brings the next schema in the quick form, in one transaction as the program does it.
func (u *upgrade) migrate() {
	u.t.Helper()
	if proof.Rounds(0, 1, 1) > 0 {
		return
	}
	if _, err := u.db.Exec(context.Background(), plant.NextMigration(u.before)); err != nil {
		u.t.Fatal(err)
	}
}

// failsWithoutNodes reports whether the readers notice that no node is there.
func (u *upgrade) failsWithoutNodes() bool {
	control := startReaders(u.t, 2, u.front)
	var group sync.WaitGroup
	for _, n := range u.nodes {
		group.Go(n.terminate)
	}
	group.Wait()
	within(u.t, patience, "a read fails", func() bool { return control.failed.Load() > 0 })
	control.stop()
	return true
}

// mark names the node that answers: its request ids begin with it.
func (n *node) mark() string {
	n.t.Helper()
	id, _, _ := strings.Cut(n.must(200, "GET", "/api/v1/projects?limit=1", nil).header.Get("X-Request-Id"), "-")
	return id
}

// readers list projects until they are stopped, and repeat nothing.
type readers struct {
	cancel       context.CancelFunc
	group        sync.WaitGroup
	done, failed atomic.Int64
}

func startReaders(t *testing.T, clients int, n *node) *readers {
	ctx, cancel := context.WithCancel(context.Background())
	r := &readers{cancel: cancel}
	for range clients {
		r.group.Go(func() {
			for ctx.Err() == nil {
				r.done.Add(1)
				if a, err := n.do("GET", "/api/v1/projects?limit=5", nil); err != nil || a.status != 200 {
					if r.failed.Add(1) < 5 {
						t.Logf("a read: %d %s, %v", a.status, a.body, err)
					}
					time.Sleep(10 * time.Millisecond) // the pace of trying again
				}
			}
		})
	}
	t.Cleanup(r.stop)
	return r
}

func (r *readers) stop() {
	r.cancel()
	r.group.Wait()
}

// A node goes on beside a newer schema that names it as one that may. When a schema does not, the node stops in order,
// with a line that says why, and does not start again.
func TestUpgrade_ANodeThatIsTooOldStops(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.URL(t))
	n, db := s.start(), connect(t, s.program.Database)
	now := count(t, db, "SELECT max(version) FROM schema_compat")
	newer := func(version, oldest int) {
		if _, err := db.Exec(context.Background(), "INSERT INTO schema_compat (version, oldest) VALUES ($1, $2)", version, oldest); err != nil {
			t.Fatal(err)
		}
	}
	newer(now+1, now)
	n.must(200, "GET", "/readyz", nil)
	beside := s.start()
	beside.must(200, "GET", "/readyz", nil)
	beside.terminate()
	n.newProject("beside the next schema")

	n.mu.Lock()
	n.stopped = true // it ends by itself, as it should
	n.mu.Unlock()
	newer(now+2, now+1)
	<-n.ended
	want := fmt.Sprintf("the database has schema %d, which needs a newer program than this one (schema %d): upgrade sheaf", now+2, now)
	if said := n.err.String(); n.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(said, want) || strings.Contains(said, "panic") {
		t.Errorf("the node ended with %d and said %s", n.cmd.ProcessState.ExitCode(), said)
	}
	again := s.launch()
	again.mu.Lock()
	again.stopped = true
	again.mu.Unlock()
	<-again.ended
	if said := again.err.String(); !strings.Contains(said, want) {
		t.Errorf("an old node was started and said %s", said)
	}
}
