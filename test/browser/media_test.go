package browser

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// pixel is the smallest picture: one point, as a GIF.
const pixel = "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

// drop lets a small picture fall onto an element, as from a folder of the person's machine, or pastes it there.
func (b *tab) drop(selector, event, name string) {
	b.t.Helper()
	b.give(selector, event, name, "image/gif", []byte(pixel))
}

// give is drop for any file.
func (b *tab) give(selector, event, name, kind string, file []byte) {
	b.t.Helper()
	ask[bool](b, `(() => { const data = new DataTransfer(), bytes = Uint8Array.from(atob(`+quote(base64.StdEncoding.EncodeToString(file))+`), (c) => c.charCodeAt(0));
		data.items.add(new File([bytes], `+quote(name)+`, {type: `+quote(kind)+`}));
		const e = `+quote(event)+` === "paste" ? new ClipboardEvent("paste", {bubbles: true, cancelable: true, clipboardData: data})
			: new DragEvent("drop", {bubbles: true, cancelable: true, dataTransfer: data});
		return `+find(selector)+`.dispatchEvent(e) })()`)
}

// A picture is dropped into the library, pasted into a text, and shown by its page.
func TestMedia_DroppedChosenPastedAndShown(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	b.click("=Media")
	b.arrive("Media")
	b.picture("media-empty")
	b.drop("#upload", "drop", "dropped.gif")
	b.see("=Copy Markdown of dropped.gif")
	chosen := filepath.Join(t.TempDir(), "chosen.gif")
	if err := os.WriteFile(chosen, []byte(pixel), 0o600); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.SetUploadFiles("#upload [name=file]", []string{chosen}))
	b.see("=Copy Markdown of chosen.gif")
	b.until("the pictures", "document.querySelectorAll('[data-media] img').length === 2 && [...document.querySelectorAll('[data-media] img')].every((i) => i.naturalWidth === 1)")
	b.shot("media")
	b.click("=Rename dropped.gif")
	b.see("dialog [name=filename]")
	b.shot("medium-rename")
	b.fill("dialog [name=filename]", "renamed.gif")
	b.click("=Rename")
	b.see("=Rename renamed.gif")
	b.click("=Delete renamed.gif")
	b.see("dialog .danger")
	b.shot("medium-delete")
	b.click("dialog .danger")
	b.arrive("Media")
	b.gone("=Delete renamed.gif")

	address := b.writeDocument("Letter", "before\n")
	b.open(address + "/edit")
	b.see(".cm-content")
	b.drop(".cm-content", "paste", "pasted.gif")
	b.until("the Markdown", "/!\\[pasted\\]\\(media:[0-9a-f-]{36}\\)/.test(document.querySelector('[name=content]').value)")
	b.until("the preview", "document.querySelector('[data-preview-pane] .prose img')?.naturalWidth === 1")
	b.click("=Save")
	b.arrive("Letter")
	b.until("the picture", "document.querySelector('.prose img')?.naturalWidth === 1")
}
