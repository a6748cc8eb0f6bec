package app_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"syscall"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/store"
)

// BenchmarkDeleteFolder deletes a folder of 10,000 projects in a workspace with
// three subscriptions, which is 10,001 events and 30,003 deliveries in one
// transaction, while another workspace writes all the time. longest-wait is the
// longest of its writes.
func BenchmarkDeleteFolder(b *testing.B) {
	b.Run("SQLite", func(b *testing.B) { benchCascade(b, store.Options{Folder: b.TempDir()}) })
	b.Run("PostgreSQL", func(b *testing.B) { benchCascade(b, store.Options{DatabaseURL: pgtest.URL(b)}) })
}

func benchCascade(b *testing.B, o store.Options) {
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
		return app.Caller{Workspace: ws.ID, User: ws.Owner, Key: sheaf.Key{Scopes: sheaf.AllScopes}}
	}
	var longest, took, used time.Duration
	for range b.N {
		b.StopTimer()
		c, other := newCaller(), newCaller()
		f := fillFolder(b, s, a, c, 10_000)
		for i := range 3 {
			_, err := a.CreateSubscription(ctx, c, sheaf.SubscriptionChange{Name: sheaf.Some("Hook"),
				URL: sheaf.Some(fmt.Sprintf("https://hook.example/%d", i)), Events: sheaf.Some([]string{"project.updated", "folder.deleted"})})
			must(err)
		}
		stop, waited := make(chan struct{}), make(chan time.Duration)
		go func() { waited <- longestWrite(b, a, other, stop) }()
		before := processTime()
		began := time.Now()
		b.StartTimer()
		must(a.DeleteFolder(ctx, c, f, sheaf.Match{}))
		b.StopTimer()
		took += time.Since(began)
		used += processTime() - before
		close(stop)
		longest = max(longest, <-waited)
	}
	b.ReportMetric(float64(longest.Milliseconds()), "longest-wait-ms")
	b.ReportMetric(float64(took.Milliseconds())/float64(b.N), "ms/op")
	b.ReportMetric(float64(used.Milliseconds())/float64(b.N), "cpu-ms/op")
}

// fillFolder makes a folder of n projects.
func fillFolder(b *testing.B, s *store.Store, a *app.App, c app.Caller, n int) sheaf.FolderID {
	b.Helper()
	f, err := a.CreateFolder(context.Background(), c, sheaf.FolderChange{Name: sheaf.Some("All"), EntityType: sheaf.Some("project")})
	if err != nil {
		b.Fatal(err)
	}
	description := "What the project is about, in a sentence or two."
	for at := 0; at < n; at += 500 {
		err := s.Write(context.Background(), func(tx *store.Tx) error {
			w, err := tx.LockWorkspace(c.Workspace)
			if err != nil {
				return err
			}
			for range 500 {
				w.LastNumber++
				p := sheaf.Project{ID: sheaf.ProjectID(sheaf.NewUUID(time.Now(), rand.Reader)), Name: "Quarterly report", Description: &description,
					FolderID: &f.ID, Visibility: sheaf.Private, CreatedAt: f.CreatedAt, UpdatedAt: f.CreatedAt, Number: w.LastNumber, Revision: 1}
				if err := tx.InsertProject(c.Workspace, p); err != nil {
					return err
				}
			}
			w.Projects += 500
			return tx.SaveWorkspace(w)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return f.ID
}

// longestWrite writes until stop is closed and returns what took longest.
func longestWrite(b *testing.B, a *app.App, c app.Caller, stop <-chan struct{}) (longest time.Duration) {
	for {
		select {
		case <-stop:
			return longest
		case <-time.After(time.Millisecond):
		}
		began := time.Now()
		if _, err := a.CreateProject(context.Background(), c, sheaf.ProjectChange{Name: sheaf.Some("Beside")}); err != nil {
			b.Error(err)
		}
		longest = max(longest, time.Since(began))
	}
}

func processTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
