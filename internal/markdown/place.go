package markdown

import (
	"strings"

	"sheaf.dev/internal/sheaf"
)

// Dir is a folder of files, as it is to be on the server.
type Dir struct {
	Path string // in the tree; Root is its root
	Name string
}

// Place is where the documents of a folder of files belong: in a project, which is in folders.
type Place struct {
	Folders []Dir // from the root level on, at most sheaf.MaxDepth
	Project Dir
}

// PlaceOf finds the place for the files of a folder. Files make a project of it, beside the folder
// for what is below it; folders nest three levels deep, and what is deeper is a project of the
// third level's folder, whose name has the rest of the path. The files at the root make a project
// of the source's name.
func PlaceOf(folder, source string) Place {
	if folder == "" {
		return Place{Project: Dir{Root, source}}
	}
	segments := strings.Split(folder, "/")
	levels := min(len(segments)-1, sheaf.MaxDepth)
	var p Place
	for i := range levels {
		p.Folders = append(p.Folders, Dir{strings.Join(segments[:i+1], "/"), shorten(withoutNotionID(segments[i]))})
	}
	rest := segments[levels:]
	for i, name := range rest {
		rest[i] = withoutNotionID(name)
	}
	p.Project = Dir{folder, shorten(strings.Join(rest, "/"))}
	return p
}
