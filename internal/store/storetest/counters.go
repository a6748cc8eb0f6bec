package storetest

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// world is what countersAfterAnything has made, to choose from.
type world struct {
	*fixture
	folders   []sheaf.Folder // of projects
	drawers   []sheaf.Folder // of brandings
	brandings []sheaf.BrandingID
	projects  []sheaf.ProjectID
	documents []sheaf.DocumentID
}

// countersAfterAnything does random things and then counts the rows that the
// counters stand for.
func countersAfterAnything(f *fixture) {
	rapid.Check(f.T, func(t *rapid.T) {
		w := &world{fixture: newFixture(f.T, f.store)}
		w.folders = []sheaf.Folder{w.folder(nil), w.folder(nil)}
		w.drawers = []sheaf.Folder{w.brandingFolder(), w.brandingFolder()}
		t.Repeat(map[string]func(*rapid.T){
			"add project":      func(t *rapid.T) { w.addProject(t) },
			"move project":     func(t *rapid.T) { w.moveProject(t) },
			"remove project":   func(t *rapid.T) { w.removeProject(t) },
			"empty folder":     func(t *rapid.T) { w.emptyFolder(t) },
			"add branding":     func(t *rapid.T) { w.addBranding(t) },
			"move branding":    func(t *rapid.T) { w.moveBranding(t) },
			"remove branding":  func(t *rapid.T) { w.removeBranding(t) },
			"add document":     func(t *rapid.T) { w.addDocument(t) },
			"move document":    func(t *rapid.T) { w.changeDocument(t, false) },
			"(un)delete":       func(t *rapid.T) { w.changeDocument(t, true) },
			"a failing change": func(t *rapid.T) { w.fail(t) },
		})
		w.check(t)
	})
}

// pick returns one of the values, or nil: none, also when there are none.
func pick[T any](t *rapid.T, label string, vs []T) *T {
	n := rapid.IntRange(0, len(vs)).Draw(t, label)
	if n == len(vs) {
		return nil
	}
	return &vs[n]
}

func (w *world) pickFolder(t *rapid.T) *sheaf.FolderID {
	if d := pick(t, "folder", w.folders); d != nil {
		return &d.ID
	}
	return nil
}

func (w *world) addProject(t *rapid.T) {
	folder := w.pickFolder(t)
	p := w.project(func(p *sheaf.Project) { p.FolderID = folder })
	w.projects = append(w.projects, p.ID)
}

func (w *world) moveProject(t *rapid.T) {
	id := pick(t, "project", w.projects)
	if id == nil {
		return
	}
	folder := w.pickFolder(t)
	w.must(w.locked(func(tx *store.Tx, ws *sheaf.Workspace) error {
		before, err := tx.Project(ws.ID, *id)
		if err != nil {
			return err
		}
		p := before
		p.FolderID = folder
		return tx.UpdateProject(ws.ID, before, p)
	}))
}

func (w *world) removeProject(t *rapid.T) {
	id := pick(t, "project", w.projects)
	if id == nil {
		return
	}
	gone := *id
	w.must(w.locked(func(tx *store.Tx, ws *sheaf.Workspace) error {
		p, err := tx.Project(ws.ID, gone)
		if err != nil {
			return err
		}
		if _, err := unlink(tx, ws.ID, gone, w.now(), 1000); err != nil {
			return err
		}
		ws.Projects--
		return tx.DeleteProject(ws.ID, p)
	}))
	var left []sheaf.ProjectID
	for _, p := range w.projects {
		if p != gone {
			left = append(left, p)
		}
	}
	w.projects = left
}

// emptyFolder replaces a folder by a new one; its projects go to the root.
func (w *world) emptyFolder(t *rapid.T) {
	d := pick(t, "folder", w.folders)
	if d == nil {
		return
	}
	w.must(w.locked(func(tx *store.Tx, ws *sheaf.Workspace) error {
		if _, err := unfile(tx, ws.ID, d.ID, w.now(), 1000); err != nil {
			return err
		}
		return tx.DeleteFolder(ws.ID, d.ID)
	}))
	*d = w.folder(nil)
}

func (w *world) pickDrawer(t *rapid.T) *sheaf.FolderID {
	if d := pick(t, "drawer", w.drawers); d != nil {
		return &d.ID
	}
	return nil
}

func (w *world) addBranding(t *rapid.T) {
	drawer := w.pickDrawer(t)
	b := w.branding(func(b *sheaf.Branding) { b.FolderID = drawer })
	w.brandings = append(w.brandings, b.ID)
}

func (w *world) moveBranding(t *rapid.T) {
	id, drawer := pick(t, "branding", w.brandings), w.pickDrawer(t)
	if id == nil {
		return
	}
	w.must(w.locked(func(tx *store.Tx, ws *sheaf.Workspace) error {
		before, err := tx.Branding(ws.ID, *id)
		if err != nil {
			return err
		}
		b := before
		b.FolderID = drawer
		return tx.UpdateBranding(ws.ID, before, b)
	}))
}

