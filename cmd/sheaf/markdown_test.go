package main

import (
	"archive/zip"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/markdown"
	"sheaf.dev/internal/sheaf"
)

const fixtures = "../../internal/markdown/testdata/"

// another returns the same server with an empty workspace.
func (r *remote) another(t *testing.T) *remote {
	t.Helper()
	w := r.API.Workspace(sheaf.Business)
	env := maps.Clone(r.env)
	env["SHEAF_API_KEY"] = w.Key()
	return &remote{r.API, w, env}
}

// markdownOf returns the Markdown files of a folder by their paths.
func markdownOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := filesOf(t, dir)
	maps.DeleteFunc(out, func(name, _ string) bool { return !markdown.IsMarkdown(name) })
	return out
}

// exported runs an export and returns its files.
func (r *remote) exported(t *testing.T, args ...string) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	r.do(t, append([]string{"export-markdown", dir}, args...)...)
	return markdownOf(t, dir)
}

func putFile(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// events returns the number of events of the workspace.
func (r *remote) events(t *testing.T) int {
	t.Helper()
	return len(r.list(t, "events", "list"))
}

func counts(t *testing.T, got map[string]any, want map[string]float64) {
	t.Helper()
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s: %v, want %v", name, got[name], n)
		}
	}
}

// D123: a vault becomes folders, projects and documents, and its links become links between
// documents.
func TestMarkdown_AVaultIsImported(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	got := r.json(t, "import-markdown", fixtures+"obsidian", "--source", "vault")
	counts(t, got, map[string]float64{"created": 4, "updated": 0, "trashed": 0, "uploaded": 1, "pictures": 0, "other_files": 0})
	wantWords(t, r.do(t, "folders", "tree", "--projects"), "Projects/", "└── Sheaf  (2 documents)", "vault  (1 document)", "Daily  (1 document)")

	ideas := r.documentOf(t, "vault:Projects/Sheaf/Ideas.md")
	if ideas["title"] != "Ideas & plans" || ideas["description"] != "What comes next: maybe." {
		t.Errorf("the ideas are %v", ideas)
	}
	page := r.documentOf(t, "vault:Projects/Sheaf/Sheaf.md")
	if text := page["content"].(string); !strings.Contains(text, fmt.Sprintf("[Ideas](document:%s)", ideas["id"])) {
		t.Errorf("the link is not there: %q", text)
	}
	if m := page["metadata"].(map[string]any); m["tags"] != "project, go" || m["created"] != "2026-11-02" {
		t.Errorf("metadata %v", m)
	}
}

// documentOf returns the document of an external id, with its text.
func (r *remote) documentOf(t *testing.T, externalID string) map[string]any {
	t.Helper()
	for _, d := range r.list(t, "documents", "list") {
		if d["external_id"] == externalID {
			return r.json(t, "documents", "get", d["id"].(string))
		}
	}
	t.Fatalf("%s is not there", externalID)
	return nil
}

// D123: a second run changes only the documents whose files changed, and makes no other event.
func TestMarkdown_ASecondRunImportsChanges(t *testing.T) {
	t.Parallel()
	r, dir := newRemote(t), t.TempDir()
	for name, text := range map[string]string{"a.md": "# A\n\nTo [b](b.md).\n", "b.md": "# B\n\nTo [a](a.md).\n", "x/c.md": "---\nk: v\n---\n\nC\n", "x/d.md": "D\n"} {
		putFile(t, dir, name, text)
	}
	source := []string{"import-markdown", dir, "--source", "s"}
	r.json(t, source...)
	before := r.events(t)
	counts(t, r.json(t, source...), map[string]float64{"created": 0, "updated": 0, "unchanged": 4})
	if after := r.events(t); after != before {
		t.Errorf("%d events for nothing", after-before)
	}

	putFile(t, dir, "b.md", "# B\n\nTo [a](a.md), later.\n")
	putFile(t, dir, "x/c.md", "C\n")
	putFile(t, dir, "x/e.md", "E\n")
	if err := os.Remove(filepath.Join(dir, "x/d.md")); err != nil {
		t.Fatal(err)
	}
	plan := r.do(t, append(source, "--dry-run", "--prune")...)
	wantWords(t, plan, "create  x/e.md", "update  b.md", "content", "update  x/c.md", "metadata", "trash   x/d.md", "1 to create, 2 to update, 1 to put into the trash, 1 unchanged")
	if after := r.events(t); after != before {
		t.Errorf("a dry run made %d events", after-before)
	}
	wantWords(t, r.do(t, source...), "created 1, updated 2, 1 unchanged", "1 document without a file")
	if after := r.events(t); after != before+3 {
		t.Errorf("%d events for three changes", after-before)
	}
	if c := r.documentOf(t, "s:x/c.md"); c["metadata"] != nil || c["version"] != float64(1) {
		t.Errorf("c is %v", c)
	}
	r.documentOf(t, "s:x/d.md")
	counts(t, r.json(t, append(source, "--prune")...), map[string]float64{"trashed": 1, "unchanged": 4})
	if n := len(r.list(t, "documents", "list")); n != 4 {
		t.Errorf("%d documents are left", n)
	}
	// If a deleted file is back, its document is restored.
	id := r.list(t, "documents", "list", "--sort", "created_at")[0]["id"]
	putFile(t, dir, "x/d.md", "D again\n")
	r.json(t, source...)
	if d := r.documentOf(t, "s:x/d.md"); d["content"] != "D again\n" || d["version"] != float64(2) {
		t.Errorf("brought back as %v", d)
	}
	if r.list(t, "documents", "list", "--sort", "created_at")[0]["id"] != id {
		t.Error("another document stands in its place")
	}
}

