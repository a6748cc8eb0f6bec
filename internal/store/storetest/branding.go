package storetest

import (
	"context"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// branding adds a branding; change may alter it first.
func (f *fixture) branding(change func(*sheaf.Branding)) sheaf.Branding {
	f.Helper()
	now := f.now()
	b := sheaf.NewBranding()
	b.ID, b.Name, b.CreatedAt, b.UpdatedAt, b.Revision = sheaf.BrandingID(f.id()), "Look", now, now, 1
	if change != nil {
		change(&b)
	}
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
		w.LastNumber++
		w.Brandings++
		b.Number = w.LastNumber
		return tx.InsertBranding(w.ID, b)
	}))
	return b
}

func (f *fixture) brandings(filter sheaf.BrandingFilter) sheaf.Page[sheaf.Branding] {
	f.Helper()
	if filter.Limit == 0 {
		filter.Limit = 100
	}
	return get(f, func(r *store.Reader) (sheaf.Page[sheaf.Branding], error) { return r.Brandings(f.ws.ID, filter) })
}

func (f *fixture) loadBranding(id sheaf.BrandingID) (sheaf.Branding, error) {
	return try(f, func(r *store.Reader) (sheaf.Branding, error) { return r.Branding(f.ws.ID, id) })
}

func (f *fixture) wantBranding(what string, want sheaf.Branding) {
	f.Helper()
	got, err := f.loadBranding(want.ID)
	f.must(err)
	same(f, what, got, want)
}

func (f *fixture) brandingFolder() sheaf.Folder {
	return f.folder(func(d *sheaf.Folder) { d.EntityType = sheaf.BrandingFolder })
}

func brandingRoundTrip(f *fixture) {
	drawer := f.brandingFolder()
	logo := sheaf.MediumID(f.id())
	b := f.branding(func(b *sheaf.Branding) {
		b.FolderID, b.LogoMediaID, b.ColorPrimary, b.Font, b.Footer, b.SortOrder = &drawer.ID, &logo, "#FF0000", sheaf.SerifFont, ptr("© 'x'"), 7
	})
	f.wantBranding("created", b)

	before := b
	b.Name, b.FolderID, b.LogoMediaID, b.ColorPrimary, b.Font, b.Footer = "Renamed", nil, nil, "#00ff00", sheaf.MonoFont, nil
	b.SortOrder, b.Revision, b.UpdatedAt = -3, 2, f.now()
	f.write(func(tx *store.Tx) error { return tx.UpdateBranding(f.ws.ID, before, b) })
	f.wantBranding("updated", b)

	theirs, _ := f.newWorkspace("Theirs")
	_, err := try(f, func(r *store.Reader) (sheaf.Branding, error) { return r.Branding(theirs.ID, b.ID) })
	f.wantKind(err, sheaf.NotFound)
	f.write(func(tx *store.Tx) error {
		changed := b
		changed.Name = "Taken over"
		if err := tx.UpdateBranding(theirs.ID, b, changed); err != nil {
			return err
		}
		return tx.DeleteBranding(theirs.ID, b)
	})
	f.wantBranding("untouched from another workspace", b)

	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
		w.Brandings--
		return tx.DeleteBranding(w.ID, b)
	}))
	_, err = f.loadBranding(b.ID)
	f.wantKind(err, sheaf.NotFound)
}

func brandingConstraints(f *fixture) {
	b := f.branding(nil)
	again := b
	again.Number = 1000
	insert := func(tx *store.Tx) error { return tx.InsertBranding(f.ws.ID, again) }
	f.wantIs(f.store.Write(context.Background(), insert), store.ErrDuplicate)
	again.ID, again.FolderID = sheaf.BrandingID(f.id()), ptr(sheaf.FolderID(f.id()))
	f.wantIs(f.store.Write(context.Background(), insert), store.ErrReference)

	drawer := f.brandingFolder()
	f.branding(func(b *sheaf.Branding) { b.FolderID = &drawer.ID })
	remove := func(tx *store.Tx) error { return tx.DeleteFolder(f.ws.ID, drawer.ID) }
	f.wantIs(f.store.Write(context.Background(), remove), store.ErrReference)
}

func brandingDefault(f *fixture) {
	b := f.branding(nil)
	f.write(func(tx *store.Tx) error { return tx.SetDefaultBranding(f.ws.ID, &b.ID) })
	if got := f.workspace().DefaultBranding; got != b.ID {
		f.Errorf("the default is %q, want %q", got, b.ID)
	}
	members := get(f, func(r *store.Reader) ([]sheaf.Membership, error) { return r.Memberships(f.user.ID) })
	if len(members) != 1 || members[0].Workspace.DefaultBranding != b.ID {
		f.Errorf("a member sees %+v", members)
	}
	f.write(func(tx *store.Tx) error { return tx.SetDefaultBranding(f.ws.ID, nil) })
	if got := f.workspace().DefaultBranding; got != "" {
		f.Errorf("the default is still %q", got)
	}
}

