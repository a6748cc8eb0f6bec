package store

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
)

// A backup is a gzip file of several members. The first holds the lines; those behind it, if there
// are any, hold the bytes of media (backup_media.go); the last one, the footer, holds one more line:
// the SHA-256 of every byte of the file before it. The footer is compared byte for byte with the only
// one that is right, so that no flipped bit, no cut and no appended byte anywhere in the file goes
// unnoticed. gzip alone does not notice all of them: its checksum is of the content, and not of its
// own header and padding.

// footedMark is how a file with a footer begins: gzip's header, whose comment says what the file
// is. The form before had neither.
var footedMark = []byte("\x1f\x8b\x08\x10\x00\x00\x00\x00\x00\xff" + backupComment + "\x00")

const backupComment = "sheaf backup 2"

// errDamaged refuses a file that is not what was written.
var errDamaged = errors.New("the backup is damaged or torn: it is not, byte for byte, what sheaf backup wrote, and nothing of it was kept; take another copy of it")

// footer returns the second member. It is made by hand, uncompressed, so that it is the same
// whatever the compressor does.
func footer(sum []byte) []byte {
	line := fmt.Appendf(nil, "{\"sha256\":\"%x\"}\n", sum)
	b := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1} // gzip's header, and that of the last block, which is stored
	b = binary.LittleEndian.AppendUint16(b, uint16(len(line)))
	b = binary.LittleEndian.AppendUint16(b, ^uint16(len(line)))
	b = append(b, line...)
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(line))
	return binary.LittleEndian.AppendUint32(b, uint32(len(line)))
}

var footerLength = len(footer(make([]byte, sha256.Size)))

// footedWriter writes the members of a backup and ends the file with its footer.
type footedWriter struct {
	lines *gzip.Writer // the first member
	raw   *gzip.Writer // the one under way of those behind it, which are not compressed; nil before
	chunk []byte       // what is held of it
	both  io.Writer    // out and sum
	out   io.Writer
	sum   hash.Hash
}

// newFootedWriter begins a backup.
func newFootedWriter(out io.Writer) *footedWriter {
	sum := sha256.New()
	both := io.MultiWriter(out, sum)
	z := gzip.NewWriter(both)
	z.Comment = backupComment
	return &footedWriter{lines: z, both: both, out: out, sum: sum}
}

// member writes a member behind the lines, which must be closed before. Nothing of it is in the file
// if from has nothing and ends with an error.
func (w *footedWriter) member(name string, from io.Reader) error {
	if w.raw == nil {
		w.raw, _ = gzip.NewWriterLevel(io.Discard, gzip.NoCompression) // the level is one that there is
		w.chunk = make([]byte, 256<<10)
	}
	w.raw.Reset(w.both)
	w.raw.Name = name
	n, err := io.CopyBuffer(onlyWriter{w.raw}, from, w.chunk)
	if err != nil && n == 0 {
		return err
	}
	return errors.Join(err, w.raw.Close())
}

// onlyWriter hides what else a writer could do, so that the buffer is used.
type onlyWriter struct{ io.Writer }

// Close writes the footer. It does not close what it writes to.
func (w *footedWriter) Close() error {
	_, err := w.out.Write(footer(w.sum.Sum(nil)))
	return err
}

// footedBody reads what is before the footer. Its io.EOF means that the footer was there, was
// right, and was the end.
type footedBody struct {
	in  *bufio.Reader
	sum hash.Hash
}

// Read returns what is before the footer, and at the end compares the footer with it.
func (r *footedBody) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	// What is at hand and is not the footer, whatever may follow.
	b, err := r.in.Peek(min(len(p), r.in.Size()-footerLength) + footerLength)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if n := len(b) - footerLength; n > 0 {
		n = copy(p, b[:n])
		r.sum.Write(p[:n])
		_, err := r.in.Discard(n)
		return n, err
	}
	if !bytes.Equal(b, footer(r.sum.Sum(nil))) {
		return 0, errDamaged
	}
	return 0, io.EOF
}

// backupReader reads the lines of a backup. Its io.EOF means that the file was whole up to its last
// byte, what is behind the lines included.
type backupReader struct {
	file *bufio.Reader // what the compressor reads
	z    *gzip.Reader
	// footed is false for files of the form before, which gzip's checksum alone protects: a bit
	// that changes nothing of the content goes unnoticed.
	footed bool
	// each is called with the bytes of every medium that is behind the lines; nil passes them over.
	each func(b mediumBytes, content io.Reader) error
	// media is what the last member says of them, when the lines have ended; nil where there is none.
	media *backupMedia
}

// newBackupReader finds out from the first bytes how the backup was written.
func newBackupReader(in io.Reader) (*backupReader, error) {
	file := bufio.NewReaderSize(in, 1<<16)
	mark, _ := file.Peek(len(footedMark)) // the compressor meets the error too
	r := &backupReader{file: file, footed: bytes.Equal(mark, footedMark)}
	if r.footed {
		r.file = bufio.NewReader(&footedBody{file, sha256.New()})
	}
	var err error
	if r.z, err = gzip.NewReader(r.file); err != nil {
		return nil, errNoBackup
	}
	r.z.Multistream(false)
	return r, nil
}

// Read returns the lines of the backup. At their end it reads what is behind them.
func (r *backupReader) Read(p []byte) (int, error) {
	n, err := r.z.Read(p)
	switch {
	case err == nil:
		return n, nil
	case !errors.Is(err, io.EOF):
		return n, torn(err)
	}
	if r.footed {
		return n, r.readMedia()
	}
	if _, err := r.file.ReadByte(); !errors.Is(err, io.EOF) { // no error: a byte where the end should be
		return n, torn(err)
	}
	return n, io.EOF
}

// next begins the next member, or returns io.EOF where there is none and the file is whole.
func (r *backupReader) next() (name string, err error) {
	err = r.z.Reset(r.file)
	switch {
	case errors.Is(err, io.EOF):
		return "", io.EOF
	case err != nil:
		return "", torn(err)
	}
	r.z.Multistream(false)
	return r.z.Name, nil
}

// torn returns the error of a disk that cannot be read; whatever else stops the reading of a backup
// means that the file is not whole.
func torn(err error) error {
	var disk *fs.PathError
	if errors.As(err, &disk) {
		return fmt.Errorf("the backup cannot be read: %w", err)
	}
	return errDamaged
}
