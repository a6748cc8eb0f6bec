// Package nodes tries the program, as it is built for users, as several nodes on one PostgreSQL: what one does the
// others see, and no fault of a node, of PostgreSQL or of Redis costs what was promised.
//
// By default the tests are quick. With SHEAF_LONG=1 they run as long as the promises ask for; `make nodes` does that
// and shows the figures.
package nodes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
)

// long says that the tests run in their long form.
var long = os.Getenv("SHEAF_LONG") == "1"

// scaled returns how often, or how long, something is tried in the form at hand.
func scaled[T any](quick, full T) T {
	if long {
		return full
	}
	return quick
}

// patience is how long a test waits for what must come, on a busy machine.
const patience = 5 * time.Minute

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(sheaftest.Patient(m), goleak.Cleanup(proctest.Exit))
}

// promised returns a bound in which something is promised on a machine that has the time, which `make nodes` has. In the
// quick form, beside others, the bound is our patience: what is missing never comes.
func promised(d time.Duration) time.Duration { return scaled(patience, d) }

// figure prints a line of what was measured, also without -v when the run is a long one.
func figure(t *testing.T, format string, args ...any) {
	t.Helper()
	if long {
		fmt.Printf("  %-28s %s\n", strings.TrimPrefix(t.Name(), "Test"), fmt.Sprintf(format, args...))
		return
	}
	t.Logf(format, args...)
}

// site is a database and what all its nodes are started with.
type site struct {
	t         *testing.T
	program   *proctest.Program // its data folder holds the master key, which the nodes share
	workspace string
	key       string
	args      []string // of every node
}

// newSite makes a workspace with a key in the database.
func newSite(t *testing.T, database string, args ...string) *site {
	t.Helper()
	s := &site{t: t, program: newProgram(t, database), args: args}
	s.workspace = s.ask("workspace", "create", "--name", "Acme", "--plan", "business")["id"].(string)
	s.key = s.ask("key", "create", "--workspace", s.workspace, "--name", "test", "--scopes", "all")["key"].(string)
	return s
}

func newProgram(t *testing.T, database string) *proctest.Program {
	t.Helper()
	return &proctest.Program{Binary: proctest.Binary(t), Data: t.TempDir(), Database: database}
}

// ask runs a command and returns what it printed.
func (s *site) ask(args ...string) map[string]any {
	s.t.Helper()
	return s.program.Ask(s.t, args...)
}

// node is a running program.
type node struct {
	t       *testing.T
	cmd     *exec.Cmd
	args    []string
	url     string
	key     string
	client  *http.Client
	out     output
	err     output
	ended   chan struct{}
	mu      sync.Mutex // guards stopped
	stopped bool       // on purpose
}

// start runs a node and returns when it listens. Arguments come after those of the site.
func (s *site) start(args ...string) *node {
	s.t.Helper()
	n := s.launch(args...)
	n.await()
	return n
}

// launch runs a node and returns at once.
func (s *site) launch(args ...string) *node {
	s.t.Helper()
	all := []string{"serve", "--first-run", "none", "--rate-limit", "pro=0,business=0", "--log-level", "warn",
		"--webhook-allow-cidr", "127.0.0.0/8", "--webhook-retry-delays", "50ms,200ms,1s"}
	return launch(s.t, s.key, slices.Concat(all, s.program.Flags(), s.args, args))
}

func launch(t *testing.T, key string, args []string) *node {
	t.Helper()
	if !strings.Contains(strings.Join(args, " "), "--addr ") {
		args = append(args, "--addr", "127.0.0.1:0")
	}
	return launchProgram(t, proctest.Binary(t), key, args)
}

// launchProgram is launch for another program than the one at hand. The arguments name its address.
func launchProgram(t *testing.T, program, key string, args []string) *node {
	t.Helper()
	n := &node{t: t, key: key, args: args, ended: make(chan struct{}),
		client: &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}
	n.cmd = exec.Command(program, args...)
	n.cmd.Stdout, n.cmd.Stderr = &n.out, &n.err
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = n.cmd.Wait()
		close(n.ended)
	}()
	t.Cleanup(func() {
		n.mu.Lock()
		stopped := n.stopped
		n.mu.Unlock()
		select {
		case <-n.ended:
			if !stopped {
				t.Errorf("a node ended by itself: %s", n.err.String())
			}
		default:
			n.kill()
		}
		if t.Failed() {
			t.Logf("node %s said: %s", n.url, n.err.tail(4000))
		}
		n.client.CloseIdleConnections()
	})
	return n
}

