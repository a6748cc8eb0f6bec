package browser

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// D164, D165, D185a: a person writes a handbook of six documents in two projects, with the keyboard and the mouse: links by
// two brackets, a pasted picture, a table, callouts, another order, and one link for the whole folder. Somebody without an
// account reads it. All of it works on a wide screen and on a phone.
func TestHandbook(t *testing.T) {
	t.Parallel()
	for _, screen := range []struct {
		name          string
		width, height int64
	}{{"desk", 1440, 900}, {"phone", phoneWidth, 844}} {
		t.Run(screen.name, func(t *testing.T) {
			t.Parallel()
			s := startService(t)
			w := &person{tab: setUp(t, s), screen: screen.name}
			w.width, w.height = screen.width, screen.height
			w.desk()
			folder := w.writeHandbook()
			secret := s.created("/api/v1/documents", map[string]any{"title": "Salaries", "content": "For nobody else."}, "id")
			link := w.shareHandbook(folder)

			reader := &person{tab: newTab(t, s), screen: screen.name}
			reader.width, reader.height = screen.width, screen.height
			reader.desk()
			reader.readHandbook(link, secret)
		})
	}
}

// person is somebody at a screen.
type person struct {
	*tab
	screen string
}

// look checks the page as it is now, by day and by night, and takes both pictures: axe finds nothing, and nothing is wider
// than the window.
func (p *person) look(page string) {
	p.t.Helper()
	name := "handbook-" + p.screen + "-" + page
	p.tidy(name)
	p.accessible(name)
	p.fits(name, p.width)
	p.save(name + "-light")
	p.prefer("dark")
	p.accessible(name+" in the dark", "color-contrast")
	p.save(name + "-dark")
	p.prefer("light")
}

// writeHandbook writes the documents, and returns the address of their folder.
func (p *person) writeHandbook() (folder string) {
	p.t.Helper()
	p.newFolder("Handbook")
	folder, _ = ask[string](p.tab, "location.pathname")
	p.newProject("Reference", "code")
	p.newDocument("Reference", "Settings", func() {
		p.typing("Each setting is a flag and a variable.\r\r")
		p.click("[aria-label=Table]")
		p.typing("Flag" + kb.Tab + "Meaning" + kb.Tab + "--addr" + kb.Tab + "the address" + kb.Tab + "--data" + kb.Tab + "the folder of the data")
		p.click("[name=title]")
		p.holds("Each setting is a flag and a variable.\n\n| Flag   | Meaning                |\n| ------ | ---------------------- |\n| --addr | the address            |\n| --data | the folder of the data |\n")
	})
	p.newDocument("Reference", "Words", func() {
		p.typing("- **Share**: a page with a link.\r**Version**: each text that was saved.")
		p.holds("- **Share**: a page with a link.\n- **Version**: each text that was saved.")
	})
	p.open(folder)
	p.arrive("Handbook")
	p.newProject("First steps", "rocket")
	p.newDocument("First steps", "Install", func() {
		p.typing("## Download\r\r1. Take the package.\rStart it.\r\rIt looks like this:\r\r")
		p.give(".cm-content", "paste", "the plan.png", "image/png", plan(p.t))
		p.until("the Markdown of the picture", `/\n!\[the plan\]\(media:[0-9a-f-]{36}\)$/.test(document.querySelector("[name=content]").value)`)
		p.typing("\r\r> [!WARNING]\rKeep the key: it is shown once.\r\rAll flags are in ")
		p.linkTo("sett", "Settings")
		p.typing(".")
		if p.width == phoneWidth { // which shows one of both
			p.click("=Preview")
		}
		p.until("the picture in the preview", "document.querySelector('[data-preview-pane] .prose img')?.naturalWidth === 320")
		p.look("preview")
		if p.width == phoneWidth {
			p.click("=Text")
			p.see(".cm-content")
		}
	})
	p.newDocument("First steps", "Write a page", func() {
		p.typing("Press ")
		p.ctrl("b")
		p.typing("New document" + kb.ArrowRight + kb.ArrowRight + ". A ")
		p.linkTo("words", "Words")
		p.typing(" explains the words.\r\r```\rsheaf serve\r```")
	})
	p.newDocument("First steps", "Troubleshooting", func() {
		p.typing("## It does not start\r\rCompare the flags with ")
		p.linkTo("settings", "Settings")
		p.typing(", or begin again with ")
		p.linkTo("inst", "Install")
		p.typing(".\r\r> [!NOTE]\rThe log says what is wrong.")
	})
	p.newDocument("First steps", "Welcome", func() {
		p.typing("# Welcome\r\rThis handbook begins with ")
		p.linkTo("install", "Install")
		p.typing(".\r\r> [!TIP]\rPress Ctrl-K to find a page.")
	})
	p.reorder()
	return folder
}

// newDocument writes a document, from the page of its project on and back to it.
func (p *person) newDocument(project, title string, write func()) {
	p.t.Helper()
	p.click("=New document")
	p.see("#editor")
	p.fill("[name=title]", title)
	p.click(".cm-content")
	write()
	p.look(strings.ReplaceAll(strings.ToLower(title), " ", "-") + "-written")
	p.click("=Create document")
	p.arrive(title)
	p.read("Saved.")
	p.look(strings.ReplaceAll(strings.ToLower(title), " ", "-"))
	p.click(".crumbs a[href*='/projects/']")
	p.arrive(project)
}

