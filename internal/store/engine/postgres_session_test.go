package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest/pgbouncertest"
	"sheaf.dev/internal/sheaftest/pgtest"
)

// D151: behind a pooler in transaction mode the start names the setting; with one that keeps sessions nothing is missing.
func TestSession_APoolerThatGivesConnectionsAway(t *testing.T) {
	t.Parallel()
	database, other := pgtest.URL(t), pgtest.URL(t)
	pooler := pgbouncertest.Start(t, database, pgbouncertest.Transaction, 4)
	alone := pgbouncertest.Start(t, database, pgbouncertest.Transaction, 1)
	sessions := pgbouncertest.Start(t, database, pgbouncertest.Session, 40)
	// With one server process there is no answer, which only a timeout detects: make it shorter
	// than the others'.
	hasty := strings.Replace(alone.URL(database), "connect_timeout=300", "connect_timeout=20", 1)
	migrated := testOptions(Options{DatabaseURL: database})
	if err := Migrate(context.Background(), migrated, latest); err != nil {
		t.Fatal(err)
	}
	for what, try := range map[string]struct {
		pooled, direct string
		want           string
	}{
		"no direct address":             {pooled: pooler.URL(database), want: "--database-direct-url"},
		"no direct address, one server": {pooled: hasty, want: "--database-direct-url"},
		"the direct one is pooled too":  {pooled: pooler.URL(database), direct: pooler.URL(database), want: "--database-direct-url leads through"},
		"the direct one is another":     {pooled: pooler.URL(database), direct: other, want: "another database"},
		"the direct one is nonsense":    {pooled: pooler.URL(database), direct: "postgres://%zz", want: "--database-direct-url is not"},
		"a pooler that keeps sessions":  {pooled: sessions.URL(database)},
		"a direct address":              {pooled: pooler.URL(database), direct: database},
		"a direct address, no pooler":   {pooled: database, direct: database},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			o := testOptions(Options{DatabaseURL: try.pooled, DirectURL: try.direct})
			e, err := Open(context.Background(), o)
			if err == nil {
				defer e.Close()
			}
			if got := said(err); (try.want == "") != (err == nil) || !strings.Contains(got, try.want) || strings.Contains(got, "\n") {
				t.Errorf("open: got %v, want one line with %q", err, try.want)
			}
			if try.direct == other {
				return // migrations use only the direct address
			}
			if err := Migrate(context.Background(), o, latest); (try.want == "") != (err == nil) {
				t.Errorf("migrate: got %v, want %q", err, try.want)
			}
		})
	}
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// D151: through a pooler, chores are alone, nodes hear of each other, and long snapshots take none of its connections.
func TestSession_ThroughAPooler(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	pooler := pgbouncertest.Start(t, database, pgbouncertest.Transaction, 2)
	o := Options{DatabaseURL: pooler.URL(database), DirectURL: database}
	a, b := openTest(t, o), openTest(t, o)
	put(t, a, "w")

	err := a.Alone(context.Background(), "chore", func(ctx context.Context) error {
		for range 3 { // other transactions, which would take the lock's connection
			if err := a.Write(ctx, raise); err != nil {
				return err
			}
		}
		return b.Alone(ctx, "chore", func(context.Context) error { return errors.New("two nodes do the chore") })
	})
	if err != nil {
		t.Error(err)
	}
	ran := false
	if err := b.Alone(context.Background(), "chore", func(context.Context) error { ran = true; return nil }); err != nil || !ran {
		t.Errorf("the chore was not let go: ran %t, %v", ran, err)
	}
	hearsEachOther(t, a, b)
	holdSnapshots(t, a, 3) // more than the pooler's connections
}

// hearsEachOther fails unless a notice of one node reaches the other.
func hearsEachOther(t *testing.T, a, b Engine) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	listens, heard, ended := make(chan bool, 100), make(chan string, 100), make(chan bool)
	go func() {
		b.Listen(ctx, func(notice string) { heard <- notice }, func() { listens <- true })
		close(ended)
	}()
	defer func() { cancel(); <-ended }()
	<-listens
	if err := a.Notify(context.Background(), "news"); err != nil {
		t.Fatal(err)
	}
	if got := <-heard; got != "news" {
		t.Errorf("heard %q", got)
	}
}

// holdSnapshots fails unless a write succeeds while n snapshots are open.
func holdSnapshots(t *testing.T, e Engine, n int) {
	t.Helper()
	if n == 0 {
		put(t, e, "beside snapshots")
		return
	}
	snapshot, done, err := e.Snapshots(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	err = snapshot(func(r *Reader) error {
		_, err := readThings(r)
		holdSnapshots(t, e, n-1)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