// await returns when the node listens.
func (n *node) await() {
	n.t.Helper()
	sheaftest.Eventually(n.t, "the node listens", func() bool {
		if _, rest, ok := strings.Cut(n.err.String(), "listening on "); ok && strings.Contains(rest, "\n") {
			n.url, _, _ = strings.Cut(rest, "\n")
			return true
		}
		select {
		case <-n.ended:
			n.t.Fatalf("the node did not start: %s", n.err.String())
		default:
		}
		return false
	})
}

// again starts a node that has ended with the same arguments on the same address.
func (n *node) again() *node {
	n.t.Helper()
	m := launch(n.t, n.key, append(n.args, "--addr", strings.TrimPrefix(n.url, "http://")))
	m.await()
	return m
}

func (n *node) signal(s syscall.Signal) {
	n.t.Helper()
	if s == syscall.SIGKILL || s == syscall.SIGTERM {
		n.mu.Lock()
		n.stopped = true
		n.mu.Unlock()
	}
	if err := n.cmd.Process.Signal(s); err != nil {
		n.t.Errorf("signal a node: %v", err)
	}
}

// kill ends the node as a crash does, and returns when it is gone.
func (n *node) kill() {
	n.t.Helper()
	n.signal(syscall.SIGKILL)
	<-n.ended
}

// terminate ends the node as an operator does; that must go well.
func (n *node) terminate() {
	n.t.Helper()
	n.signal(syscall.SIGTERM)
	<-n.ended
	if code := n.cmd.ProcessState.ExitCode(); code != 0 {
		n.t.Errorf("the node ended with %d: %s", code, n.err.tail(2000))
	}
}

// output is what a process has written so far.
type output struct{ sheaftest.Output }

func (o *output) tail(most int) string {
	s := o.String()
	return s[max(0, len(s)-most):]
}

// answer is what came back from a node.
type answer struct {
	status int
	header http.Header
	body   []byte
	json   map[string]any
}

func (a answer) text(name string) string {
	s, _ := a.json[name].(string)
	return s
}

// do makes one request with the site's key. Headers are lines such as "If-Match: *".
func (n *node) do(method, path string, body any, headers ...string) (answer, error) {
	return n.as(context.Background(), n.key, method, path, body, headers...)
}

func (n *node) as(ctx context.Context, key, method, path string, body any, headers ...string) (a answer, err error) {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return a, err
		}
		content = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, n.url+path, content)
	if err != nil {
		return a, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	res, err := n.client.Do(req)
	if err != nil {
		return a, err
	}
	defer res.Body.Close()
	a = answer{status: res.StatusCode, header: res.Header}
	if a.body, err = io.ReadAll(res.Body); err == nil {
		_ = json.Unmarshal(a.body, &a.json) // nil when it is no object
	}
	return a, err
}

// must makes a request that has to be answered with the status.
func (n *node) must(status int, method, path string, body any, headers ...string) answer {
	n.t.Helper()
	a, err := n.do(method, path, body, headers...)
	if err != nil || a.status != status {
		n.t.Fatalf("%s %s: got %d %s, %v, want %d", method, path, a.status, a.body, err, status)
	}
	return a
}

// status returns that of a GET with another key.
func (n *node) status(key, path string) int {
	n.t.Helper()
	a, err := n.as(context.Background(), key, http.MethodGet, path, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	return a.status
}

func (n *node) newProject(name string) string {
	n.t.Helper()
	return n.must(201, "POST", "/api/v1/projects", map[string]any{"name": name}).text("id")
}

// subscribe makes a subscription to the creation of projects, and returns it.
func (n *node) subscribe(url string) map[string]any {
	n.t.Helper()
	a := n.must(201, "POST", "/api/webhooks/subscriptions", map[string]any{"name": "all", "url": url, "events": []string{"project.created"}})
	return a.json["subscription"].(map[string]any)
}

// all returns a whole list.
func (n *node) all(path string) (items []map[string]any) {
	n.t.Helper()
	for {
		a := n.must(200, "GET", fmt.Sprintf("%s?limit=100&offset=%d", path, len(items)), nil)
		data := a.json["data"].([]any)
		for _, item := range data {
			items = append(items, item.(map[string]any))
		}
		if len(data) < 100 {
			return items
		}
	}
}

// within waits for a condition and returns how long it took; it fails the test when that is longer than limit.
func within(t *testing.T, limit time.Duration, what string, met func() bool) time.Duration {
	t.Helper()
	begun := time.Now()
	if !sheaftest.Within(limit, met) {
		t.Fatalf("not within %v: %s", limit, what)
	}
	return time.Since(begun)
}

// connect opens a connection of the test's own to the database.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// count runs a query that returns one number.
func count(t *testing.T, c *pgx.Conn, sql string, args ...any) (n int) {
	t.Helper()
	if err := c.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
