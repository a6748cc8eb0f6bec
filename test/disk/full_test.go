package disk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/s3test"
)

const (
	// room is what a small disk leaves for files at first, in bytes: for some small ones.
	room = 1_600_000
	// large is a file for which there is no room, and small one for which there is.
	large, small = 2_000_000, 100_000
)

// D104: where there is no room for a file, on a real disk or in a real bucket, the upload is refused with 503 and a text
// that says so, nothing of it is left and its quota is given back; what fits is taken; and with room again all works.
func TestFault_NoRoomForAFile(t *testing.T) {
	for name, place := range map[string]func(*testing.T) *confined{
		"folder on a full disk": func(t *testing.T) *confined {
			c := newConfined(t, nil)
			c.folder = filepath.Join(c.program.Data, "media")
			c.smallDisk(t, c.folder)
			return c
		},
		"everything on a full disk": func(t *testing.T) *confined {
			c := &confined{leave: large - 100_000, text: "no room"} // the database grows too
			path := t.TempDir()
			c.smallDisk(t, path)
			c.program = newProgram(t, filepath.Join(path, "data"), plant.None)
			c.folder = filepath.Join(c.program.Data, "media")
			return c
		},
		"folder with a limit of files": func(t *testing.T) *confined {
			c := newConfined(t, nil)
			c.folder = filepath.Join(c.program.Data, "media")
			c.limitFiles(t, func() int { return c.server.Process.Pid })
			return c
		},
		"bucket on a full disk": func(t *testing.T) *confined {
			service := s3test.Start(t)
			c := newConfined(t, service)
			c.folder = service.Objects()
			c.smallDisk(t, c.folder)
			return c
		},
		"bucket with a limit of files": func(t *testing.T) *confined {
			service := s3test.Start(t)
			c := newConfined(t, service)
			c.folder = service.Objects()
			c.limitFiles(t, service.Pid)
			c.text = "refuses" // the service says no more
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place(t).examine(t)
		})
	}
}

// confined is a program whose files have little room.
type confined struct {
	program *program
	server  *server
	folder  string // in which its files are
	leave   int64  // what a full disk leaves, in bytes
	fill    func() // takes the room away
	lift    func() // gives it back
	text    string // what a refusal says
}

// newConfined returns the program with its files in its folder or, with a service, in a bucket.
func newConfined(t *testing.T, service *s3test.Server) *confined {
	t.Helper()
	p := newProgram(t, filepath.Join(t.TempDir(), "data"), plant.None)
	if service != nil {
		p.Env = append(service.Env(), "SHEAF_MEDIA_URL="+service.URL())
	}
	return &confined{program: p, leave: room, text: "no room"}
}

// smallDisk mounts a disk of a few megabytes at the path, which something else fills.
func (c *confined) smallDisk(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	mountDisk(t, path, 12)
	other := filepath.Join(path, "other")
	c.fill = func() { leaveFree(t, path, c.leave) }
	c.lift = func() {
		if err := os.Remove(other); err != nil {
			t.Fatal(err)
		}
	}
}

// mountDisk mounts a disk of `megabytes` at the path.
func mountDisk(t *testing.T, path string, megabytes int) {
	t.Helper()
	if err := syscall.Mount("tmpfs", path, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=700", megabytes)); err != nil {
		sheaftest.Unable(t, "a tmpfs of our own needs root: "+err.Error())
	}
	t.Cleanup(func() { _ = syscall.Unmount(path, syscall.MNT_DETACH) })
}

// freeBytes returns the free bytes of the disk at the path.
func freeBytes(t *testing.T, path string) int64 {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		t.Fatal(err)
	}
	return int64(s.Bfree) * s.Bsize
}

// leaveFree writes the file `other` at the path, so that `bytes` bytes of the disk stay free.
func leaveFree(t *testing.T, path string, bytes int64) {
	t.Helper()
	other := filepath.Join(path, "other")
	_ = os.Remove(other) // the first call has none
	if err := os.WriteFile(other, make([]byte, freeBytes(t, path)-bytes), 0o600); err != nil {
		t.Fatal(err)
	}
}

