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
	"testing"
	"time"
)

// greedy is the control of the overload: it takes whatever comes, does one thing after the other, and keeps every body
// until it is done with it.
func greedy() {
	var one sync.Mutex
	serveControl(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		one.Lock()
		defer one.Unlock()
		time.Sleep(10 * time.Millisecond)
		w.WriteHeader(http.StatusOK)
		fmt.Fprint(w, len(body))
	}))
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
		span: 300 * time.Millisecond, bodies: 40}
}
