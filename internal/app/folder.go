package app

import (
	"context"
	"fmt"
	"math"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Folders returns a page of the caller's folders.
func (a *App) Folders(ctx context.Context, c Caller, f sheaf.FolderFilter) (sheaf.Page[sheaf.Folder], error) {
	return read(ctx, a, c, scope(sheaf.ProjectsRead), func(r *store.Reader) (sheaf.Page[sheaf.Folder], error) {
		return r.Folders(c.Workspace, f)
	})
}

// Folder returns one folder, or NotFound.
func (a *App) Folder(ctx context.Context, c Caller, id sheaf.FolderID) (sheaf.Folder, error) {
	return read(ctx, a, c, scope(sheaf.ProjectsRead), func(r *store.Reader) (sheaf.Folder, error) {
		return r.Folder(c.Workspace, id)
	})
}

// CreateFolder adds a folder. Its parent must exist (NotFound), have the same type and not be at
// the deepest level (Invalid). Its external id must be free (CONFLICT). The plan must include the
// type (PLAN_REQUIRED) and have room for the folder (QUOTA_REACHED).
func (a *App) CreateFolder(ctx context.Context, c Caller, in sheaf.FolderChange) (sheaf.Folder, error) {
	_, fault := checkNewFolder(in)
	return write(ctx, a, c, scope(sheaf.ProjectsWrite), fault, func(w *work) (sheaf.Folder, error) {
		return w.createFolder(in)
	})
}

func (w *work) createFolder(in sheaf.FolderChange) (f sheaf.Folder, err error) {
	entity, fault := checkNewFolder(in)
	f = in.Apply(sheaf.Folder{EntityType: entity, ParentID: in.ParentID.Pointer(), Color: sheaf.DefaultFolderColor})
	f.Depth, err = w.depthUnder(f.ParentID, entity)
	if err := firstMissing(err, fault); err != nil {
		return f, err
	}
	if err := w.mayPlaceFolder(sheaf.Folder{}, f); err != nil {
		return f, err
	}
	if err := w.folderIsOnly(f); err != nil {
		return f, err
	}
	if err := w.ws.Plan.AllowFolders(entity); err != nil {
		return f, err
	}
	if err := w.checkRecords(); err != nil {
		return f, err
	}
	f.ID, f.Number, f.Revision = sheaf.FolderID(w.app.newID()), w.nextNumber(), 1
	f.CreatedAt = w.createdAt()
	f.UpdatedAt = f.CreatedAt
	w.emit(sheaf.FolderCreated, string(f.ID), &f)
	return f, w.InsertFolder(w.ws.ID, f)
}

func checkNewFolder(in sheaf.FolderChange) (sheaf.EntityType, error) {
	if !in.Name.Set {
		return "", sheaf.InvalidField("name", "name is required: give it 1 to %d characters", sheaf.MaxName)
	}
	if !in.EntityType.Given() {
		return "", sheaf.InvalidField("entity_type", "entity_type is required: project or branding")
	}
	if err := in.Check(); err != nil {
		return "", err
	}
	return sheaf.ParseEntityType(in.EntityType.Value)
}

// depthUnder returns the level of a folder of type `entity` under `parent`.
func (w *work) depthUnder(parent *sheaf.FolderID, entity sheaf.EntityType) (int, error) {
	if parent == nil {
		return 1, nil
	}
	p, err := w.Folder(w.ws.ID, *parent)
	if err != nil {
		return 0, err
	}
	return depthIn(p, entity)
}

// depthIn returns the level of a folder of type `entity` in p.
func depthIn(p sheaf.Folder, entity sheaf.EntityType) (int, error) {
	if p.EntityType != entity {
		return 0, sheaf.InvalidField("parent_id", "parent_id names a %s folder: a %s folder can only be in one of its own entity_type", p.EntityType, entity).
			ForPerson(fmt.Sprintf("That folder is for %ss: choose one for %ss.", p.EntityType, entity))
	}
	return p.Depth + 1, checkDepth(p.Depth + 1)
}

func checkDepth(depth int) error {
	if depth > sheaf.MaxDepth {
		return sheaf.InvalidField("parent_id", "parent_id: folders nest at most %d levels: choose a parent nearer to the root", sheaf.MaxDepth).
			ForPerson(fmt.Sprintf("Folders nest at most %d levels deep: choose one nearer to the top level.", sheaf.MaxDepth))
	}
	return nil
}

// folderIsOnly returns CONFLICT if another folder has the external id of f.
func (w *work) folderIsOnly(f sheaf.Folder) error {
	if f.ExternalID == nil {
		return nil
	}
	holder, found, err := w.Unrestricted().FolderWith(w.ws.ID, *f.ExternalID)
	if err == nil && found && holder.ID != f.ID {
		_, unseen := w.Folder(w.ws.ID, holder.ID)
		err = externalIDTaken("folder", *f.ExternalID, string(holder.ID), unseen)
	}
	return err
}

// UpdateFolder changes the fields that were sent. If nothing changes, nothing is written.
func (a *App) UpdateFolder(ctx context.Context, c Caller, id sheaf.FolderID, in sheaf.FolderChange, match sheaf.Match) (sheaf.Folder, error) {
	return write(ctx, a, c, scope(sheaf.ProjectsWrite), checkFolderChange(in), func(w *work) (sheaf.Folder, error) {
		return w.updateFolder(id, in, match)
	})
}

// checkFolderChange returns the error of a change of a folder that does not depend on what is
// stored.
func checkFolderChange(in sheaf.FolderChange) error {
	return checkChange(in.Empty(), "name, color, sort_order, external_id", in.Check())
}

// updateFolder changes the fields that were sent, or returns NotFound.
func (w *work) updateFolder(id sheaf.FolderID, in sheaf.FolderChange, match sheaf.Match) (sheaf.Folder, error) {
	before, err := w.Folder(w.ws.ID, id)
	if err != nil {
		return before, err
	}
	in.ParentID, in.EntityType = sheaf.Opt[sheaf.FolderID]{}, sheaf.Opt[string]{} // only PUT changes these
	return w.replaceFolder(before, in, match)
}

// PutFolder upserts the folder with that external id. If it exists, it is changed as by
// UpdateFolder and MoveFolder; if not, it is created as by CreateFolder. With a match, none is
// created (NotFound). The type of a folder cannot be changed (Invalid).
func (a *App) PutFolder(ctx context.Context, c Caller, externalID string, in sheaf.FolderChange, match sheaf.Match) (Put[sheaf.Folder], error) {
	fault := firstError(checkPut(externalID, &in.ExternalID), in.Check(), checkEntityType(in.EntityType))
	return writeWhole(ctx, a, c, scope(sheaf.ProjectsWrite), fault, func(w *work, _ stage) (out Put[sheaf.Folder], err error) {
		before, found, err := w.FolderWith(w.ws.ID, externalID)
		switch {
		case err != nil:
		case found:
			out.Record, err = w.replaceFolder(before, in, match)
		case match.Asked:
			err = nothingToMatch("folder", externalID)
		default:
			out.Created = true
			out.Record, err = w.createFolder(in)
		}
		return out, err
	})
}

// checkEntityType returns an error unless the type is valid or was not sent.
func checkEntityType(in sheaf.Opt[string]) error {
	if !in.Set {
		return nil
	}
	_, err := sheaf.ParseEntityType(in.Value)
	return err
}

// replaceFolder changes the fields that were sent. If a parent was sent, it moves the folder with
// everything below it. This is one change, with one event.
func (w *work) replaceFolder(before sheaf.Folder, in sheaf.FolderChange, match sheaf.Match) (f sheaf.Folder, err error) {
	f = in.Apply(before)
	var tree store.TreeSize
	var nowhere error // the parent does not exist, or cannot be the parent
	if in.ParentID.Set {
		if tree, err = w.TreeSize(w.ws.ID, before.ID); err != nil {
			return before, err
		}
		f.ParentID = in.ParentID.Pointer()
		f.Depth, nowhere = w.depthOfMoved(before, tree, f.ParentID)
	}
	if err := firstMissing(nowhere, match.Check(before.Revision)); err != nil {
		return before, err
	}
	if in.EntityType.Set && in.EntityType.Value != string(before.EntityType) {
		return before, sheaf.InvalidField("entity_type", "entity_type of a folder cannot be changed: this one is of type %s; leave it out, or create another folder", before.EntityType)
	}
	if err := w.mayPlaceFolder(before, f); err != nil {
		return before, err
	}
	if err := w.folderIsOnly(f); err != nil {
		return before, err
	}
	if err := w.ws.Plan.AllowFolders(before.EntityType); err != nil {
		return before, err
	}
	return w.changeTree(before, f, tree)
}

// changeFolder writes f and emits its event, unless f equals `before`.
func (w *work) changeFolder(before, f sheaf.Folder) (sheaf.Folder, error) {
	if sheaf.SameFields(&before, &f) {
		return before, nil
	}
	f.Revision++
	f.UpdatedAt = w.updatedAt(before.UpdatedAt)
	w.emit(sheaf.FolderUpdated, string(f.ID), &sheaf.Updated{Before: &before, After: &f})
	return f, w.UpdateFolder(w.ws.ID, f)
}

// MoveFolder moves the folder, with everything below it, into `parent`, or with nil to the root
// level. A cycle, another type and a fourth level are Invalid.
func (a *App) MoveFolder(ctx context.Context, c Caller, id sheaf.FolderID, parent *sheaf.FolderID, match sheaf.Match) (sheaf.Folder, error) {
	return writeWhole(ctx, a, c, scope(sheaf.ProjectsWrite), nil, func(w *work, _ stage) (sheaf.Folder, error) {
		return w.moveFolder(id, parent, match)
	})
}

func (w *work) moveFolder(id sheaf.FolderID, parent *sheaf.FolderID, match sheaf.Match) (sheaf.Folder, error) {
	before, err := w.Folder(w.ws.ID, id)
	if err != nil {
		return before, err
	}
	tree, err := w.TreeSize(w.ws.ID, id)
	if err != nil {
		return before, err
	}
	depth, err := w.depthOfMoved(before, tree, parent)
	if err := firstMissing(err, match.Check(before.Revision)); err != nil {
		return before, err
	}
	if err := w.ws.Plan.AllowFolders(before.EntityType); err != nil {
		return before, err
	}
	moved := before
	moved.ParentID, moved.Depth = parent, depth
	if err := w.mayPlaceFolder(before, moved); err != nil {
		return before, err
	}
	return w.changeTree(before, moved, tree)
}

// depthOfMoved returns the depth of `top` under `parent`. It returns Invalid if the parent is in the
// tree of top, or if the deepest folder of the tree would be too deep.
func (w *work) depthOfMoved(top sheaf.Folder, tree store.TreeSize, parent *sheaf.FolderID) (int, error) {
	for above := parent; above != nil; {
		if *above == top.ID {
			return 0, sheaf.InvalidField("parent_id", "parent_id names the folder itself or one below it: choose a folder outside of it").
				ForPerson("A folder cannot be within itself: choose one outside of it.")
		}
		f, err := w.Folder(w.ws.ID, *above)
		if err != nil && sheaf.KindOf(err) != sheaf.NotFound { // which depthUnder returns
			return 0, err
		}
		above = f.ParentID
	}
	depth, err := w.depthUnder(parent, top.EntityType)
	if err != nil {
		return 0, err
	}
	return depth, checkDepth(depth + tree.Deepest - top.Depth)
}

// changeTree writes `top`, the new state of the folder `before`. The other folders of its tree only
// get another depth, which is derived and has no event. If they are too many for a light write,
// changeTree returns errHeavy.
func (w *work) changeTree(before, top sheaf.Folder, tree store.TreeSize) (sheaf.Folder, error) {
	if err := w.mayShowFolder(before, top); err != nil {
		return before, err
	}
	by := top.Depth - before.Depth
	if by != 0 && w.light && tree.Folders > lightRows {
		return top, errHeavy
	}
	top, err := w.changeFolder(before, top)
	if err != nil || by == 0 || tree.Folders == 1 {
		return top, err
	}
	return top, w.DeepenFolders(w.ws.ID, top.ID, by)
}

// DeleteFolder deletes the folder and all folders below it, with their shares. Their projects or
// brandings move to the root level; no document changes. If there are more than 2,000 of these and
// the shares, they go first, in chunks, and the folder goes with the last chunk.
func (a *App) DeleteFolder(ctx context.Context, c Caller, id sheaf.FolderID, match sheaf.Match) error {
	return a.cascade(ctx, c, scope(sheaf.ProjectsWrite), func(w *work, at stage) (progress, error) {
		top, err := w.Folder(w.ws.ID, id)
		if err != nil {
			return nothing, err
		}
		if err := at.match(match, top.Revision); err != nil {
			return nothing, err
		}
		if err := mayRemoveFolder(&w.Reader, w.caller, top); err != nil {
			return nothing, err
		}
		size, err := w.TreeSize(w.ws.ID, id)
		if err != nil {
			return nothing, err
		}
		shares, err := w.sharesBelow(top)
		if err != nil {
			return nothing, err
		}
		most := w.portion(at, max(size.Folders, size.Filed+shares))
		switch {
		case most == 0:
			return nothing, nil
		case size.Filed+shares > most:
			changed, err := w.emptyFolders(top, most)
			if err == nil && changed == 0 {
				err = fmt.Errorf("folder %s counts %d %ss below it that are not there: see what sheaf doctor says", id, size.Filed, top.EntityType)
			}
			return part, err
		}
		return w.removeFolders(id, most)
	})
}

// sharesBelow counts the shares of a folder and of all folders below it, as far as needed to decide
// how many transactions a deletion takes.
func (w *work) sharesBelow(top sheaf.Folder) (int64, error) {
	if w.ws.Shares == 0 {
		return 0, nil
	}
	return w.CountSharesBelow(w.ws.ID, top.ID, w.app.cascades.Whole+1)
}

// emptyFolders deletes shares of the folders in the tree, and then moves projects or brandings in
// them to the root level, at most `most` of both. It returns their number.
func (w *work) emptyFolders(top sheaf.Folder, most int64) (changed int64, err error) {
	shared, err := w.sharedFolders(top, most)
	if err != nil {
		return 0, err
	}
	for _, f := range shared {
		n, err := w.unshare(sheaf.ShareOfFolder, string(f), most-changed)
		if changed += n; err != nil || changed == most {
			return changed, err
		}
	}
	filed, err := w.FiledFolders(w.ws.ID, top.ID, most)
	if err != nil {
		return changed, err
	}
	for _, f := range filed {
		n, err := w.emptyFolder(f, top.EntityType, most-changed)
		if changed += n; err != nil || changed == most {
			return changed, err
		}
	}
	return changed, nil
}

// sharedFolders returns at most `most` folders of the tree that have shares.
func (w *work) sharedFolders(top sheaf.Folder, most int64) ([]sheaf.FolderID, error) {
	if w.ws.Shares == 0 {
		return nil, nil
	}
	return w.SharedFolders(w.ws.ID, top.ID, most)
}

// emptyFolder moves at most `most` projects or brandings directly in the folder to the root level,
// and returns their number.
func (w *work) emptyFolder(id sheaf.FolderID, entity sheaf.EntityType, most int64) (int64, error) {
	unfile, count := w.unfileProjects, w.CountProjects
	if entity == sheaf.BrandingFolder {
		unfile, count = w.unfileBrandings, w.CountBrandings
	}
	n, err := unfile(id, most)
	if err == nil {
		err = count(w.ws.ID, id, -n)
	}
	return n, err
}

// unfileProjects moves at most `most` of the projects directly in the folder to the root level, and
// returns their number.
func (w *work) unfileProjects(folder sheaf.FolderID, most int64) (int64, error) {
	return w.pages(most, func(most int64) (int64, error) {
		projects, err := w.FiledProjects(w.ws.ID, folder, most)
		if err != nil || len(projects) == 0 {
			return 0, err
		}
		at := w.updatedTogether()
		for _, before := range projects {
			p := before
			p.FolderID, p.UpdatedAt = nil, at
			w.emit(sheaf.ProjectUpdated, string(p.ID), &sheaf.Updated{Before: &before, After: &p})
		}
		return int64(len(projects)), w.UnfileProjects(w.ws.ID, folder, at, projects[len(projects)-1])
	})
}

// removeFolders deletes folders of the tree, the top last, until about `most` records have changed:
// folders and the records in them.
func (w *work) removeFolders(top sheaf.FolderID, most int64) (progress, error) {
	for most > 0 {
		page, err := w.LowestFolders(w.ws.ID, top, min(cascadePage, most))
		if err != nil {
			return nothing, err
		}
		for _, f := range page {
			ended, err := w.removeFolder(f)
			if err != nil {
				return nothing, err
			}
			if f.ID == top {
				return all, nil
			}
			if most -= 1 + f.Filed() + ended; most <= 0 {
				break
			}
		}
	}
	return part, nil
}

// removeFolder deletes a folder without folders in it, with its shares. What is in it moves to the
// root level. It returns the number of shares.
func (w *work) removeFolder(f sheaf.Folder) (ended int64, err error) {
	if w.ws.Shares > 0 {
		if ended, err = w.unshare(sheaf.ShareOfFolder, string(f.ID), math.MaxInt64); err != nil {
			return ended, err
		}
	}
	if f.Filed() > 0 {
		if _, err := w.emptyFolder(f.ID, f.EntityType, math.MaxInt64); err != nil {
			return ended, err
		}
	}
	w.emit(sheaf.FolderDeleted, string(f.ID), &f)
	if err := w.flush(); err != nil {
		return ended, err
	}
	return ended, w.DeleteFolder(w.ws.ID, f.ID)
}
