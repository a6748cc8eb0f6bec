package media

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrDamaged means that the stored bytes are not those of their key, or that the disk cannot read
// them.
var ErrDamaged = errors.New("the stored bytes are damaged")

// Stamp identifies one state of stored bytes. Bytes that were written again, or changed from
// outside, have another stamp.
type Stamp struct {
	ID string
	// Settled is false just after a change, while the clock of the file system is too coarse to
	// tell this change from the next.
	Settled bool
}

// How long after a change a stamp is settled. Kernels stamp files to 10 ms, services stamp objects
// to a second.
const (
	fileSettles   = 50 * time.Millisecond
	objectSettles = 3 * time.Second
)

func stampOf(state string, size int64, at time.Time, settles time.Duration) Stamp {
	return Stamp{ID: state + " " + strconv.FormatInt(size, 36), Settled: time.Since(at) > settles}
}

// Verifier opens verified bytes: they were hashed once in this process since they last changed. It
// remembers a bounded number of verdicts. It is safe for concurrent use.
//
//	Open ─▶ stamp known? ── intact ──▶ the bytes, as the store has them
//	             │       └─ damaged ─▶ ErrDamaged
//	             └ no: one check hashes them, for all readers that wait
//	                     ├─ ends within patience: the verdict
//	                     └─ takes longer: the bytes; their Whole waits for the verdict
type Verifier struct {
	store    Store
	patience time.Duration
	refused  atomic.Uint64 // reads of damaged or missing bytes

	mu sync.Mutex // guards what follows
	// newer and older say whether bytes are intact. When newer is full, it replaces older.
	newer, older map[mark]bool
	checks       map[mark]*inspection
}

// mark is the hash of a key and a stamp.
type mark [16]byte

// maxVerdicts bounds newer and older each: 32 bytes per entry, and as much again for the map.
const maxVerdicts = 32 << 10

// NewVerifier returns a Verifier for a store. Open waits at most `patience` for a check.
func NewVerifier(store Store, patience time.Duration) *Verifier {
	return &Verifier{store: store, patience: patience, newer: map[mark]bool{}, checks: map[mark]*inspection{}}
}

func markOf(key Key, s Stamp) mark {
	sum := sha256.Sum256([]byte(key.Workspace + "\n" + key.Hash() + "\n" + s.ID))
	return mark(sum[:16])
}

// inspection is a check in progress.
type inspection struct {
	cancel  context.CancelFunc
	readers int // readers that wait for it; guarded by the Verifier's mu
	done    chan struct{}
	err     error // why the bytes are not verified; set before done is closed
}

// errReplaced means that a check read other bytes than its reader has opened.
var errReplaced = errors.New("the bytes were written again meanwhile")

// Open returns verified bytes, ErrNotFound or ErrDamaged. If the check takes longer than the
// patience, Open returns the bytes while the check continues. The Content then has a method Whole,
// which returns the verdict. The caller must call it before it passes on the last bytes.
func (v *Verifier) Open(ctx context.Context, key Key) (Content, error) {
	content, err := v.open(ctx, key)
	if errors.Is(err, errReplaced) {
		content, err = v.open(ctx, key)
	}
	if errors.Is(err, errReplaced) {
		content, err = v.openAlone(ctx, key)
	}
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrDamaged) {
		v.refused.Add(1)
	}
	return content, failed("verify bytes", err)
}

// Refused returns the number of reads that found damaged or missing bytes.
func (v *Verifier) Refused() uint64 { return v.refused.Load() }

func (v *Verifier) open(ctx context.Context, key Key) (Content, error) {
	content, err := v.store.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	m := markOf(key, content.Stamp())
	c, intact := v.join(ctx, key, m)
	if c == nil {
		if intact {
			return content, nil
		}
		return nil, errors.Join(ErrDamaged, content.Close())
	}
	patience := time.NewTimer(v.patience)
	defer patience.Stop()
	select {
	case <-c.done:
		err = c.err
	case <-patience.C:
		return &unverified{Content: content, verifier: v, mark: m, check: c}, nil
	case <-ctx.Done():
		err = ctx.Err()
	}
	v.removeReader(m, c)
	if err != nil {
		return nil, errors.Join(err, content.Close())
	}
	return content, nil
}

// openAlone verifies the bytes that it has opened, and shares the check with no other reader. It is
// for bytes that are uploaded again and again: each upload gives them another stamp, so that the
// check of open reads other bytes than its reader has.
func (v *Verifier) openAlone(ctx context.Context, key Key) (Content, error) {
	content, err := v.store.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	err = verify(ctx, content, key, nil)
	if err == nil {
		_, err = content.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, content.Close())
	}
	return content, nil
}

