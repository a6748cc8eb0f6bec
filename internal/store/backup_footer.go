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

// A backup is a gzip file of two members. The first holds the lines; the second, the footer, holds
// one more line: the SHA-256 of every byte of the file before it. The footer is compared byte for
// byte with the only one that is right, so that no flipped bit, no cut and no appended byte
// anywhere in the file goes unnoticed. gzip alone does not notice all of them: its checksum is of
// the content, and not of its own header and padding.

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

// footedWriter compresses what is written and ends the file with its footer.
type footedWriter struct {
	*gzip.Writer
	out io.Writer
	sum hash.Hash
}

// newFootedWriter begins a backup.
func newFootedWriter(out io.Writer) *footedWriter {
	sum := sha256.New()
	z := gzip.NewWriter(io.MultiWriter(out, sum))
	z.Comment = backupComment
	return &footedWriter{z, out, sum}
}

// Close writes what is left, and the footer. It does not close what it writes to.
func (w *footedWriter) Close() error {
	if err := w.Writer.Close(); err != nil {
		return err
	}
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
// byte.
type backupReader struct {
	file *bufio.Reader // what the compressor reads
	z    *gzip.Reader
	// footed is false for files of the form before, which gzip's checksum alone protects: a bit
	// that changes nothing of the content goes unnoticed.
	footed bool
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

// Read returns the lines of the backup.
func (r *backupReader) Read(p []byte) (int, error) {
	n, err := r.z.Read(p)
	switch {
	case err == nil:
		return n, nil
	case !errors.Is(err, io.EOF):
		return n, torn(err)
	}
	if _, err := r.file.ReadByte(); !errors.Is(err, io.EOF) { // no error: a byte where the end should be
		return n, torn(err)
	}
	return n, io.EOF
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
