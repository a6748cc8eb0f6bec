package pgtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
)

func TestMain(m *testing.M) {
	if os.Getenv("PGTEST_VICTIM") == "1" {
		victim()
	}
	goleak.VerifyTestMain(sheaftest.Patient(m))
}

func TestURL_DatabaseIsThereAndDroppedAfterwards(t *testing.T) {
	var address string
	t.Run("in use", func(t *testing.T) {
		address = URL(t)
		conn := connect(t, address)
		if got := queryText(t, conn, "SELECT 'sheaf'"); got != "sheaf" {
			t.Errorf("got %q", got)
		}
		// The connection stays open on purpose: the database must be dropped anyway.
	})
	if address == "" {
		sheaftest.Unable(t, ErrNotInstalled.Error())
	}
	conn, err := pgx.Connect(t.Context(), address)
	if err == nil {
		_ = conn.Close(t.Context())
		t.Fatalf("the database is still there")
	}
	if !strings.Contains(err.Error(), "3D000") { // invalid_catalog_name
		t.Errorf("got %v, want that the database does not exist", err)
	}
}

func TestURL_ManyAtOnceAreDifferentDatabases(t *testing.T) {
	URL(t) // skips in the test's own goroutine
	var mu sync.Mutex
	seen := map[string]bool{}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			address := URL(t)
			mu.Lock()
			defer mu.Unlock()
			seen[address] = true
		})
	}
	group.Wait()
	if len(seen) != 8 {
		t.Errorf("got %d different databases, want 8", len(seen))
	}
}

// The default order of test databases differs from ours, so that a missing COLLATE "C" is noticed.
func TestURL_DefaultOrderOfTextIsNotBytewise(t *testing.T) {
	conn := connect(t, URL(t))
	const sorted = `SELECT string_agg(w, '' ORDER BY w%s) FROM (VALUES ('a'), ('B'), ('c')) AS v(w)`
	if got := queryText(t, conn, fmt.Sprintf(sorted, "")); got != "aBc" {
		t.Errorf("default order is %q, want aBc", got)
	}
	if got := queryText(t, conn, fmt.Sprintf(sorted, ` COLLATE "C"`)); got != "Bac" {
		t.Errorf(`COLLATE "C" order is %q, want Bac`, got)
	}
}

func TestCluster_KeepsItsAddressAndCommitsOverEveryWayToStop(t *testing.T) {
	c := Start(t)
	address := c.URL()
	if err := execute(address, "CREATE TABLE kept (n INT)"); err != nil {
		t.Fatal(err)
	}
	for i, mode := range []Mode{Fast, Immediate, Kill} {
		if err := execute(address, "INSERT INTO kept VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		if err := c.Stop(mode); err != nil {
			t.Fatalf("stop by %v: %v", mode, err)
		}
		if err := execute(address, "SELECT 1"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("after a stop by %v: got %v, want a refused connection", mode, err)
		}
		if err := c.Restart(); err != nil {
			t.Fatalf("restart after a stop by %v: %v", mode, err)
		}
		want := fmt.Sprint(i + 1)
		if got := queryText(t, connect(t, c.URL()), "SELECT count(*)::TEXT FROM kept"); got != want || c.URL() != address {
			t.Errorf("after a stop by %v: %s rows at %s, want %s at %s", mode, got, c.URL(), want, address)
		}
	}
	if got := queryText(t, connect(t, c.SocketURL()), "SELECT count(*)::TEXT FROM kept"); got != "3" {
		t.Errorf("over the socket: %s rows, want 3", got)
	}
}

// This was a bug: the garbage collector closed the reaper's pipe after the last reference to the
// cluster.
func TestLaunch_OutlivesTheLastReferenceToTheCluster(t *testing.T) {
	c, err := Launch()
	if err != nil {
		unavailable(t, err)
	}
	address := c.URL()
	for range 20 {
		runtime.GC()
		if err := execute(address, "SELECT 1"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCluster_CloseRemovesItsFiles(t *testing.T) {
	var dir string
	t.Run("in use", func(t *testing.T) { dir = Start(t).dir })
	if dir == "" {
		sheaftest.Unable(t, ErrNotInstalled.Error())
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}

func TestCluster_AServerThatCannotStartSaysWhy(t *testing.T) {
	c := Start(t)
	if err := c.Stop(Fast); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(c.dataDir(), "PG_VERSION")); err != nil {
		t.Fatal(err)
	}
	err := c.Restart()
	if err == nil || !strings.Contains(err.Error(), "PG_VERSION") {
		t.Errorf("got %v, want the server's own words", err)
	}
}

func TestCluster_DiesWithItsProcess(t *testing.T) {
	if _, err := Binaries(); err != nil {
		unavailable(t, err)
	}
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), "PGTEST_VICTIM=1")
	stdout, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(stdout).ReadString('\n')
	dir, address, found := strings.Cut(strings.TrimSpace(said), " ")
	if err != nil || !found {
		t.Fatalf("the victim said %q: %v", said, err)
	}
	conn := connect(t, address)

	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait()

	sheaftest.Eventually(t, "the cluster's folder goes with its process", func() bool { return !exists(dir) })
	// The server ends before its files are deleted. By itself it would end only after a minute.
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("the server outlived its files")
	}
	if err := execute(address, "SELECT 1"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v, want a refused connection", err)
	}
}

// victim is the process that the test above kills: it prints the folder of its cluster, and blocks.
func victim() {
	c, err := Launch()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(c.dir, c.URL())
	time.Sleep(time.Hour) // not select {}: without cgo the runtime would take that for a deadlock, and end
}

func TestUnavailable_SkipsOrFails(t *testing.T) {
	for _, test := range []struct {
		name, require, want string
		err                 error
	}{
		{"not installed, on a laptop", "", "skip: PostgreSQL is not installed: ./scripts/test installs it", ErrNotInstalled},
		{"not installed, in CI", "1", "fatal: PostgreSQL is not installed: ./scripts/test installs it", ErrNotInstalled},
		{"installed and broken", "", "fatal: disk full", errors.New("disk full")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(sheaftest.EnvRequire, test.require)
			var r recorder
			unavailable(&r, test.err)
			// The recorder continues where a test would end, so only its first line counts.
			if first, _, _ := strings.Cut(r.said, "\n"); first != test.want {
				t.Errorf("got %q, want %q", first, test.want)
			}
		})
	}
}

// recorder stands in for a test that is skipped or failed.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper()           {}
func (r *recorder) Skip(args ...any)  { r.said += "skip: " + fmt.Sprintln(args...) }
func (r *recorder) Fatal(args ...any) { r.said += "fatal: " + fmt.Sprintln(args...) }

func TestFirstComplete_SkipsAnInstallationWithoutServer(t *testing.T) {
	client, server := t.TempDir(), t.TempDir()
	for _, program := range []string{client + "/initdb", server + "/initdb", server + "/postgres"} {
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := firstComplete([]string{client, server}); got != server || err != nil {
		t.Errorf("got %q, %v, want the second folder", got, err)
	}
	if _, err := firstComplete([]string{client}); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("got %v, want ErrNotInstalled", err)
	}
}

func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func queryText(t *testing.T, conn *pgx.Conn, query string) string {
	t.Helper()
	var s string
	if err := conn.QueryRow(t.Context(), query).Scan(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
