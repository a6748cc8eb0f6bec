package app

import (
	"cmp"
	"context"

	"sheaf.dev/internal/media"
	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// The methods in this file serve readers of a share, who have only its address. Each takes the
// share that OpenShare found and returns only what it shows: it reaches no other document, project
// or medium of the workspace. Everything else is NotFound, with the same text whatever the reason.

// errNotShared is the answer for everything that the share does not show.
var errNotShared = sheaf.Missing("page")

// OpenShare returns the share with that token. It returns NotFound if there is none, or if it has
// expired. It does not check a password: see Unlocked.
func (a *App) OpenShare(ctx context.Context, token string) (sheaf.Shared, error) {
	if !sheaf.IsShareToken(token) {
		return sheaf.Shared{}, errNotShared
	}
	s, err := a.store.Shared(ctx, token)
	if err == nil && s.Expired(a.now()) {
		err = errNotShared
	}
	if err != nil {
		return sheaf.Shared{}, notShared(err)
	}
	s.Share = a.shown(s.Share)
	return s, nil
}

// notShared replaces every NotFound by errNotShared.
func notShared(err error) error {
	if sheaf.KindOf(err) == sheaf.NotFound {
		return errNotShared
	}
	return err
}

// ShareShows returns NotFound if the shared record cannot be shown, such as a document in the
// trash.
func (a *App) ShareShows(ctx context.Context, s sheaf.Shared) error {
	_, err := readShown(ctx, a, s, func(r *store.Reader) (bool, error) {
		var err error
		switch s.ResourceType {
		case sheaf.ShareOfFolder:
			_, err = r.Folder(s.Workspace, sheaf.FolderID(s.ResourceID))
		case sheaf.ShareOfProject:
			if _, err = r.Project(s.Workspace, sheaf.ProjectID(s.ResourceID)); err == nil {
				_, err = shownRelease(r, s)
			}
		default:
			_, err = r.Document(s.Workspace, sheaf.DocumentID(s.ResourceID))
		}
		return true, err
	})
	return notShared(err)
}

// SharedProject is a shared project with a page of its documents, in reading order. If there are more
// than sheaf.MaxTree, they are in the order of their creation, and Tree is empty.
type SharedProject struct {
	sheaf.Project
	Documents sheaf.Page[sheaf.Document]
	Tree      []sheaf.TreeEntry
	Site      *Site           // nil: the share is of the project
	Branding  *sheaf.Branding // nil: none
}

// brandingOf returns the branding of a share: its own, or the workspace's default, or nil.
func brandingOf(r *store.Reader, s sheaf.Shared) (*sheaf.Branding, error) {
	id := s.BrandingID
	if id == nil {
		ws, err := r.Workspace(s.Workspace)
		if err != nil || ws.DefaultBranding == "" {
			return nil, err
		}
		id = &ws.DefaultBranding
	}
	b, err := r.Branding(s.Workspace, *id)
	return &b, err
}

// SharedLogo returns the logo of a share's branding with its bytes, which the caller closes, or
// NotFound if there is none.
func (a *App) SharedLogo(ctx context.Context, s sheaf.Shared) (sheaf.Medium, media.Content, error) {
	m, err := readShown(ctx, a, s, func(r *store.Reader) (sheaf.Medium, error) {
		b, err := brandingOf(r, s)
		if err != nil || b == nil || b.LogoMediaID == nil {
			return sheaf.Medium{}, cmp.Or(err, error(errNotShared))
		}
		return r.Medium(s.Workspace, *b.LogoMediaID)
	})
	if err != nil {
		return m, nil, notShared(err)
	}
	return a.openShared(ctx, s, m)
}

// openShared opens the bytes of a medium that the share shows.
func (a *App) openShared(ctx context.Context, s sheaf.Shared, m sheaf.Medium) (sheaf.Medium, media.Content, error) {
	content, err := a.openMedium(ctx, s.Workspace, m, func() error {
		_, err := readShown(ctx, a, s, func(r *store.Reader) (sheaf.Medium, error) { return r.Medium(s.Workspace, m.ID) })
		return notShared(err)
	})
	return m, content, err
}

// SharedMedium returns a medium in the text of a document that the share shows, with its bytes,
// which the caller closes. `shows` reports whether the text shows the medium; if not, SharedMedium
// returns NotFound.
func (a *App) SharedMedium(ctx context.Context, s sheaf.Shared, in sheaf.DocumentID, id sheaf.MediumID,
	shows func(text string) (bool, error)) (sheaf.Medium, media.Content, error) {
	d, err := a.SharedDocument(ctx, s, in)
	if err != nil {
		return sheaf.Medium{}, nil, err
	}
	if shown, err := shows(d.Content); err != nil || !shown {
		return sheaf.Medium{}, nil, cmp.Or(err, error(errNotShared))
	}
	m, err := readShown(ctx, a, s, func(r *store.Reader) (sheaf.Medium, error) {
		release, err := shownRelease(r, s)
		if err != nil {
			return sheaf.Medium{}, err
		}
		if release != nil {
			return r.ReleaseMedium(s.Workspace, *release, id)
		}
		return r.Medium(s.Workspace, id)
	})
	if err != nil {
		return m, nil, notShared(err)
	}
	return a.openShared(ctx, s, m)
}

// SharedProject returns a project that the share shows, or NotFound.
func (a *App) SharedProject(ctx context.Context, s sheaf.Shared, id sheaf.ProjectID, p sheaf.Paging) (SharedProject, error) {
	out, err := readShown(ctx, a, s, func(r *store.Reader) (out SharedProject, err error) {
		if out.Project, err = r.Project(s.Workspace, id); err != nil {
			return out, err
		}
		path, err := projectPath(r, s, out.Project)
		if err != nil {
			return SharedProject{}, err
		}
		if out.Branding, err = brandingOf(r, s); err != nil {
			return out, err
		}
		release, err := shownRelease(r, s)
		if err != nil {
			return out, err
		}
		if release != nil {
			return out, out.readReleased(r, s.Workspace, *release, p)
		}
		if err := out.read(r, s.Workspace, p); err != nil || path == nil {
			return out, err
		}
		if out.Site, err = readSite(r, s.Workspace, path, &out.Project, SiteLevel{}); err != nil {
			return out, err
		}
		out.Site.Trees[id] = out.Tree
		if out.Site.Previous, err = documentBeside(r, s.Workspace, path, out.Project, true); err != nil {
			return out, err
		}
		if out.Site.Next, err = r.EndOfTree(s.Workspace, id, false); err == nil && out.Site.Next == nil {
			out.Site.Next, err = documentBeside(r, s.Workspace, path, out.Project, false)
		}
		return out, err
	})
	return out, notShared(err)
}

// read reads the documents of the project.
func (p *SharedProject) read(r *store.Reader, ws sheaf.WorkspaceID, paging sheaf.Paging) (err error) {
	if p.DocumentCount > sheaf.MaxTree {
		p.Documents, err = r.Documents(ws, sheaf.DocumentFilter{Project: sheaf.Some(p.ID), Paging: paging})
		return err
	}
	if p.Tree, err = r.DocumentTree(ws, p.ID); err != nil {
		return err
	}
	p.Documents = sheaf.Page[sheaf.Document]{Total: int64(len(p.Tree)), Paging: paging}
	var ids []sheaf.DocumentID
	for _, e := range p.Tree[min(paging.Offset, len(p.Tree)):min(paging.Offset+paging.Limit, len(p.Tree))] {
		ids = append(ids, e.ID)
	}
	p.Documents.Items, err = r.DocumentsByID(ws, ids)
	return err
}

// SharedDocument is a document that a share shows, with its text. For a share of a project or a
// folder it also has its project, and the project's documents in reading order.
type SharedDocument struct {
	sheaf.DocumentText
	Project *sheaf.Project
	// Tree has all documents of the project. If there are more than sheaf.MaxTree, it has only the
	// documents above this one, and this one.
	Tree     []sheaf.TreeEntry
	Site     *Site           // nil: the share is not of a folder
	Branding *sheaf.Branding // nil: none
}

// SharedDocument returns a document that the share shows, or NotFound.
func (a *App) SharedDocument(ctx context.Context, s sheaf.Shared, id sheaf.DocumentID) (SharedDocument, error) {
	out, err := readShown(ctx, a, s, func(r *store.Reader) (out SharedDocument, err error) {
		release, err := shownRelease(r, s)
		if err != nil {
			return out, err
		}
		if release != nil {
			if out.Branding, err = brandingOf(r, s); err != nil {
				return out, err
			}
			return out, out.readReleased(r, s.Workspace, *release, id)
		}
		if out.DocumentText, err = r.DocumentText(s.Workspace, id); err != nil {
			return out, err
		}
		path, err := out.find(r, s)
		if err != nil {
			return SharedDocument{}, err
		}
		if out.Branding, err = brandingOf(r, s); err != nil || out.Project == nil {
			return out, err
		}
		if err := out.place(r, s.Workspace); err != nil || path == nil {
			return out, err
		}
		return out, out.placeInSite(r, s.Workspace, path)
	})
	return out, notShared(err)
}

// find returns the folders from the shared one down to that of the document's project, or none if
// the share is not of a folder. It sets the project, unless the document itself is shared. It
// returns errNotShared unless the share shows the document.
func (d *SharedDocument) find(r *store.Reader, s sheaf.Shared) ([]sheaf.Folder, error) {
	switch {
	case s.ResourceType == sheaf.ShareOfDocument && string(d.ID) == s.ResourceID:
		return nil, nil
	case s.ResourceType == sheaf.ShareOfDocument, d.ProjectID == nil:
		return nil, errNotShared
	}
	p, err := r.Project(s.Workspace, *d.ProjectID)
	if err != nil {
		return nil, err
	}
	d.Project = &p
	return projectPath(r, s, p)
}

// place sets the tree of the project.
func (d *SharedDocument) place(r *store.Reader, ws sheaf.WorkspaceID) (err error) {
	if d.Project.DocumentCount <= sheaf.MaxTree {
		d.Tree, err = r.DocumentTree(ws, d.Project.ID)
		return err
	}
	path, err := pathOf(r, ws, d.ID)
	for i, above := range path {
		d.Tree = append(d.Tree, sheaf.TreeEntry{ID: above.ID, Title: above.Title, Depth: i + 1})
	}
	return err
}

// placeInSite sets the site. The first document of a project follows the last one of the project
// before it.
func (d *SharedDocument) placeInSite(r *store.Reader, ws sheaf.WorkspaceID, path []sheaf.Folder) (err error) {
	if d.Site, err = readSite(r, ws, path, d.Project, SiteLevel{}); err != nil {
		return err
	}
	d.Site.Trees[d.Project.ID] = d.Tree
	if int64(len(d.Tree)) != d.Project.DocumentCount { // only the documents above this one
		return nil
	}
	if d.Tree[0].ID == d.ID {
		if d.Site.Previous, err = documentBeside(r, ws, path, *d.Project, true); err != nil {
			return err
		}
	}
	if d.Tree[len(d.Tree)-1].ID == d.ID {
		d.Site.Next, err = documentBeside(r, ws, path, *d.Project, false)
	}
	return err
}

// SharedDocuments returns which of these documents the share shows.
func (a *App) SharedDocuments(ctx context.Context, s sheaf.Shared, ids []sheaf.DocumentID) (map[sheaf.DocumentID]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if s.ResourceType == sheaf.ShareOfDocument {
		return map[sheaf.DocumentID]bool{sheaf.DocumentID(s.ResourceID): true}, nil
	}
	return readShown(ctx, a, s, func(r *store.Reader) (map[sheaf.DocumentID]bool, error) {
		release, err := shownRelease(r, s)
		if err != nil {
			return nil, err
		}
		if release != nil {
			return releasedOf(r, s.Workspace, *release, ids)
		}
		if s.ResourceType == sheaf.ShareOfFolder {
			return r.DocumentsBelow(s.Workspace, sheaf.FolderID(s.ResourceID), ids)
		}
		return r.DocumentsIn(s.Workspace, sheaf.ProjectID(s.ResourceID), ids)
	})
}

// SharedHome is what a share of a project or a folder shows on all its pages.
type SharedHome struct {
	Name     string          // of the project or the folder
	Project  *sheaf.Project  // nil: the share is of a folder
	Branding *sheaf.Branding // nil: none
}

// SharedHome returns the name and the look of a shared project or folder, or NotFound for a share
// of a document.
func (a *App) SharedHome(ctx context.Context, s sheaf.Shared) (SharedHome, error) {
	out, err := readShown(ctx, a, s, func(r *store.Reader) (out SharedHome, err error) {
		switch s.ResourceType {
		case sheaf.ShareOfFolder:
			var f sheaf.Folder
			f, err = r.Folder(s.Workspace, sheaf.FolderID(s.ResourceID))
			out.Name = f.Name
		case sheaf.ShareOfProject:
			var p sheaf.Project
			if p, err = r.Project(s.Workspace, sheaf.ProjectID(s.ResourceID)); err == nil {
				_, err = shownRelease(r, s)
			}
			out.Name, out.Project = p.Name, &p
		default:
			err = errNotShared
		}
		if err == nil {
			out.Branding, err = brandingOf(r, s)
		}
		return out, err
	})
	return out, notShared(err)
}

// SharedHits is a page of search results in a share. For a share of a folder it has the names of
// the projects that contain the documents.
type SharedHits struct {
	sheaf.Page[sheaf.Hit]
	Projects map[sheaf.ProjectID]string
	Partly   bool // of some documents only the titles were searched
}

// SearchShared returns a page of the documents of a shared project or folder that contain every
// word of the text. It returns NotFound for a share of a document, and Invalid for bad words.
func (a *App) SearchShared(ctx context.Context, s sheaf.Shared, text string, p sheaf.Paging) (out SharedHits, err error) {
	may := search.Scope{Types: []sheaf.SearchType{sheaf.SearchDocument}}
	q := sheaf.SearchQuery{Text: text, Types: may.Types, Reading: true, Paging: p}
	switch s.ResourceType {
	case sheaf.ShareOfFolder:
		folder := sheaf.FolderID(s.ResourceID)
		q.Folder = &folder
	case sheaf.ShareOfProject:
		project := sheaf.ProjectID(s.ResourceID)
		q.Project = &project
		release, err := readShown(ctx, a, s, func(r *store.Reader) (*sheaf.Release, error) { return shownRelease(r, s) })
		if err != nil {
			return out, notShared(err)
		}
		if release != nil {
			out, err = a.searchReleased(ctx, s, *release, q)
			return out, notShared(err)
		}
	default:
		return out, errNotShared
	}
	err = a.index.View(ctx, s.Workspace, q, func(ctx context.Context, v *search.View) (err error) {
		out, err = readShown(ctx, a, s, func(r *store.Reader) (out SharedHits, err error) {
			if out.Page, err = v.Find(r, may); err != nil || q.Folder == nil {
				return out, err
			}
			out.Projects = map[sheaf.ProjectID]string{}
			for _, h := range out.Items {
				if _, known := out.Projects[*h.ProjectID]; known {
					continue
				}
				p, err := r.Project(s.Workspace, *h.ProjectID)
				if err != nil {
					return out, err
				}
				out.Projects[p.ID] = p.Name
			}
			return out, nil
		})
		return err
	})
	return out, notShared(err)
}

// ShareViews is the number of views of a share.
type ShareViews = store.ShareViews

// CountViews adds to the views of shares. The edge collects them, so that no page waits for it.
func (a *App) CountViews(ctx context.Context, views []ShareViews) error {
	return a.writeUnasked(ctx, func(tx *store.Tx) error { return tx.AddViews(views) })
}
