package nodes

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/webhook"
)

// Nodes that start at the same moment on an empty database: one migrates, all serve, and one shows what is shown once.
func TestStart_TogetherOnAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	slowest := time.Duration(0)
	rounds := scaled(2, 10)
	for range rounds {
		begun := time.Now()
		startTogether(t, pgtest.URL(t), 3)
		slowest = max(slowest, time.Since(begun))
	}
	figure(t, "3 nodes at once on an empty database, %d times: all served after %v at most", rounds, slowest.Round(time.Millisecond))
}

func startTogether(t *testing.T, database string, many int) {
	t.Helper()
	key := make([]byte, 32)
	rand.Read(key)
	var all []*node
	for range many {
		all = append(all, launch(t, "", []string{"serve", "--data", t.TempDir(), "--database-url", database,
			"--master-key", base64.StdEncoding.EncodeToString(key), "--log-level", "warn"}))
	}
	for _, n := range all {
		n.await()
	}
	// What a node prints is read beside the line that says where it listens, and may come later.
	within(t, patience, "a node shows a first key", func() bool { return len(firstKeys(all)) > 0 })
	shown := firstKeys(all)[0]
	for _, n := range all {
		n.key = shown
		n.must(200, "GET", "/readyz", nil)
		n.must(200, "GET", "/api/v1/me", nil)
	}
	c := connect(t, database)
	if n := count(t, c, "SELECT count(*) FROM workspaces"); n != 1 {
		t.Errorf("%d workspaces were made", n)
	}
	if n := count(t, c, "SELECT count(*) - count(DISTINCT version_id) FROM goose_db_version"); n != 0 {
		t.Errorf("%d migrations were made twice", n)
	}
	for _, n := range all {
		n.kill()
	}
	if keys := firstKeys(all); len(keys) != 1 { // all that they have printed is read by now
		t.Errorf("%d nodes showed a first key", len(keys))
	}
}

// firstKeys are those that the nodes have shown so far.
func firstKeys(nodes []*node) (keys []string) {
	for _, n := range nodes {
		if m := regexp.MustCompile(`API key\s+(\S+)\s`).FindStringSubmatch(n.out.String()); m != nil {
			keys = append(keys, m[1])
		}
	}
	return keys
}

// The way from SQLite: backup, restore, the master key copied. Nothing is lost, and the secrets still sign.
func TestRestore_FromSQLiteToPostgreSQL(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	old := newSite(t, "", "--webhook-ca-file", r.roots)
	before := old.start()
	project := before.newProject("made on SQLite")
	secret := before.subscribe(r.url)["secret"].(string)
	before.terminate()

	file := filepath.Join(t.TempDir(), "backup")
	old.ask("backup", file)
	moved := &site{t: t, program: newProgram(t, pgtest.URL(t)), key: old.key, args: old.args}
	copyFile(t, filepath.Join(old.program.Data, "master.key"), filepath.Join(moved.program.Data, "master.key"))
	moved.ask("restore", file)

	a, b := moved.start(), moved.start()
	if got := b.must(200, "GET", "/api/v1/projects/"+project, nil).text("name"); got != "made on SQLite" {
		t.Errorf("the project is %q", got)
	}
	a.newProject("made on PostgreSQL")
	within(t, patience, "the event arrives", func() bool { return r.total() > 0 })
	got := r.journal()[0]
	if err := webhook.Verify(secret, got.header, got.body); err != nil {
		t.Errorf("the secret from before the restart does not verify: %v", err)
	}
	if err := webhook.Verify(strings.Repeat("x", len(secret)), got.header, got.body); err == nil {
		t.Error("any secret verifies")
	}
	if events := a.all("/api/v1/events"); len(events) != 2 {
		t.Errorf("%d events are in the log, want one from before and one from after", len(events))
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A chore that another node is at is left to it, also by a node that starts.
func TestChores_OneNodeAtATime(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.URL(t), "--retention", "1s")
	first := s.start()
	c := connect(t, s.program.Database)
	const chore = "SELECT pg_advisory_lock($1)"
	if _, err := c.Exec(context.Background(), chore, choreLock("sweep")); err != nil {
		t.Fatal(err)
	}
	first.newProject("an event to remove")
	time.Sleep(1100 * time.Millisecond)               // it is older than the retention then
	kept := s.start()                                 // does its chores at once, were it not for the lock
	time.Sleep(scaled(1*time.Second, 65*time.Second)) // what must not happen has that long to happen
	if n := len(kept.all("/api/v1/events")); n != 1 {
		t.Fatalf("%d events are left while another node does the chore", n)
	}
	if err := c.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	next := s.start()
	within(t, patience, "the event is removed by the next node", func() bool {
		return len(next.all("/api/v1/events")) == 0
	})
	next.must(http.StatusOK, "GET", "/readyz", nil)
}
