package offsite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"filippo.io/age"

	"sheaf.dev/internal/media"
	"sheaf.dev/internal/store"
)

// Identities reads the private keys in a file of age-keygen.
func Identities(path string) ([]age.Identity, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	keys, err := age.ParseIdentities(f)
	if err != nil {
		return nil, fmt.Errorf("%s has no private key of age (%w): name the file that age-keygen wrote; decrypt it first if it has a passphrase", path, err)
	}
	return keys, nil
}

// Rows are the decrypted rows of a backup: a file of package backup, which can be read again from its beginning. What is
// on the disk is encrypted.
type Rows struct {
	spool *os.File
	keys  []age.Identity
	plain io.Reader
}

// Rows fetches the rows of a backup. It returns an error with the place if a piece is not what was stored.
func (b *Bucket) Rows(ctx context.Context, m *Manifest, keys []age.Identity) (_ *Rows, err error) {
	spool, err := b.newSpool()
	if err != nil {
		return nil, err
	}
	r := &Rows{spool: spool, keys: keys}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	out := bufio.NewWriterSize(spool, 64<<10)
	for i := range m.Pieces {
		if err := b.readPiece(ctx, m, i, out); err != nil {
			var damaged *DamagedError
			if errors.As(err, &damaged) && out.Flush() == nil {
				damaged.Fault += r.firstDamage()
			}
			return nil, err
		}
	}
	if err := out.Flush(); err != nil {
		return nil, err
	}
	_, err = r.Seek(0, io.SeekStart)
	return r, err
}

// firstDamage says how far the rows can be decrypted.
func (r *Rows) firstDamage() string {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return ", from its beginning on"
	}
	n, _ := io.Copy(io.Discard, r)
	return fmt.Sprintf("; the rows are sound up to byte %d of the decrypted text", n)
}

// Read implements io.Reader.
func (r *Rows) Read(p []byte) (int, error) { return r.plain.Read(p) }

// Seek implements io.Seeker for the beginning.
func (r *Rows) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekStart {
		return 0, errors.New("the rows of a backup are read from their beginning")
	}
	if _, err := r.spool.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	var none *age.NoIdentityMatchError
	plain, err := age.Decrypt(bufio.NewReaderSize(r.spool, 64<<10), r.keys...)
	if errors.As(err, &none) {
		return 0, errors.New("the backup is encrypted to other recipients than the private key that was given")
	}
	r.plain = plain
	return 0, err
}

// Close removes what was fetched.
func (r *Rows) Close() error { return r.spool.Close() }

// Fetch returns the bytes of a medium of a backup. Its errors name the object.
func (b *Bucket) Fetch(m *Manifest, keys []age.Identity) func(context.Context, store.MediumBytes) (io.ReadCloser, error) {
	return func(ctx context.Context, of store.MediumBytes) (io.ReadCloser, error) {
		name := mediumIn(m.Group, of)
		body, _, err := b.Objects.Open(ctx, name)
		if errors.Is(err, media.ErrNotFound) {
			return nil, &DamagedError{Object: name, Fault: "is missing"}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		plain, err := age.Decrypt(body, keys...)
		if err != nil {
			body.Close()
			return nil, &DamagedError{Object: name, Fault: fmt.Sprintf("cannot be decrypted (%v)", err)}
		}
		return &fetched{plain: plain, body: body, name: name}, nil
	}
}

// fetched is a medium that is being read.
type fetched struct {
	plain io.Reader
	body  io.Closer
	name  string
	at    int64
}

func (f *fetched) Read(p []byte) (int, error) {
	n, err := f.plain.Read(p)
	f.at += int64(n)
	switch {
	case err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
	case media.Unavailable(err):
		err = fmt.Errorf("%s: %w", f.name, err)
	default:
		err = &DamagedError{Object: f.name, Fault: fmt.Sprintf("is damaged after byte %d of the decrypted medium", f.at)}
	}
	return n, err
}

func (f *fetched) Close() error { return f.body.Close() }
