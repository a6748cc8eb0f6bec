package offsite

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"filippo.io/age"

	"sheaf.dev/internal/backup"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/store"
)

// Write makes a backup, and returns when the bucket has returned the same bytes again. Until then it does not count,
// and nothing of another backup is touched. If files is nil, the bytes of media are left out.
func (b *Bucket) Write(ctx context.Context, st *store.Store, files media.Store) (*Manifest, backup.Count, error) {
	if len(b.recipients) == 0 {
		return nil, backup.Count{}, errors.New("a backup in a bucket is encrypted: name a recipient")
	}
	m := &Manifest{Form: 1, Stamp: newStamp(b.Now()), Version: b.Version, Group: b.group}
	spool, err := b.newSpool()
	if err != nil {
		return nil, backup.Count{}, err
	}
	defer spool.Close()
	s, err := b.newSender(ctx)
	if err != nil {
		return nil, backup.Count{}, err
	}
	defer s.close()
	count, err := b.writeRows(ctx, st, files, spool, s)
	if err == nil {
		err = b.sendPieces(ctx, m, spool)
	}
	if err == nil && files != nil {
		err = s.finish(ctx)
	}
	if err != nil {
		return nil, count, err
	}
	m.Rows, m.Media, m.MediaBytes, m.MediaSent = count.Rows, count.Media, count.MediaBytes, s.count
	if err := b.seal(ctx, m); err != nil {
		return nil, count, err
	}
	if files != nil {
		if err := s.mark(ctx, m.Stamp); err != nil {
			return m, count, fmt.Errorf("the backup is whole, but what later ones need no more was not marked: %w", err)
		}
	}
	return m, count, nil
}

// writeRows writes the encrypted rows into the file, so that no snapshot waits for the bucket, and sends the media.
func (b *Bucket) writeRows(ctx context.Context, st *store.Store, files media.Store, spool io.Writer, s *sender) (backup.Count, error) {
	out := bufio.NewWriterSize(spool, 64<<10)
	w, err := age.Encrypt(out, b.recipients...)
	if err != nil {
		return backup.Count{}, err
	}
	count, err := backup.WriteBeside(ctx, st, w, files, s.send)
	if err == nil {
		err = errors.Join(w.Close(), out.Flush())
	}
	return count, err
}

// sendPieces sends the file in pieces, and compares what the bucket has then.
func (b *Bucket) sendPieces(ctx context.Context, m *Manifest, spool *os.File) error {
	size, err := spool.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	for at := int64(0); at < size; at += b.piece {
		n := min(b.piece, size-at)
		hash := sha256.New()
		if _, err := io.Copy(hash, io.NewSectionReader(spool, at, n)); err != nil {
			return err
		}
		p := Piece{n, hex.EncodeToString(hash.Sum(nil))}
		name := pieceName(m.Stamp, len(m.Pieces))
		if err := b.Objects.Put(ctx, name, n, p.SHA256, io.NewSectionReader(spool, at, n)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		m.Pieces = append(m.Pieces, p)
	}
	for i := range m.Pieces {
		if err := b.readPiece(ctx, m, i, io.Discard); err != nil {
			return err
		}
	}
	return nil
}

// seal writes the manifest, with which the backup begins to count.
func (b *Bucket) seal(ctx context.Context, m *Manifest) error {
	text, err := m.encode()
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	name := backupsFolder + m.Stamp + "/" + manifestName
	if err := b.Objects.Put(ctx, name, int64(len(text)), hex.EncodeToString(sum[:]), bytes.NewReader(text)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	read, err := b.manifest(ctx, m.Stamp)
	if err != nil {
		return err
	}
	if again, _ := read.encode(); !bytes.Equal(again, text) {
		return fmt.Errorf("%s: the bucket answers with another object than was stored", name)
	}
	return nil
}

// readPiece copies a piece, and returns an error with the place if it is not the one of the manifest.
func (b *Bucket) readPiece(ctx context.Context, m *Manifest, i int, to io.Writer) error {
	name, want := pieceName(m.Stamp, i), m.Pieces[i]
	content, _, err := b.Objects.Open(ctx, name)
	if errors.Is(err, media.ErrNotFound) {
		return &DamagedError{Object: name, Fault: "is missing"}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer content.Close()
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, hash), io.LimitReader(content, want.Bytes+1))
	switch {
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: %w", name, err)
	case n < want.Bytes:
		return &DamagedError{Object: name, Fault: fmt.Sprintf("is cut short: it ends after %d of %d bytes", n, want.Bytes)}
	case n > want.Bytes:
		return &DamagedError{Object: name, Fault: fmt.Sprintf("goes on after its end at %d bytes", want.Bytes)}
	case hex.EncodeToString(hash.Sum(nil)) != want.SHA256:
		return &DamagedError{Object: name, Fault: "has other bytes than were stored"}
	}
	return nil
}

// DamagedError says which object of a backup is not what was stored.
type DamagedError struct {
	Object string
	Fault  string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s %s: this backup is refused; choose an older one", e.Object, e.Fault)
}
