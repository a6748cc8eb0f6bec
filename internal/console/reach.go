package console

import (
	"slices"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// The reach of a key or of a person is the whole workspace, or some projects and folders. The forms
// share one choice (the template "reach"): checkboxes for the chosen records and for the records that a
// search found. The search submits the whole form. So it needs no script, and the form keeps what was
// typed and ticked.

// reach is the choice of a form.
type reach struct {
	Part     bool        // only the chosen records; otherwise the whole workspace
	Chosen   []reachItem // ticked
	Found    []reachItem // to tick
	Query    string
	Cut      bool // the search finds more
	Searched bool // the form was sent only to search
	Gone     int  // chosen records that were deleted
}

// reachItem is a project or a folder.
type reachItem struct {
	Kind string // inProject or inFolder
	ID   string
	Name string
	Path string // of the folders that it is in; empty at the top level
}

// Key returns the name of the record in the form.
func (r reachItem) Key() string { return r.Kind + ":" + r.ID }

// Icon returns the icon of the kind.
func (r reachItem) Icon() string {
	if r.Kind == inFolder {
		return "folder"
	}
	return "book-open"
}

// reachFound is the number of projects, and of folders, that a search shows.
const reachFound = 20

// newReach returns the choice for a form that was not sent yet. `to` is the stored restriction.
func (v *visit) newReach(to *sheaf.Restriction) (r reach, err error) {
	r.Part = to != nil
	if to != nil {
		err = v.chooseReach(&r, to.Projects, to.Folders)
	}
	if err == nil {
		err = v.findReach(&r)
	}
	return r, err
}

// readReach reads the choice from the form, and returns the request for it. If the form was sent only
// to search, Searched is set: the person pressed Find, or Enter in the search field.
func (v *visit) readReach() (r reach, to *app.RestrictTo, err error) {
	r.Part = v.field("reach") == "part"
	if _, sent := v.r.PostForm["reach"]; !sent && len(v.r.PostForm["within"]) > 0 {
		r.Part = true // a form without the choice never gets more than what is ticked
	}
	r.Query = strings.TrimSpace(v.field("find-reach"))
	r.Searched = v.field("find") == "reach" || r.Query != "" && r.Query != v.field("found-reach")
	to = &app.RestrictTo{}
	for _, key := range v.r.PostForm["within"] {
		kind, id, err := readKey(key)
		switch {
		case err != nil:
			return r, nil, err
		case kind == inProject && !slices.Contains(to.Projects, sheaf.ProjectID(id)):
			to.Projects = append(to.Projects, sheaf.ProjectID(id))
		case kind == inFolder && !slices.Contains(to.Folders, sheaf.FolderID(id)):
			to.Folders = append(to.Folders, sheaf.FolderID(id))
		}
	}
	if err := v.chooseReach(&r, to.Projects, to.Folders); err != nil {
		return r, nil, err
	}
	if err := v.findReach(&r); err != nil {
		return r, nil, err
	}
	if !r.Part {
		to = nil
	}
	return r, to, nil
}

// check returns Invalid if the choice is "some projects and folders" and none is ticked.
func (r reach) check() error {
	if r.Part && len(r.Chosen) == 0 {
		return sheaf.InvalidField("restricted_to", "restricted_to: tick at least one project or folder, or choose the whole workspace")
	}
	return nil
}

// checkRole is check for a person with the role.
func (r reach) checkRole(role sheaf.Role) error {
	if r.Part && !role.MayBeRestricted() {
		return sheaf.InvalidField("restricted_to", "restricted_to: %s manages the whole workspace and cannot be restricted. Choose the role member or editor, or the whole workspace", role.Phrase())
	}
	return r.check()
}

// checkScopes is check for a key with the scopes.
func (r reach) checkScopes(scopes sheaf.Scopes) error {
	for _, s := range scopes {
		if r.Part && !s.Restrictable() {
			return sheaf.InvalidField("scopes", "scopes: %s reaches beyond projects and folders. Leave it out, or give the key the whole workspace", s)
		}
	}
	return r.check()
}

// chooseReach fills in the names of the chosen records. Those that were deleted are counted.
func (v *visit) chooseReach(r *reach, projects []sheaf.ProjectID, folders []sheaf.FolderID) error {
	ctx, a, paths := v.r.Context(), v.console.app, folderPaths{v: v, known: map[sheaf.FolderID]sheaf.Folder{}}
	add := func(item reachItem, in *sheaf.FolderID, err error) error {
		if sheaf.KindOf(err) == sheaf.NotFound {
			r.Gone++
			return nil
		}
		if err == nil {
			item.Path, err = paths.above(in)
		}
		r.Chosen = append(r.Chosen, item)
		return err
	}
	// A form with more is refused, so no more names are read.
	for _, id := range folders[:min(len(folders), sheaf.MaxRestrictedTo+1)] {
		f, err := a.Folder(ctx, v.caller, id)
		if err := add(reachItem{Kind: inFolder, ID: string(id), Name: f.Name}, f.ParentID, err); err != nil {
			return err
		}
	}
	for _, id := range projects[:min(len(projects), sheaf.MaxRestrictedTo+1)] {
		p, err := a.Project(ctx, v.caller, id)
		if err := add(reachItem{Kind: inProject, ID: string(id), Name: p.Name}, p.FolderID, err); err != nil {
			return err
		}
	}
	return nil
}

// findReach finds the first projects and folders whose names contain the query, without those that
// are chosen.
func (v *visit) findReach(r *reach) error {
	ctx, a, paths := v.r.Context(), v.console.app, folderPaths{v: v, known: map[sheaf.FolderID]sheaf.Folder{}}
	if err := sheaf.CheckLength("The name", r.Query, sheaf.MaxQuery); err != nil {
		return sheaf.Invalidf("%s", err)
	}
	first := sheaf.Paging{Limit: reachFound}
	folders, err := a.Folders(ctx, v.caller, sheaf.FolderFilter{EntityType: sheaf.ProjectFolder, Query: r.Query, Sort: sheaf.ByName, Paging: first})
	if err != nil {
		return err
	}
	projects, err := a.Projects(ctx, v.caller, sheaf.ProjectFilter{Query: r.Query, Sort: sheaf.ByName, Paging: first})
	if err != nil {
		return err
	}
	r.Cut = folders.More() || projects.More()
	add := func(item reachItem, in *sheaf.FolderID) (err error) {
		if slices.ContainsFunc(r.Chosen, func(c reachItem) bool { return c.Key() == item.Key() }) {
			return nil
		}
		item.Path, err = paths.above(in)
		r.Found = append(r.Found, item)
		return err
	}
	for _, f := range folders.Items {
		if err := add(reachItem{Kind: inFolder, ID: string(f.ID), Name: f.Name}, f.ParentID); err != nil {
			return err
		}
	}
	for _, p := range projects.Items {
		if err := add(reachItem{Kind: inProject, ID: string(p.ID), Name: p.Name}, p.FolderID); err != nil {
			return err
		}
	}
	return nil
}
