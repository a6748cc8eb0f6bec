// Package disk takes the power, the room and the health of the disk away under the program, and looks whether anything
// that it promised is missing.
package disk

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/doctor"
	"sheaf.dev/test/lossfs"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(sheaftest.Patient(m), goleak.Cleanup(proctest.Exit))
}

// After a power cut at any operation of the disk the store opens, the doctor finds nothing, and the answers are those
// after the last acknowledged write, or after the one that was under way.
func TestPowerCut_LosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	r := record(t, plant.None)
	chance := rand.New(rand.NewPCG(8, 9))
	figures, lost := []proof.Figure{{Name: "operations", Value: len(r.log)}, {Name: "acknowledged", Value: len(r.truth)}}, 0
	for _, how := range []struct {
		name  string
		loss  lossfs.Loss
		every int
	}{
		{"cuts, nothing unsynced left", lossfs.All, proof.Rounds(len(r.log)/24, 1, 1)},
		{"a beginning left", lossfs.Tail, proof.Rounds(len(r.log)/6, 4, 1)},
		{"any sectors left", lossfs.Some, proof.Rounds(len(r.log)/6, 4, 1)},
	} {
		cuts, complaints := r.cut(t, how.loss, chance, func(k int) bool { return (k+how.every/2)%how.every == 0 })
		figures = append(figures, proof.Figure{Name: how.name, Value: cuts})
		lost += len(complaints)
		for _, c := range complaints[:min(len(complaints), 10)] {
			t.Error(c)
		}
	}
	lazy := record(t, plant.LazySync)
	_, caught := lazy.cut(t, lossfs.All, chance, func(k int) bool { return lazy.log[k].Mark > 1 && lazy.log[k].Mark < 6 })
	proof.Row{Name: "power cut, SQLite", Figures: figures, Lost: lost, Control: "synchronous=NORMAL", Caught: len(caught) > 0}.Report(t)
}

// recording is what a server did to its disk, and what it answered meanwhile.
type recording struct {
	log    []lossfs.Op
	truth  []map[string]string // after each acknowledged write: path → answer
	key    string
	master string // the content of the master key's file
}

const masterKey = "master.key"

// record runs the workload on a folder that remembers.
func record(t *testing.T, fault plant.Control) *recording {
	t.Helper()
	path := t.TempDir()
	folder := mount(t, path)
	p := newProgram(t, path, fault)
	var url string
	url, p.roots = proctest.Endpoint(t, takeAll)
	r := &recording{key: p.key}
	s := p.start(t)
	r.acknowledged(t, folder, s)
	for i, step := range workload(url) {
		if i == restartAfter {
			s.terminate(t) // with a checkpoint, which removes the log
			s = p.start(t)
		}
		step(t, s)
		r.acknowledged(t, folder, s)
	}
	s.terminate(t)
	content, err := os.ReadFile(filepath.Join(path, masterKey))
	if err != nil {
		t.Fatal(err)
	}
	r.log, r.master = folder.Log(), string(content)
	return r
}

