package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// bucket keeps bytes as objects of an S3-compatible service:
//
//	content/<workspace>/<hash>   what is stored
//	uploads/<upload>/<part>      what arrived of an upload so far
//
// An object is there whole or not at all, so there is no staging. The hash goes into the signature
// of every object that is put, and the service refuses bytes that are not those.
type bucket struct {
	core   minio.Core
	name   string
	prefix string // of all objects; empty, or with a slash at its end
	spool  string
}

// BucketOptions are what a bucket needs beside its address.
type BucketOptions struct {
	// Getenv reads the settings that the tools of AWS know: AWS_ACCESS_KEY_ID and
	// AWS_SECRET_ACCESS_KEY, with AWS_SESSION_TOKEN; AWS_REGION or AWS_DEFAULT_REGION; and
	// AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL for a service that is not Amazon's. Without keys they
	// come from the file of shared credentials or from the machine's role. It is os.Getenv where it
	// is nil.
	Getenv func(string) string
	// Spool is the folder of files that hold what arrives of an upload until it is sent on, each of
	// a request's size; where it is empty, that of the system. They have no names, so that nothing is
	// left of them when the process dies.
	Spool string
	// Patience is how long the service may be silent before a call fails; 30 seconds where it is
	// zero.
	Patience time.Duration
}

// MaxBucketBytes is the most that a bucket takes in one request, and so the largest medium.
const MaxBucketBytes = 5 << 30

// Bucket returns a store in the bucket of an address such as s3://bucket/prefix. It does not
// connect: whether the bucket can be reached, the first call finds out.
func Bucket(address string, o BucketOptions) (Store, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	name, prefix, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	endpoint, err := endpointOf(o.Getenv)
	if err != nil {
		return nil, err
	}
	core, err := minio.NewCore(endpoint.Host, &minio.Options{
		Creds:     credentialsOf(o.Getenv),
		Secure:    endpoint.Scheme == "https",
		Region:    first(o.Getenv, "us-east-1", "AWS_REGION", "AWS_DEFAULT_REGION"),
		Transport: transport(o.Patience),
		// What can be repeated is sent twice more. An object that is being put cannot: whoever
		// uploads does it again.
		MaxRetries: 3,
	})
	if err != nil {
		return nil, fmt.Errorf("media bucket: %w", err)
	}
	return &bucket{core: *core, name: name, prefix: prefix, spool: o.Spool}, nil
}

// parseAddress reads s3://bucket/prefix.
func parseAddress(address string) (name, prefix string, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", "", errors.New("a media bucket is s3://bucket or s3://bucket/prefix, without keys or parameters")
	}
	if prefix = strings.Trim(u.Path, "/"); prefix != "" {
		prefix += "/"
	}
	return u.Host, prefix, nil
}

func endpointOf(getenv func(string) string) (*url.URL, error) {
	address := first(getenv, "https://s3.amazonaws.com", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("AWS_ENDPOINT_URL_S3 must be the address of a service, such as https://s3.example.com")
	}
	return u, nil
}

// credentialsOf returns the keys of the environment, or else where to find them. They are asked for
// when they are needed, and again before they expire.
func credentialsOf(getenv func(string) string) *credentials.Credentials {
	id, secret := getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_SECRET_ACCESS_KEY")
	if id != "" && secret != "" {
		return credentials.NewStaticV4(id, secret, getenv("AWS_SESSION_TOKEN"))
	}
	return credentials.NewChainCredentials([]credentials.Provider{&credentials.FileAWSCredentials{}, &credentials.IAM{}})
}

// first returns the first setting that is not empty, or the default.
func first(getenv func(string) string, otherwise string, names ...string) string {
	for _, name := range names {
		if v := getenv(name); v != "" {
			return v
		}
	}
	return otherwise
}

// Shared says yes: every node reaches the bucket.
func (b *bucket) Shared() bool { return true }

// Put implements Store.
func (b *bucket) Put(ctx context.Context, key Key, size int64, r io.Reader) error {
	if err := checkName("a workspace", key.Workspace); err != nil {
		return err
	}
	body := check(r, size, key)
	if body.err != nil {
		return body.err
	}
	err := b.put(ctx, b.object(key), body, size, key.Hash())
	if body.err != nil {
		return body.err
	}
	return failed("store an object", err)
}

// put stores one object, whose hash is known.
func (b *bucket) put(ctx context.Context, object string, body io.Reader, size int64, hash string) error {
	_, err := b.core.PutObject(ctx, b.name, object, body, size, "", hash, minio.PutObjectOptions{
		ContentType:          "application/octet-stream",
		DisableContentSha256: true, // not chunk by chunk: the hash of the whole is in the signature
	})
	return err
}

// Open implements Store.
func (b *bucket) Open(ctx context.Context, key Key) (Content, error) {
	if err := checkName("a workspace", key.Workspace); err != nil {
		return nil, err
	}
	object := b.object(key)
	info, err := b.stat(ctx, object)
	if err != nil {
		return nil, failed("open an object", err)
	}
	return &objectContent{ctx: ctx, bucket: b, object: object, size: info.Size,
		stamp: stampOf(info.ETag+" "+info.LastModified.String(), info.Size, info.LastModified, objectSettles)}, nil
}

