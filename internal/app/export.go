package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Exported is one record of an export: one of the four is set.
type Exported struct {
	Folder       *sheaf.Folder
	Project      *sheaf.Project
	Document     *sheaf.Document
	Subscription *sheaf.Subscription
}

// Export calls each for every record of a workspace, as of one moment: folders, parents before
// their children, projects, documents without the deleted, and subscriptions. It returns NotFound
// for an unknown workspace, and what each returns.
func (o Operator) Export(ctx context.Context, id sheaf.WorkspaceID, each func(Exported) error) error {
	err := o.app.store.ReadLong(ctx, func(r *store.Reader) error {
		if _, err := r.Workspace(id); err != nil {
			return err
		}
		return export(r, id, each)
	})
	return forOperator(err, "workspace", string(id), "sheaf workspace list shows them all")
}

// export calls each for every record of the workspace, in one snapshot.
func export(r *store.Reader, id sheaf.WorkspaceID, each func(Exported) error) error {
	if err := r.EachFolder(id, func(f sheaf.Folder) error { return each(Exported{Folder: &f}) }); err != nil {
		return err
	}
	if err := r.EachProject(id, func(p sheaf.Project) error { return each(Exported{Project: &p}) }); err != nil {
		return err
	}
	if err := r.EachDocument(id, func(d sheaf.Document) error { return each(Exported{Document: &d}) }); err != nil {
		return err
	}
	all, err := r.EventSubscriptions(id)
	for i := range all {
		if err == nil {
			err = each(Exported{Subscription: &all[i]})
		}
	}
	return err
}
