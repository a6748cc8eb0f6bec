package markdown

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sheaf.dev/internal/sheaf"
)

func TestLayout_Paths(t *testing.T) {
	t.Parallel()
	folders := []Folder{{ID: "f1", Name: "Team", Depth: 1}, {ID: "f2", ParentID: "f1", Name: "Team", Depth: 2}, {ID: "f3", Name: "team", Depth: 1}, {ID: "f4", ParentID: "f2", Name: "deep", Depth: 3},
		{ID: "f5", Name: "old name", ExternalID: "s:guide/more", Depth: 1}}
	projects := []Project{{ID: "p1", Name: "Team"}, {ID: "p2", FolderID: "f1", Name: "a/b: c?"}, {ID: "p3", FolderID: "f4", Name: "x/y"}, {ID: "p4", FolderID: "f3", Name: "CON"},
		{ID: "p5", Name: "renamed", ExternalID: "s:guide"}, {ID: "p6", Name: "s", ExternalID: "s:."}, {ID: "p7", FolderID: "f5", Name: "new"}, {ID: "p8", Name: "Intro.md"}, {ID: "p9", Name: "guide"}}
	var documents []Document
	want := map[string]string{}
	add := func(project, title, external, path string) {
		id := fmt.Sprint(len(documents))
		documents = append(documents, Document{ID: id, ProjectID: project, ExternalID: external, Page: Page{Title: title}})
		want[id] = path
	}
	add("", "Loose", "", "Loose.md")
	add("", "loose", "", "loose (2).md")
	add("", "Intro", "", "Intro (2).md") // a folder has the name
	add("p8", "x", "", "Intro.md/x.md")
	add("p1", "..", "", "Team/untitled.md")
	add("p1", ".hidden", "", "Team/_.hidden.md")
	add("p2", "README", "", "Team/a-b- c-/README.md")
	add("p3", "z", "", "Team/Team/deep/x/y/z.md")
	add("p4", "nul", "", "team (2)/_CON/_nul.md")
	add("p5", "Start", "s:guide/start.md", "guide/start.md")
	add("p5", "start", "", "guide/start (2).md")
	add("p9", "of another project", "", "guide (2)/of another project.md")
	add("p6", "home", "s:README.md", "README.md")
	add("p6", "by hand", "", "by hand.md")
	add("p7", "n", "", "guide/more/new/n.md")
	add("p1", "moved", "s:guide/moved.md", "guide/moved.md")
	add("", "taken", "t:README.md", "taken.md")
	add("", "inside a file", "t:README.md/x.md", "inside a file.md")
	add("", "a secret", "s:.git/hooks.md", "a secret.md")
	add("", "climbs", "s:../x.md", "climbs.md")
	add("", "a number", "jira:123", "a number.md")
	add("gone", strings.Repeat("é", 200), "", strings.Repeat("é", 100)+".md")

	got := Layout(folders, projects, documents).Paths
	for _, d := range documents {
		if got[d.ID] != want[d.ID] {
			t.Errorf("%s: %q, want %q", d.Title, got[d.ID], want[d.ID])
		}
	}
}

// Thousands of documents with one title get their numbers without trying all lower ones again for
// each.
func TestNumbers_OfOneTitle(t *testing.T) {
	t.Parallel()
	const documents = 10_000
	taken, asked, m := map[string]bool{}, 0, numbers{}
	for range documents {
		path := m.free("a", "Untitled", ".md", func(path string) bool {
			asked++
			return taken[path]
		})
		if taken[path] {
			t.Fatalf("%s was given twice", path)
		}
		taken[path] = true
	}
	if asked > 2*documents || !taken["a/Untitled.md"] || !taken[fmt.Sprintf("a/Untitled (%d).md", documents)] {
		t.Errorf("%d paths were looked at for %d documents", asked, documents)
	}
}

// words are what the titles, names and texts of hostile workspaces consist of.
var words = []string{"a", "A", "b.md", "README", "index", "a/b", "..", "", " ", "CON", "ü", "u\u0308", "---\n", "# a\n", "\ufeff", "\r\n", "x: y", "[[a]]", "[a](a.md)", "[x](<b.md.md> 't')",
	"![[a]]", "`", "\n", "```\n", "[a]: a.md\n", "(2)", "a (2)", "mkdocs.yml", ".x", "null", "~", "![p](p.png)", "[l](document:00000000-0000-7000-8000-000000000003#p)", "\\", "|", "<!--", "- ", "> ",
	"%%", "%%a%%", "%% a\n", ":::info\n", ":::\n", "<img src=a.png>", "<img alt='[x`' src=\"media/a\">", "[[#a]]", "![[a.png|b|100]]", "    ", " 0123456789abcdef0123456789abcdef"}

