package crash

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
)

// program is the built program with its data folder, and its database where that is PostgreSQL.
type program struct {
	binary, data, database, key string
}

// newProgram returns the program with a workspace and a key.
func newProgram(t *testing.T, database string) *program {
	t.Helper()
	p := &program{binary: proctest.Failpoints(t), data: filepath.Join(t.TempDir(), "data"), database: database}
	p.prepare(t)
	return p
}

func (p *program) prepare(t *testing.T) {
	t.Helper()
	workspace := p.ask(t, "workspace", "create", "--name", "Acme", "--plan", "business")
	key := p.ask(t, "key", "create", "--workspace", workspace["id"].(string), "--name", "load", "--scopes", "all")
	p.key = key["key"].(string)
}

// flags name the store.
func (p *program) flags() []string {
	if p.database == "" {
		return []string{"--data", p.data}
	}
	return []string{"--data", p.data, "--database-url", p.database}
}

// ask runs a command and returns what it printed.
func (p *program) ask(t *testing.T, args ...string) (out map[string]any) {
	t.Helper()
	b, err := exec.Command(p.binary, append(append(args, "--json"), p.flags()...)...).Output()
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, b)
	}
	return out
}

// dieIn runs a command that is killed at a point; in every odd step at a moment instead, ever later. It returns the
// error of its end.
func (p *program) dieIn(point string, step int, args ...string) error {
	cmd := exec.Command(p.binary, append(args, p.flags()...)...)
	if step%2 == 0 {
		cmd.Env = append(os.Environ(), point)
		return cmd.Run()
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	time.Sleep(time.Duration(step) * 3 * time.Millisecond)
	_ = cmd.Process.Kill()
	return cmd.Wait()
}

// server is a running program.
type server struct {
	process   *exec.Cmd
	address   string
	key       string
	startedIn time.Duration
	ended     chan struct{} // closed when the process is gone
	err       error         // of its end
}

// start runs the server on the same store and returns when it listens.
func (p *program) start(t *testing.T, r *receiver, env ...string) *server {
	t.Helper()
	began := time.Now()
	cmd := exec.Command(p.binary, append([]string{"serve", "--addr", "127.0.0.1:0", "--first-run", "none",
		"--rate-limit", "pro=0,business=0", "--webhook-allow-cidr", "127.0.0.0/8", "--webhook-ca-file", r.roots,
		"--webhook-retry-delays", "50ms,100ms,200ms", "--webhook-timeout", "1s", "--log-level", "error"}, p.flags()...)...)
	cmd.Env = append(os.Environ(), env...)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &server{process: cmd, key: p.key, ended: make(chan struct{})}
	lines := bufio.NewReader(stderr)
	s.address = listens(t, lines)
	s.startedIn = time.Since(began)
	go s.wait(lines)
	t.Cleanup(s.kill)
	if s.address == "" && len(env) == 0 {
		<-s.ended
		t.Fatalf("the server did not start: %v", s.err)
	}
	return s
}

// listens returns the address from the line that names it; a server that died before has none.
func listens(t *testing.T, lines *bufio.Reader) string {
	for {
		line, err := lines.ReadString('\n')
		if _, address, ok := strings.Cut(line, "listening on "); ok {
			return strings.TrimSpace(address)
		}
		if err != nil {
			return ""
		}
		t.Logf("server: %s", line)
	}
}

func (s *server) wait(lines io.Reader) {
	_, _ = io.Copy(io.Discard, lines)
	s.err = s.process.Wait()
	close(s.ended)
}

// kill ends the server as a crash does, and returns when it is gone.
func (s *server) kill() {
	_ = s.process.Process.Kill()
	<-s.ended
}

// dies returns when the server has killed itself at its point. Without one it is killed at a random moment, and when
// the load does not lead it there within the limit, as it is.
func (s *server) dies(point string, limit time.Duration) {
	if point == "" {
		limit = time.Duration(20+rand.IntN(300)) * time.Millisecond
	}
	select {
	case <-s.ended:
	case <-time.After(limit):
	}
	s.kill()
}

// terminate ends it as an operator does; that must go well.
func (s *server) terminate(t *testing.T) {
	t.Helper()
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	if s.err != nil {
		t.Errorf("the server's end: %v", s.err)
	}
}

// client keeps no connection: the next server is another.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}

// call makes one request.
func (s *server) call(method, path string, body, answer any) (status int, err error) {
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return 0, err
		}
	}
	req, err := http.NewRequest(method, s.address+path, &content)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && answer != nil {
		err = json.Unmarshal(b, answer)
	}
	return res.StatusCode, err
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

// item is an entry of a list: a project, or an event.
type item struct {
	ID, Name, Type string
	Resource       string `json:"resource_id"`
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
	ca, err := sheaftest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Issue(sheaftest.CertOptions{Hosts: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{times: map[string]int{}, taken: map[string]bool{}, roots: filepath.Join(t.TempDir(), "roots.pem")}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Certificate().Raw})
	if err := os.WriteFile(r.roots, block, 0o600); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(r.receive))
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	r.url = srv.URL + "/hook"
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
