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

// Pictures and other files that texts show or link to become media, and media that texts show or
// link to become files. A medium has a name but no path: the metadata of the document has the path
// of its file. Media that were never imported go into one folder. An import recognises a file by
// its name and bytes.

const (
	// MaxMedium is the largest size of a file that becomes a medium. Links to longer files are
	// kept.
	MaxMedium = 2 << 30
	// maxMediaBytes is the largest size of all such files together.
	maxMediaBytes = 16 << 30
	// mediaFolder is the folder that an export writes media to.
	mediaFolder = "media"
)

// Medium is a medium of the server.
type Medium struct {
	ID, Filename string
	SHA256       string // as hexadecimal digits
}

// File is a file of a tree that is not Markdown and that a text shows or links to.
type File struct {
	Path   string
	Name   string // name of the medium
	Bytes  int64
	SHA256 string // as hexadecimal digits
}

// identity returns what identifies a file and a medium as the same.
func (m Medium) identity() string { return m.SHA256 + " " + m.Filename }
func (f *File) identity() string  { return f.SHA256 + " " + f.Name }

// mediumName returns the name of the file for a medium, and of the medium for a file. Applied to
// its own result, it changes nothing. For n > 1 the name gets the number n.
func mediumName(name string, n int) string {
	name = Segment(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return '-'
		}
		return r
	}, name))
	if IsMarkdown(name) || slices.Contains(categoryFiles, name) {
		name += ".bin" // else it would become a document, or change the order of documents
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

// fileName returns the name of the medium for the file at path p.
func fileName(p string) string { return mediumName(p[strings.LastIndexByte(p, '/')+1:], 1) }

// placesName is the name in a document's metadata for the paths of its media that differ from where
// an export would put them. Each line has a medium's id and its path.
const placesName = "sheaf.media"

// Metadata returns the metadata for the document of an entry: that of its file, and the paths of
// its media. If the paths make it too long, they are left out, and an export puts the media into
// one folder.
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

// MediaPaths returns the path of the file of every medium, by its id. `paths` are those of the
// documents. A medium goes back to the path from which it was imported, according to the first
// document that has it, or else into one folder. Media that an import would take for the same share
// a file. `media` are in the order of creation.
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

// mediaShelf assigns paths to media. Names are folded as case-insensitive file systems do.
type mediaShelf struct {
	files, dirs map[string]bool
	paths       map[string]string // paths of media, by id
	same        map[string]string // paths of media, by the identity of their files for an import
}

// take gives a medium the path p, or the path of a file that an import would take for the same. It
// returns false if p is taken.
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

// put marks a path as a file, and the folders above it as folders.
func (s *mediaShelf) put(p string) {
	s.files[fold(p)] = true
	for at := folderOf(p); at != ""; at = folderOf(at) {
		s.dirs[fold(at)] = true
	}
}

// free reports whether a file can have this path among the existing ones.
func (s *mediaShelf) free(p string) bool {
	for at := folderOf(p); at != ""; at = folderOf(at) {
		if s.files[fold(at)] {
			return false
		}
	}
	return !s.files[fold(p)] && !s.dirs[fold(p)]
}

// file returns the file at path p if it becomes a medium, and nil if it is too long. It reads the
// file once, to its end.
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

// medium reads a file and returns its name, size and hash.
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
		return nil, nil // servers refuse empty files
	}
	return &File{p, fileName(p), n, hex.EncodeToString(sum.Sum(nil))}, nil
}

// Files returns the files that become media, sorted by path.
func (l *Library) Files() (out []*File) {
	for _, f := range l.files {
		if f != nil {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b *File) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// OpenFile opens a file. The caller closes it.
func (l *Library) OpenFile(f *File) (io.ReadCloser, error) { return l.tree.open(l.tree.names[f.Path]) }

// KnownMedia finds the media of a server by file. If several match, it has the first.
type KnownMedia map[string]string

// Know returns the KnownMedia of a server's media, which are in the order of creation.
func Know(media []Medium) KnownMedia {
	k := KnownMedia{}
	for _, m := range media {
		if _, known := k[m.identity()]; !known {
			k[m.identity()] = m.ID
		}
	}
	return k
}

// ID returns the id of the medium for a file.
func (k KnownMedia) ID(f *File) (string, bool) {
	id, ok := k[f.identity()]
	return id, ok
}

// Add records that a file has become a medium.
func (k KnownMedia) Add(f *File, id string) { k[f.identity()] = id }

// MediaIn returns the ids of the media that a text shows or links to, each once.
func MediaIn(text string) (ids []string) {
	for _, l := range findLinks(quoteNotices(text)) { // as an export writes it
		id, is := mediumOf(l)
		if is && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// mediumOf returns the id of the medium that a link names.
func mediumOf(l link) (id string, is bool) {
	to, is := strings.CutPrefix(l.dest, "media:")
	if !is || l.wiki {
		return "", false
	}
	to, _ = cutPart(to)
	return sheaf.ParseUUID(to)
}
