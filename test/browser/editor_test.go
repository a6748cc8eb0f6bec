package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// compose opens the editor of a document, with the cursor at the end of the text.
func (b *tab) compose(address string) {
	b.t.Helper()
	b.open(address + "/edit")
	b.click(".cm-content")
	b.ctrl(kb.End)
}

// afresh empties the editor, and types.
func (b *tab) afresh(text string) {
	b.t.Helper()
	b.put("")
	b.holds("")
	b.click(".cm-content")
	b.typing(text)
}

// typing types into the editor. Each \r is the Enter key, which writes nothing by itself: chromedp's own key
// would write a line end even if the page handles it.
func (b *tab) typing(text string) {
	b.t.Helper()
	for i, part := range strings.Split(text, "\r") {
		if i > 0 {
			for _, kind := range []input.DispatchKeyEventType{"keyDown", "keyUp"} {
				if _, err := command(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: 13, Text: "\r"}); err != nil {
					b.t.Fatal(err)
				}
			}
		}
		if part != "" {
			b.keys(part)
		}
	}
}

// shift presses a key together with Shift.
func (b *tab) shift(key string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(key, chromedp.KeyModifiers(8)))
}

// paste pastes a plain text and HTML into the editor; empty for none.
func (b *tab) paste(plain, html string) {
	b.t.Helper()
	if _, ok := ask[bool](b, `(() => { const data = new DataTransfer(); if (`+quote(plain)+`) data.setData("text/plain", `+quote(plain)+`); if (`+quote(html)+`) data.setData("text/html", `+quote(html)+`);
		const e = document.querySelector(".cm-content"); e.focus();
		return e.dispatchEvent(new ClipboardEvent("paste", {bubbles: true, cancelable: true, clipboardData: data})) || true })()`); !ok {
		b.t.Fatal("nothing was pasted")
	}
}

// The keys of a writer: marks, lists and quotes that go on, Tab within lists, and the way out.
func TestEditor_KeysWriteMarkdown(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	b.compose(b.writeDocument("Keys", ""))
	b.afresh("plain ")
	b.ctrl("b")
	b.typing("strong" + kb.ArrowRight + kb.ArrowRight + " and ")
	b.ctrl("i")
	b.typing("soft" + kb.ArrowRight)
	b.holds("plain **strong** and _soft_")
	b.shift(kb.Home)
	b.ctrl("b")
	b.holds("**plain **strong** and _soft_**")
	b.ctrl("b")
	b.holds("plain **strong** and _soft_")
	b.ctrl("z")
	b.ctrl("z")
	b.holds("plain **strong** and _soft_")

	b.afresh("- one\rtwo")
	b.holds("- one\n- two")
	b.typing(kb.Tab)
	b.holds("- one\n  - two")
	b.typing("\rthree")
	b.holds("- one\n  - two\n  - three")
	b.shift(kb.Tab)
	b.holds("- one\n  - two\n- three")
	b.typing("\r\rand")
	b.holds("- one\n  - two\n- three\n\nand")
	b.afresh("1. first\rsecond\rthird")
	b.typing(kb.Tab)
	b.holds("1. first\n2. second\n   1. third")
	b.afresh("> said\rtwice")
	b.holds("> said\n> twice")
	b.typing("\r\rend")
	b.holds("> said\n> twice\n\nend")

	// Ctrl-K is a link here, and the search elsewhere. Esc and then Tab leave the editor, also from a list.
	b.afresh("to a page")
	b.shift(kb.Home)
	b.ctrl("k")
	b.typing("https://example.com/")
	b.holds("[to a page](https://example.com/)")
	if open, _ := ask[bool](b, "document.querySelector('#jump').open"); open {
		t.Error("Ctrl-K in the editor opens the search")
	}
	b.afresh("- item")
	b.typing(kb.Escape + kb.Tab)
	b.until("the focus elsewhere", "!document.activeElement.closest('.cm-editor')")
	b.holds("- item")
	b.ctrl("k")
	b.until("the search", "document.querySelector('#jump').open")
	b.typing(kb.Escape)

	// The buttons do the same.
	b.afresh("one")
	for _, step := range [][2]string{{"List", "- one"}, {"Checklist", "- [ ] one"}, {"Numbered list", "1. one"}, {"Numbered list", "one"}, {"Quote", "> one"}, {"Quote", "one"},
		{"Heading", "## one"}, {"Heading", "### one"}} {
		b.click("[aria-label='" + step[0] + "']")
		b.holds(step[1])
	}

	// Find and replace.
	b.afresh("red, blue, red")
	b.ctrl("f")
	b.see(".cm-search [name=search]")
	b.typing("red")
	b.shot("editor-find")
	b.fill(".cm-search [name=replace]", "green")
	b.click(".cm-search [name=replaceAll]")
	b.holds("green, blue, green")
	b.typing(kb.Escape)
	b.gone(".cm-search")
}

