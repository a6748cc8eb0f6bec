package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"go.uber.org/goleak"

	"sheaf.dev/internal/cli"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/store"
)

// asProgram makes the test binary behave as the program, for tests that need a separate process.
const asProgram = "SHEAF_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	const forEver = 5 * time.Minute
	suggestWithin, healthTimeout, stopWithin, requestsWithin = forEver, forEver, forEver, forEver
	backupAgain = 100 * time.Millisecond
	if os.Getenv(asProgram) == "1" {
		main()
	}
	goleak.VerifyTestMain(sheaftest.Patient(m))
}

// result is the output and the exit code of a command.
type result struct {
	code           int
	stdout, stderr string
}

type environment map[string]string

func (e environment) lookup(name string) (string, bool) {
	v, ok := e[name]
	return v, ok
}

func (e environment) names() []string { return slices.Sorted(maps.Keys(e)) }

func newProgram(e environment, stdin string, stdout, stderr io.Writer) *program {
	return &program{Program: cli.Program{Stdin: strings.NewReader(stdin), Stdout: stdout, Stderr: stderr, Env: e.lookup, Names: e.names, Now: time.Now, Random: rand.Reader, Version: version}}
}

// sheafWith runs a command with an environment and a standard input. A server that should not start
// is stopped after a while.
func sheafWith(t *testing.T, e environment, stdin string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	code := newProgram(e, stdin, &out, &errs).run(ctx, args)
	return result{code, out.String(), errs.String()}
}

func sheafCommand(t *testing.T, args ...string) result {
	t.Helper()
	return sheafWith(t, nil, "", args...)
}

// succeeds checks for exit 0 and returns the output.
func (r result) succeeds(t *testing.T) string {
	t.Helper()
	if r.code != 0 || r.stderr != "" {
		t.Fatalf("ended with %d: %s", r.code, r.stderr)
	}
	return r.stdout
}

// fails checks for exit 1, an empty standard output, and one line of error with the words.
func (r result) fails(t *testing.T, words ...string) {
	t.Helper()
	if r.code != 1 || r.stdout != "" {
		t.Errorf("ended with %d and wrote %q, want 1 and nothing", r.code, r.stdout)
	}
	if strings.Count(r.stderr, "\n") != 1 || !strings.HasPrefix(r.stderr, "sheaf: ") {
		t.Errorf("want one line that begins with \"sheaf: \", got %q", r.stderr)
	}
	for _, w := range words {
		if !strings.Contains(r.stderr, w) {
			t.Errorf("the line lacks %q: %s", w, r.stderr)
		}
	}
}

// decoded returns the only JSON value of the output.
func decoded[T any](t *testing.T, text string) (v T) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("more than one JSON value: %q", text)
	}
	return v
}

// tail collects what is written, and can be read at any time.
type tail struct {
	mu   sync.Mutex // guards text and more
	text bytes.Buffer
	more chan struct{} // closed at the next write
}

func (l *tail) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
	return l.text.Write(b)
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// wait blocks until text that matches the pattern was written, and returns the first group. If
// `ended` is closed first, it returns "".
func (l *tail) wait(t *testing.T, pattern string, ended <-chan struct{}) string {
	t.Helper()
	p := regexp.MustCompile(pattern)
	deadline := time.After(5 * time.Minute)
	for {
		l.mu.Lock()
		found := p.FindStringSubmatch(l.text.String())
		if l.more == nil {
			l.more = make(chan struct{})
		}
		more := l.more
		l.mu.Unlock()
		if found != nil {
			return found[1]
		}
		select {
		case <-more:
		case <-ended:
			return ""
		case <-deadline:
			t.Fatalf("%s was not written: %s", pattern, l)
		}
	}
}

// running is a server in this process.
type running struct {
	url            string
	stdout, stderr tail
	code           int
	ended          chan struct{}
	cancel         context.CancelFunc
}

// start serves until the test ends, or stop is called.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	return startWith(t, nil, args...)
}

// startWith is start with an environment.
func startWith(t *testing.T, e environment, args ...string) *running {
	t.Helper()
	s := &running{ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	p := newProgram(e, "", &s.stdout, &s.stderr)
	go func() {
		defer close(s.ended)
		s.code = p.run(ctx, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...))
	}()
	t.Cleanup(func() { s.stop(t) })
	if s.url = s.stderr.wait(t, `(?m)^listening on (http://\S+)$`, s.ended); s.url == "" {
		t.Fatalf("the server ended with %d: %s", s.code, s.stderr.String())
	}
	return s
}

func (s *running) stop(t *testing.T) {
	t.Helper()
	s.cancel()
	<-s.ended
	if s.code != 0 {
		t.Errorf("the server ended with %d: %s", s.code, s.stderr.String())
	}
}

// status makes a request with a key and returns the status.
func status(t *testing.T, url, key string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

// becomes makes requests until the status is the wanted one. On a machine that is not busy this takes at
// most 2 seconds; the store's tests check that.
func becomes(t *testing.T, url, key string, want int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; {
		got := status(t, url, key)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s answers %d for ever, want %d", url, got, want)
		}
	}
}

// alter changes the database of a folder directly, without the program.
func alter(t *testing.T, folder, sql string) {
	t.Helper()
	c, err := sqlite.OpenConn(filepath.Join(folder, store.FileName), sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := sqlitex.ExecuteTransient(c, sql, nil); err != nil {
		t.Fatal(err)
	}
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}
