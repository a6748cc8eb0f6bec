package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// D183, D184: releases are made, read, compared and deleted on the command line.
func TestReleases_OnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	project := r.id(t, "projects", "create", "Handbook")
	c := r.Workspace.Client("")
	one := c.POST("/api/v1/documents", map[string]any{"title": "One", "project_id": project, "content": "one\n"}).Want(t, 201).Text(t, "id")
	two := c.POST("/api/v1/documents", map[string]any{"title": "Two", "project_id": project, "parent_id": one}).Want(t, 201).Text(t, "id")
	made := r.json(t, "releases", "create", "Handbook", "1.0", "--notes", "First")
	id, _ := made["id"].(string)
	if made["name"] != "1.0" || made["notes"] != "First" || made["documents"] != 2.0 {
		t.Errorf("made %v", made)
	}
	c.PATCH("/api/v1/documents/"+one, map[string]any{"title": "Changed", "content": "changed\n"}).Want(t, 200)
	r.do(t, "documents", "create", "Three", "--project", "Handbook")
	r.do(t, "releases", "create", "Handbook", "2.0")
	wantWords(t, r.do(t, "releases", "get", "1.0", "--project", "handbook"), id, project, "First")
	if all := r.list(t, "releases", "list", "Handbook"); len(all) != 2 || all[1]["id"] != id {
		t.Errorf("listed %v", all)
	}
	wantWords(t, r.do(t, "releases", "list", "Handbook", "--limit", "1"), "2.0", "3")
	if got := r.do(t, "releases", "tree", id); got != "└── One\n    └── Two\n" {
		t.Errorf("the tree is %q", got)
	}
	if got := r.do(t, "releases", "content", id, "One"); got != "one\n" {
		t.Errorf("the text is %q", got)
	}
	sheafWith(t, r.env, "", "releases", "content", id, "Three").fails(t, "neither an id nor the name of a document of the release")
	for _, args := range [][]string{{id}, {"1.0", "--project", "Handbook", "--to", "2.0"}, {id, "--to", "present"}} {
		wantWords(t, r.do(t, append([]string{"releases", "diff"}, args...)...), "added", "Three", "changed", "Changed", one)
	}
	if got := r.do(t, "releases", "diff", "2.0", "--project", "Handbook"); got != "nothing differs\n" {
		t.Errorf("the difference is %q", got)
	}
	if got := r.json(t, "releases", "update", id, "--notes", ""); got["notes"] != nil {
		t.Errorf("updated %v", got)
	}

	sheafWith(t, r.env, "", "releases", "get", "1.0").fails(t, "--project")
	sheafWith(t, r.env, "", "releases", "get", "3.0", "--project", "Handbook").fails(t, `"3.0" is neither an id nor the name of a release of the project: choose one of 2.0, 1.0`)
	sheafWith(t, r.env, "", "releases", "create", "Handbook", "1.0").fails(t, "choose another name")
	r.id(t, "projects", "create", "Empty")
	sheafWith(t, r.env, "", "releases", "get", "1.0", "--project", "Empty").fails(t, "there is none yet")

	r.do(t, "documents", "delete", two)
	sheafWith(t, r.env, "", "documents", "purge", two).fails(t, `"1.0", "2.0"`)
	r.do(t, "documents", "purge", two, "--releases")
	if got := r.json(t, "releases", "get", id); got["documents"] != 1.0 {
		t.Errorf("without the document: %v", got)
	}
	wantWords(t, r.do(t, "releases", "delete", "1.0", "--project", "Handbook"), "deleted release", id)
	sheafWith(t, r.env, "", "releases", "get", id).fails(t, "release not found")
}

// D185: a share shows a release, which the command line names by its name.
func TestShares_OfReleases(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.id(t, "projects", "create", "Handbook")
	release := r.id(t, "releases", "create", "Handbook", "1.0")
	made := r.json(t, "shares", "create", "project", "Handbook", "--release", "1.0", "--show-releases")
	if made["release"] != release || made["show_releases"] != true {
		t.Errorf("made %v", made)
	}
	id := made["id"].(string)
	wantWords(t, r.do(t, "shares", "get", id), "release", release, "readers switch releases")
	sheafWith(t, r.env, "", "releases", "delete", release).fails(t, "let it show another one first")
	for _, c := range []struct {
		flag string
		want any
	}{{"newest", "newest"}, {"1.0", release}, {"none", nil}, {release, release}} {
		if got := r.json(t, "shares", "update", id, "--release", c.flag); got["release"] != c.want || got["show_releases"] != true {
			t.Errorf("--release %s: %v", c.flag, got)
		}
	}
	if got := r.json(t, "shares", "update", id, "--no-show-releases"); got["show_releases"] != false || got["release"] != release {
		t.Errorf("updated %v", got)
	}
	sheafWith(t, r.env, "", "shares", "update", id, "--release", "2.0").fails(t, "choose one of 1.0")
	sheafWith(t, r.env, "", "shares", "create", "project", "Handbook", "--release", "2.0").fails(t, "choose one of 1.0")
	document := r.id(t, "documents", "create", "Start")
	sheafWith(t, r.env, "", "shares", "create", "document", document, "--release", "newest").fails(t, "a document has no releases")
	other := r.json(t, "shares", "create", "document", document)
	sheafWith(t, r.env, "", "shares", "update", other["id"].(string), "--release", "1.0").fails(t, "has no releases")
}

