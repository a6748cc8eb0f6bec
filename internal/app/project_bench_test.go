package app_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// BenchmarkWriteProject does what `make bench` does to create and change a project, without HTTP:
// 64 clients over 100 workspaces, each with a paused webhook. On a busy machine cpu-µs/op is
// repeatable; ns/op is not.
func BenchmarkWriteProject(b *testing.B) {
	ctx := context.Background()
	o := store.Options{Folder: b.TempDir()}
	if err := store.Migrate(ctx, o); err != nil {
		b.Fatal(err)
	}
	s, err := store.Open(ctx, o)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	box, err := seal.New(make([]byte, 32), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	a := app.New(app.Config{Store: s, Now: time.Now, Random: rand.Reader, Webhooks: app.Webhooks{Box: box, Guard: guard.New(nil)}})
	var callers []app.Caller
	var projects []sheaf.ProjectID
	for range 100 {
		c := benchCaller(b, a)
		callers = append(callers, c)
		p, err := a.CreateProject(ctx, c, benchProject("First"))
		if err != nil {
			b.Fatal(err)
		}
		projects = append(projects, p.ID)
	}
	b.Run("create", func(b *testing.B) {
		clients(b, func(i int) error {
			_, err := a.CreateProject(ctx, callers[i%100], benchProject(fmt.Sprint("Project ", i)))
			return err
		})
	})
	b.Run("update", func(b *testing.B) {
		clients(b, func(i int) error {
			in := sheaf.ProjectChange{Description: sheaf.Some(fmt.Sprint("Changed ", i))}
			_, err := a.UpdateProject(ctx, callers[i%100], projects[i%100], in, sheaf.Match{})
			return err
		})
	})
}

func benchProject(name string) sheaf.ProjectChange {
	return sheaf.ProjectChange{Name: sheaf.Some(name), Description: sheaf.Some("What the project is about, in a sentence or two.")}
}

// benchCaller returns the owner of a new workspace that has a paused webhook.
func benchCaller(b *testing.B, a *app.App) app.Caller {
	b.Helper()
	ctx := context.Background()
	ws, err := a.Operator().CreateWorkspace(ctx, app.NewWorkspace{Name: "Acme", Plan: sheaf.Business})
	if err != nil {
		b.Fatal(err)
	}
	c := app.Caller{Workspace: ws.ID, User: ws.Owner, Role: sheaf.Owner}
	hook, err := a.CreateSubscription(ctx, c, sheaf.SubscriptionChange{Name: sheaf.Some("Hook"), URL: sheaf.Some("https://hook.example/"),
		Events: sheaf.Some([]string{"project.created", "project.updated"})})
	if err == nil {
		_, err = a.UpdateSubscription(ctx, c, hook.ID, sheaf.SubscriptionChange{Active: sheaf.Some(false)}, sheaf.Match{})
	}
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// clients runs do b.N times in 64 goroutines, and reports the processor time per call.
func clients(b *testing.B, do func(i int) error) {
	b.ReportAllocs()
	var next atomic.Int64
	var wait sync.WaitGroup
	before := processTime()
	for range 64 {
		wait.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if err := do(int(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	b.ReportMetric(float64((processTime()-before).Microseconds())/float64(b.N), "cpu-µs/op")
}
