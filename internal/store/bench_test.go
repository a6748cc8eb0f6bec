package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/pgtest"
)

func eachBench(b *testing.B, try func(b *testing.B, s *Store)) {
	b.Run("SQLite", func(b *testing.B) {
		s := openTest(b, Options{Folder: b.TempDir()})
		put(b, s, testWorkspace(theWorkspace))
		try(b, s)
	})
	b.Run("PostgreSQL", func(b *testing.B) {
		s := openTest(b, Options{DatabaseURL: pgtest.URL(b)})
		put(b, s, testWorkspace(theWorkspace))
		try(b, s)
	})
}

// createProject writes the same rows as POST /api/v1/projects.
func createProject(s *Store, order int32) (sheaf.ProjectID, error) {
	newID := func() string { return sheaf.NewUUID(time.UnixMilli(1_790_000_000_000), rand.Reader) }
	now := time.UnixMilli(1_790_000_000_000)
	description := "What the project is about, in a sentence or two."
	p := sheaf.Project{ID: sheaf.ProjectID(newID()), Name: "Quarterly report", Description: &description, SortOrder: order,
		Visibility: sheaf.Private, CreatedAt: now, UpdatedAt: now, Revision: 1}
	return p.ID, s.Write(context.Background(), func(tx *Tx) error {
		w, err := tx.LockWorkspace(theWorkspace)
		if err != nil {
			return err
		}
		w.LastNumber++
		w.Projects++
		w.Version++
		p.Number = w.LastNumber
		if err := tx.InsertProject(theWorkspace, p); err != nil {
			return err
		}
		e := sheaf.Event{ID: sheaf.EventID(sheaf.EventPrefix + newID()), Type: sheaf.ProjectCreated, ResourceID: string(p.ID), At: now,
			Body: sheaf.AppendJSON(nil, &p)}
		if err := tx.AppendEvents(&w, []sheaf.Event{e}); err != nil {
			return err
		}
		return tx.SaveWorkspace(w)
	})
}

func BenchmarkWriteProject_64(b *testing.B) {
	eachBench(b, func(b *testing.B, s *Store) {
		b.ReportAllocs()
		var left atomic.Int64
		left.Store(int64(b.N))
		var clients sync.WaitGroup
		b.ResetTimer()
		used := processTime()
		for range 64 {
			clients.Go(func() {
				for left.Add(-1) >= 0 {
					if _, err := createProject(s, 0); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		clients.Wait()
		b.ReportMetric(float64((processTime()-used).Microseconds())/float64(b.N), "cpu-µs/op")
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
	})
}

// filled returns the ids of projects in the store.
func filled(b *testing.B, s *Store, n int) []sheaf.ProjectID {
	b.Helper()
	ids := make([]sheaf.ProjectID, n)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for at := i; at < n; at += 16 {
				var err error
				if ids[at], err = createProject(s, int32(at%10)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	return ids
}

func BenchmarkReadProject(b *testing.B) {
	eachBench(b, func(b *testing.B, s *Store) {
		ids := filled(b, s, 1000)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			err := s.Read(context.Background(), func(r *Reader) error {
				_, err := r.Project(theWorkspace, ids[i%len(ids)])
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkListProjects50(b *testing.B) {
	eachBench(b, func(b *testing.B, s *Store) {
		filled(b, s, 1000)
		for _, offset := range []int{0, 500, 950} {
			b.Run(fmt.Sprintf("offset %d", offset), func(b *testing.B) {
				b.ReportAllocs()
				f := sheaf.ProjectFilter{Paging: sheaf.Paging{Limit: 50, Offset: offset}}
				for b.Loop() {
					err := s.Read(context.Background(), func(r *Reader) error {
						page, err := r.Projects(theWorkspace, f)
						if len(page.Items) != 50 {
							b.Errorf("%d projects", len(page.Items))
						}
						return err
					})
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}

func BenchmarkCredential(b *testing.B) {
	eachBench(b, func(b *testing.B, s *Store) {
		hash := sheaf.KeyHash{1}
		addKey(b, s, hash)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Credential(context.Background(), hash); err != nil {
				b.Fatal(err)
			}
		}
	})
}