// Tab adds a row to a table, and its columns are aligned when the editor loses the focus.
func TestEditor_TablesGrowAndAreAligned(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	b.compose(b.writeDocument("Tables", ""))
	b.afresh("| Name | Size |\r|---|--:|\r| x | 1")
	b.typing(kb.Tab + "a long cell" + kb.Tab + "12")
	b.holds("| Name | Size |\n|---|--:|\n| x | 1\n| a long cell | 12 |")
	b.shift(kb.Tab)
	b.typing("a cell")
	b.holds("| Name | Size |\n|---|--:|\n| x | 1\n| a cell | 12 |")
	b.click("[name=title]")
	b.holds("| Name   | Size |\n| ------ | ---: |\n| x      |    1 |\n| a cell |   12 |")
	b.until("the preview", "document.querySelectorAll('[data-preview-pane] tbody tr').length === 2")
	b.afresh("text")
	b.click("[aria-label=Table]")
	b.typing("Engine" + kb.Tab + "Speed" + kb.Tab + "SQLite" + kb.Tab + "3000")
	b.click("[name=title]")
	b.holds("text\n\n| Engine | Speed |\n| ------ | ----- |\n| SQLite | 3000  |\n")
	b.shot("editor-table")

	// In a quote and in a list, Tab goes from cell to cell as well, and a new row belongs to them.
	for table, want := range map[string]string{
		"> | a | b |\n> |---|---|\n> | 1 | 2 |":   "> | a | b |\n> |---|---|\n> | x | y |\n> | z |  |",
		"- | a | b |\n  |---|---|\n  | 1 | 2 |":   "- | a | b |\n  |---|---|\n  | x | y |\n  | z |  |",
		"> - | a | b |\n>   |---|---|\n>   1 | 2": "> - | a | b |\n>   |---|---|\n>   x | y\n>   | z |  |",
	} {
		b.put(table)
		b.click(".cm-content")
		b.ctrl(kb.Home)
		b.typing(kb.ArrowRight + kb.ArrowRight + kb.ArrowRight + kb.ArrowRight + kb.Tab + kb.Tab)
		for range 2 {
			b.shift(kb.Tab)
		}
		b.typing(kb.Tab + kb.Tab + "x" + kb.Tab + "y" + kb.Tab + "z")
		b.holds(want)
	}

	// A table is aligned before it is saved, with the cursor in its cell, so that leaving the editor afterwards changes nothing.
	b.afresh("| Name | Size |\r|---|--:|\r| a long cell | 1")
	b.ctrl("s")
	b.until("that it is saved", "document.querySelector('[data-state]').textContent === 'Saved.'")
	b.typing("2")
	b.holds("| Name        | Size |\n| ----------- | ---: |\n| a long cell |    12 |")
	b.ctrl("s")
	b.until("that it is saved again", "document.querySelector('[data-state]').textContent === 'Saved.' && document.querySelector('[name=content]').value.includes('|   12 |')")
	b.click("[name=title]")
	b.do(chromedp.Reload())
	b.holds("| Name        | Size |\n| ----------- | ---: |\n| a long cell |   12 |")
	b.gone("[data-kept]")
}

