package browser

import (
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"sheaf.dev/internal/sheaftest"
)

// middle returns the middle of an element in the window.
func (b *tab) middle(selector string) (x, y float64) {
	b.t.Helper()
	for range 3 {
		b.see(selector)
		if at := b.place(selector); at != nil {
			return at[0], at[1]
		}
	}
	b.t.Fatalf("%s has no place", selector)
	return 0, 0
}

// place is middle for an element that may not be there: nil then.
func (b *tab) place(selector string) []float64 {
	b.t.Helper()
	at, ok := ask[[]float64](b, "(() => { const e = "+find(selector)+"; if (!e) return []; e.scrollIntoView({block: 'nearest'});"+
		" const r = e.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2] })()")
	if !ok || len(at) != 2 {
		return nil
	}
	return at
}

// click clicks an element with the mouse.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.see(selector)
	opens, _ := ask[bool](b, "!!(("+find(selector)+")?.closest('a[data-dialog]'))")
	b.link = ""
	if leads, _ := ask[bool](b, "!!(("+find(selector)+")?.closest('a[href]:not([data-dialog])'))"); leads {
		b.link = selector
	}
	for range 5 {
		x, y := b.middle(selector)
		b.do(chromedp.MouseClickXY(x, y))
		if !opens || b.comes("dialog[open]") {
			return
		}
		// A live part was replaced under the pointer: a person clicks again.
	}
}

// again clicks an element once more, unless it is gone meanwhile: what it was clicked for has come then, late.
func (b *tab) again(selector string) {
	b.t.Helper()
	if at := b.place(selector); at != nil {
		b.do(chromedp.MouseClickXY(at[0], at[1]))
	}
}

// follow clicks a link in a live part, which may be replaced under the pointer, until what it leads to is there.
func (b *tab) follow(link, leadsTo string) {
	b.t.Helper()
	b.click(link)
	for n := 0; n < 4 && !b.comes(leadsTo); n++ {
		b.again(link)
	}
	b.see(leadsTo)
}

// clickAway clicks a button in a live part, which may be replaced under the pointer, until it is gone.
func (b *tab) clickAway(button string) {
	b.t.Helper()
	b.click(button)
	for n := 0; n < 4 && !b.soon("!("+find(button)+")"); n++ {
		b.again(button)
	}
}

// comes waits a little for an element.
func (b *tab) comes(selector string) bool { return b.soon(find(selector)) }

// soon waits a little for an expression to become true: half a minute, so that nothing is clicked twice because the page
// is slow.
func (b *tab) soon(expression string) bool { return b.within(patience/10, expression) }

// within waits for an expression to become true, for so long.
func (b *tab) within(limit time.Duration, expression string) bool {
	return sheaftest.Within(limit, func() bool {
		yes, ok := ask[bool](b, "!!("+expression+")")
		return ok && yes
	})
}

// fill types a text into an emptied field, key by key.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.click(selector)
	if _, ok := ask[bool](b, "(() => { const e = "+find(selector)+"; e.focus(); e.select(); return true })()"); !ok {
		b.t.Fatalf("%s cannot be filled", selector)
	}
	b.keys(text)
}

// keys types.
func (b *tab) keys(text string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(text))
}

// tabTo presses Tab until an element has the focus.
func (b *tab) tabTo(selector string) {
	b.t.Helper()
	for range 100 {
		if there, _ := ask[bool](b, "document.activeElement === "+find(selector)); there {
			return
		}
		b.keys(kb.Tab)
	}
	b.t.Fatalf("Tab does not lead to %s", selector)
}

// drag takes an element with the mouse and lets it go over the middle of another.
func (b *tab) drag(from, to string) {
	b.t.Helper()
	x, y := b.middle(from)
	toX, toY := b.middle(to)
	b.dragFrom(x, y, toX, toY)
}

// dragBefore lets it go over the upper edge of another, and dragBehind over the lower one.
func (b *tab) dragBefore(from, to string) { b.t.Helper(); b.dragToEdge(from, to, 0.1) }
func (b *tab) dragBehind(from, to string) { b.t.Helper(); b.dragToEdge(from, to, 0.9) }

// dragToEdge takes an element with the mouse and lets it go over a part of another: 0 is its top, 1 its bottom.
func (b *tab) dragToEdge(from, to string, part float64) {
	b.t.Helper()
	x, y := b.middle(from)
	toX, toY := b.middle(to)
	height, _ := ask[float64](b, find(to)+".getBoundingClientRect().height")
	b.dragFrom(x, y, toX, toY+(part-0.5)*height)
}

// dragFrom presses the button of the mouse at a place, moves it in steps, as a hand does, and lets it go at another.
func (b *tab) dragFrom(x, y, toX, toY float64) {
	b.t.Helper()
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
	for i := 1.0; i <= 8; i++ {
		b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x+(toX-x)*i/8, y+(toY-y)*i/8, chromedp.ButtonLeft))
	}
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, toX, toY, chromedp.ButtonLeft, chromedp.ClickCount(1)))
}
