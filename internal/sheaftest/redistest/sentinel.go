package redistest

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/daemon"
)

// MasterName is the master's name on a Sentinel.
const MasterName = "sheaf"

// Replica returns another server that replicates this one, with the same password.
func (s *Server) Replica(t testing.TB) *Server {
	t.Helper()
	host, port, _ := strings.Cut(s.Address(), ":")
	r := start(t, s.password, "--replicaof", host+" "+port)
	sheaftest.Eventually(t, "the replica follows", func() bool {
		return strings.Contains(fmt.Sprintf("%s", r.Do("INFO", "replication")), "master_link_status:up")
	})
	return r
}

// IsMaster reports whether the server accepts writes.
func (s *Server) IsMaster() bool {
	role, err := redis.Values(do(s.Dir, s.password, "ROLE"))
	return err == nil && len(role) > 0 && fmt.Sprintf("%s", role[0]) == "master"
}

// A Sentinel watches a master alone, and promotes a replica if the master fails.
type Sentinel struct {
	*daemon.Server
	t      testing.TB
	master *Server
}

// settings is the file of a Sentinel, which also writes to it. A master on a busy machine may be
// silent for seconds before the Sentinel considers it down, and a replica has half a minute to
// become the master.
const settings = `port %s
bind 127.0.0.1
unixsocket %s
sentinel monitor %s 127.0.0.1 %s 1
sentinel auth-pass %[3]s %[5]s
sentinel down-after-milliseconds %[3]s 5000
sentinel failover-timeout %[3]s 30000
`

// Sentinel returns a Sentinel that watches the server and knows its replicas.
func (s *Server) Sentinel(t testing.TB, replicas int) *Sentinel {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		sheaftest.Unable(t, ErrNotInstalled.Error())
	}
	_, masterPort, _ := strings.Cut(s.Address(), ":")
	w := &Sentinel{t: t, master: s, Server: daemon.Start(t, daemon.Config{
		Name: "redis-sentinel",
		Command: func(dir, port string) *exec.Cmd {
			file := filepath.Join(dir, "sentinel.conf")
			content := fmt.Sprintf(settings, port, socket(dir), MasterName, masterPort, s.password)
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Error(err)
			}
			return exec.Command(program, file, "--sentinel")
		},
		Ready: func(dir, _ string) error {
			_, err := do(dir, "", "PING")
			return err
		},
	})}
	sheaftest.Eventually(t, "the Sentinel knows the replicas", func() bool {
		known, err := redis.Values(do(w.Dir, "", "SENTINEL", "replicas", MasterName))
		return err == nil && len(known) == replicas
	})
	return w
}

// URL returns the address for --redis-url.
func (w *Sentinel) URL() string {
	return (&url.URL{Scheme: "redis-sentinel", User: url.UserPassword("", w.master.password), Host: w.Address(),
		Path: "/0", RawQuery: "master=" + MasterName}).String()
}

// Failover makes a replica the master while the old master is running, as soon as the Sentinel
// knows enough about it.
func (w *Sentinel) Failover() {
	w.t.Helper()
	sheaftest.Eventually(w.t, "the Sentinel takes a replica for good enough", func() bool {
		_, err := do(w.Dir, "", "SENTINEL", "FAILOVER", MasterName)
		return err == nil
	})
}
