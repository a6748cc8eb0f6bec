package markdown

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// Entry is a file that becomes a document. Its text is read when it is sent.
type Entry struct {
	Path       string
	ExternalID string
	Page       // without Content
	// LinksKept means that the links to other files are not changed, because with ids in their
	// place the text would be too long.
	LinksKept bool
	// Parent is the entry above it, and Level is its level, from 1, if the library is a project.
	// SortOrder is set by Compare for entries that are created or moved.
	Parent    *Entry
	Level     int
	SortOrder int64

	links []string
	sum   [sha256.Size]byte // hash of the whole file
}

// Folder returns the path of the file's folder; "" is the root.
func (e *Entry) Folder() string { return folderOf(e.Path) }

// SHA256 returns the hash of the whole file, in hexadecimal digits.
func (e *Entry) SHA256() string { return hex.EncodeToString(e.sum[:]) }

// Library is a tree whose files have all been read and accepted, for one source.
type Library struct {
	Source  string
	Entries []*Entry // in the order of their paths, or of a project in reading order
	// AsProject means that the tree becomes one project, with the documents below each other. Home
	// is the id of that project on the server; the caller sets it before Compare if there is one.
	AsProject bool
	Home      string
	// Pictures is the number of pictures in the texts whose files are missing.
	Pictures int
	// TooLong has the files that texts show or link to and that are too long for a medium.
	TooLong []string

	tree      *Tree
	index     *Index
	byPath    map[string]*Entry
	below     map[*Entry][]*Entry // of a project; nil has the top level
	files     map[string]*File    // files that texts show or link to; nil if the file becomes no medium
	fileBytes int64
}

// Load reads every file once. It returns an error if a file cannot become a document, or if the
// tree has none. Then nothing of the tree may be sent.
func Load(t *Tree, source string) (*Library, error) { return load(t, source, false) }

// LoadProject is Load for a tree that becomes one project. It also returns an error if documents
// would nest too deep.
func LoadProject(t *Tree, source string) (*Library, error) { return load(t, source, true) }

func load(t *Tree, source string, asProject bool) (*Library, error) {
	if err := CheckSource(source); err != nil {
		return nil, err
	}
	if asProject {
		if err := t.unwrap(); err != nil {
			return nil, err
		}
	}
	l := &Library{Source: source, AsProject: asProject, tree: t, byPath: map[string]*Entry{}, files: map[string]*File{}}
	var s shape
	pages := t.Paths()
	if asProject {
		s = shapeOf(pages, t.kind == docusaurus)
		pages = slices.Concat(pages, slices.DeleteFunc(slices.Sorted(maps.Values(s.docs)), IsMarkdown))
	}
	l.index = NewIndex(pages, t.others)
	orders := map[*Entry]float64{}
	var wrong problems
	total := 0
	for _, path := range t.Paths() {
		size, err := l.load(path, orders)
		if total += size; total > MaxBytes {
			return nil, fmt.Errorf("there are more than %d bytes of Markdown", MaxBytes)
		}
		if err != nil {
			wrong = append(wrong, path+": "+err.Error())
		}
	}
	switch {
	case len(wrong) > 0:
		return nil, wrong
	case len(l.Entries) == 0:
		return nil, errors.New("there is no Markdown: no file ends with .md, .markdown or .mdx")
	case asProject:
		return l, l.arrange(s, orders)
	}
	return l, nil
}

// problems are the files that were refused, each with the reason.
type problems []string

// Error names the first ten of them.
func (p problems) Error() string {
	const most = 10
	if len(p) <= most {
		return strings.Join(p, "; ")
	}
	return fmt.Sprintf("%s; and %d more files", strings.Join(p[:most], "; "), len(p)-most)
}

