package media_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"sheaf.dev/internal/media"
)

// appends are the sizes of consecutive calls of Append. Parts that are too small for a bucket are
// combined.
var appends = []int{1, 4 << 20, 7 << 20, 100, 6 << 20, 5 << 20, 3}

func appendAll(t *testing.T, s media.Store, upload string, at media.Progress, b []byte, sizes []int) media.Progress {
	t.Helper()
	for _, size := range sizes {
		next, err := s.Append(t.Context(), upload, at, bytes.NewReader(b[at.Offset:at.Offset+int64(size)]))
		if err != nil || next.Offset != at.Offset+int64(size) {
			t.Fatalf("append %d at %d: %d, %v", size, at.Offset, next.Offset, err)
		}
		if len(next.State) >= media.MaxState {
			t.Errorf("a state of %d bytes", len(next.State))
		}
		at = next
	}
	return at
}

func uploads(t *testing.T, s media.Store) (names []string) {
	t.Helper()
	if err := s.Uploads(t.Context(), func(name string) error { names = append(names, name); return nil }); err != nil {
		t.Fatal(err)
	}
	return names
}

// Whatever the sizes of the pieces, they are joined to the same bytes, and nothing of the upload is
// left.
func TestUpload_PiecesAreJoined(t *testing.T) {
	t.Parallel()
	total := 0
	for _, n := range appends {
		total += n
	}
	b, key := sample(20, total)
	stores(t, func(t *testing.T, s media.Store) {
		at := appendAll(t, s, "one", media.Progress{}, b, appends)
		if sum, err := at.SHA256(); sum != key.SHA256 || err != nil {
			t.Fatalf("the hash is %x, %v", sum, err)
		}
		if got := uploads(t, s); !slices.Equal(got, []string{"one"}) {
			t.Errorf("uploads %v", got)
		}
		empty(t, s)
		for range 2 { // the second finds it done
			if err := s.Join(t.Context(), "one", at, key); err != nil {
				t.Fatalf("join: %v", err)
			}
		}
		if !bytes.Equal(read(t, s, key), b) {
			t.Error("came back different")
		}
		if got := uploads(t, s); len(got) != 0 {
			t.Errorf("left: %v", got)
		}
		if err := s.Abandon(t.Context(), "one"); err != nil {
			t.Errorf("abandon what was joined: %v", err)
		}
	})
}

// What arrived before a read error is kept, and the error is returned.
func TestUpload_WhatArrivedBeforeABreakIsKept(t *testing.T) {
	t.Parallel()
	b, key := sample(21, 1000)
	broken := errors.New("the client has left")
	stores(t, func(t *testing.T, s media.Store) {
		at, err := s.Append(t.Context(), "one", media.Progress{}, io.MultiReader(bytes.NewReader(b[:700]), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || media.Unavailable(err) || at.Offset != 700 {
			t.Fatalf("%d, %v", at.Offset, err)
		}
		at, err = s.Append(t.Context(), "one", at, iotest.ErrReader(broken))
		if !errors.Is(err, broken) || at.Offset != 700 {
			t.Fatalf("of nothing: %d, %v", at.Offset, err)
		}
		at = appendAll(t, s, "one", at, b, []int{300})
		if err := s.Join(t.Context(), "one", at, key); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(read(t, s, key), b) {
			t.Error("came back different")
		}
	})
}

// If a process dies after an Append and before it stored the progress, the upload continues from
// the older progress. The bytes after that do not count.
func TestUpload_GoesOnFromTheProgressThatWasKept(t *testing.T) {
	t.Parallel()
	b, key := sample(22, 12<<20)
	wrong, _ := sample(23, 12<<20)
	stores(t, func(t *testing.T, s media.Store) {
		kept := appendAll(t, s, "one", media.Progress{}, b, []int{6 << 20, 1 << 20})
		appendAll(t, s, "one", kept, wrong, []int{4 << 20}) // its result is not stored
		at := appendAll(t, s, "one", kept, b, []int{2 << 20, 3 << 20})
		if err := s.Join(t.Context(), "one", at, key); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(read(t, s, key), b) {
			t.Error("came back different")
		}
	})
}

func TestUpload_WhatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	b, key := sample(24, 2000)
	stores(t, func(t *testing.T, s media.Store) {
		at := appendAll(t, s, "one", media.Progress{}, b, []int{1000})
		for range 2 {
			if err := s.Abandon(t.Context(), "one"); err != nil {
				t.Fatal(err)
			}
		}
		if p, err := s.Append(t.Context(), "one", at, bytes.NewReader(b[1000:])); !errors.Is(err, media.ErrNotFound) || p.Offset != 1000 {
			t.Errorf("append: %d, %v", p.Offset, err)
		}
		all := appendAll(t, s, "two", media.Progress{}, b, []int{2000})
		if err := s.Join(t.Context(), "one", all, key); !errors.Is(err, media.ErrNotFound) {
			t.Errorf("join: %v", err)
		}
		if got := uploads(t, s); !slices.Equal(got, []string{"two"}) {
			t.Errorf("uploads %v", got)
		}
	})
}

func TestUpload_IsJoinedToItsOwnHashAlone(t *testing.T) {
	t.Parallel()
	b, _ := sample(25, 2000)
	stores(t, func(t *testing.T, s media.Store) {
		at := appendAll(t, s, "one", media.Progress{}, b, []int{2000})
		other := media.Key{Workspace: workspace, SHA256: sha256.Sum256([]byte("other"))}
		if err := s.Join(t.Context(), "one", at, other); !errors.Is(err, media.ErrDiffers) {
			t.Errorf("join: %v", err)
		}
		empty(t, s)
	})
}

func TestProgress_StatesOfOtherProgramsAreRefused(t *testing.T) {
	t.Parallel()
	for _, p := range []media.Progress{{Offset: 1}, {Offset: 1, State: []byte{1}}, {Offset: 1, State: make([]byte, 200)}, {Offset: 1, State: append([]byte{1}, make([]byte, 200)...)}} {
		if _, err := p.SHA256(); err == nil {
			t.Errorf("%x is taken", p.State)
		}
	}
}
