package media_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"

	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/s3test"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

const workspace = "01a1e2e6-5a47-7a5d-b17c-1eb6392c5b37"

// stores runs a test on both stores, which make the same promises.
func stores(t *testing.T, test func(t *testing.T, s media.Store)) {
	t.Helper()
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		test(t, media.Folder(filepath.Join(t.TempDir(), "media")))
	})
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		test(t, bucketOf(t, s3test.Start(t), 0))
	})
}

func bucketOf(t *testing.T, server *s3test.Server, patience time.Duration) media.Store {
	t.Helper()
	s, err := media.Bucket(server.URL()+"/some/prefix", media.BucketOptions{Getenv: server.Getenv, Spool: t.TempDir(), Patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sample returns bytes, the same for the same seed, and their key.
func sample(seed uint64, size int) ([]byte, media.Key) {
	b := make([]byte, size)
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = random.Read(b)
	return b, keyOf(b)
}

func keyOf(b []byte) media.Key { return media.Key{Workspace: workspace, SHA256: sha256.Sum256(b)} }

func put(t *testing.T, s media.Store, b []byte) media.Key {
	t.Helper()
	key := keyOf(b)
	if err := s.Put(t.Context(), key, int64(len(b)), bytes.NewReader(b)); err != nil {
		t.Fatalf("put: %v", err)
	}
	return key
}

func read(t *testing.T, s media.Store, key media.Key) []byte {
	t.Helper()
	c, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer c.Close()
	b, err := io.ReadAll(c)
	if err != nil || int64(len(b)) != c.Size() {
		t.Fatalf("read %d bytes of %d: %v", len(b), c.Size(), err)
	}
	return b
}

// listed returns the contents of the workspace, by hash.
func listed(t *testing.T, s media.Store) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	err := s.List(t.Context(), workspace, func(k media.Key, size int64) error {
		if k.Workspace != workspace {
			t.Errorf("a key of workspace %q is listed", k.Workspace)
		}
		out[k.Hash()] = size
		return nil
	})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return out
}

// empty fails the test if the store has anything.
func empty(t *testing.T, s media.Store) {
	t.Helper()
	if got := listed(t, s); len(got) > 0 {
		t.Errorf("something was kept: %v", got)
	}
	if n, err := s.Tidy(t.Context(), time.Now().Add(time.Hour)); n > 0 || err != nil {
		t.Errorf("%d unfinished files were left, %v", n, err)
	}
}

func TestStore_KeepsBytesUntilTheyAreRemoved(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s media.Store) {
		small, _ := sample(1, 1)
		large, _ := sample(2, 1<<20+17)
		keys := []media.Key{put(t, s, small), put(t, s, large), put(t, s, large)}
		if got := read(t, s, keys[0]); !bytes.Equal(got, small) {
			t.Error("the small one came back different")
		}
		if got := read(t, s, keys[1]); !bytes.Equal(got, large) {
			t.Error("the large one came back different")
		}
		if want := map[string]int64{keys[0].Hash(): 1, keys[1].Hash(): 1<<20 + 17}; !maps.Equal(listed(t, s), want) {
			t.Errorf("listed %v, want %v", listed(t, s), want)
		}
		var workspaces []string
		if err := s.Workspaces(t.Context(), func(w string) error { workspaces = append(workspaces, w); return nil }); err != nil || !slices.Equal(workspaces, []string{workspace}) {
			t.Errorf("workspaces %v, %v", workspaces, err)
		}
		for range 2 { // the second finds nothing
			if err := s.Remove(t.Context(), keys[1]); err != nil {
				t.Errorf("remove: %v", err)
			}
		}
		if _, err := s.Open(t.Context(), keys[1]); !errors.Is(err, media.ErrNotFound) {
			t.Errorf("open what was removed: %v", err)
		}
		if got := read(t, s, keys[0]); !bytes.Equal(got, small) {
			t.Error("the other one is not as it was")
		}
	})
}

func TestStore_AnotherWorkspaceHasItsOwn(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s media.Store) {
		b, _ := sample(3, 100)
		key := put(t, s, b)
		key.Workspace = "another"
		if _, err := s.Open(t.Context(), key); !errors.Is(err, media.ErrNotFound) {
			t.Errorf("open in another workspace: %v", err)
		}
		if err := s.Put(t.Context(), key, 100, bytes.NewReader(b)); err != nil {
			t.Fatal(err)
		}
		if err := s.Remove(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if got := read(t, s, keyOf(b)); !bytes.Equal(got, b) {
			t.Error("removed with that of another workspace")
		}
	})
}

