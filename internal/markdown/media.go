package markdown

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"sheaf.dev/internal/sheaf"
)

// Pictures and other files that texts show or lead to become media, and media that texts show or lead
// to become files. A medium has a name and no path: where it lay, the metadata of the document tells; what
// was never imported goes into one folder. An import knows a file again by its name and its bytes.

const (
	// MaxMedium is how long a file may be that becomes a medium. A longer one is left where it is.
	MaxMedium = 2 << 30
	// maxMediaBytes is how long all of them may be together.
	maxMediaBytes = 16 << 30
	// mediaFolder is where an export puts media.
	mediaFolder = "media"
)

// Medium is one as a server has it.
type Medium struct {
	ID, Filename string
	SHA256       string // as hexadecimal digits
}

// File is a file of a tree that is no Markdown and that a text shows or leads to.
type File struct {
	Path   string
	Name   string // as a medium
	Bytes  int64
	SHA256 string // as hexadecimal digits
}

// identity is by what a file and a medium are known to be the same.
func (m Medium) identity() string { return m.SHA256 + " " + m.Filename }
func (f *File) identity() string  { return f.SHA256 + " " + f.Name }

// mediumName is the name of a file that a medium of that name is written to, and of a medium that is made
// of a file: what it returns, it leaves as it is. The nth of one name gets a number.
func mediumName(name string, n int) string {
	name = Segment(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return '-'
		}
		return r
	}, name))
	if IsMarkdown(name) {
		name += ".bin" // else it would be a document
	}
	ending := path.Ext(name)
	if len(ending) > 20 || len(ending) == len(name) {
		ending = ""
	}
	number := ""
	if n > 1 {
		number = fmt.Sprintf(" (%d)", n)
	}
	stem := strings.TrimRight(clip(strings.TrimSuffix(name, ending), maxSegment-len(ending)-len(number)), ". ")
	return cmp.Or(stem, "_") + number + ending
}

// fileName is the name of the medium that is made of the file of a path.
func fileName(p string) string { return mediumName(p[strings.LastIndexByte(p, '/')+1:], 1) }

// placesName is the name in a document's metadata under which the paths of its media stand that lay
// elsewhere than an export would put them: a line for each, of its id and its path.
const placesName = "sheaf.media"

// Metadata is what the document of an entry is to have: that of its file, and where its media lay. What
// is too much of the latter is left out: an export puts all of them into one folder then.
func (l *Library) Metadata(e *Entry, media KnownMedia) map[string]string {
	var places []string
	for _, p := range e.links {
		f := l.files[p]
		if f == nil || p == mediaFolder+"/"+f.Name {
			continue
		}
		if id, known := media.ID(f); known {
			places = append(places, id+" "+p)
		}
	}
	if len(places) == 0 {
		return e.Page.Metadata
	}
	out := maps.Clone(e.Page.Metadata)
	if out == nil {
		out = map[string]string{}
	}
	out[placesName] = strings.Join(places, "\n")
	if len(encodeMetadata(out)) > sheaf.MaxMetadata {
		return e.Page.Metadata
	}
	return out
}

// MediaPaths gives every medium of a workspace the path of its file, by its id, beside the files of
// documents, whose paths are given: where it lay when it was imported, by the first document that tells
// it, else in one folder. Media that an import would take for the same share a file. The media are in the
// order of their creation.
func MediaPaths(paths map[string]string, documents []Document, media []Medium) map[string]string {
	s := mediaShelf{files: map[string]bool{}, dirs: map[string]bool{}, paths: map[string]string{}, same: map[string]string{}}
	for _, p := range paths {
		s.put(p)
	}
	known := map[string]Medium{}
	for _, m := range media {
		known[m.ID] = m
	}
	documents = slices.Clone(documents)
	slices.SortFunc(documents, func(a, b Document) int { return comparePaths(paths[a.ID], paths[b.ID]) })
	for _, d := range documents {
		for line := range strings.SplitSeq(d.Metadata[placesName], "\n") {
			id, p, _ := strings.Cut(line, " ")
			m, is := known[id]
			if _, has := s.paths[id]; is && !has && importable(p) && !IsMarkdown(p) {
				s.take(m, p)
			}
		}
	}
	for _, m := range media {
		_, has := s.paths[m.ID]
		for n := 1; !has; n++ {
			has = s.take(m, mediaFolder+"/"+mediumName(m.Filename, n))
		}
	}
	return s.paths
}

