// Package backup drills what an operator does on a bad day: a backup of the program while clients write to it, and a
// restore into an empty store of either engine. Whatever was acknowledged before the backup began must be in the copy.
package backup

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
	"sheaf.dev/internal/sheaftest/s3test"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(sheaftest.Patient(m), goleak.Cleanup(proctest.Exit))
}

// ways are from which engine to which.
var ways = []struct{ from, to string }{{"SQLite", "SQLite"}, {"SQLite", "PostgreSQL"}, {"PostgreSQL", "PostgreSQL"}}

func TestBackup_HoldsWhatWasAcknowledged(t *testing.T) {
	var all tally
	t.Run("drills", func(t *testing.T) {
		for n := range proof.Rounds(3, 20, 60) {
			way := ways[n%len(ways)]
			t.Run(fmt.Sprintf("%d from %s to %s", n, way.from, way.to), func(t *testing.T) {
				if proof.Rounds(1, 0, 0) == 1 {
					t.Parallel()
				}
				all.add(drill(t, way.from, way.to))
			})
		}
	})
	caught := t.Run("control", func(t *testing.T) { control(t) })
	proof.Row{
		Name: "backup while clients write, and restore",
		Figures: []proof.Figure{{Name: "drills", Value: all.drills}, {Name: "acknowledged before the backup", Value: all.acknowledged},
			{Name: "while it ran", Value: all.during}, {Name: "rows restored", Value: all.rows}, {Name: "media restored", Value: all.media},
			{Name: "violations", Value: all.violations}},
		Lost:    all.lost + all.violations,
		Control: "a bare copy of the SQLite file; a restored copy that lacks a row", Caught: caught,
	}.Report(t)
}

// tally sums up drills.
type tally struct {
	mu sync.Mutex // guards what follows
	result
	drills int
}

type result struct{ acknowledged, during, rows, media, violations, lost int }

func (a *tally) add(r result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drills++
	a.acknowledged += r.acknowledged
	a.during += r.during
	a.rows += r.rows
	a.media += r.media
	a.violations += r.violations
	a.lost += r.lost
}

// drill takes a backup under load and compares its restored copy with what was acknowledged.
func drill(t *testing.T, from, to string) result {
	s := newStore(t, from)
	key := s.Workspace(t, "Acme")
	server := s.Start(t)
	l := startLoad(server, key)
	l.await(t, proof.Rounds(60, 1000, 1000))
	before, mediaBefore := l.journal(), l.media.copy()
	copied := filepath.Join(t.TempDir(), "copy")
	s.Ask(t, "backup", copied)
	l.await(t, l.count()+10) // so that it has not just stopped by chance
	final := l.stop(t)
	if err := server.Terminate(); err != nil {
		t.Errorf("the server's end: %v", err)
	}
	restored := newStore(t, to)
	restored.takeKey(t, s)
	rows := restored.Ask(t, "restore", copied)["rows"].(float64)
	r := result{acknowledged: before.acknowledged(), during: final.acknowledged() - before.acknowledged(), rows: int(rows)}
	r.violations = restored.violations(t)
	projects, files := restored.content(t, key)
	complaints := append(before.compare(final, projects), mediaBefore.compare(l.media, files)...)
	r.media = len(files)
	for _, c := range complaints {
		t.Error(c)
	}
	r.lost = len(complaints)
	return r
}

// store is the program on an empty store of an engine.
type store struct{ *proctest.Program }

func newStore(t *testing.T, engine string) *store {
	t.Helper()
	s := &store{Program: proctest.New(t)}
	if engine == "PostgreSQL" {
		s.Database = pgtest.URL(t)
		bucket := s3test.Start(t)
		s.Env = append(s.Env, bucket.Env()...)
		s.Env = append(s.Env, "SHEAF_MEDIA_URL="+bucket.URL())
	}
	return s
}

func (s *store) takeKey(t *testing.T, from *store) {
	t.Helper()
	copyFile(t, filepath.Join(from.Data, "master.key"), filepath.Join(s.Data, "master.key"))
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// violations returns how many the doctor finds, and shows them.
func (s *store) violations(t *testing.T) int {
	t.Helper()
	found, err := sheaftest.DoctorWith(s.Env, s.Binary, s.Flags()...)
	if err != nil {
		t.Error(err)
	}
	for _, f := range found {
		t.Log(f)
	}
	return len(found)
}

// content returns the names of all projects and the bytes of all media by id, as the program serves them.
func (s *store) content(t *testing.T, key string) (projects, files map[string]string) {
	t.Helper()
	server := s.Start(t)
	defer server.Kill()
	return projectsOf(t, server, key), mediaOf(t, server, key)
}

// projects returns the names of all projects by id.
func (s *store) projects(t *testing.T, key string) map[string]string {
	t.Helper()
	projects, _ := s.content(t, key)
	return projects
}

func projectsOf(t *testing.T, server *proctest.Server, key string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for offset := 0; ; offset += 100 {
		var page struct{ Data []struct{ ID, Name string } }
		status, err := server.Call(key, "GET", fmt.Sprintf("/api/v1/projects?limit=100&sort=created_at&offset=%d", offset), nil, &page)
		if err != nil || status != 200 {
			t.Fatalf("list the projects: %d, %v", status, err)
		}
		for _, p := range page.Data {
			all[p.ID] = p.Name
		}
		if len(page.Data) < 100 {
			return all
		}
	}
}
