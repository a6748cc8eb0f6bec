package media

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"
)

// The bytes of an upload are stored as objects, its parts, which the service concatenates in Join.
// All parts but the last must have at least minPart bytes. A smaller part is sent again, together
// with the bytes that follow it:
//
//	Append of 6 MiB       0–6
//	Append of 3 MiB       0–6  6–9
//	Append of 4 MiB       0–6  6–13        and 6–9, which is no longer needed
//
// A part is never changed: its name has its start, the hash of all bytes before it, and the hash of
// all bytes up to its end. So two nodes that continue from the same position do not overwrite each
// other's parts. The stored progress decides whose parts count, and Join finds them from the last
// back to the first.

// minPart is the smallest size that S3 accepts for every part but the last.
const minPart = 5 << 20

// A part is one object of an upload.
type part struct {
	start, size   int64
	before, after string // hashes in hexadecimal digits, shortened to hashDigits
}

// hashDigits is the number of digits of a hash in the name of a part. They are enough to tell parts
// apart.
const hashDigits = 32

func partOf(run *running, size int64) part {
	after := run.sum()
	return part{run.last, size, hex.EncodeToString(run.before[:])[:hashDigits], hex.EncodeToString(after[:])[:hashDigits]}
}

func (p part) name() string { return fmt.Sprintf("%015d-%s-%s", p.start, p.before, p.after) }

// parsePart reads the name of an object. ok is false if it is not the name of a part.
func parsePart(name string, size int64) (p part, ok bool) {
	if len(name) != 15+1+hashDigits+1+hashDigits {
		return p, false
	}
	_, err := fmt.Sscanf(name[:15], "%d", &p.start)
	p.size, p.before, p.after = size, name[16:16+hashDigits], name[17+hashDigits:]
	return p, err == nil && p.name() == name
}

// Append implements Store.
func (b *bucket) Append(ctx context.Context, upload string, at Progress, r io.Reader) (Progress, error) {
	run, err := at.resume()
	if err == nil {
		err = checkName("an upload", upload)
	}
	if err != nil {
		return at, err
	}
	s, err := newSpool(b.spool)
	if err != nil {
		return at, failed("spool an upload", err)
	}
	defer s.Close()
	if err := b.reopen(ctx, s, upload, run, at.Offset); err != nil {
		return at, failed("read an upload", err)
	}
	n, readErr, err := transfer(ctx, io.MultiWriter(s, run.hash), r)
	if err == nil && n > 0 {
		err = b.putPart(ctx, s, upload, partOf(run, at.Offset+n-run.last))
	}
	if err != nil {
		return at, failed("write an upload", err)
	}
	next, err := run.at(at.Offset + n)
	if err != nil {
		return at, err
	}
	return next, readErr
}

// reopen begins a new part at the end of the upload. If the last part is smaller than minPart, it
// reads that part into the spool instead.
func (b *bucket) reopen(ctx context.Context, s *spool, upload string, run *running, end int64) error {
	size := end - run.last
	if size >= minPart || size == 0 {
		run.last, run.before = end, run.sum()
		return nil
	}
	body, info, _, err := b.core.GetObject(ctx, b.name, b.upload(upload)+partOf(run, size).name(), minio.GetObjectOptions{})
	if err != nil {
		return absent(err)
	}
	defer body.Close()
	if info.Size != size {
		return ErrNotFound
	}
	n, readErr, writeErr := transfer(ctx, s, body)
	if err := errors.Join(readErr, writeErr); err != nil {
		return err
	}
	if n != size {
		return io.ErrUnexpectedEOF
	}
	return nil
}

func (b *bucket) putPart(ctx context.Context, s *spool, upload string, p part) error {
	if _, err := s.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return b.put(ctx, b.upload(upload)+p.name(), s.File, p.size, hex.EncodeToString(s.hash.Sum(nil)))
}

// Join implements Store.
func (b *bucket) Join(ctx context.Context, upload string, at Progress, key Key) error {
	if err := checkJoin(upload, at, key); err != nil {
		return err
	}
	parts, err := b.parts(ctx, upload, at)
	switch {
	case errors.Is(err, ErrNotFound):
		err = nil // an earlier call has joined it, or died while it removed the parts
	case err == nil:
		err = b.join(ctx, upload, parts, b.object(key))
	}
	if err == nil {
		err = b.joined(ctx, key, at.Offset)
	}
	if err == nil {
		err = b.Abandon(ctx, upload)
	}
	return failed("join an upload", err)
}