// linkTo types two brackets and the beginning of a title, and takes the document that is offered.
func (p *person) linkTo(typed, title string) {
	p.t.Helper()
	p.typing("[[" + typed)
	offered := `document.querySelector(".cm-tooltip-autocomplete [aria-selected=true]")?.innerText.startsWith(` + quote(title) + ")"
	p.until("the offer of "+title, offered)
	link := fmt.Sprintf(`/\[%s\]\(document:[0-9a-f-]{36}\)$/.test(document.querySelector("[name=content]").value)`, title)
	for range 5 {
		time.Sleep(300 * time.Millisecond) // within 75 ms of its appearance, Enter is not meant for the list
		p.typing("\r")
		if p.within(patience/10, link) {
			return
		}
		// The list appeared again just before Enter, which ended the line.
		p.keys(kb.Backspace + kb.Backspace)
		p.typing(typed[len(typed)-1:])
		p.until("the offer of "+title+" again", offered)
	}
	p.until("the link to "+title, link)
}

// reorder puts the document that was written last before all others: with the mouse on a wide screen, with the keys on a
// narrow one.
func (p *person) reorder() {
	p.t.Helper()
	p.inOrder("Install1 Write a page1 Troubleshooting1 Welcome1")
	if p.width > phoneWidth {
		p.dragBefore("#tree-documents .row[data-name=Welcome] a", "#tree-documents .row[data-name=Install]")
	} else {
		p.at("Welcome")
		p.keys("m")
		p.says("Welcome is picked up.")
		p.keys(kb.Home)
		p.says("Before Install, on the first level of this tree.")
		p.keys(kb.Enter)
	}
	p.inOrder("Welcome1 Install1 Write a page1 Troubleshooting1")
	p.look("order")
}

// shareHandbook makes a link to the folder.
func (p *person) shareHandbook(folder string) (link string) {
	p.t.Helper()
	p.open(folder)
	p.arrive("Handbook")
	p.look("folder")
	p.click("=Share")
	p.see("dialog [name=listed]")
	p.click("=Create link")
	p.see("dialog .shares .secret code")
	p.look("share")
	link, _ = ask[string](p.tab, `document.querySelector("dialog .shares code").textContent`)
	return link
}

// readHandbook reads what the link leads to, from the first page to the last, and finds nothing else there.
func (p *person) readHandbook(link, secret string) {
	p.t.Helper()
	heading := func(text string) {
		p.t.Helper()
		p.until("the page "+text, `document.readyState === "complete" && document.querySelector("h1").textContent === `+quote(text))
	}
	p.open(link)
	p.see(".contents")
	heading("Handbook")
	p.look("read-folder")
	p.click("main .contents a[href]") // the first project
	heading("Reference")
	p.click(".neighbours .next")
	heading("Settings")
	p.see(".prose table")
	p.look("read-settings")
	p.click(".neighbours .next")
	heading("Words")
	p.click(".neighbours .next")
	heading("Welcome") // of the other project
	p.until("the title once", `document.querySelectorAll("h1").length === 1`)
	p.look("read-welcome")
	p.click(".path li:last-child a")
	heading("First steps")
	p.look("read-project")
	p.click(".contents a")
	heading("Welcome")
	p.click(".prose a[href*='/s/']")
	heading("Install")
	p.until("the picture", `document.querySelector(".prose img")?.naturalWidth === 320`)
	p.read("Keep the key: it is shown once.")
	p.look("read-install")
	p.click(".prose a[href*='/s/']:not(:has(img))") // to the other project
	heading("Settings")
	p.open(link + "/search?q=flags")
	p.until("both documents", `document.querySelectorAll(".hits a").length >= 2`)
	p.look("read-search")
	p.open(link + "/search?q=salaries")
	p.until("no hit", `document.readyState === "complete" && !document.querySelector(".hits a")`)
	p.open(link + "/" + secret)
	p.until("nothing", `document.readyState === "complete" && !document.body.innerText.includes("For nobody else.") && !document.body.innerText.includes("Salaries")`)
	if p.width == phoneWidth {
		p.open(link)
		p.click("=Pages")
		p.until("the navigation is open", `document.querySelector(".tree").checkVisibility()`)
		p.look("read-pages")
	}
	if scripts, ok := ask[float64](p.tab, "document.scripts.length"); !ok || scripts != 0 {
		p.t.Errorf("the page has %v scripts", scripts)
	}
}

// plan is a picture of four boxes, as a PNG.
func plan(t *testing.T) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, 320, 120))
	for x := range 320 {
		for y := range 120 {
			c := color.NRGBA{R: 240, G: 244, B: 250, A: 255}
			if x%80 > 12 && x%80 < 68 && y > 30 && y < 90 {
				c = color.NRGBA{R: 37, G: 99, B: 235, A: 255}
			}
			m.Set(x, y, c)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