// load reads one file, and checks the length of its text with an id in place of every link. If only
// the ids make it too long, its links are kept. In a project, the position in the front matter goes
// to orders.
func (l *Library) load(path string, orders map[*Entry]float64) (size int, err error) {
	data, err := l.tree.Read(path)
	if err != nil {
		return 0, err
	}
	page, err := Parse(path, data)
	if err != nil {
		return len(data), err
	}
	order, ordered := 0.0, false
	if l.AsProject {
		order, ordered = takeOrder(&page)
	}
	const anyID = "00000000-0000-0000-0000-000000000000"
	content := editComments(page.Content, false)
	found := l.index.Rewrite(path, quoteNotices(content), func(target string) (string, bool) {
		if isPage(target) {
			return "document:" + anyID, true
		}
		return "media:" + anyID, true
	})
	e := &Entry{Path: path, ExternalID: ExternalID(l.Source, path), Page: page, sum: sha256.Sum256(data)}
	if e.Content = ""; ordered {
		orders[e] = order
	}
	switch {
	case len(found.Text) <= sheaf.MaxContent:
		e.links = found.Targets
	case len(content) <= sheaf.MaxContent:
		e.LinksKept = true
	default:
		return len(data), fmt.Errorf("its text has %d bytes, at most %d are allowed", len(content), sheaf.MaxContent)
	}
	for _, target := range e.links {
		if !isPage(target) {
			_, wrong := l.file(target)
			err = errors.Join(err, wrong)
		}
	}
	if err != nil {
		return len(data), err
	}
	if strings.HasPrefix(e.ExternalID, l.Source+":"+hashed) {
		if e.Metadata == nil {
			e.Metadata = map[string]string{}
		}
		e.Metadata[pathName] = path
	}
	l.Pictures += found.Pictures
	l.Entries = append(l.Entries, e)
	l.byPath[path] = e
	return len(data), e.check()
}

// LinksKept returns the paths of the files whose links to other files are kept.
func (l *Library) LinksKept() (paths []string) {
	for _, e := range l.Entries {
		if e.LinksKept {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

// MDX returns the number of MDX files.
func (l *Library) MDX() (n int) {
	for _, e := range l.Entries {
		if IsMDX(e.Path) {
			n++
		}
	}
	return n
}

// Content reads a file's text again, with document:<id> and media:<id> in place of links to files
// whose id is known. whole reports whether all ids were known. If the file has changed since Load,
// Content returns an error.
func (l *Library) Content(e *Entry, id func(*Entry) (string, bool), media KnownMedia) (text string, whole bool, err error) {
	if isFolder(e.Path) {
		return "", true, nil
	}
	data, err := l.tree.Read(e.Path)
	if err != nil {
		return "", false, err
	}
	if sha256.Sum256(data) != e.sum {
		return "", false, fmt.Errorf("%s has changed meanwhile: import again", e.Path)
	}
	page, err := Parse(e.Path, data)
	if err != nil {
		return "", false, fmt.Errorf("%s: %w", e.Path, err)
	}
	content := editComments(page.Content, false)
	if e.LinksKept {
		return content, true, nil
	}
	whole = true
	out := l.index.Rewrite(e.Path, quoteNotices(content), func(path string) (string, bool) {
		if !isPage(path) {
			f := l.files[path]
			if f == nil {
				return "", false // the link is kept
			}
			known, ok := media.ID(f)
			whole = whole && ok
			return "media:" + known, ok
		}
		known, ok := id(l.byPath[path])
		whole = whole && ok
		return "document:" + known, ok
	})
	return out.Text, whole, nil
}

// Ordered returns the entries in an order in which each comes after those that it links to, unless
// links form a cycle. Then the ids are known when its text is sent, and one version is enough. In a
// project, each also comes after its parent.
func (l *Library) Ordered(entries []*Entry) []*Entry {
	wanted, seen, done := map[*Entry]bool{}, map[*Entry]bool{}, map[*Entry]bool{}
	for _, e := range entries {
		wanted[e] = true
	}
	out := make([]*Entry, 0, len(entries))
	var visit func(*Entry)
	visit = func(e *Entry) {
		if !wanted[e] || seen[e] {
			return
		}
		for up := e.Parent; up != nil; up = up.Parent {
			if seen[up] && !done[up] {
				return // a page above links to it; it comes later
			}
		}
		visit(e.Parent)
		if seen[e] {
			return
		}
		seen[e] = true
		for _, target := range e.links {
			visit(l.byPath[target])
		}
		done[e] = true
		out = append(out, e)
	}
	for _, e := range entries {
		visit(e)
	}
	return out
}
