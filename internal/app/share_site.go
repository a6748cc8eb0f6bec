package app

import (
	"context"
	"slices"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// A share of a folder is one site: the projects in the folder and below it, with their documents. A
// site may have thousands of projects, so a page reads what it shows of it and no more:
//
//	folders and projects together    a page reads
//	up to siteMost                   all of them, without their descriptions; and the trees of all
//	                                 projects, if these have up to siteMost documents
//	more                             SitePage of them for each folder that leads to the page
//
// Which documents come before and after a page is read by indexes, from one folder to the next.

const (
	// siteMost is the largest number of folders and projects, and of documents, of a site that is
	// read whole.
	siteMost = 500
	// SitePage is the number of folders and projects of a level that a page shows.
	SitePage = 200
	// walkMost is the largest number of reads to find a neighbouring project. If that many folders on
	// end lead to no document, the page has no link to the next one.
	walkMost = 100
)

// Site is what the pages of a shared folder show around them.
type Site struct {
	Top  sheaf.Folder   // the shared folder
	Path []sheaf.Folder // folders below Top that lead to the page, the highest first
	// Levels has the contents of Top and of the folders that are open. Trees has the documents of
	// projects in reading order.
	Levels map[sheaf.FolderID]SiteLevel
	Trees  map[sheaf.ProjectID][]sheaf.TreeEntry
	// Previous and Next are the documents before and after the page in reading order, if these are
	// in other projects than the page; nil if there is none.
	Previous, Next *sheaf.TreeEntry
}

// SiteLevel is a part of the contents of a folder: first its folders, then its projects. It begins
// after Offset of the Total.
type SiteLevel struct {
	Folders       []sheaf.Folder
	Projects      []sheaf.Project
	Offset, Total int64
}

// SharedFolder is a folder of a shared site, with a part of its contents.
type SharedFolder struct {
	sheaf.Folder
	SiteLevel
	Site     *Site
	Branding *sheaf.Branding // nil: none
}

// SharedFolder returns a folder that the share shows: the shared one or one below it. It returns
// NotFound for any other, and if the share is not of a folder. The contents begin at `offset`.
func (a *App) SharedFolder(ctx context.Context, s sheaf.Shared, id sheaf.FolderID, offset int) (SharedFolder, error) {
	out, err := readShown(ctx, a, s, func(r *store.Reader) (out SharedFolder, err error) {
		path, err := sitePath(r, s, &id)
		if err != nil {
			return out, err
		}
		out.Folder = path[len(path)-1]
		if out.SiteLevel, err = siteLevel(r, s.Workspace, out.Folder, int64(offset)); err != nil {
			return out, err
		}
		if out.Branding, err = brandingOf(r, s); err != nil {
			return out, err
		}
		out.Site, err = readSite(r, s.Workspace, path, nil, out.SiteLevel)
		return out, err
	})
	return out, notShared(err)
}

// sitePath returns the folders from the shared one down to `folder`, or errNotShared unless the
// share shows that folder.
func sitePath(r *store.Reader, s sheaf.Shared, folder *sheaf.FolderID) (path []sheaf.Folder, err error) {
	if s.ResourceType != sheaf.ShareOfFolder {
		return nil, errNotShared
	}
	for range sheaf.MaxDepth {
		if folder == nil {
			break
		}
		f, err := r.Folder(s.Workspace, *folder)
		if err != nil {
			return nil, err
		}
		path = append(path, f)
		if string(f.ID) == s.ResourceID {
			slices.Reverse(path)
			return path, nil
		}
		folder = f.ParentID
	}
	return nil, errNotShared
}

// projectPath returns the folders from the shared one down to that of the project, or none if the
// project itself is shared. It returns errNotShared unless the share shows the project.
func projectPath(r *store.Reader, s sheaf.Shared, p sheaf.Project) ([]sheaf.Folder, error) {
	if s.ResourceType == sheaf.ShareOfProject && string(p.ID) == s.ResourceID {
		return nil, nil
	}
	return sitePath(r, s, p.FolderID)
}

// readSite reads what a page shows around it. `path` leads from the shared folder to that of the
// page. The page is of `project`, or else of the last folder, which shows `contents`.
func readSite(r *store.Reader, ws sheaf.WorkspaceID, path []sheaf.Folder, project *sheaf.Project, contents SiteLevel) (*Site, error) {
	site := &Site{Top: path[0], Path: path[1:], Levels: map[sheaf.FolderID]SiteLevel{}, Trees: map[sheaf.ProjectID][]sheaf.TreeEntry{}}
	folders, projects, err := r.SiteSize(ws, site.Top.ID, siteMost+1)
	if err != nil {
		return nil, err
	}
	if folders+projects <= siteMost {
		return site, site.readWhole(r, ws)
	}
	for i, f := range path {
		level := contents
		if i+1 < len(path) || project != nil {
			var next *sheaf.Folder
			if i+1 < len(path) {
				next = &path[i+1]
			}
			if level, err = levelWith(r, ws, f, next, project); err != nil {
				return nil, err
			}
		}
		site.Levels[f.ID] = level
	}
	return site, nil
}

// readWhole reads all folders and projects of a small site, and their documents if these are few.
func (s *Site) readWhole(r *store.Reader, ws sheaf.WorkspaceID) error {
	folders, err := r.SiteFolders(ws, s.Top.ID)
	if err != nil {
		return err
	}
	for _, f := range folders {
		if f.ID == s.Top.ID {
			continue
		}
		level := s.Levels[*f.ParentID]
		level.Folders = append(level.Folders, f)
		level.Total++
		s.Levels[*f.ParentID] = level
	}
	projects, err := r.SiteProjects(ws, s.Top.ID)
	if err != nil {
		return err
	}
	var documents int64
	var ids []sheaf.ProjectID
	for _, p := range projects {
		level := s.Levels[*p.FolderID]
		level.Projects = append(level.Projects, p)
		level.Total++
		s.Levels[*p.FolderID] = level
		if documents += p.DocumentCount; p.DocumentCount > 0 {
			ids = append(ids, p.ID)
		}
	}
	if documents > siteMost {
		return nil
	}
	trees, err := r.DocumentTrees(ws, ids)
	for i, tree := range trees {
		s.Trees[ids[i]] = tree
	}
	return err
}

// levelWith returns the part of a folder's contents that has the folder `next` or, if that is nil,
// the project.
func levelWith(r *store.Reader, ws sheaf.WorkspaceID, in sheaf.Folder, next *sheaf.Folder, project *sheaf.Project) (l SiteLevel, err error) {
	var before int64
	if next != nil {
		before, err = r.FoldersBefore(ws, in.ID, folderPlace(*next))
	} else if before, err = r.ProjectsBefore(ws, in.ID, projectPlace(*project)); err == nil {
		var folders map[sheaf.FolderID]int64
		folders, err = r.Subfolders(ws, []sheaf.FolderID{in.ID})
		before += folders[in.ID]
	}
	if err != nil {
		return l, err
	}
	return siteLevel(r, ws, in, before/SitePage*SitePage)
}

// siteLevel returns SitePage of the contents of a folder, after `offset` of them.
func siteLevel(r *store.Reader, ws sheaf.WorkspaceID, in sheaf.Folder, offset int64) (l SiteLevel, err error) {
	folders, err := r.Folders(ws, sheaf.FolderFilter{Parent: sheaf.Some(in.ID), Paging: sheaf.Paging{Limit: SitePage, Offset: int(offset)}})
	if err != nil {
		return l, err
	}
	projects, err := r.Projects(ws, sheaf.ProjectFilter{Folder: sheaf.Some(in.ID),
		Paging: sheaf.Paging{Limit: SitePage - len(folders.Items), Offset: int(max(0, offset-folders.Total))}})
	return SiteLevel{Folders: folders.Items, Projects: projects.Items, Offset: offset, Total: folders.Total + projects.Total}, err
}

func folderPlace(f sheaf.Folder) store.Place {
	return store.Place{Order: int64(f.SortOrder), Number: f.Number}
}

func projectPlace(p sheaf.Project) store.Place {
	return store.Place{Order: int64(p.SortOrder), Number: p.Number}
}

// siteWalk finds the projects before and after another one in the reading order of a site. In a
// folder, the folders come before the projects.
type siteWalk struct {
	r      *store.Reader
	ws     sheaf.WorkspaceID
	before bool // walk backwards
	reads  int
}

// documentBeside returns the nearest document before or after those of a project, in another
// project of the site; nil if there is none. `path` leads from the shared folder to the project's.
func documentBeside(r *store.Reader, ws sheaf.WorkspaceID, path []sheaf.Folder, p sheaf.Project, before bool) (*sheaf.TreeEntry, error) {
	w := siteWalk{r: r, ws: ws, before: before}
	next, err := w.from(path, p)
	if err != nil || next == nil {
		return nil, err
	}
	return r.EndOfTree(ws, next.ID, before)
}

// from returns the next project with documents; nil if there is none.
func (w *siteWalk) from(path []sheaf.Folder, p sheaf.Project) (*sheaf.Project, error) {
	last := len(path) - 1
	at := projectPlace(p)
	if next, err := w.project(path[last].ID, &at); next != nil || err != nil {
		return next, err
	}
	if w.before {
		if next, err := w.folders(path[last].ID, nil); next != nil || err != nil {
			return next, err
		}
	}
	for i := last; i > 0; i-- {
		at, in := folderPlace(path[i]), path[i-1].ID
		if next, err := w.folders(in, &at); next != nil || err != nil {
			return next, err
		}
		if !w.before {
			if next, err := w.project(in, nil); next != nil || err != nil {
				return next, err
			}
		}
	}
	return nil, nil
}

// project returns the next project with documents directly in a folder; nil if there is none.
func (w *siteWalk) project(in sheaf.FolderID, at *store.Place) (*sheaf.Project, error) {
	if w.reads++; w.reads > walkMost {
		return nil, nil
	}
	p, found, err := w.r.ProjectBeside(w.ws, in, at, w.before)
	if err != nil || !found {
		return nil, err
	}
	return &p, nil
}

// folders returns the next project with documents in the folders beside a place in `in`.
func (w *siteWalk) folders(in sheaf.FolderID, at *store.Place) (*sheaf.Project, error) {
	for {
		if w.reads++; w.reads > walkMost {
			return nil, nil
		}
		page, err := w.r.FoldersBeside(w.ws, in, at, w.before, SitePage)
		if err != nil {
			return nil, err
		}
		for _, f := range page {
			if next, err := w.within(f); next != nil || err != nil {
				return next, err
			}
		}
		if len(page) < SitePage {
			return nil, nil
		}
		end := folderPlace(page[len(page)-1])
		at = &end
	}
}

// within returns the first project with documents in a folder or below it, or the last one.
func (w *siteWalk) within(f sheaf.Folder) (next *sheaf.Project, err error) {
	steps := []func() (*sheaf.Project, error){
		func() (*sheaf.Project, error) { return w.folders(f.ID, nil) },
		func() (*sheaf.Project, error) {
			if f.ProjectCount == 0 {
				return nil, nil
			}
			return w.project(f.ID, nil)
		},
	}
	if w.before {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		if next, err = step(); next != nil || err != nil {
			break
		}
	}
	return next, err
}
