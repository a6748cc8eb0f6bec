// Package media keeps the bytes of media: by workspace and content hash, in a folder or in a bucket
// of an S3-compatible service. It also says what bytes are (Sniff) and how large a picture is
// (Measure).
//
// It knows neither names nor rows: which bytes belong to something, and who may read them, is said
// by those above it. They write down what they are about to store before they store it, so that
// nothing is kept that nobody knows of; what a killed process left unfinished, Tidy and Uploads
// find.
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

// Key is where bytes are: in a workspace, under their hash. Equal bytes of a workspace are kept
// once.
type Key struct {
	Workspace string
	SHA256    [sha256.Size]byte
}

// Hash returns the hash in hexadecimal digits.
func (k Key) Hash() string { return hex.EncodeToString(k.SHA256[:]) }

// Store keeps bytes. All methods may be called by any number of goroutines at once, those of one
// upload by one at a time. An error for which Unavailable is true says that the store cannot do it
// now: a full or broken disk, a bucket that refuses or does not answer.
type Store interface {
	// Put stores size bytes of r under the key. When it returns nil they are durable: flushed to the
	// disk with the names that lead to them, or acknowledged by the bucket. Bytes that are too few,
	// too many or not those of the key are ErrDiffers, and nothing of them is kept; an error of r
	// comes back as it is. Bytes that are there already are written again, which mends damaged ones.
	// Of a reader that is Hashed the caller has taken the hash itself: it is not taken again.
	Put(ctx context.Context, key Key, size int64, r io.Reader) error
	// Open returns the bytes, or ErrNotFound.
	Open(ctx context.Context, key Key) (Content, error)
	// Remove removes the bytes for good; where there are none, it does nothing.
	Remove(ctx context.Context, key Key) error
	// List calls each with the key and size of everything in a workspace, in no order, and ends
	// with the first error of each.
	List(ctx context.Context, workspace string, each func(Key, int64) error) error
	// Workspaces calls each with every workspace that may have bytes.
	Workspaces(ctx context.Context, each func(workspace string) error) error

	// Append adds what r has to an upload, of which at tells how far it has come, and returns how
	// far it is then. It keeps all that it read, also when r ended with an error, which it returns
	// too; or nothing, when the store failed: then it returns at. What it says is kept is durable.
	// ErrNotFound: what at tells of is not there. Progress, as it is returned, must be kept before
	// the next Append, and by one caller alone: of two who went on from the same place, the bytes
	// of one are in the upload.
	Append(ctx context.Context, upload string, at Progress, r io.Reader) (Progress, error)
	// Join stores under the key what an upload gathered. It may be repeated, also after the upload
	// was abandoned, as long as the bytes are there under the key. ErrDiffers: its bytes are not
	// those of the key.
	Join(ctx context.Context, upload string, at Progress, key Key) error
	// Abandon removes what an upload gathered, and after Join what is left of it.
	Abandon(ctx context.Context, upload string) error
	// Uploads calls each with every upload of which there is something.
	Uploads(ctx context.Context, each func(upload string) error) error

	// Tidy removes what calls that never ended, because their process died, left before that time,
	// and returns how much it removed.
	Tidy(ctx context.Context, before time.Time) (int, error)
	// Shared reports whether several nodes reach the same bytes.
	Shared() bool
}

// Content is bytes that are being read. The caller that opened it closes it.
type Content interface {
	io.ReadSeekCloser
	Size() int64
	Stamp() Stamp // of the bytes when they were opened
}

// ErrNotFound says that there are no such bytes.
var ErrNotFound = errors.New("no such bytes are stored")

// ErrDiffers says that the bytes are not those that the key or the size promised.
var ErrDiffers = errors.New("the bytes are not those that were announced")

// Unavailable reports whether the store could not do what it was asked, for reasons of its own: it
// may be able to later.
func Unavailable(err error) bool {
	var u *unavailable
	return errors.As(err, &u)
}

// Full reports whether the store had no room: it can do nothing about that by itself.
func Full(err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return true
	}
	var answer minio.ErrorResponse
	return errors.As(err, &answer) && (fullCodes[answer.Code] || answer.StatusCode == http.StatusInsufficientStorage)
}

// fullCodes are what services say that have no room, or whose bucket has a bound: there is no code of
// S3 for it.
var fullCodes = map[string]bool{"QuotaExceeded": true, "QuotaExceededException": true, "InsufficientCapacity": true,
	"InsufficientStorage": true, "XMinioStorageFull": true, "XMinioAdminBucketQuotaExceeded": true}

// Over reports whether a call that failed is over: nothing of it happens later. A service that was
// asked, and did not answer, may still do what it was asked.
func Over(err error) bool {
	var u *unavailable
	return errors.As(err, &u) && !u.underWay
}

type unavailable struct {
	act      string
	err      error
	underWay bool // somebody else was asked to do it, and may still do it
}

func (u *unavailable) Error() string { return u.act + ": " + u.err.Error() }
func (u *unavailable) Unwrap() error { return u.err }

// failed makes an error of the store's own out of err, unless that is nil or speaks of what was
// asked for.
func failed(act string, err error) error {
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrDiffers) || errors.Is(err, ErrDamaged) {
		return err
	}
	return &unavailable{act: act, err: err}
}

// name is what workspaces and uploads are called: it is a single element of a path, on any system.
var name = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]{0,79}$`)

func checkName(noun, s string) error {
	if !name.MatchString(s) {
		return fmt.Errorf("%q is no name of %s", s, noun)
	}
	return nil
}

// parseHash reads the name of a file or object; others than those that Put made are not ours.
func parseHash(workspace, s string) (Key, bool) {
	key := Key{Workspace: workspace}
	if len(s) != hex.EncodedLen(sha256.Size) {
		return key, false
	}
	_, err := hex.Decode(key.SHA256[:], []byte(s))
	return key, err == nil
}
