// Package proctest runs the program as users build it, in its own process, and observes it from
// outside: its answers, its memory, its metrics, its end.
package proctest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// built is the program in one form. It is built once for a test process, or once for all processes
// that have the same EnvPrograms.
type built struct {
	name  string
	flags []string                               // of go build
	edits func(root string) (plant.Fault, error) // what differs from the tree; nil: nothing
	once  sync.Once
	path  string
	err   error
}

// EnvBinary is the path of a built program, and EnvPrograms a folder for its other forms: the first
// process that needs one builds it there. scripts/test and scripts/proof set them for all packages.
const (
	EnvBinary   = "SHEAF_TEST_BINARY"
	EnvPrograms = "SHEAF_TEST_PROGRAMS"
)

var (
	plain      = built{name: "sheaf"}
	failpoints = built{name: "failpoints", flags: []string{"-tags", "failpoint"}}
	planted    = built{name: "planted", flags: failpoints.flags, edits: func(string) (plant.Fault, error) { return plant.Planted(), nil }}
	next       = built{name: "next", edits: plant.NextSchema}

	building sync.Mutex // held while a program is built; guards own
	own      string     // the folder of the programs of this process alone, if it has built any
)

// Exit deletes the programs that this process alone built, and ends it. A package's TestMain calls it:
//
//	goleak.VerifyTestMain(m, goleak.Cleanup(proctest.Exit))
func Exit(code int) {
	if own != "" {
		_ = os.RemoveAll(own)
	}
	os.Exit(code)
}

// Binary returns the path of the program as users build it. The package's TestMain must call Exit.
func Binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(EnvBinary); path != "" {
		return path
	}
	return plain.binary(t)
}

// Failpoints is Binary with failpoints, at which it can be killed.
func Failpoints(t testing.TB) string {
	t.Helper()
	return failpoints.binary(t)
}

// Planted is Failpoints with a fault. All faults are in one program, which has the one that it is
// called by: see plant.Planted.
func Planted(t testing.TB, c plant.Control) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), string(c))
	if err := os.Symlink(planted.binary(t), link); err != nil {
		t.Fatal(err)
	}
	return link
}

// Next is Binary with one more migration, as after an upgrade. The previous program may run at the
// same time.
func Next(t testing.TB) string {
	t.Helper()
	return next.binary(t)
}

// binary returns the path of the program.
func (b *built) binary(t testing.TB) string {
	t.Helper()
	b.once.Do(func() { b.path, b.err = b.build() })
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.path
}

// build builds the program, unless another process has. One process builds at a time: the others
// would compile the same packages. This process never writes the program itself: a child process that
// is forked meanwhile would keep it open for writing, and then it could not be executed.
func (b *built) build() (string, error) {
	building.Lock()
	defer building.Unlock()
	folder := os.Getenv(EnvPrograms)
	if folder == "" && own == "" {
		var err error
		if own, err = os.MkdirTemp("", "sheaf-program-"); err != nil {
			return "", err
		}
	}
	folder = cmp.Or(folder, own)
	lock, err := os.Create(filepath.Join(folder, "lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	path := filepath.Join(folder, b.name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	// Without symbols: they take half of the time of linking.
	args := append([]string{"build", "-ldflags=-s -w", "-o", path}, b.flags...)
	if b.edits != nil {
		overlay, err := b.overlay(folder)
		if err != nil {
			return "", err
		}
		args = append(args, overlay)
	}
	cmd := exec.Command("go", append(args, "sheaf.dev/cmd/sheaf")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
}

// overlay writes the changed files into the folder and returns the build flag.
func (b *built) overlay(folder string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	edits, err := b.edits(root)
	if err != nil {
		return "", err
	}
	folder = filepath.Join(folder, b.name+".src")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	return edits.Overlay(root, folder)
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
	Env          []string // of every process, in addition to the test's
	Prefix       []string // a command that runs the program, such as one that limits it
	// Log, if it is set, gets the standard error of servers. It is complete when they have ended.
	Log io.Writer
}

// New returns the program with a data folder that does not exist yet.
func New(t testing.TB) *Program {
	t.Helper()
	return &Program{Binary: Binary(t), Data: filepath.Join(t.TempDir(), "data")}
}

// Flags returns the flags that name the store.
func (p *Program) Flags() []string {
	if p.Database == "" {
		return []string{"--data", p.Data}
	}
	return []string{"--data", p.Data, "--database-url", p.Database}
}

// Command returns a command of the program, on its store.
func (p *Program) Command(args ...string) *exec.Cmd {
	line := slices.Concat(p.Prefix, []string{p.Binary}, args, p.Flags())
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), p.Env...)
	return cmd
}

// Ask runs a command and returns its JSON output.
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

// Server is a running server.
type Server struct {
	*exec.Cmd
	URL     string        // of the API, without a slash at the end
	Metrics string        // URL of the metrics; empty without --metrics-addr
	Ended   chan struct{} // closed when the process has ended

	err error // of its end
}

// Start starts a server on a free port of loopback, without first run and rate limit, and blocks
// until it listens. The process ends with the test.
func (p *Program) Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := p.Launch(t, args...)
	if s.URL == "" {
		<-s.Ended
		t.Fatalf("the program did not start: %v", s.err)
	}
	return s
}

// Launch is Start for a program that may end before it listens. Then the server has no URL.
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

// listens reads lines up to the one with the address, and returns the address; empty if there is
// none.
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

// wait copies the program's output until it has ended.
func (s *Server) wait(lines io.Reader, log io.Writer) {
	if log == nil {
		log = io.Discard
	}
	_, _ = io.Copy(log, lines)
	s.err = s.Wait()
	close(s.Ended)
}

// Kill kills the process, as in a crash, and blocks until it has ended.
func (s *Server) Kill() {
	_ = s.Process.Kill()
	<-s.Ended
}

// Terminate sends SIGTERM, as an operator would, blocks until the process has ended, and returns
// the error of its end.
func (s *Server) Terminate() error {
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-s.Ended
	return s.err
}

// Call makes one request to the API with a key, and decodes the JSON of the answer. `answer` may be
// nil.
func (s *Server) Call(key, method, path string, body, answer any) (status int, err error) {
	return Call(http.DefaultClient, s.URL, key, method, path, body, answer)
}

// Call is Server.Call with the client of the caller.
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

// patience is how long a test waits for something that must happen, on a busy machine.
const patience = 5 * time.Minute

var errNoFigure = errors.New("no such figure")
