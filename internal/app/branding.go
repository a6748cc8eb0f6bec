package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Brandings have no events in the contract. A change still raises the workspace's version
// (w.changes), so that no cache answers with the previous state.

// Brandings returns a page of the caller's brandings.
func (a *App) Brandings(ctx context.Context, c Caller, f sheaf.BrandingFilter) (sheaf.Page[sheaf.Branding], error) {
	return read(ctx, a, c, scope(sheaf.BrandingsRead), func(r *store.Reader) (sheaf.Page[sheaf.Branding], error) {
		return r.Brandings(c.Workspace, f)
	})
}

// Branding returns one branding, or NotFound.
func (a *App) Branding(ctx context.Context, c Caller, id sheaf.BrandingID) (sheaf.Branding, error) {
	return read(ctx, a, c, scope(sheaf.BrandingsRead), func(r *store.Reader) (sheaf.Branding, error) {
		return r.Branding(c.Workspace, id)
	})
}

// CreateBranding adds a branding. Its folder must exist (NotFound) and hold brandings (Invalid).
// Its logo must be a medium of the workspace (NotFound) and a raster picture (Invalid). The plan
// must include brandings (PLAN_REQUIRED) and have room for one more (QUOTA_REACHED).
func (a *App) CreateBranding(ctx context.Context, c Caller, in sheaf.BrandingChange) (sheaf.Branding, error) {
	return write(ctx, a, c, changesBranding(in), checkNewBranding(in), func(w *work) (sheaf.Branding, error) {
		b := in.Apply(sheaf.NewBranding())
		if err := w.checkBrandingRefers(in); err != nil {
			return b, err
		}
		if err := w.ws.Plan.AllowBrandings(); err != nil {
			return b, err
		}
		if err := w.checkRecords(); err != nil {
			return b, err
		}
		b.ID, b.Number, b.Revision = sheaf.BrandingID(w.app.newID()), w.nextNumber(), 1
		b.CreatedAt = w.createdAt()
		b.UpdatedAt = b.CreatedAt
		w.ws.Brandings++
		w.changes()
		return b, w.InsertBranding(w.ws.ID, b)
	})
}

func checkNewBranding(in sheaf.BrandingChange) error {
	if !in.Name.Set {
		return sheaf.InvalidField("name", "name is required: give it 1 to %d characters", sheaf.MaxName)
	}
	return in.Check()
}

// checkBrandingRefers returns an error unless the folder and the logo that were sent exist and may
// be used. NotFound takes precedence over Invalid.
func (w *work) checkBrandingRefers(in sheaf.BrandingChange) error {
	folder, logo := w.mayHoldBrandings(in.FolderID.Pointer()), w.mayBeLogo(in.LogoMediaID.Pointer())
	if sheaf.KindOf(logo) == sheaf.NotFound {
		return firstMissing(logo, folder)
	}
	return firstMissing(folder, logo)
}

// mayHoldBrandings returns an error unless id is nil, the root level, or a folder that exists and
// holds brandings.
func (w *work) mayHoldBrandings(id *sheaf.FolderID) error {
	if id == nil {
		return nil
	}
	f, err := w.Folder(w.ws.ID, *id)
	if err != nil {
		return err
	}
	return holdsBrandings(f)
}

func holdsBrandings(f sheaf.Folder) error {
	if f.EntityType != sheaf.BrandingFolder {
		return sheaf.InvalidField("folder_id", "folder_id names a %s folder: choose a folder whose entity_type is branding", f.EntityType)
	}
	return nil
}

// mayBeLogo returns an error unless id is nil, or a medium of the workspace that is a raster
// picture.
func (w *work) mayBeLogo(id *sheaf.MediumID) error {
	if id == nil {
		return nil
	}
	m, err := w.Medium(w.ws.ID, *id)
	if err != nil {
		return err
	}
	return sheaf.CheckLogo(m)
}

// changesBranding returns what writing a branding requires. A logo is shown to every reader of a
// share, so a caller who names one must be allowed to read media.
func changesBranding(in sheaf.BrandingChange) need {
	if in.LogoMediaID.Given() {
		return scope(sheaf.BrandingsWrite, sheaf.MediaRead)
	}
	return scope(sheaf.BrandingsWrite)
}

// dropLogo clears the logo `id`, which is being deleted, in at most `most` brandings, and returns
// their number.
func (w *work) dropLogo(id sheaf.MediumID, most int64) (int64, error) {
	return w.pages(most, func(most int64) (int64, error) {
		brandings, err := w.BrandingsWithLogo(w.ws.ID, id, most)
		if err != nil || len(brandings) == 0 {
			return 0, err
		}
		return int64(len(brandings)), w.DropLogo(w.ws.ID, id, w.updatedTogether(), brandings[len(brandings)-1])
	})
}

// UpdateBranding changes the fields that were sent. If nothing changes, nothing is written.
func (a *App) UpdateBranding(ctx context.Context, c Caller, id sheaf.BrandingID, in sheaf.BrandingChange, match sheaf.Match) (sheaf.Branding, error) {
	fault := checkChange(in.Empty(), "name, folder_id, logo_media_id, color_primary, font, footer, sort_order", in.Check())
	return write(ctx, a, c, changesBranding(in), fault, func(w *work) (sheaf.Branding, error) {
		return w.changeBranding(id, in, match)
	})
}

