package app

import (
	"context"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// SharedPage is one of the pages of a share, without its text.
type SharedPage struct {
	Kind        sheaf.Shareable
	ID          string
	Title       string
	Description string    // its first store.BriefText characters; empty if it has none, or none were asked for
	Level       int       // 0 for the first page, 1 for the pages directly below it
	UpdatedAt   time.Time // last change of the page, or of one below it
}

// SharedPages are the pages of a share in reading order: the first page, and the pages below it, each
// followed by those below it.
type SharedPages struct {
	Pages []SharedPage
	More  bool // the share has more pages
}

// SharedPages returns the first `most` pages of a share, or NotFound if the shared record cannot be shown. All
// of them are from one snapshot of the store. Documents have their descriptions if `described`. If the share
// shows a release, the documents are those of the release.
//
// If a project has more than sheaf.MaxTree documents, they are listed without their tree, last changed
// first.
func (a *App) SharedPages(ctx context.Context, s sheaf.Shared, most int, described bool) (SharedPages, error) {
	out, err := readShown(ctx, a, s, func(r *store.Reader) (SharedPages, error) {
		l := pageList{r: r, ws: s.Workspace, most: most, described: described}
		err := l.read(s)
		return l.out, err
	})
	return out, notShared(err)
}

// pageList collects the pages of a share. It first reads the folders and projects, then the documents of
// several projects at once.
type pageList struct {
	r         *store.Reader
	ws        sheaf.WorkspaceID
	most      int
	described bool
	release   *sheaf.Release // the share shows its documents; nil: those that are stored now

	places []place // folders and projects in reading order, or the shared document
	out    SharedPages
	above  []int // indices of the pages above the next one, by level
}

// place is the page of a folder, of a project, or of a document that is shared itself. A project has the
// number of its documents.
type place struct {
	SharedPage
	documents int64
}

// documentsAtOnce and projectsAtOnce bound the documents and the projects that are read together. A project
// with more documents is read alone.
const (
	documentsAtOnce = 2_000
	projectsAtOnce  = 200
)

func (l *pageList) read(s sheaf.Shared) error {
	first := SharedPage{Kind: s.ResourceType, ID: s.ResourceID}
	switch s.ResourceType {
	case sheaf.ShareOfFolder:
		f, err := l.r.Folder(l.ws, sheaf.FolderID(s.ResourceID))
		if err != nil {
			return err
		}
		first.Title, first.UpdatedAt = f.Name, f.UpdatedAt
		l.places = append(l.places, place{SharedPage: first})
		if err := l.folder(f.ID, 1); err != nil {
			return err
		}
	case sheaf.ShareOfProject:
		p, err := l.r.Project(l.ws, sheaf.ProjectID(s.ResourceID))
		if err != nil {
			return err
		}
		first.Title, first.Description, first.UpdatedAt = p.Name, begun(p.Description), p.UpdatedAt
		if l.release, err = shownRelease(l.r, s); err != nil {
			return err
		}
		documents := p.DocumentCount
		if l.release != nil {
			first.UpdatedAt, documents = l.release.CreatedAt, l.release.Documents
		}
		l.places = append(l.places, place{first, documents})
	default:
		d, err := l.r.Document(l.ws, sheaf.DocumentID(s.ResourceID))
		if err != nil {
			return err
		}
		first.Title, first.Description, first.UpdatedAt = d.Title, begun(d.Description), d.UpdatedAt
		l.places = append(l.places, place{SharedPage: first})
	}
	return l.fill()
}

// begun returns the start of a description; empty for none.
func begun(description *string) string {
	if description == nil {
		return ""
	}
	text := []rune(*description)
	return string(text[:min(len(text), store.BriefText)])
}

// room is the number of folders and projects that may still be read: one more than may still be listed.
func (l *pageList) room() int { return l.most + 1 - len(l.places) }

// folder reads the folders and projects in a folder, whose pages are at `level`: first the folders, each
// with what is in it.
func (l *pageList) folder(in sheaf.FolderID, level int) error {
	if l.room() <= 0 || level > sheaf.MaxDepth {
		return nil
	}
	folders, err := l.r.FoldersIn(l.ws, in, l.room())
	if err != nil {
		return err
	}
	for _, f := range folders {
		l.places = append(l.places, place{SharedPage: SharedPage{Kind: sheaf.ShareOfFolder, ID: string(f.ID), Title: f.Name, Level: level, UpdatedAt: f.UpdatedAt}})
		if err := l.folder(f.ID, level+1); err != nil {
			return err
		}
	}
	if l.room() <= 0 {
		return nil
	}
	projects, err := l.r.BriefProjects(l.ws, in, l.room())
	for _, p := range projects {
		l.places = append(l.places, place{SharedPage{sheaf.ShareOfProject, p.ID, p.Title, p.Description, level, p.UpdatedAt}, p.Documents})
	}
	return err
}

// fill lists the places, each project with its documents.
func (l *pageList) fill() error {
	for len(l.places) > 0 && !l.out.More {
		n, documents := 1, l.places[0].documents
		for n < min(len(l.places), projectsAtOnce) && documents+l.places[n].documents <= documentsAtOnce {
			documents += l.places[n].documents
			n++
		}
		below, err := l.documents(l.places[:n])
		if err != nil {
			return err
		}
		for _, p := range l.places[:n] {
			l.add(p.SharedPage)
			for _, d := range below[p.ID] {
				l.add(d)
			}
		}
		l.places = l.places[n:]
	}
	return nil
}

// add lists a page. If the page changed later than a page above it, that page gets the later time.
func (l *pageList) add(p SharedPage) {
	if len(l.out.Pages) >= l.most {
		l.out.More = true
		return
	}
	l.above = l.above[:min(p.Level, len(l.above))]
	for _, i := range l.above {
		if above := &l.out.Pages[i]; above.UpdatedAt.Before(p.UpdatedAt) {
			above.UpdatedAt = p.UpdatedAt
		}
	}
	l.above = append(l.above, len(l.out.Pages))
	l.out.Pages = append(l.out.Pages, p)
}

// documents returns the documents of the projects among the places, by the id of the project. Only this
// method and those it calls know where the documents of a share are stored.
func (l *pageList) documents(places []place) (map[string][]SharedPage, error) {
	if l.release != nil {
		return l.released(places[0])
	}
	out := map[string][]SharedPage{}
	var whole []place
	var ids []sheaf.ProjectID
	for _, p := range places {
		switch {
		case p.documents > sheaf.MaxTree:
			recent, err := l.recent(p)
			if err != nil {
				return nil, err
			}
			out[p.ID] = recent
		case p.documents > 0:
			whole, ids = append(whole, p), append(ids, sheaf.ProjectID(p.ID))
		}
	}
	if len(ids) == 0 {
		return out, nil
	}
	trees, err := l.r.DocumentTrees(l.ws, ids)
	if err != nil {
		return nil, err
	}
	var descriptions map[sheaf.DocumentID]string
	if l.described {
		descriptions, err = l.r.BriefDescriptions(l.ws, ids)
	}
	for i, p := range whole {
		out[p.ID] = inTree(p, trees[i], descriptions)
	}
	return out, err
}

// inTree returns the documents of a tree below the page of their project.
func inTree(project place, tree []sheaf.TreeEntry, descriptions map[sheaf.DocumentID]string) []SharedPage {
	out := make([]SharedPage, 0, len(tree))
	for _, e := range tree {
		out = append(out, SharedPage{sheaf.ShareOfDocument, string(e.ID), e.Title, descriptions[e.ID], project.Level + e.Depth, e.UpdatedAt})
	}
	return out
}

// released returns what documents returns, if the share shows a release of the project.
func (l *pageList) released(project place) (map[string][]SharedPage, error) {
	tree, err := l.r.ReleaseTree(l.ws, *l.release)
	if err != nil {
		return nil, err
	}
	var descriptions map[sheaf.DocumentID]string
	if l.described {
		descriptions, err = l.r.ReleasedDescriptions(l.ws, *l.release)
	}
	return map[string][]SharedPage{project.ID: inTree(project, tree, descriptions)}, err
}

// recent returns the documents of a large project: at most one more than may still be listed.
func (l *pageList) recent(p place) ([]SharedPage, error) {
	found, err := l.r.RecentDocuments(l.ws, sheaf.ProjectID(p.ID), l.most+1-len(l.out.Pages))
	out := make([]SharedPage, 0, len(found))
	for _, d := range found {
		out = append(out, SharedPage{sheaf.ShareOfDocument, d.ID, d.Title, d.Description, p.Level + 1, d.UpdatedAt})
	}
	return out, err
}
