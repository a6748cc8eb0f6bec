package disk

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
)

// program is the built program with a data folder.
type program struct {
	binary, data, key string
	roots             string   // file of the certificate to trust
	env               []string // of every process
	prefix            []string // a command that runs the program, such as one that limits it
}

func newProgram(t *testing.T, data string, env ...string) *program {
	t.Helper()
	return &program{binary: proctest.Failpoints(t), data: data, env: env}
}

// prepare makes a workspace and a key.
func (p *program) prepare(t *testing.T) {
	t.Helper()
	workspace := p.ask(t, "workspace", "create", "--name", "Acme", "--plan", "business")
	key := p.ask(t, "key", "create", "--workspace", workspace["id"].(string), "--name", "load", "--scopes", "all")
	p.key = key["key"].(string)
}

func (p *program) command(args ...string) *exec.Cmd {
	line := append(append(append([]string{}, p.prefix...), p.binary), args...)
	cmd := exec.Command(line[0], append(line[1:], "--data", p.data)...)
	cmd.Env = append(os.Environ(), p.env...)
	return cmd
}

// ask runs a command and returns what it printed.
func (p *program) ask(t *testing.T, args ...string) (out map[string]any) {
	t.Helper()
	b, err := p.command(append(args, "--json")...).Output()
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
	ended   chan struct{} // closed when the process is gone
	err     error         // of its end
	said    bytes.Buffer  // on standard error, until it ended
}

// start runs the server and returns when it listens.
func (p *program) start(t *testing.T) *server {
	t.Helper()
	args := []string{"serve", "--addr", "127.0.0.1:0", "--first-run", "none", "--rate-limit", "pro=0,business=0",
		"--webhook-allow-cidr", "127.0.0.0/8", "--webhook-retry-delays", "50ms,100ms,200ms", "--log-level", "error"}
	if p.roots != "" {
		args = append(args, "--webhook-ca-file", p.roots)
	}
	cmd := p.command(args...)
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
	go s.wait(lines)
	t.Cleanup(s.kill)
	if s.address == "" {
		<-s.ended
		t.Fatalf("the server did not start: %v", s.err)
	}
	return s
}

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
	_, _ = io.Copy(&s.said, lines)
	s.err = s.process.Wait()
	close(s.ended)
}

func (s *server) kill() {
	_ = s.process.Process.Kill()
	<-s.ended
}

// terminate ends the server as an operator does.
func (s *server) terminate(t *testing.T) {
	t.Helper()
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	if s.err != nil {
		t.Errorf("the server's end: %v: %s", s.err, s.said.Bytes())
	}
}

// client keeps no connection: the next server is another.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}

// call makes one request and returns the answer.
func (s *server) call(t *testing.T, method, path string, body any) (status int, answer []byte) {
	t.Helper()
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			t.Fatal(err)
		}
	}
	req, err := http.NewRequest(method, s.address+path, &content)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if answer, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, answer
}

// do makes a request that must succeed and returns the id in its answer.
func (s *server) do(t *testing.T, method, path string, body any) (id string) {
	t.Helper()
	status, answer := s.call(t, method, path, body)
	if status/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	return idOf(answer)
}

func idOf(answer []byte) string {
	var v struct {
		ID           string
		Subscription struct{ ID string }
	}
	_ = json.Unmarshal(answer, &v) // none in the answer to a deletion
	return v.ID + v.Subscription.ID
}

// newReceiver starts an endpoint that takes everything, and returns its URL and the file of its certificate.
func newReceiver(t *testing.T) (url, roots string) {
	t.Helper()
	ca, err := sheaftest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Issue(sheaftest.CertOptions{Hosts: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	roots = filepath.Join(t.TempDir(), "roots.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Certificate().Raw})
	if err := os.WriteFile(roots, block, 0o600); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv.URL + "/hook", roots
}
