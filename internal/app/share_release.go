package app

import (
	"context"
	"slices"
	"time"

	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// A share of a project may show a release instead of the documents as they are now. Then nothing in
// this file or in share_reader.go reads these documents: neither their texts nor their titles.

// shownRelease returns the release that the share shows; nil if it shows the documents as they are
// now. It returns errNotShared if the release does not exist, or if readers may not switch to it.
func shownRelease(r *store.Reader, s sheaf.Shared) (*sheaf.Release, error) {
	if s.ResourceType != sheaf.ShareOfProject {
		if s.Switched != "" {
			return nil, errNotShared
		}
		return nil, nil
	}
	project := sheaf.ProjectID(s.ResourceID)
	var release sheaf.Release
	var err error
	switch {
	case s.Switched != "" && !s.ShowReleases:
		return nil, errNotShared
	case s.Switched != "":
		release, err = r.Release(s.Workspace, s.Switched)
	case s.Release == nil:
		return nil, nil
	case *s.Release == sheaf.NewestRelease:
		release, err = r.NewestRelease(s.Workspace, project)
	default:
		release, err = r.Release(s.Workspace, sheaf.ReleaseID(*s.Release))
	}
	if err == nil && release.ProjectID != project {
		err = errNotShared
	}
	if err != nil {
		return nil, err
	}
	return &release, nil
}

// SharedReleases are what the pages of a share show about releases. The zero value is for a share that
// shows the documents as they are now and lets nobody switch.
type SharedReleases struct {
	Shown *sheaf.Release // nil: the documents as they are now
	// Offered are the releases to which readers may switch, the newest first. Present means that they
	// may also switch to the documents as they are now.
	Offered []sheaf.Release
	Present bool
	// Has contains the numbers of the releases that have the document of the page. InPresent means that
	// the project has the document now.
	Has       map[int64]bool
	InPresent bool
}

// SharedReleases returns what the page of a document in a share shows about releases, or NotFound if the
// share has nothing to show. The document may be empty.
func (a *App) SharedReleases(ctx context.Context, s sheaf.Shared, document sheaf.DocumentID) (SharedReleases, error) {
	out, err := readShown(ctx, a, s, func(r *store.Reader) (out SharedReleases, err error) {
		if out.Shown, err = shownRelease(r, s); err != nil || !s.ShowReleases || s.ResourceType != sheaf.ShareOfProject {
			return out, err
		}
		page, err := r.Releases(s.Workspace, sheaf.ProjectID(s.ResourceID), sheaf.ReleaseFilter{Paging: sheaf.Paging{Limit: sheaf.MaxReleases, Desc: true}})
		out.Offered, out.Present = page.Items, s.Release == nil
		if err != nil || document == "" {
			return out, err
		}
		if out.Has, err = r.ReleasesWith(s.Workspace, document); err != nil || !out.Present {
			return out, err
		}
		now, err := r.DocumentsIn(s.Workspace, sheaf.ProjectID(s.ResourceID), []sheaf.DocumentID{document})
		out.InPresent = now[document]
		return out, err
	})
	return out, notShared(err)
}

// readReleased reads the documents of a release, as read does for those of the project.
func (p *SharedProject) readReleased(r *store.Reader, ws sheaf.WorkspaceID, release sheaf.Release, paging sheaf.Paging) (err error) {
	p.DocumentCount = release.Documents
	if p.Tree, err = r.ReleaseTree(ws, release); err != nil {
		return err
	}
	p.Documents = sheaf.Page[sheaf.Document]{Total: int64(len(p.Tree)), Paging: paging}
	for _, e := range p.Tree[min(paging.Offset, len(p.Tree)):min(paging.Offset+paging.Limit, len(p.Tree))] {
		d, err := r.ReleasedDocument(ws, release, e.ID)
		if err != nil {
			return err
		}
		p.Documents.Items = append(p.Documents.Items, d)
	}
	return nil
}

// readReleased reads the document as the release has it, and its place.
func (d *SharedDocument) readReleased(r *store.Reader, ws sheaf.WorkspaceID, release sheaf.Release, id sheaf.DocumentID) (err error) {
	if d.DocumentText, err = r.ReleasedText(ws, release, id); err != nil {
		return err
	}
	p, err := r.Project(ws, release.ProjectID)
	if err != nil {
		return err
	}
	p.DocumentCount = release.Documents
	d.Project = &p
	d.Tree, err = r.ReleaseTree(ws, release)
	return err
}

// releasedOf returns those of the documents that the release has.
func releasedOf(r *store.Reader, ws sheaf.WorkspaceID, release sheaf.Release, ids []sheaf.DocumentID) (map[sheaf.DocumentID]bool, error) {
	has := map[sheaf.DocumentID]bool{}
	for _, id := range ids {
		_, err := r.ReleasedDocument(ws, release, id)
		switch {
		case err == nil:
			has[id] = true
		case sheaf.KindOf(err) != sheaf.NotFound:
			return nil, err
		}
	}
	return has, nil
}

const (
	// searchedBytes is how much of the titles, descriptions and texts of a release one search reads, and
	// searchedFor for how long. Of the remaining documents it searches only the titles.
	searchedBytes = 16 << 20
	searchedFor   = 2 * time.Second
	// searchedAtOnce is the number of documents whose texts are in memory at a time.
	searchedAtOnce = 20
)

// searchReleased searches the documents of a release. No index has them, so it reads their texts.
func (a *App) searchReleased(ctx context.Context, s sheaf.Shared, release sheaf.Release, q sheaf.SearchQuery) (out SharedHits, err error) {
	matcher, err := search.NewMatcher(q)
	if err != nil {
		return out, err
	}
	done, err := costlyTurn(ctx, a.searches, s.Workspace, "too many people are searching at this moment: try again in a few seconds")
	if err != nil {
		return out, err
	}
	defer done()
	return readShown(ctx, a, s, func(r *store.Reader) (out SharedHits, err error) {
		tree, err := r.ReleaseTree(s.Workspace, release)
		if err != nil {
			return out, err
		}
		var inTitle, inText []sheaf.TreeEntry
		room := int64(searchedBytes)
		timed, cancel := context.WithTimeout(ctx, searchedFor)
		defer cancel()
		for group := range slices.Chunk(tree, searchedAtOnce) {
			if err := ctx.Err(); err != nil {
				return out, sheaf.UnavailableError(err)
			}
			found := titlesOf(group)
			if out.Partly = out.Partly || room <= 0 || timed.Err() != nil; !out.Partly {
				if found, err = r.FindableReleased(s.Workspace, release, group); err != nil {
					return out, err
				}
			}
			for i := range found {
				f := &found[i]
				room -= int64(len(f.Title) + len(f.Description) + len(f.Content))
				switch title, ok := matcher.Match(f); {
				case title:
					inTitle = append(inTitle, group[i])
				case ok:
					inText = append(inText, group[i])
				}
			}
		}
		all := append(inTitle, inText...)
		shown := all[min(q.Offset, len(all)):min(q.Offset+q.Limit, len(all))]
		out.Page = sheaf.Page[sheaf.Hit]{Total: int64(len(all)), Paging: q.Paging}
		for group := range slices.Chunk(shown, searchedAtOnce) {
			found, err := r.FindableReleased(s.Workspace, release, group)
			if err != nil {
				return out, err
			}
			for i := range found {
				out.Page.Items = append(out.Page.Items, matcher.Hit(&found[i]))
			}
		}
		return out, nil
	})
}

// titlesOf returns documents as a search reads them, with their titles alone.
func titlesOf(entries []sheaf.TreeEntry) []store.Findable {
	out := make([]store.Findable, len(entries))
	for i, e := range entries {
		out[i] = store.Findable{Type: sheaf.SearchDocument, ID: string(e.ID), Title: e.Title, Parent: e.ParentID, UpdatedAt: e.UpdatedAt}
	}
	return out
}
