package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

func (f *fixture) projects(filter sheaf.ProjectFilter) sheaf.Page[sheaf.Project] {
	f.Helper()
	if filter.Limit == 0 {
		filter.Limit = 100
	}
	return get(f, func(r *store.Reader) (sheaf.Page[sheaf.Project], error) { return r.Projects(f.ws.ID, filter) })
}

func (f *fixture) documents(filter sheaf.DocumentFilter) sheaf.Page[sheaf.Document] {
	f.Helper()
	if filter.Limit == 0 {
		filter.Limit = 100
	}
	return get(f, func(r *store.Reader) (sheaf.Page[sheaf.Document], error) { return r.Documents(f.ws.ID, filter) })
}

func (f *fixture) folders(filter sheaf.FolderFilter) sheaf.Page[sheaf.Folder] {
	f.Helper()
	if filter.Limit == 0 {
		filter.Limit = 100
	}
	return get(f, func(r *store.Reader) (sheaf.Page[sheaf.Folder], error) { return r.Folders(f.ws.ID, filter) })
}

func projectNames(page sheaf.Page[sheaf.Project]) []string {
	return ids(page.Items, func(p sheaf.Project) string { return p.Name })
}

func (f *fixture) wantNames(what string, filter sheaf.ProjectFilter, want ...string) {
	f.Helper()
	page := f.projects(filter)
	same(f, what, projectNames(page), append([]string{}, want...))
	if page.Total != int64(len(want)) {
		f.Errorf("%s: total %d, want %d", what, page.Total, len(want))
	}
}

// wantOrder checks an order and that desc reverses all of it, ties too.
func (f *fixture) wantOrder(s sheaf.ProjectSort, want ...string) {
	f.Helper()
	f.wantNames(string(s), sheaf.ProjectFilter{Sort: s}, want...)
	slices.Reverse(want)
	f.wantNames(string(s)+" desc", sheaf.ProjectFilter{Sort: s, Paging: sheaf.Paging{Desc: true}}, want...)
}

func projectOrders(f *fixture) {
	at := f.now()
	for _, p := range []struct {
		name    string
		order   int32
		updated int
	}{{"b", 5, 3}, {"É", -1, 1}, {"a", 5, 3}, {"B", -1, 0}, {"ea", 5, 2}, {"Z", 2147483647, 9}, {"_", -2147483648, 9}} {
		f.project(func(q *sheaf.Project) {
			q.Name, q.SortOrder, q.UpdatedAt = p.name, p.order, at.Add(time.Duration(p.updated)*time.Second)
		})
	}
	f.wantOrder(sheaf.ByCreated, "b", "É", "a", "B", "ea", "Z", "_")
	f.wantOrder(sheaf.ByOrder, "_", "É", "B", "b", "a", "ea", "Z")
	f.wantOrder("", "_", "É", "B", "b", "a", "ea", "Z")
	f.wantOrder(sheaf.ByName, "_", "a", "b", "B", "ea", "Z", "É") // by code point after folding
	f.wantOrder(sheaf.ByUpdated, "B", "É", "ea", "b", "a", "Z", "_")
}

func documentOrders(f *fixture) {
	at := f.now()
	for _, d := range []struct {
		title   string
		updated int
	}{{"b", 2}, {"A", 2}, {"a", 1}} {
		f.document(func(q *sheaf.Document) { q.Title, q.UpdatedAt = d.title, at.Add(time.Duration(d.updated)*time.Second) })
	}
	for s, want := range map[sheaf.DocumentSort][]string{
		"":                       {"b", "A", "a"},
		sheaf.DocumentsByCreated: {"b", "A", "a"},
		sheaf.DocumentsByUpdated: {"a", "b", "A"},
		sheaf.DocumentsByTitle:   {"A", "a", "b"},
	} {
		for _, desc := range []bool{false, true} {
			page := f.documents(sheaf.DocumentFilter{Sort: s, Paging: sheaf.Paging{Limit: 9, Desc: desc}})
			same(f, fmt.Sprintf("%s, desc %t", s, desc), ids(page.Items, func(d sheaf.Document) string { return d.Title }), want)
			slices.Reverse(want)
		}
	}
}

