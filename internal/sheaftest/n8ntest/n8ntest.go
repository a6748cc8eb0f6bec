// Package n8ntest runs a real n8n with its own database and folder, for the tests of make clients.
package n8ntest

import (
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
)

// N8N is an installation for one test.
type N8N struct {
	Dir  string // its folder
	Port string
	Base string // its address, without a slash at the end
	// Env is added to the environment of its processes, and overrides what New sets.
	Env []string

	command []string
	env     []string
}

// New returns an n8n from the node_modules in `modules`. Its folder is dir, which must have key.pem
// and cert.pem, a certificate for localhost.
func New(t testing.TB, modules, dir string) *N8N {
	t.Helper()
	db, err := url.Parse(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	password, _ := db.User.Password()
	port := freePort(t)
	n := &N8N{Dir: dir, Port: port, Base: "https://localhost:" + port}
	n.command = []string{"node", filepath.Join(modules, "node_modules", "n8n", "bin", "n8n")}
	// PostgreSQL is used, because n8n's SQLite is compiled at installation. Requests to the
	// internet are off.
	n.env = append(os.Environ(), "N8N_USER_FOLDER="+dir, "N8N_ENCRYPTION_KEY=of a test",
		"DB_TYPE=postgresdb", "DB_POSTGRESDB_HOST="+db.Hostname(), "DB_POSTGRESDB_PORT="+db.Port(),
		"DB_POSTGRESDB_DATABASE="+strings.TrimPrefix(db.Path, "/"), "DB_POSTGRESDB_USER="+db.User.Username(), "DB_POSTGRESDB_PASSWORD="+password,
		"N8N_PROTOCOL=https", "N8N_HOST=localhost", "N8N_LISTEN_ADDRESS=127.0.0.1", "N8N_PORT="+port,
		"N8N_SSL_KEY="+filepath.Join(dir, "key.pem"), "N8N_SSL_CERT="+filepath.Join(dir, "cert.pem"),
		"N8N_DIAGNOSTICS_ENABLED=false", "N8N_VERSION_NOTIFICATIONS_ENABLED=false", "N8N_VERSION_NOTIFICATIONS_WHATS_NEW_ENABLED=false",
		"N8N_TEMPLATES_ENABLED=false", "N8N_PERSONALIZATION_ENABLED=false", "N8N_DYNAMIC_BANNERS_ENABLED=false",
		"N8N_LICENSE_AUTO_RENEW_ENABLED=false", "N8N_LICENSE_SERVER_URL=http://127.0.0.1:1", "N8N_COMMUNITY_PACKAGES_ENABLED=false",
		"EXTERNAL_FRONTEND_HOOKS_URLS=", "N8N_DISABLE_UI=true")
	return n
}

func freePort(t testing.TB) string {
	t.Helper()
	port, err := sheaftest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// Run runs one of n8n's commands and returns its output. The output goes through a file, because
// n8n exits before a pipe has received all of it.
func (n *N8N) Run(t testing.TB, args ...string) []byte {
	t.Helper()
	printed := filepath.Join(t.TempDir(), "printed")
	file, err := os.Create(printed)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := n.cmd(t, args...)
	cmd.Stdout, cmd.Stderr = file, file
	failed := cmd.Run()
	out, err := os.ReadFile(printed)
	if err != nil {
		t.Fatal(err)
	}
	if failed != nil {
		t.Fatalf("n8n %s: %v\n%s", strings.Join(args, " "), failed, out)
	}
	return out
}

// Start serves the published workflows until stop is called or the test ends.
func (n *N8N) Start(t testing.TB) (stop func()) {
	t.Helper()
	cmd := n.cmd(t, "start")
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	}
	t.Cleanup(stop)
	sheaftest.Eventually(t, "n8n listens", func() bool {
		c, err := net.Dial("tcp", "localhost:"+n.Port)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return stop
}

func (n *N8N) cmd(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(n.command[0], append(slices.Clone(n.command[1:]), args...)...)
	cmd.Dir, cmd.Env = n.Dir, slices.Concat(n.env, n.Env, []string{"N8N_RUNNERS_BROKER_PORT=" + freePort(t)})
	return cmd
}