// Bytes that do not match are not kept, and the error does not blame the store.
func TestStore_KeepsNothingOfWhatDiffers(t *testing.T) {
	t.Parallel()
	broken := errors.New("the client has left")
	b, key := sample(4, 300_000)
	other, _ := sample(5, 300_000)
	of := func(parts ...[]byte) io.Reader { return bytes.NewReader(bytes.Join(parts, nil)) }
	stores(t, func(t *testing.T, s media.Store) {
		cases := map[string]struct {
			r    io.Reader
			size int64
			want error
		}{
			"too few":       {of(b[:299_999]), 300_000, media.ErrDiffers},
			"too many":      {of(b, []byte{0}), 300_000, media.ErrDiffers},
			"none":          {of(), 300_000, media.ErrDiffers},
			"size zero":     {of(b), 0, media.ErrDiffers},
			"another hash":  {of(other), 300_000, media.ErrDiffers},
			"one bit":       {of(b[:299_999], []byte{b[299_999] ^ 1}), 300_000, media.ErrDiffers},
			"a short size":  {of(b), 299_999, media.ErrDiffers},
			"a broken read": {io.MultiReader(of(b[:200_000]), iotest.ErrReader(broken)), 300_000, broken},
		}
		for name, c := range cases {
			if err := s.Put(t.Context(), key, c.size, c.r); !errors.Is(err, c.want) || media.Unavailable(err) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
		empty(t, s)
	})
}

// Bytes that the caller has hashed are stored as they are, but counted: of too few or too many,
// nothing is kept.
func TestStore_CountsBytesThatAreHashed(t *testing.T) {
	t.Parallel()
	b, key := sample(4, 300_000)
	stores(t, func(t *testing.T, s media.Store) {
		for name, wrong := range map[string][]byte{"none": nil, "too few": b[:299_999], "too many": append(slices.Clip(b), 0)} {
			if err := s.Put(t.Context(), key, 300_000, media.Hashed{Reader: bytes.NewReader(wrong)}); !errors.Is(err, media.ErrDiffers) {
				t.Errorf("%s: %v", name, err)
			}
		}
		empty(t, s)
		if err := s.Put(t.Context(), key, 300_000, media.Hashed{Reader: bytes.NewReader(b)}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(read(t, s, key), b) {
			t.Error("came back different")
		}
	})
}

func TestStore_ReadersOfAllKindsAreRight(t *testing.T) {
	t.Parallel()
	b, key := sample(6, 100_000)
	stores(t, func(t *testing.T, s media.Store) {
		for _, r := range []io.Reader{iotest.OneByteReader(bytes.NewReader(b)), iotest.DataErrReader(bytes.NewReader(b)), iotest.HalfReader(bytes.NewReader(b))} {
			if err := s.Put(t.Context(), key, int64(len(b)), r); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(read(t, s, key), b) {
				t.Error("came back different")
			}
		}
	})
}

func TestStore_TheSameBytesAtOnce(t *testing.T) {
	t.Parallel()
	b, key := sample(7, 200_000)
	stores(t, func(t *testing.T, s media.Store) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := s.Put(t.Context(), key, int64(len(b)), bytes.NewReader(b)); err != nil {
					t.Errorf("put: %v", err)
				}
				c, err := s.Open(t.Context(), key)
				if err != nil {
					t.Errorf("open: %v", err)
					return
				}
				defer c.Close()
				if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, b) {
					t.Errorf("read %d bytes, %v", len(got), err)
				}
			})
		}
		all.Wait()
		if got := listed(t, s); len(got) != 1 {
			t.Errorf("listed %v", got)
		}
	})
}

// The content serves ranges as http.ServeContent asks for them.
func TestStore_ContentIsServedInRanges(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s media.Store) {
		b, _ := sample(8, 70_000)
		key := put(t, s, b)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, err := s.Open(r.Context(), key)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			http.ServeContent(w, r, "", time.Time{}, c)
		}))
		defer server.Close()
		client := server.Client()
		defer client.CloseIdleConnections()
		for header, want := range map[string][]byte{"": b, "bytes=0-0": b[:1], "bytes=100-199": b[100:200], "bytes=69990-": b[69990:], "bytes=-5": b[69995:]} {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
			if header != "" {
				req.Header.Set("Range", header)
			}
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes, %v", header, len(got), err)
			}
		}
	})
}

