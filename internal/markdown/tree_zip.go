package markdown

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

const (
	// maxZip is the largest size of an archive.
	maxZip = 2 << 30
	// maxDirectory is the largest part of an archive that is read before it is checked: its list of
	// entries.
	maxDirectory = 32 << 20
	// maxRatio is the largest ratio of the size of all entries to the size of the archive. Texts
	// have a ratio of about five. An archive with a ratio of hundreds is made to fill a disk.
	maxRatio = 100
	// smallZip is the size of all entries up to which the ratio is not checked.
	smallZip = 16 << 20
)

// openZip opens an archive and checks every entry in its list.
func openZip(path string) (*Tree, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	t, err := readZip(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	t.closer = f
	return t, nil
}

func readZip(f *os.File) (*Tree, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxZip {
		return nil, fmt.Errorf("no file of at most %d bytes", int64(maxZip))
	}
	return newZip(f, info.Size())
}

// newZip returns the tree of an archive.
func newZip(file io.ReaderAt, size int64) (*Tree, error) {
	counted := &metered{file, maxDirectory}
	z, err := zip.NewReader(counted, size)
	// Our check of paths includes that of the package, and gives a better error.
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, fmt.Errorf("this is neither a folder nor a zip archive that can be read: %w", err)
	}
	counted.left = -1
	if err := checkBomb(z.File, size); err != nil {
		return nil, err
	}
	t, files, s := &Tree{names: map[string]string{}, sequence: map[string]int{}}, map[string]*zip.File{}, survey{}
	for _, e := range z.File {
		if err := checkEntry(e); err != nil {
			return nil, err
		}
		name, folder := strings.CutSuffix(e.Name, "/")
		if err := t.add(s, name, folder); err != nil {
			return nil, err
		}
		files[name] = e
	}
	for i, path := range t.paths {
		t.sequence[path] = i
		if dir := folderOf(path) + "/"; t.sequence[dir] == 0 {
			t.sequence[dir] = i // the folder's first page. The folder of page 0 may get a later page, but still comes first
		}
	}
	t.open = func(name string) (io.ReadCloser, error) { return files[name].Open() }
	return t, t.finish()
}

// checkBomb refuses an archive that contains far more than its size. The sizes are the archive's
// own claims: more than an entry claims is never read.
func checkBomb(entries []*zip.File, size int64) error {
	var all, texts uint64
	for _, e := range entries {
		if e.UncompressedSize64 > 1<<50 { // so that the sum cannot overflow
			return fmt.Errorf("%q has %d bytes", e.Name, e.UncompressedSize64)
		}
		if all += e.UncompressedSize64; IsMarkdown(e.Name) {
			texts += e.UncompressedSize64
		}
	}
	switch {
	case all > smallZip && all/maxRatio > uint64(size):
		return fmt.Errorf("%d bytes are packed into %d: an archive like this is made to harm", all, size)
	case texts > MaxBytes:
		return fmt.Errorf("there are more than %d bytes of Markdown", MaxBytes)
	}
	return nil
}

// checkEntry refuses entries that no export of documents has.
func checkEntry(e *zip.File) error {
	folder := strings.HasSuffix(e.Name, "/")
	switch mode := e.Mode(); {
	case e.Flags&1 != 0:
		return fmt.Errorf("%q is encrypted", e.Name)
	case mode.Type() != 0 && !(folder && mode.Type() == fs.ModeDir):
		return fmt.Errorf("%q is a link or a device", e.Name)
	case e.Method != zip.Store && e.Method != zip.Deflate:
		return fmt.Errorf("%q is packed by method %d, which is not known", e.Name, e.Method)
	}
	return nil
}

// metered reads at most `left` bytes of an archive; a negative `left` means no limit. It is safe
// for concurrent use only without a limit.
type metered struct {
	io.ReaderAt
	left int64
}

func (m *metered) ReadAt(p []byte, at int64) (int, error) {
	if m.left >= 0 {
		if m.left -= int64(len(p)); m.left < 0 {
			m.left = 0
			return 0, errors.New("its list of entries is too long")
		}
	}
	return m.ReaderAt.ReadAt(p, at)
}