// join returns the check of bytes without a verdict, and starts it if none is in progress. If there
// is a verdict, the check is nil.
func (v *Verifier) join(ctx context.Context, key Key, m mark) (c *inspection, intact bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	intact, known := v.newer[m]
	if !known {
		intact, known = v.older[m]
	}
	if known {
		return nil, intact
	}
	c = v.checks[m]
	if c == nil {
		// The check serves all waiting readers, and ends with the last of them.
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		c = &inspection{cancel: cancel, done: make(chan struct{})}
		v.checks[m] = c
		go func() {
			defer cancel()
			met, err := v.recheck(ctx, key, nil)
			if err == nil && met != m {
				err = errReplaced
			}
			c.err = err
			v.mu.Lock()
			v.forget(m, c)
			v.mu.Unlock()
			close(c.done)
		}()
	}
	c.readers++
	return c, false
}

// removeReader counts a reader out. The last one cancels a check in progress and waits for its end. After
// that no reader can join the check, because it would be cancelled under that reader.
func (v *Verifier) removeReader(m mark, c *inspection) {
	v.mu.Lock()
	c.readers--
	last := c.readers == 0
	if last {
		v.forget(m, c)
	}
	v.mu.Unlock()
	if last {
		c.cancel()
		<-c.done
	}
}

// forget keeps readers from joining a check. v.mu must be held.
func (v *Verifier) forget(m mark, c *inspection) {
	if v.checks[m] == c {
		delete(v.checks, m)
	}
}

// Recheck hashes bytes even if there is a verdict, remembers the new verdict and returns it: nil,
// ErrDamaged or ErrNotFound. pace is called with the size of each piece before the next one is
// read; its error ends the check. nil means no pauses.
func (v *Verifier) Recheck(ctx context.Context, key Key, pace func(context.Context, int) error) error {
	_, err := v.recheck(ctx, key, pace)
	return err
}

// recheck is Recheck, and also returns the mark of the bytes that it read.
func (v *Verifier) recheck(ctx context.Context, key Key, pace func(context.Context, int) error) (mark, error) {
	content, err := v.store.Open(ctx, key)
	if err != nil {
		return mark{}, err
	}
	defer content.Close()
	stamp := content.Stamp()
	m := markOf(key, stamp)
	err = verify(ctx, content, key, pace)
	// Bytes that changed while they were read may have another stamp, and a read that failed now
	// may succeed later. Neither gives a verdict.
	if stamp.Settled && (err == nil || err == ErrDamaged) {
		v.remember(m, err == nil)
	}
	return m, err
}

func (v *Verifier) remember(m mark, intact bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.older, m)
	if len(v.newer) >= maxVerdicts {
		v.newer, v.older = map[mark]bool{}, v.newer
	}
	v.newer[m] = intact
}

// Verify hashes the bytes stored under the key. It returns nil, ErrDamaged, ErrNotFound, or why
// they could not be read.
func Verify(ctx context.Context, s Store, key Key) error {
	content, err := s.Open(ctx, key)
	if err != nil {
		return err
	}
	defer content.Close()
	return verify(ctx, content, key, nil)
}

func verify(ctx context.Context, r io.Reader, key Key, pace func(context.Context, int) error) error {
	b := chunks.Get().(*[chunk]byte)
	defer chunks.Put(b)
	sum := sha256.New()
	for {
		n, err := r.Read(b[:])
		sum.Write(b[:n])
		switch {
		case errors.Is(err, io.EOF):
			if [sha256.Size]byte(sum.Sum(nil)) != key.SHA256 {
				return ErrDamaged
			}
			return nil
		case errors.Is(err, syscall.EIO):
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		case err == nil && pace != nil:
			err = pace(ctx, n)
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return failed("read stored bytes", err)
		}
	}
}

// unverified has bytes whose check is in progress.
type unverified struct {
	Content
	verifier *Verifier
	mark     mark
	check    *inspection
	left     sync.Once
}

// Whole blocks until the check or ctx ends. It returns nil if the bytes are verified.
func (u *unverified) Whole(ctx context.Context) error {
	select {
	case <-u.check.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if errors.Is(u.check.err, ErrDamaged) {
		u.verifier.refused.Add(1)
	}
	return u.check.err
}

// Close implements io.Closer.
func (u *unverified) Close() error {
	u.left.Do(func() { u.verifier.removeReader(u.mark, u.check) })
	return u.Content.Close()
}
