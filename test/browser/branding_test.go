package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// color chooses a colour, which no key types.
func (b *tab) color(value string) {
	b.t.Helper()
	set := fmt.Sprintf(`(() => { const e = document.querySelector("#branding-editor [name=color]"); e.value = %q;
		e.dispatchEvent(new Event("input", {bubbles: true})); return true })()`, value)
	if _, ok := ask[bool](b, set); !ok {
		b.t.Fatal("no colour can be chosen")
	}
}

// inSample is an expression about the page in the frame of a scheme, which is `page` in it.
func inSample(scheme, expression string) string {
	return fmt.Sprintf("(() => { const frames = document.querySelectorAll('iframe[data-scheme=%s]'), page = frames[0].contentDocument; return frames.length === 1 && page.readyState === 'complete' && %s })()", scheme, expression)
}

// painted waits until a part of the dark preview has a colour.
func (b *tab) painted(part, property, rgb string) {
	b.t.Helper()
	b.until(part+" in "+rgb, inSample("dark", fmt.Sprintf("page.defaultView.getComputedStyle(page.querySelector(%q)).%s === %q", part, property, rgb)))
}

// drawing is a small picture of a letter-like mark, as a PNG.
func drawing(t *testing.T) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, 96, 32))
	for x := range 96 {
		for y := range 32 {
			if x%24 < 6 || y%16 < 4 {
				m.Set(x, y, color.NRGBA{R: 30, G: 30, B: 60, A: 255})
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A branding is made, seen before it is saved, dragged into its folder, chosen as the default and deleted.
func TestBranding_IsMadePreviewedMovedAndChosen(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	b.click("=Brandings")
	b.arrive("Brandings")
	b.shot("brandings")
	b.click("=Create your first branding")
	b.arrive("New branding")
	b.fill("[name=name]", "Acme")
	b.color("#ffcc00")
	b.painted(".masthead", "backgroundColor", "rgb(255, 204, 0)")
	b.painted(".masthead", "color", "rgb(0, 0, 0)")
	b.click("label:has([value=serif])")
	b.fill("[name=footer]", "© Acme <b>2026</b>")
	b.until("the footer in the preview", inSample("light", "page.querySelector('.colophon')?.textContent === '© Acme <b>2026</b>'"))
	b.until("the letters of the preview", inSample("light", "page.defaultView.getComputedStyle(page.body).fontFamily.includes('Georgia')"))
	b.until("light and dark", inSample("light", "page.defaultView.getComputedStyle(page.documentElement).colorScheme === 'light'")+" && "+
		inSample("dark", "page.defaultView.getComputedStyle(page.documentElement).colorScheme === 'dark'"))
	// A logo comes by an upload, is chosen by it, and is seen at once.
	logo := filepath.Join(t.TempDir(), "logo.png")
	if err := os.WriteFile(logo, drawing(t), 0o600); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.SetUploadFiles("[data-logo-upload] input", []string{logo}))
	b.see(".logos label:has(:checked) img[alt='logo.png']")
	b.until("the logo in the preview", inSample("light", "page.querySelector('.masthead img')?.naturalWidth === 96"))
	b.shot("branding-form")
	b.click("=Create branding")
	b.arrive("Acme")
	b.until("the logo in the preview", inSample("light", "page.querySelector('.masthead img')?.naturalWidth === 96"))
	b.painted(".masthead", "borderBottomColor", "rgb(255, 204, 0)")
	b.shot("branding")

	// Into a folder, by dragging it and by its menu.
	b.click("=Brandings")
	b.arrive("Brandings")
	b.click("=New branding folder")
	b.fill("dialog [name=name]", "Customers")
	b.click("=Create folder")
	b.arrive("Customers")
	b.drag("#tree .row[data-name=Acme] a", "#tree .row[data-name=Customers] a")
	b.read("Moved Acme to Customers.")
	b.see("#tree li:has(> .row[data-name=Customers]) ul .row[data-name=Acme]")
	b.see("#folder .cards a[href*='/brandings/']")
	b.picture("folder-of-brandings")
	b.click("#tree .row[data-name=Acme] a")
	b.arrive("Acme")
	b.click("=Move")
	b.see("dialog select[name=folder]")
	b.picture("branding-move")
	if _, ok := ask[bool](b, "(() => { document.querySelector('dialog select[name=folder]').value = ''; return true })()"); !ok {
		t.Fatal("no folder can be chosen")
	}
	b.click("dialog button.primary")
	b.gone("#tree li:has(> .row[data-name=Customers]) ul .row[data-name=Acme]")

	// The default of the workspace.
	b.click("=Settings")
	b.arrive("Settings")
	if _, ok := ask[bool](b, "(() => { const s = document.querySelector('[name=branding]'); s.value = s.options[1].value; return true })()"); !ok {
		t.Fatal("no branding can be chosen")
	}
	b.click("=Save default")
	b.read("Default branding changed.")
	b.click("=Projects")
	b.arrive("My workspace")
	b.click("#tree .row[data-name=Acme] a")
	b.arrive("Acme")
	b.read("Default of the workspace")
	b.peek("=Delete", "branding-delete")
	b.click("=Delete")
	b.click("=Delete branding")
	b.arrive("Brandings")
	b.gone("#tree .row[data-name=Acme]")
}

// Without scripts a branding is made and changed as well, and the preview is that of what was saved.
func TestBranding_WorksWithoutScripts(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	b.click("=Brandings")
	b.arrive("Brandings")
	b.withoutScripts()
	b.click("=Create your first branding")
	b.await("document.querySelector('h1')?.innerText === 'New branding'")
	b.fill("[name=name]", "Plain")
	b.click("label:has([value=mono])")
	b.click("=Create branding")
	b.await("document.querySelector('h1')?.innerText === 'Plain' && " + inSample("light", "page.defaultView.getComputedStyle(page.body).fontFamily.includes('monospace')") + " && " +
		inSample("dark", "page.defaultView.getComputedStyle(page.querySelector('.masthead')).backgroundColor === 'rgb(37, 99, 235)'"))
}

// created makes something by the API, and returns a field of it.
func (s *service) created(path string, body map[string]any, field string) string {
	s.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, s.URL+path, bytes.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var made map[string]any
	if err := json.NewDecoder(res.Body).Decode(&made); err != nil || res.StatusCode != http.StatusCreated {
		s.t.Fatalf("POST %s: %d %v %v", path, res.StatusCode, made, err)
	}
	return fmt.Sprint(made[field])
}

// published is shot for a page of a share. It has no script, and so shows days instead of times in the reader's zone.
func (b *tab) published(name string) {
	b.t.Helper()
	b.accessible(name)
	b.save(name + "-light")
	b.prefer("dark")
	b.accessible(name+" in the dark", "color-contrast")
	b.save(name + "-dark")
	b.prefer("light")
	b.saveOnPhone(name)
}

// What is shared has the look of its branding, by day and by night, on a phone too, and axe finds nothing in it.
func TestBranding_IsWornByAShare(t *testing.T) {
	t.Parallel()
	s := startService(t)
	project := s.created("/api/v1/projects", map[string]any{"name": "Handbook", "description": "What we know."}, "id")
	s.created("/api/v1/documents", map[string]any{"title": "Getting started", "project_id": project,
		"content": "Read [the site](https://example.com), run `sheaf serve`.\n\n```sh\nsheaf serve\n```\n\n> A quote.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"}, "id")
	for name, color := range map[string]string{"sun": "#ffe600", "navy": "#0b1f4b", "rose": "#e11d48"} {
		branding := s.created("/api/v1/brandings", map[string]any{"name": "Acme " + name, "color_primary": color, "font": "serif", "footer": "© Acme, made with care"}, "id")
		b := newTab(t, s)
		b.open(s.created("/api/v1/shares", map[string]any{"resource_type": "project", "resource_id": project, "branding_id": branding}, "url"))
		b.see(".masthead")
		b.published("share-" + name)
		b.click(".contents a")
		b.see(".prose")
		b.published("share-document-" + name)
	}
}
