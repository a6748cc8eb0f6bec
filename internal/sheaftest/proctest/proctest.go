// Package proctest runs the program as it is built for users, in a process of its own, and looks at
// it from outside: its answers, its memory, its metrics, its end.
package proctest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
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
	"sheaf.dev/internal/sheaftest/plant"
)

// built is the program, as it is built once for a test process; Exit removes it.
type built struct {
	env    string   // names one that was built before
	flags  []string // of go build
	fault  plant.Fault
	once   sync.Once
	folder string
	err    error
}

// EnvBinary and EnvFailpoints name programs that were built before: scripts/test builds them once
// for all packages.
const (
	EnvBinary     = "SHEAF_TEST_BINARY"
	EnvFailpoints = "SHEAF_TEST_FAILPOINTS"
)

var (
	plain      = built{env: EnvBinary}
	failpoints = built{env: EnvFailpoints, flags: []string{"-tags", "failpoint"}}

	plantedMu sync.Mutex // guards planted
	planted   = map[string]*built{}
)

// Exit removes what was built and ends the process. It is how a package's tests end:
//
//	goleak.VerifyTestMain(m, goleak.Cleanup(proctest.Exit))
func Exit(code int) {
	for _, b := range append(slices.Collect(maps.Values(planted)), &plain, &failpoints) {
		if b.folder != "" {
			_ = os.RemoveAll(b.folder)
		}
	}
	os.Exit(code)
}

// Binary returns the path of the program as users build it. The package's TestMain must end by
// Exit.
func Binary(t testing.TB) string {
	t.Helper()
	return plain.path(t)
}

// Failpoints is Binary with the points at which it can be killed.
func Failpoints(t testing.TB) string {
	t.Helper()
	return failpoints.path(t)
}

// Planted is Failpoints with a fault in it. Every fault is a program of its own, which is built
// once for a test process.
func Planted(t testing.TB, f plant.Fault) string {
	t.Helper()
	plantedMu.Lock()
	defer plantedMu.Unlock()
	name := fmt.Sprint(f)
	if planted[name] == nil {
		planted[name] = &built{flags: failpoints.flags, fault: f}
	}
	return planted[name].path(t)
}

// Next is Binary with one migration more, beside which the previous program may continue: what an
// upgrade brings.
func Next(t testing.TB) string {
	t.Helper()
	plantedMu.Lock()
	defer plantedMu.Unlock()
	if planted[nextName] == nil {
		root, err := moduleRoot()
		if err != nil {
			t.Fatal(err)
		}
		edits, err := plant.NextSchema(root)
		if err != nil {
			t.Fatal(err)
		}
		planted[nextName] = &built{fault: edits}
	}
	return planted[nextName].path(t)
}

// nextName is that of Next among what was built; no fault is worded so.
const nextName = "next"

// path is never of a file that this process wrote: a child that is forked meanwhile would keep it
// open for writing, and then nobody can execute it.
func (b *built) path(t testing.TB) string {
	t.Helper()
	if before := os.Getenv(b.env); b.env != "" && before != "" {
		return before
	}
	b.once.Do(b.build)
	if b.err != nil {
		t.Fatal(b.err)
	}
	return filepath.Join(b.folder, "sheaf")
}

// build compiles the program; path calls it once.
func (b *built) build() {
	if b.folder, b.err = os.MkdirTemp("", "sheaf-program-"); b.err != nil {
		return
	}
	args := append([]string{"build", "-o", filepath.Join(b.folder, "sheaf")}, b.flags...)
	if b.fault != nil {
		overlay, err := b.overlay()
		if err != nil {
			b.err = err
			return
		}
		args = append(args, overlay)
	}
	cmd := exec.Command("go", append(args, "sheaf.dev/cmd/sheaf")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.err = fmt.Errorf("build: %w\n%s", err, out)
	}
}

// overlay writes the fault and returns the flag that builds it in.
func (b *built) overlay() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	return b.fault.Overlay(root, b.folder)
}

// moduleRoot returns the folder of go.mod.
func moduleRoot() (string, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sheaf.dev").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return strings.TrimSpace(string(root)), nil
}

// Program is the built program with a data folder.
type Program struct {
	Binary, Data string
	Database     string   // URL of PostgreSQL; empty: SQLite in the data folder
	Env          []string // of every process, beside the test's own
	Prefix       []string // a command that runs the program, such as one that limits it
	// Log takes what servers write on standard error, where it is set. It is complete when they
	// have ended.
	Log io.Writer
}

// New returns the program with a data folder that does not exist yet.
func New(t testing.TB) *Program {
	t.Helper()
	return &Program{Binary: Binary(t), Data: filepath.Join(t.TempDir(), "data")}
}

