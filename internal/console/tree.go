package console

import (
	"net/http"
	"strconv"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// tree is what stands on the left: folders, what is in them, and where the reader is.
type tree struct {
	Projects  []*branch  // folders of projects at the root level
	Brandings []*branch  // folders of brandings at the root level
	Root      []leaf     // projects at the root level
	Looks     []lookLeaf // brandings at the root level
	Whole     bool       // nothing is left out
	byID      map[sheaf.FolderID]*branch
}

// branch is a folder in the tree.
type branch struct {
	sheaf.Folder
	Children []*branch
	Projects []leaf
	Looks    []lookLeaf
	Here     bool    // it is what the page shows
	parent   *branch // nil at the root level
}

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

// readTree returns the tree with the folder or project of that id marked.
func (v *visit) readTree(here string) (*tree, error) {
	t := &tree{byID: map[sheaf.FolderID]*branch{}}
	projects, err := v.console.app.Tree(v.r.Context(), v.caller, sheaf.ProjectFolder)
	if err != nil {
		return nil, err
	}
	brandings, err := v.console.app.Tree(v.r.Context(), v.caller, sheaf.BrandingFolder)
	if err != nil {
		return nil, err
	}
	t.Whole = projects.Whole && brandings.Whole
	t.Projects = t.grow(projects.Folders, here)
	t.Brandings = t.grow(brandings.Folders, here)
	t.hang(projects, here)
	return t, v.hangLooks(t, here)
}

// hangLooks puts each branding into its folder, or at the root where that is not shown.
func (v *visit) hangLooks(t *tree, here string) error {
	if !v.caller.May(sheaf.BrandingsRead) {
		return nil
	}
	all, err := v.console.app.Brandings(v.r.Context(), v.caller, sheaf.BrandingFilter{Paging: sheaf.Paging{Limit: app.MaxTree}})
	t.Whole = t.Whole && !all.More()
	for _, b := range all.Items {
		l := lookLeaf{b, string(b.ID) == here}
		if b.FolderID == nil || t.byID[*b.FolderID] == nil {
			t.Looks = append(t.Looks, l)
			continue
		}
		in := t.byID[*b.FolderID]
		in.Looks = append(in.Looks, l)
	}
	return err
}

// grow puts each folder under its parent. A folder whose parent is beyond what is shown stands at
// the root.
func (t *tree) grow(folders []sheaf.Folder, here string) (roots []*branch) {
	for _, f := range folders {
		t.byID[f.ID] = &branch{Folder: f, Here: string(f.ID) == here}
	}
	for _, f := range folders {
		b := t.byID[f.ID]
		if f.ParentID != nil {
			b.parent = t.byID[*f.ParentID]
		}
		if b.parent == nil {
			roots = append(roots, b)
			continue
		}
		b.parent.Children = append(b.parent.Children, b)
	}
	return roots
}

// hang puts each project into its folder, or at the root where that is not shown.
func (t *tree) hang(all app.Tree, here string) {
	for _, p := range all.Projects {
		l := leaf{p, string(p.ID) == here}
		if p.FolderID == nil || t.byID[*p.FolderID] == nil {
			t.Root = append(t.Root, l)
			continue
		}
		b := t.byID[*p.FolderID]
		b.Projects = append(b.Projects, l)
	}
}

// path returns the folders from the root to that one.
func (t *tree) path(id *sheaf.FolderID) (out []*branch) {
	if id == nil {
		return nil
	}
	for b := t.byID[*id]; b != nil; b = b.parent {
		out = append([]*branch{b}, out...)
	}
	return out
}

// places lists the folders of a type in the tree's order, without the tree of one that is to be
// moved. Which of them are possible the rules decide.
func (t *tree) places(roots []*branch, without, here sheaf.FolderID) (out []option) {
	for _, b := range roots {
		if b.ID == without {
			continue
		}
		label := strings.Repeat("\u2003", b.Depth-1) + b.Name
		out = append(out, option{string(b.ID), label, here == b.ID})
		out = append(out, t.places(b.Children, without, here)...)
	}
	return out
}

// showBeside shows a page with the tree on its left, unless it is for the dialog.
func (v *visit) showBeside(status int, name, here string, data any) error {
	p := v.page(data)
	if !p.Dialog {
		var err error
		if p.Tree, err = v.readTree(here); err != nil {
			return err
		}
	}
	return v.render(status, name, p)
}

// overviewPage is the data of overview.html.
type overviewPage struct {
	Folders     []*branch
	MoreFolders string
	Roots       []sheaf.Project // at the root level
	Total       int64           // of these
	More        string
	Loose       int64 // documents in no project
	Steps       steps
}

// overview is the root level.
func (c *Console) overview(v *visit) error {
	t, err := v.readTree("")
	if err != nil {
		return err
	}
	loose, err := c.app.Documents(v.r.Context(), v.caller, sheaf.DocumentFilter{Project: sheaf.Nil[sheaf.ProjectID](), Paging: sheaf.Paging{Limit: 1}})
	if err != nil {
		return err
	}
	data := overviewPage{Loose: loose.Total}
	if err := v.rootLevel(&data, t); err != nil {
		return err
	}
	if data.Steps, err = v.firstSteps(); err != nil {
		return err
	}
	p := v.page(data)
	p.Tree = t
	return v.render(http.StatusOK, "overview", p)
}

// rootLevel fills in the folders and projects at the root level: a page of either, and where the next
// one is.
func (v *visit) rootLevel(p *overviewPage, t *tree) error {
	from, after := v.offset(), v.offsetIn("folders")
	folders, err := v.console.app.Folders(v.r.Context(), v.caller, sheaf.FolderFilter{EntityType: sheaf.ProjectFolder, Parent: sheaf.Nil[sheaf.FolderID](),
		Paging: sheaf.Paging{Limit: sheaf.MaxLimit, Offset: after}})
	if err != nil {
		return err
	}
	for _, f := range folders.Items {
		b := t.byID[f.ID]
		if b == nil {
			b = &branch{Folder: f} // beyond the tree
		}
		p.Folders = append(p.Folders, b)
	}
	if folders.More() {
		p.MoreFolders = "?folders=" + strconv.Itoa(after+sheaf.MaxLimit)
	}
	projects, err := v.console.app.Projects(v.r.Context(), v.caller, sheaf.ProjectFilter{Folder: sheaf.Nil[sheaf.FolderID](),
		Paging: sheaf.Paging{Limit: sheaf.MaxLimit, Offset: from}})
	p.Roots, p.Total, p.More = projects.Items, projects.Total, v.more(projects.More(), from+sheaf.MaxLimit)
	return err
}
