package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"sheaf.dev/internal/sheaftest"
)

// sample has most of what Markdown has.
const sample = "# Deploying\n\nA **short** guide, with `code`, a [link](https://example.com) and ~~errors~~.\n\n" +
	"## Steps\n\n1. Build it\n2. Test it\n   - on SQLite\n   - on PostgreSQL\n\n- [x] done\n- [ ] open\n\n" +
	"> Nothing is deployed on a Friday.\n\n| Engine | Speed |\n|---|---:|\n| SQLite | 3,000 |\n| PostgreSQL | 1,200 |\n\n" +
	"```go\nfunc main() {\n\tfmt.Println(\"hello\") // says so\n}\n```\n"

// writeDocument makes a document with a text, and opens its page.
func (b *tab) writeDocument(title, text string) (address string) {
	b.t.Helper()
	id := b.post("documents", map[string]string{"title": title, "content": text})
	base, _ := ask[string](b, `document.querySelector(".tabs a").href.replace(/projects$/, "documents/")`)
	b.open(base + id)
	b.arrive(title)
	return base + id
}

// put sets the text of the editor as typing does, in one step.
func (b *tab) put(text string) {
	b.t.Helper()
	b.see(".cm-content")
	if _, ok := ask[bool](b, `(() => { const t = document.querySelector("[name=content]"); t.focus(); t.value = `+quote(text)+`;
		return t.dispatchEvent(new Event("input", {bubbles: true})) })()`); !ok {
		b.t.Fatal("there is no editor")
	}
}

// ctrl presses a key together with Ctrl.
func (b *tab) ctrl(key string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(key, chromedp.KeyModifiers(2)))
}

// holds waits until the editor has the text.
func (b *tab) holds(text string) {
	b.t.Helper()
	b.until("the text "+text, "document.querySelector('[name=content]')?.value === "+quote(text))
}

func TestDocument_IsWrittenPreviewedSavedComparedAndRestored(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	b.furnish()
	b.click("#tree .row[data-name=Company] a") // its branch of the tree comes with its page
	b.arrive("Company")
	b.click("#tree .row[data-name=Handbook] a")
	b.arrive("Handbook")
	b.click("=New document")
	b.see("#editor")
	b.fill("[name=title]", "Deploying")
	b.put(sample)
	b.see("[data-preview-pane] .prose table")
	b.until("the code in colours", `document.querySelector("[data-preview-pane] .prose pre .k, [data-preview-pane] .prose pre .kd, [data-preview-pane] .prose pre [class]")`)
	b.shot("document-form")
	b.click("=Create document")
	b.arrive("Deploying")
	b.read("Saved.")
	b.post("projects", map[string]string{"name": "Meanwhile"})
	b.see("#tree .row[data-name=Meanwhile]") // the page was read again, and
	b.read("Saved.")                         // what it says once is still there
	b.see(".prose table")
	b.shot("document")
	b.until("nothing kept", "!Object.keys(localStorage).some((k) => k.startsWith('draft '))")

	// Ctrl-S saves, and the writer goes on writing.
	b.click("=Edit")
	b.holds(sample)
	b.put(sample + "\nOne more line.\n")
	b.read("Not saved.")
	b.ctrl("s")
	b.until("the save", "document.querySelector('[data-state]').textContent === 'Saved.'")
	b.put(sample + "\nOne other line.\n")
	b.ctrl("s")
	b.until("the second save", "document.querySelector('[data-state]').textContent === 'Saved.' && document.querySelector('[name=revision]').value === '3'")
	b.click("=Cancel")
	b.arrive("Deploying")
	b.read("One other line.")

	// The versions, what changed, and back.
	b.click("=Versions")
	b.arrive("Versions")
	b.read("3 versions")
	b.shot("versions")
	b.click("=Changes of version 3")
	b.arrive("Version 3")
	b.until("the lines", "document.querySelector('.diff ins')?.innerText.includes('One other line.') && document.querySelector('.diff del').innerText.includes('One more line.')")
	b.shot("version")
	b.click("=All versions")
	b.arrive("Versions")
	b.fill("[name=a]", "3")
	b.fill("[name=b]", "1")
	b.click("=Compare")
	b.arrive("Versions 1 and 3")
	b.until("the inserted line", "document.querySelectorAll('.diff ins').length > 0 && document.querySelector('.diff').innerText.includes('One other line.') && !document.querySelector('.diff').innerText.includes('One more line.')")
	b.shot("version-compare")
	b.click("=All versions")
	b.arrive("Versions")
	b.click("=Restore version 1")
	b.see("dialog .primary")
	b.shot("version-restore")
	b.click("dialog .primary")
	b.arrive("Deploying")
	b.read("version 4")
	b.until("the first text", "!document.querySelector('.prose').innerText.includes('One other line.')")
	b.click("=version 4")
	b.arrive("Versions")
	b.read("restored version 1")
}

