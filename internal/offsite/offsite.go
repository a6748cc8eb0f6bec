// Package offsite keeps encrypted backups of a store in a bucket, and reads them back. The rows are a file of package
// backup in pieces; media are objects of their own, which later backups use again.
//
//	backups/<stamp>/rows-0001.age …      the file of package backup, encrypted, in pieces
//	backups/<stamp>/manifest.json        what the pieces are; written last: a backup without it does not count
//	media/<recipients>/<ws>/<hash>.age   the bytes of a medium, encrypted
//	gone/<recipients>/<ws>/<hash>/<stamp>  a mark: the medium is in no backup from this one on
//
// Everything is encrypted to the recipients of the operator (age), and the writer has no key that decrypts it. So it
// cannot read a backup to learn which media it needs: a medium is removed once every backup that is kept is newer than
// its mark. A stamp is a time with a random end, and stamps sort by time.
//
// It holds one piece of an encrypted text in memory, never a whole file. While it sends, no snapshot of the store is open.
package offsite

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"sheaf.dev/internal/media"
)

const (
	backupsFolder = "backups/"
	mediaFolder   = "media/"
	goneFolder    = "gone/"
	manifestName  = "manifest.json"
	// everything stands for all media of a workspace, or of recipients, in the name of a mark.
	everything = "all"
	// maxManifest bounds the bytes of a manifest that are read.
	maxManifest = 4 << 20
)

// Config is what a Bucket needs.
type Config struct {
	Objects *media.Objects
	// Recipients are the public keys of age (age1…) to which everything is encrypted. Reading needs none.
	Recipients []string
	Now        func() time.Time
	// Spool is the folder of temporary files, which have no names. Empty means the system's.
	Spool   string
	Version string // of the program, for the manifest
}

// Bucket is where the backups are.
type Bucket struct {
	Config
	recipients []age.Recipient
	group      string // names the recipients in the names of media
	piece      int64  // bytes of a piece
}

// maxPiece is the size of the pieces of rows. A piece is one request.
const maxPiece = 1 << 30

// New returns the backups in a bucket. It does not connect.
func New(c Config) (*Bucket, error) {
	b := &Bucket{Config: c, piece: maxPiece}
	names := slices.Sorted(slices.Values(c.Recipients))
	for _, name := range slices.Compact(names) {
		r, err := age.ParseX25519Recipient(name)
		if err != nil {
			return nil, fmt.Errorf("the recipient %q is no public key of age: %w", name, err)
		}
		b.recipients = append(b.recipients, r)
	}
	sum := sha256.Sum256([]byte(strings.Join(names, "\n")))
	b.group = hex.EncodeToString(sum[:8])
	return b, nil
}

// Piece is an object with a part of the rows.
type Piece struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // of the object, which is encrypted
}

// Manifest says what a whole backup is. It has no content.
type Manifest struct {
	Form       int     `json:"sheaf_offsite"`
	Stamp      string  `json:"backup"`
	Version    string  `json:"version"` // of the program that wrote it
	Group      string  `json:"recipients"`
	Pieces     []Piece `json:"pieces"`
	Rows       int64   `json:"rows"`
	Media      int64   `json:"media"`
	MediaBytes int64   `json:"media_bytes"`
	MediaSent  int64   `json:"media_sent"` // how many were not in the bucket yet
}

// At returns when the backup was begun: it has everything that was acknowledged before.
func (m *Manifest) At() time.Time {
	at, _ := stampTime(m.Stamp)
	return at
}

// stampForm is the time in a stamp.
const stampForm = "20060102T150405.000Z"

func newStamp(at time.Time) string {
	var random [4]byte
	_, _ = rand.Read(random[:])
	return at.UTC().Format(stampForm) + "-" + hex.EncodeToString(random[:])
}

func stampTime(stamp string) (time.Time, bool) {
	text, random, _ := strings.Cut(stamp, "-")
	at, err := time.Parse(stampForm, text)
	return at, err == nil && len(random) == 8
}

func pieceName(stamp string, i int) string {
	return fmt.Sprintf("%s%s/rows-%04d.age", backupsFolder, stamp, i+1)
}

