package search_test

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	diff "github.com/google/go-cmp/cmp"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
	"pgregory.net/rapid"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// thing is a record of the model.
type thing struct {
	kind            sheaf.SearchType
	id              string
	title           string
	texts           []string // description and content
	project, folder string   // direct parents; empty: none
	updated         int64
}

// model holds what is stored, in memory. Its search reads all of it.
type model map[string]thing

var runs = regexp.MustCompile(`[\s\x{00A0}\x{3000}]+`)

// seen folds a text, written independently of Fold.
func seen(s string) string {
	folded := norm.NFC.String(cases.Fold().String(norm.NFD.String(width.Fold.String(s))))
	return runs.ReplaceAllString(folded, " ")
}

// search implements D91 directly.
func (m model) search(words []string, types []sheaf.SearchType, project, folder string) (found []thing) {
	for _, t := range m {
		if len(types) > 0 && !slices.Contains(types, t.kind) || !m.lies(t, project, folder) {
			continue
		}
		if !slices.ContainsFunc(words, func(w string) bool { return !t.has(w) }) {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b thing) int {
		if x, y := a.allInTitle(words), b.allInTitle(words); x != y {
			if x {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.updated, a.updated), cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id))
	})
	return found
}

func (t thing) has(word string) bool {
	word = seen(word)
	if strings.Contains(seen(t.title), word) {
		return true
	}
	return utf8.RuneCountInString(word) > 1 && slices.ContainsFunc(t.texts, func(s string) bool { return strings.Contains(seen(s), word) })
}

func (t thing) allInTitle(words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(seen(t.title), seen(w)) })
}

// folderOf returns the folder that contains a thing; for a document, that of its project.
func (m model) folderOf(t thing) string {
	if t.kind == sheaf.SearchDocument {
		return m[t.project].folder
	}
	return t.folder
}

func (m model) lies(t thing, project, folder string) bool {
	if project != "" && t.project != project {
		return false
	}
	if folder == "" {
		return true
	}
	for at := m.folderOf(t); at != ""; at = m[at].folder {
		if at == folder {
			return true
		}
	}
	return false
}

// pieces are what the texts and words of the test consist of. They are few, so that words are
// found, and they need every kind of folding: case, composed and decomposed accents, width and
// white space.
var pieces = []string{"a", "b", "A", "é", "e\u0301", "É", "ß", "SS", "ガ", "ｶﾞ", "カ", "文", "書", "Ａ", "ﬁ", "i", "İ", "Σ", "ς", " ", "\n ", "\u3000", "x"}

func text(max int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, max).Draw(t, "pieces"), "")
	})
}

// name generates a text that is not only white space.
func name(max int) *rapid.Generator[string] {
	return text(max).Filter(func(s string) bool { return strings.TrimSpace(s) != "" })
}

// run is one case of the model test: a workspace that changes, is indexed now and then, and is
// searched.
type run struct {
	*rapid.T
	w  *world
	c  app.Caller
	m  model
	in context.Context
	// contents are the documents' contents, which their records do not include.
	contents map[string]string
}

// D91, D92: after any changes in any order, and however far the index lags, a search finds what a
// scan of everything would find, in the same order, on both engines.
func TestModel_FindsWhatALookAtEverythingFinds(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.index.Small(5, 3)
		rapid.Check(t, func(rt *rapid.T) {
			r := &run{T: rt, w: w, c: w.workspace(), m: model{}, in: context.Background(), contents: map[string]string{}}
			rt.Repeat(map[string]func(*rapid.T){
				"create":   r.create,
				"change":   r.change,
				"move":     r.move,
				"delete":   r.delete,
				"take in":  func(*rapid.T) { r.must(w.index.CatchUp(r.in)) },
				"search":   r.search,
				"search 2": r.search,
			})
		})
	})
}

func (r *run) must(err error) {
	if err != nil {
		r.Fatal(err)
	}
}