// A document that a person has moved stays there: only its fields and its text follow the file.
func TestMarkdown_KeepsMovedDocuments(t *testing.T) {
	t.Parallel()
	r, dir := newRemote(t), t.TempDir()
	putFile(t, dir, "x/a.md", "A\n")
	r.json(t, "import-markdown", dir, "--source", "s")
	project := r.list(t, "projects", "list")[0]["id"].(string)
	r.do(t, "projects", "update", project, "--name", "Renamed")
	other := r.id(t, "projects", "create", "Other")
	r.do(t, "documents", "update", r.documentOf(t, "s:x/a.md")["id"].(string), "--project", other)
	putFile(t, dir, "x/a.md", "A, longer\n")
	putFile(t, dir, "x/b.md", "B\n")
	counts(t, r.json(t, "import-markdown", dir, "--source", "s"), map[string]float64{"created": 1, "updated": 1})
	if a := r.documentOf(t, "s:x/a.md"); a["project_id"] != other || a["content"] != "A, longer\n" {
		t.Errorf("a is %v", a)
	}
	if b := r.documentOf(t, "s:x/b.md"); b["project_id"] != project {
		t.Errorf("b is %v", b)
	}
	if got := r.exported(t); !maps.Equal(got, map[string]string{"x/a.md": "A, longer\n", "x/b.md": "B\n"}) {
		t.Errorf("exported %q", got)
	}
}

// D123: with --into, new projects and folders are made below a folder, which is named by its name or its id. The
// plan says where. A second run changes nothing, and the files come back as they were.
func TestMarkdown_IntoAFolder(t *testing.T) {
	t.Parallel()
	r, dir := newRemote(t), t.TempDir()
	customers := r.id(t, "folders", "create", "Customers")
	acme := r.id(t, "folders", "create", "Acme", "--parent", customers)
	putFile(t, dir, "README.md", "See [the guide](guides/setup/install.md).\n")
	putFile(t, dir, "guides/setup/install.md", "Back to [the start](../../README.md) and [the people](../../people/all.md).\n")
	putFile(t, dir, "people/all.md", "All\n")
	putFile(t, dir, "deep/er/and/deeper/a.md", "A\n")
	before := r.events(t)
	plan := r.do(t, "import-markdown", dir, "--source", "hand", "--into", "Acme", "--dry-run")
	wantWords(t, plan, "new, in Acme / hand", "new, in Acme / guides / setup", "new, in Acme / people", "new, in Acme / deep / er/and/deeper", "4 to create")
	if n := r.events(t); n != before {
		t.Errorf("a dry run made %d events", n-before)
	}
	counts(t, r.json(t, "import-markdown", dir, "--source", "hand", "--into", "Acme"), map[string]float64{"created": 4})
	wantWords(t, r.do(t, "folders", "tree", "--projects"), "└── Customers/  (0 projects)\n    └── Acme/  (2 projects)\n        ├── ", "deep/  (1 project)", "er/and/deeper  (1 document)", "hand  (1 document)")
	for _, f := range r.list(t, "folders", "list", "--parent", "root") {
		if f["id"] != customers {
			t.Errorf("the folder %v is at the root level", f["name"])
		}
	}
	for _, p := range r.list(t, "projects", "list") {
		if p["folder_id"] == nil {
			t.Errorf("the project %v is at the root level", p["name"])
		}
	}
	start, guide := r.documentOf(t, "hand:README.md"), r.documentOf(t, "hand:guides/setup/install.md")
	if start["project_id"] == guide["project_id"] || start["content"] != fmt.Sprintf("See [the guide](document:%s).\n", guide["id"]) ||
		!strings.Contains(guide["content"].(string), fmt.Sprintf("[the start](document:%s)", start["id"])) {
		t.Errorf("the links between projects are %q and %q", start["content"], guide["content"])
	}
	putFile(t, dir, "people/new.md", "New\n")
	counts(t, r.json(t, "import-markdown", dir, "--source", "hand", "--into", acme), map[string]float64{"created": 1, "updated": 0, "unchanged": 4})
	if got := r.exported(t, "--source", "hand"); !maps.Equal(got, markdownOf(t, dir)) {
		t.Errorf("exported %q", got)
	}
	counts(t, r.json(t, "import-markdown", dir, "--source", "one", "--as-project", "--into", acme), map[string]float64{})
	for _, p := range r.list(t, "projects", "list", "--query", "one") {
		if p["folder_id"] != acme {
			t.Errorf("the project of --as-project is in %v", p["folder_id"])
		}
	}
	before = r.events(t)
	brands := r.id(t, "folders", "create", "Brands", "--type", "branding")
	for folder, words := range map[string]string{"Nowhere": "neither an id nor the name of a folder", brands: "must be a folder of projects"} {
		sheafWith(t, r.env, "", "import-markdown", dir, "--source", "wrong", "--into", folder).fails(t, words)
	}
	if n := r.events(t); n != before+1 {
		t.Errorf("a refused import made %d events", n-before-1)
	}
}

