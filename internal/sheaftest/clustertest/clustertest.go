// Package clustertest starts a whole cluster as an operator would run it, from Debian's packages
// and with the files of deploy/cluster: three members of PostgreSQL under Patroni and etcd, haproxy
// before them, pgbouncer in transaction mode, Redis with Sentinel, and three nodes of Sheaf behind
// haproxy.
//
//	clients ── haproxy :8080 ── node1 node2 node3
//	                              │         └────── Sentinel ×3 ── Redis ×3
//	             transactions ────┤
//	                  pgbouncer :6432   LISTEN, locks, migrations
//	                              └──── haproxy :5000 ── the leader of db1 db2 db3
//	                                                     Patroni, etcd on each
//
// Every server has its own process namespace, so that killing it kills all processes that it has
// started. That needs root. However the test process ends, all servers are killed and their folders
// are deleted.
package clustertest

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/daemon"
)

// balancer is the machine of haproxy and pgbouncer.
var balancer = machine{name: "lb", host: 10}

// size is the number of members, of nodes and of Redis servers.
const size = 3

// Options describe the cluster to start.
type Options struct {
	// Binary is the program of the nodes.
	Binary string
	// Args are further arguments of every node.
	Args []string
	// Isolated gives each member of PostgreSQL its own network namespace, which can be
	// disconnected. The process must be in its own network and mount namespace.
	Isolated bool
	// Asynchronous lets COMMIT return before a standby has it. The documentation warns of that.
	Asynchronous bool
	// Say is called with the name of each part before it is started; it may be nil.
	Say func(what string)
}

// member is a machine of PostgreSQL.
type member struct {
	machine       machine
	etcd, patroni *server
}

// Cluster is a running cluster. Its methods are for one goroutine at a time.
type Cluster struct {
	Options
	prefix   string // of all addresses
	shift    int    // of all ports
	password string
	key      string // the master key, as in its file

	isolated, asynchronous bool

	members   [size]member
	haproxy   *server
	pgbouncer *server
	redis     [size]*server
	sentinels [size]*server
	nodes     [size]*server
	servers   []*server // all of them, in the order of their start
	client    *http.Client
}

// ErrNotInstalled means that the machine lacks programs.
var ErrNotInstalled = errors.New("not installed: ./scripts/cluster-packages installs what a cluster needs")

