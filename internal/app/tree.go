package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// MaxTree is how many folders, and how many projects, a tree shows at most.
const MaxTree = 1000

// Tree is the folders of one type and what is in them, of one moment, in the order of lists. Where
// there are more than MaxTree projects, it has those at the root level alone.
type Tree struct {
	Folders  []sheaf.Folder
	Projects []sheaf.Project
	// Whole says that nothing is left out.
	Whole bool
}

// Tree returns the workspace's folders of that type, and with those for projects the projects.
func (a *App) Tree(ctx context.Context, c Caller, entity sheaf.EntityType) (Tree, error) {
	return read(ctx, a, c, scope(sheaf.ProjectsRead), func(r *store.Reader) (Tree, error) {
		all := sheaf.Paging{Limit: MaxTree}
		folders, err := r.Folders(c.Workspace, sheaf.FolderFilter{EntityType: entity, Paging: all})
		if err != nil || entity != sheaf.ProjectFolder {
			return Tree{Folders: folders.Items, Whole: !folders.More()}, err
		}
		projects, err := r.Projects(c.Workspace, sheaf.ProjectFilter{Paging: all})
		if err == nil && projects.More() {
			projects, err = r.Projects(c.Workspace, sheaf.ProjectFilter{Folder: sheaf.Nil[sheaf.FolderID](), Paging: all})
			return Tree{Folders: folders.Items, Projects: projects.Items}, err
		}
		return Tree{folders.Items, projects.Items, !folders.More()}, err
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
