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
//	content/<workspace>/<hash>   stored bytes
//	uploads/<upload>/<part>      bytes of an upload that have arrived so far
//
// An object exists whole or not at all, so there is no staging. The hash is part of the signature
// of every object that is put, and the service refuses other bytes.
type bucket struct {
	core   minio.Core
	name   string
	prefix string // prefix of all object keys; empty, or with a trailing slash
	spool  string
}

// BucketOptions are the settings of a bucket besides its address.
type BucketOptions struct {
	// Getenv reads the settings that the tools of AWS know: AWS_ACCESS_KEY_ID and
	// AWS_SECRET_ACCESS_KEY, with AWS_SESSION_TOKEN; AWS_REGION or AWS_DEFAULT_REGION; and
	// AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL for a service that is not Amazon's. If there are no
	// keys, they are taken from the shared credentials file or from the machine's role. nil means
	// os.Getenv.
	Getenv func(string) string
	// Spool is the folder for files that hold the bytes of an upload until they are sent on, each
	// as large as a request. Empty means the system's temporary folder. The files have no names, so
	// nothing is left of them if the process dies.
	Spool string
	// Patience is how long the service may be silent before a call fails. 0 means 30 seconds.
	Patience time.Duration
}

// MaxBucketBytes is the most that a bucket takes in one request, and so the size of the largest
// medium.
const MaxBucketBytes = 5 << 30

// Bucket returns a store in the bucket at an address such as s3://bucket/prefix. It does not
// connect: the first call finds out whether the bucket can be reached.
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
		Creds:  credentialsOf(o.Getenv),
		Secure: endpoint.Scheme == "https",
		Region: first(o.Getenv, "us-east-1", "AWS_REGION", "AWS_DEFAULT_REGION"),
		// A connection on which nothing moves for o.Patience is closed.
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&patientDialer{o.Patience}).dial,
			TLSHandshakeTimeout: o.Patience,
			MaxIdleConns:        256,
			MaxIdleConnsPerHost: 64,
			IdleConnTimeout:     o.Patience,
			WriteBufferSize:     64 << 10,
			ReadBufferSize:      64 << 10,
			DisableCompression:  true, // the bytes must not be changed
		},
		// Requests that can be repeated are sent up to twice more. Putting an object cannot be
		// repeated here: the client uploads it again.
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

// credentialsOf returns the keys of the environment or, if there are none, a provider that looks
// them up when they are needed and again before they expire.
func credentialsOf(getenv func(string) string) *credentials.Credentials {
	id, secret := getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_SECRET_ACCESS_KEY")
	if id != "" && secret != "" {
		return credentials.NewStaticV4(id, secret, getenv("AWS_SESSION_TOKEN"))
	}
	return credentials.NewChainCredentials([]credentials.Provider{&credentials.FileAWSCredentials{}, &credentials.IAM{}})
}

// first returns the first setting that is not empty, or `otherwise`.
func first(getenv func(string) string, otherwise string, names ...string) string {
	for _, name := range names {
		if v := getenv(name); v != "" {
			return v
		}
	}
	return otherwise
}

// Shared returns true: every node reaches the bucket.
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

// put stores one object with a known hash.
func (b *bucket) put(ctx context.Context, object string, body io.Reader, size int64, hash string) error {
	_, err := b.core.PutObject(ctx, b.name, object, body, size, "", hash, minio.PutObjectOptions{
		ContentType:          "application/octet-stream",
		DisableContentSha256: true, // not per chunk: the hash of the whole object is in the signature
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

// stat returns the service's information about an object, or ErrNotFound.
func (b *bucket) stat(ctx context.Context, object string) (minio.ObjectInfo, error) {
	info, err := b.core.StatObject(ctx, b.name, object, minio.StatObjectOptions{})
	return info, absent(err)
}

// absent replaces the service's answer that there is no such object by ErrNotFound.
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

// list calls each with the objects below a prefix, by the rest of their names. If it is not
// recursive, everything below a further slash is one entry that ends in that slash.
func (b *bucket) list(ctx context.Context, prefix string, recursive bool, each func(name string, size int64) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing if each returns an error
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

// Tidy implements Store. Only a Join whose process died leaves something: a multipart upload that
// is never completed.
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

// objectContent is an object that is being read. It requests the bytes at the first Read, from the
// position of the last Seek.
type objectContent struct {
	ctx    context.Context
	bucket *bucket
	object string
	size   int64
	stamp  Stamp
	at     int64
	body   io.ReadCloser // nil: nothing is requested yet
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
		_ = c.Close() // the rest of the body is not needed
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
