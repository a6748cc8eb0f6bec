// Package crash kills the program in the middle of its work, at random moments and at named ones, and looks whether
// anything that it promised is missing.
package crash

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/fill"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(sheaftest.Patient(m), goleak.Cleanup(proctest.Exit))
}

const (
	clients = 4
	// diesWithin is how long a server may live on the way to its point; then it is killed where it is.
	diesWithin = 2 * time.Second
	// doctorEvery is after how many kills the stored data is examined.
	doctorEvery = 10
)

// points are the moments of a server, one after the other; "" is a random one.
var points = []string{"", failpoint.Begun, failpoint.BeforeCommit, failpoint.AfterCommit, failpoint.BeforeAnswer, failpoint.Claimed, failpoint.Posted,
	failpoint.Cutting, failpoint.Recording, failpoint.MovingCursor}

// D70: over kills at random and at named moments, what was acknowledged is there, every change has its event, and every
// event reaches the receiver.
func TestKill_NothingIsLostOrInvented(t *testing.T) {
	for name, database := range map[string]func(*testing.T) string{
		"SQLite":     func(*testing.T) string { return "" },
		"PostgreSQL": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := killOften(t, newProgram(t, database(t)).prepare(t), proof.Rounds(10, 250, 1000), plant.None)
			row := f.row("kill -9, " + name)
			row.Control = "answers before the commit"
			row.Caught = proof.Catches(func() bool { // when a client's change is in the transaction that dies
				planted := killOften(t, newProgram(t, database(t)).prepare(t), proof.Rounds(2, 7, 14), plant.EarlyAnswer)
				return len(planted.complaints) > 0
			})
			row.Report(t)
			for _, complaint := range f.complaints[:min(len(f.complaints), 10)] {
				t.Error(complaint)
			}
			f.checkReconciler(t)
		})
	}
}

// killOften kills servers under load, each at its point, and compares in the end what everybody wrote down. With a fault
// the servers that are killed have it, and die at the point where it shows.
func killOften(t *testing.T, p *program, kills int, fault plant.Control) *findings {
	t.Helper()
	victim := p
	if fault != plant.None {
		victim = p.as(proctest.Planted(t, fault))
	}
	r := newReceiver(t)
	s := p.start(t, r)
	s.subscribe(t, r.url)
	s.terminate(t)
	f := &findings{kills: kills}
	l := startLoad(s)
	for i := range kills {
		point, pass, limit := points[i%len(points)], 1+rand.IntN(20), diesWithin
		if fault != plant.None {
			point, pass, limit = failpoint.BeforeCommit, 30+rand.IntN(20), within // late enough that clients were answered
		}
		s = victim.start(t, r, killAt(point, pass))
		l.target(s)
		s.dies(point, limit)
		if i%doctorEvery == doctorEvery-1 {
			f.doctor(t, p)
		}
		r.expect(time.Now())
		f.restarts = append(f.restarts, s.startedIn)
	}
	s = p.start(t, r)
	l.target(s)
	f.settle(t, r, s, l)
	s.terminate(t)
	f.doctor(t, p)
	return f
}

func killAt(point string, pass int) string {
	if point == "" {
		return failpoint.EnvKill + "="
	}
	return fmt.Sprintf("%s=%s:%d", failpoint.EnvKill, point, pass)
}

// A migration that is killed at any moment, or right after it, is finished by the next start.
func TestKill_InAMigration(t *testing.T) {
	for name, database := range map[string]func(*testing.T) string{
		"SQLite":     func(*testing.T) string { return "" },
		"PostgreSQL": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for step := range proof.Rounds(3, 30, 100) {
				p := newProgram(t, database(t))
				kill := killAt(failpoint.InMigration, 1)
				if err := p.dieIn(kill, step, "migrate"); err == nil && step%2 == 0 {
					t.Errorf("step %d: the migration was not killed", step)
				}
				p.Ask(t, "migrate")
				p.prepare(t)
				p.healthy(t)
			}
		})
	}
}

