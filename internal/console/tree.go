package console

import (
	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// tree is the tree on the left: the root level, the contents of open folders, and where the reader
// is. The contents of a closed folder are read when the reader opens it (Console.branch).
type tree struct {
	Projects, Brandings level // the root level of either type
	place
}

// locate makes the pages of this visit show where a project is. Pages without a tree need it. A
// dialog does not: the page below it shows the place.
func (v *visit) locate(project sheaf.ProjectID) error {
	if v.inDialog() {
		return nil
	}
	t, err := v.console.app.Where(v.r.Context(), v.caller, string(project))
	v.place = place{t.Path, t.Project}
	return err
}

// level is the content of a folder, or of the root level.
type level struct {
	Folders   []branch
	Projects  []leaf
	Brandings []brandingLeaf
	Rest      int64  // the number of records left out
	All       string // the address of the page with all of them, within the workspace
}

// Empty reports whether the level has no records.
func (l level) Empty() bool { return len(l.Folders)+len(l.Projects)+len(l.Brandings) == 0 }

// branch is a folder in the tree, or in a list.
type branch struct {
	sheaf.Folder
	Subfolders int64  // directly in it
	Open       *level // its content; nil if it is closed
	Here       bool   // it is the record of the page
}

// Holds reports whether the folder has any content.
func (b branch) Holds() bool { return b.Subfolders+b.Filed() > 0 }

// leaf is a project in the tree.
type leaf struct {
	sheaf.Project
	Here bool
}

// brandingLeaf is a branding in the tree.
type brandingLeaf struct {
	sheaf.Branding
	Here bool
}

// The browser remembers which folders are open, as identifiers separated by dots (tree.js). A
// cookie has the folders that the reader has opened, so the next page shows them open. The folders
// above the page's record are open too. If the reader closes one of these, the script names it in a
// header whenever it reads the page again, and it stays closed.
const (
	openCookie   = "sheaf-open"
	closedHeader = "Sheaf-Closed"
)

// treeView is a tree from the store, and the id of the page's folder, project or branding.
type treeView struct {
	app.Tree
	here string
}

// level returns a level of the tree with the contents of its open folders. `at` is the address,
// within the workspace, of the page that lists the whole level.
func (g treeView) level(l app.Level, at string) level {
	out := level{All: at, Rest: l.Folders.Total + l.Projects.Total + l.Brandings.Total -
		int64(len(l.Folders.Items)+len(l.Projects.Items)+len(l.Brandings.Items))}
	for _, f := range l.Folders.Items {
		b := branch{Folder: f, Subfolders: g.Subfolders[f.ID], Here: string(f.ID) == g.here}
		if in := g.In[f.ID]; in != nil {
			inside := g.level(*in, "folders/"+string(f.ID))
			b.Open = &inside
		}
		out.Folders = append(out.Folders, b)
	}
	for _, p := range l.Projects.Items {
		out.Projects = append(out.Projects, leaf{p, string(p.ID) == g.here})
	}
	for _, b := range l.Brandings.Items {
		out.Brandings = append(out.Brandings, brandingLeaf{b, string(b.ID) == g.here})
	}
	return out
}

// projectIDOf returns the id of the document's project, which the tree marks; empty for none.
func projectIDOf(d sheaf.Document) string {
	if d.ProjectID == nil {
		return ""
	}
	return string(*d.ProjectID)
}
