package markdown

import (
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// D123: Obsidian's comments are removed, but not those in code, nor single %%. An export escapes
// what the next import would remove.
func TestComments_AreRemovedOrEscaped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"a %%b%% c":                             {"a  c", `a \%%b%% c`},
		"a.%%b%%, %%c%%":                        {"a.,", `a.\%%b%%, \%%c%%`},
		"a\n%%b%%\nc":                           {"a\nc", "a\n\\%%b%%\nc"},
		"a\r\n%%b%%\r\nc":                       {"a\r\nc", "a\r\n\\%%b%%\r\nc"},
		"a\n\n%%\nb\n\n```\nc\n%%\nd":           {"a\n\nd", "a\n\n\\%%\nb\n\n```\nc\n%%\nd"},
		"%% a\nb %%\nc":                         {"c", "\\%% a\nb %%\nc"},
		"%% a\nb\n%% c":                         {" c", "\\%% a\nb\n%% c"},
		"- %%a%%\n\n    %%b%%":                  {"-\n\n", "- \\%%a%%\n\n    \\%%b%%"},
		"100%% of 20%%":                         {"100%% of 20%%", "100%% of 20%%"},
		"for %%i in (*) do %%i":                 {"for %%i in (*) do %%i", "for %%i in (*) do %%i"},
		"`%%a%%` ``%% ` %%``":                   {"`%%a%%` ``%% ` %%``", "`%%a%%` ``%% ` %%``"},
		"```\n%%a%%\n```":                       {"```\n%%a%%\n```", "```\n%%a%%\n```"},
		"a\n\n    %%a%%":                        {"a\n\n    %%a%%", "a\n\n    %%a%%"},
		"%% a":                                  {"%% a", "%% a"},
		"%%%%":                                  {"%%%%", "%%%%"},
		`\%%a%%`:                                {`\%%a%%`, `\%%a%%`},
		"# A %%b%%\n\n> %%c%%\n\n| %%d%% | e |": {"# A\n\n>\n\n|  | e |", "# A \\%%b%%\n\n> \\%%c%%\n\n| \\%%d%% | e |"},
	} {
		if got := editComments(text, false); got != want[0] {
			t.Errorf("%q without comments: %q, want %q", text, got, want[0])
		}
		escaped := editComments(text, true)
		if escaped != want[1] {
			t.Errorf("%q escaped: %q, want %q", text, escaped, want[1])
		}
		if again := editComments(escaped, false); again != escaped {
			t.Errorf("%q: an import takes %q", escaped, again)
		}
	}
}

// D123: the notices of Outline and Docusaurus become block quotes.
func TestNotices_BecomeQuotations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		":::info\nAsk.\n:::\n":                       "> **Info**\n>\n> Ask.\n",
		"a\n:::tip\n\nb\n\n- c\n\n:::\nd":            "a\n> **Tip**\n>\n> b\n>\n> - c\n\nd",
		":::warning Mind the gap\nx\n:::":            "> **Mind the gap**\n>\n> x\n",
		":::note[Read this]\nx\n:::\n\ny":            "> **Read this**\n>\n> x\n\ny",
		":::info\n```\n:::\n```\n:::":                "> **Info**\n>\n> ```\n> :::\n> ```\n",
		"::::info\na\n:::tip\nb\n:::\n::::":          "> **Info**\n>\n> a\n> > **Tip**\n> >\n> > b\n",
		":::success\n:::":                            "> **Success**\n",
		":::info\nno end":                            ":::info\nno end",
		":::info\n:::info\na\n:::":                   ":::info\n> **Info**\n>\n> a\n",
		"```\n:::info\na\n:::\n```":                  "```\n:::info\na\n:::\n```",
		":::sometimes\na\n:::\n\n:::info{x}\na\n:::": ":::sometimes\na\n:::\n\n:::info{x}\na\n:::",
	} {
		got := quoteNotices(text)
		if got != want {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
		if again := quoteNotices(got); again != got {
			t.Errorf("%q becomes %q", got, again)
		}
	}
}

// D123: if only ids would make a page too long, it is imported with its links unchanged. An export
// of it, imported again, is the same.
func TestLoad_KeepsLinksThatWouldBeTooLong(t *testing.T) {
	t.Parallel()
	links := strings.Repeat("[a](b.md) ", sheaf.MaxContent/40)
	tree := files{"big.md": links + "![p](p.png) %%c%% ", "b.md": "b", "p.png": "p", "small.md": "[a](big.md)"}
	w := newWorkspace()
	plan := w.take(t, tree.tree(t), "s")
	var kept []string
	for _, e := range plan.Create {
		if e.LinksKept {
			kept = append(kept, e.Path)
		}
	}
	if strings.Join(kept, " ") != "big.md" || len(plan.Upload) != 0 || len(plan.Create) != 3 {
		t.Errorf("kept the links of %q, %d uploads, %d documents", kept, len(plan.Upload), len(plan.Create))
	}
	for _, d := range w.documents {
		if want := links + "![p](p.png) "; d.Title == "big" && w.texts[d.ID] != want {
			t.Errorf("the text has %d bytes, want %d", len(w.texts[d.ID]), len(want))
		}
	}
	if plan := w.take(t, tree.tree(t), "s"); plan.Same != 3 {
		t.Errorf("a second time %d are the same", plan.Same)
	}
	first := w.export(t)
	other := newWorkspace()
	other.take(t, first.tree(t), "t")
	sameFiles(t, other.export(t), first)
}

// D123: names of Notion's exports lose their ids; paths keep them.
func TestNotion_NamesWithoutIDs(t *testing.T) {
	t.Parallel()
	const id = " 0123456789abcdef0123456789abcdef"
	tree := files{
		"Team" + id + ".md":                               "# Team\n\n[Plan](Team%200123456789abcdef0123456789abcdef/Plan%200123456789abcdef0123456789abcdef.md)",
		"Team" + id + "/Plan" + id + ".md":                "no heading",
		"Team" + id + "/a/b" + id + "/c/d" + id + "/x.md": "",
	}
	w := newWorkspace()
	w.take(t, tree.tree(t), "notion")
	got := map[string]string{}
	for _, d := range w.documents {
		got[w.where(d)] = d.Title
	}
	for where, title := range map[string]string{"notion": "Team", "Team": "Plan", "Team > a > b > c/d": "x"} {
		if got[where] != title {
			t.Errorf("%s has %q, want %q: %q", where, got[where], title, got)
		}
	}
	sameFiles(t, w.export(t), tree)
}