// What is pasted becomes Markdown: formatted text, an address on selected text, and nothing that runs.
func TestEditor_PastesAsMarkdown(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	b.compose(b.writeDocument("Paste", ""))
	for html, want := range map[string]string{
		`<h2>Title</h2><p>Some <b>bold</b> and <i>soft </i>text<br>on two lines</p>`:                                     "## Title\n\nSome **bold** and _soft_ text\\\non two lines",
		`<ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul>`:                                                       "- one\n  - inner\n- two",
		`<ol start="3"><li><p>three</p></li><li>four</li></ol>`:                                                          "3. three\n4. four",
		`<ul><li><input type="checkbox" checked> done</li><li><input type="checkbox"> open</li></ul>`:                    "- [x] done\n- [ ] open",
		`<a href="https://example.com/a(b)">a link</a> and <a href="javascript:alert(1)">none</a>`:                       "[a link](https://example.com/a%28b%29) and none",
		`<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>x|y</td></tr></table>`:                                    "| a | b |\n| --- | --- |\n| 1 | x\\|y |",
		`<pre><code class="language-go">a := "` + "```" + `"</code></pre>`:                                               "````go\na := \"```\"\n````",
		`<p>use <code>a_b</code>, 2*3*4 and <kbd>Ctrl</kbd></p><hr>`:                                                     "use `a_b`, 2\\*3\\*4 and <kbd>Ctrl</kbd>\n\n---",
		`<blockquote><p>one</p><p>two</p></blockquote><script>alert(1)</script><style>p{}</style>`:                       "> one\n>\n> two",
		`<b style="font-weight:normal"><p>a <strong>b</strong></p></b>`:                                                  "a **b**",
		`<p><em>1.</em></p><p>1. not a list</p><p># none</p><p>&lt;img src=x onerror=alert(1)&gt;</p><img src="data:x">`: "_1._\n\n1\\. not a list\n\n\\# none\n\n\\<img src=x onerror=alert(1)>",
		// What once took time by the square of its length.
		// A bar in a cell is escaped wherever it stands, and an address keeps its characters.
		`<table><tr><th>a</th><th>b</th></tr><tr><td><code>x|y</code></td><td><a href="https://e.com/a|b_c">x|y</a><br>z</td></tr></table>`: "| a | b |\n| --- | --- |\n| `x\\|y` | [x\\|y](https://e.com/a%7Cb_c)<br>z |",
		`<p>see <b>x</b> https://e.com/a_b*c. and snake_case _x_ www.e.com/a_b</p>`:                                                         `see **x** <https://e.com/a_b*c>. and snake_case \_x\_ www.e.com/a_b`,
		`<pre>one<br>two<br><br>four</pre><pre><div>a</div><div><br></div><div>b</div></pre>`:                                               "```\none\ntwo\n\nfour\n```\n\n```\na\n\nb\n```",
		// Marks within words, in one another, side by side, and beside what belongs to no word.
		`<p>un<b>believ</b>able, in<i>side</i>, <i>whole</i>. a<b>b <i>c</i></b>d</p>`:                                       "un**believ**able, in*side*, _whole_. a**b *c***d",
		`<p><em>a <i>b</i></em> <b><strong>d</strong></b> <b>a</b><b>b</b> <b>c</b><b> d</b></p>`:                            "_a b_ **d** **ab** **c d**",
		`<p><b>Note:</b>text foo<b>(bar)</b>baz x<b><code>c</code></b>d <b>y </b>z</p>`:                                      "**Note**:text foo(**bar**)baz x`c`d **y** z",
		`<p><code>a</code><code>b</code> <kbd>Ctrl</kbd><kbd>C</kbd></p>`:                                                    "`ab` <kbd>Ctrl</kbd><kbd>C</kbd>",
		`<p>wow!<a href="https://e.com">x</a> <a href="https://e.com/i"><img src="https://e.com/i.png" alt="al[t]"></a></p>`: `wow\![x](https://e.com) [![al\[t\]](https://e.com/i.png)](https://e.com/i)`,
		`<p>a<b>x</b><br># no<br>===</p>`: "a**x**\\\n\\# no\\\n\\===",
		`<p>a<br><br>b<b>c</b></p>`:       "a\n\nb**c**",
		// Items with several blocks, lists in a row, and a list that does not begin with one.
		`<ul><li><p>one</p><p>two</p></li><li>three<pre>code</pre></li><li>four<ol start="3"><li>x</li></ol></li></ul>`: "- one\n\n  two\n- three\n\n  ```\n  code\n  ```\n- four\n\n  3. x",
		`<ol start="0"><li>a</li><ul><li>b</li></ul></ol><ol><li>c</li></ol>`:                                           "0. a\n   - b\n\n1) c",
		// Google Docs marks bold text by styles; some programs put blocks deep into elements of a line.
		`<b style="font-weight:normal" id="docs-internal-guid-1"><p><span style="font-weight:400">plain </span><span style="font-weight:700">bold</span><span style="font-style:italic"> soft</span></p>` +
			`<ul><li style="font-weight:400"><p>item</p></li><ul><li><p>in</p></li></ul></ul></b>`: "plain **bold** _soft_\n\n- item\n  - in",
		`<p><span style="font-weight:700">styled</span></p>`:                           "**styled**",
		`<span><font><div><p>deep <b>a</b></p></div><ul><li>x</li></ul></font></span>`: "deep **a**\n\n- x",
		`<a href="https://e.com/x"><div>Card <b>x</b></div></a>`:                       "[Card **x**](https://e.com/x)",
		strings.Repeat("<b>", 100_000) + "x":                                           "plain",
		"<b>x</b> https://" + strings.Repeat(".", 300_000) + "a_":                      "**x** https://" + strings.Repeat(".", 300_000) + `a\_`,
		"<b>x</b>" + strings.Repeat("![", 150_000):                                     "**x**" + strings.Repeat("!\\[", 150_000),
		"<b>x</b>" + strings.Repeat("<", 300_000):                                      "**x**" + strings.Repeat(`\<`, 300_000),
		"<b>x</b>" + strings.Repeat(" <!-- -->", 60_000) + "y":                         "**x** y",
		"<b>x</b>" + strings.Repeat("<style ", 60_000):                                 "**x**",
		"<p><b>x</b>" + strings.Repeat("<br>", 60_000) + "</p>":                        "**x**",
		"<b>x</b><pre>" + strings.Repeat("` ", 150_000) + "y</pre>":                    "**x**\n\n```\n" + strings.Repeat("` ", 150_000) + "y\n```",
	} {
		b.afresh("")
		b.paste("plain", html)
		b.holds(want)
	}
	b.afresh("")
	b.paste("fmt.Println()", "<meta><div><span>fmt</span><span>.Println()</span></div>")
	b.holds("fmt.Println()")
	// Within a quote, a list and a table, what is pasted stays there.
	const two = "<p>one <b>x</b></p><p>two</p>"
	for before, pasted := range map[string][2]string{
		"> said ":         {two, "> said one **x**\n>\n> two"},
		"- item ":         {two, "- item one **x**\n\n  two"},
		"> - item ":       {two, "> - item one **x**\n>\n>   two"},
		"1. ":             {"<ul><li>one</li><li>two</li></ul>", "- one\n- two"},
		"> - a\r":         {"<ul><li>one</li><li>two</li></ul>", "> - a\n> - one\n> - two"},
		"text":            {"<h2>Head</h2>", "text\n\n## Head"},
		"| a |\r|-|\r| b": {"<p>one|<b>x</b></p><p>two</p>", "| a |\n|-|\n| bone\\|**x** two"},
	} {
		b.afresh(before)
		b.paste("plain", pasted[0])
		b.holds(pasted[1])
	}
	b.afresh("see this page")
	b.shift(kb.Home)
	b.paste("https://example.com/x", "")
	b.holds("[see this page](https://example.com/x)")
	b.afresh("")
	b.paste("https://example.com/y", "<a href='https://example.com/y'>y</a>")
	b.holds("https://example.com/y")
	b.afresh("```\r")
	b.paste("https://example.com/z", "<b>z</b>")
	b.holds("```\nhttps://example.com/z")

	// A picture falls onto the text.
	b.afresh("")
	b.drop(".cm-content", "drop", "a [b].gif")
	b.until("the Markdown", `/^!\[.*\]\(media:[0-9a-f-]{36}\)$/.test(document.querySelector('[name=content]').value)`)
}