// encode returns the manifest with its own hash in a second line.
func (m *Manifest) encode() ([]byte, error) {
	line, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(line)
	return fmt.Appendf(line, "\n%x\n", sum), nil
}

// manifest reads the manifest of a backup.
func (b *Bucket) manifest(ctx context.Context, stamp string) (*Manifest, error) {
	name := backupsFolder + stamp + "/" + manifestName
	content, _, err := b.Objects.Open(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer content.Close()
	text, err := io.ReadAll(io.LimitReader(content, maxManifest))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	m := &Manifest{}
	sum := sha256.Sum256(line)
	if string(rest) != hex.EncodeToString(sum[:])+"\n" || json.Unmarshal(line, m) != nil || m.Stamp != stamp {
		return nil, fmt.Errorf("%s is not what sheaf backup wrote: it is damaged or cut short, so this backup is refused; choose an older one", name)
	}
	if m.Form != 1 {
		return nil, fmt.Errorf("%s is of a newer program (%s): use that one", name, m.Version)
	}
	return m, nil
}

// stamps returns the stamps of all whole backups, oldest first, and those of backups without a manifest.
func (b *Bucket) stamps(ctx context.Context) (whole, begun []string, err error) {
	last := ""
	err = b.Objects.List(ctx, backupsFolder, func(o media.Object) error {
		stamp, name, _ := strings.Cut(strings.TrimPrefix(o.Name, backupsFolder), "/")
		if _, ours := stampTime(stamp); !ours {
			return nil
		}
		if stamp != last {
			begun, last = append(begun, stamp), stamp
		}
		if name == manifestName {
			whole = append(whole, stamp)
		}
		return nil
	})
	slices.Sort(whole)
	slices.Sort(begun)
	begun = slices.DeleteFunc(begun, func(s string) bool {
		_, found := slices.BinarySearch(whole, s)
		return found
	})
	return whole, begun, err
}

// Newest returns when the newest whole backup was begun; the zero time if there is none.
func (b *Bucket) Newest(ctx context.Context) (at time.Time, err error) {
	whole, _, err := b.stamps(ctx)
	if len(whole) > 0 {
		at, _ = stampTime(whole[len(whole)-1])
	}
	return at, err
}

// List calls each with the manifests of all whole backups, oldest first. A damaged one has an error instead.
func (b *Bucket) List(ctx context.Context, each func(stamp string, m *Manifest, damaged error) error) error {
	whole, _, err := b.stamps(ctx)
	if err != nil {
		return err
	}
	for _, stamp := range whole {
		m, err := b.manifest(ctx, stamp)
		if media.Unavailable(err) {
			return err
		}
		if err := each(stamp, m, err); err != nil {
			return err
		}
	}
	return nil
}

// ErrNone means that the bucket has no such backup.
var ErrNone = errors.New("there is no such backup in the bucket")

// Find returns the newest backup that was begun at or before `at`: a stamp, a time of RFC 3339 or a day; empty means
// now.
func (b *Bucket) Find(ctx context.Context, at string) (*Manifest, error) {
	var until time.Time
	_, exact := stampTime(at)
	switch {
	case at == "" || exact:
	default:
		if day, err := time.Parse(time.DateOnly, at); err == nil {
			until = day.AddDate(0, 0, 1).Add(-time.Millisecond)
		} else if until, err = time.Parse(time.RFC3339, at); err != nil {
			return nil, fmt.Errorf("@%s is no time: write for example @2026-11-19, @2026-11-19T03:15:00Z, or a name that sheaf backup list prints", at)
		}
	}
	whole, _, err := b.stamps(ctx)
	if err != nil {
		return nil, err
	}
	for _, stamp := range slices.Backward(whole) {
		begun, _ := stampTime(stamp)
		if exact && stamp == at || !exact && (until.IsZero() || !begun.After(until)) {
			return b.manifest(ctx, stamp)
		}
	}
	return nil, ErrNone
}

// newSpool returns a temporary file without a name.
func (b *Bucket) newSpool() (*os.File, error) {
	f, err := os.CreateTemp(b.Spool, ".sheaf-backup-*") // mode 0600
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
