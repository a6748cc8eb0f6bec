package console

import (
	"net/http"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// tree is what stands on the left: the root level, what is in the folders that are open, and where the
// reader is. A folder that is closed has nothing in it until the reader opens it: branch answers then.
type tree struct {
	Projects, Brandings level // the root level of either type
	place
}

// place is where the reader is: the folders from the root, and the project. Pages about a project, a
// folder or a document say it above their heading.
type place struct {
	Path    []sheaf.Folder
	Project *sheaf.Project // nil for none
}

// locate makes the pages of this visit say where a project is, for those that have no tree beside them.
// A dialog stands on a page that says so.
func (v *visit) locate(project sheaf.ProjectID) error {
	if v.inDialog() {
		return nil
	}
	t, err := v.console.app.Where(v.r.Context(), v.caller, string(project))
	v.place = place{t.Path, t.Project}
	return err
}

// level is what is in a folder, or at the root level.
type level struct {
	Folders  []branch
	Projects []leaf
	Looks    []lookLeaf
	Rest     int64  // how many are left out
	All      string // where all of them are, within the workspace
}

// Empty reports whether there is nothing.
func (l level) Empty() bool { return len(l.Folders)+len(l.Projects)+len(l.Looks) == 0 }

// branch is a folder in the tree, or in a list.
type branch struct {
	sheaf.Folder
	Subfolders int64  // right in it
	Open       *level // what is in it; nil where it is closed
	Here       bool   // it is what the page shows
}

// Holds reports whether anything is in it.
func (b branch) Holds() bool { return b.Subfolders+b.Filed() > 0 }

// leaf is a project in the tree.
type leaf struct {
	sheaf.Project
	Here bool
}

// lookLeaf is a branding in the tree.
type lookLeaf struct {
	sheaf.Branding
	Here bool
}

// Which folders are open, the browser keeps, as identifiers with dots between (tree.js): those that the
// reader has opened in a cookie, so that the next page comes with them. Those that lead to what a page
// shows are open on it too. One of these that the reader has closed on the page stays so while that is
// open: the script names it in a header when it reads the page again.
const (
	openCookie   = "sheaf-open"
	closedHeader = "Sheaf-Closed"
)

// opened are the folders that the reader has opened.
func (v *visit) opened() []sheaf.FolderID {
	cookie, err := v.r.Cookie(openCookie)
	if err != nil {
		return nil
	}
	return folderList(cookie.Value)
}

// folderList reads identifiers with dots between, as many as can be open.
func folderList(s string) (ids []sheaf.FolderID) {
	for part := range strings.SplitSeq(s, ".") {
		if id, ok := sheaf.ParseUUID(part); ok && len(ids) < app.MaxOpen {
			ids = append(ids, sheaf.FolderID(id))
		}
	}
	return ids
}

// readTree returns the tree with the folder, project or branding of that id marked.
func (v *visit) readTree(here string) (*tree, error) {
	t, err := v.console.app.Tree(v.r.Context(), v.caller, here, v.opened())
	if err != nil {
		return nil, err
	}
	for _, id := range folderList(v.r.Header.Get(closedHeader)) {
		delete(t.In, id)
	}
	g := grown{t, here}
	return &tree{Projects: g.level(t.Projects, "projects"), Brandings: g.level(t.Brandings, "brandings"), place: place{t.Path, t.Project}}, nil
}

// grown is a tree that was read, and the folder, project or branding that the page shows.
type grown struct {
	app.Tree
	here string
}

// level is a level of the tree as the page shows it, with all that is open in it. All that is in it, also
// what is left out, is at that address within the workspace.
func (g grown) level(l app.Level, at string) level {
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
		out.Looks = append(out.Looks, lookLeaf{b, string(b.ID) == g.here})
	}
	return out
}

// branch answers GET /w/{workspace}/folders/{id}/branch: what is in a folder, for the tree in which it
// was opened.
func (c *Console) branch(v *visit) error {
	id, err := id[sheaf.FolderID](v, "folder")
	if err != nil {
		return err
	}
	t, err := c.app.Branch(v.r.Context(), v.caller, id)
	if err != nil {
		return err
	}
	return v.fragment("folder", "branch-rows", grown{Tree: t}.level(*t.In[id], "folders/"+string(id)))
}

// showBeside shows a page with the tree on its left, unless it is for the dialog.
func (v *visit) showBeside(status int, name, here string, data any) error {
	p := v.page(data)
	if !p.Dialog {
		var err error
		if p.Tree, err = v.readTree(here); err != nil {
			return err
		}
		p.Place = p.Tree.place
	}
	return v.render(status, name, p)
}

// overviewPage is the data of overview.html.
type overviewPage struct {
	Folders []branch
	Inside  listing         // of the folders
	Roots   []sheaf.Project // at the root level, or those that a text finds anywhere
	Filed   listing         // of these
	Loose   int64           // documents in no project
	Steps   steps
}

// overview is the root level.
func (c *Console) overview(v *visit) error {
	loose, err := c.app.Documents(v.r.Context(), v.caller, sheaf.DocumentFilter{Project: sheaf.Nil[sheaf.ProjectID](), Paging: sheaf.Paging{Limit: 1}})
	if err != nil {
		return err
	}
	data := overviewPage{Loose: loose.Total}
	if err := v.rootLevel(&data); err != nil {
		return err
	}
	if data.Steps, err = v.firstSteps(); err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "overview", "", data)
}

// rootLevel fills in the folders and projects at the root level. Whoever types a text finds those of that
// name wherever they are.
func (v *visit) rootLevel(p *overviewPage) (err error) {
	p.Inside, p.Filed = v.shelf("folder", "folders", folderPart), v.shelf("project", "from", listPage)
	in := sheaf.Nil[sheaf.FolderID]()
	if p.Filed.Query != "" {
		in = sheaf.Opt[sheaf.FolderID]{}
	}
	if p.Folders, err = v.listFolders(&p.Inside, sheaf.ProjectFolder, in); err != nil {
		return err
	}
	p.Roots, err = v.listProjects(&p.Filed, in)
	return err
}
