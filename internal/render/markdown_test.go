package render

import (
	"math/rand/v2"
	"strings"
	"testing"
)

const (
	shownID  = "01a1e33b-0a92-7b5e-a3b8-1d51a9afdd01"
	hiddenID = "01a1e33b-0a92-7b5e-a3b8-1d51a9afdd02"
	mediumID = "01a1e33b-0a92-7b5e-a3b8-1d51a9afdd03"
)

// shownOnly are the addresses for a reader who sees one document and one medium.
var shownOnly = Refs{
	Document: func(id string) string {
		if id == shownID {
			return "https://sheaf.test/d"
		}
		return ""
	},
	Media: func(id string) string {
		if id == mediumID {
			return "https://sheaf.test/m"
		}
		return ""
	},
}

// In the Markdown of a page, links lead where the page's links lead. What the page shows as plain text
// is plain text, and everything else is as it was written.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	r, at := New(Options{}), awaitAs(t.Context(), "a")
	for name, test := range map[string]struct{ text, want string }{
		"nothing to replace":     {"# A\n\n*b* `c` [d](https://example.com \"e\") <https://example.com>\n\n| a | b |\n|---|---|\n", "# A\n\n*b* `c` [d](https://example.com \"e\") <https://example.com>\n\n| a | b |\n|---|---|\n"},
		"a document":             {"To [it](document:SHOWN).", "To [it](https://sheaf.test/d)."},
		"a place":                {"To [it](document:SHOWN#Some-place \"t\").", "To [it](https://sheaf.test/d#h-some-place \"t\")."},
		"in angle brackets":      {"[it](<document:SHOWN>)", "[it](<https://sheaf.test/d>)"},
		"in capitals":            {"[it](DOCUMENT:SHOWN)", "[it](https://sheaf.test/d)"},
		"by an entity":           {"[it](document&colon;SHOWN)", "[it](https://sheaf.test/d)"},
		"over lines":             {"> [it\n> too](\n> document:SHOWN\n> 'a\n> b')\n", "> [it\n> too](\n> https://sheaf.test/d\n> 'a\n> b')\n"},
		"a hidden one":           {"To [*it*](document:HIDDEN).", "To *it*."},
		"a hidden one of lines":  {"> [it](\n> document:HIDDEN\n> 'HIDDEN')\n> b", "> it\n> b"},
		"in code":                {"`[a](document:HIDDEN)`\n\n    [a](document:SHOWN)\n\n```\n[a](document:SHOWN)\n```\n", "`[a](document:HIDDEN)`\n\n    [a](document:SHOWN)\n\n```\n[a](document:SHOWN)\n```\n"},
		"a picture":              {"![cat](media:MEDIUM \"c\")", "![cat](https://sheaf.test/m \"c\")"},
		"a hidden picture":       {"a ![cat](media:HIDDEN) b", "a cat b"},
		"a picture in a link":    {"[![cat](media:MEDIUM)](document:SHOWN)", "[![cat](https://sheaf.test/m)](https://sheaf.test/d)"},
		"hidden within hidden":   {"[![cat](media:HIDDEN)](document:HIDDEN)", "[![cat](<>)](<>)"},
		"brackets around":        {"[[x](document:HIDDEN)](javascript:alert)", "[[x](<>)](javascript:alert)"},
		"a definition":           {"[it][a] [a] [a][]\n\n[a]: document:SHOWN 'document:SHOWN'\n", "[it][a] [a] [a][]\n\n[a]: https://sheaf.test/d 'document:SHOWN'\n"},
		"its label":              {"[document:SHOWN]\n\n[document:SHOWN]: <document:SHOWN>\n", "[document:SHOWN]\n\n[document:SHOWN]: <https://sheaf.test/d>\n"},
		"a hidden definition":    {"[it][a] [a] [a][]!\n\n[a]: document:HIDDEN\n[b]: <document:HIDDEN> 'b'\n[c]:\n  media:HIDDEN\n", "it a a!\n\n[a]: <>\n[b]: <> 'b'\n[c]:\n  <>\n"},
		"an unused definition":   {"b\n\n[a]: document:SHOWN\n", "b\n\n[a]: <>\n"},
		"an unused footnote":     {"b\n\n[^a]: [x](document:SHOWN)\n", "b\n\n[^a]: x\n"},
		"a footnote":             {"b[^a]\n\n[^a]: [x](document:SHOWN)\n", "b[^a]\n\n[^a]: [x](https://sheaf.test/d)\n"},
		"other addresses":        {"[a](javascript:alert) [b](../b.md) [c]() [d](JavaScript&colon;x) ![e](data:x)", "a b c d e"},
		"a table":                {"| a \\| b |\n|---|\n| [x](document:SHOWN) \\| [y](document:HIDDEN) |\n", "| a \\| b |\n|---|\n| [x](https://sheaf.test/d) \\| y |\n"},
		"comments":               {"<!-- HIDDEN -->\na<!-- b\nc -->d\n\n> <!-- e\n> f --> g\n\n- <!-- HIDDEN", "<!---->\na<!---->d\n\n> <!--\n> --> g\n\n- <!-- HIDDEN"},
		"a comment after tabs":   {"-\t<!-- x -->\n\n\ta\n", "-\t<!---->\n\n\ta\n"},
		"a comment in a quote":   {"> <!-- a\n> b\n\nc -->", "> <!--\n> \n\nc -->"},
		"words after a comment":  {"<!-- a\nb -->```\n[c](document:HIDDEN)", "<!--\n-->```\n[c](document:HIDDEN)"},
		"the shortest comments":  {"<!-->\n\na<!--->b <!---->", "<!-->\n\na<!--->b <!---->"},
		"a word after a link":    {"[a](document:HIDDEN)https://b.example![c](media:HIDDEN)", "[a](<>)https://b.examplec"},
		"brackets within":        {"[[a]: document:HIDDEN\n](document:HIDDEN)", "[[a]: document:HIDDEN\n](<>)"},
		"a link without words":   {"a\n[](document:HIDDEN)\n[b]: document:HIDDEN", "a\n[](<>)\n[b]: document:HIDDEN"},
		"a link of a comment":    {"[x]<!-- a -->(javascript:alert)", "[x]<!---->(javascript:alert)"},
		"line breaks":            {"a\r\n[b](document:SHOWN)\r\n", "a\n[b](https://sheaf.test/d)\n"},
		"bytes that are no text": {"\xff\x00 [b](document:SHOWN)", "\ufffd\ufffd [b](https://sheaf.test/d)"},
	} {
		fill := strings.NewReplacer("SHOWN", shownID, "HIDDEN", hiddenID, "MEDIUM", mediumID).Replace
		page, err := r.Page(at, fill(test.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(page.Markdown(fill(test.text), shownOnly)); got != fill(test.want) {
			t.Errorf("%s:\n%q\n%q", name, got, fill(test.want))
		}
	}
}

// A page that is shown below its title leaves its first heading out, in either form of headings.
func TestMarkdown_WithoutItsTitle(t *testing.T) {
	t.Parallel()
	r, at := New(Options{}), awaitAs(t.Context(), "a")
	for text, want := range map[string]string{
		"# A  title #\n\nb\n":            "\nb\n",
		"a\ntitle\n===\nb":               "b",
		"[a]: /x\n\n# A title\nb":        "[a]: <>\n\nb",
		"<!-- a -->\n# A title\nb":       "<!---->\nb",
		"# A <!-- a --> title":           "",
		"# Another title\n":              "# Another title\n",
		"## A title\n":                   "## A title\n",
		"  # A title\n# A title\n":       "# A title\n",
		"# A [title](https://a.example)": "# A [title](https://a.example)",
	} {
		page, err := r.Page(at, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(page.Markdown(text, Refs{Title: "A title"})); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// However links, brackets, comments and blocks are mixed, the Markdown for a reader who sees nothing else leads
// nowhere either: what was left out does not turn the rest into a link.
func TestMarkdown_LeadsNowhereElse(t *testing.T) {
	t.Parallel()
	parts := strings.Split(strings.NewReplacer("HIDDEN", hiddenID, "$", "\n").Replace(
		"[;];(;);!;![;](;][;[];[a];[b];a;b; ;$;$$;> ;- ;\t;1. ;`;``;*;_;~;<;>;<!--;-->;<!-- x -->;<!-->;document:HIDDEN;<document:HIDDEN>;media:HIDDEN;javascript:x;"+
			"https://a.example;www.a.example;[a]: document:HIDDEN$;$$[b]: <media:HIDDEN> 't'$;[c](document:HIDDEN);![c](media:HIDDEN \"t\");\\;|;$|---|---|$;| ;"+
			"[^n];$$[^n]: ;#;# ;===$;---$;    ;<details>$;</details>$;<summary>;</summary>;\";';&;&colon;;```$;é;\r$"), ";")
	r, random := New(Options{}), rand.New(rand.NewPCG(1, 2))
	for range 30_000 {
		var b strings.Builder
		for range 1 + random.IntN(25) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		text := b.String()
		p, spent := r.render(text)
		if spent.fault != nil {
			t.Fatalf("%q: %v", text, spent.fault)
		}
		if p.Plain() {
			continue
		}
		markdown := string(p.Markdown(text, unknown))
		if again, _ := r.render(markdown); len(again.Documents())+len(again.Media()) > 0 {
			t.Errorf("%q becomes %q", text, markdown)
		}
	}
}
