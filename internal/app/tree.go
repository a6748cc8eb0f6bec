package app

import (
	"context"
	"slices"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

const (
	// MaxLevel is how many folders, and how many projects or brandings, a level of the tree shows.
	MaxLevel = 30
	// MaxOpen is how many folders of the tree are open beside those that lead to what the reader is at.
	MaxOpen = 20
)

// Level is what is in a folder, or at the root level: the first of each kind in the order of lists, and
// what the reader is at, wherever it stands.
type Level struct {
	Folders   sheaf.Page[sheaf.Folder]
	Projects  sheaf.Page[sheaf.Project]
	Brandings sheaf.Page[sheaf.Branding]
}

// Tree is what somebody sees of the folders at one moment: the root level, and what is in those that are
// open. A workspace may have thousands of folders and projects, and nobody looks at all of them.
type Tree struct {
	Projects, Brandings Level                     // the root level of either type
	In                  map[sheaf.FolderID]*Level // what is in the open ones
	Subfolders          map[sheaf.FolderID]int64  // how many folders are right in each that is shown; no entry is none
	Path                []sheaf.Folder            // from the root to the folder that the reader is in
	Project             *sheaf.Project            // that the reader is at; nil for none
}

// Tree returns the tree of a reader who is at the folder, project or branding of that id, or at none, and
// has opened those folders: the first MaxOpen of them, as far as they are there.
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

// Where returns a tree that has no more than the folders that lead to the folder, project or branding of
// that id: its Path and its Project say where that is. What is not there any more is nowhere.
func (a *App) Where(ctx context.Context, c Caller, here string) (Tree, error) {
	return a.growTree(ctx, c, func(g *growing) error { return g.find(here) })
}

// Branch returns a tree in which that folder alone is open, without the root level, or NotFound.
func (a *App) Branch(ctx context.Context, c Caller, id sheaf.FolderID) (Tree, error) {
	return a.growTree(ctx, c, func(g *growing) error {
		f, err := g.r.Folder(c.Workspace, id)
		if err != nil {
			return err
		}
		return g.openOne(f)
	})
}

// growTree returns the tree that grow reads, of one moment.
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
	// What the reader is at, where it is no project: of the two one is set at most.
	folder   *sheaf.Folder
	branding *sheaf.Branding
}

// roots reads the root level of both types.
func (g *growing) roots() (err error) {
	if g.tree.Projects, err = g.level(sheaf.ProjectFolder, sheaf.Nil[sheaf.FolderID]()); err != nil {
		return err
	}
	g.tree.Brandings, err = g.level(sheaf.BrandingFolder, sheaf.Nil[sheaf.FolderID]())
	return err
}

// level reads what is in a folder of that type, or at the root level.
func (g *growing) level(kind sheaf.EntityType, in sheaf.Opt[sheaf.FolderID]) (l Level, err error) {
	first := sheaf.Paging{Limit: MaxLevel}
	if l.Folders, err = g.r.Folders(g.c.Workspace, sheaf.FolderFilter{EntityType: kind, Parent: in, Paging: first}); err != nil {
		return l, err
	}
	switch {
	case kind == sheaf.ProjectFolder:
		l.Projects, err = g.r.Projects(g.c.Workspace, sheaf.ProjectFilter{Folder: in, Paging: first})
	case g.c.May(sheaf.BrandingsRead):
		l.Brandings, err = g.r.Brandings(g.c.Workspace, sheaf.BrandingFilter{Folder: in, Paging: first})
	}
	return l, err
}

// find looks for what the reader is at, and opens the folders that lead to it. What is not there any
// more is not marked.
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

// lead opens the folders from the root to that one, which are the path.
func (g *growing) lead(to *sheaf.FolderID) error {
	for to != nil {
		f, err := g.r.Folder(g.c.Workspace, *to)
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

// open opens those of the folders that are there.
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

// openOne reads what is in a folder, once.
func (g *growing) openOne(f sheaf.Folder) error {
	if g.tree.In[f.ID] != nil {
		return nil
	}
	l, err := g.level(f.EntityType, sheaf.Some(f.ID))
	g.tree.In[f.ID] = &l
	return err
}

// showHere adds what the reader is at, and the folders that lead to it, to their levels where those are
// too long to have them.
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

// levelOf is the level of what is in that folder, which is open, or at the root level.
func (g *growing) levelOf(kind sheaf.EntityType, in *sheaf.FolderID) *Level {
	switch {
	case in != nil:
		return g.tree.In[*in]
	case kind == sheaf.BrandingFolder:
		return &g.tree.Brandings
	}
	return &g.tree.Projects
}

// show puts a record behind a page that does not have it.
func show[T any](page *sheaf.Page[T], one T, same func(T) bool) {
	if !slices.ContainsFunc(page.Items, same) {
		page.Items = append(page.Items, one)
	}
}

// shown are the folders on all levels.
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

// Subfolders counts the folders right in each of those folders. One in which there is none has no entry.
func (a *App) Subfolders(ctx context.Context, c Caller, of []sheaf.FolderID) (map[sheaf.FolderID]int64, error) {
	return read(ctx, a, c, scope(sheaf.ProjectsRead), func(r *store.Reader) (map[sheaf.FolderID]int64, error) {
		return r.Subfolders(c.Workspace, of)
	})
}

// FolderRemoval is what deleting a folder would do now.
type FolderRemoval struct {
	Folder     sheaf.Folder
	Subfolders int64 // that go with it
	Filed      int64 // projects or brandings that move to the root level
}

// FolderRemoval counts what deleting the folder would do, or returns NotFound.
func (a *App) FolderRemoval(ctx context.Context, c Caller, id sheaf.FolderID) (FolderRemoval, error) {
	return read(ctx, a, c, scope(sheaf.ProjectsWrite), func(r *store.Reader) (out FolderRemoval, err error) {
		if out.Folder, err = r.Folder(c.Workspace, id); err != nil {
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
