package store

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaf"
)

// spool is a list of bytes of media in a file without a name: there may be millions of them. It is for
// one goroutine.
type spool struct {
	file *os.File
	w    *bufio.Writer
}

// spoolEntry is how long an entry is: the workspace, the hash and the size.
const spoolEntry = 16 + 32 + 8

func newSpool() (*spool, error) {
	f, err := os.CreateTemp("", "sheaf-media-*") // mode 0600
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &spool{f, bufio.NewWriter(f)}, nil
}

// add appends an entry.
func (s *spool) add(b mediumBytes) error {
	workspace, _ := sheaf.UUIDBytes(b.key.Workspace) // it is one: the store has it
	entry := append(workspace[:], b.key.SHA256[:]...)
	_, err := s.w.Write(binary.BigEndian.AppendUint64(entry, uint64(b.size)))
	return err
}

// each calls fn with every entry, and ends with its first error.
func (s *spool) each(fn func(mediumBytes) error) error {
	if err := s.w.Flush(); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r := bufio.NewReader(s.file)
	for entry := make([]byte, spoolEntry); ; {
		if _, err := io.ReadFull(r, entry); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		b := mediumBytes{media.Key{Workspace: sheaf.FormatUUID([16]byte(entry)), SHA256: [32]byte(entry[16:])}, int64(binary.BigEndian.Uint64(entry[48:]))}
		if err := fn(b); err != nil {
			return err
		}
	}
}

// close gives the file back, which is gone then.
func (s *spool) close() { _ = s.file.Close() }
