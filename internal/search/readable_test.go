package search

import (
	"strings"
	"testing"
	"time"
)

// A snippet for people has the text of a document, without marks, addresses and comments.
func TestReadable_LeavesWhatAPersonReads(t *testing.T) {
	for text, want := range map[string]string{
		"# Getting *started*\n\nPress the **green** button.":               "Getting started\n\nPress the green button.",
		"See [the guide](https://example.com/heron \"A title\"), now.":     "See the guide, now.",
		"![A heron](media:01a1 'x') and [![in](media:1)](https://a.b/c_d)": "A heron and in",
		"[one][ref] two\n\n[ref]: https://example.com/heron":               "one two\n\n",
		"a [wiki (heron)](https://e.org/x_(y)_z) b":                        "a wiki (heron) b",
		"- [x] done\n* item\n> quoted\n1. first":                           "done\nitem\nquoted\n1. first",
		"before <!-- a heron\nhides --> after":                             "before  after",
		"open <!-- to the end":                                             "open <!-- to the end",
		// In code, it is no comment.
		"```html\n<!-- kept -->\n```\n<!-- gone -->after":                                    "<!-- kept -->\nafter",
		"```\n<!--\n```\nread\n\n    indented -->\nend":                                      "<!--\nread\n\n    indented -->\nend",
		"write `<!-- kept -->`, ``a ` <!--`` and <!-- gone --> this":                         "write <!-- kept -->, a ` <!-- and  this",
		"text\n\n    <!-- kept -->\n":                                                        "text\n\n    <!-- kept -->\n",
		"- one\n\n    - two <!-- gone -->\n\n    <!-- gone -->":                              "one\n\ntwo \n\n    ",
		"a ` tick <!-- gone --> here":                                                        "a  tick  here",
		`a \<!-- kept --> b`:                                                                 "a <!-- kept --> b",
		"~~~\n```\n<!-- kept -->\n~~~\n<!-- gone\n```\ngone -->read":                         "```\n<!-- kept -->\nread",
		"```go\nx := a[1](2) // **kept**\n```\nafter":                                        "x := a[1](2) // **kept**\nafter",
		"`snake_case` and snake_case and 2 * 3 and ~~old~~ ~tilde":                           "snake_case and snake_case and 2 * 3 and old ~tilde",
		"| a | b |\n|---|:-:|\n| c | d |":                                                    "  a   b  \n  c   d  ",
		"Title\n=====\n\n---\n<https://example.com/x> <a href=\"heron\">in</a> <b>bold</b>":  "Title\n\nhttps://example.com/x in <b>bold</b>",
		`\*not\* emphasis \[x\](y) a]b ](c`:                                                  "*not* emphasis [x](y) a]b ](c",
		"[not a link] and [x]\n(y)":                                                          "[not a link] and [x]\n(y)",
		"> [!NOTE]\n> Read it.\n>[!tip]\n> [!OTHER]\n[!NOTE]\n":                              "Note\nRead it.\nTip\n[!OTHER]\n[!NOTE]\n",
		"Press <kbd>Ctrl</kbd>, <details open><summary>more</summary> <mark x>a</mark><br/>": "Press Ctrl, more <mark x>a",
		"": "",
	} {
		if got := readable(text); got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
}

// No text is read in a time that grows with the square of its length, and nothing is added to it.
func TestReadable_HostileTexts(t *testing.T) {
	for _, unit := range []string{"[", "](", "][", "`", "``` ", "<", "<a", "<!--", "<!-- `", "`<!-- -->", "*", "_ ", "[x](", "](y)", "![", "~~", "> ", "- ", "#", "\\", "[^", "]:", "`a``b", "(", ")", "|"} {
		text := strings.Repeat(unit, 1<<20/len(unit))
		begun := time.Now()
		if got := readable(text); len(got) > len(text) || strings.Contains(got, gone) {
			t.Errorf("%q: %d bytes of %d", unit, len(got), len(text))
		}
		t.Logf("%q took %v", unit, time.Since(begun))
	}
}

func FuzzReadable(f *testing.F) {
	f.Add("# a [b](c) `d` <!-- e --> **f** | g |\n```\nh\n```")
	f.Fuzz(func(t *testing.T, text string) {
		if got := readable(text); len(got) > len(text) {
			t.Errorf("%q became %q", text, got)
		}
	})
}
