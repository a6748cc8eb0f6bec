package disk

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/proof"
	"sheaf.dev/internal/store"
	"sheaf.dev/test/lossfs"
)

// Whichever operation of the disk fails, full or broken: no write is acknowledged that is not there, reads go on, and
// the next write succeeds. After a power cut in the end the same is there: nothing rests on a sync that failed.
func TestFault_NoFalseAnswerAtAnyOperation(t *testing.T) {
	t.Parallel()
	f := failEach(t, plant.None, proof.Rounds(12, 40, 60))
	planted := failEach(t, plant.EarlyAnswer, proof.Rounds(8, 12, 12))
	proof.Row{Name: "full disk and I/O errors, SQLite", Figures: []proof.Figure{{Name: "faults", Value: f.faults},
		{Name: "refused with 503", Value: f.refused}, {Name: "acknowledged", Value: f.acknowledged}}, Lost: len(f.complaints),
		Control: "answers before the commit", Caught: len(planted.complaints) > 0}.Report(t)
	for _, c := range f.complaints {
		t.Error(c)
	}
}

// failing is a server whose disk fails, and what its client was told.
type failing struct {
	*server
	folder *lossfs.Folder
	stored map[string]string // id → name

	faults, refused, acknowledged int
	complaints                    []string
}

// failEach lets the k-th operation from a write on fail, for every k, with either error, and then those of a checkpoint.
func failEach(t *testing.T, fault plant.Control, most int) *failing {
	t.Helper()
	path := t.TempDir()
	f := &failing{folder: mount(t, path), stored: map[string]string{}}
	p := newProgram(t, path, fault)
	f.server = p.start(t)
	for k := 1; k <= most; k++ {
		for _, err := range []syscall.Errno{syscall.ENOSPC, syscall.EIO} {
			f.failAt(t, k, err, store.FileName)
		}
	}
	for k := 1; k <= proof.Rounds(1, 8, 20); k++ {
		f.failInCheckpoint(t, k, []syscall.Errno{syscall.ENOSPC, syscall.EIO}[k%2])
	}
	f.fullForAWhile(t)
	f.compare("in the end", f.list(t))
	f.terminate(t)
	if fault == plant.None {
		f.afterTheCut(t, p)
	}
	return f
}

// fault makes the k-th operation on the files of that name fail.
func (f *failing) fault(k int, err syscall.Errno, prefix string) (fired *atomic.Bool) {
	fired = new(atomic.Bool)
	left := k
	f.folder.Inject(func(op lossfs.Op) syscall.Errno {
		if !strings.HasPrefix(op.Name, prefix) || err == syscall.ENOSPC && op.Kind == lossfs.Sync {
			return 0
		}
		if left--; left != 0 {
			return 0
		}
		fired.Store(true)
		return err
	})
	return fired
}

func (f *failing) failAt(t *testing.T, k int, err syscall.Errno, prefix string) {
	t.Helper()
	fired := f.fault(k, err, prefix)
	f.write(t, fmt.Sprintf("operation %d fails: %v", k, err))
	f.compare("while it fails", f.list(t))
	f.folder.Inject(nil)
	if fired.Load() {
		f.faults++
	}
	if !f.write(t, fmt.Sprintf("after operation %d failed: %v", k, err)) {
		f.complain("the write after operation %d, %v, was refused", k, err)
	}
}

// failInCheckpoint writes until a checkpoint meets its fault in the database file itself.
func (f *failing) failInCheckpoint(t *testing.T, k int, err syscall.Errno) {
	t.Helper()
	left := k
	fired := new(atomic.Bool)
	f.folder.Inject(func(op lossfs.Op) syscall.Errno {
		if op.Name != store.FileName || fired.Load() {
			return 0
		}
		if left--; left > 0 {
			return 0
		}
		fired.Store(true)
		return err
	})
	for i := 0; !fired.Load() && i < 400; i++ {
		f.write(t, strings.Repeat("until a checkpoint ", 10))
	}
	f.folder.Inject(nil)
	if fired.Load() {
		f.faults++
	}
	if !f.write(t, "after a checkpoint failed") {
		f.complain("the write after a checkpoint with %v was refused", err)
	}
}

// fullForAWhile lets every write fail, and then none.
func (f *failing) fullForAWhile(t *testing.T) {
	t.Helper()
	f.folder.Inject(func(op lossfs.Op) syscall.Errno {
		if op.Kind == lossfs.Write {
			return syscall.ENOSPC
		}
		return 0
	})
	for range 5 {
		if f.write(t, "on a full disk") {
			f.complain("a write on a full disk was acknowledged")
		}
		f.compare("on a full disk", f.list(t))
	}
	f.folder.Inject(nil)
	if !f.write(t, "when there is room again") {
		f.complain("the first write with room again was refused")
	}
}

// write makes a project and reports whether it was acknowledged; anything but that and 503 is wrong.
func (f *failing) write(t *testing.T, name string) bool {
	t.Helper()
	status, answer := f.call(t, http.MethodPost, "/api/v1/projects", map[string]any{"name": name})
	switch status {
	case http.StatusCreated:
		f.acknowledged++
		f.stored[idOf(answer)] = name
	case http.StatusServiceUnavailable:
		f.refused++
	default:
		f.complain("a write was answered with %d %s", status, answer)
	}
	return status == http.StatusCreated
}

