package app

import (
	"slices"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// A subscription's filter matches where the event's record is now, or was before the change. The
// places are read when the event is emitted, in the transaction of the change: a moment later the
// folder may be gone. If the workspace has neither a subscription with a filter nor a restriction,
// they are not read. They are read whole: the caller who makes a change need not see all folders above it.

// places caches the folders and projects that this transaction has read: a cascade asks for the
// same ones a thousand times.
type places struct {
	folders  map[sheaf.FolderID][]sheaf.FolderID // each with all folders above it
	projects map[sheaf.ProjectID]*sheaf.FolderID // the folder of each
}

// place sets the places of the newest event, whose record is payload. emit returns no error, so an
// error is kept in w.misplaced and fails the transaction at its end.
func (w *work) place(payload sheaf.Record) {
	if w.ws.Filters == 0 && w.ws.Restrictions == 0 || w.misplaced != nil {
		return
	}
	at := &sheaf.Places{}
	w.misplaced = w.addPlaces(at, payload)
	w.events[len(w.events)-1].Places = at
}

// addPlaces adds where a record is and, for a change, where it was.
func (w *work) addPlaces(at *sheaf.Places, payload sheaf.Record) error {
	if w.places.folders == nil {
		w.places = places{map[sheaf.FolderID][]sheaf.FolderID{}, map[sheaf.ProjectID]*sheaf.FolderID{}}
	}
	switch r := payload.(type) {
	case *sheaf.Updated:
		if was, is := r.Before.(*sheaf.Proposal); is { // the event shows what it named before too
			return w.addCommon(at, targetsOf(slices.Concat(was.Changes, r.After.(*sheaf.Proposal).Changes)))
		}
		w.forgetPlace(r.Before)
		if err := w.addPlaces(at, r.Before); err != nil {
			return err
		}
		return w.addPlaces(at, r.After)
	case *sheaf.Folder:
		at.Folders = append(at.Folders, r.ID)
		return w.addFolder(at, r.ParentID)
	case *sheaf.Project:
		at.Projects = append(at.Projects, r.ID)
		return w.addFolder(at, r.FolderID)
	case *sheaf.Document:
		return w.addProject(at, r.ProjectID)
	case *sheaf.Medium:
		return w.addDocument(at, r.DocumentID)
	case *sheaf.Commented:
		return w.addCommon(at, targetsOf(r.Changes))
	case *sheaf.Proposal:
		return w.addCommon(at, targetsOf(r.Changes))
	case *sheaf.Release:
		return w.addProject(at, &r.ProjectID)
	case *sheaf.Health:
		if to := r.Restriction; to != nil {
			at.Restriction = to.Number
		}
	case *sheaf.Share:
		switch r.ResourceType {
		case sheaf.ShareOfFolder:
			at.Resources = append(at.Resources, r.ResourceID)
			id := sheaf.FolderID(r.ResourceID)
			return w.addFolder(at, &id)
		case sheaf.ShareOfProject:
			at.Resources = append(at.Resources, r.ResourceID)
			id := sheaf.ProjectID(r.ResourceID)
			return w.addProject(at, &id)
		}
		id := sheaf.DocumentID(r.ResourceID)
		return w.addDocument(at, &id)
	}
	return nil
}

// forgetPlace drops cache entries that a change makes wrong: the folder of a project, and the
// folders above those below a moved folder.
func (w *work) forgetPlace(before sheaf.Record) {
	switch r := before.(type) {
	case *sheaf.Folder:
		clear(w.places.folders)
	case *sheaf.Project:
		delete(w.places.projects, r.ID)
	}
}

// addFolder adds a folder and all folders above it.
func (w *work) addFolder(at *sheaf.Places, id *sheaf.FolderID) error {
	if id == nil {
		return nil
	}
	path, known := w.places.folders[*id]
	if !known {
		for up := id; up != nil; {
			path = append(path, *up)
			f, err := w.Unrestricted().Folder(w.ws.ID, *up)
			if sheaf.KindOf(err) == sheaf.NotFound {
				break
			}
			if err != nil {
				return err
			}
			up = f.ParentID
		}
		w.places.folders[*id] = path
	}
	at.Folders = append(at.Folders, path...)
	return nil
}

// addProject adds a project and the folders that contain it.
func (w *work) addProject(at *sheaf.Places, id *sheaf.ProjectID) error {
	if id == nil {
		return nil
	}
	at.Projects = append(at.Projects, *id)
	folder, known := w.places.projects[*id]
	if !known {
		p, err := w.Unrestricted().Project(w.ws.ID, *id)
		if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
			return err
		}
		folder = p.FolderID
		w.places.projects[*id] = folder
	}
	return w.addFolder(at, folder)
}

