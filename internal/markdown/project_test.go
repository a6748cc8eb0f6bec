package markdown

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sheaf.dev/internal/sheaf"
)

// treeOf imports files as a project, and returns the titles in reading order.
func (f files) treeOf(t *testing.T) string {
	t.Helper()
	w := newWorkspace()
	w.takeProject(t, f.tree(t), "s")
	return w.outline(w.projects[0].ID)
}

// D164: folders become documents with children, with the text of their index or README.
func TestProject_TreeOfFolders(t *testing.T) {
	t.Parallel()
	for about, c := range map[string]struct {
		files files
		want  string
	}{
		"index, README, neither": {files{"README.md": "# Start", "a/index.md": "# A", "a/x.md": "", "b/README.md": "# B", "b/y.md": "", "c/z.md": "", "c/d/w.md": ""},
			"Start\nA\n  x\nB\n  y\nc\n  d\n    w\n  z\n"},
		"index before README":                     {files{"a/README.md": "# Read", "a/index.md": "# Index", "a/b.md": ""}, "Index\n  Read\n  b\n"},
		"a file beside the folder":                {files{"a.md": "# A", "a/b.md": "", "a/b/c.md": ""}, "A\n  b\n    c\n"},
		"a file beside a folder with an index":    {files{"a.md": "# Beside", "a/index.md": "# In", "a/b.md": ""}, "Beside\nIn\n  b\n"},
		"numbers by their value, whatever case":   {files{"10.md": "", "9.md": "", "b.md": "", "A.md": "", "C/x.md": ""}, "9\n10\nA\nb\nC\n  x\n"},
		"order first, and by its value":           {files{"a.md": "", "b.md": "---\norder: 10\n---\n", "c.md": "---\norder: 9\n---\n", "d/index.md": "---\norder: 9.5\n---\n", "d/e.md": "---\norder: first\n---\n"}, "c\nd\n  e\nb\na\n"},
		"mkdocs without nav: files, then folders": {files{"mkdocs.yml": "site_name: x", "docs/index.md": "# Home", "docs/b.md": "", "docs/B.md": "", "docs/a/x.md": ""}, "Home\nB\nb\na\n  x\n"},
		"Obsidian: folders, then files":           {files{".obsidian/app.json": "{}", "b.md": "", "Z/x.md": "", "a.md": ""}, "Z\n  x\na\nb\n"},
		"a vault in a folder":                     {files{"Vault/.obsidian/app.json": "{}", "Vault/a.md": "", "Vault/Z/x.md": ""}, "Z\n  x\na\n"},
		"a vault beside others":                   {files{"Vault/.obsidian/app.json": "{}", "Vault/a.md": "", "b.md": ""}, "b\nVault\n  a\n"},
		"mkdocs in a folder":                      {files{"main/mkdocs.yml": "nav: [b.md, a.md]", "main/README.md": "", "main/docs/a.md": "", "main/docs/b.md": ""}, "b\na\n"},
		"Docusaurus": {files{"intro.md": "---\nsidebar_position: 2\n---\n", "z.md": "---\nsidebar_position: 1\n---\n", "tutorial/_category_.json": `{"label": "The tutorial", "position": 1.5}`, "tutorial/02-b.md": "# Two", "tutorial/1-a.md": "# One",
			"tutorial/more/more.md": "# More", "tutorial/more/x.md": "", "api/_category_.yml": "position: '3'", "api/index.md": "# API"}, "z\nThe tutorial\n  One\n  Two\n  More\n    x\nintro\nAPI\n"},
		"Docusaurus: folders with numbers": {files{"docusaurus.config.js": "", "10-last/a.md": "", "2-first/03-b.md": "", "2-first/04-c.md": "# Four"}, "first\n  b\n  Four\nlast\n  a\n"},
	} {
		if got := c.files.treeOf(t); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", about, got, c.want)
		}
	}
}