// D123: export, import and export again are equal byte for byte, whatever the workspace contains.
func TestRoundTrip_OfAnyWorkspace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 6).Draw(t, "words"), "")
		})
		name := rapid.Custom(func(t *rapid.T) string {
			if s := text.Draw(t, "name"); strings.TrimSpace(s) != "" {
				return s
			}
			return "a"
		})
		w := newWorkspace()
		for range rapid.IntRange(0, 4).Draw(t, "folders") {
			f := Folder{ID: w.id(), Name: name.Draw(t, "folder"), Depth: 1}
			if n := len(w.folders); n > 0 && rapid.Bool().Draw(t, "nested") {
				if parent := w.folders[rapid.IntRange(0, n-1).Draw(t, "parent")]; parent.Depth < 3 {
					f.ParentID, f.Depth = parent.ID, parent.Depth+1
				}
			}
			w.folders = append(w.folders, f)
		}
		for range rapid.IntRange(0, 4).Draw(t, "projects") {
			p := Project{ID: w.id(), Name: name.Draw(t, "project")}
			if n := len(w.folders); n > 0 && rapid.Bool().Draw(t, "in a folder") {
				p.FolderID = w.folders[rapid.IntRange(0, n-1).Draw(t, "folder")].ID
			}
			w.projects = append(w.projects, p)
		}
		for range rapid.IntRange(0, 4).Draw(t, "media") {
			// Any name that a server accepts. There are few bytes, so that some are equal.
			if medium := name.Draw(t, "medium"); sheaf.CheckFilename(medium) == nil {
				w.medium(medium, rapid.SampledFrom([]string{"1", "2"}).Draw(t, "bytes"))
			}
		}
		shown := func() string {
			if len(w.media) == 0 || rapid.Bool().Draw(t, "no medium") {
				return ""
			}
			id := w.media[rapid.IntRange(0, len(w.media)-1).Draw(t, "shown")].ID
			how := rapid.SampledFrom([]string{"![p](media:%s)", "[f](media:%s#t=1)", "\n[l]: media:%s\n", "![p](media:%s \"t\") ![x](./media/a.png) ![[a.png]]"})
			return fmt.Sprintf(how.Draw(t, "how"), id)
		}
		for range rapid.IntRange(1, 8).Draw(t, "documents") {
			d := Document{ID: w.id(), Page: Page{Title: name.Draw(t, "title"), Description: text.Draw(t, "description")}}
			if rapid.Bool().Draw(t, "metadata") {
				d.Metadata = map[string]string{metadataName(text.Draw(t, "key")): text.Draw(t, "value"), "title": "x"}
			}
			if n := len(w.projects); n > 0 && rapid.Bool().Draw(t, "in a project") {
				d.ProjectID = w.projects[rapid.IntRange(0, n-1).Draw(t, "project")].ID
			}
			if rapid.Bool().Draw(t, "imported") {
				d.ExternalID = rapid.SampledFrom([]string{"s:", "t:"}).Draw(t, "source") + text.Draw(t, "path") + rapid.SampledFrom([]string{".md", ".md", ".mdx"}).Draw(t, "ending")
			}
			if n := len(w.media); n > 0 && rapid.Bool().Draw(t, "places") {
				d.Metadata = map[string]string{placesName: w.media[rapid.IntRange(0, n-1).Draw(t, "placed")].ID + " " + text.Draw(t, "place") + ".png"}
			}
			if rapid.Bool().Draw(t, "in a tree") {
				d.SortOrder = int64(rapid.IntRange(0, 2).Draw(t, "order"))
				for _, other := range w.documents {
					if other.ProjectID == d.ProjectID && other.ParentID == "" && rapid.Bool().Draw(t, "below") {
						d.ParentID = other.ID
					}
				}
			}
			w.texts[d.ID] = text.Draw(t, "content") + shown()
			d.SHA256 = sum(w.texts[d.ID])
			w.documents = append(w.documents, d)
		}
		first := w.export(t)
		other := newWorkspace()
		other.ids = 1000 // ids are never the same in two workspaces
		other.take(t, first.tree(t), "s")
		second := other.export(t)
		if !maps.Equal(first, second) {
			for _, path := range slices.Sorted(maps.Keys(first)) {
				if first[path] != second[path] {
					t.Errorf("%q:\n%q\n%q", path, first[path], second[path])
				}
			}
			t.Fatalf("%q then %q", slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(second)))
		}
	})
}

func TestWriter_WholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	to := filepath.Join(parent, "out")
	w, err := NewWriter(to)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{"a.md": "1", "b/c/d.md": "2"} {
		if err := w.Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Write("a.md", nil); err == nil || !strings.Contains(err.Error(), "a.md is there already") {
		t.Errorf("twice: %v", err)
	}
	if err := w.Write("../x.md", nil); err == nil {
		t.Error("wrote outside")
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("it is there before its end")
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, ofFolder(t, to), files{"a.md": "1", "b/c/d.md": "2"})
	if _, err := NewWriter(to); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("over what is there: %v", err)
	}
	if w, err = NewWriter(filepath.Join(parent, "other")); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(parent); len(left) != 1 {
		t.Errorf("left %v", left)
	}
}
