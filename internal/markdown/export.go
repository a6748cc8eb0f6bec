package markdown

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// Export turns documents into files at the paths of a [Layout], and media into files at their
// [MediaPaths].
type Export struct {
	Places
	media map[string]string // by the medium's id
	index *Index
}

// NewExport returns an Export for documents at these places and media with these paths.
func NewExport(places Places, media map[string]string) *Export {
	return &Export{places, media, NewIndex(slices.Sorted(maps.Values(places.Paths)), slices.Sorted(maps.Values(media)))}
}

// MediumPath returns the path of a medium's file. If a medium is deleted meanwhile, call Forget
// before writing a text that links to it.
func (x *Export) MediumPath(id string) (path string, known bool) {
	path, known = x.media[id]
	return path, known
}

// Forget records that a medium has no file. Links to it are not changed.
func (x *Export) Forget(id string) { delete(x.media, id) }

// IDs returns the ids of the documents with a file, in the order of their paths.
func (x *Export) IDs() []string {
	ids := slices.SortedFunc(maps.Keys(x.Paths), func(a, b string) int { return comparePaths(x.Paths[a], x.Paths[b]) })
	return slices.DeleteFunc(ids, func(id string) bool { return isFolder(x.Paths[id]) })
}

// File returns the path and the bytes of a document's file. Links to exported documents lead to
// their files. Links to files are written in one form only, so that the next export writes the
// same.
func (x *Export) File(id string, p Page) (path string, data []byte) {
	path = x.Paths[id]
	p.Content = editComments(rewrite(quoteNotices(p.Content), func(l link) (string, string, bool) { return x.find(path, l) },
		func(target string) (string, bool) { return relative(path, target), true }).Text, true)
	p.Metadata = maps.Clone(p.Metadata)
	delete(p.Metadata, pathName)
	delete(p.Metadata, placesName)
	if order, counts := x.orders[id]; counts {
		p.Metadata = withOrder(p.Metadata, order)
	}
	if len(p.Metadata) == 0 {
		p.Metadata = nil
	}
	return path, Format(path, p)
}

// withOrder adds a document's position to its metadata, from which its front matter is written. If
// that makes it longer than metadata may be, the position is left out.
func withOrder(metadata map[string]string, order int) map[string]string {
	delete(metadata, ownOrderName)
	name := orderName
	if _, taken := metadata[orderName]; taken {
		name = ownOrderName
	} else if order == 0 {
		return metadata
	}
	with := maps.Clone(metadata)
	if with == nil {
		with = map[string]string{}
	}
	if with[name] = strconv.Itoa(order); len(encodeMetadata(with)) > sheaf.MaxMetadata {
		return metadata
	}
	return with
}

// find returns the file that a link leads to, by the document's id or by a path.
func (x *Export) find(from string, l link) (target, part string, ok bool) {
	if to, is := strings.CutPrefix(l.dest, "document:"); is && !l.wiki {
		to, part = cutPart(to)
		target, ok = x.Paths[to]
		return target, part, ok
	}
	if id, is := mediumOf(l); is {
		_, part = cutPart(l.dest)
		target, ok = x.media[id]
		return target, part, ok
	}
	return x.index.find(from, l)
}

// Writer creates a folder of files atomically: it writes under a temporary name next to the target
// and renames it at the end.
type Writer struct {
	root    *os.Root
	dir, to string
}

// NewWriter begins a folder at `to`, which must not exist or be an empty folder.
func NewWriter(to string) (*Writer, error) {
	to, err := filepath.Abs(to)
	if err != nil {
		return nil, err
	}
	if inside, err := os.ReadDir(to); err == nil && len(inside) > 0 {
		return nil, fmt.Errorf("%s is not empty: name a new folder", to)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(to), ".sheaf-export-*")
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Writer{root, dir, to}, nil
}

// Write adds a file. It never overwrites another: on a case-insensitive file system two paths may
// be the same.
func (w *Writer) Write(path string, data []byte) error {
	return w.WriteFrom(path, func(to io.Writer) error {
		_, err := to.Write(data)
		return err
	})
}

// WriteFrom is Write for what a function writes. If the function fails, there is no file.
func (w *Writer) WriteFrom(path string, write func(io.Writer) error) error {
	if folder := folderOf(path); folder != "" {
		if err := w.root.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("make the folder of %s: %w", path, err)
		}
	}
	f, err := w.root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: this file system takes two names for one", path)
	}
	if err != nil {
		return err
	}
	if err = errors.Join(write(f), f.Close()); err != nil {
		return errors.Join(err, w.root.Remove(path))
	}
	return nil
}

// Finish renames the folder to its target. Only its owner can read it, like everything that this
// program writes.
func (w *Writer) Finish() error {
	if err := w.root.Close(); err != nil {
		return err
	}
	if err := os.Remove(w.to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(w.dir, w.to)
}

// Abort removes what was written, unless Finish has renamed it.
func (w *Writer) Abort() error {
	return errors.Join(w.root.Close(), os.RemoveAll(w.dir))
}
