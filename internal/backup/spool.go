package backup

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// spool is a list of store.MediumBytes in an unlinked temporary file: there may be millions. It is not
// safe for concurrent use.
type spool struct {
	file *os.File
	w    *bufio.Writer
}

// spoolEntry is the length of an entry: workspace, hash and size.
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

func (s *spool) add(b store.MediumBytes) error {
	workspace, _ := sheaf.UUIDBytes(string(b.Workspace)) // always valid: it comes from the store
	entry := append(workspace[:], b.SHA256[:]...)
	_, err := s.w.Write(binary.BigEndian.AppendUint64(entry, uint64(b.Size)))
	return err
}

// each calls fn with every entry, and stops at its first error.
func (s *spool) each(fn func(store.MediumBytes) error) error {
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
		b := store.MediumBytes{Workspace: sheaf.WorkspaceID(sheaf.FormatUUID([16]byte(entry))), SHA256: [32]byte(entry[16:]), Size: int64(binary.BigEndian.Uint64(entry[48:]))}
		if err := fn(b); err != nil {
			return err
		}
	}
}

// close closes the file, which deletes it.
func (s *spool) close() { _ = s.file.Close() }