// D164: the nav of mkdocs gives the tree, the order and the titles. Pages that it does not name come
// after the others.
func TestProject_NavOfMkdocs(t *testing.T) {
	t.Parallel()
	nav := `
nav:
  - Home: index.md
  - about.md
  - Guide:
      - guide/index.md
      - Install: guide/install.md
      - Deeper:
          - guide/deep/a.md
  - Reference:
      - Second: ref/b.md
      - First: ref/a.md
  - Mixed:
      - config.md
      - Again: guide/install.md
  - Mapping:
      Sub: {One: map/one/README.md, Two: map/two/index.md}
  - Tools: [tools/a.md]
  - More tools: [tools/b.md]
  - Elsewhere: https://example.com/
  - Missing: missing.md
  - Nothing: []
`
	f := files{"mkdocs.yml": "theme:\n  x: !!python/name:y\n" + nav}
	for _, p := range []string{"index.md", "about.md", "guide/index.md", "guide/install.md", "guide/deep/a.md", "guide/left.md", "ref/a.md", "ref/b.md", "config.md", "other/o.md", "map/one/README.md", "map/two/index.md", "map/two/x.md", "tools/a.md", "tools/b.md", "tools/c.md"} {
		f["docs/"+p] = "# Heading of " + p + "\n"
	}
	want := `Home
Heading of about.md
Guide
  Install
  Deeper
    Heading of guide/deep/a.md
  Heading of guide/left.md
Reference
  Second
  First
Mixed
  Heading of config.md
Mapping
  Sub
    One
    Two
      Heading of map/two/x.md
Tools
  Heading of tools/a.md
More tools
  Heading of tools/b.md
other
  Heading of other/o.md
tools
  Heading of tools/c.md
`
	if got := f.treeOf(t); got != want {
		t.Errorf("got\n%s", got)
	}
	first := roundTrip(t, f.tree(t))
	for _, p := range []string{"index.md", "guide/index.md", "guide/install.md", "Mixed/config.md"} {
		if _, there := first[p]; !there {
			t.Errorf("%s is missing among %q", p, slices.Sorted(maps.Keys(first)))
		}
	}
}

// roundTrip imports files as a project, exports it, imports that into an empty workspace and exports
// it again. Trees and files must be equal. It returns the files.
func roundTrip(t *testing.T, tree *Tree) files {
	t.Helper()
	w, other := newWorkspace(), newWorkspace()
	w.takeProject(t, tree, "s")
	if plan := w.takeProject(t, tree, "s"); len(plan.Create)+len(plan.Update)+len(plan.Trash) > 0 {
		t.Errorf("a second import: %d, %d, %d", len(plan.Create), len(plan.Update), len(plan.Trash))
	}
	first := w.exportProject(t, w.projects[0].ID)
	other.takeProject(t, first.tree(t), "s2")
	if a, b := w.outline(w.projects[0].ID), other.outline(other.projects[0].ID); a != b {
		t.Errorf("the tree\n%s\nbecame\n%s", a, b)
	}
	sameFiles(t, other.exportProject(t, other.projects[0].ID), first)
	sameFiles(t, other.export(t), first) // the whole workspace, which has nothing else
	return first
}

// D164: folders of mkdocs, Docusaurus, Obsidian and Outline become the tree that their authors see,
// and come back byte for byte. testdata/SOURCES.txt says which of them are real.
func TestProject_Fixtures(t *testing.T) {
	t.Parallel()
	trees := map[string]*Tree{}
	for _, name := range []string{"mkdocs-nav", "docusaurus", "mkdocs", "obsidian", "outline"} {
		trees[name] = opened(t, "testdata/"+name)
	}
	// Outline lists the pages of an archive in the order that their authors gave them.
	var entries []entry
	for _, name := range []string{"People/How we work.md", "Engineering/Runbook- restore a backup.md", "Engineering/uploads/desk.png", "Engineering/uploads/office.png", "Engineering/Onboarding.md", "Engineering/Onboarding/First day.md"} {
		data, err := os.ReadFile("testdata/outline/" + name)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, entry{name: name, text: string(data)})
	}
	archived, err := zipTree(archive(t, entries...))
	if err != nil {
		t.Fatal(err)
	}
	trees["outline-archive"] = archived
	for name, tree := range trees {
		w := newWorkspace()
		w.takeProject(t, tree, "s")
		got, golden := w.outline(w.projects[0].ID), "testdata/"+name+".tree"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s became\n%s", name, got)
		}
		roundTrip(t, tree)
	}
}

