package disk

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/proof"
)

// D19: uploads do not take the reserve of a disk. When another program takes its last byte, deletions, a restart and the command
// line still work, the server says that it is not ready, and deleted media make room for everybody.
func TestFull_DeletionsRescueADisk(t *testing.T) {
	t.Parallel()
	good := rescue(t, plant.None)
	planted := rescue(t, plant.NoReserve)
	proof.Row{Name: "a full disk is rescued by deletions, SQLite", Figures: []proof.Figure{{Name: "uploads until refused", Value: good.uploads},
		{Name: "deletions on the full disk", Value: good.deletions}}, Lost: len(good.complaints),
		Control: "a build without a reserve", Caught: len(planted.complaints) > 0}.Report(t)
	for _, c := range good.complaints {
		t.Error(c)
	}
}

// rescued is what was done on a full disk, and what did not work.
type rescued struct {
	uploads, deletions int
	complaints         []string
}

// rescue fills the disk of a program and then deletes everything that was uploaded.
func rescue(t *testing.T, fault plant.Control) (r rescued) {
	t.Helper()
	path := t.TempDir()
	mountDisk(t, path, 64)
	c := &confined{program: newProgram(t, filepath.Join(path, "data"), fault)}
	c.server = c.program.start(t)
	want := func(what, method, path string, body []byte, status int) []byte {
		t.Helper()
		headers := map[string]string{}
		if path == "/api/v1/projects" {
			headers["Content-Type"] = "application/json"
		}
		got, _, answer := c.ask(t, method, path, body, headers)
		if got != status {
			r.complaints = append(r.complaints, fmt.Sprintf("%s: %d %s, want %d", what, got, answer, status))
		}
		return answer
	}
	project := []byte(`{"name":"p"}`)
	var media []string
	for status := http.StatusCreated; ; {
		var answer []byte
		if status, _, answer = c.ask(t, http.MethodPost, "/api/v1/media", random(1<<20), nil); status != http.StatusCreated {
			break
		}
		media = append(media, idOf(answer))
	}
	r.uploads = len(media)
	want("a project beside refused uploads", http.MethodPost, "/api/v1/projects", project, http.StatusCreated)

	// Another program takes the last byte.
	other, err := os.Create(filepath.Join(path, "other"))
	if err != nil {
		t.Fatal(err)
	}
	fill := func() {
		for size := 1 << 20; size > 0; {
			if _, err := other.Write(make([]byte, size)); err != nil {
				size /= 2
			}
		}
	}
	fill()
	if fault == plant.None {
		sheaftest.Eventually(t, "the server says that it is not ready", func() bool {
			status, _, _ := c.ask(t, http.MethodGet, "/readyz", nil, nil)
			return status == http.StatusServiceUnavailable
		})
	}
	want("a project on a full disk", http.MethodPost, "/api/v1/projects", project, http.StatusServiceUnavailable)
	want("readiness on a full disk", http.MethodGet, "/readyz", nil, http.StatusServiceUnavailable)
	remove := func(n int) {
		for _, id := range media[:n] {
			want("a deletion on a full disk", http.MethodDelete, "/api/v1/media/"+id, nil, http.StatusNoContent)
			r.deletions++
		}
		media = media[n:]
	}
	remove(1)
	if fault != plant.None {
		return r // it may not start again
	}
	remove(len(media) / 2)
	ready := func() {
		t.Helper()
		sheaftest.Eventually(t, "the server is ready again, and has its ballast", func() bool {
			status, _, _ := c.ask(t, http.MethodGet, "/readyz", nil, nil)
			_, err := os.Stat(filepath.Join(c.program.Data, "ballast"))
			return status == http.StatusOK && err == nil
		})
	}
	ready()
	// The same while no server runs.
	c.server.terminate(t)
	fill()
	if out, err := c.program.Command("workspace", "list").CombinedOutput(); err != nil {
		r.complaints = append(r.complaints, fmt.Sprintf("sheaf workspace list on a full disk: %v %s", err, out))
	}
	c.server = c.program.start(t)
	want("readiness after a start on a full disk", http.MethodGet, "/readyz", nil, http.StatusServiceUnavailable)
	remove(len(media))
	ready()
	want("a project after the rescue", http.MethodPost, "/api/v1/projects", project, http.StatusCreated)
	want("an upload after the rescue", http.MethodPost, "/api/v1/media", random(1<<20), http.StatusCreated)
	c.server.terminate(t)
	return r
}
