package markdown

import (
	"slices"
	"strings"
	"testing"
)

// library are the files that the links in the tests lead to.
var library = []string{"README.md", "a b.md", "x/one.md", "x/two.md", "x/y/README.md", "x/y/Über uns (neu).md", "notes/One.md", "q#1.md", "t:u.md"}

// addressed writes the path itself, so that a test can read it.
func addressed(path string) (string, bool) { return "→" + path, true }

func TestRewrite_FindsTheFile(t *testing.T) {
	t.Parallel()
	x := NewIndex(library, nil)
	for text, want := range map[string]string{
		"[a](one.md)":                        "[a](→x/one.md)",
		"[a](./one.md#part)":                 "[a](→x/one.md#part)",
		"[a](../README.md)":                  "[a](→README.md)",
		"[a](/x/two.md)":                     "[a](→x/two.md)",
		"[a](one)":                           "[a](→x/one.md)",
		"[a](y/)":                            "[a](→x/y/README.md)",
		"[a](..)":                            "[a](→README.md)",
		"[a](../a%20b.md \"t\")":             "[a](→a b.md \"t\")",
		"[a](<../a b.md> 't')":               "[a](→a b.md 't')",
		"[a](y/%C3%9Cber%20uns%20(neu).md)":  "[a](→x/y/Über uns (neu).md)",
		`[a](y/Über\ uns.md)`:                `[a](y/Über\ uns.md)`,
		"[a]( one.md )":                      "[a]( →x/one.md )",
		"[![p](p.png)](one.md)":              "[![p](p.png)](→x/one.md)",
		"[a]\n\n[a]: one.md":                 "[a]\n\n[a]: →x/one.md",
		"[a]: <one.md> \"t\"":                "[a]: →x/one.md \"t\"",
		"> [a]: one.md":                      "> [a]: →x/one.md",
		"[a]: one.md and more":               "[a]: one.md and more",
		"[^a]: one.md":                       "[^a]: one.md",
		"[a](none.md) [b](one.md)":           "[a](none.md) [b](→x/one.md)",
		"[a](https://e.org/one.md)":          "[a](https://e.org/one.md)",
		"[a](//e.org/one.md)":                "[a](//e.org/one.md)",
		"[a](mailto:one.md)":                 "[a](mailto:one.md)",
		"[a](#one.md)":                       "[a](#one.md)",
		"[a](one.md?raw=1)":                  "[a](one.md?raw=1)",
		"[a](../../x/one.md)":                "[a](../../x/one.md)",
		"![a](one.md)":                       "![a](one.md)",
		"a](one.md)":                         "a](one.md)",
		`\[a](one.md)`:                       `\[a](one.md)`,
		"`[a](one.md)` [a](one.md)":          "`[a](one.md)` [a](→x/one.md)",
		"`` ` [a](one.md) `` ` [a](one.md)":  "`` ` [a](one.md) `` ` [a](→x/one.md)",
		"```\n[a](one.md)\n```\n[a](one.md)": "```\n[a](one.md)\n```\n[a](→x/one.md)",
		"- ~~~~\n  [a](one.md)\n  ~~~\n  ~~~~\n[a](one.md)":                         "- ~~~~\n  [a](one.md)\n  ~~~\n  ~~~~\n[a](→x/one.md)",
		"> ```\n> [a](one.md)\n\n[a](one.md)":                                       "> ```\n> [a](one.md)\n\n[a](→x/one.md)",
		"[a][b\n\nc](one.md)":                                                       "[a][b\n\nc](one.md)",
		"[[two]] [[TWO.md|second]]":                                                 "[two](→x/two.md) [second](→x/two.md)",
		"[[one]] [[notes/one]] [[y/readme]]":                                        "[one](→x/one.md) [notes/one](→notes/One.md) [y/readme](→x/y/README.md)",
		"[[two#A Part!|p]] [[two#^id]] [[two^id]]":                                  "[p](→x/two.md#a-part) [two](→x/two.md) [two](→x/two.md)",
		"[[none]] [[]] [[two]":                                                      "[[none]] [[]] [[two]",
		"[[#Here]] [[#Über & uns|us]] [[#A#B c]]":                                   "[Here](#here) [us](#über--uns) [A > B c](#b-c)",
		"[[#^id]] [[#^id|x]] [[#]] [[#!]]":                                          "[[#^id]] [[#^id|x]] [[#]] [[#!]]",
		"| [[#Here\\|h]] | ![[#Here]] |":                                            "| [h](#here) | [Here](#here) |",
		"[[two# हिंदी ]] `[[#Here]]`":                                               "[two >  हिंदी](→x/two.md#हिंदी) `[[#Here]]`",
		"![[two|100]]":                                                              "[two](→x/two.md)",
		"<img src=\"one.md\">":                                                      "<img src=\"one.md\">",
		"<IMG alt='a [b]' width=100\nsrc='https://e.org/p.png?a=1&amp;b=(2)' />":    `![a \[b\]](https://e.org/p.png?a=1&b=%282%29)`,
		"<img src={logo}> <img src=\"ftp://e.org/p.png\"> <img alt=x> <imgs src=p>": "<img src={logo}> <img src=\"ftp://e.org/p.png\"> <img alt=x> <imgs src=p>",
		"`<img src=https://e.org/p>`\n\n    <img src=https://e.org/p>":              "`<img src=https://e.org/p>`\n\n    <img src=https://e.org/p>",
		"- a\n\n    <img src=https://e.org/p>":                                      "- a\n\n    ![](https://e.org/p)",
		"[<img src=https://e.org/p alt=p>](one.md)":                                 "[![p](https://e.org/p)](→x/one.md)",
		"| [[two\\|2]] |":                                                           "| [2](→x/two.md) |",
		"![[two]] ![[pic.png]]":                                                     "[two](→x/two.md) ![[pic.png]]",
		"[[[two]]]":                                                                 "[[two](→x/two.md)]",
		"[a](<one.md#my part>)":                                                     "[a](→x/one.md#my%20part)",
	} {
		if got := x.Rewrite("x/here.md", text, addressed).Text; got != want {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestRewrite_CountsPictures(t *testing.T) {
	t.Parallel()
	r := NewIndex(library, nil).Rewrite("a.md", "![a](p.png) ![b](https://e.org/p.png) ![[c.png]] [x](p.png) ![d](media:1) `![](n.png)` ![e](/up/e.png)", addressed)
	if r.Pictures != 3 {
		t.Errorf("%d pictures", r.Pictures)
	}
	r = NewIndex(library, nil).Rewrite("a.md", "[a](x/one.md) [b](README.md) [a](x/one)", addressed)
	if !slices.Equal(r.Targets, []string{"x/one.md", "README.md"}) {
		t.Errorf("links to %q", r.Targets)
	}
}

// A relative link is found again from the file in which it is written, whatever the names contain.
func TestRelative_LeadsThere(t *testing.T) {
	t.Parallel()
	x := NewIndex(library, nil)
	for _, from := range library {
		for _, to := range library {
			dest := relative(from, to)
			if got, _, ok := x.find(from, link{dest: dest}); !ok || got != to {
				t.Errorf("from %q to %q: %q leads to %q", from, to, dest, got)
			}
			text := "a [b](" + dest + ") c"
			if got := x.Rewrite(from, text, func(string) (string, bool) { return "d", true }); got.Text != "a [b](d) c" {
				t.Errorf("%q is no link: %q", text, got.Text)
			}
		}
	}
}

// Texts that take quadratic time in careless scanners are handled at once. A slow scanner would take
// hours here.
func TestFindLinks_HostileTexts(t *testing.T) {
	t.Parallel()
	const size = 1 << 18
	for _, part := range []string{"[", "]", "![", "[[", "[[a", "[a](", "[a](<", "[a](b \"", "[a](b '", "[a](b (", "`", "`a``", "``` ", "\\", "> ", "- ", "[a]: ", "[a](x", "[](((", "[a]:\n", "~~~\n", "1. ", "![[a|", "[x]:<",
		"<img a", "<img a='", "<img a=' <img b=\" ", "<img src=x ", "%%", "%%\n", " %%a", "%% a\n", ":::info\n", ":::info\n::::tip\n", ":::", ":::info\n:::\n"} {
		text := strings.Repeat(part, size/len(part))
		findLinks(text)
		quoteNotices(text)
		editComments(text, false)
		editComments(text, true)
	}
	var odd strings.Builder
	for i := 1; odd.Len() < size; i++ {
		odd.WriteString(strings.Repeat("`", i) + " ")
	}
	findLinks(odd.String())
}

// FuzzRewrite: an import reads what an export has written, and the next export writes the same.
func FuzzRewrite(f *testing.F) {
	for _, s := range []string{"[a](x/one.md)", "[[one]]", "[[a b|c]] ![[two]]", "[a](document:2#p) [b](document:99)", "[a]: <x/one.md> 't'", "`[[one]]`\n~~~\n[[one]]\n~~~\n[](q%231.md)",
		"[[[one]]](x/two.md)", "![[one]](x/one.md)", "[a](<x/one.md#`>) `", "[a](x/one.md\n\"t\n\")", "[[one\\|x]]: [[two]]", "[a](./x/../x/one.md#%20(a))",
		"[[#a]] ![[#b|c]]", "<img src=x/one.md> <img src='https://e.org/' alt='[`'>", "%%a%% b %%\n%%c\n%%", ":::info\n[[one]]\n\n:::\nx", "- %%a%%\n\n    %%b%%\n\n\t%%c%%", "\\%%%a%% `%%b%%` %%`%%`"} {
		f.Add(s)
	}
	ids, paths := map[string]string{}, map[string]string{}
	for i, p := range library {
		id := string(rune('0' + i))
		ids[p], paths[id] = id, p
	}
	index, x := NewIndex(library, nil), NewExport(Places{Paths: paths}, nil)
	f.Fuzz(func(t *testing.T, text string) {
		written := func(text string) string {
			find := func(l link) (string, string, bool) { return x.find("README.md", l) }
			text = rewrite(quoteNotices(text), find, func(to string) (string, bool) { return relative("README.md", to), true }).Text
			return editComments(text, true)
		}
		first := written(text)
		if without := editComments(first, false); without != first {
			t.Fatalf("%q was written as %q, and an import takes %q of it", text, first, without)
		}
		stored := index.Rewrite("README.md", quoteNotices(first), func(path string) (string, bool) { return "document:" + ids[path], true })
		if again := written(stored.Text); again != first {
			t.Fatalf("%q\n was written as %q\n stored as %q\n and written as %q", text, first, stored.Text, again)
		}
		if len(stored.Text) < len(first) && len(stored.Targets) == 0 {
			t.Fatalf("%q lost something: %q", first, stored.Text)
		}
	})
}
