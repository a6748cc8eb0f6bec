package recipes

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sheaf.dev/internal/sheaftest/npmtest"
	"sheaf.dev/internal/sheaftest/proctest"
)

// D101: the unchanged tus-js-client uploads a file through three connections that break and one restart of the
// server, and the bytes are equal: 200 MB where SHEAF_LONG is 1, as `make clients` has it, else a few.
func TestTus_UnchangedClientThroughBreaksAndARestart(t *testing.T) {
	t.Parallel()
	size, chunk := int64(6<<20), 700_000
	if os.Getenv("SHEAF_LONG") == "1" {
		size, chunk = 200<<20, 10<<20
	}
	dir := npmtest.Modules(t, "tus")
	file, sum := randomFile(t, size)
	p := proctest.New(t)
	key := p.Workspace(t, "Acme")
	s := p.Start(t)
	proxy := newBreaker(t, s.URL, size)
	proxy.restart = func() string {
		if err := s.Terminate(); err != nil {
			t.Errorf("the server's end: %v", err)
		}
		s = p.Start(t)
		return s.URL
	}
	answer := struct {
		URL     string
		Retries int
	}{}
	input, err := json.Marshal(map[string]any{"modules": dir, "file": file, "endpoint": "http://" + proxy.address() + "/api/v1/uploads", "key": key, "chunkSize": chunk})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "testdata/tus.cjs")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), t.Output()
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if proxy.breaks() != 4 || answer.Retries < 4 {
		t.Errorf("%d breaks, %d retries", proxy.breaks(), answer.Retries)
	}
	id := answer.URL[strings.LastIndexByte(answer.URL, '/')+1:]
	var m struct {
		SHA256   string
		Bytes    int64
		Filename string
	}
	if status, err := s.Call(key, http.MethodGet, "/api/v1/media/"+id, nil, &m); err != nil || status != http.StatusOK {
		t.Fatalf("the medium: %d, %v", status, err)
	}
	if m.SHA256 != sum || m.Bytes != size || m.Filename != "film.bin" {
		t.Errorf("the medium is %+v, want %s", m, sum)
	}
	if got := downloaded(t, s.URL+"/api/v1/media/"+id+"/content", key); got != sum {
		t.Errorf("downloaded %s, want %s", got, sum)
	}
}

// randomFile writes a file, and returns its path and its hash.
func randomFile(t *testing.T, size int64) (path, sum string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "film.bin")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(file, hash), rand.NewChaCha8([32]byte{1}), size); err != nil {
		t.Fatal(err)
	}
	return path, hex.EncodeToString(hash.Sum(nil))
}

func downloaded(t *testing.T, url, key string) string {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, res.Body); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// breaker passes connections on to the server. When a fifth of the file has passed, two, three and four fifths, it
// breaks the connection that is at it, and with the last one it has the server restarted.
type breaker struct {
	listener net.Listener
	restart  func() (url string)
	size     int64
	serving  sync.WaitGroup

	mu     sync.Mutex // guards what follows, and lets a restart end before anybody connects
	target string
	passed int64
	broken int
	open   map[net.Conn]bool
}

func newBreaker(t *testing.T, url string, size int64) *breaker {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &breaker{listener: l, size: size, target: strings.TrimPrefix(url, "http://"), open: map[net.Conn]bool{}}
	b.serving.Go(b.accept)
	t.Cleanup(func() {
		_ = l.Close()
		b.closeAll()
		b.serving.Wait()
	})
	return b
}

func (b *breaker) address() string { return b.listener.Addr().String() }

func (b *breaker) breaks() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.broken
}

func (b *breaker) accept() {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			return
		}
		b.serving.Go(func() { b.pass(client) })
	}
}

// pass passes one connection on, both ways, until either ends.
func (b *breaker) pass(client net.Conn) {
	defer client.Close()
	b.mu.Lock()
	server, err := net.Dial("tcp", b.target)
	if err == nil {
		b.open[client], b.open[server] = true, true
	}
	b.mu.Unlock()
	if err != nil {
		return
	}
	defer server.Close()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	_, _ = io.Copy(counter{server, b, client}, client)
	_ = server.Close()
	back.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, client)
	delete(b.open, server)
}

// counter writes to the server what a client sends, up to the next break.
type counter struct {
	server net.Conn
	b      *breaker
	client net.Conn
}

// Write implements io.Writer.
func (c counter) Write(p []byte) (int, error) {
	if !c.b.breaksAt(int64(len(p))) {
		return c.server.Write(p)
	}
	_, _ = c.server.Write(p[:len(p)/2])
	_ = c.client.Close()
	_ = c.server.Close()
	c.b.renew()
	return 0, net.ErrClosed
}

// breaksAt counts what passes, and says whether the connection is to break now.
func (b *breaker) breaksAt(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.passed += n
	if b.broken == 4 || b.passed < b.size*int64(b.broken+1)/5 {
		return false
	}
	b.broken++
	return true
}

// renew restarts the server with the last break.
func (b *breaker) renew() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken == 4 && b.restart != nil {
		b.target = strings.TrimPrefix(b.restart(), "http://")
		b.restart = nil
	}
}

func (b *breaker) closeAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.open {
		_ = c.Close()
	}
}