// What was deleted is in the trash, comes back from there, or goes for good.
func TestTrash_RestoresAndDeletesForGood(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	for _, title := range []string{"Draft", "Letter"} {
		b.writeDocument(title, "text of "+title)
		b.click("=Delete")
		b.see("dialog .danger")
		b.click("=Delete document")
		b.read("The document was deleted.")
	}
	b.open("/")
	b.arrive("My workspace")
	b.click("=Trash")
	b.arrive("Trash")
	b.read("2 deleted documents")
	b.shot("trash")
	b.clickAway("=Restore Draft")
	b.read("Draft")
	b.open("/")
	b.arrive("My workspace")
	b.click("=Trash")
	b.arrive("Trash")
	b.click("=Delete permanently: Letter")
	b.see("dialog .danger")
	b.shot("trash-delete")
	b.click("dialog .danger")
	b.arrive("Trash")
	b.read("The trash is empty")
}

// What was not saved is there after a reload, and gone when it is discarded.
func TestEditor_KeepsUnsavedTextOverAReload(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	address := b.writeDocument("Notes", "stored")
	b.open(address + "/edit")
	b.put("typed and not saved")
	b.open(address + "/edit")
	b.read("Restored your unsaved changes.")
	b.holds("typed and not saved")
	b.click("=Discard")
	b.holds("stored")
	b.until("nothing kept", "!Object.keys(localStorage).some((k) => k.startsWith('draft '))")
}

// Two people write in one document: the one who saves later sees both texts, and loses neither. That
// holds for a text that came back after a reload as well.
func TestEditor_TwoBrowsersEditOneDocumentAndNothingIsLost(t *testing.T) {
	t.Parallel()
	s := startService(t)
	ada := setUp(t, s)
	address := ada.writeDocument("Plan", "one\ntwo\nthree\n")
	eve := newTab(t, s)
	eve.open("/sign-in")
	eve.fill("[name=email]", "ada@example.com")
	eve.fill("[name=password]", password)
	eve.click("=Sign in")
	eve.arrive("My workspace")

	ada.open(address + "/edit")
	eve.open(address + "/edit")
	ada.put("one\ntwo by Ada\nthree\n")
	eve.put("one\ntwo\nthree by Eve\n")
	ada.click("=Save")
	ada.arrive("Plan")
	eve.read("Another person has just saved this document.")
	eve.open(address + "/edit") // a reload in between
	eve.read("saved the document since")
	eve.until("an event about the known revision", "document.getElementById('editor-now').dispatchEvent(new CustomEvent('sheaf:fresh', {bubbles: true}))")
	eve.read("saved the document since")
	eve.see("[data-kept]:not([hidden]) [data-discard]:not([hidden])")
	eve.ctrl("s")
	eve.read("Nothing is lost: both texts are below")
	eve.holds("one\ntwo\nthree by Eve\n")
	eve.until("both in the diff", "document.querySelector('.diff del').innerText.includes('two by Ada') && [...document.querySelectorAll('.diff ins')].some((e) => e.innerText.includes('three by Eve'))")
	eve.views("document-conflict")
	eve.put("one\ntwo by Ada\nthree by Eve\n")
	eve.click("=Overwrite with mine")
	eve.arrive("Plan")
	eve.read("two by Ada")
	eve.read("three by Eve")
	eve.until("nothing kept", "!Object.keys(localStorage).some((k) => k.startsWith('draft '))")
	eve.open(address + "/edit")
	eve.holds("one\ntwo by Ada\nthree by Eve\n")
}

