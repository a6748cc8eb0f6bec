package app

import (
	"context"
	"slices"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

const (
	// MaxLevel is the largest number of folders, and of projects or brandings, that a level of the
	// tree shows.
	MaxLevel = 30
	// MaxOpen is the largest number of open folders, besides those on the path to the reader's
	// place.
	MaxOpen = 20
)

// Level is the contents of a folder or of the root level: the first of each kind in the order of
// lists. The record that the reader is at is included even if it comes later.
type Level struct {
	Folders   sheaf.Page[sheaf.Folder]
	Projects  sheaf.Page[sheaf.Project]
	Brandings sheaf.Page[sheaf.Branding]
}

// Tree is what a reader sees of the folders: the root level, and the contents of open folders. A
// workspace may have thousands of folders and projects, so only a part is read. For a restricted reader
// the root level has the visible folders and projects that are in no visible folder.
type Tree struct {
	Projects, Brandings Level                     // the root level of each type
	In                  map[sheaf.FolderID]*Level // contents of the open folders
	Subfolders          map[sheaf.FolderID]int64  // number of direct subfolders of each folder shown; no entry means none
	Path                []sheaf.Folder            // folders from the root to the reader's place
	Project             *sheaf.Project            // the project that the reader is at, or nil
}

// Tree returns the tree for a reader who is at the folder, project or branding with the id `here`,
// or at none. The first MaxOpen of the folders in `open` that exist are open.
func (a *App) Tree(ctx context.Context, c Caller, here string, open []sheaf.FolderID) (Tree, error) {
	return a.growTree(ctx, c, func(g *growing) error {
		if err := g.roots(); err != nil {
			return err
		}
		if err := g.find(here); err != nil {
			return err
		}
		if err := g.open(open[:min(len(open), MaxOpen)]); err != nil {
			return err
		}
		g.showHere()
		return nil
	})
}

// Where returns a tree with only the folders that lead to the folder, project or branding with the
// id `here`: its Path and Project say where that is. A record that does not exist has no Path.
func (a *App) Where(ctx context.Context, c Caller, here string) (Tree, error) {
	return a.growTree(ctx, c, func(g *growing) error { return g.find(here) })
}

// Branch returns a tree in which only that folder is open, without the root level, or NotFound.
func (a *App) Branch(ctx context.Context, c Caller, id sheaf.FolderID) (Tree, error) {
	return a.growTree(ctx, c, func(g *growing) error {
		f, err := g.r.Folder(c.Workspace, id)
		if err != nil {
			return err
		}
		return g.openOne(f)
	})
}

// growTree returns the tree that grow reads, from one snapshot.
func (a *App) growTree(ctx context.Context, c Caller, grow func(*growing) error) (Tree, error) {
	return read(ctx, a, c, scope(sheaf.ProjectsRead), func(r *store.Reader) (Tree, error) {
		g := growing{r: r, c: c, tree: Tree{In: map[sheaf.FolderID]*Level{}}}
		err := grow(&g)
		if err == nil {
			g.tree.Subfolders, err = r.Subfolders(c.Workspace, g.shown())
		}
		return g.tree, err
	})
}

// growing is a tree that is being read.
type growing struct {
	r    *store.Reader
	c    Caller
	tree Tree
	// The record that the reader is at, if it is not a project. At most one of the two is set.
	folder   *sheaf.Folder
	branding *sheaf.Branding
}

// roots reads the root level of both types.
func (g *growing) roots() (err error) {
	if g.tree.Projects, err = g.level(sheaf.ProjectFolder, nil); err != nil {
		return err
	}
	g.tree.Brandings, err = g.level(sheaf.BrandingFolder, nil)
	return err
}

// level reads the contents of a folder of that type; nil: of the root level.
func (g *growing) level(kind sheaf.EntityType, folder *sheaf.FolderID) (l Level, err error) {
	first, in, top := sheaf.Paging{Limit: MaxLevel}, sheaf.Opt[sheaf.FolderID]{}, folder == nil
	if !top {
		in = sheaf.Some(*folder)
	}
	folders := sheaf.FolderFilter{EntityType: kind, Parent: in, Top: top, Paging: first}
	if kind == sheaf.BrandingFolder && top {
		folders.Parent, folders.Top = sheaf.Nil[sheaf.FolderID](), false
	}
	if l.Folders, err = g.r.Folders(g.c.Workspace, folders); err != nil {
		return l, err
	}
	switch {
	case kind == sheaf.ProjectFolder:
		l.Projects, err = g.r.Projects(g.c.Workspace, sheaf.ProjectFilter{Folder: in, Top: top, Paging: first})
	case g.c.May(sheaf.BrandingsRead):
		l.Brandings, err = g.r.Brandings(g.c.Workspace, sheaf.BrandingFilter{Folder: folders.Parent, Paging: first})
	}
	return l, err
}

// find looks up the record that the reader is at, and opens the folders that lead to it. If the
// record does not exist, nothing is marked.
func (g *growing) find(here string) error {
	id, ok := sheaf.ParseUUID(here)
	if !ok {
		return nil
	}
	f, err := g.r.Folder(g.c.Workspace, sheaf.FolderID(id))
	if err == nil {
		g.folder = &f
		if err = g.openOne(f); err == nil {
			err = g.lead(f.ParentID)
		}
	}
	if sheaf.KindOf(err) != sheaf.NotFound {
		return err
	}
	p, err := g.r.Project(g.c.Workspace, sheaf.ProjectID(id))
	if err == nil {
		g.tree.Project = &p
		err = g.lead(p.FolderID)
	}
	if sheaf.KindOf(err) != sheaf.NotFound {
		return err
	}
	return g.findBranding(sheaf.BrandingID(id))
}

// findBranding is find for a branding.
func (g *growing) findBranding(id sheaf.BrandingID) error {
	if !g.c.May(sheaf.BrandingsRead) {
		return nil
	}
	b, err := g.r.Branding(g.c.Workspace, id)
	if sheaf.KindOf(err) == sheaf.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	g.branding = &b
	return g.lead(b.FolderID)
}

// lead opens the folders from the root to the folder `to`, and sets the path to them. The path of a
// restricted reader begins at the first folder that the reader sees.
func (g *growing) lead(to *sheaf.FolderID) error {
	for to != nil {
		f, err := g.r.Folder(g.c.Workspace, *to)
		if g.c.Restriction() != nil && sheaf.KindOf(err) == sheaf.NotFound {
			break
		}
		if err != nil {
			return err
		}
		if err := g.openOne(f); err != nil {
			return err
		}
		g.tree.Path = append(g.tree.Path, f)
		to = f.ParentID
	}
	slices.Reverse(g.tree.Path)
	return nil
}

// open opens the folders that exist.
func (g *growing) open(ids []sheaf.FolderID) error {
	for _, id := range ids {
		f, err := g.r.Folder(g.c.Workspace, id)
		if sheaf.KindOf(err) == sheaf.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		if err := g.openOne(f); err != nil {
			return err
		}
	}
	return nil
}

// openOne reads the contents of a folder, once.
func (g *growing) openOne(f sheaf.Folder) error {
	if g.tree.In[f.ID] != nil {
		return nil
	}
	l, err := g.level(f.EntityType, &f.ID)
	g.tree.In[f.ID] = &l
	return err
}

// showHere adds the record that the reader is at, and the folders that lead to it, to their levels,
// if the levels were cut off before them.
func (g *growing) showHere() {
	path := slices.Clone(g.tree.Path)
	if g.folder != nil {
		path = append(path, *g.folder)
	}
	for _, f := range path {
		show(&g.levelOf(f.EntityType, f.ParentID).Folders, f, func(x sheaf.Folder) bool { return x.ID == f.ID })
	}
	if p := g.tree.Project; p != nil {
		show(&g.levelOf(sheaf.ProjectFolder, p.FolderID).Projects, *p, func(x sheaf.Project) bool { return x.ID == p.ID })
	}
	if b := g.branding; b != nil {
		show(&g.levelOf(sheaf.BrandingFolder, b.FolderID).Brandings, *b, func(x sheaf.Branding) bool { return x.ID == b.ID })
	}
}

// levelOf returns the level of the open folder `in`, or the root level: a restricted reader does not
// see every folder.
func (g *growing) levelOf(kind sheaf.EntityType, in *sheaf.FolderID) *Level {
	if in != nil && g.tree.In[*in] != nil {
		return g.tree.In[*in]
	}
	if kind == sheaf.BrandingFolder {
		return &g.tree.Brandings
	}
	return &g.tree.Projects
}

// show appends a record to a page that does not have it.
func show[T any](page *sheaf.Page[T], one T, same func(T) bool) {
	if !slices.ContainsFunc(page.Items, same) {
		page.Items = append(page.Items, one)
	}
}

// shown returns the ids of the folders on all levels.
func (g *growing) shown() (ids []sheaf.FolderID) {
	levels := []*Level{&g.tree.Projects, &g.tree.Brandings}
	for _, l := range g.tree.In {
		levels = append(levels, l)
	}
	for _, l := range levels {
		for _, f := range l.Folders.Items {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// Subfolders returns the number of direct subfolders of each of these folders. A folder without any
// has no entry.
func (a *App) Subfolders(ctx context.Context, c Caller, of []sheaf.FolderID) (map[sheaf.FolderID]int64, error) {
	return read(ctx, a, c, scope(sheaf.ProjectsRead), func(r *store.Reader) (map[sheaf.FolderID]int64, error) {
		return r.Subfolders(c.Workspace, of)
	})
}

// ProjectRemoval returns a project that the caller may delete, or NotFound. It returns Forbidden if the caller is
// restricted and may not delete it.
func (a *App) ProjectRemoval(ctx context.Context, c Caller, id sheaf.ProjectID) (sheaf.Project, error) {
	return read(ctx, a, c, scope(sheaf.ProjectsWrite), func(r *store.Reader) (sheaf.Project, error) {
		p, err := r.Project(c.Workspace, id)
		if err != nil {
			return p, err
		}
		return p, mayRemoveProject(r, c, p)
	})
}

// FolderRemoval is what deleting a folder would do now.
type FolderRemoval struct {
	Folder     sheaf.Folder
	Subfolders int64 // folders that are deleted with it
	Filed      int64 // projects or brandings that move to the root level
}

// FolderRemoval returns what deleting the folder would do, or NotFound. It returns Forbidden if the caller is
// restricted and may not delete it.
func (a *App) FolderRemoval(ctx context.Context, c Caller, id sheaf.FolderID) (FolderRemoval, error) {
	return read(ctx, a, c, scope(sheaf.ProjectsWrite), func(r *store.Reader) (out FolderRemoval, err error) {
		if out.Folder, err = r.Folder(c.Workspace, id); err != nil {
			return out, err
		}
		if err := mayRemoveFolder(r, c, out.Folder); err != nil {
			return out, err
		}
		tree, err := r.Subtree(c.Workspace, out.Folder)
		for _, f := range tree {
			out.Filed += f.Filed()
		}
		out.Subfolders = int64(len(tree)) - 1
		return out, err
	})
}