// drawPaging draws any page of a list with about n items, also ones behind it.
func drawPaging(t *rapid.T, n int) sheaf.Paging {
	return sheaf.Paging{Limit: rapid.IntRange(1, n+5).Draw(t, "limit"), Offset: rapid.IntRange(0, n+5).Draw(t, "offset"),
		Desc: rapid.Bool().Draw(t, "desc")}
}

// wantPage compares a page with the same part of the whole list in its order.
func wantPage[ID any](t *rapid.T, got []ID, total int64, all []ID, p sheaf.Paging) {
	from := min(p.Offset, len(all))
	want := append([]ID{}, all[from:min(from+p.Limit, len(all))]...)
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Fatalf("page %+v of %d (-want +got):\n%s", p, len(all), diff)
	}
	if total != int64(len(all)) {
		t.Fatalf("total %d, want %d", total, len(all))
	}
}

// shapes are values with many ties.
func shape(n int) (name string, order int32, updated time.Duration) {
	return []string{"x", "Y", "y", "X", "z%"}[n%5], int32(n*7%4) - 1, time.Duration(n * 5 % 6)
}

func projectPages(f *fixture) {
	drawer, empty := f.folder(nil), f.folder(nil)
	at := f.now()
	var all []sheaf.Project
	for n := range 41 {
		all = append(all, f.project(func(p *sheaf.Project) {
			var updated time.Duration
			p.Name, p.SortOrder, updated = shape(n)
			p.UpdatedAt = at.Add(updated * time.Second)
			if n%3 == 0 {
				p.FolderID = &drawer.ID
			}
		}))
	}
	orders := map[sheaf.ProjectSort]func(a, b sheaf.Project) int{
		sheaf.ByOrder:   func(a, b sheaf.Project) int { return cmp.Compare(a.SortOrder, b.SortOrder) },
		sheaf.ByName:    func(a, b sheaf.Project) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) },
		sheaf.ByCreated: func(a, b sheaf.Project) int { return 0 },
		sheaf.ByUpdated: func(a, b sheaf.Project) int { return a.UpdatedAt.Compare(b.UpdatedAt) },
	}
	filters := map[sheaf.Opt[sheaf.FolderID]]func(sheaf.Project) bool{
		{}:                          func(sheaf.Project) bool { return true },
		sheaf.Nil[sheaf.FolderID](): func(p sheaf.Project) bool { return p.FolderID == nil },
		sheaf.Some(drawer.ID):       func(p sheaf.Project) bool { return p.FolderID != nil },
		sheaf.Some(empty.ID):        func(sheaf.Project) bool { return false },
	}
	rapid.Check(f.T, func(t *rapid.T) {
		filter := sheaf.ProjectFilter{Paging: drawPaging(t, len(all)), Sort: rapid.SampledFrom(keys(orders)).Draw(t, "sort"),
			Query: rapid.SampledFrom([]string{"", "X", "z%", "none"}).Draw(t, "query")}
		filter.Folder = rapid.SampledFrom(keys(filters)).Draw(t, "folder")
		var want []sheaf.Project
		for _, p := range all {
			if filters[filter.Folder](p) && strings.Contains(strings.ToLower(p.Name), strings.ToLower(filter.Query)) {
				want = append(want, p)
			}
		}
		ordered(want, orders[filter.Sort], func(p sheaf.Project) int64 { return p.Number }, filter.Desc)
		page := f.projects(filter)
		id := func(p sheaf.Project) sheaf.ProjectID { return p.ID }
		wantPage(t, ids(page.Items, id), page.Total, ids(want, id), filter.Paging)
	})
}

func keys[K comparable, V any](m map[K]V) []K {
	out := make([]K, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b K) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return out
}

// ordered sorts by compare, then by creation, all of it reversed with desc.
func ordered[T any](items []T, compare func(a, b T) int, number func(T) int64, desc bool) {
	slices.SortFunc(items, func(a, b T) int { return cmp.Or(compare(a, b), cmp.Compare(number(a), number(b))) })
	if desc {
		slices.Reverse(items)
	}
}