// addDocument adds the document, possibly a deleted one, of the event's share or medium.
func (w *work) addDocument(at *sheaf.Places, id *sheaf.DocumentID) error {
	if id == nil {
		return nil
	}
	at.Resources = append(at.Resources, string(*id))
	d, err := w.Unrestricted().AnyDocument(w.ws.ID, *id)
	if err != nil {
		if sheaf.KindOf(err) == sheaf.NotFound {
			return nil
		}
		return err
	}
	return w.addProject(at, d.ProjectID)
}

// addCommon adds the projects and folders that contain everything that a proposal names. Then the
// event is in the log of a restriction only if its holders see the whole proposal.
func (w *work) addCommon(at *sheaf.Places, t store.Targets) error {
	for _, id := range t.Documents {
		at.Resources = append(at.Resources, string(id))
	}
	if t.Unfiled {
		return nil
	}
	var common *sheaf.Places
	meet := func(one sheaf.Places) {
		if common == nil {
			common = &one
			return
		}
		common.Projects = slices.DeleteFunc(common.Projects, func(id sheaf.ProjectID) bool { return !slices.Contains(one.Projects, id) })
		common.Folders = slices.DeleteFunc(common.Folders, func(id sheaf.FolderID) bool { return !slices.Contains(one.Folders, id) })
	}
	for i := range t.Projects {
		var one sheaf.Places
		if err := w.addProject(&one, &t.Projects[i]); err != nil {
			return err
		}
		meet(one)
	}
	for i := range t.Documents {
		var one sheaf.Places
		if err := w.addDocument(&one, &t.Documents[i]); err != nil {
			return err
		}
		meet(one)
	}
	if common != nil {
		at.Projects, at.Folders = append(at.Projects, common.Projects...), append(at.Folders, common.Folders...)
	}
	return nil
}

// filterExists returns NotFound if the filter names a record that the workspace does not have.
// Records that the filter named before may be gone.
func (w *work) filterExists(before, f *sheaf.Filter) error {
	if f == nil {
		return nil
	}
	had := map[string]bool{}
	if before != nil {
		for _, id := range before.Projects {
			had["p"+string(id)] = true
		}
		for _, id := range before.Folders {
			had["f"+string(id)] = true
		}
		for _, id := range before.Resources {
			had["r"+id] = true
		}
	}
	for _, id := range f.Projects {
		if !had["p"+string(id)] {
			if _, err := w.Project(w.ws.ID, id); err != nil {
				return err
			}
		}
	}
	for _, id := range f.Folders {
		if !had["f"+string(id)] {
			if _, err := w.Folder(w.ws.ID, id); err != nil {
				return err
			}
		}
	}
	for _, id := range f.Resources {
		if !had["r"+id] {
			if err := w.resourceExists(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// resourceExists returns NotFound unless a record of a kind that has events has the identifier.
func (w *work) resourceExists(id string) error {
	for _, find := range []func() error{
		func() error { _, err := w.AnyDocument(w.ws.ID, sheaf.DocumentID(id)); return err },
		func() error { _, err := w.Project(w.ws.ID, sheaf.ProjectID(id)); return err },
		func() error { _, err := w.Folder(w.ws.ID, sheaf.FolderID(id)); return err },
		func() error { _, err := w.Medium(w.ws.ID, sheaf.MediumID(id)); return err },
		func() error { _, err := w.Share(w.ws.ID, sheaf.ShareID(id)); return err },
		func() error { _, err := w.Proposal(w.ws.ID, sheaf.ProposalID(id)); return err },
		func() error { _, err := w.Release(w.ws.ID, sheaf.ReleaseID(id)); return err },
		func() error { _, err := w.Subscription(w.ws.ID, sheaf.SubscriptionID(id)); return err },
	} {
		if err := find(); sheaf.KindOf(err) != sheaf.NotFound {
			return err
		}
	}
	return sheaf.Missing("resource")
}