// joined returns nil if the object exists and has that size.
func (b *bucket) joined(ctx context.Context, key Key, size int64) error {
	info, err := b.stat(ctx, b.object(key))
	if err == nil && info.Size != size {
		err = ErrDiffers
	}
	return err
}

// parts returns the parts of an upload in order. It returns ErrNotFound if they do not lead from
// the end back to the start.
func (b *bucket) parts(ctx context.Context, upload string, at Progress) ([]part, error) {
	type place struct {
		at   int64
		hash string
	}
	ending := map[place]part{}
	err := b.list(ctx, "uploads/"+upload+"/", true, func(name string, size int64) error {
		if p, ok := parsePart(name, size); ok {
			ending[place{p.start + p.size, p.after}] = p
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sum, err := at.SHA256()
	if err != nil {
		return nil, err
	}
	var parts []part
	for end := (place{at.Offset, hex.EncodeToString(sum[:])[:hashDigits]}); end.at > 0; {
		p, ok := ending[end]
		if !ok || p.size <= 0 {
			return nil, ErrNotFound
		}
		parts = append(parts, p)
		end = place{p.start, p.before}
	}
	slices.Reverse(parts)
	return parts, nil
}

// joinAtOnce is the number of parts that the service copies concurrently.
const joinAtOnce = 8

// join makes the service create one object of the parts.
func (b *bucket) join(ctx context.Context, upload string, parts []part, object string) error {
	if len(parts) == 1 {
		_, err := b.core.CopyObject(ctx, b.name, b.upload(upload)+parts[0].name(), b.name, object, nil, minio.CopySrcOptions{}, minio.PutObjectOptions{})
		return err
	}
	id, err := b.core.NewMultipartUpload(ctx, b.name, object, minio.PutObjectOptions{ContentType: "application/octet-stream"})
	if err != nil {
		return err
	}
	done := make([]minio.CompletePart, len(parts))
	group, copying := errgroup.WithContext(ctx)
	group.SetLimit(joinAtOnce)
	for i, p := range parts {
		group.Go(func() (err error) {
			done[i], err = b.core.CopyObjectPart(copying, b.name, b.upload(upload)+p.name(), b.name, object, id, i+1, 0, -1, nil)
			return err
		})
	}
	if err = group.Wait(); err == nil {
		_, err = b.core.CompleteMultipartUpload(ctx, b.name, object, id, done, minio.PutObjectOptions{})
	}
	if err != nil {
		return errors.Join(err, b.core.AbortMultipartUpload(context.WithoutCancel(ctx), b.name, object, id))
	}
	return nil
}

// Abandon implements Store.
func (b *bucket) Abandon(ctx context.Context, upload string) error {
	if err := checkName("an upload", upload); err != nil {
		return err
	}
	err := b.list(ctx, "uploads/"+upload+"/", true, func(name string, _ int64) error {
		return b.remove(ctx, b.upload(upload)+name)
	})
	return failed("remove an upload", err)
}

// Uploads implements Store. It reads the names of all parts, because a service that keeps objects
// in a file system may show an empty folder if it died between two removals.
func (b *bucket) Uploads(ctx context.Context, each func(string) error) error {
	last := ""
	return b.list(ctx, "uploads/", true, func(name string, _ int64) error {
		upload, _, ok := strings.Cut(name, "/")
		if !ok || upload == last || checkName("an upload", upload) != nil {
			return nil
		}
		last = upload
		return each(upload)
	})
}

func (b *bucket) upload(upload string) string { return b.prefix + "uploads/" + upload + "/" }

// spool holds arriving bytes until they are sent on: the service needs their number and hash first,
// which are known only when all have arrived.
type spool struct {
	*os.File
	hash hash.Hash // hash of everything written
}

// newSpool returns an empty spool. Its file has been unlinked.
func newSpool(dir string) (*spool, error) {
	if dir != "" {
		if err := os.MkdirAll(dir, folderPerm); err != nil {
			return nil, err
		}
	}
	file, err := os.CreateTemp(dir, "sheaf-upload-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &spool{file, sha256.New()}, nil
}

// Write implements io.Writer.
func (s *spool) Write(p []byte) (int, error) {
	n, err := s.File.Write(p)
	s.hash.Write(p[:n])
	return n, err
}
