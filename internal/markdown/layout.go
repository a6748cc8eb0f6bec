package markdown

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// Folder is a folder of the server.
type Folder struct {
	ID, ParentID, Name, ExternalID string // ParentID is empty at the root level
	Depth                          int
}

// Project is a project of the server.
type Project struct {
	ID, FolderID, Name, ExternalID string // FolderID is empty at the root level
}

// Places is where an export writes documents.
type Places struct {
	// Paths has the path of the file of every document, by the document's id. If it ends with a
	// slash, the folder stands for the document and no file is written.
	Paths map[string]string
	// orders has the position that is written into a document's front matter, for documents whose
	// order counts; 0 means none.
	orders map[string]int
}

// Layout returns where the documents of a workspace are written. An imported document goes back to
// its original path. Any other gets a path of folders, project and title, with a number if the path
// is taken. Documents in no project are at the root. The documents of a project become folders if
// some are below others, or were put in an order. Each list is in the order of creation.
func Layout(folders []Folder, projects []Project, documents []Document) Places {
	y := newLayout()
	var flat []Document
	trees, order := map[string][]Document{}, []string{}
	for _, d := range documents {
		if trees[d.ProjectID] == nil {
			order = append(order, d.ProjectID)
		}
		trees[d.ProjectID] = append(trees[d.ProjectID], d)
	}
	maps.DeleteFunc(trees, func(_ string, documents []Document) bool { return !isTree(documents) })
	for _, d := range documents {
		if trees[d.ProjectID] == nil {
			flat = append(flat, d)
		}
	}
	y.own(flat)
	in := y.projectDirs(projects, y.folderDirs(folders))
	for _, project := range order {
		y.tree(in[project], trees[project])
	}
	for _, d := range flat {
		if _, done := y.paths[d.ID]; done {
			continue
		}
		path := y.numbers.free(in[d.ProjectID], Segment(d.Title), ".md", func(path string) bool { return y.folded[fold(path)] })
		y.claim(d.ID, path)
	}
	return Places{y.paths, y.orders}
}

// LayoutProject returns where the documents of one project are written: the top level of its tree is
// at the root.
func LayoutProject(documents []Document) Places {
	y := newLayout()
	y.tree("", documents)
	return Places{y.paths, y.orders}
}

type layout struct {
	paths  map[string]string // paths of documents, by id
	orders map[string]int    // as in Places
	files  map[string]bool   // paths of files
	folded map[string]bool   // paths of files and folders, folded as case-insensitive file systems do
	dirs   map[string]bool   // paths of folders

	numbers numbers // for the names of files

	// In trees: folders whose document is not a file in them, and the folded paths of files without
	// their endings.
	headed, bases map[string]bool
}

func newLayout() *layout {
	set := func() map[string]bool { return map[string]bool{} }
	return &layout{paths: map[string]string{}, orders: map[string]int{}, files: set(), folded: set(), dirs: set(), numbers: numbers{},
		headed: set(), bases: set()}
}

// own gives documents their original paths. If several claim the same path, the first one by source
// gets it.
func (y *layout) own(documents []Document) {
	type claimed struct{ id, source, path string }
	var all []claimed
	for _, d := range documents {
		if source, path, ok := Origin(d.ExternalID, d.Metadata); ok && !isFolder(path) {
			all = append(all, claimed{d.ID, source, path})
		}
	}
	slices.SortStableFunc(all, func(a, b claimed) int { return cmp.Compare(a.source, b.source) })
	for _, c := range all {
		if y.fits(c.path) {
			y.claim(c.id, c.path)
		}
	}
}

// fits reports whether a file can have this path among the existing ones.
func (y *layout) fits(path string) bool {
	if y.files[path] || y.dirs[path] {
		return false
	}
	for at := folderOf(path); at != ""; at = folderOf(at) {
		if y.files[at] {
			return false
		}
	}
	return true
}

func (y *layout) claim(id, path string) {
	y.paths[id], y.files[path], y.folded[fold(path)] = path, true, true
	y.bases[fold(withoutEnding(path))] = true
	y.reserve(folderOf(path))
}

