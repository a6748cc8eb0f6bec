package markdown

import (
	"archive/zip"
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sheaf.dev/internal/sheaf"
)

// D123: pictures and other files that texts show or link to become media: by relative paths, by
// paths from the root, by name as in Obsidian, and in definitions. Files that no text links to, and
// missing files, do not.
func TestMedia_OfTexts(t *testing.T) {
	t.Parallel()
	w := newWorkspace()
	w.take(t, files{
		"guide/a.md":      "![one](img/p.png) ![two](/guide/img/p.png \"t\") [file](../files/notes.pdf) ![[q.png|300]] ![[img/p.png]] ![[q.png|Wide]]\n\n![x][ref]\n\n[ref]: <img/a b.png>\n",
		"guide/b.md":      "`![code](img/p.png)` ![gone](img/gone.png) ![web](https://example.com/p.png) [[notes.pdf]] [top](../files/)",
		"guide/img/p.png": "p", "guide/img/a b.png": "ab", "x/q.png": "q", "files/notes.pdf": "pdf", "files/nobody.bin": "n", "files/empty.png": "",
	}.tree(t), "s")
	want := "![one](media:p.png) ![two](media:p.png \"t\") [file](media:notes.pdf) ![q.png](media:q.png) ![img/p.png](media:p.png) ![Wide](media:q.png)\n\n![x][ref]\n\n[ref]: media:a b.png\n"
	for _, text := range []string{want, "`![code](img/p.png)` ![gone](img/gone.png) ![web](https://example.com/p.png) [notes.pdf](media:notes.pdf) [top](../files/)"} {
		if !strings.Contains(w.String(), text) {
			t.Errorf("the workspace lacks\n%s\nit is\n%s", text, w)
		}
	}
	if len(w.media) != 4 {
		t.Errorf("media %v", w.media)
	}
}

// D123: a second import of the same files uploads nothing. Another file or another name is another
// medium.
func TestMedia_AreKnownAgain(t *testing.T) {
	t.Parallel()
	w := newWorkspace()
	tree := files{"a.md": "![](p.png) ![](x/p.png) ![](x/q.png)\n", "p.png": "1", "x/p.png": "1", "x/q.png": "1"}
	if plan := w.take(t, tree.tree(t), "s"); len(plan.Upload) != 2 || len(w.media) != 2 { // by name and bytes
		t.Errorf("first %v", w.media)
	}
	if plan := w.take(t, tree.tree(t), "s"); len(plan.Upload) != 0 || plan.Same != 1 {
		t.Errorf("again %+v", plan)
	}
	tree["p.png"] = "2"
	if plan := w.take(t, tree.tree(t), "s"); len(plan.Upload) != 1 || len(plan.Update) != 1 || len(w.media) != 3 {
		t.Errorf("changed %+v", plan)
	}
	if plan := w.take(t, tree.tree(t), "other"); len(plan.Upload) != 0 {
		t.Errorf("another source uploads %v", plan.Upload)
	}
}

// A name does not change when it is written and read again.
func TestMediumName_IsStable(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"a.png": "a.png", "a.md": "a.md.bin", "_category_.json": "_category_.json.bin", ".hidden": "_.hidden", "../up.png": "_..-up.png", "CON.png": "_CON.png", "a .png": "a.png", "": "untitled"} {
		if got := mediumName(name, 1); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
	if got := mediumName("a.tar.gz", 2); got != "a.tar (2).gz" {
		t.Errorf("the second is %q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[.a ]{0,5}(é){60,140}[. ()a-z]{0,40}`)).Draw(t, "name")
		once := mediumName(name, rapid.IntRange(1, 1000).Draw(t, "n"))
		if again := mediumName(once, 1); again != once {
			t.Fatalf("%q becomes %q and then %q", name, once, again)
		}
		if err := sheaf.CheckFilename(once); err != nil || IsMarkdown(once) || checkPath(once) != nil || hidden(once) {
			t.Fatalf("%q becomes %q: %v", name, once, err)
		}
	})
}

// D123: pictures in a hostile archive: a path that climbs, a link in place of a picture, a bomb, an
// entry whose bytes do not match its checksum. The whole archive is refused.
func TestZip_HostilePicturesAreRefused(t *testing.T) {
	t.Parallel()
	page := "![](p.png)"
	for name, c := range map[string]struct {
		entry zip.FileHeader
		data  []byte
		want  string
	}{
		"a path that climbs":  {zip.FileHeader{Name: "../p.png"}, []byte("x"), "leads elsewhere"},
		"an absolute path":    {zip.FileHeader{Name: "/p.png"}, []byte("x"), "is absolute"},
		"a symbolic link":     {symlink(), []byte("/etc/passwd"), "is a link"},
		"far too much in it":  {zip.FileHeader{Name: "p.png", Method: zip.Deflate}, make([]byte, 40<<20), "made to harm"},
		"a picture is a page": {zip.FileHeader{Name: "a.md"}, []byte("x"), "is there twice"},
	} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for _, e := range []struct {
			h    zip.FileHeader
			data []byte
		}{{zip.FileHeader{Name: "a.md"}, []byte(page)}, {c.entry, c.data}} {
			f, err := z.CreateHeader(&e.h)
			if err == nil {
				_, err = f.Write(e.data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := newZip(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func symlink() zip.FileHeader {
	h := zip.FileHeader{Name: "p.png"}
	h.SetMode(0o777 | 1<<27) // a symbolic link
	return h
}

// A damaged picture in an archive is found before anything is sent.
func TestLoad_APictureThatIsDamaged(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{"a.md": "![](p.png)", "p.png": "some bytes of a picture"} {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name}) // stored as it is
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Replace(b.Bytes(), []byte("some bytes"), []byte("same bytes"), 1)
	tree, err := newZip(bytes.NewReader(damaged), int64(len(damaged)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Load(tree, "s"); err == nil || !strings.Contains(err.Error(), "p.png") {
		t.Errorf("it is taken: %v", err)
	}
}

func TestMediaIn_FindsWhatATextShows(t *testing.T) {
	t.Parallel()
	const a, b = "0198c0de-0000-7000-8000-00000000000a", "0198c0de-0000-7000-8000-00000000000b"
	text := "![x](media:" + a + ") [y](media:" + b + "#p) ![x](media:" + a + ") `media:" + a + "` ![z](media:nothing)"
	if got := MediaIn(text); !slices.Equal(got, []string{a, b}) {
		t.Errorf("found %q", got)
	}
}

// D123: if an import would take two media with equal bytes for one medium, they share a file. With
// a path for each, one of the two would be gone after the import.
func TestRoundTrip_OfEqualMedia(t *testing.T) {
	t.Parallel()
	w := newWorkspace()
	for _, place := range []string{"pictures/x.png", "elsewhere/x.png", "x...png", ""} {
		id := w.medium("x.png", "equal")
		d := Document{ID: w.id(), Page: Page{Title: "shows " + place}}
		if place != "" {
			d.Metadata = map[string]string{placesName: id + " " + place}
		}
		w.documents = append(w.documents, d)
		w.texts[d.ID] = "![](media:" + id + ")"
	}
	first := w.export(t)
	other := newWorkspace()
	other.ids = 1000
	other.take(t, first.tree(t), "s")
	sameFiles(t, other.export(t), first)
	if len(first) != 5 {
		t.Errorf("%d files, want 4 documents and 1 picture", len(first))
	}
}
