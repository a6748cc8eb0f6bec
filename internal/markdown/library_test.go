package markdown

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

func TestLoad_RefusesBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	for about, c := range map[string]struct {
		files files
		words []string
	}{
		"too long":     {files{"big.md": strings.Repeat("a", sheaf.MaxContent+1), "b.md": ""}, []string{"big.md: its text has 1048577 bytes, at most 1048576"}},
		"far too long": {files{"big.md": strings.Repeat("a", maxFile+1)}, []string{"big.md", "more than 8388608 bytes"}},
		"several":      {files{"a.md": "\xff", "b.md": "\x00", "c.md": "fine"}, []string{"a.md: it is not UTF-8", "b.md: it has a NUL"}},
		"none":         {files{"a.txt": "x", ".x/a.md": ""}, []string{"no Markdown"}},
	} {
		_, err := Load(c.files.tree(t), "s")
		for _, word := range c.words {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v, want %q", about, err, word)
			}
		}
	}
	many := files{}
	for i := range 30 {
		many[fmt.Sprintf("%02d.md", i)] = "\xff"
	}
	if _, err := Load(many.tree(t), "s"); err == nil || !strings.Contains(err.Error(), "09.md") || strings.Contains(err.Error(), "10.md") || !strings.Contains(err.Error(), "20 more") {
		t.Errorf("many: %v", err)
	}
	if _, err := Load(files{"exact.md": strings.Repeat("a", sheaf.MaxContent)}.tree(t), "s"); err != nil {
		t.Errorf("exactly as long as allowed: %v", err)
	}
	for _, name := range []string{"", "a b", "a:b", "ü", ".a", strings.Repeat("a", 65)} {
		if _, err := Load(files{"a.md": ""}.tree(t), name); err == nil {
			t.Errorf("the source %q was taken", name)
		}
	}
}

func TestContent_OfAChangedFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.md")
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Load(opened(t, dir), "s")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Content(l.Entries[0], nil, nil); err == nil || !strings.Contains(err.Error(), "a.md has changed") {
		t.Errorf("%v", err)
	}
}

// D123: a second run finds only what changed.
func TestCompare_FindsWhatChanged(t *testing.T) {
	t.Parallel()
	one := files{"a.md": "# A\n[b](b.md)", "b.md": "# B", "c.md": "# C", "d.md": "---\ndescription: x\nk: v\n---\n", "e.md": "# E\n[c](c.md)"}
	w := newWorkspace()
	w.take(t, one.tree(t), "s")
	w.take(t, files{"z.md": "of another source"}.tree(t), "s2")
	w.documents = append(w.documents, Document{ID: "x", ExternalID: "s:42", Page: Page{Title: "of another program"}}, Document{ID: "y", Page: Page{Title: "by hand"}})

	two := files{"a.md": "# A\n[b](b.md)", "b.md": "# B, longer", "d.md": "---\nk: w\nurl: https://e.org\n---\n", "e.md": "# E\n[f](f.md)", "f.md": "new"}
	l, err := Load(two.tree(t), "s")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := l.Compare(w.documents, Know(w.media))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range plan.Create {
		got = append(got, "create "+e.Path)
	}
	for _, c := range plan.Update {
		got = append(got, "update "+c.Path+" "+strings.Join(c.Fields, ","))
	}
	for _, d := range plan.Trash {
		got = append(got, "trash "+d.ExternalID)
	}
	want := []string{"create f.md", "update b.md title,content", "update d.md description,url,metadata", "update e.md content", "trash s:c.md"}
	if !slices.Equal(got, want) || plan.Same != 1 {
		t.Errorf("%d the same, %q", plan.Same, got)
	}
}

// The targets of links are created first, so that one version is enough. In a cycle, one document
// needs two.
func TestOrdered_OneVersionIsEnough(t *testing.T) {
	t.Parallel()
	w := newWorkspace()
	w.take(t, files{"a.md": "[b](b.md) [d](d.md)", "b.md": "[c](c.md)", "c.md": "", "d.md": "[e](e.md)", "e.md": "[d](d.md) [e](e.md)"}.tree(t), "s")
	for _, d := range w.documents {
		want := 1
		if d.Title == "e" {
			want = 2
		}
		if w.versions[d.ID] != want {
			t.Errorf("%s has %d versions", d.Title, w.versions[d.ID])
		}
	}
}

func TestExternalID_OfLongPaths(t *testing.T) {
	t.Parallel()
	path := strings.Repeat("folder/", 40) + "page.md"
	id := ExternalID("s", path)
	if len(id) > 200 || !strings.HasPrefix(id, "s:sha256:") || id == ExternalID("s", "x/"+path) {
		t.Errorf("%q", id)
	}
	exact := strings.Repeat("ü", 195) + ".md"
	if got := ExternalID("s", exact); got != "s:"+exact {
		t.Errorf("200 characters: %q", got)
	}
	w := newWorkspace()
	w.take(t, files{path: "# Page"}.tree(t), "s")
	if d := w.documents[0]; d.Metadata[pathName] != path {
		t.Errorf("metadata %v", d.Metadata)
	}
	sameFiles(t, w.export(t), files{path: "# Page"})
	if plan := w.take(t, files{path: "# Page"}.tree(t), "s"); plan.Same != 1 {
		t.Errorf("a second time: %+v", plan)
	}
}

func TestPlaceOf_LevelsAndProjects(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		folder string
		depth  int
		want   string
	}{
		{"", 0, "/src"}, {"", 3, "/src"}, {"a", 0, "/a"}, {"a", 3, "/a"},
		{"a/b", 0, "a/b"}, {"a/b/c", 0, "a|b/c"}, {"a/b/c/d", 0, "a|b|c/d"}, {"a/b/c/d/e/f", 0, "a|b|c/d/e/f"},
		{"a/b/c/d", 1, "a|b/c/d"}, {"a/b/c/d", 2, "a/b/c/d"}, {"a/b/c/d", 3, "/a/b/c/d"},
	} {
		p := PlaceOf(test.folder, "src", test.depth)
		var names []string
		for _, d := range p.Folders {
			names = append(names, d.Name)
		}
		if got := strings.Join(names, "|") + "/" + p.Project.Name; got != test.want {
			t.Errorf("%q below %d folders: %s, want %s", test.folder, test.depth, got, test.want)
		}
	}
}
