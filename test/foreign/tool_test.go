package foreign

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sheaf.dev/internal/sheaftest"
)

// tool is another program that opens SQLite files.
type tool struct {
	name string
	path string
	// args make it run what it reads from standard input on a file, one statement a line; the line that touch returns
	// makes a file, backup's copies the database.
	args   []string
	touch  func(path string) string
	backup func(path string) string
}

var shell = tool{name: "sqlite3", path: "sqlite3", args: []string{"-bail", "-cmd", ".timeout 300000"},
	touch:  func(path string) string { return ".shell touch " + path },
	backup: func(path string) string { return ".backup " + path }}

// python is the system's own: others lack the module where they were built without SQLite.
var python = tool{name: "Python", path: "/usr/bin/python3", args: []string{"-c", `
import sqlite3, sys
c = sqlite3.connect(sys.argv[1], timeout=300, isolation_level=None)
for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    if word == "touch":
        open(rest, "w").close()
    elif word == "backup":
        to = sqlite3.connect(rest)
        c.backup(to)
        to.close()
    else:
        c.execute(line).fetchall()
c.close()
`},
	touch:  func(path string) string { return "touch " + path },
	backup: func(path string) string { return "backup " + path }}

func (tool tool) need(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath(tool.path); err != nil {
		sheaftest.Unable(t, "the test needs "+tool.path+": "+err.Error())
	}
}

// run has the other program do one thing and end.
func (h *house) run(statement string) {
	h.t.Helper()
	h.feed(statement + ";")
}

func (h *house) backup() {
	h.t.Helper()
	h.feed(h.tool.backup(h.copyPath()))
}

func (h *house) feed(line string) {
	h.t.Helper()
	leave := h.open(line)
	leave()
}

// stay has the other program do one thing and keep the file open until leave is called.
func (h *house) stay(statement string) (leave func()) {
	h.t.Helper()
	return h.open(statement + ";")
}

// open returns when the line was done.
func (h *house) open(line string) (leave func()) {
	h.t.Helper()
	done := filepath.Join(h.t.TempDir(), "done")
	cmd := exec.Command(h.tool.path, append(h.tool.args, h.file())...)
	cmd.Stdout, cmd.Stderr = h.t.Output(), h.t.Output()
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = in.Write([]byte(line + "\n" + h.tool.touch(done) + "\n"))
	}
	if err != nil {
		h.t.Fatal(err)
	}
	left := false
	leave = func() {
		if left {
			return
		}
		left = true
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			h.t.Errorf("%s: %q: %v", h.tool.name, line, err)
		}
	}
	h.t.Cleanup(leave)
	sheaftest.Eventually(h.t, h.tool.name+" has done "+line, func() bool {
		_, err := os.Stat(done)
		return err == nil
	})
	return leave
}
