package markdown

import (
	"cmp"
	"slices"
	"strings"
)

// A folder of files becomes a tree of documents: the files of a folder are below the document of the
// folder. Imports build that tree from paths, and exports choose paths from which an import builds
// the tree that they write.

// shape is the tree of documents of a folder of files.
type shape struct {
	// docs has the path of the document of each folder below the root: its index or README, else the
	// file of the same name beside it, else the folder itself with a slash at the end.
	docs map[string]string
	// parents has the path of each document's parent; "" is the top level.
	parents map[string]string
}

// shapeOf returns the tree of Markdown files. With `named`, a file with the name of its folder is the
// document of the folder if there is no other.
func shapeOf(paths []string, named bool) shape {
	s := shape{map[string]string{}, map[string]string{}}
	files := map[string]bool{}
	for _, p := range paths {
		files[p] = true
		for at := folderOf(p); at != ""; at = folderOf(at) {
			if _, seen := s.docs[at]; seen {
				break
			}
			s.docs[at] = ""
		}
	}
	for _, p := range paths {
		if dir := folderOf(p); dir != "" && introduces(p) == 1 && (s.docs[dir] == "" || prefers(p, s.docs[dir])) {
			s.docs[dir] = p
		}
	}
	for dir, doc := range s.docs {
		if doc == "" {
			s.docs[dir] = headOf(dir, files, named)
		}
	}
	for _, p := range paths {
		s.parents[p] = s.parentOf(p)
	}
	for dir, doc := range s.docs {
		if isFolder(doc) {
			s.parents[doc] = s.docs[folderOf(dir)]
		}
	}
	return s
}

// headOf returns the document of a folder that has no index and no README.
func headOf(dir string, files map[string]bool, named bool) string {
	for _, ending := range endings {
		if files[dir+ending] {
			return dir + ending
		}
	}
	if name := dir[strings.LastIndexByte(dir, '/')+1:]; named {
		for _, ending := range endings {
			if p := dir + "/" + name + ending; files[p] {
				return p
			}
		}
	}
	return dir + "/"
}

// parentOf returns the parent of a file. A file in a folder is below the document of the folder,
// unless it is that document itself.
func (s shape) parentOf(p string) string {
	dir := folderOf(p)
	if s.docs[dir] == p {
		dir = folderOf(dir)
	}
	return s.docs[dir]
}

// ofFolder reports whether the document at a path is in the folder whose document it is, so that the
// folder's name is its name.
func (s shape) ofFolder(p string) bool {
	return isFolder(p) || s.docs[folderOf(p)] == p && folderOf(p) != ""
}

// endings are those of Markdown files, the preferred one first.
var endings = []string{".md", ".markdown", ".mdx"}

// isFolder reports whether the path of a document is that of a folder without a file for its text.
func isFolder(path string) bool { return strings.HasSuffix(path, "/") }

// isPage reports whether the path is that of a document.
func isPage(path string) bool { return isFolder(path) || IsMarkdown(path) }

// prefers reports whether the file a introduces its folder rather than b: index before README, as in
// mkdocs.
func prefers(a, b string) bool {
	key := func(p string) int {
		p = strings.ToLower(p)
		rank := slices.IndexFunc(endings, func(e string) bool { return strings.HasSuffix(p, e) })
		if stem(p) != "index" {
			rank += len(endings)
		}
		return rank
	}
	return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(a, b)) < 0
}

// nameIn returns the name of a document in its parent's folder.
func nameIn(path string, ofFolder bool) string {
	if !ofFolder {
		return stem(path)
	}
	dir := folderOf(path)
	return dir[strings.LastIndexByte(dir, '/')+1:]
}

// naturally compares names as people sort them: without regard to case, and numbers by their value.
func naturally(a, b string) int {
	x, y := fold(a), fold(b)
	for x != "" && y != "" {
		m, n := digits(x), digits(y)
		if m > 0 && n > 0 {
			p, q := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
			if c := cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q)); c != 0 {
				return c
			}
			x, y = x[m:], y[n:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

// digits returns the length of the number with which s begins.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