// Links to documents: offered by title while the person types, and made of a pasted address.
func TestEditor_LinksDocuments(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	setup := b.writeDocument("Set [up]", "text")
	id := setup[strings.LastIndex(setup, "/")+1:]
	b.writeDocument("Another", "text")
	address := b.writeDocument("Guide", "")
	link := `[Set \[up\]](document:` + id + ")"

	b.compose(address)
	b.typing("See [[set")
	b.see(".cm-tooltip-autocomplete [aria-selected=true]")
	b.shot("editor-links")
	b.typing("\r")
	b.holds("See " + link)
	b.afresh("- [")
	b.typing(" ] done")
	b.holds("- [ ] done")
	b.afresh("[up")
	b.see(".cm-tooltip-autocomplete [aria-selected=true]")
	b.click(".cm-tooltip-autocomplete li")
	b.holds(link)
	b.afresh("the setup")
	b.shift(kb.Home)
	b.ctrl("k")
	b.see(".cm-tooltip-autocomplete [aria-selected=true]")
	b.until("both documents", "document.querySelectorAll('.cm-tooltip-autocomplete li').length === 2")
	b.typing("up")
	b.until("the found document", "document.querySelectorAll('.cm-tooltip-autocomplete li').length === 1")
	b.click(".cm-tooltip-autocomplete li")
	b.holds("[the setup](document:" + id + ")")

	b.afresh("")
	b.paste(setup, "")
	b.holds(link)
	share, _ := ask[string](b, `fetch("/api/v1/shares", {method: "POST", headers: {"Authorization": "Bearer `+s.Key+`", "Content-Type": "application/json"},
		body: JSON.stringify({resource_type: "document", resource_id: "`+id+`"})}).then((a) => a.json()).then((share) => share.url)`, chromedp.EvalAwaitPromise)
	b.afresh("")
	b.paste(share, "")
	b.holds(link)
	b.ctrl("z")
	b.holds(share)
	b.ctrl("y")
	b.holds(link)
	b.click("=Save")
	b.arrive("Guide")
	b.open(setup)
	b.arrive("Set [up]")
	b.click("=Linked from")
	b.see("dialog #linked")
	b.read("Guide")
	b.shot("document-linked")
	b.follow("dialog #linked a", "h1")
	b.arrive("Guide")

	b.compose(address)
	b.afresh("")
	b.paste(b.url+"/s/another-token", "")
	b.holds(b.url + "/s/another-token")
}

