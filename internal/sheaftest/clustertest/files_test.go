package clustertest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/deploy"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

// files returns the files in the cluster's folder, by name.
func files(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	entries, err := fs.ReadDir(deploy.Cluster, "cluster")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := deploy.Cluster.ReadFile("cluster/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		found[e.Name()] = string(b)
	}
	if len(found) < 8 {
		t.Fatalf("only %d files", len(found))
	}
	return found
}

// The page about deployment links to every file that a cluster is started with.
func TestFiles_AreOnThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "deploy.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range files(t) {
		if !strings.Contains(string(page), "](../deploy/cluster/"+name+")") {
			t.Errorf("docs/deploy.md has no link to deploy/cluster/%s", name)
		}
	}
}

// With the documented addresses, a file differs from the page only in the machine's name and
// address, passwords and folders. On loopback no documented address is left.
func TestFiles_DifferOnlyWhereTheyMust(t *testing.T) {
	if _, err := pgtest.Binaries(); err != nil {
		sheaftest.Unable(t, err.Error())
	}
	m := machine{name: "db2", host: 22}
	shown := &Cluster{prefix: documented, password: "PASSWORD"}
	moved := &Cluster{prefix: "127.9.9.", shift: 10000, password: "hunter2"}
	for name, content := range files(t) {
		got, err := shown.content(name, m, "/somewhere")
		if err != nil {
			t.Fatal(err)
		}
		want := strings.NewReplacer("MEMBER", "db2", "ADDRESS", "10.0.0.22").Replace(content)
		for i, line := range strings.Split(got, "\n") {
			if shown := strings.Split(want, "\n")[i]; line != shown && !strings.Contains(line, "/somewhere") && !strings.Contains(line, "postgresql") &&
				!strings.Contains(line, "shared_buffers") && !strings.Contains(line, "TRUSTED_PROXY") {
				t.Errorf("%s: %q, and the page has %q", name, line, shown)
			}
		}
		loopback, err := moved.content(name, m, "/somewhere")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(loopback, "10.0.0.") || strings.Contains(loopback, ":8080") || strings.Contains(loopback, "PASSWORD") {
			t.Errorf("%s on loopback has something of the page's:\n%s", name, loopback)
		}
	}
}