// D123: an export, and another one after an import, are equal byte for byte: for this repository's
// own documentation and for records that people make.
func TestMarkdown_RoundTrip(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.json(t, "import-markdown", "../../docs", "--source", "docs")
	if got := r.exported(t); !maps.Equal(got, markdownOf(t, "../../docs")) {
		t.Errorf("our documentation comes back otherwise: %q", slices.Sorted(maps.Keys(got)))
	}
	folder := r.id(t, "folders", "create", "Team: notes")
	project := r.id(t, "projects", "create", "a/b", "--folder", folder)
	for _, title := range []string{"Same", "same", "# odd\ttitle", ".."} {
		r.id(t, "documents", "create", title, "--description", "by: hand", "--project", project)
	}
	r.id(t, "documents", "create", "README")

	first := r.exported(t)
	if _, there := first["Team- notes/a-b/same (2).md"]; !there || first["README (2).md"] != "---\ntitle: README\n---\n\n" {
		t.Errorf("exported %q", slices.Sorted(maps.Keys(first)))
	}
	dir := filepath.Join(t.TempDir(), "copy")
	r.do(t, "export-markdown", dir)
	other := r.another(t)
	other.json(t, "import-markdown", dir, "--source", "copy")
	if second := other.exported(t); !maps.Equal(first, second) {
		for name := range first {
			if first[name] != second[name] {
				t.Errorf("%s: %.200q, then %.200q", name, first[name], second[name])
			}
		}
		t.Errorf("%d files, then %d", len(first), len(second))
	}
	if only := r.exported(t, "--source", "docs"); !maps.Equal(only, markdownOf(t, "../../docs")) {
		t.Errorf("of the source alone: %q", slices.Sorted(maps.Keys(only)))
	}
}

