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
		if s.ResourceType == sheaf.ShareOfProject {
			_, err := r.Project(s.Workspace, sheaf.ProjectID(s.ResourceID))
			return true, err
		}
		_, err := r.Document(s.Workspace, sheaf.DocumentID(s.ResourceID))
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
	m, err := readShown(ctx, a, s, func(r *store.Reader) (sheaf.Medium, error) { return r.Medium(s.Workspace, id) })
	if err != nil {
		return m, nil, notShared(err)
	}
	return a.openShared(ctx, s, m)
}

// SharedProject returns the project of a share, or NotFound if the share is of a document.
func (a *App) SharedProject(ctx context.Context, s sheaf.Shared, p sheaf.Paging) (SharedProject, error) {
	id := sheaf.ProjectID(s.ResourceID)
	out, err := readShown(ctx, a, s, func(r *store.Reader) (out SharedProject, err error) {
		if s.ResourceType != sheaf.ShareOfProject {
			return out, errNotShared
		}
		if out.Project, err = r.Project(s.Workspace, id); err != nil {
			return out, err
		}
		if out.Branding, err = brandingOf(r, s); err != nil {
			return out, err
		}
		if out.DocumentCount > sheaf.MaxTree {
			out.Documents, err = r.Documents(s.Workspace, sheaf.DocumentFilter{Project: sheaf.Some(id), Paging: p})
			return out, err
		}
		if out.Tree, err = r.DocumentTree(s.Workspace, id); err != nil {
			return out, err
		}
		out.Documents = sheaf.Page[sheaf.Document]{Total: int64(len(out.Tree)), Paging: p}
		var ids []sheaf.DocumentID
		for _, e := range out.Tree[min(p.Offset, len(out.Tree)):min(p.Offset+p.Limit, len(out.Tree))] {
			ids = append(ids, e.ID)
		}
		out.Documents.Items, err = r.DocumentsByID(s.Workspace, ids)
		return out, err
	})
	return out, notShared(err)
}

// SharedDocument is a document that a share shows, with its text. For a share of a project it also
// has the project and its documents in reading order.
type SharedDocument struct {
	sheaf.DocumentText
	Project *sheaf.Project
	// Tree has all documents of the project. If there are more than sheaf.MaxTree, it has only the
	// documents above this one, and this one.
	Tree     []sheaf.TreeEntry
	Branding *sheaf.Branding // nil: none
}

// SharedDocument returns a document that the share shows, or NotFound.
func (a *App) SharedDocument(ctx context.Context, s sheaf.Shared, id sheaf.DocumentID) (SharedDocument, error) {
	out, err := readShown(ctx, a, s, func(r *store.Reader) (out SharedDocument, err error) {
		if out.DocumentText, err = r.DocumentText(s.Workspace, id); err != nil {
			return out, err
		}
		if !shows(s.Share, out.Document) {
			return SharedDocument{}, errNotShared
		}
		if out.Branding, err = brandingOf(r, s); err != nil {
			return out, err
		}
		if s.ResourceType == sheaf.ShareOfProject {
			err = out.place(r, s.Workspace)
		}
		return out, err
	})
	return out, notShared(err)
}

// place sets the project and its tree.
func (d *SharedDocument) place(r *store.Reader, ws sheaf.WorkspaceID) error {
	p, err := r.Project(ws, *d.ProjectID)
	if err != nil {
		return err
	}
	d.Project = &p
	if p.DocumentCount <= sheaf.MaxTree {
		d.Tree, err = r.DocumentTree(ws, p.ID)
		return err
	}
	path, err := pathOf(r, ws, d.ID)
	for i, above := range path {
		d.Tree = append(d.Tree, sheaf.TreeEntry{ID: above.ID, Title: above.Title, Depth: i + 1})
	}
	return err
}

// shows reports whether a share shows a document that is not deleted.
func shows(s sheaf.Share, d sheaf.Document) bool {
	if s.ResourceType == sheaf.ShareOfProject {
		return d.ProjectID != nil && string(*d.ProjectID) == s.ResourceID
	}
	return string(d.ID) == s.ResourceID
}

// SharedDocuments returns which of these documents the share shows.
func (a *App) SharedDocuments(ctx context.Context, s sheaf.Shared, ids []sheaf.DocumentID) (map[sheaf.DocumentID]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if s.ResourceType != sheaf.ShareOfProject {
		return map[sheaf.DocumentID]bool{sheaf.DocumentID(s.ResourceID): true}, nil
	}
	return readShown(ctx, a, s, func(r *store.Reader) (map[sheaf.DocumentID]bool, error) {
		return r.DocumentsIn(s.Workspace, sheaf.ProjectID(s.ResourceID), ids)
	})
}

// SearchShared returns a page of the documents of a shared project that contain every word of the
// text. It returns NotFound for a share of a document, and Invalid for bad words.
func (a *App) SearchShared(ctx context.Context, s sheaf.Shared, text string, p sheaf.Paging) (page sheaf.Page[sheaf.Hit], err error) {
	if s.ResourceType != sheaf.ShareOfProject {
		return page, errNotShared
	}
	project := sheaf.ProjectID(s.ResourceID)
	may := search.Scope{Types: []sheaf.SearchType{sheaf.SearchDocument}}
	q := sheaf.SearchQuery{Text: text, Types: may.Types, Project: &project, Paging: p}
	err = a.index.View(ctx, s.Workspace, q, func(ctx context.Context, v *search.View) (err error) {
		page, err = readShown(ctx, a, s, func(r *store.Reader) (sheaf.Page[sheaf.Hit], error) { return v.Find(r, may) })
		return err
	})
	return page, notShared(err)
}

// ShareViews is the number of views of a share.
type ShareViews = store.ShareViews

// CountViews adds to the views of shares. The edge collects them, so that no page waits for it.
func (a *App) CountViews(ctx context.Context, views []ShareViews) error {
	return a.writeUnasked(ctx, func(tx *store.Tx) error { return tx.AddViews(views) })
}
