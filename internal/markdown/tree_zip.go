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
	// maxZip is how long an archive may be.
	maxZip = 2 << 30
	// maxDirectory is how much of an archive may be read before it is judged: its list of entries.
	maxDirectory = 32 << 20
	// maxRatio is how many times as long as the archive its entries may be together. Texts are five
	// times as long; what is hundreds of times as long is made to fill a disk.
	maxRatio = 100
	// smallZip is how much may be in an archive whatever its ratio.
	smallZip = 16 << 20
)

// openZip opens an archive and judges every entry of it by what its list says.
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

// newZip is the tree of an archive.
func newZip(file io.ReaderAt, size int64) (*Tree, error) {
	counted := &metered{file, maxDirectory}
	z, err := zip.NewReader(counted, size)
	// The package's own judgement of paths is a part of ours, which says more.
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, fmt.Errorf("this is neither a folder nor a zip archive that can be read: %w", err)
	}
	counted.left = -1
	if err := checkBomb(z.File, size); err != nil {
		return nil, err
	}
	t, files, s := &Tree{names: map[string]string{}}, map[string]*zip.File{}, survey{}
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
	t.open = func(name string) (io.ReadCloser, error) { return files[name].Open() }
	return t, t.finish()
}

// checkBomb refuses an archive that holds far more than it is long. The figures are the archive's
// own: what an entry has beyond its figure is never read.
func checkBomb(entries []*zip.File, size int64) error {
	var all, texts uint64
	for _, e := range entries {
		if e.UncompressedSize64 > 1<<50 { // so that no sum can overflow
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

// checkEntry refuses what no export of documents has.
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

// metered reads no more of an archive than is left, or with less than 0 without bound. It is not
// safe for use by several until that.
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
