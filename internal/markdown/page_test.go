package markdown

import (
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

func TestParse_TitlesAndFields(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 250)
	for _, c := range []struct {
		about, path, file string
		want              Page
	}{
		{"front matter", "a.md", "---\ntitle: T\ndescription: D\nurl: https://e.org/x\nn: 5\n---\n\ntext", Page{Title: "T", Description: "D", URL: "https://e.org/x", Metadata: map[string]string{"n": "5"}, Content: "text"}},
		{"the heading", "a.md", "\n# The `sheaf` [command](x.md) #\n\ntext", Page{Title: "The sheaf command", Content: "\n# The `sheaf` [command](x.md) #\n\ntext"}},
		{"the heading on two lines", "a.md", "Title\n=====\n", Page{Title: "Title", Content: "Title\n=====\n"}},
		{"no heading of the second level", "a.md", "## Two", Page{Title: "a", Content: "## Two"}},
		{"no heading further down", "a.md", "text\n\n# One", Page{Title: "a", Content: "text\n\n# One"}},
		{"the name", "x/my page.markdown", "text", Page{Title: "my page", Content: "text"}},
		{"the folder's name", "x/y/README.md", "", Page{Title: "y"}},
		{"at the root", "index.md", "", Page{Title: "index"}},
		{"a name with several dots", "v1.2.md", "", Page{Title: "v1.2"}},
		{"a long heading is cut", "a.md", "# " + long, Page{Title: long[:2*sheaf.MaxName], Content: "# " + long}},
		{"a byte order mark", "a.md", "\ufeff---\ntitle: T\n---\ntext", Page{Title: "T", Content: "text"}},
		{"lines of Windows", "a.md", "---\r\ntitle: T\r\n---\r\n\r\ntext\r\n", Page{Title: "T", Content: "text\r\n"}},
		{"one blank line is the form's, another the text's", "a.md", "---\ntitle: T\n---\n\n\ntext", Page{Title: "T", Content: "\ntext"}},
		{"empty front matter", "a.md", "---\n# only a comment\n---\ntext", Page{Title: "a", Content: "text"}},
		{"front matter to the end", "a.md", "---\ntitle: T\n---", Page{Title: "T"}},
		{"a list", "a.md", "---\ntags: [a, b]\n---\n", Page{Title: "a", Metadata: map[string]string{"tags": "a, b"}}},
		{"values as they are written", "a.md", "---\nday: 2026-01-02\nversion: 1.10\nyes: no\nnone:\nx: 0x1F\n---\n", Page{Title: "a",
			Metadata: map[string]string{"day": "2026-01-02", "version": "1.10", "yes": "no", "none": "", "x": "0x1F"}}},
		{"a mapping", "a.md", "---\nby: {name: Ann, tags: [x, 1]}\n---\n", Page{Title: "a", Metadata: map[string]string{"by": `{"name":"Ann","tags":["x","1"]}`}}},
		{"names that metadata cannot have", "a.md", "---\nDate made: 1\nDate-made: 2\nDate/made: 3\n---\n", Page{Title: "a", Metadata: map[string]string{"Date_made": "1", "Date-made": "2", "Date_made_2": "3"}}},
		{"names of fields, one level deeper", "a.md", "---\ntitle: T\nmetadata:\n  title: other\n---\n", Page{Title: "T", Metadata: map[string]string{"title": "other"}}},
		{"an address that is none", "a.md", "---\nurl: /x\n---\n", Page{Title: "a", Metadata: map[string]string{"url": "/x"}}},
		{"a place is not taken from a file", "a.md", "---\nsheaf.path: b.md\n---\n", Page{Title: "a"}},
		{"no YAML", "a.md", "---\ntitle: a: b\n---\n", Page{Title: "a", Content: "---\ntitle: a: b\n---\n"}},
		{"no mapping", "a.md", "---\njust text\n---\n", Page{Title: "a", Content: "---\njust text\n---\n"}},
		{"no end", "a.md", "---\ntitle: T\n", Page{Title: "a", Content: "---\ntitle: T\n"}},
		{"a name twice", "a.md", "---\na: 1\na: 2\n---\n", Page{Title: "a", Content: "---\na: 1\na: 2\n---\n"}},
		{"an alias", "a.md", "---\na: &x [1]\nb: *x\n---\n", Page{Title: "a", Content: "---\na: &x [1]\nb: *x\n---\n"}},
		{"a line in the text", "a.md", "text\n---\nmore\n---\n", Page{Title: "a", Content: "text\n---\nmore\n---\n"}},
	} {
		got, err := Parse(c.path, []byte(c.file))
		if err != nil || !got.Equal(c.want) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", c.about, err, got, c.want)
		}
		again, err := Parse(c.path, Format(c.path, got))
		if err != nil || !again.Equal(got) {
			t.Errorf("%s: written and read again: %v\n got %+v\nwant %+v", c.about, err, again, got)
		}
	}
}