// limitFiles lets no file of the process grow beyond a size, as a quota does; nobody needs to be root for it.
func (c *confined) limitFiles(t *testing.T, pid func() int) {
	t.Helper()
	limit := func(most uint64) func() {
		return func() {
			if err := unix.Prlimit(pid(), unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: most, Max: unix.RLIM_INFINITY}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.fill, c.lift = limit(large/2), limit(unix.RLIM_INFINITY)
}

// examine uploads with room, without, and with room again.
func (c *confined) examine(t *testing.T) {
	c.server = c.program.start(t)
	before := random(small)
	first := c.accepted(t, before)
	c.fill()
	had, used := c.stored(t), c.used(t)
	upload := c.begin(t, large)
	for range 3 {
		c.refused(t, http.MethodPost, "/api/v1/media?filename=large", random(large), nil)
		c.refused(t, http.MethodPatch, upload, random(large), map[string]string{"Upload-Offset": "0"})
	}
	if got := c.stored(t); got != had {
		t.Errorf("after the refusals %s are stored, before %s", got, had)
	}
	if got := c.used(t); got != used+large { // what the upload reserves
		t.Errorf("after the refusals %v bytes are used, before %v", got, used)
	}
	c.holds(t, first, before)
	fits := random(small)
	second := c.accepted(t, fits)
	c.lift()
	content := random(large)
	c.holds(t, c.accepted(t, content), content)
	if status, _, answer := c.ask(t, http.MethodPatch, upload, content, map[string]string{"Upload-Offset": "0"}); status != http.StatusNoContent {
		t.Errorf("the upload with room again: %d %s", status, answer)
	}
	c.holds(t, upload[strings.LastIndexByte(upload, '/')+1:], content)
	c.holds(t, second, fits)
	c.server.terminate(t)
	violations, err := sheaftest.DoctorWith(c.program.Env, c.program.Binary, c.program.Flags()...)
	if err != nil || len(violations) > 0 {
		t.Errorf("doctor: %v, %v", violations, err)
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

// accepted uploads a file that must be taken, and returns its id.
func (c *confined) accepted(t *testing.T, content []byte) string {
	t.Helper()
	status, _, answer := c.ask(t, http.MethodPost, "/api/v1/media", content, nil)
	if status != http.StatusCreated {
		t.Fatalf("an upload of %d bytes: %d %s", len(content), status, answer)
	}
	return idOf(answer)
}

// refused sends a file for which there is no room.
func (c *confined) refused(t *testing.T, method, path string, content []byte, headers map[string]string) {
	t.Helper()
	status, header, answer := c.ask(t, method, path, content, headers)
	var told struct{ Error, Code string }
	_ = json.Unmarshal(answer, &told) // what is no JSON has no code
	if status != http.StatusServiceUnavailable || told.Code != "UNAVAILABLE" || !strings.Contains(told.Error, c.text) || header.Get("Retry-After") == "" {
		t.Errorf("%s %s without room: %d %v %s", method, path, status, header, answer)
	}
}

// begin makes an upload of that length and returns its path.
func (c *confined) begin(t *testing.T, length int) string {
	t.Helper()
	status, header, answer := c.ask(t, http.MethodPost, "/api/v1/uploads", nil, map[string]string{"Upload-Length": fmt.Sprint(length)})
	_, path, found := strings.Cut(header.Get("Location"), "/api/")
	if status != http.StatusCreated || !found {
		t.Fatalf("begin an upload: %d %v %s", status, header, answer)
	}
	return "/api/" + path
}

func (c *confined) holds(t *testing.T, id string, want []byte) {
	t.Helper()
	status, _, got := c.ask(t, http.MethodGet, "/api/v1/media/"+id+"/content", nil, nil)
	if status != http.StatusOK || !bytes.Equal(got, want) {
		t.Errorf("%s is answered with %d and %d bytes, want %d", id, status, len(got), len(want))
	}
}

// used is what counts for the quota.
func (c *confined) used(t *testing.T) float64 {
	t.Helper()
	status, _, answer := c.ask(t, http.MethodGet, "/api/v1/me", nil, nil)
	var me struct{ Storage struct{ Used float64 } }
	if err := json.Unmarshal(answer, &me); err != nil || status != http.StatusOK {
		t.Fatalf("me: %d %s %v", status, answer, err)
	}
	return me.Storage.Used
}

// stored is how many media there are, by the server, and how many files of how many bytes where they are kept. An upload
// without any bytes may have an empty file.
func (c *confined) stored(t *testing.T) string {
	t.Helper()
	status, _, answer := c.ask(t, http.MethodGet, "/api/v1/media", nil, nil)
	var page struct{ Total int }
	if err := json.Unmarshal(answer, &page); err != nil || status != http.StatusOK {
		t.Fatalf("media: %d %s %v", status, answer, err)
	}
	files, size := 0, int64(0)
	err := filepath.WalkDir(c.folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Base(path) == "other" {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Size() > 0 {
			files, size = files+1, size+info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d media in %d files of %d bytes", page.Total, files, size)
}

// ask makes one request with bytes as they are, in the protocol of uploads where it is for these.
func (c *confined) ask(t *testing.T, method, path string, body []byte, headers map[string]string) (int, http.Header, []byte) {
	t.Helper()
	req, err := http.NewRequest(method, c.server.URL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.server.key)
	req.Header.Set("Content-Type", "application/octet-stream")
	if strings.HasPrefix(path, "/api/v1/uploads") {
		req.Header.Set("Tus-Resumable", "1.0.0")
		req.Header.Set("Content-Type", "application/offset+octet-stream")
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, answer
}
