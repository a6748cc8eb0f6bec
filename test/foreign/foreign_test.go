// Package foreign lets other SQLite programs at the file of the program: the shell, and Python. They read it, write to
// it, bring its log over, rewrite it and copy it, while the program serves, after it was killed, and while it is
// stopped. It must go on serving what it acknowledged and what they wrote.
package foreign

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(sheaftest.Patient(m), goleak.Cleanup(proctest.Exit))
}

func TestForeign_ProgramsAtTheFile(t *testing.T) {
	visits, lost := 0, 0
	for round := range proof.Rounds(1, 10, 50) {
		for _, tool := range []tool{shell, python} {
			for _, v := range all {
				visits++
				if !t.Run(fmt.Sprintf("%d %s %s", round, tool.name, v.name), func(t *testing.T) {
					h := newHouse(t, tool, proctest.Binary(t))
					v.visit(h)
					h.holds()
				}) {
					lost++
				}
			}
		}
	}
	proof.Row{
		Name:    "other programs at the SQLite file",
		Figures: []proof.Figure{{Name: "visits", Value: visits}, {Name: "kinds", Value: 2 * len(all)}, {Name: "refused or lost", Value: lost}},
		Lost:    lost,
		Control: "checksums only on the way into the file", Caught: caughtStale(t),
	}.Report(t)
}

// all are the ways in which another program comes by.
var all = []struct {
	name  string
	visit func(*house)
}{
	{"reads after a kill", func(h *house) {
		h.server.Kill()
		h.run("SELECT count(*) FROM projects")
		h.start()
	}},
	{"stays across a clean stop", func(h *house) {
		leave := h.stay("SELECT count(*) FROM projects")
		h.write(10)
		h.stop()
		h.logIsEmpty()
		leave()
		h.start()
	}},
	{"stays across a kill", func(h *house) {
		leave := h.stay("SELECT count(*) FROM projects")
		h.write(10)
		h.server.Kill()
		leave()
		h.start()
	}},
	{"brings the log over beside the server", func(h *house) {
		for range 3 {
			h.run("PRAGMA wal_checkpoint")
			h.write(5)
			h.run("PRAGMA wal_checkpoint(TRUNCATE)")
			h.holds()
		}
	}},
	{"rewrites it beside the server", func(h *house) {
		h.run("VACUUM")
		h.holds()
		h.write(5)
	}},
	{"writes beside the server", func(h *house) {
		h.rename("beside the server")
		h.run("PRAGMA wal_checkpoint(TRUNCATE)")
		h.write(5)
	}},
	{"writes beside the server, which is killed then", func(h *house) {
		h.rename("before the kill")
		sheaftest.Eventually(h.t, "the log is emptied", func() bool { return h.logSize() == 0 })
		h.write(5)
		h.server.Kill()
		h.run("SELECT count(*) FROM projects")
		h.start()
	}},
	{"rewrites it while stopped", func(h *house) {
		h.stop()
		h.run("VACUUM")
		h.start()
	}},
	{"copies it", func(h *house) {
		h.backup()
		h.stop()
		h.server = h.copied().Start(h.t)
	}},
	{"copies it by VACUUM INTO", func(h *house) {
		h.run("VACUUM INTO '" + h.copyPath() + "'")
		h.stop()
		h.server = h.copied().Start(h.t)
	}},
	{"writes while stopped, and is taken by sheaf repair", func(h *house) {
		h.stop()
		h.rename("while stopped")
		h.refused()
		if got := h.Ask(h.t, "repair"); got["repaired"] == 0.0 {
			h.t.Errorf("repair found nothing: %v", got)
		}
		h.start()
	}},
}

// caughtStale reports whether a server with the fault StaleLog refuses to start after a kill and a read by another
// program, which checkpoints pages without checksums.
func caughtStale(t *testing.T) bool {
	h := newHouse(t, shell, proctest.Planted(t, plant.StaleLog))
	h.server.Kill()
	h.run("SELECT count(*) FROM projects")
	return h.Launch(t).URL == ""
}

// The command says how many pages it takes, and refuses what is damaged or in use.
func TestRepair_RefusesWhatItCannotVouchFor(t *testing.T) {
	h := newHouse(t, shell, proctest.Binary(t))
	repair := func(words string) {
		t.Helper()
		if out, err := h.Command("repair").CombinedOutput(); err == nil || !strings.Contains(string(out), words) {
			t.Errorf("repair: %v, %s, want a refusal with %q", err, out, words)
		}
	}
	repair("another sheaf serve uses the data folder")
	h.stop()
	h.run("DELETE FROM projects") // its counter stays
	repair("violation: count in workspace")
	h.refused()
	if got := h.Ask(t, "repair", "--accept"); got["repaired"] == 0.0 || got["violations"] == 0.0 {
		t.Errorf("repair --accept: %v", got)
	}
	if got := h.Ask(t, "repair"); got["repaired"] != 0.0 {
		t.Errorf("repair of a sound file: %v", got)
	}
	h.damage()
	h.refused()
	repair("restore it from a backup")
}