// The documentation of this repository comes back from a project too, without new files. A link to a
// folder gets a slash.
func TestProject_OfOurOwnDocs(t *testing.T) {
	t.Parallel()
	first, want := roundTrip(t, opened(t, "../../docs")), ofFolder(t, "../../docs")
	for p, text := range first {
		if IsMarkdown(p) && text != strings.ReplaceAll(want[p], "](decisions)", "](decisions/)") {
			t.Errorf("%s is different", p)
		}
		delete(want, p)
	}
	if len(want) > 0 {
		t.Errorf("missing: %q", slices.Sorted(maps.Keys(want)))
	}
}

// D164: a tree of more than five levels is refused before anything is sent, with the folder's name.
func TestProject_TooDeep(t *testing.T) {
	t.Parallel()
	if _, err := LoadProject(files{"a/b/c/d/x.md": ""}.tree(t), "s"); err != nil {
		t.Error(err)
	}
	for _, f := range []files{{"a/b/c/d/e/x.md": "", "y.md": ""}, {"a/b/c/d/e/index.md": "", "a/b/c/d/e/x.md": ""}, {"a/b/c/d/e.md": "", "a/b/c/d/e/x.md": ""}} {
		if _, err := LoadProject(f.tree(t), "s"); err == nil || !strings.HasPrefix(err.Error(), "a/b/c/d/e is too deep") || !strings.Contains(err.Error(), "at most 5 levels") {
			t.Errorf("%v: %v", f, err)
		}
	}
}

// A nav with more sections than a tree has entries is refused.
func TestProject_NavOfTooManySections(t *testing.T) {
	t.Parallel()
	nav := "nav:\n" + strings.Repeat("- S: [a.md]\n", MaxEntries+1)
	if _, err := LoadProject(files{"mkdocs.yml": nav, "docs/a.md": ""}.tree(t), "s"); err == nil || !strings.Contains(err.Error(), "more than 100000 documents") {
		t.Error(err)
	}
}

// D164: a second import changes nothing; a changed tree moves only what has another place.
func TestProject_SecondImport(t *testing.T) {
	t.Parallel()
	f := files{"index.md": "To [a](a/) and [x](a/x.md).", "a/x.md": "Up to [a](./).", "b/index.md": "# B", "b/y.md": "", "b/z.md": ""}
	w := newWorkspace()
	w.takeProject(t, f.tree(t), "s")
	if text := w.texts[w.document(w.byExternal("s:a/x.md")).ID]; text != "Up to [a](document:"+w.byExternal("s:a/")+")." {
		t.Errorf("the link to a folder is %q", text)
	}
	if plan := w.takeProject(t, f.tree(t), "s"); len(plan.Create)+len(plan.Update)+len(plan.Trash)+len(plan.Place) > 0 {
		t.Errorf("a second time: %+v", plan)
	}
	sameFiles(t, w.export(t), f)
	w.document(w.byExternal("s:index.md")).ProjectID = w.place(PlaceOf("elsewhere", "s", 0), "s")
	if plan := w.takeProject(t, f.tree(t), "s"); len(plan.Update) != 1 || !slices.Equal(plan.Update[0].Fields, []string{"project_id", "sort_order"}) {
		t.Errorf("a document of another project: %+v", plan.Update)
	}
	f["b/y2.md"] = ""
	delete(f, "index.md")
	f["b/y.md"] = "---\norder: 1\n---\n"
	f["a/w.md"], f["a/x.md"] = f["a/x.md"], f["b/z.md"]
	plan := w.takeProject(t, f.tree(t), "s")
	if len(plan.Create) != 2 || len(plan.Trash) != 1 || plan.Kept != 0 {
		t.Errorf("%d created, %d gone, %d kept", len(plan.Create), len(plan.Trash), plan.Kept)
	}
	if got := w.outline(w.projects[0].ID); got != "index\na\n  w\n  x\nB\n  y\n  y2\n  z\n" {
		t.Errorf("got\n%s", got)
	}
	for _, c := range plan.Update {
		if slices.Contains(c.Fields, "sort_order") {
			t.Errorf("%s got another number: %v", c.Path, c.Fields)
		}
	}
	f["b/z.md"] = "---\norder: 0\n---\n" // z before the others: only z moves
	plan = w.takeProject(t, f.tree(t), "s")
	if len(plan.Update) != 1 || plan.Update[0].Path != "b/z.md" || !slices.Equal(plan.Update[0].Fields, []string{"sort_order"}) {
		t.Errorf("updates %+v", plan.Update)
	}
	if got := w.outline(w.projects[0].ID); got != "index\na\n  w\n  x\nB\n  z\n  y\n  y2\n" {
		t.Errorf("got\n%s", got)
	}
}

