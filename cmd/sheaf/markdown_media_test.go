package main

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// filesOf returns all files of a folder by their paths.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// D123: pictures, and other files that texts link to, become media; large ones are sent in pieces.
// The type of a file follows from its bytes. A second run uploads nothing, and an export writes the
// files to their old paths.
func TestMarkdown_Pictures(t *testing.T) {
	t.Parallel()
	r, dir := newRemote(t), t.TempDir()
	picture := "GIF89a\x02\x00\x01\x00\x00\x00\x00"
	large := string(bytes.Repeat([]byte("0123456789abcdef"), 700_000)) // more than one request may have
	for name, text := range map[string]string{
		"guide/a.md": "# A\n\n![one](img/one.gif) ![evil](img/evil.png) [film](../films/film.bin) ![gone](img/gone.png)\n",
		"b.md":       "# B\n\n![one](guide/img/one.gif)\n", "guide/img/one.gif": picture, "guide/img/evil.png": "<script>alert(1)</script>", "films/film.bin": large, "unused.png": "x",
	} {
		putFile(t, dir, name, text)
	}
	source := []string{"import-markdown", dir, "--source", "s"}
	plan := r.do(t, append(source, "--dry-run")...)
	wantWords(t, plan, "upload  films/film.bin", "upload  guide/img/one.gif", "3 to upload, 2 to create", "1 pictures that are not there", "1 files that no text links to")
	if n := r.events(t); n != 0 {
		t.Errorf("a dry run made %d events", n)
	}
	counts(t, r.json(t, source...), map[string]float64{"uploaded": 3, "created": 2, "pictures": 1, "other_files": 1})
	types := map[any]any{}
	for _, m := range r.list(t, "media", "list") {
		types[m["filename"]] = m["content_type"]
	}
	if !maps.Equal(types, map[any]any{"one.gif": "image/gif", "evil.png": sheaf.Binary, "film.bin": sheaf.Binary}) {
		t.Errorf("the media are %v", types)
	}
	before := r.events(t)
	counts(t, r.json(t, source...), map[string]float64{"uploaded": 0, "created": 0, "updated": 0, "unchanged": 2})
	if after := r.events(t); after != before {
		t.Errorf("%d events for nothing", after-before)
	}

	want := filesOf(t, dir)
	delete(want, "unused.png")
	out := filepath.Join(t.TempDir(), "out")
	wantWords(t, r.do(t, "export-markdown", out), "wrote 2 files and 3 media to")
	first := filesOf(t, out)
	if !maps.Equal(first, want) {
		t.Errorf("exported %q", slices.Sorted(maps.Keys(first)))
	}
	other, again := r.another(t), filepath.Join(t.TempDir(), "again")
	other.json(t, "import-markdown", out, "--source", "copy")
	other.do(t, "export-markdown", again)
	if !maps.Equal(filesOf(t, again), first) {
		t.Error("export, import, export differ")
	}

	// Another picture with the same name is another medium. The medium of a deleted file stays,
	// because it could not be restored.
	putFile(t, dir, "guide/img/one.gif", picture+"and more")
	if err := os.Remove(filepath.Join(dir, "guide/a.md")); err != nil {
		t.Fatal(err)
	}
	counts(t, r.json(t, append(source, "--prune")...), map[string]float64{"uploaded": 1, "updated": 1, "trashed": 1})
	if n := len(r.list(t, "media", "list")); n != 4 {
		t.Errorf("%d media", n)
	}
}

// A picture that a person uploads is exported too, into a folder of its own, and imported from
// there.
func TestMarkdown_PicturesOfPeople(t *testing.T) {
	t.Parallel()
	r, dir := newRemote(t), t.TempDir()
	putFile(t, dir, "a.gif", "GIF89a\x02\x00\x01\x00\x00\x00\x00")
	medium := r.json(t, "media", "upload", filepath.Join(dir, "a.gif"))["id"].(string)
	unused := r.json(t, "media", "upload", filepath.Join(dir, "a.gif"), "--name", "unused.gif")["id"].(string)
	text := "![a](media:" + medium + ") ![gone](media:" + strings.Replace(unused, unused[:4], "0000", 1) + ")\n"
	r.Workspace.Client("").POST("/api/v1/documents", map[string]any{"title": "Page", "content": text}).Want(t, 201)
	out := filepath.Join(t.TempDir(), "out")
	r.do(t, "export-markdown", out)
	if got := filesOf(t, out); len(got) != 2 || !strings.HasPrefix(got["Page.md"], "![a](media/a.gif) ![gone](media:0000") || got["media/a.gif"] == "" {
		t.Errorf("exported %q", got)
	}
	// A key that may not read media can export documents without media.
	bare := r.another(t)
	bare.id(t, "documents", "create", "Page")
	bare.env["SHEAF_API_KEY"] = bare.Key(sheaf.DocumentsRead, sheaf.ProjectsRead)
	bare.do(t, "export-markdown", filepath.Join(t.TempDir(), "bare"))
	r.env["SHEAF_API_KEY"] = r.Key(sheaf.DocumentsRead, sheaf.ProjectsRead)
	sheafWith(t, r.env, "", "export-markdown", filepath.Join(t.TempDir(), "no")).fails(t, "media:read")
}