// A cascade that is killed between two of its chunks has done whole chunks, and the same request continues.
// D28, D36.
func TestKill_BetweenTheChunksOfACascade(t *testing.T) {
	for name, database := range map[string]func(*testing.T) string{
		"SQLite":     func(*testing.T) string { return "" },
		"PostgreSQL": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, database(t)).prepare(t)
			r := newReceiver(t)
			s := p.start(t, r)
			folder := s.make(t, "/api/v1/folders", map[string]any{"name": "large", "entity_type": "project"})
			project := s.make(t, "/api/v1/projects", map[string]any{"name": "large"})
			const projects, documents = 2_600, 2_300 // 2,000 go at once
			for made := 0; made < documents; made += 100 {
				operations := make([]any, 100)
				for i := range operations {
					operations[i] = map[string]any{"action": "create", "resource_type": "document", "body": map[string]any{"title": "one", "project_id": project}}
				}
				if status, err := s.call(http.MethodPost, "/api/v1/batch", map[string]any{"operations": operations}, nil); err != nil || status != http.StatusOK {
					t.Fatalf("documents: %d, %v", status, err)
				}
			}
			s.terminate(t)
			if err := fill.Folder(p.Data, p.Database, p.key, folder, projects); err != nil {
				t.Fatal(err)
			}
			p.killDeletion(t, r, "/api/v1/folders/"+folder, "project_count", projects)
			p.killDeletion(t, r, "/api/v1/projects/"+project, "document_count", documents)
			s = p.start(t, r)
			for kind, want := range map[string]int{"project.updated": projects, "folder.deleted": 1, "document.updated": documents, "project.deleted": 1} {
				var page struct{ Total int }
				if status, err := s.call(http.MethodGet, "/api/v1/events?limit=1&type="+kind, nil, &page); err != nil || status != http.StatusOK || page.Total != want {
					t.Errorf("%s: %d events, want %d (%d, %v)", kind, page.Total, want, status, err)
				}
			}
			s.terminate(t)
			p.healthy(t)
		})
	}
}

// make makes a record and returns its id.
func (s *server) make(t *testing.T, path string, body map[string]any) string {
	t.Helper()
	var made struct{ ID string }
	if status, err := s.call(http.MethodPost, path, body, &made); err != nil || status != http.StatusCreated {
		t.Fatalf("POST %s: %d, %v", path, status, err)
	}
	return made.ID
}

// killDeletion deletes what is at path, and kills the server after each chunk as long as more is left than goes at once.
// counted is the field that has the number of what is left.
func (p *program) killDeletion(t *testing.T, r *receiver, path, counted string, left int) {
	t.Helper()
	kills := 0
	for ; left > 2_000; kills++ {
		s := p.start(t, r, killAt(failpoint.BetweenChunks, 1))
		if status, err := s.call(http.MethodDelete, path, nil, nil); err == nil {
			t.Fatalf("DELETE %s: the server was not killed: it answered %d with %d left", path, status, left)
		}
		<-s.Ended
		p.healthy(t)
		s = p.start(t, r)
		var now map[string]any
		status, err := s.call(http.MethodGet, path, nil, &now)
		n, _ := now[counted].(float64)
		if err != nil || status != http.StatusOK || int(n) >= left || n == 0 {
			t.Fatalf("GET %s after a kill: %d, %v, %v of %d are left", path, status, err, n, left)
		}
		left = int(n)
		s.terminate(t)
	}
	s := p.start(t, r)
	if status, err := s.call(http.MethodDelete, path, nil, nil); err != nil || status != http.StatusNoContent {
		t.Errorf("DELETE %s, repeated: %d, %v", path, status, err)
	}
	s.terminate(t)
	t.Logf("%s: %d kills", path, kills)
}

// A backup that is killed leaves no file that looks like one, and the store as it was.
func TestKill_InABackup(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "").prepare(t)
	for step := range proof.Rounds(3, 15, 15) {
		folder := t.TempDir()
		kill := killAt(failpoint.InBackup, 1+step)
		if err := p.dieIn(kill, 0, "backup", filepath.Join(folder, "copy")); err == nil {
			t.Errorf("table %d: the backup was not killed", step)
		}
		if _, err := os.Stat(filepath.Join(folder, "copy")); !os.IsNotExist(err) {
			t.Errorf("table %d: a killed backup left a file: %v", step, err)
		}
	}
	p.Ask(t, "backup", filepath.Join(t.TempDir(), "copy"))
	p.healthy(t)
}

// healthy fails the test unless the doctor finds nothing.
func (p *program) healthy(t *testing.T) {
	t.Helper()
	violations, err := sheaftest.Doctor(p.Binary, p.Flags()...)
	if err != nil || len(violations) > 0 {
		t.Errorf("doctor: %v, %v", violations, err)
	}
}