// any draws the id of a record of `kind`, or "" for none.
func (r *run) any(t *rapid.T, kind sheaf.SearchType) string {
	ids := []string{""}
	for id, at := range r.m {
		if at.kind == kind {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return rapid.SampledFrom(ids).Draw(t, "a "+string(kind))
}

func opt[T ~string](id string) sheaf.Opt[T] {
	if id == "" {
		return sheaf.Nil[T]()
	}
	return sheaf.Some(T(id))
}

func (r *run) keepDocument(d sheaf.Document) {
	t := thing{kind: sheaf.SearchDocument, id: string(d.ID), title: d.Title, updated: d.UpdatedAt.UnixMilli()}
	if d.Description != nil {
		t.texts = append(t.texts, *d.Description)
	}
	t.texts = append(t.texts, r.contents[t.id])
	if d.ProjectID != nil {
		t.project = string(*d.ProjectID)
	}
	r.m[t.id] = t
}

func (r *run) keepProject(p sheaf.Project) {
	t := thing{kind: sheaf.SearchProject, id: string(p.ID), title: p.Name, updated: p.UpdatedAt.UnixMilli()}
	if p.Description != nil {
		t.texts = append(t.texts, *p.Description)
	}
	if p.FolderID != nil {
		t.folder = string(*p.FolderID)
	}
	r.m[t.id] = t
}

func (r *run) keepFolder(f sheaf.Folder) {
	t := thing{kind: sheaf.SearchFolder, id: string(f.ID), title: f.Name, updated: f.UpdatedAt.UnixMilli()}
	if f.ParentID != nil {
		t.folder = string(*f.ParentID)
	}
	r.m[t.id] = t
}

func (r *run) create(t *rapid.T) {
	title, description := sheaf.Some(name(6).Draw(t, "title")), sheaf.Some(text(12).Draw(t, "description"))
	switch rapid.SampledFrom(sheaf.SearchTypes).Draw(t, "kind") {
	case sheaf.SearchDocument:
		content := text(20).Draw(t, "content")
		d, err := r.w.app.CreateDocument(r.in, r.c, sheaf.DocumentChange{Title: title, Description: description, Content: sheaf.Some(content), ProjectID: opt[sheaf.ProjectID](r.any(t, sheaf.SearchProject))})
		r.must(err)
		r.contents[string(d.ID)] = content
		r.keepDocument(d)
	case sheaf.SearchProject:
		p, err := r.w.app.CreateProject(r.in, r.c, sheaf.ProjectChange{Name: title, Description: description, FolderID: opt[sheaf.FolderID](r.any(t, sheaf.SearchFolder))})
		r.must(err)
		r.keepProject(p)
	case sheaf.SearchFolder:
		f, err := r.w.app.CreateFolder(r.in, r.c, sheaf.FolderChange{Name: title, EntityType: sheaf.Some("project"), ParentID: opt[sheaf.FolderID](r.any(t, sheaf.SearchFolder))})
		if sheaf.KindOf(err) == sheaf.Invalid {
			return // too deep: nothing was created
		}
		r.must(err)
		r.keepFolder(f)
	}
}

func (r *run) change(t *rapid.T) {
	title := sheaf.Some(name(6).Draw(t, "title"))
	kind := rapid.SampledFrom(sheaf.SearchTypes).Draw(t, "kind")
	switch id := r.any(t, kind); {
	case id == "":
		return // there is none
	case kind == sheaf.SearchDocument:
		in := sheaf.DocumentChange{Title: title}
		if rapid.Bool().Draw(t, "the content instead") {
			r.contents[id] = text(20).Draw(t, "content")
			in = sheaf.DocumentChange{Content: sheaf.Some(r.contents[id])}
		}
		d, err := r.w.app.UpdateDocument(r.in, r.c, sheaf.DocumentID(id), in, sheaf.Match{})
		r.must(err)
		r.keepDocument(d)
	case kind == sheaf.SearchProject:
		p, err := r.w.app.UpdateProject(r.in, r.c, sheaf.ProjectID(id), sheaf.ProjectChange{Name: title}, sheaf.Match{})
		r.must(err)
		r.keepProject(p)
	default:
		f, err := r.w.app.UpdateFolder(r.in, r.c, sheaf.FolderID(id), sheaf.FolderChange{Name: title}, sheaf.Match{})
		r.must(err)
		r.keepFolder(f)
	}
}

func (r *run) move(t *rapid.T) {
	if rapid.Bool().Draw(t, "a document") {
		id := r.any(t, sheaf.SearchDocument)
		if id == "" {
			return // there is none
		}
		d, err := r.w.app.UpdateDocument(r.in, r.c, sheaf.DocumentID(id), sheaf.DocumentChange{ProjectID: opt[sheaf.ProjectID](r.any(t, sheaf.SearchProject))}, sheaf.Match{})
		r.must(err)
		r.keepDocument(d)
		return
	}
	id := r.any(t, sheaf.SearchProject)
	if id == "" {
		return // there is none
	}
	p, err := r.w.app.UpdateProject(r.in, r.c, sheaf.ProjectID(id), sheaf.ProjectChange{FolderID: opt[sheaf.FolderID](r.any(t, sheaf.SearchFolder))}, sheaf.Match{})
	r.must(err)
	r.keepProject(p)
}

// delete deletes a record and reads its dependants again.
func (r *run) delete(t *rapid.T) {
	kind := rapid.SampledFrom(sheaf.SearchTypes).Draw(t, "kind")
	switch id := r.any(t, kind); {
	case id == "":
		return // there is none
	case kind == sheaf.SearchDocument:
		r.must(r.w.app.DeleteDocument(r.in, r.c, sheaf.DocumentID(id), sheaf.Match{}))
	case kind == sheaf.SearchProject:
		r.must(r.w.app.DeleteProject(r.in, r.c, sheaf.ProjectID(id), sheaf.Match{}))
	default:
		r.must(r.w.app.DeleteFolder(r.in, r.c, sheaf.FolderID(id), sheaf.Match{}))
	}
	r.readAll()
}

// readAll rebuilds the model from the lists, which do not use the index.
func (r *run) readAll() {
	clear(r.m)
	all := sheaf.Paging{Limit: 1000}
	documents, err := r.w.app.Documents(r.in, r.c, sheaf.DocumentFilter{Paging: all})
	r.must(err)
	projects, err := r.w.app.Projects(r.in, r.c, sheaf.ProjectFilter{Paging: all})
	r.must(err)
	folders, err := r.w.app.Folders(r.in, r.c, sheaf.FolderFilter{Paging: all})
	r.must(err)
	for _, d := range documents.Items {
		r.keepDocument(d)
	}
	for _, p := range projects.Items {
		r.keepProject(p)
	}
	for _, f := range folders.Items {
		r.keepFolder(f)
	}
}

func (r *run) search(t *rapid.T) {
	words := rapid.SliceOfNDistinct(rapid.Map(name(3), strings.TrimSpace), 1, 3, func(s string) string { return s }).Draw(t, "words")
	q := sheaf.SearchQuery{Text: `"` + strings.Join(words, `" "`) + `"`}
	q.Types = rapid.SliceOfDistinct(rapid.SampledFrom(sheaf.SearchTypes), func(s sheaf.SearchType) sheaf.SearchType { return s }).Draw(t, "types")
	q.Limit, q.Offset = rapid.IntRange(1, 5).Draw(t, "limit"), rapid.IntRange(0, 4).Draw(t, "offset")
	var project, folder string
	if rapid.IntRange(0, 3).Draw(t, "narrow") == 0 {
		if project = r.any(t, sheaf.SearchProject); project != "" {
			q.Project = (*sheaf.ProjectID)(&project)
		}
		if folder = r.any(t, sheaf.SearchFolder); folder != "" {
			q.Folder = (*sheaf.FolderID)(&folder)
		}
	}
	got, err := r.w.app.Search(r.in, r.c, q)
	r.must(err)
	want := r.m.search(words, q.Types, project, folder)
	if got.Total != int64(len(want)) {
		t.Fatalf("%q: the total is %d, want %d", q.Text, got.Total, len(want))
	}
	want = want[min(q.Offset, len(want)):min(q.Offset+q.Limit, len(want))]
	if d := diff.Diff(idsOf(want, func(at thing) string { return at.id }), idsOf(got.Items, func(h sheaf.Hit) string { return h.ID })); d != "" {
		t.Fatalf("%q (-want +got):\n%s", q.Text, d)
	}
	for i, h := range got.Items {
		r.checkHit(t, h, want[i])
	}
}

func (r *run) checkHit(t *rapid.T, h sheaf.Hit, want thing) {
	project, folder := "", ""
	if h.ProjectID != nil {
		project = string(*h.ProjectID)
	}
	if h.FolderID != nil {
		folder = string(*h.FolderID)
	}
	if h.Type != want.kind || h.Title != want.title || project != want.project || folder != r.m.folderOf(want) || h.UpdatedAt.UnixMilli() != want.updated {
		t.Fatalf("got the hit %+v of %+v", h, want)
	}
	if n := utf8.RuneCountInString(h.Snippet); n > sheaf.MaxSnippet {
		t.Fatalf("a snippet of %d characters", n)
	}
}

func idsOf[T any](list []T, id func(T) string) (out []string) {
	for _, one := range list {
		out = append(out, id(one))
	}
	return out
}