// Launch starts a cluster and blocks until it serves. It runs until Close, or until this process
// ends.
func Launch(o Options) (*Cluster, error) {
	for _, name := range []string{"patroni", "etcd", "pgbouncer", "haproxy", "redis-server"} {
		if _, err := exec.LookPath(name); err != nil {
			if _, err := exec.LookPath("/usr/sbin/" + name); err != nil {
				return nil, fmt.Errorf("%s: %w", name, ErrNotInstalled)
			}
		}
	}
	c := &Cluster{Options: o, password: rand.Text(), isolated: o.Isolated, asynchronous: o.Asynchronous,
		client: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}}
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	c.key = base64.StdEncoding.EncodeToString(key)
	c.name()
	err := c.connect()
	for _, start := range []func() error{c.startMembers, c.startBalancer, c.makeDatabase, c.startPgbouncer, c.startRedis, c.startNodes} {
		if err == nil {
			err = start()
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// name sets the machines of the members.
func (c *Cluster) name() {
	for i := range c.members {
		m := machine{name: fmt.Sprint("db", i+1), host: 21 + i}
		if c.isolated {
			m.network = m.name
		}
		c.members[i].machine = m
	}
}

// connect creates the network.
func (c *Cluster) connect() error {
	if c.isolated {
		return c.inNamespaces()
	}
	return c.onLoopback()
}

// machines returns all machines.
func (c *Cluster) machines() []machine {
	all := []machine{balancer}
	for i := range size {
		all = append(all, c.members[i].machine, node(i), redisMachine(i))
	}
	return all
}

func node(i int) machine         { return machine{name: fmt.Sprint("node", i+1), host: 11 + i} }
func redisMachine(i int) machine { return machine{name: fmt.Sprint("redis", i+1), host: 31 + i} }

func (c *Cluster) say(what string) {
	if c.Say != nil {
		c.Say(what)
	}
}

// startMembers starts etcd and Patroni on each machine, and waits for a leader with its standbys.
func (c *Cluster) startMembers() (err error) {
	c.say("etcd, three members")
	for i := range c.members {
		m := &c.members[i]
		if m.etcd, err = c.launch(m.machine, program{name: "etcd", files: []string{"etcd.env"}, env: "etcd.env", line: []string{"etcd"}}); err != nil {
			return err
		}
	}
	c.say("PostgreSQL under Patroni, three members")
	for i := range c.members {
		m := &c.members[i]
		if m.patroni, err = c.launch(m.machine, program{name: "patroni", files: []string{"patroni.yml"}, line: []string{"patroni", "patroni.yml"}}); err != nil {
			return err
		}
	}
	return c.awaitMembers()
}

// startBalancer starts haproxy, which checks its servers by itself.
func (c *Cluster) startBalancer() (err error) {
	c.say("haproxy")
	c.haproxy, err = c.launch(balancer, program{name: "haproxy", files: []string{"haproxy.cfg"}, line: []string{"haproxy", "-db", "-f", "haproxy.cfg"},
		ready: c.listens(balancer, 5000)})
	return err
}

// listens returns a function that returns nil if a program listens on the port of the machine.
func (c *Cluster) listens(m machine, port int) func() error {
	return func() error {
		conn, err := net.DialTimeout("tcp", c.at(m.host, port), time.Second)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// makeDatabase creates the documented role and database.
func (c *Cluster) makeDatabase() (err error) {
	statements := []string{"CREATE ROLE sheaf LOGIN PASSWORD '" + c.password + "'", "CREATE DATABASE sheaf OWNER sheaf"}
	sheaftest.Within(daemon.Timeout, func() bool {
		for len(statements) > 0 {
			if err = c.Execute(statements[0]); err != nil {
				return false
			}
			statements = statements[1:]
		}
		return true
	})
	return err
}

// Execute runs a statement as the superuser on the leader, through haproxy.
func (c *Cluster) Execute(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, fmt.Sprintf("postgres://postgres:%s@%s/postgres?sslmode=disable", c.password, c.at(balancer.host, 5000)))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// startPgbouncer starts the pooler.
func (c *Cluster) startPgbouncer() (err error) {
	c.say("pgbouncer in transaction mode")
	c.pgbouncer, err = c.launch(balancer, program{name: "pgbouncer", files: []string{"pgbouncer.ini", "userlist.txt"}, line: []string{"pgbouncer", "pgbouncer.ini"},
		ready: c.listens(balancer, 6432)})
	return err
}

// startRedis starts three Redis servers, a master and two replicas, and three Sentinels.
func (c *Cluster) startRedis() (err error) {
	c.say("Redis with Sentinel, three of each")
	for i := range c.redis {
		p := program{name: "redis", files: []string{"redis.conf"}, line: []string{"redis-server", "redis.conf"}, ready: c.listens(redisMachine(i), 6379)}
		if i > 0 {
			p.more = func(dir string) error {
				return appendLine(filepath.Join(dir, "redis.conf"), c.shifted("replicaof "+c.address(31)+" 6379"))
			}
		}
		if c.redis[i], err = c.launch(redisMachine(i), p); err != nil {
			return err
		}
	}
	for i := range c.sentinels {
		p := program{name: "sentinel", files: []string{"sentinel.conf"}, line: []string{"redis-server", "sentinel.conf", "--sentinel"},
			ready: c.listens(redisMachine(i), 26379)}
		if c.sentinels[i], err = c.launch(redisMachine(i), p); err != nil {
			return err
		}
	}
	return c.awaitSentinels()
}

// appendLine adds a line to a file.
func appendLine(file, line string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, line+"\n"...), 0o644)
}

// startNodes starts the nodes, and waits until each serves through the balancer.
func (c *Cluster) startNodes() (err error) {
	c.say("Sheaf, three nodes")
	for i := range c.nodes {
		if c.nodes[i], err = c.launch(node(i), c.nodeProgram(c.Binary)); err != nil {
			return err
		}
	}
	for i := range c.nodes {
		if err := c.AwaitNode(i); err != nil {
			return err
		}
	}
	return c.await("the balancer serves", func() error { return c.ask(c.URL() + "/readyz") })
}

// nodeProgram returns the program of a node.
func (c *Cluster) nodeProgram(binary string) program {
	return program{name: "sheaf", files: []string{"sheaf.env"}, env: "sheaf.env",
		line: append([]string{binary, "serve", "--data", ".", "--first-run", "none"}, c.Args...),
		more: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "master.key"), []byte(c.key+"\n"), 0o600)
		}}
}