// Flags name the store.
func (p *Program) Flags() []string {
	if p.Database == "" {
		return []string{"--data", p.Data}
	}
	return []string{"--data", p.Data, "--database-url", p.Database}
}

// Command is a command line of the program, on its store.
func (p *Program) Command(args ...string) *exec.Cmd {
	line := slices.Concat(p.Prefix, []string{p.Binary}, args, p.Flags())
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), p.Env...)
	return cmd
}

// Ask runs a command and returns what it printed.
func (p *Program) Ask(t testing.TB, args ...string) (out map[string]any) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := p.Command(append(args, "--json")...)
	cmd.Stderr = &stderr
	b, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatalf("%v: %v: %s%s", args, err, b, stderr.Bytes())
	}
	return out
}

// Workspace makes a workspace on the business plan and returns a key of it with every scope.
func (p *Program) Workspace(t testing.TB, name string) (key string) {
	t.Helper()
	workspace := p.Ask(t, "workspace", "create", "--name", name, "--plan", "business")
	made := p.Ask(t, "key", "create", "--workspace", workspace["id"].(string), "--name", name, "--scopes", "all")
	return made["key"].(string)
}

// Server is the program while it serves.
type Server struct {
	*exec.Cmd
	URL     string        // of the API, without a slash at the end
	Metrics string        // URL of the metrics; empty without --metrics-addr
	Ended   chan struct{} // closed when the process is gone

	err error // of its end
}

// Start serves the store on a free port of loopback, with no first run and no rate limit, and
// returns when it listens. The process ends with the test.
func (p *Program) Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := p.Launch(t, args...)
	if s.URL == "" {
		<-s.Ended
		t.Fatalf("the program did not start: %v", s.err)
	}
	return s
}

// Launch is Start for a program that may end before it listens: then the server has no URL.
func (p *Program) Launch(t testing.TB, args ...string) *Server {
	t.Helper()
	base := []string{"serve", "--addr", "127.0.0.1:0", "--first-run", "none", "--rate-limit", "pro=0,business=0", "--log-level", "error"}
	cmd := p.Command(append(base, args...)...)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Cmd: cmd, Ended: make(chan struct{})}
	lines := bufio.NewReader(stderr)
	s.URL = listens(t, lines)
	go s.wait(lines, p.Log)
	t.Cleanup(s.Kill)
	return s
}

// StartWithMetrics is Start with the metrics on another free port.
func (p *Program) StartWithMetrics(t testing.TB, args ...string) *Server {
	t.Helper()
	port, err := sheaftest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	s := p.Start(t, append(args, "--metrics-addr", "127.0.0.1:"+port)...)
	s.Metrics = "http://127.0.0.1:" + port + "/metrics"
	return s
}

// listens reads up to the line that says where, and returns nothing when there is none.
func listens(t testing.TB, lines *bufio.Reader) string {
	for {
		line, err := lines.ReadString('\n')
		if _, url, ok := strings.Cut(line, "listening on "); ok {
			return strings.TrimSpace(url)
		}
		if err != nil {
			return ""
		}
		t.Logf("program: %s", line)
	}
}

// wait takes what the program writes until it has ended.
func (s *Server) wait(lines io.Reader, log io.Writer) {
	if log == nil {
		log = io.Discard
	}
	_, _ = io.Copy(log, lines)
	s.err = s.Wait()
	close(s.Ended)
}

// Kill ends it as a crash does, and returns when it is gone.
func (s *Server) Kill() {
	_ = s.Process.Kill()
	<-s.Ended
}

// Terminate asks it to stop, as an operator does, and returns when it is gone, with the error of
// its end.
func (s *Server) Terminate() error {
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-s.Ended
	return s.err
}

// Call makes one request of the API with a key and reads the JSON of the answer; answer may be nil.
func (s *Server) Call(key, method, path string, body, answer any) (status int, err error) {
	return Call(http.DefaultClient, s.URL, key, method, path, body, answer)
}

// Call is Server.Call with a client of the caller's.
func Call(client *http.Client, url, key, method, path string, body, answer any) (status int, err error) {
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return 0, err
		}
	}
	return Send(client, url, key, method, path, "application/json", &content, answer)
}

// Send is Call with a body of any type.
func Send(client *http.Client, url, key, method, path, media string, body io.Reader, answer any) (status int, err error) {
	req, err := http.NewRequest(method, url+path, body)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", media)
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && answer != nil && len(b) > 0 {
		err = json.Unmarshal(b, answer)
	}
	return res.StatusCode, err
}

// patience is how long a test waits for what must come, on a busy machine.
const patience = 5 * time.Minute

var errNoFigure = errors.New("no such figure")
