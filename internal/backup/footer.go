package backup

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

	"sheaf.dev/internal/store"
)

// A backup is a gzip file of several members. The first contains the rows as lines. The following
// ones, if any, contain the bytes of media (media.go). The last one, the footer, is one more
// line: the SHA-256 of all bytes before it. The footer must match byte for byte, so that any
// flipped bit, cut or appended byte in the file is noticed. gzip alone would miss some: its
// checksum covers the content, not its own header and padding.

// footedMark is the beginning of a file with a footer: a gzip header whose comment names the
// format.
var footedMark = []byte("\x1f\x8b\x08\x10\x00\x00\x00\x00\x00\xff" + fileComment + "\x00")

const fileComment = "sheaf backup 2"

// errDamaged is returned for a file that differs from what was written.
var errDamaged = errors.New("the backup is damaged or torn: it is not, byte for byte, what sheaf backup wrote, and nothing of it was kept; take another copy of it")

// footer returns the last member. It is built by hand and not compressed, so that it does not
// depend on the compressor's version.
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
	raw   *gzip.Writer // the uncompressed member being written after it; nil before the first
	chunk []byte       // copy buffer for raw
	both  io.Writer    // out and sum
	out   io.Writer
	sum   hash.Hash
}

// member writes a member after the lines, which must be closed first. If `from` fails before its
// first byte, nothing is written.
func (w *footedWriter) member(name string, from io.Reader) error {
	if w.raw == nil {
		w.raw, _ = gzip.NewWriterLevel(io.Discard, gzip.NoCompression) // no error: the level is valid
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

// onlyWriter hides ReadFrom, so that io.CopyBuffer uses the buffer.
type onlyWriter struct{ io.Writer }

// Close writes the footer. It does not close the underlying writer.
func (w *footedWriter) Close() error {
	_, err := w.out.Write(footer(w.sum.Sum(nil)))
	return err
}

// footedBody reads everything before the footer. It returns io.EOF only if the footer was correct
// and the file ended after it.
type footedBody struct {
	in  *bufio.Reader
	sum hash.Hash
}

// Read implements io.Reader. At the end it verifies the footer.
func (r *footedBody) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	// Peek far enough ahead that the bytes returned cannot belong to the footer.
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

// reader reads the lines of a backup. It returns io.EOF only if the whole file is intact,
// including the members after the lines.
type reader struct {
	file *bufio.Reader // input of the decompressor
	z    *gzip.Reader
	// each is called with the bytes of every medium after the lines; nil skips them.
	each func(b store.MediumBytes, content io.Reader) error
	// media is the content of the last member, set once the lines have ended; nil if there is none.
	media *mediaSummary
}

// newReader starts to read a backup. It returns errNoBackup if the file does not begin like one.
func newReader(in io.Reader) (*reader, error) {
	file := bufio.NewReaderSize(in, 1<<16)
	if mark, _ := file.Peek(len(footedMark)); !bytes.Equal(mark, footedMark) {
		return nil, errNoBackup
	}
	r := &reader{file: bufio.NewReader(&footedBody{file, sha256.New()})}
	var err error
	if r.z, err = gzip.NewReader(r.file); err != nil {
		return nil, errNoBackup
	}
	r.z.Multistream(false)
	return r, nil
}

// Read implements io.Reader for the lines. At their end it reads the rest of the file.
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.z.Read(p)
	switch {
	case err == nil:
		return n, nil
	case !errors.Is(err, io.EOF):
		return n, torn(err)
	}
	return n, r.readMedia()
}

// next starts the next member and returns its name, or io.EOF if there is none and the file is
// intact.
func (r *reader) next() (name string, err error) {
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

// torn returns an error of the disk as it is. Any other error while reading a backup means that the
// file is damaged.
func torn(err error) error {
	var disk *fs.PathError
	if errors.As(err, &disk) {
		return fmt.Errorf("the backup cannot be read: %w", err)
	}
	return errDamaged
}
