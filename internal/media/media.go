// Package media keeps the bytes of media, by workspace and content hash, in a folder or in a bucket
// of an S3-compatible service. It also finds the type of bytes (Sniff) and the size of a picture
// (Measure).
//
// It knows neither names nor rows: its callers decide which bytes belong to what, and who may read
// them. They record what they are about to store before they store it, so that no bytes are kept
// without a record. Tidy and Uploads find what a killed process left unfinished.
package media

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"syscall"
	"time"

	"github.com/minio/minio-go/v7"
)

// Key is where bytes are: in a workspace, under their hash. Equal bytes of a workspace are stored
// once.
type Key struct {
	Workspace string
	SHA256    [sha256.Size]byte
}

// Hash returns the hash in hexadecimal digits.
func (k Key) Hash() string { return hex.EncodeToString(k.SHA256[:]) }

// Store keeps bytes. All methods are safe for concurrent use, except that those of one upload must
// be called one at a time. An error for which Unavailable is true means that the store cannot do it
// now: the disk is full or broken, or the bucket refuses or does not answer.
type Store interface {
	// Put stores `size` bytes of r under the key. When it returns nil they are durable: flushed to
	// the disk together with their names, or acknowledged by the bucket. If the bytes are too few,
	// too many or not those of the key, Put returns ErrDiffers and keeps nothing. An error of r is
	// returned unchanged. Existing bytes are written again, which repairs damaged ones. If r is
	// Hashed, the caller has computed the hash, and Put does not check it.
	Put(ctx context.Context, key Key, size int64, r io.Reader) error
	// Open returns the bytes, or ErrNotFound.
	Open(ctx context.Context, key Key) (Content, error)
	// Remove deletes the bytes permanently. If there are none, it does nothing.
	Remove(ctx context.Context, key Key) error
	// List calls each with the key and size of everything in a workspace, in no particular order.
	// It stops at the first error of each.
	List(ctx context.Context, workspace string, each func(Key, int64) error) error
	// Workspaces calls each with every workspace that may have bytes.
	Workspaces(ctx context.Context, each func(workspace string) error) error

	// Append appends the bytes of r to an upload whose progress is `at`, and returns the new
	// progress. If r ends with an error, Append keeps everything that it read and returns that
	// error too. If the store fails, it keeps nothing and returns `at`. What the returned progress
	// counts is durable. It returns ErrNotFound if the bytes of `at` are not there. The caller must
	// store the returned progress before the next Append, and only one caller may: if two continue
	// from the same position, the upload has the bytes of one of them.
	Append(ctx context.Context, upload string, at Progress, r io.Reader) (Progress, error)
	// Join stores the bytes of an upload under the key. It may be repeated, even after the upload
	// was abandoned, as long as the bytes are stored under the key. It returns ErrDiffers if the
	// bytes are not those of the key.
	Join(ctx context.Context, upload string, at Progress, key Key) error
	// Abandon removes the bytes of an upload and, after Join, what is left of it.
	Abandon(ctx context.Context, upload string) error
	// Uploads calls each with every upload that has bytes.
	Uploads(ctx context.Context, each func(upload string) error) error

	// Tidy removes what calls that began before `before` left when their process died, and returns
	// how much it removed.
	Tidy(ctx context.Context, before time.Time) (int, error)
	// Shared reports whether several nodes reach the same bytes.
	Shared() bool
}

// Content is bytes that are being read. The caller that opened it closes it.
type Content interface {
	io.ReadSeekCloser
	Size() int64
	Stamp() Stamp // stamp of the bytes when they were opened
}

// ErrNotFound means that there are no such bytes.
var ErrNotFound = errors.New("no such bytes are stored")

// ErrDiffers means that the bytes do not match the key or the size.
var ErrDiffers = errors.New("the bytes are not those that were announced")

// Unavailable reports whether the store failed for reasons of its own. A later attempt may succeed.
func Unavailable(err error) bool {
	var u *unavailable
	return errors.As(err, &u)
}

// Full reports whether the store has no room. The store cannot change that by itself.
func Full(err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return true
	}
	var answer minio.ErrorResponse
	return errors.As(err, &answer) && (fullCodes[answer.Code] || answer.StatusCode == http.StatusInsufficientStorage)
}

// fullCodes are the codes of services without room, or whose bucket has a quota. S3 has no code for
// this.
var fullCodes = map[string]bool{"QuotaExceeded": true, "QuotaExceededException": true, "InsufficientCapacity": true,
	"InsufficientStorage": true, "XMinioStorageFull": true, "XMinioAdminBucketQuotaExceeded": true}

// Over reports whether a failed call has certainly ended: nothing of it can happen later. A service
// that did not answer may still carry out the request.
func Over(err error) bool {
	var u *unavailable
	return errors.As(err, &u) && !u.underWay
}

type unavailable struct {
	act      string
	err      error
	underWay bool // the service got the request, and may still carry it out
}

func (u *unavailable) Error() string { return u.act + ": " + u.err.Error() }
func (u *unavailable) Unwrap() error { return u.err }

// failed marks err as an error of the store (unavailable), unless err is nil or about the requested
// bytes.
func failed(act string, err error) error {
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrDiffers) || errors.Is(err, ErrDamaged) {
		return err
	}
	return &unavailable{act: act, err: err}
}

// name matches the names of workspaces and uploads: a single path element on any system.
var name = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]{0,79}$`)

func checkName(noun, s string) error {
	if !name.MatchString(s) {
		return fmt.Errorf("%q is no name of %s", s, noun)
	}
	return nil
}

// parseHash reads the name of a file or object. ok is false if Put did not create it.
func parseHash(workspace, s string) (Key, bool) {
	key := Key{Workspace: workspace}
	if len(s) != hex.EncodedLen(sha256.Size) {
		return key, false
	}
	_, err := hex.Decode(key.SHA256[:], []byte(s))
	return key, err == nil
}
