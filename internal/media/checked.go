package media

import (
	"context"
	"crypto/sha256"
	"hash"
	"io"
)

// checked passes on what r has, if it is size bytes with the hash of the key. It withholds the last
// of them until it knows: whoever writes them somewhere has less than was announced unless all is
// as it should be.
type checked struct {
	r    io.Reader
	left int64
	hash hash.Hash
	want [sha256.Size]byte
	// err is why it ended early: ErrDiffers, or the error of r.
	err error
}

func check(r io.Reader, size int64, key Key) *checked {
	c := &checked{r: r, left: size, hash: sha256.New(), want: key.SHA256}
	if size <= 0 {
		c.err = c.end()
	}
	return c
}

// Read implements io.Reader.
func (c *checked) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	if c.left <= 0 {
		return 0, io.EOF
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.hash.Write(p[:n])
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
	if n, _ := io.ReadFull(c.r, more[:]); n > 0 || c.left < 0 || [sha256.Size]byte(c.hash.Sum(nil)) != c.want {
		return ErrDiffers
	}
	return nil
}

// chunk is how much is read and written at a time.
const chunk = 256 << 10

// transfer writes what src has to dst until src ends, and tells an error of the one from an error
// of the other. n counts what was written whole. A context that ends counts as an error of dst:
// nobody waits for it any more.
func transfer(ctx context.Context, dst io.Writer, src io.Reader) (n int64, readErr, writeErr error) {
	for b := make([]byte, chunk); ; {
		got, err := src.Read(b)
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