// mediaShelf gives out the paths of media. Names are taken as file systems without regard to case see
// them.
type mediaShelf struct {
	files, dirs map[string]bool
	paths       map[string]string // of media, by id
	same        map[string]string // of media, by the identity that their files have for an import
}

// take gives a medium the path, or that of the file that an import would take for the same. It returns
// false when something else has it.
func (s *mediaShelf) take(m Medium, p string) bool {
	identity := (&File{Name: fileName(p), SHA256: m.SHA256}).identity()
	if other, given := s.same[identity]; given {
		s.paths[m.ID] = other
		return true
	}
	if !s.free(p) {
		return false
	}
	s.put(p)
	s.paths[m.ID], s.same[identity] = p, p
	return true
}

// put takes a path, and those of the folders above it.
func (s *mediaShelf) put(p string) {
	s.files[fold(p)] = true
	for at := folderOf(p); at != ""; at = folderOf(at) {
		s.dirs[fold(at)] = true
	}
}

// free reports whether a file can have the path beside those that are there.
func (s *mediaShelf) free(p string) bool {
	for at := folderOf(p); at != ""; at = folderOf(at) {
		if s.files[fold(at)] {
			return false
		}
	}
	return !s.files[fold(p)] && !s.dirs[fold(p)]
}

// file returns the file of a path that becomes a medium, or nil for one that is too long. It is read
// once, to its end.
func (l *Library) file(p string) (*File, error) {
	if f, known := l.files[p]; known {
		return f, nil
	}
	f, err := l.tree.medium(p)
	if errors.Is(err, errTooLong) {
		l.TooLong = append(l.TooLong, p)
		err = nil
	}
	if err != nil {
		return nil, err
	}
	if l.files[p] = f; f != nil {
		if l.fileBytes += f.Bytes; l.fileBytes > maxMediaBytes {
			return nil, fmt.Errorf("there are more than %d bytes of pictures and other files", int64(maxMediaBytes))
		}
	}
	return f, nil
}

var errTooLong = errors.New("it is too long for a medium")

// medium reads a file and describes it.
func (t *Tree) medium(p string) (*File, error) {
	r, err := t.open(t.names[p])
	if err != nil {
		return nil, err
	}
	defer r.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(r, MaxMedium+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", p, err)
	case n > MaxMedium:
		return nil, errTooLong
	case n == 0:
		return nil, nil // no server takes an empty file
	}
	return &File{p, fileName(p), n, hex.EncodeToString(sum.Sum(nil))}, nil
}

// Files are those that become media, by their paths.
func (l *Library) Files() (out []*File) {
	for _, f := range l.files {
		if f != nil {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b *File) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// OpenFile opens a file. Whoever opened it closes it.
func (l *Library) OpenFile(f *File) (io.ReadCloser, error) { return l.tree.open(l.tree.names[f.Path]) }

// KnownMedia finds the media that files are on a server already: of several the first.
type KnownMedia map[string]string

// Know is made of the media of a server, in the order of their creation.
func Know(media []Medium) KnownMedia {
	k := KnownMedia{}
	for _, m := range media {
		if _, known := k[m.identity()]; !known {
			k[m.identity()] = m.ID
		}
	}
	return k
}

// ID is the medium that a file is.
func (k KnownMedia) ID(f *File) (string, bool) {
	id, ok := k[f.identity()]
	return id, ok
}

// Add says that a file has become a medium.
func (k KnownMedia) Add(f *File, id string) { k[f.identity()] = id }

// MediaIn returns the media that a text shows or leads to, by their ids, each once.
func MediaIn(text string) (ids []string) {
	for _, l := range findLinks(quoteNotices(text)) { // as an export writes it
		id, is := mediumOf(l)
		if is && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// mediumOf is the medium that a link names.
func mediumOf(l link) (id string, is bool) {
	to, is := strings.CutPrefix(l.dest, "media:")
	if !is || l.wiki {
		return "", false
	}
	to, _ = cutPart(to)
	return sheaf.ParseUUID(to)
}
