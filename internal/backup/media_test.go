package backup_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/backup"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/migrated"
	"sheaf.dev/internal/sheaftest/s3test"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/doctor"
)

// gif returns the bytes of a picture, which differ by seed.
func gif(seed string) []byte { return []byte("GIF89a\x02\x00\x01\x00\x00\x00\x00" + seed) }

// upload stores a file and returns its id.
func upload(t *testing.T, w *apitest.Workspace, name string, content []byte) string {
	t.Helper()
	return w.Client("").POST("/api/v1/media?filename="+name, content, "Content-Type: application/octet-stream").Want(t, 201).Text(t, "id")
}

// withMedia returns a backup with the bytes of media.
func withMedia(t *testing.T, s *store.Store, files media.Store) ([]byte, backup.Count) {
	t.Helper()
	var b bytes.Buffer
	count, err := backup.Write(context.Background(), s, &b, files)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), count
}

// empty returns an empty store of the other engine.
func other(t *testing.T, a *apitest.API) *store.Store {
	t.Helper()
	if a.Options.DatabaseURL != "" {
		return migrated.Open(t, store.Options{Folder: migrated.Folder(t)})
	}
	return migrated.Open(t, store.Options{DatabaseURL: migrated.URL(t)})
}

// bucket returns a bucket that only this test uses.
func bucket(t *testing.T) media.Store {
	t.Helper()
	server := s3test.Start(t)
	files, err := media.Bucket(server.URL(), media.BucketOptions{Getenv: server.Getenv, Spool: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// restoreWithMedia restores bytes and rows.
func restoreWithMedia(t *testing.T, s *store.Store, files media.Store, b []byte) int64 {
	t.Helper()
	head, err := backup.Check(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	stored, err := backup.RestoreMedia(context.Background(), bytes.NewReader(b), files, func() error {
		_, err := backup.Restore(context.Background(), s, bytes.NewReader(b))
		return err
	})
	if err != nil || stored != head.Media {
		t.Fatalf("restored %d of %d media: %v", stored, head.Media, err)
	}
	return stored
}

// violations returns what the doctor finds, media included.
func violations(t *testing.T, s *store.Store, files media.Store, now time.Time) (found []string) {
	t.Helper()
	err := doctor.Examine(context.Background(), s, doctor.Examination{Now: now, Retention: 720 * time.Hour, Media: doctor.MediaFiles{Store: files}}, func(f doctor.Finding) {
		if !f.Information {
			found = append(found, f.String())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// bytesIn returns all media bytes of a workspace, by key.
func bytesIn(t *testing.T, files media.Store, ws sheaf.WorkspaceID) map[media.Key]string {
	t.Helper()
	out := map[media.Key]string{}
	err := files.List(context.Background(), string(ws), func(k media.Key, _ int64) error {
		c, err := files.Open(context.Background(), k)
		if err != nil {
			return err
		}
		defer c.Close()
		b, err := io.ReadAll(c)
		out[k] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// D104: from a folder to a bucket, from one engine to the other, and back, a copy has every medium with its bytes.
func TestBackup_TakesMediaAlong(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		upload(t, w, "a.gif", gif("a"))
		upload(t, w, "again.gif", gif("a"))
		upload(t, w, "large.bin", bytes.Repeat([]byte("0123456789abcdef"), 40_000)) // more than one chunk
		empty := a.Workspace(sheaf.Pro)
		upload(t, empty, "b.gif", gif("b"))
		want := bytesIn(t, a.Media, w.ID)
		first, count := withMedia(t, a.Store, a.Media)
		if count.Media != 3 || count.MediaBytes != int64(2*len(gif("a"))+640_000) || len(count.Lost) > 0 {
			t.Errorf("the backup counts %+v", count)
		}
		copied, far := other(t, a), bucket(t)
		restoreWithMedia(t, copied, far, first)
		if got := bytesIn(t, far, w.ID); !maps.Equal(got, want) {
			t.Errorf("the bucket has %d media, want %d", len(got), len(want))
		}
		if found := violations(t, copied, far, a.Clock.Now()); len(found) > 0 {
			t.Errorf("the copy: %q", found)
		}
		second, _ := withMedia(t, copied, far)
		back, near := migrated.Open(t, store.Options{Folder: migrated.Folder(t)}), media.Folder(t.TempDir())
		restoreWithMedia(t, back, near, second)
		if got := bytesIn(t, near, w.ID); !maps.Equal(got, want) || len(bytesIn(t, near, empty.ID)) != 1 {
			t.Errorf("the folder has %d media, want %d", len(got), len(want))
		}
		if found := violations(t, back, near, a.Clock.Now()); len(found) > 0 {
			t.Errorf("the copy of the copy: %q", found)
		}
	})
}

// hooked calls before, once, with each key that is opened.
type hooked struct {
	media.Store
	before func(media.Key)
}

func (h *hooked) Open(ctx context.Context, key media.Key) (media.Content, error) {
	h.before(key)
	return h.Store.Open(ctx, key)
}

// D104: a medium that is deleted between the rows and its bytes is deleted in the copy too, with its logo and what it took
// of the quota; one whose bytes were uploaded again has them.
func TestBackup_MediumDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		c := w.Client("")
		gone := upload(t, w, "gone.gif", gif("gone"))
		same := upload(t, w, "same.gif", gif("gone")) // of the same bytes
		kept := upload(t, w, "kept.gif", gif("kept"))
		again := upload(t, w, "again.gif", gif("again"))
		branding := c.POST("/api/v1/brandings", map[string]any{"name": "Acme", "logo_media_id": gone}).Want(t, 201).Text(t, "id")
		done := map[media.Key]bool{}
		files := &hooked{Store: a.Media, before: func(k media.Key) {
			if done[k] {
				return
			}
			done[k] = true
			switch k.SHA256 {
			case sha256.Sum256(gif("gone")):
				c.DELETE("/api/v1/media/"+gone).Want(t, 204)
				c.DELETE("/api/v1/media/"+same).Want(t, 204)
			case sha256.Sum256(gif("again")):
				c.DELETE("/api/v1/media/"+again).Want(t, 204)
				upload(t, w, "again.gif", gif("again"))
			}
		}}
		b, count := withMedia(t, a.Store, files)
		if count.Media != 2 || len(count.Lost) > 0 || len(done) != 3 {
			t.Errorf("the backup counts %+v, and %d were asked for", count, len(done))
		}
		copied, place := other(t, a), media.Folder(t.TempDir())
		restoreWithMedia(t, copied, place, b)
		if found := violations(t, copied, place, a.Clock.Now()); len(found) > 0 {
			t.Errorf("the copy: %q", found)
		}
		err := copied.Read(context.Background(), func(r *store.Reader) error {
			page, err := r.Media(w.ID, sheaf.MediumFilter{Paging: sheaf.Paging{Limit: 10}})
			if err != nil {
				return err
			}
			var ids []string
			for _, m := range page.Items {
				ids = append(ids, string(m.ID))
			}
			look, err := r.Branding(w.ID, sheaf.BrandingID(branding))
			if !slices.Equal(ids, []string{kept, again}) || look.LogoMediaID != nil {
				t.Errorf("the copy has %q, want %q and %q, and the logo %v", ids, kept, again, look.LogoMediaID)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// D104: what has lost its bytes, or has others, does not keep the rest from being copied: it is named, and its row is there.
func TestBackup_NamesLostMedia(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		lost, rotten := upload(t, w, "lost.gif", gif("lost")), upload(t, w, "rotten.gif", gif("rotten"))
		upload(t, w, "kept.gif", gif("kept"))
		if err := a.Media.Remove(context.Background(), media.Key{Workspace: string(w.ID), SHA256: sha256.Sum256(gif("lost"))}); err != nil {
			t.Fatal(err)
		}
		b, count := withMedia(t, a.Store, rotting{a.Media, sha256.Sum256(gif("rotten"))})
		slices.Sort(count.Lost)
		want := []string{lost + " of workspace " + string(w.ID), rotten + " of workspace " + string(w.ID)}
		slices.Sort(want)
		if count.Media != 1 || !slices.Equal(count.Lost, want) {
			t.Errorf("the backup counts %+v, want lost %q", count, want)
		}
		copied, place := other(t, a), media.Folder(t.TempDir())
		if n := restoreWithMedia(t, copied, place, b); n != 1 {
			t.Errorf("restored %d media", n)
		}
		if found := violations(t, copied, place, a.Clock.Now()); len(found) != 2 || !strings.Contains(found[0], "has no bytes") {
			t.Errorf("the copy: %q", found)
		}
	})
}

// rotting flips a bit at the end of the bytes that have that hash.
type rotting struct {
	media.Store
	hash [32]byte
}

func (r rotting) Open(ctx context.Context, key media.Key) (media.Content, error) {
	c, err := r.Store.Open(ctx, key)
	if err != nil || key.SHA256 != r.hash {
		return c, err
	}
	defer c.Close()
	b, err := io.ReadAll(c)
	b[len(b)-1] ^= 1
	return inMemory{bytes.NewReader(b)}, err
}

type inMemory struct{ *bytes.Reader }

func (m inMemory) Size() int64        { return m.Reader.Size() }
func (m inMemory) Stamp() media.Stamp { return media.Stamp{} }
func (m inMemory) Close() error       { return nil }

// D104: a backup with media is refused if a bit is flipped, its end is cut off or bytes are added, and nothing
// of it is kept: neither a row nor a byte of a medium.
func TestRestore_KeepsNoMediumOfADamagedFile(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	w := a.Workspace(sheaf.Business)
	upload(t, w, "a.gif", gif("a"))
	upload(t, w, "b.gif", gif("b"))
	good, _ := withMedia(t, a.Store, a.Media)
	place := media.Folder(t.TempDir())
	refused := func(what string, b []byte) {
		t.Helper()
		if _, err := backup.Check(bytes.NewReader(b)); err == nil {
			t.Errorf("%s: the check takes it", what)
		}
		rows := func() error { t.Errorf("%s: its rows are to be restored", what); return nil }
		if _, err := backup.RestoreMedia(context.Background(), bytes.NewReader(b), place, rows); err == nil {
			t.Errorf("%s: its media are taken", what)
		}
		if left := bytesIn(t, place, w.ID); len(left) > 0 {
			t.Fatalf("%s: %d media are left", what, len(left))
		}
	}
	for at := 0; at < 8*len(good); at += 31 {
		damaged := bytes.Clone(good)
		damaged[at/8] ^= 1 << (at % 8)
		refused(fmt.Sprintf("bit %d", at), damaged)
	}
	for cut := 1; cut < len(good); cut += 13 {
		refused(fmt.Sprintf("without the last %d bytes", cut), good[:len(good)-cut])
	}
	refused("with itself behind it", slices.Concat(good, good))
	if _, err := backup.Check(bytes.NewReader(good)); err != nil {
		t.Error(err)
	}
}

// D104: if the rows cannot be restored, the restored media are removed again, except those that were there
// before.
func TestRestore_TakesItsMediaBack(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	w := a.Workspace(sheaf.Business)
	upload(t, w, "a.gif", gif("a"))
	upload(t, w, "b.gif", gif("b"))
	good, _ := withMedia(t, a.Store, a.Media)
	place := media.Folder(t.TempDir())
	before := media.Key{Workspace: string(w.ID), SHA256: sha256.Sum256(gif("a"))}
	if err := place.Put(context.Background(), before, int64(len(gif("a"))), bytes.NewReader(gif("a"))); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("the rows are refused")
	stored, err := backup.RestoreMedia(context.Background(), bytes.NewReader(good), place, func() error {
		if n := len(bytesIn(t, place, w.ID)); n != 2 {
			t.Errorf("%d media are there before the rows", n)
		}
		return refused
	})
	if !errors.Is(err, refused) || stored != 0 {
		t.Errorf("stored %d: %v", stored, err)
	}
	if left := bytesIn(t, place, w.ID); len(left) != 1 || left[before] != string(gif("a")) {
		t.Errorf("%d media are left", len(left))
	}
}

// A successful restore has closed its spool file. No other test may restore meanwhile.
func TestRestore_LeavesNoFileOpen(t *testing.T) {
	a := apitest.SQLite(t)
	upload(t, a.Workspace(sheaf.Business), "a.gif", gif("a"))
	good, _ := withMedia(t, a.Store, a.Media)
	if _, err := backup.RestoreMedia(context.Background(), bytes.NewReader(good), media.Folder(t.TempDir()), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(open) == 0 {
		sheaftest.Unable(t, "which files are open is read in /proc")
	}
	for _, fd := range open {
		if name, _ := os.Readlink(fd); strings.Contains(name, "sheaf-media-") {
			t.Errorf("%s is open", name)
		}
	}
}

// failing is a media store that fails for reasons of its own.
type failing struct {
	media.Store
	err error
}

func (f failing) Open(context.Context, media.Key) (media.Content, error) { return nil, f.err }

// D104: while the place of media cannot be reached there is no backup: one without their bytes would not be whole.
func TestBackup_FailsWhereMediaCannotBeReached(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	upload(t, a.Workspace(sheaf.Business), "a.gif", gif("a"))
	broken := errors.New("broken")
	if _, err := backup.Write(context.Background(), a.Store, io.Discard, failing{a.Media, broken}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// zeros is a media store with one medium of zeros, which is not stored anywhere.
type zeros struct {
	media.Store
	size int64
}

func (z zeros) Open(context.Context, media.Key) (media.Content, error) {
	return inNoMemory{io.NewSectionReader(zeroReader{}, 0, z.size)}, nil
}

type zeroReader struct{}

func (zeroReader) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

type inNoMemory struct{ *io.SectionReader }

func (inNoMemory) Close() error       { return nil }
func (inNoMemory) Stamp() media.Stamp { return media.Stamp{} }

// A backup has only one chunk of a medium in memory, however large the medium is. The test does not
// run in parallel, because allocations of others would count.
func TestBackup_HoldsNoMediumInMemory(t *testing.T) {
	s := migrated.Open(t, store.Options{Folder: migrated.Folder(t)})
	fill(t, s)
	const size = 96 << 20
	sum := sha256.New()
	_, _ = io.Copy(sum, io.NewSectionReader(zeroReader{}, 0, size))
	err := s.Write(context.Background(), func(tx *store.Tx) error {
		all, err := tx.Workspaces()
		if err != nil {
			return err
		}
		m := sheaf.Medium{ID: "0198c0de-0000-7000-8000-0000000000aa", Filename: "zeros", ContentType: sheaf.Binary, Bytes: size,
			SHA256: fmt.Sprintf("%x", sum.Sum(nil)), Revision: 1, Number: 1}
		return errors.Join(tx.InsertMedium(all[0].ID, m, time.Now()), tx.PublishMedium(all[0].ID, m))
	})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	count, err := backup.Write(context.Background(), s, io.Discard, zeros{size: size})
	runtime.ReadMemStats(&after)
	if held := after.TotalAlloc - before.TotalAlloc; err != nil || count.MediaBytes != size || held > size/8 {
		t.Errorf("%d bytes were allocated for %d of media: %v", held, count.MediaBytes, err)
	}
}