// The preview scrolls with the text, the outline jumps, words are counted, and a phone shows one of both.
func TestEditor_ScrollsJumpsAndSwitches(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	var text strings.Builder
	for n := range 30 {
		fmt.Fprintf(&text, "## Part %d\n\n%s\n\n", n+1, strings.Repeat("Some words of a **long** text. ", 20+10*(n%3)))
	}
	b.compose(b.writeDocument("Long", text.String()))
	b.read("words")
	b.until("the words", "document.querySelector('[data-words]').textContent === '5,460 words'")
	b.until("the preview", "document.querySelectorAll('[data-preview-pane] h2').length > 30")
	near := func(n int) string {
		return fmt.Sprintf(`(() => { const pane = document.querySelector('[data-preview-pane] .sheet'), h = [...pane.querySelectorAll('h2')].find((e) => e.textContent.startsWith('Part %d'));
			return Math.abs(h.getBoundingClientRect().top - pane.getBoundingClientRect().top) < 80 })()`, n)
	}
	// The page still moves while the preview comes, so a click of the mouse could miss the button.
	b.until("the outline", "(() => { if (!document.querySelector('#outline:popover-open')) "+find("=Outline")+".click(); return document.querySelector('#outline [data-level]') !== null })()")
	b.see("#outline [data-level]")
	b.picture("editor-outline")
	b.click("#outline [title='Part 12']")
	b.until("the heading at the top of the text", `(() => { const box = document.querySelector('.cm-scroller').getBoundingClientRect();
		const line = [...document.querySelectorAll('.cm-line')].find((e) => e.innerText === '## Part 12'); return line && Math.abs(line.getBoundingClientRect().top - box.top) < 40 })()`)
	b.until("the heading at the top of the preview", near(12))
	b.do(chromedp.Evaluate[chromedp.Void](`(() => { const pane = document.querySelector('[data-preview-pane] .sheet'); pane.dispatchEvent(new PointerEvent('pointerenter'));
		const h = [...pane.querySelectorAll('h2')].find((e) => e.textContent.startsWith('Part 20')); pane.scrollTop += h.getBoundingClientRect().top - pane.getBoundingClientRect().top })()`))
	b.until("the text beside the preview", `(() => { const box = document.querySelector('.cm-scroller').getBoundingClientRect();
		const line = [...document.querySelectorAll('.cm-line')].find((e) => e.innerText === '## Part 20'); return line && Math.abs(line.getBoundingClientRect().top - box.top) < 80 })()`)

	// A heading reads as in the preview.
	b.put("# Fish &amp; chips &#x2713; \\&amp; `code`\n")
	b.until("the button of the heading", "(() => { if (!document.querySelector('#outline:popover-open')) "+find("=Outline")+".click(); return document.querySelector('#outline [data-level]')?.title === 'Fish & chips \u2713 &amp; code' })()")
	b.keys(kb.Escape)
	b.put(text.String())

	b.phone()
	b.see(".cm-content")
	b.gone("[data-preview-pane] .prose")
	b.save("phone-editor-text")
	b.click("=Preview")
	b.see("[data-preview-pane] .prose")
	b.gone(".cm-content")
	b.save("phone-editor-preview")
	b.click("=Text")
	b.see(".cm-content")
	b.desk()
	b.see("[data-preview-pane] .prose")
	// The switch is gone on a wide screen, and Tab reaches another button in its place.
	b.until("a button that Tab reaches", "[...document.querySelectorAll('[data-toolbar] button')].some((e) => e.tabIndex === 0 && e.checkVisibility())")
}
