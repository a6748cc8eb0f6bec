package app_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/fill"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/store"
)

// BenchmarkDeleteFolder deletes a folder while another workspace writes all the time. With 2,000
// projects it is one transaction, with more it is done in chunks. longest-wait is the longest of
// the other workspace's writes.
func BenchmarkDeleteFolder(b *testing.B) {
	for _, size := range []struct{ projects, subscriptions int }{{2_000, 3}, {2_000, 20}, {10_000, 3}, {10_000, 20}, {20_000, 20}} {
		name := fmt.Sprintf("%dx%d", size.projects, size.subscriptions)
		b.Run("SQLite/"+name, func(b *testing.B) {
			benchCascade(b, store.Options{Folder: b.TempDir()}, deleting(size.projects), size.subscriptions)
		})
		b.Run("PostgreSQL/"+name, func(b *testing.B) {
			benchCascade(b, store.Options{DatabaseURL: pgtest.URL(b)}, deleting(size.projects), size.subscriptions)
		})
	}
}

// BenchmarkMoveFolder moves a folder of many folders one level down, beside the same writes.
func BenchmarkMoveFolder(b *testing.B) {
	for _, folders := range []int{500, 2_000, 10_000} {
		b.Run(fmt.Sprintf("SQLite/%d", folders), func(b *testing.B) {
			benchCascade(b, store.Options{Folder: b.TempDir()}, moving(folders), 3)
		})
		b.Run(fmt.Sprintf("PostgreSQL/%d", folders), func(b *testing.B) {
			benchCascade(b, store.Options{DatabaseURL: pgtest.URL(b)}, moving(folders), 3)
		})
	}
}

// prepared fills a workspace and returns the call to measure.
type prepared func(b *testing.B, s *store.Store, a *app.App, c app.Caller) (act func() error)

func deleting(projects int) prepared {
	return func(b *testing.B, s *store.Store, a *app.App, c app.Caller) func() error {
		f := fillFolder(b, s, a, c, projects)
		return func() error { return a.DeleteFolder(context.Background(), c, f, sheaf.Match{}) }
	}
}

func moving(folders int) prepared {
	return func(b *testing.B, s *store.Store, a *app.App, c app.Caller) func() error {
		top, parent := fillFolder(b, s, a, c, 0), fillFolder(b, s, a, c, 0)
		one := sheaf.FolderChange{Name: sheaf.Some("One"), EntityType: sheaf.Some("project"), ParentID: sheaf.Some(top)}
		var batch []app.ImportRecord
		for i := range folders {
			batch = append(batch, app.ImportRecord{ID: sheaf.NewUUID(time.Now(), rand.Reader), Folder: &one})
			if len(batch) == app.MaxImport || i == folders-1 {
				if _, err := a.Operator().Import(context.Background(), c.Workspace, batch); err != nil {
					b.Fatal(err)
				}
				batch = nil
			}
		}
		return func() error {
			_, err := a.MoveFolder(context.Background(), c, top, &parent, sheaf.Match{})
			return err
		}
	}
}

func benchCascade(b *testing.B, o store.Options, prepare prepared, subscriptions int) {
	ctx := context.Background()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	must(store.Migrate(ctx, o))
	s, err := store.Open(ctx, o)
	must(err)
	defer s.Close()
	box, err := seal.New(make([]byte, 32), rand.Reader)
	must(err)
	a := app.New(app.Config{Store: s, Now: time.Now, Random: rand.Reader, Webhooks: app.Webhooks{Box: box, Guard: guard.New(nil)}})
	newCaller := func() app.Caller {
		ws, err := a.Operator().CreateWorkspace(ctx, app.NewWorkspace{Name: "Acme", Plan: sheaf.Business})
		must(err)
		return app.Caller{Workspace: ws.ID, User: ws.Owner, Role: sheaf.Owner}
	}
	var longest, took, used time.Duration
	var group, commit atomic.Int64 // the longest of SQLite
	s.OnGroup(func(g store.GroupCommit) {
		group.Store(max(group.Load(), g.Took.Milliseconds()))
		commit.Store(max(commit.Load(), g.Commit.Milliseconds()))
	})
	for range b.N {
		b.StopTimer()
		c, other := newCaller(), newCaller()
		act := prepare(b, s, a, c)
		for i := range subscriptions {
			_, err := a.CreateSubscription(ctx, c, sheaf.SubscriptionChange{Name: sheaf.Some("Hook"),
				URL: sheaf.Some(fmt.Sprintf("https://hook.example/%d", i)), Events: sheaf.Some([]string{"project.updated", "folder.deleted"})})
			must(err)
		}
		stop, waited := make(chan struct{}), make(chan time.Duration)
		go func() { waited <- longestWrite(b, a, other, stop) }()
		group.Store(0)
		commit.Store(0)
		before := processTime()
		began := time.Now()
		b.StartTimer()
		must(act())
		b.StopTimer()
		took += time.Since(began)
		used += processTime() - before
		close(stop)
		longest = max(longest, <-waited)
	}
	b.ReportMetric(float64(longest.Milliseconds()), "longest-wait-ms")
	b.ReportMetric(float64(group.Load()), "longest-group-ms")
	b.ReportMetric(float64(commit.Load()), "longest-commit-ms")
	b.ReportMetric(float64(took.Milliseconds())/float64(b.N), "ms/op")
	b.ReportMetric(float64(used.Milliseconds())/float64(b.N), "cpu-ms/op")
}

// fillFolder creates a folder with n projects.
func fillFolder(b *testing.B, s *store.Store, a *app.App, c app.Caller, n int) sheaf.FolderID {
	b.Helper()
	f, err := a.CreateFolder(context.Background(), c, sheaf.FolderChange{Name: sheaf.Some("All"), EntityType: sheaf.Some("project")})
	if err != nil {
		b.Fatal(err)
	}
	if err := fill.Projects(s, c.Workspace, f.ID, n); err != nil {
		b.Fatal(err)
	}
	return f.ID
}

// longestWrite writes until stop is closed, and returns the time of the longest write.
func longestWrite(b *testing.B, a *app.App, c app.Caller, stop <-chan struct{}) (longest time.Duration) {
	pace := time.NewTicker(time.Millisecond)
	defer pace.Stop()
	for {
		select {
		case <-stop:
			return longest
		case <-pace.C:
		}
		began := time.Now()
		if _, err := a.CreateProject(context.Background(), c, sheaf.ProjectChange{Name: sheaf.Some("Beside")}); err != nil {
			b.Error(err)
			return longest
		}
		longest = max(longest, time.Since(began))
	}
}

func processTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