// Every method refuses names that lead out of the store.
func TestStore_NamesAreOneElementOfAPath(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s media.Store) {
		for _, name := range []string{"", ".", "..", "../x", "a/b", `a\b`, "a\x00", "-rf", strings.Repeat("a", 81)} {
			key := media.Key{Workspace: name}
			_, opened := s.Open(t.Context(), key)
			_, appended := s.Append(t.Context(), name, media.Progress{}, strings.NewReader("x"))
			for act, err := range map[string]error{
				"put":  s.Put(t.Context(), key, 0, strings.NewReader("")),
				"open": opened, "append": appended,
				"remove":  s.Remove(t.Context(), key),
				"list":    s.List(t.Context(), name, func(media.Key, int64) error { return nil }),
				"abandon": s.Abandon(t.Context(), name),
				"join":    s.Join(t.Context(), name, media.Progress{}, media.Key{Workspace: workspace}),
			} {
				if err == nil || media.Unavailable(err) {
					t.Errorf("%s %q: %v", act, name, err)
				}
			}
		}
	})
}

func TestStore_ListEndsWithTheCallersError(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	stores(t, func(t *testing.T, s media.Store) {
		for seed := range uint64(3) {
			b, _ := sample(seed, 10)
			put(t, s, b)
		}
		n := 0
		err := s.List(t.Context(), workspace, func(media.Key, int64) error { n++; return enough })
		if !errors.Is(err, enough) || n != 1 {
			t.Errorf("%v after %d", err, n)
		}
	})
}

func TestStore_AContextThatHasEnded(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s media.Store) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		b, key := sample(9, 1000)
		if err := s.Put(ctx, key, 1000, bytes.NewReader(b)); !errors.Is(err, context.Canceled) {
			t.Errorf("put: %v", err)
		}
		empty(t, s)
	})
}

// A folder that cannot be written is unavailable. When it can be written again, nothing incomplete
// is there.
func TestFolder_ADiskThatRefuses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "media")
	if err := os.WriteFile(path, nil, 0o600); err != nil { // no folder
		t.Fatal(err)
	}
	s := media.Folder(path)
	b, key := sample(10, 1000)
	if err := s.Put(t.Context(), key, 1000, bytes.NewReader(b)); !media.Unavailable(err) {
		t.Errorf("put: %v", err)
	}
	if p, err := s.Append(t.Context(), "one", media.Progress{}, bytes.NewReader(b)); !media.Unavailable(err) || p.Offset != 0 {
		t.Errorf("append: %v, %v", p, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	put(t, s, b)
	if err := os.RemoveAll(path); err != nil { // while the store remembers it
		t.Fatal(err)
	}
	_ = s.Put(t.Context(), key, 1000, bytes.NewReader(b))
	put(t, s, b)
}

// What a killed process left in staging is removed when it is old, and is in no list before that.
func TestFolder_TidyRemovesWhatIsOld(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "media")
	s := media.Folder(path)
	b, _ := sample(11, 1000)
	key := put(t, s, b)
	old := filepath.Join(path, "staging", "left")
	if err := errors.Join(os.WriteFile(old, b[:500], 0o600), os.Chtimes(old, time.Unix(1000, 0), time.Unix(1000, 0))); err != nil {
		t.Fatal(err)
	}
	if got := listed(t, s); len(got) != 1 {
		t.Errorf("listed %v", got)
	}
	if n, err := s.Tidy(t.Context(), time.Unix(1000, 0)); n != 0 || err != nil {
		t.Errorf("not old enough: %d, %v", n, err)
	}
	if n, err := s.Tidy(t.Context(), time.Unix(1001, 0)); n != 1 || err != nil {
		t.Errorf("old enough: %d, %v", n, err)
	}
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it is still there")
	}
	if !bytes.Equal(read(t, s, key), b) {
		t.Error("what is stored is not as it was")
	}
}

func TestShared_OnlyABucketIs(t *testing.T) {
	t.Parallel()
	if media.Folder(t.TempDir()).Shared() {
		t.Error("a folder is not")
	}
	b, err := media.Bucket("s3://bucket", media.BucketOptions{})
	if err != nil || !b.Shared() {
		t.Errorf("a bucket is: %v", err)
	}
}
