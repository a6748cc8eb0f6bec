package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Exported is one record of an export: a folder, a project, a document with its present version, a
// past version with its document, a proposal, one of its texts or comments, a medium, a release, one of its
// documents or media, its end, a branding, a share, or a subscription.
type Exported struct {
	Folder         *sheaf.Folder
	Project        *sheaf.Project
	Document       *sheaf.Document
	Version        *sheaf.VersionText
	VersionOf      sheaf.DocumentID // document of a past version
	Proposal       *sheaf.Proposal
	Text           *string          // a text of the proposal TextOf
	TextOf         sheaf.ProposalID // proposal of a text
	Comment        *sheaf.Comment
	Medium         *sheaf.Medium // its bytes are opened later, by ExportedBytes
	Release        *sheaf.Release
	Released       *sheaf.DocumentText // a document of the release ReleaseOf
	ReleasedText   bool                // it has its text. Otherwise an earlier document of a release has the same one
	ReleasedMedium *sheaf.Medium       // a medium of the release ReleaseOf
	ReleaseEnd     bool                // nothing more of the release ReleaseOf follows
	ReleaseOf      sheaf.ReleaseID
	Branding       *sheaf.Branding
	Default        bool // the branding is the workspace's default
	Share          *sheaf.Share
	Subscription   *sheaf.Subscription
}

// Export calls each for every record of a workspace, all as of one moment, in this order: folders,
// parents before their children; projects; documents that are not deleted, each followed by its
// past versions, newest first; proposals, each followed by its texts and comments; media; releases, each followed by
// its documents, its media and its end; brandings; shares, except those of deleted documents;
// subscriptions. It returns NotFound for an unknown workspace, and any error of each.
func (o Operator) Export(ctx context.Context, id sheaf.WorkspaceID, each func(Exported) error) error {
	err := o.app.store.ReadLong(ctx, func(r *store.Reader) error {
		ws, err := r.Workspace(id)
		if err == nil && ws.IsDeleted() {
			err = sheaf.Missing("workspace")
		}
		if err != nil {
			return err
		}
		return export(r, ws, each)
	})
	return forOperator(err, "workspace", string(id), "sheaf workspace list shows all workspaces")
}

// export calls each for every record of the workspace, in one snapshot.
func export(r *store.Reader, ws sheaf.Workspace, each func(Exported) error) error {
	id := ws.ID
	if err := r.EachFolder(id, func(f sheaf.Folder) error { return each(Exported{Folder: &f}) }); err != nil {
		return err
	}
	if err := r.EachProject(id, func(p sheaf.Project) error { return each(Exported{Project: &p}) }); err != nil {
		return err
	}
	if err := r.EachDocument(id, func(d sheaf.Document) error { return exportDocument(r, id, d, each) }); err != nil {
		return err
	}
	if err := r.EachProposal(id, func(p sheaf.Proposal) error { return exportProposal(r, id, p, each) }); err != nil {
		return err
	}
	if err := r.EachMedium(id, func(m sheaf.Medium) error { return each(Exported{Medium: &m}) }); err != nil {
		return err
	}
	if err := r.EachRelease(id, func(v sheaf.Release) error { return exportRelease(r, id, v, each) }); err != nil {
		return err
	}
	err := r.EachBranding(id, func(b sheaf.Branding) error { return each(Exported{Branding: &b, Default: b.ID == ws.DefaultBranding}) })
	if err != nil {
		return err
	}
	if err := r.EachShare(id, func(s sheaf.Share) error { return each(Exported{Share: &s}) }); err != nil {
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

// exportDocument calls each for a document and its past versions. It holds one text at a time.
func exportDocument(r *store.Reader, ws sheaf.WorkspaceID, d sheaf.Document, each func(Exported) error) error {
	present, err := r.Version(ws, d.ID, d.Version)
	if err != nil {
		return err
	}
	if err := each(Exported{Document: &d, Version: &present}); err != nil || d.Version == 1 {
		return err
	}
	return r.EachPastVersion(ws, d.ID, func(v sheaf.VersionText) error { return each(Exported{Version: &v, VersionOf: d.ID}) })
}
