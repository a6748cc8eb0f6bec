package crash

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest/proctest"
)

// program is the built program with the key of a workspace.
type program struct {
	*proctest.Program
	key string
}

// newProgram returns the program on an empty store.
func newProgram(t *testing.T, database string) *program {
	t.Helper()
	return &program{Program: &proctest.Program{Binary: proctest.Failpoints(t), Data: filepath.Join(t.TempDir(), "data"), Database: database}}
}

// as is the same store, served by another build of the program.
func (p *program) as(binary string) *program {
	other := *p.Program
	other.Binary = binary
	return &program{Program: &other, key: p.key}
}

// prepare makes the workspace.
func (p *program) prepare(t *testing.T) *program {
	t.Helper()
	p.key = p.Workspace(t, "Acme")
	return p
}

// dieIn runs a command that is killed at a point; in every odd step at a moment instead, ever later. It returns the
// error of its end.
func (p *program) dieIn(point string, step int, args ...string) error {
	cmd := p.Command(args...)
	if step%2 == 0 {
		cmd.Env = append(os.Environ(), point)
		return cmd.Run()
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	time.Sleep(time.Duration(step) * 3 * time.Millisecond) // any moment will do
	_ = cmd.Process.Kill()
	return cmd.Wait()
}

// server is a running program.
type server struct {
	*proctest.Server
	key       string
	startedIn time.Duration
}

// start runs the server on the same store and returns when it listens. With a point in its environment it may die
// before. Without a receiver it is one that sends nothing.
func (p *program) start(t *testing.T, r *receiver, env ...string) *server {
	t.Helper()
	q := *p.Program
	q.Env = slices.Concat(p.Env, env)
	run := q.Start
	if len(env) > 0 {
		run = q.Launch
	}
	var flags []string
	if r != nil {
		flags = []string{"--webhook-allow-cidr", "127.0.0.0/8", "--webhook-ca-file", r.roots,
			"--webhook-retry-delays", "50ms,1s,30s", "--webhook-timeout", "10s"}
	}
	began := time.Now()
	s := run(t, flags...)
	return &server{Server: s, key: p.key, startedIn: time.Since(began)}
}

// dies returns when the server has killed itself at its point. Without one it is killed at a random moment, and when
// the load does not lead it there within the limit, as it is.
func (s *server) dies(point string, limit time.Duration) {
	if point == "" {
		limit = time.Duration(20+rand.IntN(300)) * time.Millisecond
	}
	select {
	case <-s.Ended:
	case <-time.After(limit):
	}
	s.Kill()
}

// terminate ends it as an operator does; that must go well.
func (s *server) terminate(t *testing.T) {
	t.Helper()
	if err := s.Terminate(); err != nil {
		t.Errorf("the server's end: %v", err)
	}
}

// client keeps no connection: the next server is another.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: within}

// call makes one request.
func (s *server) call(method, path string, body, answer any) (status int, err error) {
	return proctest.Call(client, s.URL, s.key, method, path, body, answer)
}

func (s *server) subscribe(t *testing.T, url string) {
	t.Helper()
	var answer map[string]any
	status, err := s.call(http.MethodPost, "/api/webhooks/subscriptions", map[string]any{"name": "all", "url": url,
		"events": []string{"project.created", "project.updated", "project.deleted"}}, &answer)
	if err != nil || status != http.StatusCreated {
		t.Fatalf("subscribe: %d, %v, %v", status, err, answer)
	}
}

// item is an entry of a list: a project, a document, a medium, or an event.
type item struct {
	ID, Name, Type string
	Filename       string
	Version        int
	Resource       string `json:"resource_id"`
	Payload        struct{ Version int }
}

// each reads a whole list.
func (s *server) each(t *testing.T, path string, take func(item)) {
	t.Helper()
	for offset := 0; ; offset += 100 {
		var page struct{ Data []item }
		status, err := s.call(http.MethodGet, fmt.Sprintf("%s?limit=100&offset=%d", path, offset), nil, &page)
		if err != nil || status != http.StatusOK {
			t.Fatalf("list %s: %d, %v", path, status, err)
		}
		for _, i := range page.Data {
			take(i)
		}
		if len(page.Data) < 100 {
			return
		}
	}
}

// receiver journals what arrives. It answers every fifth event badly at first, so that the kills meet retries too.
type receiver struct {
	url   string
	roots string // file of the certificate to trust

	mu      sync.Mutex // guards what follows
	times   map[string]int
	taken   map[string]bool // answered well
	again   int             // arrivals of what was taken
	since   time.Time       // a restart; zero when something older than it has arrived
	resumed []time.Duration
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{times: map[string]int{}, taken: map[string]bool{}}
	r.url, r.roots = proctest.Endpoint(t, http.HandlerFunc(r.receive))
	return r
}

func (r *receiver) receive(w http.ResponseWriter, q *http.Request) {
	id := q.Header.Get("webhook-id")
	var event struct {
		ID        string
		Timestamp time.Time
	}
	if err := json.NewDecoder(q.Body).Decode(&event); err != nil || event.ID != id {
		id = "with a body of another: " + id
	}
	if !r.note(id, event.Timestamp) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// note writes an arrival down and reports whether to answer well.
func (r *receiver) note(id string, made time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times[id]++
	if r.taken[id] {
		r.again++
	}
	if !r.since.IsZero() && made.Before(r.since) {
		r.resumed = append(r.resumed, time.Since(r.since))
		r.since = time.Time{}
	}
	if r.times[id] == 1 && len(r.times)%5 == 0 {
		return false
	}
	r.taken[id] = true
	return true
}

// expect measures how long it takes from a restart to the first arrival of something older.
func (r *receiver) expect(restart time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since = restart
}

func (r *receiver) redeliveries() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.resumed)
}

// arrived returns how often each event arrived, and how many arrivals were of what had been taken before.
func (r *receiver) arrived() (times map[string]int, again int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.times), r.again
}