// URL returns the address of the service, at the balancer.
func (c *Cluster) URL() string { return "http://" + c.at(balancer.host, 8080) }

// NodeURL returns the address of one node.
func (c *Cluster) NodeURL(i int) string { return "http://" + c.at(node(i).host, 8080) }

// DatabaseURL returns the address of the database through pgbouncer.
func (c *Cluster) DatabaseURL() string { return c.database(6432) }

// DirectURL returns the address of the leader's database, without pgbouncer.
func (c *Cluster) DirectURL() string { return c.database(5000) }

func (c *Cluster) database(port int) string {
	return fmt.Sprintf("postgres://sheaf:%s@%s/sheaf?sslmode=disable", c.password, c.at(balancer.host, port))
}

// PatroniURL returns the address of a member's Patroni.
func (c *Cluster) PatroniURL(i int) string { return c.patroni(i, "") }

// RedisURL returns the Redis URL that the nodes are configured with.
func (c *Cluster) RedisURL() string {
	return fmt.Sprintf("redis-sentinel://:%s@%s,%s,%s/0?master=sheaf", c.password, c.at(31, 26379), c.at(32, 26379), c.at(33, 26379))
}

// NewKey makes a workspace on the business plan and returns a key of it with every scope.
func (c *Cluster) NewKey() (string, error) {
	var workspace, key struct{ ID, Key string }
	if err := c.command(&workspace, "workspace", "create", "--name", "First", "--plan", "business"); err != nil {
		return "", err
	}
	err := c.command(&key, "key", "create", "--workspace", workspace.ID, "--name", "first", "--scopes", "all")
	return key.Key, err
}

// command runs a command of the program on the database, and decodes its output.
func (c *Cluster) command(into any, args ...string) error {
	args = append(args, "--json", "--database-url", c.DatabaseURL(), "--database-direct-url", c.DirectURL())
	out, err := exec.Command(c.Binary, args...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%s: %s", args[0], failed.Stderr)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(out, into)
}

// Folders returns the servers' folders, which have their files and logs.
func (c *Cluster) Folders() (lines []string) {
	for _, s := range c.servers {
		lines = append(lines, fmt.Sprintf("%-6s %s", s.machine.name, s.Dir))
	}
	return lines
}

// Close stops all servers and deletes their files.
func (c *Cluster) Close() (err error) {
	c.client.CloseIdleConnections()
	for _, s := range c.servers {
		err = errors.Join(err, s.kill(), s.Close())
	}
	if c.isolated {
		err = errors.Join(err, c.removeNetwork())
	}
	return err
}

// Logs returns the last `most` bytes of each server's log.
func (c *Cluster) Logs(most int) string {
	var b strings.Builder
	for _, s := range c.servers {
		log := s.Log()
		fmt.Fprintf(&b, "== %s %s\n%s\n", s.machine.name, filepath.Base(s.Dir), log[max(0, len(log)-most):])
	}
	return b.String()
}