// MoveBranding moves the branding into a folder, or with nil to the root level.
func (a *App) MoveBranding(ctx context.Context, c Caller, id sheaf.BrandingID, folder *sheaf.FolderID, match sheaf.Match) (sheaf.Branding, error) {
	in := sheaf.BrandingChange{FolderID: sheaf.Nil[sheaf.FolderID]()}
	if folder != nil {
		in.FolderID = sheaf.Some(*folder)
	}
	return write(ctx, a, c, scope(sheaf.BrandingsWrite), nil, func(w *work) (sheaf.Branding, error) {
		return w.changeBranding(id, in, match)
	})
}

// changeBranding writes the change, unless it changes nothing.
func (w *work) changeBranding(id sheaf.BrandingID, in sheaf.BrandingChange, match sheaf.Match) (sheaf.Branding, error) {
	before, err := w.Branding(w.ws.ID, id)
	if err != nil {
		return before, err
	}
	if err := firstMissing(w.checkBrandingRefers(in), match.Check(before.Revision)); err != nil {
		return before, err
	}
	if err := w.ws.Plan.AllowBrandings(); err != nil {
		return before, err
	}
	b := in.Apply(before)
	if sheaf.SameFields(&before, &b) {
		return before, nil
	}
	b.Revision++
	b.UpdatedAt = w.updatedAt(before.UpdatedAt)
	w.changes()
	return b, w.UpdateBranding(w.ws.ID, before, b)
}

// DeleteBranding permanently deletes the branding. Its shares lose it first, each with an event; if
// there are many, in chunks. If it is the workspace's default, the workspace has none afterwards.
func (a *App) DeleteBranding(ctx context.Context, c Caller, id sheaf.BrandingID, match sheaf.Match) error {
	return a.cascade(ctx, c, scope(sheaf.BrandingsWrite), func(w *work, at stage) (progress, error) {
		b, err := w.Branding(w.ws.ID, id)
		if err != nil {
			return nothing, err
		}
		if err := at.match(match, b.Revision); err != nil {
			return nothing, err
		}
		shares, err := w.CountSharesWith(w.ws.ID, id, a.cascades.Whole+1)
		if err != nil {
			return nothing, err
		}
		most := w.portion(at, shares)
		if most == 0 {
			return nothing, nil
		}
		if _, err := w.undress(id, most); err != nil || shares > most {
			return part, err
		}
		return all, w.removeBranding(b)
	})
}

// removeBranding deletes a branding that no share uses any more.
func (w *work) removeBranding(b sheaf.Branding) error {
	if w.ws.DefaultBranding == b.ID {
		if err := w.setDefaultBranding(nil); err != nil {
			return err
		}
	}
	w.ws.Brandings--
	w.changes()
	return w.DeleteBranding(w.ws.ID, b)
}

// DefaultBranding returns the branding of shares that name none, or nil if there is no default.
func (a *App) DefaultBranding(ctx context.Context, c Caller) (*sheaf.Branding, error) {
	return read(ctx, a, c, scope(sheaf.BrandingsRead), func(r *store.Reader) (*sheaf.Branding, error) {
		ws, err := r.Workspace(c.Workspace)
		if err != nil || ws.DefaultBranding == "" {
			return nil, err
		}
		b, err := r.Branding(c.Workspace, ws.DefaultBranding)
		return &b, err
	})
}

// SetDefaultBranding sets the branding of shares that name none; nil removes the default. The
// branding must exist (NotFound), and choosing one needs a plan with brandings (PLAN_REQUIRED). If
// `was` is given, it must be the present default.
func (a *App) SetDefaultBranding(ctx context.Context, c Caller, id *sheaf.BrandingID, was sheaf.Opt[sheaf.BrandingID]) error {
	return do(ctx, a, c, scope(sheaf.BrandingsWrite), nil, func(w *work) error {
		if err := seen(was, w.ws.DefaultBranding); err != nil {
			return err
		}
		if id != nil {
			if _, err := w.Branding(w.ws.ID, *id); err != nil {
				return err
			}
			if err := w.ws.Plan.AllowBrandings(); err != nil {
				return err
			}
		}
		return w.setDefaultBranding(id)
	})
}

// setDefaultBranding stores the default branding.
func (w *work) setDefaultBranding(id *sheaf.BrandingID) error {
	before := w.ws.DefaultBranding
	w.ws.DefaultBranding = ""
	if id != nil {
		w.ws.DefaultBranding = *id
	}
	w.changes()
	w.auditDefaultBranding(before)
	return w.SetDefaultBranding(w.ws.ID, id)
}

// unfileBrandings moves at most `most` of the brandings directly in the folder to the root level,
// and returns their number.
func (w *work) unfileBrandings(folder sheaf.FolderID, most int64) (int64, error) {
	return w.pages(most, func(most int64) (int64, error) {
		brandings, err := w.FiledBrandings(w.ws.ID, folder, most)
		if err != nil || len(brandings) == 0 {
			return 0, err
		}
		w.changes()
		return int64(len(brandings)), w.UnfileBrandings(w.ws.ID, folder, w.updatedTogether(), brandings[len(brandings)-1])
	})
}