// list reads everything; reads go on whatever the disk does to writes.
func (f *failing) list(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for offset := 0; ; offset += 100 {
		status, answer := f.call(t, http.MethodGet, fmt.Sprintf("/api/v1/projects?limit=100&offset=%d", offset), nil)
		var page struct{ Data []struct{ ID, Name string } }
		if err := json.Unmarshal(answer, &page); status != http.StatusOK || err != nil {
			f.complain("a read was answered with %d %s", status, answer)
			return nil
		}
		for _, p := range page.Data {
			out[p.ID] = p.Name
		}
		if len(page.Data) < 100 {
			return out
		}
	}
}

// compare compares what is stored with what was acknowledged: nothing may be missing, and nothing that was
// refused may be there.
func (f *failing) compare(when string, got map[string]string) {
	if got != nil && !maps.Equal(got, f.stored) {
		f.complain("%s: %d projects are there, %d were acknowledged", when, len(got), len(f.stored))
	}
}

func (f *failing) complain(format string, args ...any) {
	f.complaints = append(f.complaints, fmt.Sprintf(format, args...))
}

// afterTheCut simulates a power cut at the end, and serves what is left on the disk.
func (f *failing) afterTheCut(t *testing.T, p *program) {
	t.Helper()
	disk := lossfs.NewDisk()
	for _, op := range f.folder.Log() {
		disk.Do(op)
	}
	rest := t.TempDir()
	for name, content := range disk.Cut(lossfs.All, rand.New(rand.NewPCG(1, 1))) {
		if err := os.WriteFile(filepath.Join(rest, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	q := *p
	q.Data = rest
	f.server = q.start(t)
	f.compare("after a power cut", f.list(t))
	f.terminate(t)
	f.examine(t, &q)
}

func (f *failing) examine(t *testing.T, p *program) {
	t.Helper()
	violations, err := sheaftest.Doctor(p.Binary, p.Flags()...)
	if err != nil {
		f.complain("doctor: %v", err)
	}
	for _, v := range violations {
		f.complain("doctor: %s: %s", v.Check, v.Text)
	}
}

// A real disk that is full, and a process that may not let a file grow: writes are refused, reads go on, and writing
// resumes when there is room.
func TestFault_RealLimits(t *testing.T) {
	for name, limit := range map[string]func(t *testing.T) (p *program, lift func(*server)){
		"full tmpfs": fullDisk, "RLIMIT_FSIZE": fileLimit,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, lift := limit(t)
			f := &failing{stored: map[string]string{}}
			f.server = p.start(t)
			for i := 0; f.refused < 5 && i < 5000; i++ {
				f.write(t, strings.Repeat("to fill the disk, ", 11))
			}
			if f.refused == 0 {
				t.Fatal("nothing was refused: the limit is none")
			}
			f.compare("at the limit", f.list(t))
			lift(f.server)
			// The server looks at the disk every second.
			sheaftest.Eventually(t, "a write is accepted with room again", func() bool { return f.write(t, "with room again") })
			f.compare("with room again", f.list(t))
			f.Kill()
			q := *p
			q.Prefix = nil
			f.server = q.start(t)
			f.compare("after a restart", f.list(t))
			f.terminate(t)
			f.examine(t, &q)
			for _, c := range f.complaints {
				t.Error(c)
			}
		})
	}
}

// leave is how much room there is at first, in bytes: for some twenty writes.
const leave = 600_000

// fullDisk is a small tmpfs with something else on it, which lift removes.
func fullDisk(t *testing.T) (*program, func(*server)) {
	t.Helper()
	path := t.TempDir()
	if err := syscall.Mount("tmpfs", path, "tmpfs", 0, "size=6m,mode=700"); err != nil {
		sheaftest.Unable(t, "a tmpfs of our own needs root: "+err.Error())
	}
	t.Cleanup(func() { _ = syscall.Unmount(path, syscall.MNT_DETACH) })
	p := newProgram(t, filepath.Join(path, "data"), plant.None)
	var room syscall.Statfs_t
	if err := syscall.Statfs(path, &room); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(path, "other")
	if err := os.WriteFile(other, make([]byte, int64(room.Bfree)*room.Bsize-leave), 0o600); err != nil {
		t.Fatal(err)
	}
	return p, func(*server) {
		if err := os.Remove(other); err != nil {
			t.Fatal(err)
		}
	}
}

// fileLimit runs the program with a limit on the size of every file, which lift raises.
func fileLimit(t *testing.T) (*program, func(*server)) {
	t.Helper()
	p := newProgram(t, filepath.Join(t.TempDir(), "data"), plant.None)
	p.Prefix = []string{"prlimit", fmt.Sprintf("--fsize=%d:unlimited", leave)}
	return p, func(s *server) {
		most := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
		if err := unix.Prlimit(s.Process.Pid, unix.RLIMIT_FSIZE, &most, nil); err != nil {
			t.Fatal(err)
		}
	}
}
