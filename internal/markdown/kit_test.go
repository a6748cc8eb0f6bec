package markdown

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

// files is a tree: texts by path.
type files map[string]string

func (f files) tree(t fataler) *Tree {
	t.Helper()
	tree, err := f.open()
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func (f files) open() (*Tree, error) {
	m := fstest.MapFS{}
	for name, text := range f {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return openFS(m)
}

// zipped returns the files of a folder as an archive that has entries for the folders too.
func zipped(t testing.TB, dir string) *Tree {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	tree, err := newZip(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func opened(t testing.TB, dir string) *Tree {
	t.Helper()
	tree, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return tree
}

// workspace is what a server would hold.
type workspace struct {
	folders   []Folder
	projects  []Project
	documents []Document
	media     []Medium
	bytes     map[string]string // bytes of media, by id
	texts     map[string]string // by document
	versions  map[string]int    // number of times that its text was set
	ids       int
}

func newWorkspace() *workspace {
	return &workspace{bytes: map[string]string{}, texts: map[string]string{}, versions: map[string]int{}}
}

func (w *workspace) id() string {
	w.ids++
	return fmt.Sprintf("00000000-0000-7000-8000-%012d", w.ids)
}

// fataler fails a test, or one case of rapid.
type fataler interface {
	Helper()
	Fatal(...any)
	Errorf(string, ...any)
}

// take does what an import does.
func (w *workspace) take(t fataler, tree *Tree, source string) Plan {
	t.Helper()
	l, err := Load(tree, source)
	if err != nil {
		t.Fatal(err)
	}
	return w.takeLibrary(t, l)
}

// takeProject does what an import with --as-project does.
func (w *workspace) takeProject(t fataler, tree *Tree, source string) Plan {
	t.Helper()
	l, err := LoadProject(tree, source)
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(w.projects, func(p Project) bool { return p.ExternalID == ExternalID(source, Root) }); i >= 0 {
		l.Home = w.projects[i].ID
	}
	return w.takeLibrary(t, l)
}

func (w *workspace) takeLibrary(t fataler, l *Library) Plan {
	t.Helper()
	media := Know(w.media)
	plan, err := l.Compare(w.documents, media)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range plan.Upload {
		media.Add(f, w.upload(t, l, f))
	}
	ids := map[string]string{}
	for _, d := range w.documents {
		ids[d.ExternalID] = d.ID
	}
	known := func(e *Entry) (string, bool) {
		id, ok := ids[e.ExternalID]
		return id, ok
	}
	text := func(e *Entry) (string, bool) {
		text, whole, err := l.Content(e, known, media)
		if err != nil {
			t.Fatal(err)
		}
		return text, whole
	}
	var again []*Entry
	for _, d := range plan.Detach {
		w.document(d.ID).ParentID = ""
		w.check(t)
	}
	for _, c := range plan.Place {
		e, folder := c.Entry, c.Folder()
		if l.AsProject {
			folder = ""
		}
		d := Document{ID: c.Document.ID, ExternalID: e.ExternalID, ProjectID: w.place(PlaceOf(folder, l.Source, 0), l.Source), Page: e.Page}
		if l.AsProject {
			d.SortOrder = e.SortOrder
		}
		if e.Parent != nil {
			if d.ParentID = ids[e.Parent.ExternalID]; d.ParentID == "" {
				t.Errorf("%s is made before its parent", e.Path)
			}
		}
		if d.ID != "" {
			old := w.document(d.ID)
			w.carry(old.ID, d.ProjectID)
			old.ParentID, old.SortOrder = d.ParentID, d.SortOrder
			w.check(t)
			continue
		}
		content, whole := text(e)
		id := w.id()
		if d.ID = id; !l.AsProject {
			d.SortOrder = int64(w.ids) * sheaf.OrderStep
		}
		w.documents = append(w.documents, d)
		w.documents[len(w.documents)-1].Metadata = l.Metadata(e, media)
		w.check(t)
		w.write(id, content)
		ids[e.ExternalID] = id
		if !whole {
			again = append(again, e)
		}
	}
	for _, c := range plan.Update {
		i := slices.IndexFunc(w.documents, func(d Document) bool { return d.ID == c.Document.ID })
		w.documents[i].Page = c.Page
		w.documents[i].Metadata = l.Metadata(c.Entry, media)
		again = append(again, c.Entry)
	}
	for _, e := range again {
		content, whole := text(e)
		if !whole {
			t.Errorf("%s: a link has no id at the end", e.Path)
		}
		w.write(ids[e.ExternalID], content)
	}
	return plan
}

func (w *workspace) document(id string) *Document {
	return &w.documents[slices.IndexFunc(w.documents, func(d Document) bool { return d.ID == id })]
}

// carry moves a document, and those below it, to a project.
func (w *workspace) carry(id, project string) {
	w.document(id).ProjectID = project
	for i := range w.documents {
		if w.documents[i].ParentID == id && w.documents[i].ProjectID != project {
			w.carry(w.documents[i].ID, project)
		}
	}
}

// check refuses what a server refuses.
func (w *workspace) check(t fataler) {
	t.Helper()
	byID := map[string]Document{}
	for _, d := range w.documents {
		byID[d.ID] = d
	}
	for _, d := range w.documents {
		level := 1
		for at := d; at.ParentID != ""; at = byID[at.ParentID] {
			if level++; level > sheaf.MaxLevels || byID[at.ParentID].ProjectID != d.ProjectID {
				t.Fatal("a server refuses the place of " + d.ExternalID)
			}
		}
	}
}

// outline returns the titles of a project in reading order, indented by level.
func (w *workspace) outline(project string) string {
	var b strings.Builder
	var below func(parent, indent string)
	below = func(parent, indent string) {
		var level []Document
		for _, d := range w.documents {
			if d.ProjectID == project && d.ParentID == parent {
				level = append(level, d)
			}
		}
		slices.SortStableFunc(level, func(a, b Document) int { return cmp.Compare(a.SortOrder, b.SortOrder) })
		for _, d := range level {
			fmt.Fprintf(&b, "%s%s\n", indent, d.Title)
			below(d.ID, indent+"  ")
		}
	}
	below("", "")
	return b.String()
}

// upload makes a medium of a file.
func (w *workspace) upload(t fataler, l *Library, f *File) string {
	t.Helper()
	r, err := l.OpenFile(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil || sum(string(content)) != f.SHA256 || int64(len(content)) != f.Bytes {
		t.Errorf("%s is not what was judged: %v", f.Path, err)
	}
	if err := sheaf.CheckFilename(f.Name); err != nil {
		t.Errorf("no server takes the name of %s: %v", f.Path, err)
	}
	return w.medium(f.Name, string(content))
}

// medium adds a medium.
func (w *workspace) medium(name, content string) string {
	id := w.id()
	w.media = append(w.media, Medium{id, name, sum(content)})
	w.bytes[id] = content
	return id
}

func (w *workspace) write(id, text string) {
	if old, there := w.texts[id]; !there || old != text {
		w.texts[id] = text
		w.versions[id]++
	}
	i := slices.IndexFunc(w.documents, func(d Document) bool { return d.ID == id })
	w.documents[i].SHA256 = sum(text)
}

// place finds or creates the project of a place.
func (w *workspace) place(p Place, source string) string {
	parent := ""
	for i, d := range p.Folders {
		ext := ExternalID(source, d.Path)
		at := slices.IndexFunc(w.folders, func(f Folder) bool { return f.ExternalID == ext })
		if at < 0 {
			at = len(w.folders)
			w.folders = append(w.folders, Folder{ID: w.id(), ParentID: parent, Name: d.Name, ExternalID: ext, Depth: i + 1})
		}
		parent = w.folders[at].ID
	}
	ext := ExternalID(source, p.Project.Path)
	at := slices.IndexFunc(w.projects, func(p Project) bool { return p.ExternalID == ext })
	if at < 0 {
		at = len(w.projects)
		w.projects = append(w.projects, Project{ID: w.id(), FolderID: parent, Name: p.Project.Name, ExternalID: ext})
	}
	return w.projects[at].ID
}

// export returns what an export writes.
func (w *workspace) export(t fataler) files {
	t.Helper()
	return w.exportAt(t, Layout(w.folders, w.projects, w.documents))
}

// exportProject returns what an export of one project writes.
func (w *workspace) exportProject(t fataler, project string) files {
	t.Helper()
	var documents []Document
	for _, d := range w.documents {
		if d.ProjectID == project {
			documents = append(documents, d)
		}
	}
	return w.exportAt(t, LayoutProject(documents))
}

func (w *workspace) exportAt(t fataler, places Places) files {
	t.Helper()
	written := slices.DeleteFunc(slices.Clone(w.documents), func(d Document) bool { return places.Paths[d.ID] == "" })
	x, out := NewExport(places, MediaPaths(places.Paths, written, w.media)), files{}
	for _, id := range x.IDs() {
		d := *w.document(id)
		page := d.Page
		page.Content = w.texts[d.ID]
		for _, id := range MediaIn(page.Content) {
			if path, known := x.MediumPath(id); known {
				out[path] = w.bytes[id]
			}
		}
		path, data := x.File(d.ID, page)
		if _, twice := out[path]; twice {
			t.Errorf("%s is written twice", path)
		}
		out[path] = string(data)
	}
	return out
}

// where returns the path of names to a document.
func (w *workspace) where(d Document) string {
	i := slices.IndexFunc(w.projects, func(p Project) bool { return p.ID == d.ProjectID })
	if i < 0 {
		return ""
	}
	out := w.projects[i].Name
	for at := w.projects[i].FolderID; at != ""; {
		i := slices.IndexFunc(w.folders, func(f Folder) bool { return f.ID == at })
		out, at = w.folders[i].Name+" > "+out, w.folders[i].ParentID
	}
	return out
}

// String returns the whole workspace for a golden file, with names in place of ids.
func (w *workspace) String() string {
	var b strings.Builder
	names := []string{}
	for _, d := range w.documents {
		names = append(names, d.ID, path.Base(d.ExternalID))
	}
	for _, m := range w.media {
		names = append(names, m.ID, m.Filename)
	}
	named := strings.NewReplacer(names...)
	all := slices.Clone(w.documents)
	slices.SortFunc(all, func(a, b Document) int { return strings.Compare(a.ExternalID, b.ExternalID) })
	for _, d := range all {
		fmt.Fprintf(&b, "=== %s\nin %s\ntitle %s\n", d.ExternalID, w.where(d), d.Title)
		if d.Description != "" {
			fmt.Fprintf(&b, "description %s\n", d.Description)
		}
		for _, name := range slices.Sorted(maps.Keys(d.Metadata)) {
			fmt.Fprintf(&b, "metadata %s = %s\n", name, named.Replace(d.Metadata[name]))
		}
		b.WriteString("---\n" + named.Replace(w.texts[d.ID]))
	}
	return b.String()
}

// sameFiles reports an error for every file that differs.
func sameFiles(t testing.TB, got, want files) {
	t.Helper()
	for path, text := range want {
		if other, there := got[path]; !there || other != text {
			t.Errorf("%s: there %t\n got %q\nwant %q", path, there, other, text)
		}
	}
	for path := range got {
		if _, there := want[path]; !there {
			t.Errorf("%s is new", path)
		}
	}
}

// ofFolder returns the Markdown files of a folder.
func ofFolder(t testing.TB, dir string) files {
	t.Helper()
	out := files{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !IsMarkdown(name) {
			return err
		}
		data, err := os.ReadFile(path.Join(dir, name))
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
