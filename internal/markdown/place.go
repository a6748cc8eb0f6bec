package markdown

import (
	"strings"

	"sheaf.dev/internal/sheaf"
)

// Dir is a folder of files, and its name on the server.
type Dir struct {
	Path string // in the tree; Root is the root
	Name string
}

// Place is where the documents of a folder of files belong: in a project, which may be in folders.
type Place struct {
	Folders []Dir // from the top down, at most sheaf.MaxDepth
	Project Dir
}

// PlaceOf returns the place for the files of a folder, below `depth` folders of the server. The files of a folder become a project; the
// folders below it belong to a folder of the same name. Folders nest three levels deep, those of
// the server included. A deeper folder becomes a project in the folder of the third level, and its
// name has the rest of the path.
// The files at the root become a project with the name of the source.
func PlaceOf(folder, source string, depth int) Place {
	if folder == "" {
		return Place{Project: Dir{Root, source}}
	}
	segments := strings.Split(folder, "/")
	levels := min(len(segments)-1, sheaf.MaxDepth-depth)
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
