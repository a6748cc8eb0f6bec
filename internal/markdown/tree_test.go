package markdown

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTree_TakesWhatReadersRead(t *testing.T) {
	t.Parallel()
	tree := files{"b.md": "", "README.md": "", "a/z.md": "", "a/index.md": "", "a/b/c.markdown": "", "a.md": "", "UP.MD": "",
		".git/x.md": "", "a/.trash/x.md": "", "__MACOSX/._b.md": "", "pic.png": "", "a/data.json": "", "mdless": "",
		"Q: why?.md": "",
	}.tree(t)
	if want := []string{"README.md", "Q: why?.md", "UP.MD", "a.md", "b.md", "a/index.md", "a/z.md", "a/b/c.markdown"}; !slices.Equal(tree.Paths(), want) {
		t.Errorf("paths %q", tree.Paths())
	}
	if tree.Others() != 3 {
		t.Errorf("%d other files", tree.Others())
	}
}

// Names have one form, whatever form of accents the system that packed them writes.
func TestTree_NamesAreComposed(t *testing.T) {
	t.Parallel()
	decomposed := "u\u0308ber.md"
	tree := files{decomposed: "# Text"}.tree(t)
	if got := tree.Paths(); !slices.Equal(got, []string{"\u00fcber.md"}) {
		t.Fatalf("paths %q", got)
	}
	if data, err := tree.Read("\u00fcber.md"); err != nil || string(data) != "# Text" {
		t.Errorf("read %q, %v", data, err)
	}
	if _, err := (files{decomposed: "", "\u00fcber.md": ""}).open(); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("both forms: %v", err)
	}
}