func TestParse_RefusesWhatIsNoDocument(t *testing.T) {
	t.Parallel()
	for file, word := range map[string]string{
		"\xff\xfea\x00":          "UTF-8",
		"caf\xe9":                "UTF-8",
		"a\x00b":                 "NUL",
		"---\na: \"\\0\"\n---\n": "NUL",
		"---\ntitle: " + strings.Repeat("x", 201) + "\n---\n":        "title has 201 characters",
		"---\ndescription: " + strings.Repeat("x", 2001) + "\n---\n": "description has 2001",
		"---\na: " + strings.Repeat("x", 8200) + "\n---\n":           "metadata",
		"---\n" + namesOfOneForm(9000) + "---\n":                     "metadata",
	} {
		if _, err := Parse("a.md", []byte(file)); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%.30q: %v, want %q", file, err, word)
		}
	}
}

// namesOfOneForm returns entries of front matter that all get the same metadata name, except for
// its number.
func namesOfOneForm(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(string(rune('一'+i)) + ": \n")
	}
	return b.String()
}

// Front matter that expands without end is treated as text.
func TestParse_AliasBombs(t *testing.T) {
	t.Parallel()
	bomb := "---\na0: &a0 [x, x]\n"
	for i := range 20 {
		bomb += "a" + string(rune('b'+i)) + ": &" + string(rune('b'+i)) + " [*a0, *a0]\n"
	}
	bomb += "---\n"
	for _, file := range []string{bomb, "---\n" + strings.Repeat("[", 9000) + "\n---\n", "---\n<<: &a [*a]\n---\n"} {
		p, err := Parse("a.md", []byte(file))
		if err != nil || p.Content != file {
			t.Errorf("%.40q: %v, %.40q", file, err, p.Content)
		}
	}
}

// Front matter is written in one form, and only if the text alone would be read differently.
func TestFormat_IsTheShortest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		page Page
		want string
	}{
		{Page{Title: "a", Content: "text"}, "text"},
		{Page{Title: "One", Content: "# One\n"}, "# One\n"},
		{Page{Title: "Two", Content: "# One\n"}, "---\ntitle: Two\n---\n\n# One\n"},
		{Page{Title: "a", Description: "what: it is", Content: "x"}, "---\ntitle: a\ndescription: \"what: it is\"\n---\n\nx"},
		{Page{Title: "a", Metadata: map[string]string{"z": "", "-": "null", "draft": "true", "title": "x"}}, "---\ntitle: a\n\"-\": \"null\"\ndraft: true\nz: \"\"\nmetadata:\n  title: x\n---\n\n"},
		{Page{Title: " a\n", Content: "x"}, "---\ntitle: \" a\\n\"\n---\n\nx"},
		{Page{Title: "a", Content: "\ufefftext"}, "---\ntitle: a\n---\n\n\ufefftext"},
		{Page{Title: "a", Content: "---\nb: c\n---\n"}, "---\ntitle: a\n---\n\n---\nb: c\n---\n"},
		{Page{Title: "a", URL: "https://e.org/?q#x"}, "---\ntitle: a\nurl: \"https://e.org/?q#x\"\n---\n\n"},
	} {
		got := string(Format("a.md", c.page))
		if got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
		if !readsAs("a.md", []byte(got), c.page) {
			t.Errorf("%q is read as something else", got)
		}
	}
}

// FuzzFrontMatter: for any file, the written page says the same.
func FuzzFrontMatter(f *testing.F) {
	for _, s := range []string{"---\ntitle: a\n---\n", "# x", "---\na: [b, {c: d}]\nurl: https://x.y\n---\n\n\n", "\ufeff\ufeff", "---\r\nz: |\n  a\n  b\n---\r\n",
		"---\n? [a]\n: b\n---", "---\n\"\\U0010FFFF\": !!binary x\n---\n", "---\n!<x> a: !y b\n---\n"} {
		f.Add("x/README.md", []byte(s))
	}
	f.Fuzz(func(t *testing.T, path string, data []byte) {
		if !importable(path) || !IsMarkdown(path) {
			path = "a.md"
		}
		p, err := Parse(path, data)
		if err != nil {
			return
		}
		written := Format(path, p)
		again, err := Parse(path, written)
		if err != nil || !again.Equal(p) {
			t.Fatalf("%v\n read %+v\n then %+v\nwrote %q", err, p, again, written)
		}
		if string(Format(path, again)) != string(written) {
			t.Fatalf("written anew %q is %q", written, Format(path, again))
		}
	})
}

// FuzzFormat: for any document, its file says the same.
func FuzzFormat(f *testing.F) {
	f.Add("t", "d", "n", "v", "c")
	f.Add(" ", "~", "null", "null", "---\n")
	f.Add("a: b", "'", "metadata", "\u2028", "\ufeff")
	f.Add("- a", "|", "-", "1e3", "\n\n# x")
	f.Fuzz(func(t *testing.T, title, description, name, value, content string) {
		p := Page{Title: title, Description: description, Metadata: map[string]string{metadataName(name): value}, Content: content}
		for _, s := range []string{title, description, name, value, content} {
			if strings.ContainsRune(s, 0) || strings.ToValidUTF8(s, "") != s {
				return
			}
		}
		if p.check() != nil || metadataName(name) == pathName {
			return
		}
		if written := Format("x/y.md", p); !readsAs("x/y.md", written, p) {
			again, err := Parse("x/y.md", written)
			t.Fatalf("%v\n said %+v\n read %+v\nwrote %q", err, p, again, written)
		}
	})
}