// Without scripts the editor is a form: it saves, and shows both texts when somebody was faster.
func TestEditor_WorksWithoutScripts(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	address := b.writeDocument("Plain", "before")
	b.withoutScripts()
	b.open(address + "/edit")
	if scripted, _ := ask[bool](b, "!document.querySelector('[data-preview-pane]').hidden"); scripted {
		t.Fatal("scripts run")
	}
	b.fill("[name=content]", "written without scripts")
	b.click("=Save")
	b.await("document.querySelector('.prose')?.innerText.includes('written without scripts')")
	b.open(address + "/edit")
	b.fill("[name=content]", "mine")
	s.call(s.Key, "PUT", "/api/v1/documents/"+address[strings.LastIndex(address, "/")+1:]+"/content", "theirs", 200)
	b.click("=Save")
	b.await("document.body.innerText.includes('both texts are below') && document.querySelector('[name=content]').value === 'mine' && " +
		"[...document.querySelectorAll('textarea[readonly]')].some((t) => t.value.includes('theirs'))")

	// The menu of a row leads to the page that has the same acts, and the tree of a phone is open.
	s.call(s.Key, "POST", "/api/v1/projects", map[string]string{"name": "Handbook"}, 201)
	b.phone()
	b.open("/")
	b.await("document.querySelector('#tree .row[data-name=Handbook] a')?.checkVisibility()")
	b.save("phone-without-scripts")
	b.click("=Actions for the project Handbook")
	b.await("document.querySelector('h1')?.innerText === 'Handbook' && document.querySelector('#acts a[href$=\"/delete\"]')?.checkVisibility()")
}

// withoutScripts lets no page run a script from now on.
func (b *tab) withoutScripts() {
	b.t.Helper()
	if _, err := command(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		b.t.Fatal(err)
	}
}

// await is until for a page without scripts, whose timers do not run: the question is asked again
// and again.
func (b *tab) await(expression string) {
	b.t.Helper()
	if !sheaftest.Within(patience, func() bool {
		yes, ok := ask[bool](b, "!!("+expression+")")
		return ok && yes
	}) {
		text, _ := ask[string](b, "document.body.innerText")
		b.t.Fatalf("%s did not become true: %s", expression, text)
	}
}

// What somebody writes never runs: not on the page, not in the preview, not among the versions. The
// same in a page of nobody's is heard, so that the silence means something.
func TestDocument_WhatIsWrittenDoesNotRun(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	if _, err := command(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `window.alarm = 0; window.alert = () => { window.alarm++ }`}); err != nil {
		t.Fatal(err)
	}
	const heard = "<img src=x: onerror=alert(1)>"
	hostile := strings.Join([]string{heard, "<script>alert(1)</script>", "<svg onload=alert(1)></svg>",
		"[click](javascript:alert(1))", "[click](&#106;avascript:alert(1))", "![x](x\" onerror=\"alert(1))", "<a href='javascript:alert(1)'>click</a>",
		"<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>", "```\n</code></pre><img src=x onerror=alert(1)>\n```"}, "\n\n")
	address := b.writeDocument("Hostile <script>alert(1)</script>", hostile)
	for _, path := range []string{"", "/edit", "/versions", "/versions/1?view=text"} {
		b.open(address + path)
		b.see("h1, #editor")
		if path == "/edit" {
			b.until("the preview", "document.querySelector('[data-preview-pane] .prose').childElementCount > 0")
		}
		ask[bool](b, "(() => { for (const a of document.querySelectorAll('.prose a')) a.click(); return true })()")
		if bad, ok := ask[int](b, "document.querySelectorAll('.prose :is(script, svg, iframe, img, [onerror], [onload], [href^=java i])').length"); !ok || bad != 0 {
			t.Errorf("%q has %d elements that run", path, bad)
		}
		if alarms, ok := ask[int](b, "window.alarm"); !ok || alarms != 0 {
			t.Errorf("%q ran %d scripts", path, alarms)
		}
	}
	b.open("data:text/html," + heard)
	b.until("the control", "window.alarm > 0")
}