// Links in a folder are not followed, wherever they lead. They are counted.
func TestTree_PassesOverLinks(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret.md")
	for _, path := range []string{outside, filepath.Join(dir, "a.md")} {
		if err := os.WriteFile(path, []byte("# Text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"b.md": outside, "c.md": "a.md", "d": filepath.Dir(outside), "e.md": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	tree := opened(t, dir)
	if !slices.Equal(tree.Paths(), []string{"a.md"}) || tree.Passed != 4 {
		t.Errorf("paths %q, %d passed over", tree.Paths(), tree.Passed)
	}
	// Nor is one that is put there later.
	if err := os.Remove(filepath.Join(dir, "a.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "a.md")); err != nil {
		t.Fatal(err)
	}
	if data, err := tree.Read("a.md"); err == nil {
		t.Errorf("read %q", data)
	}
}

// entry is an entry of an archive that a test makes.
type entry struct {
	name, text string
	change     func(*zip.FileHeader)
}

func archive(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.change != nil {
			e.change(h)
		}
		f, err := w.CreateHeader(h)
		if err == nil && e.text != "" {
			_, err = f.Write([]byte(e.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipTree(data []byte) (*Tree, error) { return newZip(bytes.NewReader(data), int64(len(data))) }

func mode(m fs.FileMode) func(*zip.FileHeader) {
	return func(h *zip.FileHeader) { h.SetMode(m | 0o644) }
}

// D123: a hostile archive is refused by its list, before any of its entries is read.
func TestZip_HostileArchivesAreRefused(t *testing.T) {
	t.Parallel()
	many := make([]entry, MaxEntries+1)
	for i := range many {
		many[i] = entry{name: fmt.Sprintf("%d.png", i), change: func(h *zip.FileHeader) { h.Method = zip.Store }}
	}
	good := entry{name: "good.md", text: "# Good"}
	for about, c := range map[string]struct {
		entries []entry
		word    string
	}{
		"climbs":                 {[]entry{good, {name: "../x.md"}}, "leads elsewhere"},
		"climbs inside":          {[]entry{good, {name: "a/../../x.md"}}, "leads elsewhere"},
		"climbs, no Markdown":    {[]entry{good, {name: "../.bashrc"}}, "leads elsewhere"},
		"absolute":               {[]entry{good, {name: "/etc/x.md"}}, "absolute"},
		"of a drive":             {[]entry{good, {name: "C:/x.md"}}, "absolute"},
		"backslashes":            {[]entry{good, {name: `..\x.md`}}, "character"},
		"control characters":     {[]entry{good, {name: "a\x1b[2J.md"}}, "character"},
		"a NUL":                  {[]entry{good, {name: "a.md\x00.png"}}, "character"},
		"not UTF-8":              {[]entry{good, {name: "caf\xe9.md", change: func(h *zip.FileHeader) { h.NonUTF8 = true }}}, "UTF-8"},
		"a point":                {[]entry{good, {name: "./x.md"}}, "leads elsewhere"},
		"two slashes":            {[]entry{good, {name: "a//x.md"}}, "leads elsewhere"},
		"an empty name":          {[]entry{good, {name: ""}}, "a path has 0 bytes"},
		"a long name":            {[]entry{good, {name: strings.Repeat("a/", 1500) + "x.md"}}, "a path has 3004 bytes"},
		"a symbolic link":        {[]entry{good, {name: "x.md", text: "/etc/passwd", change: mode(fs.ModeSymlink)}}, "link or a device"},
		"a device":               {[]entry{good, {name: "x.md", change: mode(fs.ModeDevice)}}, "link or a device"},
		"a pipe":                 {[]entry{good, {name: "x.png", change: mode(fs.ModeNamedPipe)}}, "link or a device"},
		"a link as a folder":     {[]entry{good, {name: "x/", change: mode(fs.ModeSymlink)}}, "link or a device"},
		"a file twice":           {[]entry{good, {name: "a.md"}, {name: "a.md"}}, "twice"},
		"a file and a folder":    {[]entry{good, {name: "a.md"}, {name: "a.md/b.md"}}, "a file and a folder"},
		"a folder and a file":    {[]entry{good, {name: "a.md/b.md"}, {name: "a.md"}}, "twice"},
		"encrypted":              {[]entry{good, {name: "a.md", change: func(h *zip.FileHeader) { h.Flags |= 1 }}}, "encrypted"},
		"too many":               {many, "more than 100000"},
		"far more than its size": {[]entry{good, {name: "a.md", text: strings.Repeat("a", smallZip+1)}}, "made to harm"},
	} {
		if _, err := zipTree(archive(t, c.entries...)); err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s: %v, want %q", about, err, c.word)
		}
	}
	if _, err := zipTree(archive(t, good)); err != nil {
		t.Errorf("a good one: %v", err)
	}
}

// Wrong sizes in the list are noticed when the file is read, before it is sent.
func TestZip_LyingSizes(t *testing.T) {
	t.Parallel()
	data := archive(t, entry{name: "a.md", text: strings.Repeat("a", 1000)})
	list := bytes.LastIndex(data, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(data[list+24:], 10) // the size without packing
	tree, err := zipTree(data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Load(tree, "s"); err == nil || !strings.Contains(err.Error(), "a.md") {
		t.Errorf("a short figure: %v", err)
	}
	binary.LittleEndian.PutUint32(data[list+10:], 99) // the method
	if _, err := zipTree(data); err == nil || !strings.Contains(err.Error(), "method") {
		t.Errorf("an unknown method: %v", err)
	}
	if _, err := zipTree([]byte("# no archive")); err == nil || !strings.Contains(err.Error(), "neither a folder nor a zip") {
		t.Errorf("no archive: %v", err)
	}
}

// Reading the list of entries is bounded.
func TestZip_LongLists(t *testing.T) {
	t.Parallel()
	m := &metered{bytes.NewReader(make([]byte, 100)), 150}
	for _, want := range []bool{true, false, false} {
		if _, err := m.ReadAt(make([]byte, 100), 0); (err == nil) != want {
			t.Errorf("read: %v, want success %t", err, want)
		}
	}
}

// FuzzZip: an archive of any bytes is either refused, or every path in it is one that an import
// takes.
func FuzzZip(f *testing.F) {
	f.Add(archive(f, entry{name: "a.md", text: "# A"}, entry{name: "b/"}, entry{name: "b/c.png"}))
	f.Add(archive(f, entry{name: "../a.md"}, entry{name: "mkdocs.yml", text: "docs_dir: x"}, entry{name: "x/y.md"}))
	f.Add(archive(f, entry{name: "mkdocs.yml", text: "docs_dir: ../.."}, entry{name: "docs/y.md", text: "---\na: b\n---\n"}))
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, err := zipTree(data)
		if err != nil {
			return
		}
		for _, path := range tree.Paths() {
			if !importable(path) || !IsMarkdown(path) {
				t.Errorf("took %q", path)
			}
			if data, err := tree.Read(path); err == nil && len(data) > maxFile {
				t.Errorf("%q has %d bytes", path, len(data))
			}
		}
	})
}
