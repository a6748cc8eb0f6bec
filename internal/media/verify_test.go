package media_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/media"
)

// rotten flips one bit in the middle of everything, under its own stamp. While hold is open, reads
// of the second reader of some bytes wait.
type rotten struct {
	media.Store
	stamp string
	hold  chan struct{}
	opens chan struct{}
}

func (r *rotten) Open(ctx context.Context, key media.Key) (media.Content, error) {
	c, err := r.Store.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	b, err := io.ReadAll(c)
	b[len(b)/2] ^= 1
	held := r.hold
	select {
	case r.opens <- struct{}{}: // the first is the reader's own
		held = nil
	default:
	}
	return &inMemory{Reader: bytes.NewReader(b), stamp: r.stamp, hold: held, ctx: ctx}, err
}

type inMemory struct {
	*bytes.Reader
	ctx   context.Context
	stamp string
	hold  chan struct{}
}

func (m *inMemory) Close() error       { return nil }
func (m *inMemory) Stamp() media.Stamp { return media.Stamp{ID: m.stamp, Settled: true} }
func (m *inMemory) Read(b []byte) (int, error) {
	if m.hold != nil {
		select {
		case <-m.hold:
		case <-m.ctx.Done():
			return 0, m.ctx.Err()
		}
	}
	return m.Reader.Read(b)
}

const forEver = 5 * time.Minute

// D102: bytes are returned as they were stored, or not at all. Bytes that were written again are
// returned.
func TestVerifier_DamagedBytesAreNotHandedOut(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s media.Store) {
		b, key := sample(1, 600<<10)
		put(t, s, b)
		verified := media.NewVerifier(s, forEver)
		for range 2 {
			c, err := verified.Open(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, b) {
				t.Errorf("read %d bytes: %v", len(got), err)
			}
			c.Close()
		}
		damaged := media.NewVerifier(&rotten{Store: s, stamp: "rotten"}, forEver)
		for range 2 {
			if c, err := damaged.Open(t.Context(), key); !errors.Is(err, media.ErrDamaged) || media.Unavailable(err) {
				t.Errorf("opened %v: %v", c, err)
			}
		}
		if n := damaged.Refused(); n != 2 {
			t.Errorf("%d reads were refused", n)
		}
		if err := media.Verify(t.Context(), &rotten{Store: s}, key); !errors.Is(err, media.ErrDamaged) {
			t.Errorf("verified: %v", err)
		}
		_, none := sample(2, 10)
		if _, err := verified.Open(t.Context(), none); !errors.Is(err, media.ErrNotFound) {
			t.Errorf("opened what is not there: %v", err)
		}
	})
}

// D102: bytes that are uploaded again between any two reads are still returned.
func TestVerifier_ReadsBytesThatAreWrittenAgainAndAgain(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, s media.Store) {
		b, key := sample(1, 600<<10)
		put(t, s, b)
		verified := media.NewVerifier(&rewritten{Store: s}, forEver)
		c, err := verified.Open(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, b) {
			t.Errorf("read %d bytes: %v", len(got), err)
		}
	})
}

// rewritten gives the bytes another stamp each time they are opened.
type rewritten struct {
	media.Store
	opened atomic.Int64
}

func (r *rewritten) Open(ctx context.Context, key media.Key) (media.Content, error) {
	c, err := r.Store.Open(ctx, key)
	return &restamped{c, strconv.FormatInt(r.opened.Add(1), 10)}, err
}

type restamped struct {
	media.Content
	stamp string
}

func (r *restamped) Stamp() media.Stamp { return media.Stamp{ID: r.stamp, Settled: true} }

// A file that changes after it was read is hashed again, even if its modification time is set back.
// Recheck finds a file that was damaged without a trace.
func TestVerifier_NoticesWhatChangesLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := media.Folder(dir)
	b, key := sample(1, 10_000)
	put(t, s, b)
	path := filepath.Join(dir, "content", workspace, key.Hash()[:2], key.Hash())
	old := time.Now().Add(-time.Hour)
	verified := media.NewVerifier(s, forEver)
	opens := func() error {
		c, err := verified.Open(t.Context(), key)
		if err == nil {
			err = c.Close()
		}
		return err
	}
	if err := opens(); err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(b)
	damaged[5000] ^= 1
	if err := errors.Join(os.WriteFile(path, damaged, 0o600), os.Chtimes(path, old, old)); err != nil {
		t.Fatal(err)
	}
	if err := opens(); !errors.Is(err, media.ErrDamaged) {
		t.Errorf("opened: %v", err)
	}
	put(t, s, b)
	if err := opens(); err != nil {
		t.Errorf("it was mended, and opened: %v", err)
	}

	// It is damaged under the same stamp.
	rots := &rotten{stamp: "the same"}
	known := media.NewVerifier(rots, forEver)
	rots.Store = &rotten{Store: s} // flipping the bit twice restores it
	if c, err := known.Open(t.Context(), key); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
	rots.Store = s
	if c, err := known.Open(t.Context(), key); err != nil {
		t.Errorf("it is known, and opened: %v", err)
	} else {
		c.Close()
	}
	pieces := 0
	pace := func(context.Context, int) error { pieces++; return nil }
	if err := known.Recheck(t.Context(), key, pace); !errors.Is(err, media.ErrDamaged) || pieces == 0 {
		t.Errorf("checked in %d pieces: %v", pieces, err)
	}
	if c, err := known.Open(t.Context(), key); !errors.Is(err, media.ErrDamaged) {
		t.Errorf("opened %v: %v", c, err)
	}
}

// If hashing takes longer than a reader waits, the bytes are returned meanwhile, and Whole returns
// the verdict. A check ends with its last reader.
func TestVerifier_LongChecks(t *testing.T) {
	t.Parallel()
	s := media.Folder(t.TempDir())
	b, key := sample(1, 600<<10)
	put(t, s, b)
	slow := &rotten{Store: s, stamp: "slow", hold: make(chan struct{}), opens: make(chan struct{}, 1)}
	verified := media.NewVerifier(slow, 0)
	c, err := verified.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); err != nil || len(got) != len(b) {
		t.Errorf("read %d bytes: %v", len(got), err)
	}
	whole := c.(interface{ Whole(context.Context) error })
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := whole.Whole(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("the check has not ended, and its verdict is %v", err)
	}
	close(slow.hold)
	if err := whole.Whole(t.Context()); !errors.Is(err, media.ErrDamaged) {
		t.Errorf("the verdict is %v", err)
	}
	c.Close()
	if c, err := verified.Open(t.Context(), key); !errors.Is(err, media.ErrDamaged) {
		t.Errorf("opened %v: %v", c, err)
	}

	slow = &rotten{Store: s, stamp: "for ever", hold: make(chan struct{}), opens: make(chan struct{}, 1)}
	c, err = media.NewVerifier(slow, 0).Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	c.Close() // goleak finds a check that continues
}
