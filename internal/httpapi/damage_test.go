package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/proof"
	"sheaf.dev/internal/store"
)

// If a byte of the file changes by itself, before the start or while a server runs, that is
// harmless or reported: every answer with 200 has what was written.
func TestDamage_IsNeverServedAsAWrong200(t *testing.T) {
	t.Parallel()
	d := newDamaged(t, apitest.SQLite(t))
	chance := rand.New(rand.NewPCG(6, 7))
	var atStart, serving verdicts
	for n := range proof.Rounds(6, 300, 3000) { // watched for races, one takes three seconds
		d.file = d.files[n%len(d.files)]
		at, mask := chance.Int64N(int64(len(d.file))), byte(1+chance.IntN(255))
		atStart.add(d.start(t, at, mask))
		serving.add(d.serve(t, at, mask))
	}
	plain := newDamaged(t, apitest.Open(t, store.Options{Folder: unchecked(t)}))
	proof.Row{
		Name: "damaged file, SQLite",
		Figures: []proof.Figure{{Name: "flips", Value: atStart.all()}, {Name: "pages", Value: len(d.file) / 4096},
			{Name: "files, as we left it and as other programs did", Value: len(d.files)},
			{Name: "at rest, refused at the start", Value: atStart.reported}, {Name: "under a server, reported", Value: serving.reported},
			{Name: "harmless", Value: atStart.harmless + serving.harmless}, {Name: "wrong 200", Value: atStart.wrong + serving.wrong}},
		Lost:    atStart.wrong + serving.wrong,
		Control: "one flip in a file without checksums", Caught: plain.servesAny(t, marker),
	}.Report(t)
	if atStart.reported == 0 || serving.reported == 0 {
		t.Errorf("reported %d and %d: the flips hit nothing", atStart.reported, serving.reported)
	}
}

type verdict int

const (
	harmless verdict = iota // every answer is what was written
	reported                // a refused start, or a 503
	wrong                   // a 200 with something else
)

type verdicts struct{ harmless, reported, wrong int }

func (v *verdicts) add(found verdict) {
	switch found {
	case harmless:
		v.harmless++
	case reported:
		v.reported++
	default:
		v.wrong++
	}
}

func (v *verdicts) all() int { return v.harmless + v.reported + v.wrong }

// damaged is a database without a server, and the answers of a server while the database is undamaged.
type damaged struct {
	file  []byte
	files [][]byte // as our own stop left it, as sqlite3 left it after a kill, and its copy of that
	key   string
	truth map[string]string // path → body
}

const marker = "the text that the control changes"

// newDamaged fills the store of a, remembers what it answers, and closes it.
func newDamaged(t *testing.T, a *apitest.API) *damaged {
	t.Helper()
	ws := a.Workspace(sheaf.Business)
	d := &damaged{key: ws.Key(), truth: map[string]string{}}
	c := a.Client(d.key)
	fillFile(t, c)
	for _, path := range pathsOf(t, c) {
		d.truth[path] = string(c.GET(path).Want(t, 200).Body)
	}
	killed, err := os.ReadFile(filepath.Join(a.Options.Folder, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(a.Options.Folder, store.FileName+"-wal"))
	if err != nil {
		t.Fatal(err)
	}
	a.CloseStores()
	if d.file, err = os.ReadFile(filepath.Join(a.Options.Folder, store.FileName)); err != nil {
		t.Fatal(err)
	}
	d.files = append(visited(t, killed, log), d.file)
	return d
}

// visited has Debian's sqlite3 open what a killed server left, which brings the log into the file,
// and copy it.
func visited(t *testing.T, file, log []byte) (files [][]byte) {
	t.Helper()
	if _, err := exec.LookPath("sqlite3"); err != nil && os.Getenv(sheaftest.EnvRequire) != "1" {
		t.Log("without sqlite3: no file is as another program leaves it")
		return nil
	}
	folder := t.TempDir()
	path, copied := filepath.Join(folder, store.FileName), filepath.Join(folder, "copy.db")
	err := errors.Join(os.WriteFile(path, file, 0o600), os.WriteFile(path+"-wal", log, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sqlite3", path, "SELECT count(*) FROM projects", ".backup "+copied).CombinedOutput(); err != nil {
		t.Fatalf("sqlite3: %v, %s", err, out)
	}
	if _, err := os.Stat(path + "-wal"); err == nil {
		t.Fatal("sqlite3 left the log")
	}
	for _, name := range []string{path, copied} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, b)
	}
	return files
}