func mount(t *testing.T, path string) *lossfs.Folder {
	t.Helper()
	folder, err := lossfs.MountAt(path)
	if err != nil {
		sheaftest.Unable(t, err.Error())
	}
	t.Cleanup(func() {
		if err := folder.Unmount(); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return folder
}

// acknowledged marks the moment, and remembers what is true from it on.
func (r *recording) acknowledged(t *testing.T, folder *lossfs.Folder, s *server) {
	t.Helper()
	folder.Mark(len(r.truth))
	now := map[string]string{}
	for _, path := range []string{"/api/v1/projects?limit=100", "/api/v1/folders?limit=100", "/api/v1/documents?limit=100",
		"/api/v1/events?limit=100&order=desc", "/api/webhooks/subscriptions?limit=100"} {
		status, answer := s.call(t, http.MethodGet, path, nil)
		if status != http.StatusOK {
			t.Fatalf("GET %s: %d %s", path, status, answer)
		}
		now[path] = string(answer)
	}
	r.truth = append(r.truth, now)
}

const restartAfter = 10

// workload returns writes of every kind, to be made one after the other.
func workload(url string) (steps []func(*testing.T, *server)) {
	var folder, sub string
	var projects []string
	then := func(step func(*testing.T, *server)) { steps = append(steps, step) }
	then(func(t *testing.T, s *server) {
		s.do(t, http.MethodPost, "/api/webhooks/subscriptions", map[string]any{"name": "all", "url": url,
			"events": []string{"project.created", "project.updated", "document.created"}})
	})
	then(func(t *testing.T, s *server) {
		folder = s.do(t, http.MethodPost, "/api/v1/folders", map[string]any{"name": "Products", "entity_type": "project"})
	})
	then(func(t *testing.T, s *server) {
		sub = s.do(t, http.MethodPost, "/api/v1/folders", map[string]any{"name": "Old ones", "entity_type": "project", "parent_id": folder})
	})
	for i := range proof.Rounds(4, 16, 40) {
		then(func(t *testing.T, s *server) {
			in := []string{folder, sub}[i%2]
			projects = append(projects, s.do(t, http.MethodPost, "/api/v1/projects", map[string]any{"name": fmt.Sprintf("Handbook %d", i), "folder_id": in}))
		})
		then(func(t *testing.T, s *server) {
			s.do(t, http.MethodPost, "/api/v1/documents", map[string]any{"title": fmt.Sprintf("Chapter %d", i), "project_id": projects[i]})
		})
		then(func(t *testing.T, s *server) {
			s.do(t, http.MethodPatch, "/api/v1/projects/"+projects[i], map[string]any{"description": "changed"})
		})
	}
	then(func(t *testing.T, s *server) { s.do(t, http.MethodDelete, "/api/v1/projects/"+projects[0], nil) })
	then(func(t *testing.T, s *server) { s.do(t, http.MethodDelete, "/api/v1/folders/"+folder, nil) })
	then(func(t *testing.T, s *server) {
		s.do(t, http.MethodPost, "/api/v1/projects", map[string]any{"name": "the last"})
	})
	return steps
}

// cut cuts the power before every operation that is chosen, and returns how often it did and what was wrong then. The
// same state after the same answer is looked at once.
func (r *recording) cut(t *testing.T, loss lossfs.Loss, chance *rand.Rand, chosen func(k int) bool) (cuts int, complaints []string) {
	t.Helper()
	disk, acknowledged := lossfs.NewDisk(), -1
	seen := map[[32]byte]bool{}
	for k, op := range r.log {
		if op.Kind == lossfs.Mark {
			acknowledged = op.Mark
		}
		if chosen(k) {
			cuts++
			files := disk.Cut(loss, chance)
			if state := digest(files, acknowledged); !seen[state] {
				seen[state] = true
				if err := r.examine(t, files, acknowledged); err != nil {
					complaints = append(complaints, fmt.Sprintf("cut before operation %d (%s %s): %v", k, op.Kind, op.Name, err))
				}
			}
		}
		disk.Do(op)
	}
	return cuts, complaints
}

func digest(files map[string][]byte, acknowledged int) [32]byte {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%d %s %d ", acknowledged, name, len(files[name]))
		h.Write(files[name])
	}
	return [32]byte(h.Sum(nil))
}

// examine starts on what the cut left, and compares.
func (r *recording) examine(t *testing.T, files map[string][]byte, acknowledged int) error {
	t.Helper()
	folder, err := os.MkdirTemp(t.TempDir(), "cut")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return err
		}
	}
	if acknowledged > 0 && string(files[masterKey]) != r.master {
		return fmt.Errorf("the master key is gone")
	}
	o := store.Options{Folder: folder}
	if err := store.Migrate(context.Background(), o); err != nil {
		return err
	}
	s, err := store.Open(context.Background(), o)
	if err != nil {
		return err
	}
	sick := doctor.Examine(context.Background(), s, doctor.Examination{Now: time.Now(), Retention: 720 * time.Hour}, func(f doctor.Finding) {
		if !f.Information {
			err = fmt.Errorf("doctor: %s", f)
		}
	})
	s.Close()
	if err != nil || sick != nil || acknowledged < 0 {
		return errorOf(err, sick)
	}
	return r.compare(t, o, acknowledged)
}

func errorOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// compare asks a server for everything: it must be as acknowledged, or one write further.
func (r *recording) compare(t *testing.T, o store.Options, acknowledged int) error {
	a := apitest.Open(t, o)
	defer a.CloseStores()
	defer a.Server.Close()
	now := map[string]string{}
	for path := range r.truth[acknowledged] {
		now[path] = string(a.Client(r.key).GET(path).Body)
	}
	for _, truth := range r.truth[acknowledged:min(acknowledged+2, len(r.truth))] {
		if maps.Equal(now, truth) {
			return nil
		}
	}
	for path, want := range r.truth[acknowledged] {
		if now[path] != want {
			return fmt.Errorf("after write %d, %s is %.300s, want %.300s", acknowledged, path, now[path], want)
		}
	}
	return nil
}