func (w *workspace) byExternal(id string) string {
	i := slices.IndexFunc(w.documents, func(d Document) bool { return d.ExternalID == id })
	return w.documents[i].ID
}

// The files decide on the place: a document that was moved moves back. Parents and children change
// places without a moment in which a server refuses it.
func TestProject_FilesDecideOnThePlace(t *testing.T) {
	t.Parallel()
	f := files{"a/b/c/d/x.md": "", "e/f.md": ""}
	w := newWorkspace()
	w.takeProject(t, f.tree(t), "s")
	want := w.outline(w.projects[0].ID)
	for i := range w.documents { // all at the top level, the last first
		w.documents[i].ParentID, w.documents[i].SortOrder = "", -int64(i)
	}
	w.takeProject(t, f.tree(t), "s")
	if got := w.outline(w.projects[0].ID); got != want {
		t.Errorf("got\n%s", got)
	}
	// The deepest is above the others now.
	at := func(p string) *Document { return w.document(w.byExternal("s:" + p)) }
	at("a/b/c/d/x.md").ParentID = ""
	at("a/").ParentID = at("a/b/c/d/x.md").ID
	at("a/b/c/d/").ParentID = ""
	w.takeProject(t, f.tree(t), "s")
	if got := w.outline(w.projects[0].ID); got != want {
		t.Errorf("got\n%s", got)
	}
	// One moves down while a long branch is still below it.
	f = files{"p/q.md": "", "z/y/x/w.md": ""}
	w = newWorkspace()
	w.takeProject(t, f.tree(t), "s")
	want = w.outline(w.projects[0].ID)
	at("p/q.md").ParentID = ""
	at("z/").ParentID = at("p/q.md").ID
	if plan := w.takeProject(t, f.tree(t), "s"); len(plan.Detach) != 1 || len(plan.Update) != 2 {
		t.Errorf("%d taken to the top first, %d moved", len(plan.Detach), len(plan.Update))
	}
	if got := w.outline(w.projects[0].ID); got != want {
		t.Errorf("got\n%s", got)
	}
	f = files{"a/b/c/d/x.md": "", "e/f.md": ""}
	w = newWorkspace()
	w.takeProject(t, f.tree(t), "s")
	want = w.outline(w.projects[0].ID)
	// An import without --as-project leaves them, and one with it takes documents from other projects.
	w = newWorkspace()
	w.take(t, f.tree(t), "s")
	w.takeProject(t, f.tree(t), "s")
	home := slices.IndexFunc(w.projects, func(p Project) bool { return p.ExternalID == "s:." })
	if got := w.outline(w.projects[home].ID); got != want {
		t.Errorf("taken from other projects:\n%s", got)
	}
	if plan := w.take(t, f.tree(t), "s"); len(plan.Create)+len(plan.Update)+len(plan.Trash)+plan.Kept > 0 {
		t.Errorf("an import without --as-project: %+v", plan)
	}
}

