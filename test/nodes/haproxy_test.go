package nodes

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
)

// The haproxy.cfg of docs/scaling.md is accepted, gives every node its part, takes a node out without failing a read,
// and lets the clients' address through.
func TestHAProxy_AsDocumented(t *testing.T) {
	t.Parallel()
	program := findHAProxy(t)
	s := newSite(t, pgtest.URL(t), "--trusted-proxy", "127.0.0.0/8")
	nodes := []*node{s.start(), s.start(), s.start()}
	front := &node{t: t, url: startHAProxy(t, program, nodes), key: s.key, client: nodes[0].client}
	front.newProject("through the balancer")

	seen := map[string]int{}
	for range 60 {
		id, _, _ := strings.Cut(front.must(200, "GET", "/api/v1/projects", nil).header.Get("X-Request-Id"), "-")
		seen[id]++
	}
	if len(seen) != len(nodes) {
		t.Errorf("%d of %d nodes got requests: %v", len(seen), len(nodes), seen)
	}

	ctx, cancel := context.WithCancel(context.Background())
	var reads, failed atomic.Int64
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for ctx.Err() == nil {
				if a, err := front.do("GET", "/api/v1/projects", nil); err != nil || a.status != 200 {
					t.Logf("while a node stopped: %d %s, %v", a.status, a.body, err)
					failed.Add(1)
				}
				reads.Add(1)
			}
		})
	}
	within(t, patience, "reads go through", func() bool { return reads.Load() > 20 })
	nodes[1].terminate()
	had := reads.Load()
	within(t, patience, "reads go on", func() bool { return reads.Load() > had+100 })
	cancel()
	group.Wait()
	if failed.Load() > 0 {
		t.Errorf("%d of %d reads failed while a node stopped", failed.Load(), reads.Load())
	}
	figure(t, "haproxy over 3 nodes: requests each %v; a node stopped under %d reads: %d failed", counts(seen), reads.Load(), failed.Load())
}

func counts(seen map[string]int) (out []int) {
	for _, n := range seen {
		out = append(out, n)
	}
	return out
}

// findHAProxy skips the test without it, except under ./scripts/test.
func findHAProxy(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"haproxy", "/usr/sbin/haproxy"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	sheaftest.Unable(t, "haproxy is not installed: ./scripts/test installs it")
	return ""
}

// startHAProxy runs it with the documented configuration, on the nodes' addresses, and returns its own.
func startHAProxy(t *testing.T, program string, nodes []*node) (url string) {
	t.Helper()
	port, err := sheaftest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address := "127.0.0.1:" + port
	config := strings.Replace(documented(t, "haproxy"), "bind :8080", "bind "+address, 1)
	for i, n := range nodes {
		config = strings.Replace(config, fmt.Sprintf("10.0.0.1%d:8080", i+1), strings.TrimPrefix(n.url, "http://"), 1)
	}
	if !long { // A busy machine may be silent for two seconds, which only the long form has time for.
		config = strings.NewReplacer("timeout connect 2s", "timeout connect 5m", "timeout check 2s", "timeout check 5m",
			"timeout server 60s", "timeout server 5m", "timeout client 60s", "timeout client 5m").Replace(config)
	}
	if strings.Contains(config, "10.0.0.") {
		t.Fatalf("addresses are left in the configuration:\n%s", config)
	}
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "-c", "-f", file).CombinedOutput(); err != nil || strings.Contains(string(out), "WARNING") {
		t.Fatalf("haproxy does not like the configuration: %v\n%s", err, out)
	}
	var said output
	cmd := exec.Command(program, "-db", "-f", file)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("haproxy said: %s", said.tail(2000))
		}
	})
	within(t, patience, "haproxy listens", func() bool {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return "http://" + address
}

// documented returns the block of docs/scaling.md in that language.
func documented(t *testing.T, language string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "scaling.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(b), "```"+language+"\n")
	block, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatalf("docs/scaling.md has no block of %s", language)
	}
	return block
}
