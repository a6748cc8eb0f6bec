package markdown

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Tree is a folder of files, or an archive of one, whose paths have been checked. Texts are read on
// demand, so that a large tree needs little memory.
type Tree struct {
	paths  []string // Markdown files, in the order of pages
	names  map[string]string
	others []string // files that are not Markdown

	kind     kind           // the program that the tree is made for
	vault    string         // a folder at the root that is a vault of Obsidian
	nav      []section      // of mkdocs
	sequence map[string]int // positions of the Markdown files in an archive

	// Passed is the number of symbolic links, pipes and devices in a folder. They are not followed.
	Passed int

	open   func(name string) (io.ReadCloser, error)
	closer io.Closer
}

// Open reads the names in a folder or zip archive. It refuses a hostile archive as a whole: one
// with paths that leave it, with links, with duplicate entries, or with far more data than its
// size.
func Open(path string) (*Tree, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return openZip(path)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	// A root opens nothing outside of it, even if a link is put into the folder meanwhile.
	t, err := openFS(root.FS())
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	t.closer = root
	return t, nil
}

// openFS reads the names in a file system.
func openFS(fsys fs.FS) (*Tree, error) {
	t := &Tree{names: map[string]string{}, open: func(name string) (io.ReadCloser, error) { return fsys.Open(name) }}
	s := survey{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case d.IsDir() && hidden(d.Name()):
			t.notice(name)
			return fs.SkipDir
		case !d.IsDir() && !d.Type().IsRegular():
			t.Passed++
			return nil
		}
		return t.add(s, name, d.IsDir())
	})
	if err != nil {
		return nil, err
	}
	return t, t.finish()
}

// survey has every path that was seen, and whether it is a folder.
type survey map[string]bool

// add adds the path of an entry, or returns why the tree is refused.
func (t *Tree) add(s survey, name string, folder bool) error {
	if err := checkPath(name); err != nil {
		return err
	}
	if len(s) >= MaxEntries {
		return fmt.Errorf("there are more than %d files and folders", MaxEntries)
	}
	t.notice(name)
	path := norm.NFC.String(name)
	if known, seen := s[path]; seen && (!folder || !known) {
		return fmt.Errorf("%q is there twice", path)
	}
	if err := s.enter(path, folder); err != nil || folder || hidden(path) {
		return err
	}
	if !IsMarkdown(path) {
		t.others = append(t.others, path)
	} else {
		t.paths = append(t.paths, path)
	}
	t.names[path] = name
	return nil
}

// enter records a path and the folders above it.
func (s survey) enter(path string, folder bool) error {
	s[path] = folder
	for at := folderOf(path); at != ""; at = folderOf(at) {
		known, seen := s[at]
		if seen && !known {
			return fmt.Errorf("%q is a file and a folder", at)
		}
		if seen {
			return nil // those above it are recorded too
		}
		s[at] = true
	}
	return nil
}

// kind is the program that a tree is made for. It decides how names are sorted.
type kind int

const (
	plainFolder kind = iota
	mkdocs           // it has a mkdocs.yml
	docusaurus       // it has a _category_.json, or Docusaurus' settings
	obsidian         // it has a folder .obsidian
	outline          // an archive that lists pages in reading order
)

// notice recognizes a vault of Obsidian by its settings, at the root or in a folder there.
func (t *Tree) notice(name string) {
	if at, _, is := strings.Cut(name+"/", ".obsidian/"); is && at == "" {
		t.kind = obsidian
	} else if is && strings.IndexByte(at, '/') == len(at)-1 {
		t.vault = norm.NFC.String(at[:len(at)-1])
	}
}

// unwrap makes the only folder at the root the root, if it is a vault of Obsidian or a project of
// mkdocs: archives of these often have such a folder.
func (t *Tree) unwrap() error {
	if len(t.paths) == 0 {
		return nil
	}
	dir, _, _ := strings.Cut(t.paths[0], "/")
	outside := func(p string) bool { return !strings.HasPrefix(p, dir+"/") }
	if slices.ContainsFunc(t.paths, outside) || slices.ContainsFunc(t.others, outside) {
		return nil
	}
	if t.vault == dir {
		t.kind = obsidian
	} else if !slices.Contains(t.others, dir+"/mkdocs.yml") && !slices.Contains(t.others, dir+"/mkdocs.yaml") {
		return nil
	}
	t.enter(dir)
	return t.finish()
}

// finish sorts the pages, finds the root of an mkdocs site, and derives the kind of the tree.
func (t *Tree) finish() error {
	if err := t.enterMkdocs(); err != nil {
		return err
	}
	if slices.ContainsFunc(t.others, func(p string) bool {
		return slices.Contains(categoryFiles, p[strings.LastIndexByte(p, '/')+1:]) || strings.HasPrefix(p, "docusaurus.config.")
	}) {
		t.kind = docusaurus
	}
	if t.kind == plainFolder && t.sequence != nil && inReadingOrder(t.paths) {
		t.kind = outline
	}
	slices.SortFunc(t.paths, comparePaths)
	return nil
}

// inReadingOrder reports whether an archive lists its pages as Outline does: each collection is a
// folder, and a page comes right before the folder with the pages below it. There must be such a
// folder.
func inReadingOrder(paths []string) bool {
	collections, nested := map[string]bool{}, false
	before, last := "", "" // the path before, and its folder
	for _, p := range paths {
		dir := folderOf(p)
		if dir == "" || introduces(p) == 1 {
			return false
		}
		switch {
		case dir == last || strings.HasPrefix(last, dir+"/"):
		case before == dir+".md":
			nested = true
		case !strings.Contains(dir, "/") && !collections[dir]:
			collections[dir] = true
		default:
			return false
		}
		before, last = p, dir
	}
	return nested
}

// comparePaths sorts files in reading order: the files of a folder before those of its subfolders,
// and the page that introduces the folder first.
func comparePaths(a, b string) int {
	inA, inB := folderOf(a), folderOf(b)
	if inA != inB {
		return cmp.Compare(inA, inB)
	}
	if introA, introB := introduces(a), introduces(b); introA != introB {
		return cmp.Compare(introB, introA)
	}
	return cmp.Compare(a, b)
}

// introduces returns 1 for the file that introduces its folder, and 0 for any other.
func introduces(path string) int {
	switch strings.ToLower(stem(path)) {
	case "readme", "index":
		return 1
	}
	return 0
}

// Paths returns the paths of the Markdown files in the order in which they are read.
func (t *Tree) Paths() []string { return t.paths }

// Others returns the number of files that are not Markdown.
func (t *Tree) Others() int { return len(t.others) }

// Read returns a file's bytes.
func (t *Tree) Read(path string) ([]byte, error) {
	f, err := t.open(t.names[path])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return data, nil
}

// Close closes the folder or archive.
func (t *Tree) Close() error {
	if t.closer == nil {
		return nil
	}
	return t.closer.Close()
}