// stat returns what the service knows of an object, or ErrNotFound.
func (b *bucket) stat(ctx context.Context, object string) (minio.ObjectInfo, error) {
	info, err := b.core.StatObject(ctx, b.name, object, minio.StatObjectOptions{})
	return info, absent(err)
}

// absent makes ErrNotFound of the answer that there is no such object.
func absent(err error) error {
	if e := minio.ToErrorResponse(err); e.Code == minio.NoSuchKey {
		return ErrNotFound
	}
	return err
}

// Remove implements Store.
func (b *bucket) Remove(ctx context.Context, key Key) error {
	if err := checkName("a workspace", key.Workspace); err != nil {
		return err
	}
	asked := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { asked = true }})
	err := failed("remove an object", b.remove(ctx, b.object(key)))
	if u, ok := err.(*unavailable); ok {
		u.underWay = asked
	}
	return err
}

func (b *bucket) remove(ctx context.Context, object string) error {
	err := absent(b.core.RemoveObject(ctx, b.name, object, minio.RemoveObjectOptions{}))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// List implements Store.
func (b *bucket) List(ctx context.Context, workspace string, each func(Key, int64) error) error {
	if err := checkName("a workspace", workspace); err != nil {
		return err
	}
	return b.list(ctx, "content/"+workspace+"/", true, func(name string, size int64) error {
		key, ours := parseHash(workspace, name)
		if !ours {
			return nil
		}
		return each(key, size)
	})
}

// Workspaces implements Store.
func (b *bucket) Workspaces(ctx context.Context, each func(string) error) error {
	return b.list(ctx, "content/", false, func(name string, _ int64) error {
		name, isFolder := strings.CutSuffix(name, "/")
		if !isFolder || checkName("a workspace", name) != nil {
			return nil
		}
		return each(name)
	})
}

// list calls each with the objects below a prefix, by what follows it; not recursive, with what
// stands below a further slash once, and with that slash.
func (b *bucket) list(ctx context.Context, prefix string, recursive bool, each func(name string, size int64) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing when each does
	prefix = b.prefix + prefix
	for info := range b.core.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Prefix: prefix, Recursive: recursive}) {
		if info.Err != nil {
			return failed("list objects", info.Err)
		}
		if err := each(strings.TrimPrefix(info.Key, prefix), info.Size); err != nil {
			return err
		}
	}
	return failed("list objects", ctx.Err())
}

// Tidy implements Store: only Join leaves something, when it dies, an upload by parts that nobody
// completes.
func (b *bucket) Tidy(ctx context.Context, before time.Time) (n int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for info := range b.core.ListIncompleteUploads(ctx, b.name, b.prefix+"content/", true) {
		if info.Err != nil {
			return n, failed("list uploads", info.Err)
		}
		if !info.Initiated.Before(before) {
			continue
		}
		if err := b.core.AbortMultipartUpload(ctx, b.name, info.Key, info.UploadID); err != nil {
			return n, failed("remove an upload", err)
		}
		n++
	}
	return n, failed("list uploads", ctx.Err())
}

func (b *bucket) object(key Key) string {
	return b.prefix + "content/" + key.Workspace + "/" + key.Hash()
}

// objectContent is an object that is being read. It asks for the bytes when they are read, from
// where the last Seek led.
type objectContent struct {
	ctx    context.Context
	bucket *bucket
	object string
	size   int64
	stamp  Stamp
	at     int64
	body   io.ReadCloser // nil: nothing was asked for yet
}

func (c *objectContent) Size() int64  { return c.size }
func (c *objectContent) Stamp() Stamp { return c.stamp }

// Read implements io.Reader.
func (c *objectContent) Read(p []byte) (int, error) {
	if c.at >= c.size {
		return 0, io.EOF
	}
	if c.body == nil {
		if err := c.open(); err != nil {
			return 0, failed("read an object", err)
		}
	}
	n, err := c.body.Read(p)
	c.at += int64(n)
	if err == io.EOF && c.at < c.size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && err != io.EOF {
		err = failed("read an object", err)
	}
	return n, err
}

func (c *objectContent) open() error {
	var o minio.GetObjectOptions
	if c.at > 0 {
		if err := o.SetRange(c.at, 0); err != nil {
			return err
		}
	}
	body, _, _, err := c.bucket.core.GetObject(c.ctx, c.bucket.name, c.object, o)
	c.body = body
	return absent(err)
}

// Seek implements io.Seeker.
func (c *objectContent) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += c.at
	case io.SeekEnd:
		offset += c.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning")
	}
	if offset != c.at {
		_ = c.Close() // what remains of it is of no interest
	}
	c.at = offset
	return offset, nil
}

// Close implements io.Closer.
func (c *objectContent) Close() error {
	if c.body == nil {
		return nil
	}
	body := c.body
	c.body = nil
	return body.Close()
}

// transport is how the service is talked to: a connection on which nothing moves for the time of
// patience is given up.
func transport(patience time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&patientDialer{patience}).dial,
		TLSHandshakeTimeout: patience,
		MaxIdleConns:        256,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     patience,
		WriteBufferSize:     64 << 10,
		ReadBufferSize:      64 << 10,
		DisableCompression:  true, // bytes as they are
	}
}