func folderPages(f *fixture) {
	top := f.folder(func(d *sheaf.Folder) { d.Name = "x"; d.EntityType = sheaf.BrandingFolder })
	all := []sheaf.Folder{top}
	for n := range 23 {
		all = append(all, f.folder(func(d *sheaf.Folder) {
			d.Name, d.SortOrder, _ = shape(n)
			if n%2 == 0 {
				d.ParentID, d.Depth, d.EntityType = &top.ID, 2, sheaf.BrandingFolder
			}
		}))
	}
	rapid.Check(f.T, func(t *rapid.T) {
		filter := sheaf.FolderFilter{Paging: drawPaging(t, len(all)), Sort: sheaf.ByName,
			EntityType: rapid.SampledFrom([]sheaf.EntityType{"", sheaf.ProjectFolder, sheaf.BrandingFolder}).Draw(t, "type")}
		filter.Parent = rapid.SampledFrom([]sheaf.Opt[sheaf.FolderID]{{}, sheaf.Nil[sheaf.FolderID](), sheaf.Some(top.ID)}).Draw(t, "parent")
		var want []sheaf.Folder
		for _, d := range all {
			parent := !filter.Parent.Set || filter.Parent.Null == (d.ParentID == nil)
			if parent && (filter.EntityType == "" || filter.EntityType == d.EntityType) {
				want = append(want, d)
			}
		}
		ordered(want, func(a, b sheaf.Folder) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) },
			func(d sheaf.Folder) int64 { return d.Number }, filter.Desc)
		page := f.folders(filter)
		id := func(d sheaf.Folder) sheaf.FolderID { return d.ID }
		wantPage(t, ids(page.Items, id), page.Total, ids(want, id), filter.Paging)
	})
}

func documentPages(f *fixture) {
	in := f.project(nil)
	at := f.now()
	var all []sheaf.Document
	for n := range 29 {
		d := f.document(func(d *sheaf.Document) {
			var updated time.Duration
			d.Title, _, updated = shape(n)
			d.UpdatedAt = at.Add(updated * time.Second)
			if n%3 == 0 {
				d.ProjectID = &in.ID
			}
		})
		if n%4 == 0 {
			gone := d
			gone.Deleted = ptr(f.now())
			f.change(d, gone, -1)
			continue
		}
		all = append(all, d)
	}
	orders := map[sheaf.DocumentSort]func(a, b sheaf.Document) int{
		sheaf.DocumentsByCreated: func(a, b sheaf.Document) int { return 0 },
		sheaf.DocumentsByUpdated: func(a, b sheaf.Document) int { return a.UpdatedAt.Compare(b.UpdatedAt) },
		sheaf.DocumentsByTitle: func(a, b sheaf.Document) int {
			return strings.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title))
		},
	}
	rapid.Check(f.T, func(t *rapid.T) {
		filter := sheaf.DocumentFilter{Paging: drawPaging(t, len(all)), Sort: rapid.SampledFrom(keys(orders)).Draw(t, "sort"),
			Query: rapid.SampledFrom([]string{"", "y"}).Draw(t, "query")}
		filter.Project = rapid.SampledFrom([]sheaf.Opt[sheaf.ProjectID]{{}, sheaf.Nil[sheaf.ProjectID](), sheaf.Some(in.ID)}).Draw(t, "project")
		var want []sheaf.Document
		for _, d := range all {
			project := !filter.Project.Set || filter.Project.Null == (d.ProjectID == nil)
			if project && strings.Contains(strings.ToLower(d.Title), filter.Query) {
				want = append(want, d)
			}
		}
		ordered(want, orders[filter.Sort], func(d sheaf.Document) int64 { return d.Number }, filter.Desc)
		page := f.documents(filter)
		id := func(d sheaf.Document) sheaf.DocumentID { return d.ID }
		wantPage(t, ids(page.Items, id), page.Total, ids(want, id), filter.Paging)
	})
}

