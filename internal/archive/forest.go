package archive

import (
	"fmt"

	"sheaf.dev/internal/sheaf"
)

// forest checks that the documents of a file nest at most sheaf.MaxLevels deep, each in the project
// of its parent. It keeps the place of every document in the file.
type forest map[[16]byte]treePlace

type treePlace struct {
	level   int8
	project [16]byte // zero: none
}

// line checks the line of a document and records its place. A parent that is not on an earlier line
// may be in the workspace; app checks that.
func (f forest) line(l *line) error {
	d := l.record.Document
	if d == nil {
		return nil
	}
	at := treePlace{level: 1}
	if d.ProjectID.Given() {
		at.project = rawID(string(d.ProjectID.Value))
	}
	if d.ParentID.Given() {
		parent, found := f[rawID(string(d.ParentID.Value))]
		switch {
		case !found:
		case parent.project != at.project:
			return fmt.Errorf("parent_id: document %s is in another project: correct it, a document is in the project of its parent", d.ParentID.Value)
		case parent.level == sheaf.MaxLevels:
			return fmt.Errorf("parent_id: document %s is on level %d, below which there can be none: correct it", d.ParentID.Value, sheaf.MaxLevels)
		default:
			at.level = parent.level + 1
		}
	}
	f[rawID(l.record.ID)] = at
	return nil
}

// rawID returns the bytes of an identifier that was checked.
func rawID(id string) [16]byte {
	u, _ := sheaf.UUIDBytes(id)
	return u
}
