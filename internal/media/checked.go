package media

import (
	"context"
	"crypto/sha256"
	"hash"
	"io"
	"sync"

	"sheaf.dev/internal/failpoint"
)

// checked passes on the bytes of r, if they are `size` bytes with the hash of the key. It withholds
// the last of them until it has checked that. So a writer that copies them gets fewer bytes than
// announced unless all are right.
type checked struct {
	r    io.Reader
	left int64
	hash hash.Hash // nil: the bytes are Hashed
	want [sha256.Size]byte
	// err is why it ended early: ErrDiffers, or the error of r.
	err error
}

// Hashed marks bytes in memory that the caller has hashed itself, so they are known to have the
// hash of the key. Hashing them again would cost as much as writing them. They are still counted.
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

// Checked passes on the bytes of r, if they are `size` bytes with the hash of the key. If not, it
// returns ErrDiffers before the last of them. An error of r is returned unchanged.
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

// end checks that nothing follows and that the hash is right.
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

// chunk is the number of bytes read and written at a time.
const chunk = 256 << 10

// chunks are reused: a new one for each file would be a quarter of an upload's garbage.
var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// transfer copies src to dst until src ends. It returns errors of src as readErr and errors of dst
// as writeErr. n counts the bytes written completely. If ctx ends, that is a writeErr, because no
// one waits for the result.
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