func (f *fixture) named(names ...string) {
	f.Helper()
	for _, name := range names {
		f.project(func(p *sheaf.Project) { p.Name = name })
	}
}

func searchFolds(f *fixture) {
	composed, apart := "Caf\u00c9 Noir", "cafe\u0301 noir"
	f.named(composed, apart, "Straße", "ΣΊΣΥΦΟΣ", "plain")
	for query, want := range map[string][]string{
		"\u00e9 NOIR":  {composed, apart},
		"E\u0301":      {composed, apart},
		"STRASSE":      {"Straße"},
		"straße":       {"Straße"},
		"σίσυφος":      {"ΣΊΣΥΦΟΣ"},
		"PLA":          {"plain"},
		"plain ":       {},
		"cafe":         {}, // an accent is a letter, not an ornament
		"caf\u00e9":    {composed, apart},
		"\u212aplain":  {}, // the Kelvin sign is a k
		"no such text": {},
	} {
		f.wantNames("search for "+query, sheaf.ProjectFilter{Query: query}, want...)
	}
	f.folder(func(d *sheaf.Folder) { d.Name = "Straße" })
	f.folder(func(d *sheaf.Folder) { d.Name = "Weg" })
	if got := f.folders(sheaf.FolderFilter{Query: "STRASSE", Paging: sheaf.Paging{Limit: 10}}); got.Total != 1 || got.Items[0].Name != "Straße" {
		f.Errorf("a search of folders found %+v", got)
	}
}

func searchLiteral(f *fixture) {
	f.named("100%", "100 of 1000", "a_b", "aXb", `it's "so"`, `back\slash`, "*", "a.b", "$1", "?")
	for query, want := range map[string][]string{
		"%": {"100%"}, "_": {"a_b"}, "'": {`it's "so"`}, `"`: {`it's "so"`}, `\`: {`back\slash`}, "*": {"*"},
		"a.b": {"a.b"}, "$1": {"$1"}, "?": {"?"}, "' OR 1=1 --": {}, "100": {"100%", "100 of 1000"},
	} {
		f.wantNames("search for "+query, sheaf.ProjectFilter{Query: query}, want...)
	}
}

func searchDescriptions(f *fixture) {
	f.project(func(p *sheaf.Project) { p.Name, p.Description = "one", ptr("Holds a Fish") })
	f.project(func(p *sheaf.Project) { p.Name, p.Description = "FISH", nil })
	f.project(func(p *sheaf.Project) { p.Name, p.Description = "none", ptr("") })
	f.wantNames("name or description", sheaf.ProjectFilter{Query: "fish"}, "one", "FISH")
	f.document(func(d *sheaf.Document) { d.Title, d.Description = "one", ptr("Holds a Fish") })
	f.document(func(d *sheaf.Document) { d.Title = "none" })
	page := f.documents(sheaf.DocumentFilter{Query: "FISH"})
	if len(page.Items) != 1 || page.Items[0].Title != "one" || page.Total != 1 {
		f.Errorf("got %+v, want one document", page)
	}
}

func filterFolder(f *fixture) {
	one, two := f.folder(nil), f.folder(nil)
	f.project(func(p *sheaf.Project) { p.Name, p.FolderID = "in one", &one.ID })
	f.project(func(p *sheaf.Project) { p.Name = "at the root" })
	f.wantNames("everywhere", sheaf.ProjectFilter{}, "in one", "at the root")
	f.wantNames("in a folder", sheaf.ProjectFilter{Folder: sheaf.Some(one.ID)}, "in one")
	f.wantNames("in an empty folder", sheaf.ProjectFilter{Folder: sheaf.Some(two.ID)})
	f.wantNames("in an unknown folder", sheaf.ProjectFilter{Folder: sheaf.Some(sheaf.FolderID(f.id()))})
	f.wantNames("at the root", sheaf.ProjectFilter{Folder: sheaf.Nil[sheaf.FolderID]()}, "at the root")
	f.wantNames("in a folder, searched", sheaf.ProjectFilter{Folder: sheaf.Some(one.ID), Query: "root"})
}