func (w *world) removeBranding(t *rapid.T) {
	id := pick(t, "branding", w.brandings)
	if id == nil {
		return
	}
	gone := *id
	w.must(w.locked(func(tx *store.Tx, ws *sheaf.Workspace) error {
		b, err := tx.Branding(ws.ID, gone)
		if err != nil {
			return err
		}
		ws.Brandings--
		return tx.DeleteBranding(ws.ID, b)
	}))
	w.brandings = slices.DeleteFunc(w.brandings, func(id sheaf.BrandingID) bool { return id == gone })
}

func (w *world) addDocument(t *rapid.T) {
	project := pick(t, "project", w.projects)
	d := w.document(func(d *sheaf.Document) {
		if project != nil {
			d.ProjectID = ptr(*project)
		}
	})
	w.documents = append(w.documents, d.ID)
}

// changeDocument moves a document, or turns its being deleted round.
func (w *world) changeDocument(t *rapid.T, deletion bool) {
	id, project := pick(t, "document", w.documents), pick(t, "project", w.projects)
	if id == nil {
		return
	}
	w.must(w.locked(func(tx *store.Tx, ws *sheaf.Workspace) error {
		before, err := tx.AnyDocument(ws.ID, *id)
		if err != nil {
			return err
		}
		d := before
		switch {
		case !deletion && project != nil:
			d.ProjectID = ptr(*project)
		case !deletion:
			d.ProjectID = nil
		case d.Deleted == nil:
			d.Deleted = ptr(w.now())
			ws.Documents--
		default:
			d.Deleted = nil
			ws.Documents++
		}
		return tx.UpdateDocument(ws.ID, before, d)
	}))
}

func (w *world) fail(t *rapid.T) {
	folder := w.pickFolder(t)
	w.wantIs(w.locked(func(tx *store.Tx, ws *sheaf.Workspace) error {
		ws.Projects += 100
		p := sheaf.Project{ID: sheaf.ProjectID(w.id()), FolderID: folder, CreatedAt: w.now(), UpdatedAt: w.now(), Number: 1 << 40}
		if err := tx.InsertProject(ws.ID, p); err != nil {
			return err
		}
		if err := tx.SaveWorkspace(*ws); err != nil {
			return err
		}
		return errNo
	}), errNo)
}

// check reads every row through filters that have no counter.
func (w *world) check(t *rapid.T) {
	want := map[string]int64{}
	for _, id := range w.projects {
		p, err := w.loadProject(id)
		w.must(err)
		want["projects"]++
		if p.FolderID != nil {
			want["in folder "+string(*p.FolderID)]++
		}
	}
	for _, id := range w.brandings {
		b, err := w.loadBranding(id)
		w.must(err)
		want["brandings"]++
		if b.FolderID != nil {
			want["in drawer "+string(*b.FolderID)]++
		}
	}
	for _, id := range w.documents {
		d, err := try(w.fixture, func(r *store.Reader) (sheaf.Document, error) { return r.AnyDocument(w.ws.ID, id) })
		w.must(err)
		if d.Deleted != nil {
			continue
		}
		want["documents"]++
		if d.ProjectID != nil {
			want["in project "+string(*d.ProjectID)]++
		}
	}
	compare := func(what string, counter, listed int64) {
		if counter != want[what] || listed != want[what] {
			t.Fatalf("%s: counter %d, in the list %d, want %d", what, counter, listed, want[what])
		}
	}
	ws := w.workspace()
	compare("projects", ws.Projects, rows(w.fixture.projects(sheaf.ProjectFilter{Query: "plan"})))
	compare("documents", ws.Documents, rows(w.fixture.documents(sheaf.DocumentFilter{Query: "letter"})))
	compare("brandings", ws.Brandings, rows(w.fixture.brandings(sheaf.BrandingFilter{Query: "look"})))
	for _, d := range w.drawers {
		got, err := w.loadFolder(d.ID)
		w.must(err)
		compare("in drawer "+string(d.ID), got.BrandingCount, rows(w.fixture.brandings(sheaf.BrandingFilter{Folder: sheaf.Some(d.ID), Query: "look"})))
	}
	for _, d := range w.folders {
		got, err := w.loadFolder(d.ID)
		w.must(err)
		compare("in folder "+string(d.ID), got.ProjectCount, rows(w.fixture.projects(sheaf.ProjectFilter{Folder: sheaf.Some(d.ID), Query: "plan"})))
	}
	for _, id := range w.projects {
		p, err := w.loadProject(id)
		w.must(err)
		compare("in project "+string(id), p.DocumentCount, rows(w.fixture.documents(sheaf.DocumentFilter{Project: sheaf.Some(id), Query: "letter"})))
	}
}

func rows[T any](p sheaf.Page[T]) int64 {
	if p.Total <= int64(p.Limit) && p.Total != int64(len(p.Items)) {
		panic(fmt.Sprintf("a page of %d with total %d", len(p.Items), p.Total))
	}
	return p.Total
}