func fillFile(t *testing.T, c *apitest.Client) {
	t.Helper()
	folder := c.POST("/api/v1/folders", `{"name":"Products","entity_type":"project"}`).Want(t, 201).Text(t, "id")
	for i := range 30 {
		long := strings.Repeat(fmt.Sprintf("%d: %s. ", i, marker), 1+i)
		project := c.POST("/api/v1/projects", map[string]any{"name": fmt.Sprintf("Handbook %d", i), "description": long[:min(len(long), 1000)],
			"folder_id": folder}).Want(t, 201).Text(t, "id")
		document := c.POST("/api/v1/documents", map[string]any{"title": fmt.Sprintf("Chapter %d", i), "description": long[:min(len(long), 2000)],
			"project_id": project}).Want(t, 201).Text(t, "id")
		c.PATCH("/api/v1/documents/"+document, map[string]any{"title": fmt.Sprintf("Chapter %d, revised", i)}).Want(t, 200)
	}
}

// pathsOf lists every page and every single resource.
func pathsOf(t *testing.T, c *apitest.Client) (paths []string) {
	t.Helper()
	for _, list := range []string{"/api/v1/projects", "/api/v1/folders", "/api/v1/documents", "/api/v1/events"} {
		for _, id := range c.GET(list+"?limit=100").Want(t, 200).IDs(t) {
			paths = append(paths, list+"/"+id)
		}
		paths = append(paths, list+"?limit=100")
	}
	return append(paths, "/api/v1/projects?sort=name", "/api/v1/documents?q=revised", "/api/v1/projects?sort=updated_at&order=desc",
		"/api/v1/documents?sort=title", "/api/v1/api-keys")
}

// start damages the file at rest, and then asks a server of it.
func (d *damaged) start(t *testing.T, at int64, mask byte) verdict {
	t.Helper()
	folder := d.copy(t)
	flip(t, folder, at, mask)
	s, err := store.Open(context.Background(), store.Options{Folder: folder})
	if err != nil {
		return reported
	}
	s.Close()
	return d.judge(t, apitest.Open(t, store.Options{Folder: folder}))
}

// serve damages the file under a server that has opened it whole.
func (d *damaged) serve(t *testing.T, at int64, mask byte) verdict {
	t.Helper()
	folder := d.copy(t)
	a := apitest.Open(t, store.Options{Folder: folder})
	flip(t, folder, at, mask)
	return d.judge(t, a)
}

func (d *damaged) judge(t *testing.T, a *apitest.API) verdict {
	t.Helper()
	defer a.CloseStores()
	found := harmless
	for path, body := range d.truth {
		switch status, got := d.get(t, a.Server, path); {
		case status == 503:
			found = reported
		case status != 200 || got != body:
			return wrong
		}
	}
	return found
}

// get asks without the checks of our own client, which take longer than the answer.
func (d *damaged) get(t *testing.T, s *httptest.Server, path string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+d.key)
	res, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// servesAny reports whether a change in one of the places of text is served as a wrong 200.
func (d *damaged) servesAny(t *testing.T, text string) bool {
	t.Helper()
	for at := 0; ; at++ {
		next := bytes.Index(d.file[at:], []byte(text))
		if next < 0 {
			return false
		}
		if at += next; d.serve(t, int64(at), 1) == wrong {
			return true
		}
	}
}

func (d *damaged) copy(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, store.FileName), d.file, 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func flip(t *testing.T, folder string, at int64, mask byte) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(folder, store.FileName), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= mask
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

// unchecked returns a folder with a migrated file that has no checksums: it was begun by SQLite
// itself.
func unchecked(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	c, err := sqlite.OpenConn(filepath.Join(folder, store.FileName), sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	err = sqlitex.ExecuteTransient(c, "PRAGMA application_id = 0x53484541", nil)
	if closing := c.Close(); err != nil || closing != nil {
		t.Fatal(err, closing)
	}
	if err := store.Migrate(context.Background(), store.Options{Folder: folder}); err != nil {
		t.Fatal(err)
	}
	return folder
}