// brandingUnfile moves the brandings of a folder to the root level, a part at a time, and counts them.
func brandingUnfile(f *fixture) {
	drawer := f.brandingFolder()
	filed := func(b *sheaf.Branding) { b.FolderID = &drawer.ID }
	first, second, elsewhere := f.branding(filed), f.branding(filed), f.branding(nil)
	now := f.now()
	unfile := func(most int64) (before []sheaf.Branding) {
		f.write(func(tx *store.Tx) (err error) {
			before, err = tx.FiledBrandings(f.ws.ID, drawer.ID, most)
			if err != nil {
				return err
			}
			if err := tx.UnfileBrandings(f.ws.ID, drawer.ID, now, before[len(before)-1]); err != nil {
				return err
			}
			return tx.CountBrandings(f.ws.ID, drawer.ID, -int64(len(before)))
		})
		return before
	}
	same(f, "the first as it was", unfile(1), []sheaf.Branding{first})
	same(f, "one is left", get(f, func(r *store.Reader) (store.TreeSize, error) { return r.TreeSize(f.ws.ID, drawer.ID) }),
		store.TreeSize{Folders: 1, Filed: 1, Deepest: 1})
	same(f, "the folders with something in them", get(f, func(r *store.Reader) ([]sheaf.FolderID, error) { return r.FiledFolders(f.ws.ID, drawer.ID, 10) }),
		[]sheaf.FolderID{drawer.ID})
	same(f, "the rest as it was", unfile(100), []sheaf.Branding{second})
	for _, b := range []sheaf.Branding{first, second} {
		b.FolderID, b.UpdatedAt, b.Revision = nil, now, 2
		f.wantBranding("unfiled", b)
	}
	f.wantBranding("not in the folder", elsewhere)
	f.write(func(tx *store.Tx) error { return tx.DeleteFolder(f.ws.ID, drawer.ID) })
}

func brandingLists(f *fixture) {
	drawer := f.brandingFolder()
	at := f.now()
	for _, b := range []struct {
		name    string
		order   int32
		updated int
		filed   bool
	}{{"b", 5, 3, true}, {"É", -1, 1, false}, {"a", 5, 3, true}, {"B", -1, 0, false}} {
		f.branding(func(q *sheaf.Branding) {
			q.Name, q.SortOrder, q.UpdatedAt = b.name, b.order, at.Add(time.Duration(b.updated)*time.Second)
			if b.filed {
				q.FolderID = &drawer.ID
			}
		})
	}
	since := at.Add(time.Second)
	for what, c := range map[string]struct {
		filter sheaf.BrandingFilter
		want   []string
	}{
		"by order":              {sheaf.BrandingFilter{}, []string{"É", "B", "b", "a"}},
		"by name":               {sheaf.BrandingFilter{Sort: sheaf.ByName}, []string{"a", "b", "B", "É"}},
		"by creation, from end": {sheaf.BrandingFilter{Sort: sheaf.ByCreated, Paging: sheaf.Paging{Desc: true}}, []string{"B", "a", "É", "b"}},
		"by update":             {sheaf.BrandingFilter{Sort: sheaf.ByUpdated}, []string{"B", "É", "b", "a"}},
		"in the folder":         {sheaf.BrandingFilter{Folder: sheaf.Some(drawer.ID), Sort: sheaf.ByName}, []string{"a", "b"}},
		"at the root":           {sheaf.BrandingFilter{Folder: sheaf.Nil[sheaf.FolderID]()}, []string{"É", "B"}},
		"changed since":         {sheaf.BrandingFilter{UpdatedSince: &since, Sort: sheaf.ByUpdated}, []string{"É", "b", "a"}},
		"searched":              {sheaf.BrandingFilter{Query: "B", Sort: sheaf.ByCreated}, []string{"b", "B"}},
		"searched, folded":      {sheaf.BrandingFilter{Query: "é"}, []string{"É"}},
	} {
		page := f.brandings(c.filter)
		same(f, what, ids(page.Items, func(b sheaf.Branding) string { return b.Name }), c.want)
		if page.Total != int64(len(c.want)) {
			f.Errorf("%s: total %d, want %d", what, page.Total, len(c.want))
		}
	}
	if got, err := f.loadFolder(drawer.ID); err != nil || got.BrandingCount != 2 || got.ProjectCount != 0 {
		f.Errorf("the folder counts %d brandings and %d projects, %v", got.BrandingCount, got.ProjectCount, err)
	}
}