// D164: with --as-project a folder becomes one project with a tree, a second run changes nothing, and
// an export of it comes back as the same tree with the same files.
func TestMarkdown_AsProject(t *testing.T) {
	t.Parallel()
	r, dir := newRemote(t), t.TempDir()
	for name, text := range map[string]string{"README.md": "# Start\n\nTo [install](guide/install.md), [more](more/).\n", "guide/index.md": "---\norder: 1\n---\n\n# Guide\n\nSee [install](install.md).\n",
		"guide/install.md": "# Install\n", "guide/10.md": "", "guide/9.md": "", "more/deep/x.md": "X\n"} {
		putFile(t, dir, name, text)
	}
	source := []string{"import-markdown", dir, "--source", "book", "--as-project"}
	if plan := r.do(t, append(source, "--dry-run")...); plan != `DO      FILE              TITLE      WHAT
create  guide/index.md    Guide      new
create  guide/9.md        · 9        new
create  guide/10.md       · 10       new
create  guide/install.md  · Install  new
create  README.md         Start      new
create  more/             more       new
create  more/deep/        · deep     new
create  more/deep/x.md    · · x      new
8 to create
` {
		t.Errorf("the plan is\n%s", plan)
	}
	counts(t, r.json(t, source...), map[string]float64{"created": 8})
	want := `├── Guide
│   ├── 9
│   ├── 10
│   └── Install
├── Start
└── more
    └── deep
        └── x
`
	if got := r.do(t, "documents", "tree", "book"); got != want {
		t.Errorf("drew\n%s", got)
	}
	before := r.events(t)
	counts(t, r.json(t, source...), map[string]float64{"created": 0, "updated": 0, "unchanged": 8})
	if after := r.events(t); after != before {
		t.Errorf("%d events for nothing", after-before)
	}
	if got := r.exported(t, "--project", "book"); !maps.Equal(got, map[string]string{
		"README.md": "# Start\n\nTo [install](guide/install.md), [more](more/).\n", "guide/index.md": "---\ntitle: Guide\norder: 1\n---\n\n# Guide\n\nSee [install](install.md).\n",
		"guide/install.md": "# Install\n", "guide/10.md": "", "guide/9.md": "", "more/deep/x.md": "X\n"}) {
		t.Errorf("exported %q", got)
	}

	// People add and move documents: the tree is exported as it is now.
	project := r.list(t, "projects", "list")[0]["id"].(string)
	r.id(t, "documents", "create", "Install", "--project", project)
	r.do(t, "documents", "move", r.documentOf(t, "book:more/deep/x.md")["id"].(string), "--parent", r.documentOf(t, "book:guide/9.md")["id"].(string))
	r.do(t, "documents", "move", "Start", "--before", "Guide")
	tree := r.do(t, "documents", "tree", "book")
	out := filepath.Join(t.TempDir(), "out")
	r.do(t, "export-markdown", out, "--project", "book")
	first := markdownOf(t, out)
	if _, there := first["guide/9/x.md"]; !there {
		t.Errorf("exported %q", slices.Sorted(maps.Keys(first)))
	}
	other := r.another(t)
	other.json(t, "import-markdown", out, "--source", "copy", "--as-project")
	if got := other.do(t, "documents", "tree", "copy"); got != tree {
		t.Errorf("the tree\n%sbecame\n%s", tree, got)
	}
	if second := other.exported(t, "--project", "copy"); !maps.Equal(first, second) {
		t.Errorf("%q\nthen\n%q", first, second)
	}

	// The files decide on the place. A document without a file stays if another is below it.
	if err := os.RemoveAll(filepath.Join(dir, "guide")); err != nil {
		t.Fatal(err)
	}
	r.do(t, "documents", "move", r.list(t, "documents", "list", "--sort", "created_at", "--limit", "1", "--desc")[0]["id"].(string), "--parent", "Guide")
	putFile(t, dir, "more/index.md", "# More\n")
	counts(t, r.json(t, append(source, "--prune")...), map[string]float64{"created": 1, "updated": 3, "unchanged": 0, "trashed": 4, "gone": 1})
	want = `├── Start
├── Guide
│   └── Install
└── More
    └── deep
        └── x
`
	if got := r.do(t, "documents", "tree", "book"); got != want {
		t.Errorf("drew\n%s", got)
	}
	putFile(t, dir, "more/deep/a/b/c/y.md", "")
	sheafWith(t, r.env, "", source...).fails(t, "more/deep/a/b/c is too deep", "more/deep/a/b/c/y.md would be at level 6", "at most 5 levels")
}

// D164: a real mkdocs project, and its export, become the tree of its nav.
func TestMarkdown_AsProjectByNav(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	counts(t, r.json(t, "import-markdown", fixtures+"mkdocs-nav", "--source", "alb", "--as-project"), map[string]float64{"created": 22, "updated": 0})
	want, err := os.ReadFile(fixtures + "mkdocs-nav.tree")
	if err != nil {
		t.Fatal(err)
	}
	tree := r.json(t, "documents", "tree", "alb")
	var got strings.Builder
	for _, e := range tree["data"].([]any) {
		e := e.(map[string]any)
		got.WriteString(strings.Repeat("  ", int(e["depth"].(float64))-1) + e["title"].(string) + "\n")
	}
	if got.String() != string(want) {
		t.Errorf("became\n%s", got.String())
	}
	dir := filepath.Join(t.TempDir(), "out")
	r.do(t, "export-markdown", dir, "--project", "alb")
	other := r.another(t)
	other.json(t, "import-markdown", dir, "--source", "copy", "--as-project")
	if a, b := r.do(t, "documents", "tree", "alb"), other.do(t, "documents", "tree", "copy"); a != b {
		t.Errorf("the tree\n%sbecame\n%s", a, b)
	}
	if second := other.exported(t, "--project", "copy"); !maps.Equal(markdownOf(t, dir), second) {
		t.Errorf("%q", slices.Sorted(maps.Keys(second)))
	}
}

