package app

import (
	"context"
	"slices"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Placed says where a record is: below a document, in a project, or in a folder. A nil field names none.
type Placed struct {
	Project *sheaf.ProjectID
	Folder  *sheaf.FolderID   // counts only without a project
	Parent  *sheaf.DocumentID // the document right above
}

// PlaceNames returns the names of what is above each of the records, the top folder first: folders, the project
// and documents. Names that the caller may not read or does not see are left out.
func (a *App) PlaceNames(ctx context.Context, c Caller, of []Placed) ([][]string, error) {
	needs := scope(sheaf.DocumentsRead)
	if !c.May(sheaf.DocumentsRead) {
		needs = scope(sheaf.ProjectsRead)
	}
	return read(ctx, a, c, needs, func(r *store.Reader) ([][]string, error) {
		return namePlaces(r, c, of)
	})
}

func namePlaces(r *store.Reader, c Caller, of []Placed) ([][]string, error) {
	names := make([][]string, len(of))
	if c.May(sheaf.ProjectsRead) {
		known := placeNames{r: r, ws: c.Workspace, projects: map[sheaf.ProjectID][]string{}, folders: map[sheaf.FolderID][]string{}}
		for i, p := range of {
			var err error
			if names[i], err = known.project(p.Project, p.Folder); err != nil {
				return nil, err
			}
		}
	}
	var parents []sheaf.DocumentID
	for _, p := range of {
		if p.Parent != nil && !slices.Contains(parents, *p.Parent) {
			parents = append(parents, *p.Parent)
		}
	}
	if len(parents) == 0 || !c.May(sheaf.DocumentsRead) {
		return names, nil
	}
	above, err := r.AncestorsOf(c.Workspace, parents)
	for i, p := range of {
		if p.Parent == nil {
			continue
		}
		for _, d := range slices.Backward(above[slices.Index(parents, *p.Parent)]) {
			names[i] = append(slices.Clip(names[i]), d.Title)
		}
	}
	return names, err
}

// placeNames caches the names of the projects and folders of one answer, each with those above it.
type placeNames struct {
	r        *store.Reader
	ws       sheaf.WorkspaceID
	projects map[sheaf.ProjectID][]string
	folders  map[sheaf.FolderID][]string
}

// project returns the names of a project and the folders above it. Without a project it returns those of the folder.
func (n *placeNames) project(id *sheaf.ProjectID, folder *sheaf.FolderID) ([]string, error) {
	if id == nil {
		return n.folder(folder)
	}
	if names, ok := n.projects[*id]; ok {
		return names, nil
	}
	p, err := n.r.Project(n.ws, *id)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	above, err := n.folder(p.FolderID)
	n.projects[*id] = append(slices.Clip(above), p.Name)
	return n.projects[*id], err
}

// folder returns the names of a folder and those above it.
func (n *placeNames) folder(id *sheaf.FolderID) ([]string, error) {
	if id == nil {
		return nil, nil
	}
	if names, ok := n.folders[*id]; ok {
		return names, nil
	}
	f, err := n.r.Folder(n.ws, *id)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	above, err := n.folder(f.ParentID)
	n.folders[*id] = append(slices.Clip(above), f.Name)
	return n.folders[*id], err
}

// SharedRecord returns the kind and the id of what the share with that token shows. It returns NotFound unless the
// share is one of the workspace and the caller sees what it shows. A share that has ended its time counts too: the
// caller reads by its own rights.
func (a *App) SharedRecord(ctx context.Context, c Caller, token string) (kind sheaf.Shareable, id string, err error) {
	s, err := read(ctx, a, c, scope(sheaf.DocumentsRead), func(r *store.Reader) (sheaf.Share, error) {
		return r.ShareWith(c.Workspace, token)
	})
	return s.ResourceType, s.ResourceID, err
}
