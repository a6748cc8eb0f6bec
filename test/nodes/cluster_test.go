//go:build cluster

package nodes

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/clustertest"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

// envInside tells the test that it runs in namespaces of its own.
const envInside = "SHEAF_TEST_INSIDE"

// inside runs a test in network and mount namespaces of its own, and returns whether this is it. What -run asks of its
// parts is asked there: TestCluster_FaultsUnderLoad/(control|etcd) tries one fault.
func inside(t *testing.T) bool {
	t.Helper()
	if os.Getenv(envInside) == "1" {
		return true
	}
	if os.Geteuid() != 0 {
		sheaftest.Unable(t, "namespaces need root")
	}
	asked := strings.Split(flag.Lookup("test.run").Value.String(), "/")
	asked[0] = "^" + t.Name() + "$"
	cmd := exec.Command(os.Args[0], "-test.run", strings.Join(asked, "/"), "-test.v", "-test.timeout=0")
	cmd.Env = append(os.Environ(), envInside+"=1", proctest.EnvBinary+"="+proctest.Binary(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // as it comes: it takes minutes
	if err := cmd.Run(); err != nil {
		t.Errorf("inside the namespaces: %v", err)
	}
	return false
}

// deployment is a whole cluster, with what its clients and its receiver saw.
type deployment struct {
	*clustertest.Cluster
	t        *testing.T
	receiver *receiver
	client   *http.Client
	binary   string
}

// deploy starts a cluster whose members have networks of their own.
func deploy(t *testing.T, o clustertest.Options) *deployment {
	t.Helper()
	d := &deployment{t: t, receiver: newReceiver(t), client: &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	o.Binary, o.Isolated = proctest.Binary(t), true
	o.Args = []string{"--webhook-allow-cidr", "127.0.0.0/8", "--webhook-ca-file", shared(t, d.receiver.roots), "--rate-limit", "business=1000000",
		"--webhook-timeout", "2s", "--webhook-retry-delays", "50ms,1s,5s", "--log-level", "warn"}
	begun := time.Now()
	o.Say = func(what string) { t.Logf("%v: %s", time.Since(begun).Round(time.Second), what) }
	c, err := clustertest.Launch(o)
	if err != nil {
		t.Fatal(err)
	}
	d.Cluster = c
	t.Cleanup(func() {
		d.client.CloseIdleConnections()
		if t.Failed() {
			t.Log(c.Logs(3000))
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// shared copies a file to where the user of the nodes can read it.
func shared(t *testing.T, file string) string {
	t.Helper()
	f, err := os.CreateTemp("", "sheaf-roots-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(f.Name()) })
	b, err := os.ReadFile(file)
	if err == nil {
		_, err = f.Write(b)
	}
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// workload begins to write into a workspace of its own, through the balancer; the name is of its webhook's path.
func (d *deployment) workload(name string) (front *node, l *load) {
	d.t.Helper()
	key, err := d.NewKey()
	if err != nil {
		d.t.Fatal(err)
	}
	front = &node{t: d.t, url: d.URL(), key: key, client: d.client}
	front.subscribe(d.receiver.url + "/" + name)
	l = startLoad(d.t, 0, front)
	l.balanced = true
	l.add(8)
	return front, l
}

// fault is one that a cluster must outlive.
type fault struct {
	name   string // of its row
	path   string
	rounds int
	// happen makes it, and returns when what has to take over has, or the part is back. then makes all whole again.
	happen, then func(d *deployment) error
}

// victim is the member that the fault at hand has hit.
var victim int

func leader(act func(d *deployment, i int) error) func(d *deployment) error {
	return func(d *deployment) error {
		if victim = d.Leader(); victim < 0 {
			return errors.New("nobody leads")
		}
		if err := act(d, victim); err != nil {
			return err
		}
		_, err := d.AwaitLeader(victim)
		return err
	}
}

func again(act func(d *deployment, i int) error) func(d *deployment) error {
	return func(d *deployment) error { return errors.Join(act(d, victim), d.AwaitMembers()) }
}

func nothing(*deployment) error { return nil }

var faultsOfACluster = []fault{
	{"cluster: the leader's machine killed", "killed", 3,
		leader(func(d *deployment, i int) error { return d.KillMember(i) }), again(func(d *deployment, i int) error { return d.StartMember(i) })},
	{"cluster: the leader's machine frozen", "frozen", 3,
		leader(func(d *deployment, i int) error { return d.FreezeMember(i) }), again(func(d *deployment, i int) error { return d.ThawMember(i) })},
	{"cluster: the leader cut off", "cut", 3,
		leader(func(d *deployment, i int) error { return d.CutOff(i) }), again(func(d *deployment, i int) error { return d.Reconnect(i) })},
	{"cluster: planned switchover", "switchover", 5, func(d *deployment) error { return d.Switchover() }, func(d *deployment) error { return d.AwaitMembers() }},
	{"cluster: etcd without a majority", "etcd", 2, etcdLost, func(d *deployment) error { return d.AwaitMembers() }},
	{"cluster: pgbouncer restarted", "pgbouncer", 10, func(d *deployment) error { return d.RestartPgbouncer() }, nothing},
	{"cluster: Redis failed over by Sentinel", "redis", 3, redisLost, redisBack},
	{"cluster: each node killed", "node", 6, nodeKilled, nodeStarted},
}

// etcdLost takes the majority away until nobody leads, sees that every request is refused in time, and gives it back.
func etcdLost(d *deployment) error {
	err := errors.Join(d.KillEtcd(0), d.KillEtcd(1))
	if err == nil && !sheaftest.Within(patience, func() bool { return d.Leader() < 0 }) {
		err = errors.New("without etcd somebody still leads")
	}
	if err == nil {
		err = d.refuses()
	}
	return errors.Join(err, d.StartEtcd(0), d.StartEtcd(1))
}

// refuses requests /readyz of each node. It returns an error unless the node answers 503 within 2 seconds,
// five times in a row. Patroni reports that no member leads before PostgreSQL has stopped, and starts it again
// as a server for reading. Until the balancer notices, a node that reads there is ready.
func (d *deployment) refuses() error {
	for i := range 3 {
		n := &node{t: d.t, url: d.NodeURL(i), client: d.client}
		var fault error
		within(d.t, patience, "a node notices", func() bool {
			for range 5 {
				begun := time.Now()
				a, err := n.do("GET", "/readyz", nil)
				took := time.Since(begun)
				if err == nil && a.status == 200 {
					return false
				}
				if err != nil || a.status != 503 || a.header.Get("Retry-After") == "" || took > 2*time.Second {
					fault = fmt.Errorf("without a leader node %d answered %d, %v after %v", i, a.status, err, took)
					return true
				}
			}
			return true
		})
		if fault != nil {
			return fault
		}
	}
	return nil
}

func redisLost(d *deployment) error {
	if victim = d.RedisMaster(); victim < 0 {
		return errors.New("no Redis is the master")
	}
	if err := d.KillRedis(victim); err != nil {
		return err
	}
	if !sheaftest.Within(patience, func() bool { return d.RedisMaster() >= 0 }) {
		return errors.New("no Redis has become the master")
	}
	return nil
}

func redisBack(d *deployment) error {
	return errors.Join(d.StartRedis(victim), d.AwaitRedis())
}

func nodeKilled(d *deployment) error {
	victim = (victim + 1) % 3
	return d.KillNode(victim)
}

func nodeStarted(d *deployment) error { return d.StartNode(victim) }

// The cluster of docs/deploy.md starts on loopback, as `make cluster` has it, and every node serves.
func TestCluster_StartsAsDocumented(t *testing.T) {
	c, err := clustertest.Launch(clustertest.Options{Binary: proctest.Binary(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	key, err := c.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	project := (&node{t: t, url: c.URL(), key: key, client: client}).newProject("through the balancer")
	for i := range 3 {
		(&node{t: t, url: c.NodeURL(i), key: key, client: client}).must(200, "GET", "/api/v1/projects/"+project, nil)
	}
}

// D154: whatever part of a cluster is lost, nothing is that was acknowledged, and every event arrives.
func TestCluster_FaultsUnderLoad(t *testing.T) {
	if !inside(t) {
		return
	}
	caught := false // a control that was not asked for has shown nothing
	t.Run("control", func(t *testing.T) { caught = losesAsynchronously(t) })
	d := deploy(t, clustertest.Options{})
	for _, f := range faultsOfACluster {
		t.Run(f.path, func(t *testing.T) {
			under := *d
			under.t = t
			under.try(f, caught)
		})
	}
}

// try makes a fault some times under load, and reports the row.
func (d *deployment) try(f fault, caught bool) {
	d.t.Helper()
	front, l := d.workload(f.path)
	took, gaps := d.rounds(f, l)
	found := l.settle(front, func() map[string]int { return d.receiver.countsAt("/hook/" + f.path) })
	complaints := found.reconcile()
	for _, c := range complaints[:min(len(complaints), 20)] {
		d.t.Error(c)
	}
	proof.Row{Name: f.name, Lost: len(complaints), Control: "asynchronous replication", Caught: caught,
		Figures: []proof.Figure{{Name: "times", Value: len(gaps)}, {Name: "acknowledged", Value: len(found.acknowledged)},
			{Name: "repeated with their key", Value: l.repeated}, {Name: "events", Value: len(found.created)}, {Name: "events missing", Value: found.missing()},
			{Name: "duplicates", Value: found.again()}, {Name: "taken over or back after p50", Value: took[len(took)/2]},
			{Name: "no writes for p50", Value: gaps[len(gaps)/2]}, {Name: "worst", Value: gaps[len(gaps)-1]}}}.Report(d.t)
}

// rounds makes the fault as often as it is to be made. It returns, from the shortest on, after how long another had taken
// over or the part was back, and for how long nobody could write.
func (d *deployment) rounds(f fault, l *load) (took, gaps []time.Duration) {
	d.t.Helper()
	const readable = 10 * time.Millisecond
	for range proof.Rounds(1, f.rounds, 5*f.rounds) {
		had := l.count()
		within(d.t, patience, "the load goes on", func() bool { return l.count() >= had+enough })
		from := time.Now()
		if err := f.happen(d); err != nil {
			d.t.Fatalf("%s: %v", f.name, err)
		}
		took = append(took, time.Since(from).Round(readable))
		l.first(time.Now())
		gaps = append(gaps, l.gap(from, time.Now()).Round(readable))
		d.t.Logf("taken over or back after %v, no writes for %v", took[len(took)-1], gaps[len(gaps)-1])
		if err := f.then(d); err != nil {
			d.t.Fatalf("%s: %v", f.name, err)
		}
	}
	slices.Sort(took)
	slices.Sort(gaps)
	return took, gaps
}

// gap returns the longest time without an acknowledgement that touches the one between two moments.
func (l *load) gap(from, to time.Time) (longest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ends := make([]time.Time, len(l.made))
	for i, s := range l.made {
		ends[i] = s.end
	}
	slices.SortFunc(ends, time.Time.Compare)
	for i := 1; i < len(ends); i++ {
		if ends[i].After(from) && ends[i-1].Before(to) {
			longest = max(longest, ends[i].Sub(ends[i-1]))
		}
	}
	return longest
}

// losesAsynchronously reports whether a cluster whose COMMIT waits for nobody loses writes that were acknowledged, and the
// journals show it: the standbys are behind when the leader's machine is lost for good.
func losesAsynchronously(t *testing.T) bool {
	d := deploy(t, clustertest.Options{Asynchronous: true})
	front, l := d.workload("control")
	within(t, patience, "the load goes on", func() bool { return l.count() >= enough })
	leads := d.Leader()
	standbys := func(act func(int) error) {
		for i := range 3 {
			if i == leads {
				continue
			}
			if err := act(i); err != nil {
				t.Fatal(err)
			}
		}
	}
	standbys(d.CutOff)
	had := l.count()
	within(t, patience, "writes are acknowledged that no standby has", func() bool { return l.count() >= had+enough })
	if err := d.KillMember(leads); err != nil {
		t.Fatal(err)
	}
	// The machine is lost, not PostgreSQL alone: its kernel would go on to send what the sockets hold, and that may be all.
	if err := d.CutOff(leads); err != nil {
		t.Fatal(err)
	}
	standbys(d.Reconnect)
	if _, err := d.AwaitLeader(leads); err != nil {
		t.Fatal(err)
	}
	l.first(time.Now())
	l.stop()
	found := findings{acknowledged: map[string]string{}, projects: map[string]string{}, arrived: map[string]int{}, created: map[string]bool{}}
	for _, s := range l.made {
		found.acknowledged[s.id] = s.name
	}
	for _, p := range front.all("/api/v1/projects") {
		found.projects[p["id"].(string)] = p["name"].(string)
	}
	lost := 0
	for id, name := range found.acknowledged {
		if found.projects[id] != name {
			lost++
		}
	}
	t.Logf("the control has lost %d of %d acknowledged writes", lost, len(found.acknowledged))
	if lost == 0 {
		t.Error("asynchronous replication has lost nothing: the harness would not see it")
	}
	return lost > 0
}
