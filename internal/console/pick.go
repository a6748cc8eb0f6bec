package console

import (
	"slices"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// pick is the choice of one record among many. A form lists the first of them, or those that a search
// finds, and always the present one: what a list leaves out must not be unchosen by saving the form.
type pick struct {
	Name    string // of the form's field
	None    string // what the empty choice is called
	Query   string // by which the options were found
	More    bool   // there are more than the options: they can be searched
	Find    string // where a script finds others; q is the query, now the present choice
	Options []option
}

// option is one record to choose.
type option struct {
	ID    string
	Label string
	Here  bool // it is the present one
}

// Now is the name of the present one; empty for none.
func (p pick) Now() string {
	for _, o := range p.Options {
		if o.Here {
			return o.Label
		}
	}
	return ""
}

// choose marks another option, where it is among them, as when a refused form comes back.
func (p *pick) choose(id string) {
	for i := range p.Options {
		p.Options[i].Here = p.Options[i].ID == id
	}
}

// maxOptions is how many records a choice lists before it is to be searched.
const maxOptions = sheaf.MaxLimit

// pickProjects is the choice of a project, by name.
func (v *visit) pickProjects(now sheaf.ProjectID, query string) (pick, error) {
	out := pick{Name: "project", None: "None", Query: query, Find: v.at("projects", "choose")}
	page, err := v.console.app.Projects(v.r.Context(), v.caller, sheaf.ProjectFilter{Query: query, Sort: sheaf.ByName, Paging: sheaf.Paging{Limit: maxOptions}})
	if err != nil {
		return out, err
	}
	out.More = page.More() || query != ""
	for _, p := range page.Items {
		out.Options = append(out.Options, option{string(p.ID), p.Name, p.ID == now})
	}
	if _, isID := sheaf.ParseUUID(string(now)); !isID || out.Now() != "" {
		return out, nil
	}
	p, err := v.console.app.Project(v.r.Context(), v.caller, now)
	if sheaf.KindOf(err) == sheaf.NotFound {
		return out, nil // it was deleted
	}
	out.Options = slices.Insert(out.Options, 0, option{string(p.ID), p.Name, true})
	return out, err
}

// pickFolders is the choice of a folder to move something into: all folders of a type as they stand in
// each other, or where they are too many those that a search finds, with where they are. Neither a folder
// that is itself to be moved nor one within it is among them.
func (v *visit) pickFolders(kind sheaf.EntityType, moved sheaf.FolderID, now sheaf.FolderID, query string) (pick, error) {
	out := pick{None: "The top level", Query: query, Find: v.at("folders", "choose?type="+string(kind)+"&without="+string(moved))}
	page, err := v.console.app.Folders(v.r.Context(), v.caller, sheaf.FolderFilter{EntityType: kind, Query: query, Paging: sheaf.Paging{Limit: maxPlaces}})
	if err != nil {
		return out, err
	}
	if query == "" && !page.More() {
		out.Options = places(page.Items, moved, now)
		return out, nil
	}
	out.More = true
	paths := folderPaths{v: v, known: map[sheaf.FolderID]sheaf.Folder{}}
	return out, paths.fill(&out, page.Items, moved, now)
}

// maxPlaces is how many folders a choice lists as they stand in each other.
const maxPlaces = 1000

// places lists all folders of a type, each before those in it, without the tree of one that is to be
// moved. Which of them are possible the rules decide.
func places(all []sheaf.Folder, without, here sheaf.FolderID) (out []option) {
	inside := map[sheaf.FolderID][]sheaf.Folder{}
	for _, f := range all {
		inside[placeOf(f.ParentID)] = append(inside[placeOf(f.ParentID)], f)
	}
	var list func(in sheaf.FolderID)
	list = func(in sheaf.FolderID) {
		for _, f := range inside[in] {
			if f.ID == without {
				continue
			}
			out = append(out, option{string(f.ID), strings.Repeat("\u2003", f.Depth-1) + f.Name, here == f.ID})
			list(f.ID)
		}
	}
	list("")
	return out
}

// folderPaths names folders by those that they stand in.
type folderPaths struct {
	v     *visit
	known map[sheaf.FolderID]sheaf.Folder // that were read
}

// fill lists the first folders, and the present one wherever it stands.
func (f folderPaths) fill(out *pick, found []sheaf.Folder, moved, now sheaf.FolderID) error {
	for _, x := range found {
		f.known[x.ID] = x
	}
	if x, err := f.folder(now); now != "" && err == nil && !slices.ContainsFunc(found, func(x sheaf.Folder) bool { return x.ID == now }) {
		found = append([]sheaf.Folder{x}, found...)
	}
	for _, x := range found {
		if len(out.Options) >= maxOptions {
			return nil
		}
		label, within, err := f.path(x, moved)
		if err != nil {
			return err
		}
		if !within {
			out.Options = append(out.Options, option{string(x.ID), label, x.ID == now})
		}
	}
	return nil
}

// path is a folder's name behind those of the folders above it, and whether it is moved or stands within
// what is.
func (f folderPaths) path(x sheaf.Folder, moved sheaf.FolderID) (label string, within bool, err error) {
	label, within = x.Name, x.ID == moved
	for x.ParentID != nil && err == nil {
		if x, err = f.folder(*x.ParentID); err == nil {
			label, within = x.Name+" / "+label, within || x.ID == moved
		}
	}
	if sheaf.KindOf(err) == sheaf.NotFound {
		err = nil // it was deleted between two questions
	}
	return label, within, err
}

// folder reads a folder once.
func (f folderPaths) folder(id sheaf.FolderID) (sheaf.Folder, error) {
	if x, ok := f.known[id]; ok {
		return x, nil
	}
	x, err := f.v.console.app.Folder(f.v.r.Context(), f.v.caller, id)
	if err == nil {
		f.known[id] = x
	}
	return x, err
}

// chooseProject answers GET /w/{workspace}/projects/choose: the options of a choice of projects, for the
// script that searches among them.
func (c *Console) chooseProject(v *visit) error {
	q := v.r.URL.Query()
	p, err := v.pickProjects(sheaf.ProjectID(q.Get("now")), q.Get("q"))
	if err != nil {
		return err
	}
	return v.fragment("document-form", "options", p)
}

// chooseFolder answers GET /w/{workspace}/folders/choose: the options of a choice of folders.
func (c *Console) chooseFolder(v *visit) error {
	q := v.r.URL.Query()
	kind := sheaf.ProjectFolder
	if sheaf.EntityType(q.Get("type")) == sheaf.BrandingFolder {
		kind = sheaf.BrandingFolder
	}
	p, err := v.pickFolders(kind, sheaf.FolderID(q.Get("without")), sheaf.FolderID(q.Get("now")), q.Get("q"))
	if err != nil {
		return err
	}
	return v.fragment("move", "options", p)
}
