package media_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaftest/s3test"
)

// refused calls each method of the store, all at once, and reports those that do not return
// Unavailable.
func refused(t *testing.T, s media.Store, key media.Key, b []byte, at media.Progress) {
	t.Helper()
	nothing := func(string) error { return nil }
	var all sync.WaitGroup
	for act, do := range map[string]func() error{
		"put":        func() error { return s.Put(t.Context(), key, int64(len(b)), bytes.NewReader(b)) },
		"open":       func() error { _, err := s.Open(t.Context(), key); return err },
		"remove":     func() error { return s.Remove(t.Context(), key) },
		"list":       func() error { return s.List(t.Context(), workspace, func(media.Key, int64) error { return nil }) },
		"workspaces": func() error { return s.Workspaces(t.Context(), nothing) },
		"uploads":    func() error { return s.Uploads(t.Context(), nothing) },
		"join":       func() error { return s.Join(t.Context(), "one", at, keyOf(b)) },
		"abandon":    func() error { return s.Abandon(t.Context(), "one") },
		"tidy":       func() error { _, err := s.Tidy(t.Context(), time.Now()); return err },
		"append": func() error {
			next, err := s.Append(t.Context(), "one", at, bytes.NewReader(b))
			if next.Offset != at.Offset {
				t.Errorf("%d bytes more are said to be kept", next.Offset-at.Offset)
			}
			return err
		},
	} {
		all.Go(func() {
			if err := do(); !media.Unavailable(err) || errors.Is(err, media.ErrNotFound) {
				t.Errorf("%s: %v", act, err)
			}
		})
	}
	all.Wait()
}

// A service that is killed, or that accepts connections and never answers, is unavailable within a
// few times its patience. When it is back, everything works, and what it stored is there.
func TestBucket_AServiceThatIsGoneOrSilent(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	s, hasty := bucketOf(t, server, 0), bucketOf(t, server, 200*time.Millisecond)
	b, _ := sample(30, 6<<20) // more than sockets buffer
	key := put(t, s, b)
	at, err := s.Append(t.Context(), "one", media.Progress{}, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	server.Stop()
	refused(t, s, key, b, at)
	server.Restart()
	if !bytes.Equal(read(t, s, key), b) {
		t.Error("what was stored is not there after a restart")
	}
	server.Freeze()
	refused(t, hasty, key, b, at)
	server.Restart() // it would still carry out what it was sent, including removals
	if err := s.Join(t.Context(), "one", at, key); err != nil {
		t.Errorf("join after the silence: %v", err)
	}
	if !bytes.Equal(read(t, s, key), b) {
		t.Error("what was stored is not there after a silence")
	}
}

// A service that died after it removed the last part of an upload, and before it removed the
// folder, may show that folder. It is not an upload, whatever else there is.
func TestBucket_AnEmptyFolderIsNoUpload(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	s := bucketOf(t, server, 0)
	b, _ := sample(31, 1000)
	for _, upload := range []string{"one", "two"} {
		at, err := s.Append(t.Context(), upload, media.Progress{}, bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Append(t.Context(), upload, at, bytes.NewReader(b)); err != nil { // a second part
			t.Fatal(err)
		}
	}
	var uploads string // folder in which the service keeps them
	err := filepath.WalkDir(server.Objects(), func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() && e.Name() == "one" {
			uploads = filepath.Dir(path)
		}
		return err
	})
	if err != nil || uploads == "" {
		t.Fatalf("the service keeps no uploads: %v", err)
	}
	if err := os.Mkdir(filepath.Join(uploads, "over"), 0o755); err != nil {
		t.Fatal(err)
	}
	var names []string
	if err := s.Uploads(t.Context(), func(name string) error { names = append(names, name); return nil }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(names, []string{"one", "two"}) {
		t.Errorf("there are the uploads %q", names)
	}
}

// If a process died while it removed the parts of a joined upload, joining it again removes the
// rest.
func TestBucket_JoiningAgainRemovesThePartsThatAreLeft(t *testing.T) {
	t.Parallel()
	s := s3test.Files(t)
	b, key := sample(33, 6<<20)
	first, err := s.Append(t.Context(), "one", media.Progress{}, bytes.NewReader(b[:5<<20]))
	if err != nil {
		t.Fatal(err)
	}
	at, err := s.Append(t.Context(), "one", first, bytes.NewReader(b[5<<20:]))
	if err == nil {
		err = s.Join(t.Context(), "one", at, key)
	}
	if err == nil { // the second part is there again
		_, err = s.Append(t.Context(), "one", first, bytes.NewReader(b[5<<20:]))
	}
	if err == nil {
		err = s.Join(t.Context(), "one", at, key)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Uploads(t.Context(), func(name string) error { return errors.New(name) }); err != nil {
		t.Errorf("left of the upload: %v", err)
	}
	if !bytes.Equal(read(t, s, key), b) {
		t.Error("its bytes are others")
	}
}

// If a service breaks off during a read, the read fails: a part is not taken for the whole.
func TestBucket_AServiceThatDiesWhileItIsRead(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	s := bucketOf(t, server, 0)
	b, _ := sample(31, 32<<20)
	c, err := s.Open(t.Context(), put(t, s, b))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Read(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	for n := 0; err == nil; n++ {
		_, err = c.Read(make([]byte, 1<<20))
	}
	if !media.Unavailable(err) {
		t.Errorf("it ended with %v", err)
	}
}

// A bucket refuses: it does not exist, the keys are wrong, or it is full.
func TestBucket_Refusals(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	b, key := sample(32, 1000)
	wrong := func(name string) string {
		if name == "AWS_SECRET_ACCESS_KEY" {
			return "wrong"
		}
		return server.Getenv(name)
	}
	for what, c := range map[string]struct {
		url    string
		getenv func(string) string
	}{"no such bucket": {"s3://another", server.Getenv}, "wrong keys": {server.URL(), wrong}} {
		s, err := media.Bucket(c.url, media.BucketOptions{Getenv: c.getenv, Spool: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), key, 1000, bytes.NewReader(b)); !media.Unavailable(err) {
			t.Errorf("%s: put: %v", what, err)
		}
		if p, err := s.Append(t.Context(), "one", media.Progress{}, bytes.NewReader(b)); !media.Unavailable(err) || p.Offset != 0 {
			t.Errorf("%s: append: %v, %v", what, p.Offset, err)
		}
	}
	left, err := os.ReadDir(server.Objects())
	if err != nil || len(left) != 0 {
		t.Errorf("left in the bucket: %v, %v", left, err)
	}
}

func TestBucket_AddressesAndEndpoints(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	for _, address := range []string{"", "media", "/srv/media", "http://bucket", "s3://", "s3:///prefix", "s3://key:secret@bucket", "s3://bucket?region=x", "s3://bucket#x"} {
		if _, err := media.Bucket(address, media.BucketOptions{Getenv: none}); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
	for _, address := range []string{"s3://bucket", "s3://bucket/", "s3://bucket/a/b/"} {
		if _, err := media.Bucket(address, media.BucketOptions{Getenv: none}); err != nil {
			t.Errorf("%q: %v", address, err)
		}
	}
	for _, endpoint := range []string{"s3.example.com", "ftp://s3.example.com", "https://s3.example.com/path", "https://"} {
		getenv := func(name string) string {
			return map[string]string{"AWS_ENDPOINT_URL": endpoint}[name]
		}
		if _, err := media.Bucket("s3://bucket", media.BucketOptions{Getenv: getenv}); err == nil {
			t.Errorf("the endpoint %q is taken", endpoint)
		}
	}
}
