package media

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/minio/minio-go/v7"
)

// Objects are the objects of a bucket by their names, for what is stored there besides media. An error for which
// Unavailable is true means that the bucket cannot do it now. It is safe for concurrent use.
type Objects struct{ b *bucket }

// Object is an object of a list.
type Object struct {
	Name string
	Size int64
}

// OpenObjects returns the objects of the bucket at an address such as s3://bucket/prefix. It does not connect.
func OpenObjects(address string, o BucketOptions) (*Objects, error) {
	b, err := Bucket(address, o)
	if err != nil {
		return nil, err
	}
	return &Objects{b.(*bucket)}, nil
}

// Put stores `size` bytes of r, at most MaxBucketBytes. `hash` is their SHA-256 in hexadecimal digits: the service
// refuses other bytes.
func (o *Objects) Put(ctx context.Context, name string, size int64, hash string, r io.Reader) error {
	if size > MaxBucketBytes {
		return fmt.Errorf("an object of %d bytes is too large for one request", size)
	}
	return failed("store an object", o.b.put(ctx, o.b.prefix+name, r, size, hash))
}

// Open returns an object from its beginning, or ErrNotFound. The caller closes it.
func (o *Objects) Open(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	body, info, _, err := o.b.core.GetObject(ctx, o.b.name, o.b.prefix+name, minio.GetObjectOptions{})
	if err = failed("open an object", absent(err)); err != nil {
		return nil, 0, err
	}
	return &readObject{body}, info.Size, nil
}

// readObject marks errors of the service.
type readObject struct{ io.ReadCloser }

func (r *readObject) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = failed("read an object", err)
	}
	return n, err
}

// List calls each with every object below a prefix, in the order of their names.
func (o *Objects) List(ctx context.Context, prefix string, each func(Object) error) error {
	return o.b.list(ctx, prefix, true, func(name string, size int64) error { return each(Object{prefix + name, size}) })
}

// Folders calls each with the names below a prefix up to the next slash, without it.
func (o *Objects) Folders(ctx context.Context, prefix string, each func(name string) error) error {
	return o.b.list(ctx, prefix, false, func(name string, _ int64) error {
		if n := len(name) - 1; n > 0 && name[n] == '/' {
			return each(name[:n])
		}
		return nil
	})
}

// Remove deletes an object. If there is none, it does nothing.
func (o *Objects) Remove(ctx context.Context, name string) error {
	return failed("remove an object", o.b.remove(ctx, o.b.prefix+name))
}
