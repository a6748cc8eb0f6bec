package app

import (
	"context"
	"fmt"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// shownBy returns the scopes to read everything that a share of this kind shows. A caller needs
// them to create or change one. Otherwise a key could read through a share what it may not read
// itself.
func shownBy(kind sheaf.Shareable) sheaf.Scopes {
	if kind == sheaf.ShareOfProject || kind == sheaf.ShareOfFolder {
		return sheaf.Scopes{sheaf.DocumentsRead, sheaf.MediaRead, sheaf.ProjectsRead}
	}
	return sheaf.Scopes{sheaf.DocumentsRead, sheaf.MediaRead}
}

// publishing requires the scope to write shares, and those to read what a share of this kind shows.
func publishing(kind sheaf.Shareable) need {
	return scope(append(sheaf.Scopes{sheaf.SharesWrite}, shownBy(kind)...)...)
}

// shown sets the URL of the share.
func (a *App) shown(s sheaf.Share) sheaf.Share {
	s.URL = a.address + sheaf.SharePath + s.Token
	return s
}

// Shares returns a page of the workspace's shares, oldest first.
func (a *App) Shares(ctx context.Context, c Caller, f sheaf.ShareFilter) (sheaf.Page[sheaf.Share], error) {
	page, err := read(ctx, a, c, scope(sheaf.SharesRead), func(r *store.Reader) (sheaf.Page[sheaf.Share], error) {
		return r.Shares(c.Workspace, f)
	})
	for i := range page.Items {
		page.Items[i] = a.shown(page.Items[i])
	}
	return page, err
}

// Share returns one share, or NotFound.
func (a *App) Share(ctx context.Context, c Caller, id sheaf.ShareID) (sheaf.Share, error) {
	s, err := read(ctx, a, c, scope(sheaf.SharesRead), func(r *store.Reader) (sheaf.Share, error) {
		return r.Share(c.Workspace, id)
	})
	return a.shown(s), err
}

// CreateShare creates an address at which everyone who has it can read a document, a project with
// its documents, or a folder with its projects. The shared record must exist (NotFound), and the
// caller must be allowed to read it. A folder must hold projects (Invalid). The plan must include shares (PLAN_REQUIRED), and limits their number
// (SHARE_LIMIT_REACHED).
func (a *App) CreateShare(ctx context.Context, c Caller, in sheaf.ShareChange) (sheaf.Share, error) {
	needs, fault := publishing(sheaf.Shareable(in.ResourceType.Value)), in.CheckNew()
	if err := firstError(needs(c), fault); err != nil {
		return sheaf.Share{}, err
	}
	hash, err := a.hashSharePassword(ctx, c, in.Password)
	if err != nil {
		return sheaf.Share{}, err
	}
	return write(ctx, a, c, needs, fault, func(w *work) (sheaf.Share, error) { return w.createShare(in, hash) })
}

func (w *work) createShare(in sheaf.ShareChange, passwordHash string) (sheaf.Share, error) {
	s := in.Apply(sheaf.Share{ResourceType: sheaf.Shareable(in.ResourceType.Value), ResourceID: in.ResourceID.Value, PasswordHash: passwordHash})
	if err := firstMissing(w.shareableExists(s), w.brandingExists(s.BrandingID)); err != nil {
		return s, err
	}
	if err := w.mayReadReleasesOf(s); err != nil {
		return s, err
	}
	if err := w.releaseExists(s); err != nil {
		return s, err
	}
	// Checked here and not before: if the request is repeated after the share expired, it still
	// gets its first answer.
	if s.Expired(w.now) {
		return s, errShareExpired
	}
	if err := oneMoreShare(w.ws); err != nil {
		return s, err
	}
	s.ID, s.Token, s.Number, s.Revision = sheaf.ShareID(w.app.newID()), sheaf.NewShareToken(w.app.random), w.nextNumber(), 1
	s.CreatedAt, s.UpdatedAt, s.MadeByKey = w.now, w.now, w.madeBy()
	s = w.app.shown(s)
	w.ws.Shares++
	w.emit(sheaf.ShareCreated, string(s.ID), &s)
	return s, w.InsertShare(w.ws.ID, s)
}

var errShareExpired = sheaf.InvalidField("expires_at", "expires_at is in the past: choose a later time, or leave it out")

// shareableExists returns NotFound unless the shared record exists. A folder that holds no projects
// is Invalid.
func (w *work) shareableExists(s sheaf.Share) (err error) {
	switch s.ResourceType {
	case sheaf.ShareOfFolder:
		var f sheaf.Folder
		if f, err = w.Folder(w.ws.ID, sheaf.FolderID(s.ResourceID)); err == nil {
			err = folderIsShareable(f)
		}
	case sheaf.ShareOfProject:
		_, err = w.Project(w.ws.ID, sheaf.ProjectID(s.ResourceID))
	default:
		_, err = w.Document(w.ws.ID, sheaf.DocumentID(s.ResourceID))
	}
	return err
}

// folderIsShareable returns Invalid unless the folder holds projects.
func folderIsShareable(f sheaf.Folder) error {
	if f.EntityType == sheaf.ProjectFolder {
		return nil
	}
	return sheaf.InvalidField("resource_id", "resource_id names a %s folder: only a folder whose entity_type is project can be shared", f.EntityType).
		ForPerson(fmt.Sprintf("That folder is for %ss: only a folder for projects can be shared.", f.EntityType))
}

// brandingExists returns NotFound if the workspace does not have the branding.
func (w *work) brandingExists(id *sheaf.BrandingID) error {
	if id == nil {
		return nil
	}
	_, err := w.Branding(w.ws.ID, *id)
	return err
}

// mayReadReleasesOf returns Forbidden if the share shows releases and the caller may not read them.
func (w *work) mayReadReleasesOf(s sheaf.Share) error {
	if s.Release == nil && !s.ShowReleases {
		return nil
	}
	return w.mayPublish(sheaf.ReleasesRead)
}

// releaseExists returns NotFound if the share shows a release that its project does not have.
func (w *work) releaseExists(s sheaf.Share) error {
	if s.Release == nil || *s.Release == sheaf.NewestRelease {
		return nil
	}
	r, err := w.Release(w.ws.ID, sheaf.ReleaseID(*s.Release))
	if err == nil && string(r.ProjectID) != s.ResourceID {
		err = sheaf.InvalidField("release", "release is a release of another project: choose one of project %s", s.ResourceID)
	}
	return err
}

// oneMoreShare returns PLAN_REQUIRED on a plan without shares, and SHARE_LIMIT_REACHED if the
// workspace has as many as its plan allows.
func oneMoreShare(ws sheaf.Workspace) error {
	if err := ws.Plan.AllowShares(); err != nil {
		return err
	}
	if most := ws.Plan.MaxShares(); ws.Shares >= int64(most) {
		return &sheaf.Error{Kind: sheaf.Forbidden, Code: sheaf.CodeShareLimit,
			Text: fmt.Sprintf("the %s plan allows %d shares: delete one, or upgrade the plan", ws.Plan, most)}
	}
	return nil
}

// UpdateShare changes the fields that were sent. If nothing changes, nothing is written; sending
// the present password changes nothing. The caller must be allowed to read what the share shows,
// and the plan must include shares (PLAN_REQUIRED).
func (a *App) UpdateShare(ctx context.Context, c Caller, id sheaf.ShareID, in sheaf.ShareChange, match sheaf.Match) (sheaf.Share, error) {
	needs := publishing(sheaf.ShareOfDocument)
	fault := checkChange(in.Empty(), "password, expires_at, branding_id, listed, release, show_releases", in.Check())
	if err := firstError(needs(c), fault); err != nil {
		return sheaf.Share{}, err
	}
	hash, err := a.newSharePassword(ctx, c, id, in.Password)
	if err != nil {
		return sheaf.Share{}, err
	}
	return write(ctx, a, c, needs, fault, func(w *work) (sheaf.Share, error) {
		before, err := w.Share(w.ws.ID, id)
		if err != nil {
			return before, err
		}
		if err := publishing(before.ResourceType)(w.caller); err != nil {
			return before, err
		}
		if err := in.CheckReleases(before.ResourceType); err != nil {
			return before, err
		}
		s := in.Apply(before)
		if err := w.mayReadReleasesOf(s); err != nil {
			return before, err
		}
		if in.Password.Set {
			s.PasswordHash = hash
		}
		return w.changeShare(w.app.shown(before), w.app.shown(s), match)
	})
}

// changeShare replaces `before` by s and emits its event, unless they are the same.
func (w *work) changeShare(before, s sheaf.Share, match sheaf.Match) (sheaf.Share, error) {
	if !sheaf.SameID(before.BrandingID, s.BrandingID) { // the caller need not see the one it has
		if err := w.brandingExists(s.BrandingID); err != nil {
			return before, err
		}
	}
	if !sheaf.SameID(before.Release, s.Release) {
		if err := w.releaseExists(s); err != nil {
			return before, err
		}
	}
	if err := match.Check(before.Revision); err != nil {
		return before, err
	}
	// A client may send back the time that it read.
	moved := s.ExpiresAt != nil && (before.ExpiresAt == nil || !s.ExpiresAt.Equal(*before.ExpiresAt))
	if moved && s.Expired(w.now) {
		return before, sheaf.InvalidField("expires_at", "expires_at is in the past: choose a later time, or delete the share")
	}
	if err := w.ws.Plan.AllowShares(); err != nil {
		return before, err
	}
	if sheaf.SameFields(&before, &s) && before.PasswordHash == s.PasswordHash {
		return before, nil
	}
	s.Revision++
	s.UpdatedAt = w.after(before.UpdatedAt)
	w.emit(sheaf.ShareUpdated, string(s.ID), &sheaf.Updated{Before: &before, After: &s})
	return s, w.UpdateShare(w.ws.ID, s)
}

// DeleteShare deletes a share. Its address is NotFound from then on.
func (a *App) DeleteShare(ctx context.Context, c Caller, id sheaf.ShareID, match sheaf.Match) error {
	c.deletes = true
	return do(ctx, a, c, scope(sheaf.SharesWrite), nil, func(w *work) error { return w.deleteShare(id, match) })
}

func (w *work) deleteShare(id sheaf.ShareID, match sheaf.Match) error {
	s, err := w.Share(w.ws.ID, id)
	if err != nil {
		return err
	}
	if err := match.Check(s.Revision); err != nil {
		return err
	}
	w.unshared(s)
	return w.DeleteShare(w.ws.ID, id)
}

// unshared counts a share as deleted and emits its event.
func (w *work) unshared(s sheaf.Share) {
	s = w.app.shown(s)
	w.ws.Shares--
	w.emit(sheaf.ShareDeleted, string(s.ID), &s)
}

// unshare deletes at most `most` shares of a document, project or folder that is being permanently
// deleted, each with its event. It returns their number.
func (w *work) unshare(kind sheaf.Shareable, id string, most int64) (int64, error) {
	return w.pages(most, func(most int64) (int64, error) {
		shares, err := w.SharesOf(w.ws.ID, kind, id, most)
		if err != nil || len(shares) == 0 {
			return 0, err
		}
		for _, s := range shares {
			w.unshared(s)
		}
		return int64(len(shares)), w.DeleteSharesOf(w.ws.ID, shares[len(shares)-1])
	})
}

// undress removes a branding that is being deleted from at most `most` of its shares, each with its
// event. It returns their number.
func (w *work) undress(id sheaf.BrandingID, most int64) (int64, error) {
	return w.pages(most, func(most int64) (int64, error) {
		shares, err := w.SharesWith(w.ws.ID, id, most)
		for _, before := range shares {
			s := before
			s.BrandingID, s.UpdatedAt = nil, w.after(before.UpdatedAt)
			s.Revision++
			before, s = w.app.shown(before), w.app.shown(s)
			w.emit(sheaf.ShareUpdated, string(s.ID), &sheaf.Updated{Before: &before, After: &s})
			if err := w.UpdateShare(w.ws.ID, s); err != nil {
				return 0, err
			}
		}
		return int64(len(shares)), err
	})
}
