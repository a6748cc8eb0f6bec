package overload

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// greedy is the control of the overload: it takes whatever comes, does one thing after the other, and keeps every body
// until it is done with it.
func greedy() {
	var one sync.Mutex
	serveControl(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer keep(r)()
		one.Lock()
		defer one.Unlock()
		time.Sleep(10 * time.Millisecond) // the work of a request
		w.WriteHeader(http.StatusOK)
	}))
}

// keep holds the whole body until the returned function is called. The memory is not Go's, because the
// race detector would take several times as much.
func keep(r *http.Request) (free func()) {
	if r.ContentLength <= 0 {
		return func() {}
	}
	b, err := syscall.Mmap(-1, 0, int(r.ContentLength), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	_, _ = io.ReadFull(r.Body, b)
	return func() { _ = syscall.Munmap(b) }
}

// serveControl serves on a free port and says where, as the program does.
func serveControl(h http.Handler) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(os.Stderr, "listening on http://%s\n", l.Addr())
	panic(http.Serve(l, h))
}

// startControl runs one of the controls in a process of its own.
func startControl(t *testing.T, name string) (url string, pid int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asProgram+"="+name)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "listening on ")), cmd.Process.Pid
}

func startGreedy(t *testing.T) target {
	t.Helper()
	url, pid := startControl(t, "greedy")
	return target{url: url, pid: pid, key: "x", other: "y", client: newClient(t),
		span: 300 * time.Millisecond, spans: 1, bodies: 64}
}
