package markdown

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// Folder is one as a server has it.
type Folder struct {
	ID, ParentID, Name, ExternalID string // ParentID is empty at the root level
	Depth                          int
}

// Project is one as a server has it.
type Project struct {
	ID, FolderID, Name, ExternalID string // FolderID is empty at the root level
}

// Layout gives every document of a workspace the path of its file, by its id. What was imported
// goes where it came from; all else goes where folder, project and title say, with a number where
// two would meet. Documents in no project lie at the root. Each list is in the order of creation.
func Layout(folders []Folder, projects []Project, documents []Document) map[string]string {
	y := layout{paths: map[string]string{}, files: map[string]bool{}, folded: map[string]bool{}, dirs: map[string]bool{}, numbers: numbers{}}
	y.own(documents)
	in := y.projectDirs(projects, y.folderDirs(folders))
	for _, d := range documents {
		if _, done := y.paths[d.ID]; done {
			continue
		}
		path := y.numbers.free(in[d.ProjectID], Segment(d.Title), ".md", func(path string) bool { return y.folded[fold(path)] })
		y.claim(d.ID, path)
	}
	return y.paths
}

type layout struct {
	paths  map[string]string // of documents, by id
	files  map[string]bool   // that are taken
	folded map[string]bool   // files and folders as systems without regard to case see them
	dirs   map[string]bool   // folders

	numbers numbers // of files
}

// own gives documents their own paths: of several that claim one, the first by source.
func (y *layout) own(documents []Document) {
	type claimed struct{ id, source, path string }
	var all []claimed
	for _, d := range documents {
		if source, path, ok := Origin(d.ExternalID, d.Metadata); ok {
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

// fits reports whether a file can have the path beside those that are there.
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
	y.reserve(folderOf(path))
}

// reserve keeps files from taking the path of a folder.
func (y *layout) reserve(dir string) {
	for at := dir; at != ""; at = folderOf(at) {
		y.dirs[at], y.folded[fold(at)] = true, true
	}
}

// numbers has, for the paths that were asked for, the number that is tried first: all below it are
// taken, and stay so. Without it, thousands of documents of one title would take hours.
type numbers map[string]int

// free finds the first name in a folder that is not taken: name, name (2) and so on. What is taken once
// must stay taken.
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

// folderDirs finds the path of every folder.
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

// projectDirs finds the path of every project, by its id; documents in none are at the root.
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
		if in.depth == sheaf.MaxDepth { // where the name has the rest of a path
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

// shelf gives out paths of folders. A folder and a project may have one path, two of a kind may
// not.
type shelf struct {
	y       *layout
	taken   map[string]bool
	numbers numbers
}

func (y *layout) shelf() shelf { return shelf{y, map[string]bool{}, numbers{}} }

// take takes a path if it is free, also of files.
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

// make takes the first path in a folder that is free for a name.
func (s shelf) make(in, name string) string {
	path := s.numbers.free(in, Segment(name), "", func(path string) bool { return s.taken[fold(path)] || !s.free(path) })
	s.taken[fold(path)] = true
	s.y.reserve(path)
	return path
}