// D186: an export of a release has the texts, the places, the front matter and the media of the release, whatever
// happened to them since.
func TestMarkdown_OfARelease(t *testing.T) {
	t.Parallel()
	r, dir := newRemote(t), t.TempDir()
	picture := "GIF89a\x02\x00\x01\x00\x00\x00\x00"
	for name, text := range map[string]string{"index.md": "# Start\n\nTo [a](a.md), ![one](img/one.gif).\n", "a.md": "---\ntags: x\n---\n\n# A\n",
		"deep/b.md": "# B\n\n[film](../film.bin) [a](../a.md)\n", "img/one.gif": picture, "film.bin": "a film"} {
		putFile(t, dir, name, text)
	}
	source := []string{"import-markdown", dir, "--source", "Book", "--as-project"}
	r.do(t, source...)
	c := r.Workspace.Client("")
	c.POST("/api/v1/documents", map[string]any{"title": "By hand", "project_id": r.documentOf(t, "Book:a.md")["project_id"], "content": "x"}).Want(t, 201)
	before := filepath.Join(t.TempDir(), "before")
	r.do(t, "export-markdown", before, "--project", "Book")
	want := filesOf(t, before)
	if len(want) != 7 {
		t.Fatalf("exported %v", want)
	}
	release := r.id(t, "releases", "create", "Book", "1.0")

	putFile(t, dir, "a.md", "# A\n\nchanged\n")
	if err := os.RemoveAll(filepath.Join(dir, "deep")); err != nil {
		t.Fatal(err)
	}
	putFile(t, dir, "new.md", "# New\n")
	r.do(t, append(source, "--prune")...)
	for _, m := range r.list(t, "media", "list") {
		r.do(t, "media", "delete", m["id"].(string))
	}
	r.do(t, "documents", "move", r.documentOf(t, "Book:a.md")["id"].(string), "--project", "none")
	for _, args := range [][]string{{"--release", "1.0", "--project", "book"}, {"--release", release}} {
		out := filepath.Join(t.TempDir(), "out")
		wantWords(t, r.do(t, append([]string{"export-markdown", out}, args...)...), "wrote 5 files and 2 media")
		if got := filesOf(t, out); !maps.Equal(got, want) {
			t.Errorf("%v: exported\n%q\nwant\n%q", args, got, want)
		}
	}
	some := filepath.Join(t.TempDir(), "some")
	counts(t, r.json(t, "export-markdown", some, "--release", release, "--source", "Book"), map[string]float64{"files": 3, "media": 2})

	nowhere := filepath.Join(t.TempDir(), "nowhere")
	fails := func(args []string, words ...string) {
		t.Helper()
		sheafWith(t, r.env, "", append([]string{"export-markdown", nowhere}, args...)...).fails(t, words...)
	}
	r.do(t, "releases", "create", "Book", "2.0")
	r.id(t, "projects", "create", "Other")
	fails([]string{"--release", "3.0", "--project", "Book"}, `"3.0"`, "choose one of 2.0, 1.0")
	fails([]string{"--release", "1.0"}, "--project")
	fails([]string{"--release", release, "--project", "Other"}, "of another project")
	fails([]string{"--release", release, "--source", "nobody"}, "no document to export")
	r.env["SHEAF_API_KEY"] = r.Key(sheaf.ReleasesRead, sheaf.DocumentsRead)
	fails([]string{"--release", release}, "media:read")
	if _, err := os.Stat(nowhere); !os.IsNotExist(err) {
		t.Errorf("a refused export wrote something: %v", err)
	}
}

// The shell completes the names of the releases of the project that precedes them.
func TestCompleteWords_KnowReleases(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.id(t, "projects", "create", "Handbook")
	r.id(t, "releases", "create", "Handbook", "1.0")
	r.id(t, "releases", "create", "Handbook", "2.0")
	for line, want := range map[string]string{"releases get --project Handbook ": "2.0|1.0", "releases get ": "", "shares update x --release ": "newest|none",
		"export-markdown out --project Handbook --release 1": "1.0"} {
		if got := firstFields(r.do(t, append([]string{"complete-words", "--"}, strings.Split(line, " ")...)...)); strings.Join(got, "|") != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