// A document without a file stays if a document below it stays.
func TestProject_GoneDocuments(t *testing.T) {
	t.Parallel()
	w := newWorkspace()
	w.takeProject(t, files{"a/x.md": "", "a/y.md": "", "b/index.md": "", "b/z.md": "", "c/w.md": ""}.tree(t), "s")
	by := w.id()
	w.documents = append(w.documents, Document{ID: by, ProjectID: w.projects[0].ID, ParentID: w.byExternal("s:b/index.md"), Page: Page{Title: "by hand"}})
	l, err := LoadProject(files{"c.md": "", "c/w.md": ""}.tree(t), "s")
	if err != nil {
		t.Fatal(err)
	}
	l.Home = w.projects[0].ID
	plan, err := l.Compare(w.documents, KnownMedia{})
	if err != nil {
		t.Fatal(err)
	}
	var gone []string
	for _, d := range plan.Trash {
		gone = append(gone, d.ExternalID)
	}
	if !slices.Equal(gone, []string{"s:a/x.md", "s:a/y.md", "s:b/z.md", "s:a/", "s:c/"}) || plan.Kept != 1 {
		t.Errorf("gone %q, kept %d", gone, plan.Kept)
	}
}

func TestSortOrders(t *testing.T) {
	t.Parallel()
	at := func(orders ...int64) (out []*place) { // 0: a new one
		for i, n := range orders {
			if out = append(out, nil); n != 0 {
				out[i] = &place{Document{SortOrder: n}, i}
			}
		}
		return out
	}
	const step, most = sheaf.OrderStep, sheaf.MaxNumber
	for _, c := range []struct {
		now  []*place
		want []int64
	}{
		{at(0, 0), []int64{step, 2 * step}},
		{at(5, 6, 7), []int64{5, 6, 7}},
		{at(7, 5, 6), []int64{5 - step, 5, 6}},
		{at(5, 9, 7), []int64{5, 6, 7}},
		{at(10, 0, 0, 40), []int64{10, 20, 30, 40}},
		{at(10, 0, 11), []int64{step, 2 * step, 3 * step}}, // no room
		{at(most, 0), []int64{step, 2 * step}},
		{at(0, -most), []int64{step, 2 * step}},
		{at(-most, 0, most), []int64{-most, 0, most}},
		{at(4, 4, 4), []int64{4, 4, 4}}, // by creation
	} {
		if got := sortOrders(c.now); !slices.Equal(got, c.want) {
			t.Errorf("got %v, want %v", got, c.want)
		}
	}
}

