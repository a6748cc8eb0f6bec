package app

import (
	"context"
	"fmt"
	"math"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Projects returns a page of the caller's projects.
func (a *App) Projects(ctx context.Context, c Caller, f sheaf.ProjectFilter) (sheaf.Page[sheaf.Project], error) {
	return read(ctx, a, c, scope(sheaf.ProjectsRead), func(r *store.Reader) (sheaf.Page[sheaf.Project], error) {
		if f.MustExist {
			if err := placeExists(r, c.Workspace, nil, f.Folder.Pointer()); err != nil {
				return sheaf.Page[sheaf.Project]{}, err
			}
		}
		return r.Projects(c.Workspace, f)
	})
}

// placeExists returns NotFound unless the project and the folder exist. nil is not checked.
func placeExists(r *store.Reader, ws sheaf.WorkspaceID, project *sheaf.ProjectID, folder *sheaf.FolderID) error {
	if project != nil {
		if _, err := r.Project(ws, *project); err != nil {
			return err
		}
	}
	if folder != nil {
		if _, err := r.Folder(ws, *folder); err != nil {
			return err
		}
	}
	return nil
}

// Project returns one project with its newest documents, or NotFound.
func (a *App) Project(ctx context.Context, c Caller, id sheaf.ProjectID) (sheaf.ProjectDetail, error) {
	return read(ctx, a, c, scope(sheaf.ProjectsRead), func(r *store.Reader) (d sheaf.ProjectDetail, err error) {
		if d.Project, err = r.Project(c.Workspace, id); err != nil {
			return d, err
		}
		d.Documents, err = r.NewestDocuments(c.Workspace, id, int(min(d.DocumentCount, sheaf.MaxEmbedded)))
		return d, err
	})
}

// ProjectNames returns the names of the projects that exist.
func (a *App) ProjectNames(ctx context.Context, c Caller, ids []sheaf.ProjectID) (map[sheaf.ProjectID]string, error) {
	return read(ctx, a, c, scope(sheaf.ProjectsRead), func(r *store.Reader) (map[sheaf.ProjectID]string, error) {
		out := map[sheaf.ProjectID]string{}
		for _, id := range ids {
			p, err := r.Project(c.Workspace, id)
			if err == nil {
				out[id] = p.Name
			} else if sheaf.KindOf(err) != sheaf.NotFound {
				return nil, err
			}
		}
		return out, nil
	})
}

// CreateProject adds a project. Its folder must exist (NotFound) and hold projects (Invalid). Its
// external id must be free (CONFLICT), and the plan must have room for it (QUOTA_REACHED).
func (a *App) CreateProject(ctx context.Context, c Caller, in sheaf.ProjectChange) (sheaf.Project, error) {
	return write(ctx, a, c, scope(sheaf.ProjectsWrite), checkNewProject(in), func(w *work) (sheaf.Project, error) {
		return w.createProject(in)
	})
}

func (w *work) createProject(in sheaf.ProjectChange) (sheaf.Project, error) {
	p := in.Apply(sheaf.Project{Visibility: sheaf.Private})
	if err := firstMissing(w.mayHoldProjects(p.FolderID), checkNewProject(in)); err != nil {
		return p, err
	}
	if p.FolderID == nil {
		if err := w.outside("project", "folder_id"); err != nil {
			return p, err
		}
	}
	if err := w.projectIsOnly(p); err != nil {
		return p, err
	}
	if err := w.checkRecords(); err != nil {
		return p, err
	}
	if err := w.setReview(sheaf.Project{}, p); err != nil {
		return p, err
	}
	p.ID, p.Number, p.Revision = sheaf.ProjectID(w.app.newID()), w.nextNumber(), 1
	p.CreatedAt = w.createdAt()
	p.UpdatedAt = p.CreatedAt
	w.ws.Projects++
	w.emit(sheaf.ProjectCreated, string(p.ID), &p)
	return p, w.InsertProject(w.ws.ID, p)
}

func checkNewProject(in sheaf.ProjectChange) error {
	if !in.Name.Set {
		return sheaf.InvalidField("name", "name is required: give it 1 to %d characters", sheaf.MaxName)
	}
	return in.Check()
}

// projectIsOnly returns CONFLICT if another project has the external id of p.
func (w *work) projectIsOnly(p sheaf.Project) error {
	if p.ExternalID == nil {
		return nil
	}
	holder, found, err := w.Unrestricted().ProjectWith(w.ws.ID, *p.ExternalID)
	if err == nil && found && holder.ID != p.ID {
		_, unseen := w.Project(w.ws.ID, holder.ID)
		err = externalIDTaken("project", *p.ExternalID, string(holder.ID), unseen)
	}
	return err
}

// PutProject upserts the project with that external id. If it exists, it is changed as by
// UpdateProject; if not, it is created as by CreateProject. With a match, none is created
// (NotFound).
func (a *App) PutProject(ctx context.Context, c Caller, externalID string, in sheaf.ProjectChange, match sheaf.Match) (Put[sheaf.Project], error) {
	fault := firstError(checkPut(externalID, &in.ExternalID), in.Check())
	return write(ctx, a, c, scope(sheaf.ProjectsWrite), fault, func(w *work) (out Put[sheaf.Project], err error) {
		before, found, err := w.ProjectWith(w.ws.ID, externalID)
		switch {
		case err != nil:
		case found:
			out.Record, err = w.changeProject(before, in, match)
		case match.Asked:
			err = nothingToMatch("project", externalID)
		default:
			out.Created = true
			out.Record, err = w.createProject(in)
		}
		return out, err
	})
}

// mayHoldProjects returns an error unless id is nil, the root level, or a folder that exists and
// holds projects.
func (w *work) mayHoldProjects(id *sheaf.FolderID) error {
	if id == nil {
		return nil
	}
	f, err := w.Folder(w.ws.ID, *id)
	if err != nil {
		return err
	}
	return holdsProjects(f)
}

func holdsProjects(f sheaf.Folder) error {
	if f.EntityType != sheaf.ProjectFolder {
		return sheaf.InvalidField("folder_id", "folder_id names a %s folder: choose a folder whose entity_type is project", f.EntityType).
			ForPerson(fmt.Sprintf("That folder is for %ss: choose one for projects.", f.EntityType))
	}
	return nil
}

// UpdateProject changes the fields that were sent. If nothing changes, nothing is written.
func (a *App) UpdateProject(ctx context.Context, c Caller, id sheaf.ProjectID, in sheaf.ProjectChange, match sheaf.Match) (sheaf.Project, error) {
	return write(ctx, a, c, scope(sheaf.ProjectsWrite), checkProjectChange(in), func(w *work) (sheaf.Project, error) {
		return w.updateProject(id, in, match)
	})
}

// checkProjectChange returns the error of a change of a project that does not depend on what is
// stored.
func checkProjectChange(in sheaf.ProjectChange) error {
	return checkChange(in.Empty(), "name, description, icon, color, folder_id, sort_order, visibility, external_id, url, metadata", in.Check())
}

// updateProject changes the fields that were sent, or returns NotFound.
func (w *work) updateProject(id sheaf.ProjectID, in sheaf.ProjectChange, match sheaf.Match) (sheaf.Project, error) {
	before, err := w.Project(w.ws.ID, id)
	if err != nil {
		return before, err
	}
	return w.changeProject(before, in, match)
}

// MoveProject moves the project into a folder, or with nil to the root level.
func (a *App) MoveProject(ctx context.Context, c Caller, id sheaf.ProjectID, folder *sheaf.FolderID, match sheaf.Match) (sheaf.Project, error) {
	in := sheaf.ProjectChange{FolderID: sheaf.Nil[sheaf.FolderID]()}
	if folder != nil {
		in.FolderID = sheaf.Some(*folder)
	}
	return write(ctx, a, c, scope(sheaf.ProjectsWrite), nil, func(w *work) (sheaf.Project, error) {
		return w.updateProject(id, in, match)
	})
}

// changeProject writes the change and emits its event, unless it changes nothing.
func (w *work) changeProject(before sheaf.Project, in sheaf.ProjectChange, match sheaf.Match) (sheaf.Project, error) {
	p := in.Apply(before)
	if err := firstMissing(w.mayHoldProjects(in.FolderID.Pointer()), match.Check(before.Revision)); err != nil {
		return p, err
	}
	if sheaf.SameFields(&before, &p) {
		return before, nil
	}
	if err := w.mayFile(before, p); err != nil {
		return before, err
	}
	if err := p.Metadata.Check(); err != nil {
		return before, err
	}
	if err := w.mayShowProject(before, p); err != nil {
		return before, err
	}
	if err := w.projectIsOnly(p); err != nil {
		return before, err
	}
	if err := w.setReview(before, p); err != nil {
		return before, err
	}
	p.Revision++
	p.UpdatedAt = w.updatedAt(before.UpdatedAt)
	w.emit(sheaf.ProjectUpdated, string(p.ID), &sheaf.Updated{Before: &before, After: &p})
	return p, w.UpdateProject(w.ws.ID, before, p)
}

// DeleteProject permanently deletes the project, with its shares and releases. Its documents stay, in no
// project. If there are more than 2,000 of both, they go first, in chunks, and the project goes
// with the last chunk.
func (a *App) DeleteProject(ctx context.Context, c Caller, id sheaf.ProjectID, match sheaf.Match) error {
	err := a.cascade(ctx, c, scope(sheaf.ProjectsWrite), func(w *work, at stage) (progress, error) {
		p, err := w.Project(w.ws.ID, id)
		if err != nil {
			return nothing, err
		}
		if err := at.match(match, p.Revision); err != nil {
			return nothing, err
		}
		if err := mayRemoveProject(&w.Reader, w.caller, p); err != nil {
			return nothing, err
		}
		n, err := w.sizeOfProject(id)
		if err != nil {
			return nothing, err
		}
		most := w.portion(at, n)
		switch {
		case most == 0:
			return nothing, nil
		case n > most:
			return part, w.emptyProject(p, most)
		}
		return all, w.removeProject(p)
	})
	if err == nil {
		a.beginEmptying(ctx, c.Workspace)
	}
	return err
}

// sizeOfProject returns the number of documents and shares that change with the project's deletion.
// It counts each only as far as needed to decide how many transactions the deletion takes.
func (w *work) sizeOfProject(id sheaf.ProjectID) (int64, error) {
	n, err := w.CountLinked(w.ws.ID, id, w.app.cascades.Whole+1)
	if err != nil {
		return 0, err
	}
	shares, err := w.CountSharesOf(w.ws.ID, sheaf.ShareOfProject, string(id), w.app.cascades.Whole+1)
	return n + shares, err
}

// removeProject deletes the project with its shares, and moves its documents out of it.
func (w *work) removeProject(p sheaf.Project) error {
	if _, err := w.unshare(sheaf.ShareOfProject, string(p.ID), math.MaxInt64); err != nil {
		return err
	}
	if err := w.hideReleases(p.ID); err != nil {
		return err
	}
	w.emit(sheaf.ProjectDeleted, string(p.ID), &p)
	if _, err := w.unlinkDocuments(p.ID, math.MaxInt64); err != nil {
		return err
	}
	w.ws.Projects--
	w.reviewEnds(p)
	return w.DeleteProject(w.ws.ID, p)
}

// emptyProject deletes shares of the project and moves documents out of it, at most `most` of both.
func (w *work) emptyProject(p sheaf.Project, most int64) error {
	ended, err := w.unshare(sheaf.ShareOfProject, string(p.ID), most)
	if err != nil || ended == most {
		return err
	}
	shown, err := w.unlinkDocuments(p.ID, most-ended)
	if err != nil {
		return err
	}
	return w.CountDocuments(w.ws.ID, p.ID, -shown)
}

// unlinkDocuments moves at most `most` documents out of the project, including deleted ones. It
// returns how many of them were not deleted.
func (w *work) unlinkDocuments(id sheaf.ProjectID, most int64) (shown int64, err error) {
	defer w.unreviewed.removal()()
	_, err = w.pages(most, func(most int64) (int64, error) {
		documents, err := w.LinkedDocuments(w.ws.ID, id, most)
		if err != nil || len(documents) == 0 {
			return 0, err
		}
		var at time.Time // time of the change; zero if all are deleted
		for _, before := range documents {
			if before.Deleted != nil {
				continue
			}
			if at.IsZero() {
				at = w.updatedTogether()
			}
			shown++
			d := before
			d.ProjectID, d.UpdatedAt = nil, at
			w.emit(sheaf.DocumentUpdated, string(d.ID), &sheaf.Updated{Before: &before, After: &d})
		}
		return int64(len(documents)), w.UnlinkDocuments(w.ws.ID, id, at, documents[len(documents)-1])
	})
	return shown, err
}
