package media

import (
	"context"
	"crypto/sha256"
	"hash"
	"io"
	"sync"

	"sheaf.dev/internal/failpoint"
)

// checked passes on what r has, if it is size bytes with the hash of the key. It withholds the last
// of them until it knows: whoever writes them somewhere has less than was announced unless all is
// as it should be.
type checked struct {
	r    io.Reader
	left int64
	hash hash.Hash // nil: the bytes are Hashed
	want [sha256.Size]byte
	// err is why it ended early: ErrDiffers, or the error of r.
	err error
}

// Hashed is bytes in memory that were hashed there: whoever wraps a reader in it knows that they have
// the hash of the key. A second look at them would cost as much as writing them does. They are counted
// all the same.
type Hashed struct{ io.Reader }

func check(r io.Reader, size int64, key Key) *checked {
	c := &checked{r: r, left: size, want: key.SHA256}
	if _, known := r.(Hashed); !known {
		c.hash = sha256.New()
	}
	if size <= 0 {
		c.err = c.end()
	}
	return c
}

// Checked passes on what r has, if it is size bytes with the hash of the key: it ends with ErrDiffers,
// before the last of them, where it is not. An error of r comes back as it is.
func Checked(r io.Reader, size int64, key Key) io.Reader { return check(r, size, key) }

// Read implements io.Reader.
func (c *checked) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	if c.left <= 0 {
		return 0, io.EOF
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	failpoint.Pass(failpoint.Writing)
	if c.hash != nil {
		c.hash.Write(p[:n])
	}
	c.left -= int64(n)
	switch {
	case c.left == 0:
		c.err = c.end()
	case err == io.EOF:
		c.err = ErrDiffers
	case err != nil:
		c.err = err
	}
	if c.err != nil {
		return 0, c.err
	}
	return n, nil
}

// end looks whether nothing follows and the hash is right.
func (c *checked) end() error {
	var more [1]byte
	if n, _ := io.ReadFull(c.r, more[:]); n > 0 || c.left < 0 {
		return ErrDiffers
	}
	if c.hash != nil && [sha256.Size]byte(c.hash.Sum(nil)) != c.want {
		return ErrDiffers
	}
	return nil
}

// chunk is how much is read and written at a time.
const chunk = 256 << 10

// chunks are used again: a new one for each file would be a quarter of the garbage of an upload.
var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// transfer writes what src has to dst until src ends, and tells an error of the one from an error
// of the other. n counts what was written whole. A context that ends counts as an error of dst:
// nobody waits for it any more.
func transfer(ctx context.Context, dst io.Writer, src io.Reader) (n int64, readErr, writeErr error) {
	b := chunks.Get().(*[chunk]byte)
	defer chunks.Put(b)
	for {
		got, err := src.Read(b[:])
		failpoint.Pass(failpoint.Writing)
		if writeErr = ctx.Err(); writeErr == nil && got > 0 {
			_, writeErr = dst.Write(b[:got])
		}
		if writeErr != nil {
			return n, nil, writeErr
		}
		n += int64(got)
		if err == io.EOF {
			return n, nil, nil
		}
		if err != nil {
			return n, err, nil
		}
	}
}
