package browser

import (
	"math"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// beside opens another tab of the same person.
func (b *tab) beside() *tab {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	b.t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil { //unbounded: a time limit would close the tab
		b.t.Fatal(err)
	}
	other := &tab{t: b.t, ctx: ctx, url: b.url, width: b.width, height: b.height}
	other.desk()
	if _, err := command(other, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		b.t.Fatal(err)
	}
	other.watchConsole()
	return other
}

const drafts = "Object.keys(localStorage).filter((k) => k.startsWith('draft '))"

// Two tabs of one document have a draft each: no tab changes the draft of the other tab.
func TestEditor_DraftsOfTwoTabs(t *testing.T) {
	t.Parallel()
	s := startService(t)
	one := setUp(t, s)
	address := one.writeDocument("Notes", "stored")
	one.open(address + "/edit")
	one.put("of the first tab")
	two := one.beside()
	two.open(address + "/edit")
	two.holds("of the first tab") // it is offered here too
	one.until("both drafts", drafts+".length === 2")
	two.click("=Discard")
	two.holds("stored")
	one.until("the draft of the first tab", drafts+".some((k) => localStorage.getItem(k).includes('of the first tab'))")

	// The second tab writes and saves: the first one's text comes back after a reload.
	two.put("of the second tab")
	two.ctrl("s")
	two.until("that it is saved", "document.querySelector('[data-state]').textContent === 'Saved.'")
	one.read("Another person has just saved this document.")
	one.open(address + "/edit")
	one.holds("of the first tab")
}

// Text typed right before a reload is there after the reload, and Back and Forward bring an unsaved text back.
func TestEditor_KeepsTheLastKeys(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	address := b.writeDocument("Notes", "stored")
	b.compose(address)
	b.typing(" and typed")
	// The page must store the text before it is left: its timer and its end would come too late.
	b.paste("plain", "<b>!</b>")
	if kept, _ := ask[bool](b, `(() => { const data = new DataTransfer(); data.setData("text/html", "<b>?</b>");
		document.querySelector('.cm-content').dispatchEvent(new ClipboardEvent("paste", {bubbles: true, cancelable: true, clipboardData: data}));
		dispatchEvent(new Event('beforeunload')); return `+drafts+`.some((k) => localStorage.getItem(k).includes('stored and typed**!****?**')) })()`); !kept {
		t.Error("the last key is not in the draft when the page is left")
	}
	b.do(chromedp.Reload())
	b.holds("stored and typed**!****?**")
	b.open(address)
	b.arrive("Notes")
	b.do(chromedp.NavigateBack())
	b.holds("stored and typed**!****?**")
	b.do(chromedp.NavigateForward())
	b.arrive("Notes")
	b.open(address + "/edit")
	b.holds("stored and typed**!****?**")
	b.until("one draft", drafts+".length === 1")
	b.ctrl("s")
	b.until("that it is saved", "document.querySelector('[data-state]').textContent === 'Saved.'")
	b.until("no draft", drafts+".length === 0")

	// While a text is too long to be kept, the page says so.
	if _, ok := ask[bool](b, `(() => { let n = 1 << 22; for (let i = 0; n > 8; i++) try { localStorage.setItem('filler ' + i, 'x'.repeat(n)) } catch (_) { n >>= 1 } return true })()`); !ok {
		t.Fatal("the store of the browser was not filled")
	}
	const words = "document.querySelector('[data-state]').textContent === 'Not saved, and too long to survive a reload. Ctrl-S saves.'"
	b.put(strings.Repeat("long ", 1000))
	b.until("that it is not kept", words)
	b.fill("[name=title]", "Notes 2")
	b.until("that it is still not kept", words)
	if asks, _ := ask[bool](b, "!dispatchEvent(new Event('beforeunload', {cancelable: true}))"); !asks {
		t.Error("a text that is not kept is left without a question")
	}
	b.ctrl("s")
	b.until("that it is saved", "document.querySelector('[data-state]').textContent === 'Saved.'")
}

// Saving waits for the files that are uploaded: no placeholder is stored. The progress is shown.
func TestEditor_SavingWaitsForUploads(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	address := b.writeDocument("Letter", "")
	b.open(address + "/edit")
	b.see(".cm-content")
	hold := func() {
		ask[bool](b, `(() => { const real = window.real = window.real || window.sheafUpload;
			window.sheafUpload = (to, file, progress) => new Promise((done, failed) => { progress(0.42); window.goes = () => real(to, file, progress).then(done, failed); window.breaks = () => failed(new Error("It broke.")) }); return true })()`)
	}
	saying := func(words string) {
		t.Helper()
		b.until(words, "document.querySelector('[data-state]').textContent === "+quote(words))
	}
	hold()
	b.drop(".cm-content", "drop", "one.gif")
	b.until("the placeholder", "document.querySelector('.cm-content').innerText.includes('Uploading one.gif')")
	b.until("a draft without the placeholder", drafts+".every((k) => !localStorage.getItem(k).includes('Uploading'))")
	saying("Uploading one.gif: 42 %")
	b.ctrl("s")
	saying("Uploading one.gif: 42 %. Saving waits for it.")
	if asks, _ := ask[bool](b, "!dispatchEvent(new Event('beforeunload', {cancelable: true}))"); !asks {
		t.Error("a page that uploads is left without a question")
	}
	ask[bool](b, "(goes(), true)")
	saying("Saved.")
	b.until("the Markdown", `/^!\[one\]\(media:[0-9a-f-]{36}\)$/.test(document.querySelector('[name=content]').value)`)

	// If an upload fails, the page says so, and nothing is saved.
	hold()
	b.drop(".cm-content", "drop", "two.gif")
	b.until("the placeholder", "document.querySelector('.cm-content').innerText.includes('Uploading two.gif')")
	b.click("=Save")
	saying("Uploading two.gif: 42 %. Saving waits for it.")
	ask[bool](b, "(breaks(), true)")
	saying("two.gif was not uploaded. It broke.")

	hold()
	b.drop(".cm-content", "drop", "three.gif")
	b.until("the placeholder", "document.querySelector('.cm-content').innerText.includes('Uploading three.gif')")
	b.click("=Save")
	saying("Uploading three.gif: 42 %. Saving waits for it.")
	ask[bool](b, "(goes(), true)")
	b.arrive("Letter")
	b.until("both pictures", "document.querySelectorAll('.prose img').length === 2")
	b.open(address + "/edit")
	b.until("the text without a placeholder", "/^(!\\[(one|three)\\]\\(media:[0-9a-f-]{36}\\)){2}$/.test(document.querySelector('[name=content]').value)")
}

// What the editor's scripts show, the toolbar, the preview and the notice of a restored draft, has its room before they run:
// the page does not jump on a slow machine.
func TestEditor_HasRoomForWhatItsScriptsShow(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	address := b.writeDocument("Notes", "stored")
	b.open(address + "/edit")
	b.put("typed and not saved")
	b.until("the draft", drafts+".length === 1")
	const places = `[...document.querySelectorAll('[name=title], [name=description], .toolbar, [data-text-pane]')].map((e) => { const r = e.getBoundingClientRect(); return [r.top, r.left, r.width, e.matches('.toolbar') ? 0 : r.height] }).flat()`
	block := func(names ...string) {
		t.Helper()
		patterns := []*network.BlockPattern{}
		for _, name := range names {
			patterns = append(patterns, &network.BlockPattern{URLPattern: "*://*:*/*/" + name + "*", Block: true})
		}
		if _, err := command(b, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: patterns}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := command(b, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	for _, size := range []func(){b.desk, b.phone} {
		size()
		block("codemirror.js", "editor.js")
		b.open(address + "/edit")
		b.until("the page", "document.readyState === 'complete'")
		if scripted, _ := ask[bool](b, "!!document.querySelector('.cm-editor')"); scripted {
			t.Fatal("the scripts run")
		}
		before, _ := ask[[]float64](b, places)
		block()
		b.open(address + "/edit")
		b.read("Restored your unsaved changes.")
		b.see(".cm-content")
		b.until("the preview", "document.querySelector('[data-preview-pane] .prose').childElementCount > 0")
		after, _ := ask[[]float64](b, places)
		if len(before) == 0 || len(before) != len(after) {
			t.Fatalf("%d places, then %d", len(before), len(after))
		}
		for i := range before {
			if math.Abs(before[i]-after[i]) > 2 {
				t.Errorf("the scripts move the page, place %d: %v, then %v", i, before, after)
				break
			}
		}
	}
}

// Lines and tables that are wider than any window scroll within their places, and the page does not. Markdown has its colours.
func TestEditor_HostileWidths(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	row := strings.Repeat("| cell of words ", 30) + "|\n"
	text := "# A *heading* of Markdown\n\n" + strings.Repeat("x", 10_000) + "\n\n`" + strings.Repeat("y", 10_000) + "`\n\n" + row + strings.Repeat("|---", 30) + "|\n" + row +
		"\n```\n" + strings.Repeat("z", 10_000) + "\n```\n\n> - " + strings.Repeat("w", 10_000) + "\n\n[" + strings.Repeat("l", 1000) + "](https://example.com/" + strings.Repeat("a", 1000) + ")\n"
	address := b.writeDocument("Wide", text)
	for _, path := range []string{"", "/edit", "/versions/1?view=text", "/versions/1"} {
		b.open(address + path)
		b.until("the page", "document.readyState === 'complete' && !!document.querySelector('h1')")
		if path == "/edit" {
			b.until("the preview", "document.querySelectorAll('[data-preview-pane] td').length === 30")
			b.until("the colours", `(() => { const own = getComputedStyle(document.querySelector('.cm-content')).color, heading = document.querySelector('.cm-line .md-heading');
				return heading && getComputedStyle(heading).color !== own && document.querySelector('.cm-line .md-emphasis') !== null && document.querySelector('.cm-line .md-mark') !== null })()`)
		}
		b.fits("the page "+path, b.width)
		b.phone()
		b.fits("the page "+path+" on a phone", phoneWidth)
		if path == "/edit" {
			b.click("=Preview")
			b.see("[data-preview-pane] .prose table")
			b.fits("the preview on a phone", phoneWidth)
		}
		b.desk()
	}
}
