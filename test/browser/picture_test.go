package browser

import (
	"flag"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// pictures are for people, and no test reads them: without the flag only those of failed tests are
// written. ./scripts/screenshots sets it.
var pictures = flag.Bool("pictures", false, "write pictures of the pages into out")

// shot writes what the window shows, in light and in dark, and as it is on a
// phone. The page must be accessible in all of them, have its times in the
// reader's zone, and not have jumped; a phone scrolls it down only. Whatever
// the colours do not decide is looked at once. The first picture of a page of
// the console is called as its file is.
func (b *tab) shot(name string) {
	b.t.Helper()
	b.steady(name)
	b.views(name)
}

// views is shot for a page that brings back a draft. On a slow machine the page is shown before, and jumps.
func (b *tab) views(name string) {
	b.t.Helper()
	seen.Store(name, true)
	b.mannerly(name)
	b.accessible(name)
	b.save(name + "-light")
	b.prefer("dark")
	b.accessible(name+" in the dark", "color-contrast")
	b.save(name + "-dark")
	b.prefer("light")
	b.saveOnPhone(name)
	b.phone()
	b.tidy(name + " on a phone")
	b.accessible(name+" on a phone", "target-size")
	b.desk()
}

// picture is shot for a page that was checked in another state: it only
// writes the pictures.
func (b *tab) picture(name string) {
	b.t.Helper()
	b.save(name + "-light")
	b.prefer("dark")
	b.save(name + "-dark")
	b.prefer("light")
	b.saveOnPhone(name)
}

// saveOnPhone writes what a phone shows, which must not scroll sideways.
func (b *tab) saveOnPhone(name string) {
	b.t.Helper()
	b.phone()
	b.save("phone-" + name)
	b.fits(name, phoneWidth)
	b.desk()
}

// fits fails the test for a page that is wider than the window.
func (b *tab) fits(name string, width int64) {
	b.t.Helper()
	if wide, ok := ask[float64](b, "document.documentElement.scrollWidth"); !ok || wide > float64(width) {
		b.t.Errorf("%s is %v wide in a window of %d", name, wide, width)
	}
}

// peek opens the dialog behind a button, takes its picture and leaves it.
func (b *tab) peek(selector, name string) {
	b.t.Helper()
	b.click(selector)
	b.see("dialog [data-close]")
	b.shot(name)
	b.click("=Cancel")
	b.gone("dialog[open] h2")
}

// prefer is what the person's system prefers: light or dark.
func (b *tab) prefer(scheme string) {
	b.t.Helper()
	_, err := command(b, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"}}})
	if err != nil {
		b.t.Fatal(err)
	}
}

// moveTo is where the reader is from now on.
func (b *tab) moveTo(zone string) {
	b.t.Helper()
	if _, err := command(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: zone}); err != nil {
		b.t.Fatal(err)
	}
}

// phone makes the window as large as a phone's.
func (b *tab) phone() { b.do(chromedp.EmulateViewport(phoneWidth, 844)) }

const phoneWidth = 390

// desk makes it as large as at first.
func (b *tab) desk() { b.do(chromedp.EmulateViewport(b.width, b.height)) }

// save writes a picture into out: a larger file, in half the time.
func (b *tab) save(name string) {
	b.t.Helper()
	b.write(name, true)
}

// savePacked is save for a picture that is kept: a smaller file.
func (b *tab) savePacked(name string) {
	b.t.Helper()
	b.write(name, false)
}

func (b *tab) write(name string, fast bool) {
	b.t.Helper()
	if !*pictures && !strings.HasPrefix(name, "failed-") {
		return
	}
	picture, err := command(b, page.CaptureScreenshot, page.CaptureScreenshotParams{OptimizeForSpeed: &fast})
	if err == nil {
		err = os.MkdirAll("out", 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join("out", name+".png"), picture.Data, 0o644)
	}
	if err != nil {
		b.t.Errorf("the picture %s: %v", name, err)
	}
}
