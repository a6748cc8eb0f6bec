package offsite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"

	"sheaf.dev/internal/backup"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/offsite"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/migrated"
	"sheaf.dev/internal/sheaftest/s3test"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/doctor"
)

// place is a bucket for backups, with the key that decrypts them.
type place struct {
	*offsite.Bucket
	key    *age.X25519Identity
	server *s3test.Server
}

const prefix = "sheaf/backups"

// newPlace returns a bucket on a server, whose endpoint may be another address that leads to it.
func newPlace(t *testing.T, server *s3test.Server, endpoint string, now func() time.Time) place {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	p := place{key: key, server: server}
	p.Bucket = p.to(t, endpoint, now, key.Recipient().String())
	return p
}

// to returns the bucket for these recipients.
func (p place) to(t *testing.T, endpoint string, now func() time.Time, recipients ...string) *offsite.Bucket {
	t.Helper()
	objects, err := media.OpenObjects(p.server.URL()+"/"+prefix, media.BucketOptions{Patience: 2 * time.Second, Getenv: func(name string) string {
		if name == "AWS_ENDPOINT_URL_S3" && endpoint != "" {
			return endpoint
		}
		return p.server.Getenv(name)
	}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := offsite.New(offsite.Config{Objects: objects, Recipients: recipients, Now: now, Spool: t.TempDir(), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// files returns the paths of the objects on the server's disk, by their names.
func (p place) files(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	top := filepath.Join(p.server.Objects(), prefix)
	err := filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, _ := filepath.Rel(top, path)
			found[name] = path
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// restored restores a backup into an empty store, and returns what is wrong with it.
func (p place) restored(t *testing.T, m *offsite.Manifest, o store.Options, files media.Store, now time.Time) (*store.Store, error) {
	t.Helper()
	ctx := context.Background()
	rows, err := p.Rows(ctx, m, []age.Identity{p.key})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if _, err := backup.Check(rows); err != nil {
		return nil, err
	}
	again := func() {
		if _, err := rows.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
	}
	again()
	st := migrated.Open(t, o)
	_, err = backup.RestoreMediaBeside(ctx, rows, files, p.Fetch(m, []age.Identity{p.key}), func() error {
		again()
		_, err := backup.Restore(ctx, st, rows)
		return err
	})
	if err != nil {
		return st, err
	}
	return st, doctor.Examine(ctx, st, doctor.Examination{Now: now, Retention: 720 * time.Hour, Media: doctor.MediaFiles{Store: files,
		Verify: func(ctx context.Context, k media.Key) error { return media.Verify(ctx, files, k) }}}, func(f doctor.Finding) {
		if !f.Information {
			t.Errorf("the restored copy: %s", &f)
		}
	})
}

func upload(t *testing.T, w *apitest.Workspace, content string) (id string) {
	t.Helper()
	return w.Client("").POST("/api/v1/media?filename=a.txt", []byte(content), "Content-Type: application/octet-stream").Want(t, 201).Text(t, "id")
}

func write(t *testing.T, b *offsite.Bucket, a *apitest.API) *offsite.Manifest {
	t.Helper()
	m, count, err := b.Write(context.Background(), a.Store, a.Media)
	if err != nil || len(count.Lost) > 0 {
		t.Fatalf("write a backup: %v, lost %v", err, count.Lost)
	}
	return m
}

// large is more than what is encrypted in memory, and no multiple of age's chunks.
var large = strings.Repeat("0123456789abcdef", 80_000) + "end"

// D209: from one engine to the other, in several pieces, with media, which are sent once. Debian's age decrypts both.
func TestWrite_IsReadByAgeAndByUs(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		p := newPlace(t, s3test.Start(t), "", a.Clock.Now)
		p.SetPiece(700)
		w := a.Workspace(sheaf.Business)
		w.Client("").POST("/api/v1/documents", map[string]any{"title": "canary-title", "content": "canary-text"}).Want(t, 201)
		upload(t, w, "canary-medium")
		upload(t, w, large)
		upload(t, a.Workspace(sheaf.Pro), "canary-medium")
		m := write(t, p.Bucket, a)
		if m.Media != 3 || m.MediaSent != 3 || len(m.Pieces) < 2 {
			t.Errorf("the first backup is %+v", m)
		}
		upload(t, w, "another")
		for name, path := range p.files(t) { // one object that was cut short is sent again
			if strings.HasPrefix(name, "media/") {
				if err := os.Truncate(path, 100); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
		second := write(t, p.Bucket, a)
		if second.Media != 4 || second.MediaSent != 2 {
			t.Errorf("the second backup sent %d of %d media", second.MediaSent, second.Media)
		}
		other := store.Options{Folder: migrated.Folder(t)}
		if a.Options.DatabaseURL == "" {
			other = store.Options{DatabaseURL: migrated.URL(t)}
		}
		if _, err := p.restored(t, second, other, media.Folder(t.TempDir()), a.Clock.Now()); err != nil {
			t.Errorf("restore: %v", err)
		}
		byAge(t, p, second)
	})
}

// byAge decrypts a backup with Debian's age, and looks for plain text in the bucket.
func byAge(t *testing.T, p place, m *offsite.Manifest) {
	t.Helper()
	if _, err := exec.LookPath("age"); err != nil {
		sheaftest.Unable(t, "the test needs Debian's package age")
	}
	identity := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(identity, []byte(p.key.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	decrypt := func(encrypted []byte) []byte {
		cmd := exec.Command("age", "-d", "-i", identity)
		cmd.Stdin = bytes.NewReader(encrypted)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("age: %v", err)
		}
		return out
	}
	var rows []byte
	read := map[string]bool{}
	files := p.files(t)
	for _, name := range slices.Sorted(mapKeys(files)) {
		content, err := os.ReadFile(files[name])
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte("canary")) || bytes.Contains(content, []byte("0123456789abcdef0123456789abcdef")) {
			t.Errorf("%s has plain text", name)
		}
		switch {
		case strings.HasPrefix(name, "backups/"+m.Stamp+"/rows-"):
			rows = append(rows, content...)
		case strings.HasPrefix(name, "media/"):
			read[string(decrypt(content))] = true
		}
	}
	head, err := backup.Check(bytes.NewReader(decrypt(rows)))
	if err != nil || !head.MediaBeside() || head.Media != 4 {
		t.Errorf("what age decrypted is %+v: %v", head, err)
	}
	if !read["canary-medium"] || !read[large] || !read["another"] || len(read) != 3 {
		t.Errorf("age decrypted %d other media", len(read))
	}
}

func mapKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// D209: whichever bit of an object is flipped, and wherever it is cut, the backup is refused with the name of the object.
// The restore leaves nothing, and the undamaged backup is still accepted.
func TestRestore_RefusesEveryDamageWithItsPlace(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	p := newPlace(t, s3test.Start(t), "", a.Clock.Now)
	w := a.Workspace(sheaf.Business)
	upload(t, w, "one")
	upload(t, w, strings.Repeat("two ", 40_000)) // three of age's chunks
	p.SetPiece(2_000)
	stamp := write(t, p.Bucket, a).Stamp
	into := t.TempDir()
	try := func() error {
		m, err := p.Find(context.Background(), "")
		if err != nil {
			return err
		}
		folder, err := os.MkdirTemp(into, "")
		if err != nil {
			t.Fatal(err)
		}
		files := media.Folder(filepath.Join(folder, "media"))
		_, err = p.restored(t, m, store.Options{Folder: migrated.Folder(t)}, files, a.Clock.Now())
		if err != nil {
			if err := files.Workspaces(context.Background(), func(ws string) error {
				return files.List(context.Background(), ws, func(media.Key, int64) error { return errors.New("a medium was left") })
			}); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
		}
		return err
	}
	for name, path := range p.files(t) {
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		damaged := map[string][]byte{"cut by one byte": good[:len(good)-1], "cut in half": good[:len(good)/2], "empty": {}, "longer": append(slices.Clone(good), 0)}
		for i := range 3 {
			at := (i*len(good)/3 + 7*i) % len(good)
			flipped := slices.Clone(good)
			flipped[at] ^= 1 << (i % 8)
			damaged[fmt.Sprintf("bit %d of byte %d", i%8, at)] = flipped
		}
		for how, content := range damaged {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := try(); err == nil || !strings.Contains(err.Error(), name) && !strings.Contains(err.Error(), hashIn(name)) {
				t.Errorf("%s, %s: %v", name, how, err)
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := try(); err == nil || !strings.Contains(err.Error(), name) && !errors.Is(err, offsite.ErrNone) {
			t.Errorf("%s is missing: %v", name, err)
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := try(); err != nil {
		t.Errorf("the undamaged backup %s: %v", stamp, err)
	}
	other, _ := age.GenerateX25519Identity()
	m, _ := p.Find(context.Background(), stamp)
	if _, err := p.Rows(context.Background(), m, []age.Identity{other}); err == nil || !strings.Contains(err.Error(), "other recipients") {
		t.Errorf("another key: %v", err)
	}
}

// hashIn returns the hash in the name of a medium. An error about bytes that decrypt, but are others, has it.
func hashIn(name string) string { return strings.TrimSuffix(filepath.Base(name), ".age") }

// D209: whatever is uploaded and deleted between backups, with whatever is kept, every backup that stays can be restored
// with all its media, and media that no backup needs leave the bucket.
func TestTidy_KeepsWhatTheBackupsNeed(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	p := newPlace(t, s3test.Start(t), "", func() time.Time { return now })
	first := p.key.Recipient().String()
	random := rand.New(rand.NewPCG(1, 2))
	workspaces := []*apitest.Workspace{a.Workspace(sheaf.Business), a.Workspace(sheaf.Business)}
	type medium struct {
		w       *apitest.Workspace
		id      string
		content string
	}
	var live []medium
	remove := func(i int) {
		live[i].w.Client("").DELETE("/api/v1/media/"+live[i].id).Want(t, 204)
		live = slices.Delete(live, i, i+1)
	}
	for round := range 9 {
		for range 3 {
			w := workspaces[random.IntN(2)]
			content := fmt.Sprintf("content %d", random.IntN(6)) // the same bytes come again
			live = append(live, medium{w, upload(t, w, content), content})
		}
		for len(live) > 0 && random.IntN(3) > 0 {
			remove(random.IntN(len(live)))
		}
		b := p.Bucket
		if round == 4 { // another operator has a key too
			second, _ := age.GenerateX25519Identity()
			p.Bucket = p.to(t, "", func() time.Time { return now }, first, second.Recipient().String())
			b = p.Bucket
		}
		m := write(t, b, a)
		keep := offsite.Keep{Count: 1 + random.IntN(3), Age: time.Duration(random.IntN(3)) * 24 * time.Hour}
		if _, err := b.Tidy(context.Background(), m, keep); err != nil {
			t.Fatal(err)
		}
		var kept int
		err := b.List(context.Background(), func(stamp string, m *offsite.Manifest, damaged error) error {
			kept++
			if damaged != nil {
				return damaged
			}
			_, err := p.restored(t, m, store.Options{Folder: migrated.Folder(t)}, media.Folder(t.TempDir()), a.Clock.Now())
			return err
		})
		if err != nil || kept < min(round+1, 1) {
			t.Fatalf("round %d: %d backups are kept: %v", round, kept, err)
		}
		now = now.Add(24 * time.Hour)
	}
	// Bytes that were deleted and have come again are needed again.
	live = append(live, medium{workspaces[0], upload(t, workspaces[0], "comes again"), ""})
	for round := range 3 {
		m := write(t, p.Bucket, a)
		if _, err := p.Tidy(context.Background(), m, offsite.Keep{Count: 2}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.restored(t, m, store.Options{Folder: migrated.Folder(t)}, media.Folder(t.TempDir()), a.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(24 * time.Hour)
		switch round {
		case 0:
			remove(len(live) - 1)
		case 1:
			live = append(live, medium{workspaces[0], upload(t, workspaces[0], "comes again"), ""})
		}
	}
	for len(live) > 0 {
		remove(0)
	}
	for range 2 { // the first marks what is not needed any more
		m := write(t, p.Bucket, a)
		if _, err := p.Tidy(context.Background(), m, offsite.Keep{Count: 1}); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Hour)
	}
	for name := range p.files(t) {
		if !strings.HasPrefix(name, "backups/") {
			t.Errorf("%s is left, and no medium is live", name)
		}
	}
}

// D209: a bucket that answers with other objects than it has stored, is full, hangs or is down makes Write fail in the end. A
// backup that was there stays, and the next attempt succeeds.
func TestWrite_TroubleWithTheBucket(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	server := s3test.Start(t)
	target, _ := url.Parse("http://" + server.Address())
	var trouble atomic.Value // of func(w, r) (handled bool)
	var changed atomic.Bool
	trouble.Store("none")
	release := make(chan struct{})
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host }, ModifyResponse: func(r *http.Response) error {
		if trouble.Load() == "another object" && r.Request.Method == "GET" && strings.HasSuffix(r.Request.URL.Path, ".age") {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			b[len(b)/2]++
			r.Body = io.NopCloser(bytes.NewReader(b))
			changed.Store(true)
		}
		return nil
	}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch trouble.Load() {
		case "full":
			if r.Method == "PUT" {
				w.WriteHeader(http.StatusInsufficientStorage)
				return
			}
		case "hangs":
			_, _ = io.Copy(io.Discard, r.Body)
			<-release
			return
		case "down":
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	t.Cleanup(func() { close(release) })
	p := newPlace(t, server, front.URL, a.Clock.Now)
	w := a.Workspace(sheaf.Business)
	upload(t, w, "one")
	good := write(t, p.Bucket, a)
	for _, what := range []string{"another object", "full", "hangs", "down"} {
		upload(t, w, what)
		trouble.Store(what)
		if m, _, err := p.Write(context.Background(), a.Store, a.Media); err == nil || m != nil {
			t.Errorf("%s: the backup %v is believed", what, m)
		}
		trouble.Store("none")
		if m, err := p.Find(context.Background(), ""); err != nil || m.Stamp != good.Stamp {
			t.Errorf("%s: the newest backup is %+v, %v; want %s", what, m, err, good.Stamp)
		}
	}
	if !changed.Load() {
		t.Error("no object was changed on its way")
	}
	m := write(t, p.Bucket, a)
	if _, err := p.restored(t, m, store.Options{Folder: migrated.Folder(t)}, media.Folder(t.TempDir()), a.Clock.Now()); err != nil {
		t.Errorf("the backup after the trouble: %v", err)
	}
	// What the bucket does not list is not believed to be there, and nothing else is removed.
	if _, err := p.Tidy(context.Background(), &offsite.Manifest{Stamp: "20990101T000000.000Z-00000000"}, offsite.Keep{Count: 1}); err == nil {
		t.Error("old backups were removed without a newer one")
	}
	if _, err := p.Find(context.Background(), good.Stamp); err != nil {
		t.Errorf("the first backup: %v", err)
	}
}