// A file of an older program is taken before it is migrated: sheaf migrate refuses pages that are not as they were written.
func TestRepair_TakesAFileOfAnOlderSchema(t *testing.T) {
	h := newHouse(t, shell, proctest.Binary(t))
	h.stop()
	h.run("UPDATE schema_compat SET version = 0, oldest = 0")
	if got := h.Ask(t, "repair"); got["repaired"] == 0.0 {
		t.Errorf("repair: %v", got)
	}
	if got := h.Ask(t, "repair"); got["repaired"] != 0.0 {
		t.Errorf("repair once more: %v", got)
	}
}

// house is a store with a server, and another program that comes by.
type house struct {
	*proctest.Program
	t      *testing.T
	tool   tool
	key    string
	server *proctest.Server
	folder string // of the test's own
	made   int
	names  map[string]string // of all projects, by id
	owner  string            // the name of the key's user
}

func newHouse(t *testing.T, tool tool, binary string) *house {
	tool.need(t)
	folder := t.TempDir()
	h := &house{Program: &proctest.Program{Binary: binary, Data: filepath.Join(folder, "data"), Log: t.Output()},
		t: t, tool: tool, folder: folder, names: map[string]string{}}
	h.key = h.Workspace(t, "Acme")
	h.start()
	h.write(20)
	return h
}

func (h *house) start() {
	h.t.Helper()
	h.server = h.Start(h.t)
}

func (h *house) stop() {
	h.t.Helper()
	if err := h.server.Terminate(); err != nil {
		h.t.Errorf("the server's end: %v", err)
	}
}

// write makes projects and changes some, so that pages are written again and again.
func (h *house) write(n int) {
	h.t.Helper()
	for range n {
		h.made++
		var made struct{ ID string }
		name := fmt.Sprintf("Project %d", h.made)
		status, err := h.server.Call(h.key, "POST", "/api/v1/projects", map[string]string{"name": name, "description": strings.Repeat(name, 50)}, &made)
		if err != nil || status != 201 {
			h.t.Fatalf("create: %d, %v", status, err)
		}
		h.names[made.ID] = name + ", revised"
		status, err = h.server.Call(h.key, "PATCH", "/api/v1/projects/"+made.ID, map[string]string{"name": h.names[made.ID]}, nil)
		if err != nil || status != 200 {
			h.t.Fatalf("change: %d, %v", status, err)
		}
	}
}

// holds checks that everything is served as it was written, and the doctor's word.
func (h *house) holds() {
	h.t.Helper()
	var page struct{ Data []struct{ ID, Name string } }
	if status, err := h.server.Call(h.key, "GET", "/api/v1/projects?limit=100", nil, &page); err != nil || status != 200 || len(page.Data) != len(h.names) {
		h.t.Fatalf("list: %d, %v, %d of %d projects", status, err, len(page.Data), len(h.names))
	}
	for _, p := range page.Data {
		if h.names[p.ID] != p.Name {
			h.t.Errorf("project %s is %q, want %q", p.ID, p.Name, h.names[p.ID])
		}
	}
	sheaftest.Eventually(h.t, "what the other program wrote is served", func() bool {
		var me struct{ User struct{ Name string } }
		status, err := h.server.Call(h.key, "GET", "/api/v1/me", nil, &me)
		if err != nil || status != 200 {
			h.t.Fatalf("me: %d, %v", status, err)
		}
		return me.User.Name == h.owner
	})
	found, err := sheaftest.Doctor(h.Binary, h.Flags()...)
	if err != nil || len(found) > 0 {
		h.t.Errorf("the doctor: %v, %v", found, err)
	}
}

// rename changes what the API shows and no promise is about.
func (h *house) rename(name string) {
	h.t.Helper()
	h.owner = name
	h.run("UPDATE users SET name = '" + name + "'")
}

// refused checks that no server starts, and that it is said what to do.
func (h *house) refused() {
	h.t.Helper()
	out, err := h.Command("serve", "--addr", "127.0.0.1:0", "--first-run", "none").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "run sheaf repair") || !strings.Contains(string(out), "restore it from a backup") {
		h.t.Errorf("serve: %v, %s", err, out)
	}
}

func (h *house) file() string { return filepath.Join(h.Data, "sheaf.db") }

func (h *house) logSize() int64 {
	info, err := os.Stat(h.file() + "-wal")
	if err != nil {
		return 0
	}
	return info.Size()
}

func (h *house) logIsEmpty() {
	h.t.Helper()
	if n := h.logSize(); n != 0 {
		h.t.Errorf("the log has %d bytes after a clean stop", n)
	}
}

// damage changes a page in a way that SQLite itself notices.
func (h *house) damage() {
	h.t.Helper()
	b, err := os.ReadFile(h.file())
	if err == nil {
		clear(b[3*4096 : 3*4096+200])
		err = os.WriteFile(h.file(), b, 0o600)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) copyPath() string { return filepath.Join(h.folder, "copy.db") }

// copied returns the program on the copy that was made.
func (h *house) copied() *proctest.Program {
	h.t.Helper()
	h.Data = filepath.Join(h.folder, "copied")
	err := os.Mkdir(h.Data, 0o700)
	if err == nil {
		err = os.Rename(h.copyPath(), h.file())
	}
	if err == nil {
		err = os.Rename(filepath.Join(h.folder, "data", "master.key"), filepath.Join(h.Data, "master.key"))
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return h.Program
}