// D164: any tree comes back as it was, with the same files: the same titles among siblings, odd
// characters, empty texts. Without --as-project the files stay equal too.
func TestRoundTrip_OfAnyTree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorkspace()
		project := w.id()
		w.projects = []Project{{ID: project, Name: rapid.SampledFrom(append([]string{"P"}, words...)).Draw(t, "project") + "p"}}
		n := rapid.IntRange(1, 10).Draw(t, "documents")
		levels := map[string]int{}
		for i := range n {
			title := rapid.SampledFrom(titles).Draw(t, "title")
			d := Document{ID: w.id(), ProjectID: project, SortOrder: int64(rapid.IntRange(0, 5).Draw(t, "order")), Page: Page{Title: title}}
			if i > 0 && rapid.IntRange(0, 3).Draw(t, "below") > 0 {
				if parent := w.documents[rapid.IntRange(0, i-1).Draw(t, "parent")]; levels[parent.ID] < sheaf.MaxLevels-1 {
					d.ParentID, levels[d.ID] = parent.ID, levels[parent.ID]+1
				}
			}
			switch rapid.IntRange(0, 5).Draw(t, "more") {
			case 0:
				d.Metadata = map[string]string{rapid.SampledFrom([]string{orderName, ownOrderName, positionName, "k"}).Draw(t, "name"): rapid.SampledFrom([]string{"1", "2", "-1", "0", "x", ""}).Draw(t, "value")}
			case 1:
				d.Metadata = map[string]string{orderName: "3", positionName: "2"}
			case 2:
				d.Description = "d"
			}
			if rapid.Bool().Draw(t, "imported") {
				d.ExternalID = "s:" + rapid.SampledFrom(origins).Draw(t, "origin")
			}
			w.documents = append(w.documents, d)
			text := rapid.SampledFrom([]string{"", "", "", "text", "# Heading", "---\norder: 2\n---\n"}).Draw(t, "text")
			if rapid.Bool().Draw(t, "link") {
				text += fmt.Sprintf("[l](document:%s#p) [x](a/)", w.documents[rapid.IntRange(0, i).Draw(t, "to")].ID)
			}
			w.texts[d.ID] = text
			w.documents[i].SHA256 = sum(text)
		}
		same := func(about string, first, second files) {
			if !maps.Equal(first, second) {
				for _, path := range slices.Sorted(maps.Keys(first)) {
					if first[path] != second[path] {
						t.Errorf("%q:\n%q\n%q", path, first[path], second[path])
					}
				}
				t.Fatalf("%s: %q then %q", about, slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(second)))
			}
		}
		first := w.exportProject(t, project)
		other := newWorkspace()
		other.ids = 1000
		other.takeProject(t, first.tree(t), "s")
		home := other.projects[0].ID
		if a, b := w.outline(project), other.outline(home); a != b {
			t.Fatalf("%q: the tree\n%s\nbecame\n%s", slices.Sorted(maps.Keys(first)), a, b)
		}
		same("as a project", first, other.exportProject(t, home))
		if isTree(other.documents) {
			same("as a project, all", first, other.export(t))
		}
		if plan := other.takeProject(t, first.tree(t), "s"); len(plan.Create)+len(plan.Update)+len(plan.Trash) > 0 {
			t.Fatalf("a second import: %+v", plan)
		}
		for about, first := range map[string]files{"the project": first, "all": w.export(t)} {
			flat := newWorkspace()
			flat.ids = 2000
			flat.take(t, first.tree(t), "s")
			same("without --as-project: "+about, first, flat.export(t))
		}
	})
}

var (
	titles  = []string{"a", "a", "A", "b", "index", "README", "a/b", "..", "CON", "10", "9", "ü", "u\u0308", "null", "media", "a (2)", "a.md", "_category_.json", "mkdocs.yml", " 0123456789abcdef0123456789abcdef"}
	origins = []string{"a.md", "a.md", "A.md", "a/", "a/index.md", "a/README.md", "README.md", "index.md", "a/b.md", "a/b/", "b.mdx", "a.markdown", "a/index/index.md", "a/a.md", "../x.md", "b/index.markdown", "b/"}
)

// FuzzProject: any settings of mkdocs and Docusaurus give an error, or a tree in which each page has
// its place, at most five levels deep.
func FuzzProject(f *testing.F) {
	f.Add("nav: [a.md, {B: [b/c.md, {D: {e: b/d/index.md}}]}]", "label: x\nposition: 2")
	f.Add("nav: &a [*a, {x: *a}]", `{"label": 1, "position": "x"}`)
	f.Add("docs_dir: ..\nnav: {a: {b: {c: {d: {e: {f: a.md}}}}}}", "position: .inf")
	f.Fuzz(func(t *testing.T, settings, category string) {
		pages := []string{"a.md", "b/c.md", "b/d/index.md", "b/d/e.md", "b.md", "README.md"}
		all := files{"mkdocs.yml": settings, "docs/b/_category_.yml": category}
		for _, p := range pages {
			all["docs/"+p] = ""
		}
		tree, err := all.open()
		if err != nil {
			return
		}
		l, err := LoadProject(tree, "s")
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, e := range l.Entries {
			if e.Level < 1 || e.Level > sheaf.MaxLevels || e.Parent != nil && e.Parent.Level != e.Level-1 || seen[e.Path] {
				t.Errorf("%q at level %d", e.Path, e.Level)
			}
			seen[e.Path] = true
		}
		for _, p := range tree.Paths() {
			if !seen[p] {
				t.Errorf("%q has no place", p)
			}
		}
	})
}
