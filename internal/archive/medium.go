package archive

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// The bytes of a medium are in lines after its own line. So no line is longer than the others may be,
// and a reader holds at most one line in memory.

// lineBytes is the number of bytes of a medium in one line; the last line may have fewer.
const lineBytes = 1536 << 10

// mediumFields are the fields of a medium. They have no type, because the import reads it from the bytes.
func mediumFields(m *sheaf.Medium) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		o.Text("id", string(m.ID))
		o.Text("filename", m.Filename)
		o.OptText("document_id", (*string)(m.DocumentID))
		o.Int("bytes", m.Bytes)
		o.Text("sha256", m.SHA256)
		o.Time("created_at", m.CreatedAt)
	}
}

// readMedium reads the line of a medium.
func readMedium(f *strict.Fields) *app.ImportMedium {
	size := f.Int("bytes", 1, sheaf.MaxNumber)
	if !size.Given() {
		f.Refuse(errors.New("bytes is required: give it"))
	}
	return &app.ImportMedium{Filename: f.Text("filename"), DocumentID: referenceTo[sheaf.DocumentID](f, "document_id"),
		Bytes: size.Value, SHA256: required(f, "sha256")}
}

// readBytes reads a line of bytes.
func readBytes(f *strict.Fields) []byte {
	b, err := base64.StdEncoding.Strict().DecodeString(required(f, "base64"))
	if err != nil || len(b) == 0 {
		f.Refuse(errors.New("base64 must be one or more bytes in base64: correct it"))
	}
	return b
}

// filling checks that all bytes of a medium follow it, and that they have its hash.
type filling struct {
	sum   hash.Hash // nil: no medium is under way
	left  int64
	want  string
	first int // the medium's line
}

// line takes the next line of the file.
func (f *filling) line(number int, l *line) error {
	if l.kind != kindBytes {
		return f.begin(number, l)
	}
	if f.sum == nil {
		return errors.New("has bytes that belong to no medium: they must follow the medium's own line")
	}
	f.sum.Write(l.bytes)
	f.left -= int64(len(l.bytes))
	switch {
	case f.left < 0:
		return fmt.Errorf("has more bytes than the medium of line %d says: correct its bytes", f.first)
	case f.left == 0 && hex.EncodeToString(f.sum.Sum(nil)) != f.want:
		return fmt.Errorf("ends a medium whose bytes are not those of the sha256 of line %d: lines were lost or changed, export it again", f.first)
	case f.left == 0:
		f.sum = nil
	}
	return nil
}

// begin takes a line that has no bytes.
func (f *filling) begin(number int, l *line) error {
	if f.sum != nil {
		return fmt.Errorf("is where %d more bytes of the medium of line %d should be: lines were lost, export it again", f.left, f.first)
	}
	m := l.record.Medium
	if kept := l.record.ReleasedMedium; kept != nil && kept.WithBytes {
		m = &kept.ImportMedium
	}
	if m != nil {
		*f = filling{sha256.New(), m.Bytes, m.SHA256, number}
	}
	return nil
}

// mediumSource reads the bytes of a medium from the file of an import. It is for one medium at a time.
type mediumSource struct {
	file  *os.File
	lines *lineReader
	rest  []byte // unread bytes of the current line
	err   error
}

// newMediumSource opens the file once more.
func newMediumSource(path string) (*mediumSource, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &mediumSource{file: f, lines: newLineReader(f)}, nil
}

// from seeks to the first byte of a medium.
func (s *mediumSource) from(offset int64) io.Reader {
	_, s.err = s.file.Seek(offset, io.SeekStart)
	s.lines.r.Reset(s.file)
	s.rest = nil
	return s
}

// Read implements io.Reader.
func (s *mediumSource) Read(p []byte) (int, error) {
	for len(s.rest) == 0 && s.err == nil {
		s.rest, s.err = s.next()
	}
	if len(s.rest) == 0 {
		return 0, s.err
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// next reads a line of bytes. A line of another kind is the end of the medium.
func (s *mediumSource) next() ([]byte, error) {
	text, err := s.lines.next()
	if err != nil {
		return nil, err
	}
	l, err := parseLine(text)
	if err == nil && l.kind != kindBytes {
		err = io.EOF
	}
	return l.bytes, err
}
