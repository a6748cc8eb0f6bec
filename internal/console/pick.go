package console

import (
	"net/url"
	"slices"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// pick is the choice of one record among many. A form lists the first records, or those that a
// search finds, and always the current one: otherwise saving the form would change it.
type pick struct {
	Name    string // of the form's field
	None    string // the text of the empty choice; empty for none
	Must    bool   // the empty choice is invalid: one of the records must be chosen
	Query   string // the search that found the options
	More    bool   // there are more records, which a search finds
	Find    string // the address where a script searches; q is the query, now the current choice
	Options []option
}

// option is one record to choose.
type option struct {
	ID    string
	Label string
	Here  bool // it is the current one
}

// Now returns the name of the current record; empty for none.
func (p pick) Now() string {
	for _, o := range p.Options {
		if o.Here {
			return o.Label
		}
	}
	return ""
}

// choose marks the option with this id, for a form that is shown again.
func (p *pick) choose(id string) {
	for i := range p.Options {
		p.Options[i].Here = p.Options[i].ID == id
	}
}

// maxOptions is the number of records that a choice lists. If there are more, it is searched.
const maxOptions = sheaf.MaxLimit

// pickProjects returns the choice of a project, by name.
func (v *visit) pickProjects(now sheaf.ProjectID, query string) (pick, error) {
	out, err := v.anyProject(now, query)
	v.mustChoose(&out, "Choose a project")
	return out, err
}

// anyProject is pickProjects with the choice of none.
func (v *visit) anyProject(now sheaf.ProjectID, query string) (pick, error) {
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

// mustChoose replaces the empty choice by `text` for a restricted person: the place that it stands
// for is outside of what they see.
func (v *visit) mustChoose(p *pick, text string) {
	if !v.restricted() {
		return
	}
	if p.Must, p.None = true, text; p.Now() != "" {
		p.None = ""
	}
}

// pickFolders returns the choice of a folder to move a record into.
func (v *visit) pickFolders(kind sheaf.EntityType, moved sheaf.FolderID, now sheaf.FolderID, query string) (pick, error) {
	out, err := v.anyFolder(kind, moved, now, query)
	v.mustChoose(&out, "Choose a folder")
	return out, err
}

// anyFolder is pickFolders with the top level. It lists all folders of the
// type as a tree; if there are more than maxPlaces, it lists those that the search finds, with
// their paths. It leaves out the folder `moved` and those within it.
func (v *visit) anyFolder(kind sheaf.EntityType, moved sheaf.FolderID, now sheaf.FolderID, query string) (pick, error) {
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
	f, found := folderPaths{v: v, known: map[sheaf.FolderID]sheaf.Folder{}}, page.Items
	for _, x := range found {
		f.known[x.ID] = x
	}
	if x, err := f.folder(now); now != "" && err == nil && !slices.ContainsFunc(found, func(x sheaf.Folder) bool { return x.ID == now }) {
		found = append([]sheaf.Folder{x}, found...)
	}
	for _, x := range found {
		if len(out.Options) >= maxOptions {
			break
		}
		label, within, err := f.path(x, moved)
		if err != nil {
			return out, err
		}
		if !within {
			out.Options = append(out.Options, option{string(x.ID), label, x.ID == now})
		}
	}
	return out, nil
}

// belowPrefix begins the value of a choice that puts documents below another one. A choice without
// it is the id of a project, or empty for none: the documents go to its top level.
const belowPrefix = "document:"

// maxFound is the number of documents that a choice of places lists if it is searched. The path of
// each is read.
const maxFound = 25

// pickPlaces returns the choice where the selected documents go: the project that they are in with its
// documents as a tree, and the other projects. With a query it lists all documents and projects that
// the search finds. It leaves out the selected documents and those below them. `now` is what the
// person chose; nil: nothing yet, and the choice is the place where they are.
func (v *visit) pickPlaces(s selection, query string, now *string) (pick, error) {
	items := url.Values{}
	project, together := s[0].Document.ProjectID, true
	for _, p := range s {
		items.Add("item", p.Item())
		together = together && p.In == s[0].In
	}
	if now == nil {
		here := ""
		if together && project != nil {
			here = string(*project)
		}
		if parent := s[0].Document.ParentID; parent != nil && len(s) == 1 {
			here = belowPrefix + string(*parent)
		}
		now = &here
	}
	projects, err := v.pickProjects(sheaf.ProjectID(*now), query)
	if err != nil {
		return projects, err
	}
	out := pick{Name: "to", None: "No project", Query: query, More: projects.More, Find: v.at("selection", "places?"+items.Encode())}
	switch {
	case query != "":
		err = v.findPlaces(&out, s, query)
	case together:
		isHere := func(o option) bool { return project != nil && o.ID == string(*project) }
		if i := slices.IndexFunc(projects.Options, isHere); i >= 0 {
			out.Options = append(out.Options, projects.Options[i])
			projects.Options = slices.Delete(projects.Options, i, i+1)
		}
		err = v.placesIn(&out, s, project)
	}
	if err != nil {
		return out, err
	}
	out.Options = append(out.Options, projects.Options...)
	out.More = out.More || len(projects.Options) > 0 // the documents of other projects
	out.choose(*now)
	if id, below := strings.CutPrefix(*now, belowPrefix); below && out.Now() == "" {
		if d, err := v.console.app.Document(v.r.Context(), v.caller, sheaf.DocumentID(id)); err == nil {
			out.Options = slices.Insert(out.Options, 0, option{*now, d.Title, true})
		}
	}
	v.mustChoose(&out, "Choose a project or document")
	return out, nil
}

// placesIn appends the documents of a project, or in none, that the selected documents may go below,
// as a tree. If there are too many for that, it appends the first at the top level: a search finds
// the others.
func (v *visit) placesIn(out *pick, s selection, project *sheaf.ProjectID) error {
	ctx, a := v.r.Context(), v.console.app
	var all []sheaf.TreeEntry
	whole := false
	if project != nil {
		p, err := a.Project(ctx, v.caller, *project)
		if err != nil {
			return err
		}
		if whole = p.DocumentCount <= maxOptions; whole {
			if all, err = a.DocumentTree(ctx, v.caller, *project); err != nil {
				return err
			}
		}
	}
	if !whole {
		page, err := a.DocumentLevel(ctx, v.caller, project, nil, sheaf.Paging{Limit: maxOptions})
		if err != nil {
			return err
		}
		all, out.More = page.Items, true
	}
	within := sheaf.MaxLevels + 1 // the level of the selected document that the entry is below
	for _, e := range all {
		if e.Depth <= within {
			within = sheaf.MaxLevels + 1
			if s.has(e.ID) {
				within = e.Depth
			}
		}
		if within > sheaf.MaxLevels && e.Depth < sheaf.MaxLevels {
			out.Options = append(out.Options, option{ID: belowPrefix + string(e.ID), Label: strings.Repeat("\u2003", e.Depth) + e.Title})
		}
	}
	return nil
}

// has reports whether a document is selected.
func (s selection) has(id sheaf.DocumentID) bool {
	return slices.ContainsFunc(s, func(p picked) bool { return p.Document.ID == id })
}

// findPlaces appends the documents that a search finds, with their paths, except the selected ones and
// those below them.
func (v *visit) findPlaces(out *pick, s selection, query string) error {
	ctx, a := v.r.Context(), v.console.app
	found, err := a.Documents(ctx, v.caller, sheaf.DocumentFilter{Query: typedQuery(query), Sort: sheaf.DocumentsByTitle, Paging: sheaf.Paging{Limit: maxFound}})
	if err != nil {
		return err
	}
	paths := documentPaths{v, map[sheaf.ProjectID]string{}}
	for _, d := range found.Items {
		names, path, err := paths.above(d)
		if sheaf.KindOf(err) == sheaf.NotFound {
			continue // it was deleted between two reads
		}
		if err != nil {
			return err
		}
		if len(path) == sheaf.MaxLevels || slices.ContainsFunc(path, func(e sheaf.PathEntry) bool { return s.has(e.ID) }) {
			continue
		}
		out.Options = append(out.Options, option{ID: belowPrefix + string(d.ID), Label: strings.Join(append(names, d.Title), " / ")})
	}
	return nil
}

// maxPlaces is the number of folders that a choice lists as a tree.
const maxPlaces = 1000

// places lists folders as a tree, each before those in it, without the folder `without` and those
// in it. The rules of app decide which of them a record may be moved to.
func places(all []sheaf.Folder, without, here sheaf.FolderID) (out []option) {
	inside, known := map[sheaf.FolderID][]sheaf.Folder{}, map[sheaf.FolderID]bool{}
	for _, f := range all {
		known[f.ID] = true
	}
	for _, f := range all {
		in := placeOf(f.ParentID)
		if !known[in] {
			in = "" // a restricted person may not see the parent folder
		}
		inside[in] = append(inside[in], f)
	}
	var list func(in sheaf.FolderID, level int)
	list = func(in sheaf.FolderID, level int) {
		for _, f := range inside[in] {
			if f.ID == without {
				continue
			}
			out = append(out, option{string(f.ID), strings.Repeat("\u2003", level) + f.Name, here == f.ID})
			list(f.ID, level+1)
		}
	}
	list("", 0)
	return out
}

// folderPaths finds the paths of folders. It reads each folder once.
type folderPaths struct {
	v     *visit
	known map[sheaf.FolderID]sheaf.Folder // the folders that were read
}

// path returns the names of the folders above x and its own, and reports whether x is the folder
// `moved` or within it.
func (f folderPaths) path(x sheaf.Folder, moved sheaf.FolderID) (label string, within bool, err error) {
	label, within = x.Name, x.ID == moved
	for x.ParentID != nil && err == nil {
		if x, err = f.folder(*x.ParentID); err == nil {
			label, within = x.Name+" / "+label, within || x.ID == moved
		}
	}
	if sheaf.KindOf(err) == sheaf.NotFound {
		err = nil // it was deleted between two reads
	}
	return label, within, err
}

// above returns the path of the folder `in`; empty for the root level, and for a folder that was just
// deleted.
func (f folderPaths) above(in *sheaf.FolderID) (string, error) {
	if in == nil {
		return "", nil
	}
	x, err := f.folder(*in)
	if err != nil {
		if sheaf.KindOf(err) == sheaf.NotFound {
			err = nil
		}
		return "", err
	}
	label, _, err := f.path(x, "")
	return label, err
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

// placeOf returns the folder's identifier; empty for the root level.
func placeOf(f *sheaf.FolderID) sheaf.FolderID {
	if f == nil {
		return ""
	}
	return *f
}

// folderIn returns the folder that the parameter "in" of the address names: a new record is made
// there. Without the parameter it returns the zero Folder, which means the root level.
func (v *visit) folderIn() (sheaf.Folder, error) {
	in := v.r.URL.Query().Get("in")
	if in == "" {
		return sheaf.Folder{}, nil
	}
	id, ok := sheaf.ParseUUID(in)
	if !ok {
		return sheaf.Folder{}, sheaf.Missing("folder")
	}
	return v.console.app.Folder(v.r.Context(), v.caller, sheaf.FolderID(id))
}