// reserve keeps files from taking the path of a folder.
func (y *layout) reserve(dir string) {
	for at := dir; at != ""; at = folderOf(at) {
		y.dirs[at], y.folded[fold(at)] = true, true
	}
}

// numbers has, for each path, the number to try first: all lower numbers are taken, and stay taken.
// Without it, thousands of documents with one title would take hours.
type numbers map[string]int

// free returns the first name in a folder that is not taken: name, name (2) and so on. A path that
// was taken once must stay taken.
func (m numbers) free(dir, name, ending string, taken func(string) bool) string {
	if dir != "" {
		dir += "/"
	}
	for n := max(1, m[dir+name]); ; n++ {
		path := dir + name + ending
		if n > 1 {
			path = fmt.Sprintf("%s%s (%d)%s", dir, name, n, ending)
		}
		if !taken(path) {
			m[dir+name] = n
			return path
		}
	}
}

// folderDirs returns the path of every folder.
func (y *layout) folderDirs(folders []Folder) map[string]dir {
	children, dirs := map[string][]Folder{}, map[string]dir{"": {}}
	for _, f := range folders {
		children[f.ParentID] = append(children[f.ParentID], f)
	}
	s := y.shelf()
	for _, f := range folders {
		if path, ok := FolderOrigin(f.ExternalID); ok && path != "" && s.take(path) {
			dirs[f.ID] = dir{path, f.Depth}
		}
	}
	var descend func(parent string)
	descend = func(parent string) {
		for _, f := range children[parent] {
			if _, known := dirs[f.ID]; !known {
				dirs[f.ID] = dir{s.make(dirs[parent].path, f.Name), f.Depth}
			}
			descend(f.ID)
		}
	}
	descend("")
	return dirs
}

// dir is the path of a folder and its level.
type dir struct {
	path  string
	depth int
}

// projectDirs returns the path of every project, by its id. Documents in no project are at the
// root.
func (y *layout) projectDirs(projects []Project, folders map[string]dir) map[string]string {
	dirs, s, between := map[string]string{"": ""}, y.shelf(), numbers{}
	for _, p := range projects {
		if path, ok := FolderOrigin(p.ExternalID); ok && s.take(path) {
			dirs[p.ID] = path
		}
	}
	for _, p := range projects {
		if _, known := dirs[p.ID]; known {
			continue
		}
		in, names := folders[p.FolderID], []string{p.Name}
		if in.depth == sheaf.MaxDepth { // the name contains the rest of the path
			names = strings.Split(p.Name, "/")
		}
		path := in.path
		for _, name := range names[:len(names)-1] {
			path = between.free(path, Segment(name), "", func(path string) bool { return !s.free(path) })
		}
		dirs[p.ID] = s.make(path, names[len(names)-1])
	}
	return dirs
}

// shelf assigns paths to folders or projects. A folder and a project may have the same path; two
// folders, or two projects, may not.
type shelf struct {
	y       *layout
	taken   map[string]bool
	numbers numbers
}

func (y *layout) shelf() shelf { return shelf{y, map[string]bool{}, numbers{}} }

// take takes a path if it is free, and no file has it.
func (s shelf) take(path string) bool {
	key := fold(path)
	if s.taken[key] || path != "" && !s.free(path) {
		return false
	}
	s.taken[key] = true
	s.y.reserve(path)
	return true
}

// free reports whether neither the path nor a folder above it is a file.
func (s shelf) free(path string) bool {
	for at := path; at != ""; at = folderOf(at) {
		if s.y.files[at] || s.y.folded[fold(at)] && !s.y.dirs[at] {
			return false
		}
	}
	return true
}

// make takes the first free path in a folder for a name.
func (s shelf) make(in, name string) string {
	path := s.numbers.free(in, Segment(name), "", func(path string) bool { return s.taken[fold(path)] || !s.free(path) })
	s.taken[fold(path)] = true
	s.y.reserve(path)
	return path
}