// D123: an import that is refused writes nothing.
func TestMarkdown_RefusedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	r, dir := newRemote(t), t.TempDir()
	putFile(t, dir, "big/a.md", "fine\n")
	putFile(t, dir, "big/z.md", strings.Repeat("z", 1<<20+1))
	putFile(t, dir, "latin/a.md", "fine\n")
	putFile(t, dir, "latin/z.md", "caf\xe9\n")
	putFile(t, dir, "none/a.txt", "no Markdown\n")
	putFile(t, dir, "text.zip", "no archive\n")
	f, err := os.Create(filepath.Join(dir, "climbs.zip"))
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, name := range []string{"a.md", "../z.md"} {
		if _, err := z.Create(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for name, word := range map[string]string{
		"big":        "z.md: its text has 1048577 bytes, at most 1048576 are allowed",
		"latin":      "z.md: it is not UTF-8",
		"none":       "there is no Markdown",
		"text.zip":   "neither a folder nor a zip archive",
		"climbs.zip": `"../z.md" leads elsewhere`,
		"missing":    "no such file",
	} {
		sheafWith(t, r.env, "", "import-markdown", filepath.Join(dir, name), "--source", "s").fails(t, word)
	}
	sheafWith(t, r.env, "", "import-markdown", filepath.Join(dir, "big"), "--source", "a:b").fails(t, "no name for a source")
	if n := r.events(t); n != 0 {
		t.Errorf("%d events", n)
	}
}

// D123: if the ids of its links would make a page too long, it is imported with its old links, and
// the command says so. For MDX the command says that JSX is shown as text.
func TestMarkdown_ReportsKeptLinksAndMDX(t *testing.T) {
	t.Parallel()
	r, dir := newRemote(t), t.TempDir()
	big := strings.Repeat("[a](b.mdx) ", sheaf.MaxContent/20)
	putFile(t, dir, "big.md", big)
	putFile(t, dir, "b.mdx", "import X from 'x';\n\n# Tabs\n\n<X>[big](big.md)</X>\n")
	wantWords(t, r.do(t, "import-markdown", dir, "--source", "s", "--dry-run"), "create  big.md", "new, links to other files kept: ids would make the text too long",
		"create  b.mdx", "Tabs", "new, JSX shown as text")
	wantWords(t, r.do(t, "import-markdown", dir, "--source", "s"), "created 2", "1 file of MDX: JSX is shown as text", "big.md: its links to other files are kept")
	page := r.documentOf(t, "s:big.md")
	if page["content"] != big {
		t.Errorf("the text has %d bytes, want %d", len(page["content"].(string)), len(big))
	}
	other := r.documentOf(t, "s:b.mdx")
	if want := fmt.Sprintf("<X>[big](document:%s)</X>", page["id"]); !strings.Contains(other["content"].(string), want) {
		t.Errorf("%q has no %q", other["content"], want)
	}
	got := r.json(t, "import-markdown", dir, "--source", "s")
	counts(t, got, map[string]float64{"created": 0, "updated": 0, "unchanged": 2, "mdx": 1})
	if kept := fmt.Sprint(got["links_kept"]); kept != "[big.md]" {
		t.Errorf("links_kept is %s", kept)
	}
}

func TestMarkdown_AnArchive(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	path := filepath.Join(t.TempDir(), "outline.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	if err := z.AddFS(os.DirFS(fixtures + "outline")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	counts(t, r.json(t, "import-markdown", path, "--source", "outline"), map[string]float64{"created": 4, "uploaded": 2, "pictures": 0, "other_files": 0})
	want := markdownOf(t, fixtures+"outline")
	// All links are written in the same form.
	want["Engineering/Onboarding.md"] = strings.ReplaceAll(want["Engineering/Onboarding.md"], "(./", "(")
	if got := r.exported(t); !maps.Equal(got, want) {
		t.Errorf("exported %q", got)
	}
}

func TestMarkdown_ExportsOnlyIntoAnEmptyFolder(t *testing.T) {
	t.Parallel()
	r, dir := newRemote(t), t.TempDir()
	sheafWith(t, r.env, "", "export-markdown", filepath.Join(dir, "out")).fails(t, "no document to export")
	r.id(t, "documents", "create", "One")
	putFile(t, dir, "full/mine.txt", "mine")
	sheafWith(t, r.env, "", "export-markdown", filepath.Join(dir, "full")).fails(t, "is not empty")
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	wantWords(t, r.do(t, "export-markdown", filepath.Join(dir, "empty")), "wrote 1 file to")
	if got := markdownOf(t, dir); !maps.Equal(got, map[string]string{"empty/One.md": ""}) {
		t.Errorf("wrote %q", got)
	}
}
