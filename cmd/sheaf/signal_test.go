package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// process is the program in a separate process.
type process struct {
	*exec.Cmd
	url    string
	stderr tail
	ended  chan struct{}
	err    error // of its end
}

func launch(t *testing.T, data string) *process {
	t.Helper()
	p := &process{ended: make(chan struct{})}
	p.Cmd = exec.Command(os.Args[0], "serve", "--addr", "127.0.0.1:0", "--data", data)
	p.Env = append(os.Environ(), asProgram+"=1")
	p.Stderr = &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.err = p.Wait()
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.ended
	})
	if p.url = p.stderr.wait(t, `(?m)^listening on (http://\S+)$`, p.ended); p.url == "" {
		t.Fatalf("the program ended: %v: %s", p.err, p.stderr.String())
	}
	return p
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// half sends a request with a part of its body.
func half(t *testing.T, url string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	// With "Expect" the server answers 100 when the handler reads the body: then the request is in
	// flight.
	fmt.Fprintf(c, "POST /setup/x HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
	seen := make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n"))
	if _, err := io.ReadFull(c, seen); err != nil || !strings.HasPrefix(string(seen), "HTTP/1.1 100") {
		t.Fatalf("%q: %v", seen, err)
	}
	return c
}

func TestServe_SIGTERMLetsRequestsEnd(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	p := launch(t, data)
	c := half(t, p.url)
	p.signal(t, syscall.SIGTERM)
	p.stderr.wait(t, `msg=(stopping)`, p.ended)
	select {
	case <-p.ended:
		t.Fatal("the program ended before the request did")
	default:
	}
	fmt.Fprint(c, "a=b")
	answer, err := io.ReadAll(c)
	if !strings.HasPrefix(string(answer), "HTTP/1.1 ") {
		t.Errorf("the request in flight got %q, %v", answer, err)
	}
	<-p.ended
	if p.err != nil {
		t.Errorf("the program ended with %v: %s", p.err, p.stderr.String())
	}
	if got := mode(t, filepath.Join(data, "sheaf.db")); got != 0o600 {
		t.Errorf("the database has mode %o", got)
	}
	launch(t, data) // the lock is free again
}

func TestServe_ASecondSignalEndsItAtOnce(t *testing.T) {
	p := launch(t, filepath.Join(t.TempDir(), "data"))
	half(t, p.url)
	p.signal(t, syscall.SIGINT)
	p.stderr.wait(t, `msg=(stopping)`, p.ended)
	p.signal(t, syscall.SIGINT)
	<-p.ended
	if state, ok := p.ProcessState.Sys().(syscall.WaitStatus); !ok || !state.Signaled() {
		t.Errorf("the program ended with %v", p.err)
	}
}

func TestServe_AKilledServerLeavesNoLock(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	p := launch(t, data)
	p.signal(t, syscall.SIGKILL)
	<-p.ended
	launch(t, data)
}
