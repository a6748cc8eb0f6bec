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
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
)

// program is the built program with its data folder.
type program struct {
	binary, data, key string
}

// newProgram builds the program and makes a workspace with a key.
func newProgram(t *testing.T) *program {
	t.Helper()
	folder := t.TempDir()
	p := &program{binary: filepath.Join(folder, "sheaf"), data: filepath.Join(folder, "data")}
	build := exec.Command("go", "build", "-o", p.binary, "sheaf.dev/cmd/sheaf")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	workspace := p.ask(t, "workspace", "create", "--name", "Acme", "--plan", "business")
	key := p.ask(t, "key", "create", "--workspace", workspace["id"].(string), "--name", "load", "--scopes", "all")
	p.key = key["key"].(string)
	return p
}

// ask runs a command and returns what it printed.
func (p *program) ask(t *testing.T, args ...string) (out map[string]any) {
	t.Helper()
	b, err := exec.Command(p.binary, append(args, "--data", p.data, "--json")...).Output()
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, b)
	}
	return out
}

// server is a running program.
type server struct {
	process *exec.Cmd
	address string
	key     string
}

// start runs the server on the same folder and returns when it listens.
func (p *program) start(t *testing.T, r *receiver) *server {
	t.Helper()
	cmd := exec.Command(p.binary, "serve", "--data", p.data, "--addr", "127.0.0.1:0", "--first-run", "none",
		"--rate-limit", "pro=0,business=0", "--webhook-allow-cidr", "127.0.0.0/8", "--webhook-ca-file", r.roots,
		"--webhook-retry-delays", "50ms,100ms,200ms", "--log-level", "error")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &server{process: cmd, key: p.key}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if _, address, ok := strings.Cut(lines.Text(), "listening on "); ok {
			s.address = address
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return s
		}
		t.Logf("server: %s", lines.Text())
	}
	t.Fatalf("the server did not start: %v", cmd.Wait())
	return nil
}

// kill ends the server as a crash does, and returns when it is gone.
func (s *server) kill(t *testing.T) {
	t.Helper()
	if err := s.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.process.Wait()
}

// terminate ends it as an operator does; that must go well.
func (s *server) terminate(t *testing.T) {
	t.Helper()
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.process.Wait(); err != nil {
		t.Errorf("the server's end: %v", err)
	}
}

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
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	return res.StatusCode, json.NewDecoder(res.Body).Decode(answer)
}

func (s *server) subscribe(t *testing.T, url string) {
	t.Helper()
	var answer map[string]any
	status, err := s.call(http.MethodPost, "/api/webhooks/subscriptions", map[string]any{"name": "all", "url": url,
		"events": []string{"project.created"}}, &answer)
	if err != nil || status != http.StatusCreated {
		t.Fatalf("subscribe: %d, %v, %v", status, err, answer)
	}
}

// ids returns the ids of a whole list.
func (s *server) ids(t *testing.T, path string) (ids []string) {
	t.Helper()
	for {
		var page struct {
			Data []struct{ ID string }
		}
		status, err := s.call(http.MethodGet, fmt.Sprintf("%s?limit=100&offset=%d", path, len(ids)), nil, &page)
		if err != nil || status != http.StatusOK {
			t.Fatalf("list %s: %d, %v", path, status, err)
		}
		for _, item := range page.Data {
			ids = append(ids, item.ID)
		}
		if len(page.Data) < 100 {
			return ids
		}
	}
}

// settle waits until all that is in the log has arrived, or nothing more does.
func (s *server) settle(t *testing.T, r *receiver) findings {
	t.Helper()
	f := findings{log: s.ids(t, "/api/v1/events"), projects: s.ids(t, "/api/v1/projects")}
	for deadline := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		f.arrived = r.arrived()
		missing := 0
		for _, id := range f.log {
			if f.arrived[id] == 0 {
				missing++
			}
		}
		if missing == 0 || time.Now().After(deadline) {
			return f
		}
	}
}

// receiver journals what arrives. It answers every fifth event badly at first,
// so that the kills meet retries too.
type receiver struct {
	url   string
	roots string // file of the certificate to trust

	mu    sync.Mutex // guards times
	times map[string]int
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
	r := &receiver{times: map[string]int{}, roots: filepath.Join(t.TempDir(), "roots.pem")}
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
	var event struct{ ID string }
	if err := json.NewDecoder(q.Body).Decode(&event); err != nil || event.ID != id {
		id = "with a body of another: " + id
	}
	r.mu.Lock()
	r.times[id]++
	first, all := r.times[id] == 1, len(r.times)
	r.mu.Unlock()
	time.Sleep(2 * time.Millisecond)
	if first && all%5 == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

func (r *receiver) arrived() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]int{}
	for id, n := range r.times {
		out[id] = n
	}
	return out
}
