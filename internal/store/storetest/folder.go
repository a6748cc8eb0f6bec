package storetest

import (
	"context"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

func (f *fixture) loadFolder(id sheaf.FolderID) (sheaf.Folder, error) {
	return try(f, func(r *store.Reader) (sheaf.Folder, error) { return r.Folder(f.ws.ID, id) })
}

func (f *fixture) wantFolder(what string, want sheaf.Folder) {
	f.Helper()
	got, err := f.loadFolder(want.ID)
	f.must(err)
	same(f, what, got, want)
}

func folderRoundTrip(f *fixture) {
	top := f.folder(nil)
	f.wantFolder("at the root", top)
	sub := f.folder(func(d *sheaf.Folder) {
		d.EntityType, d.ParentID, d.Depth, d.Color, d.SortOrder = sheaf.BrandingFolder, &top.ID, 2, "#123456", 9
		d.ExternalID = ptr("wiki:1 ä")
	})
	f.wantFolder("below", sub)
	f.read(func(r *store.Reader) error {
		got, found, err := r.FolderWith(f.ws.ID, "wiki:1 ä")
		if !found {
			f.Error("the external id finds nothing")
		}
		same(f, "by its external id", got, sub)
		return err
	})
	sub.ExternalID = nil
	sub.ParentID, sub.Depth, sub.Name, sub.Color = nil, 1, "Moved", "#654321"
	sub.SortOrder, sub.Revision, sub.UpdatedAt = -9, 2, f.now()
	f.write(func(tx *store.Tx) error { return tx.UpdateFolder(f.ws.ID, sub) })
	f.wantFolder("moved", sub)
	f.write(func(tx *store.Tx) error { return tx.DeleteFolder(f.ws.ID, sub.ID) })
	_, err := f.loadFolder(sub.ID)
	f.wantKind(err, sheaf.NotFound)

	theirs, _ := f.newWorkspace("Theirs")
	_, err = try(f, func(r *store.Reader) (sheaf.Folder, error) { return r.Folder(theirs.ID, top.ID) })
	f.wantKind(err, sheaf.NotFound)
}

func folderSubfolders(f *fixture) {
	in := func(parent sheaf.Folder) sheaf.Folder {
		return f.folder(func(d *sheaf.Folder) { d.ParentID, d.Depth = &parent.ID, parent.Depth+1 })
	}
	a, b := f.folder(nil), f.folder(nil)
	inner := in(a)
	in(a)
	in(inner)
	count := func(ws sheaf.WorkspaceID, of ...sheaf.FolderID) map[sheaf.FolderID]int64 {
		f.Helper()
		return get(f, func(r *store.Reader) (map[sheaf.FolderID]int64, error) { return r.Subfolders(ws, of) })
	}
	same(f, "of none", count(f.ws.ID), map[sheaf.FolderID]int64{})
	same(f, "of three", count(f.ws.ID, a.ID, b.ID, inner.ID), map[sheaf.FolderID]int64{a.ID: 2, inner.ID: 1})
	many := []sheaf.FolderID{a.ID}
	for range 120 { // more than one statement asks for
		many = append(many, f.folder(nil).ID)
	}
	same(f, "of many", count(f.ws.ID, append(many, inner.ID)...), map[sheaf.FolderID]int64{a.ID: 2, inner.ID: 1})
	theirs, _ := f.newWorkspace("Theirs")
	same(f, "in another workspace", count(theirs.ID, a.ID), map[sheaf.FolderID]int64{})
}

func folderSubtree(f *fixture) {
	under := func(parent *sheaf.Folder, order int32) sheaf.Folder {
		return f.folder(func(d *sheaf.Folder) {
			d.SortOrder = order
			if parent != nil {
				d.ParentID, d.Depth = &parent.ID, parent.Depth+1
			}
		})
	}
	top, beside := under(nil, 0), under(nil, 0)
	second, first := under(&top, 2), under(&top, 1)
	leaf := under(&second, 0)
	under(&beside, 0)
	tree := get(f, func(r *store.Reader) ([]sheaf.Folder, error) { return r.Subtree(f.ws.ID, top) })
	same(f, "subtree", ids(tree, func(d sheaf.Folder) sheaf.FolderID { return d.ID }),
		[]sheaf.FolderID{top.ID, first.ID, second.ID, leaf.ID})
}

func folderConstraints(f *fixture) {
	top := f.folder(nil)
	sub := f.folder(func(d *sheaf.Folder) { d.ParentID, d.Depth = &top.ID, 2 })
	remove := func(tx *store.Tx) error { return tx.DeleteFolder(f.ws.ID, top.ID) }
	f.wantIs(f.store.Write(context.Background(), remove), store.ErrReference)

	again := sub
	again.Number = 1000
	insert := func(tx *store.Tx) error { return tx.InsertFolder(f.ws.ID, again) }
	f.wantIs(f.store.Write(context.Background(), insert), store.ErrDuplicate)
	again.ID, again.ParentID = sheaf.FolderID(f.id()), ptr(sheaf.FolderID(f.id()))
	f.wantIs(f.store.Write(context.Background(), insert), store.ErrReference)

	f.project(func(p *sheaf.Project) { p.FolderID = &sub.ID })
	remove = func(tx *store.Tx) error { return tx.DeleteFolder(f.ws.ID, sub.ID) }
	f.wantIs(f.store.Write(context.Background(), remove), store.ErrReference)
}

// unfile moves at most `most` projects of a folder to the root level, and returns their previous state.
func unfile(tx *store.Tx, ws sheaf.WorkspaceID, folder sheaf.FolderID, at time.Time, most int64) ([]sheaf.Project, error) {
	projects, err := tx.FiledProjects(ws, folder, most)
	if err != nil || len(projects) == 0 {
		return nil, err
	}
	return projects, tx.UnfileProjects(ws, folder, at, projects[len(projects)-1])
}

func folderUnfile(f *fixture) {
	drawer := f.folder(nil)
	filed := func(p *sheaf.Project) { p.FolderID = &drawer.ID }
	old, elsewhere := f.project(filed), f.project(nil)
	now := f.now()
	ahead := f.project(func(p *sheaf.Project) { p.FolderID, p.UpdatedAt = &drawer.ID, now })
	var before, rest []sheaf.Project
	f.write(func(tx *store.Tx) (err error) {
		if before, err = unfile(tx, f.ws.ID, drawer.ID, now, 1); err != nil {
			return err
		}
		return tx.CountProjects(f.ws.ID, drawer.ID, -1)
	})
	same(f, "the first as it was", before, []sheaf.Project{old})
	same(f, "one is left", get(f, func(r *store.Reader) (store.TreeSize, error) { return r.TreeSize(f.ws.ID, drawer.ID) }),
		store.TreeSize{Folders: 1, Filed: 1, Deepest: 1})
	f.write(func(tx *store.Tx) (err error) {
		if rest, err = unfile(tx, f.ws.ID, drawer.ID, now, 100); err != nil {
			return err
		}
		return tx.DeleteFolder(f.ws.ID, drawer.ID)
	})
	same(f, "the rest as it was", rest, []sheaf.Project{ahead})
	old.FolderID, old.UpdatedAt, old.Revision = nil, now, 2
	ahead.FolderID, ahead.UpdatedAt, ahead.Revision = nil, now, 2
	f.wantProject("unfiled", old)
	f.wantProject("unfiled, at the same time", ahead)
	f.wantProject("not in the folder", elsewhere)
}

// folderTree looks at a tree: its size, the folders that have something in them, and the deepest first.
func folderTree(f *fixture) {
	top, other := f.folder(nil), f.folder(nil)
	under := func(parent sheaf.Folder) func(*sheaf.Folder) {
		return func(d *sheaf.Folder) { d.ParentID, d.Depth = &parent.ID, parent.Depth+1 }
	}
	left, right := f.folder(under(top)), f.folder(under(top))
	leaf := f.folder(under(right))
	f.folder(under(other))
	for _, d := range []sheaf.Folder{top, right, right, other} {
		f.project(func(p *sheaf.Project) { p.FolderID = &d.ID })
	}
	size := func(top sheaf.FolderID) store.TreeSize {
		return get(f, func(r *store.Reader) (store.TreeSize, error) { return r.TreeSize(f.ws.ID, top) })
	}
	same(f, "the tree", size(top.ID), store.TreeSize{Folders: 4, Filed: 3, Deepest: 3})
	same(f, "a part of it", size(right.ID), store.TreeSize{Folders: 2, Filed: 2, Deepest: 3})
	theirs, _ := f.newWorkspace("theirs")
	foreign := get(f, func(r *store.Reader) (store.TreeSize, error) { return r.TreeSize(theirs.ID, top.ID) })
	same(f, "seen from another workspace", foreign, store.TreeSize{})
	filed := get(f, func(r *store.Reader) ([]sheaf.FolderID, error) { return r.FiledFolders(f.ws.ID, top.ID, 10) })
	same(f, "with projects", filed, []sheaf.FolderID{right.ID, top.ID})
	for most, want := range map[int64][]sheaf.FolderID{10: {leaf.ID, left.ID, right.ID, top.ID}, 2: {leaf.ID, left.ID}} {
		lowest := get(f, func(r *store.Reader) ([]sheaf.Folder, error) { return r.LowestFolders(f.ws.ID, top.ID, most) })
		same(f, "the deepest first", ids(lowest, func(d sheaf.Folder) sheaf.FolderID { return d.ID }), want)
	}
}
