package browser

import (
	"fmt"
	"strings"
	"time"
)

// mannerly fails the test for a page with a time that is not the reader's, or
// that jumped.
func (b *tab) mannerly(page string) {
	b.t.Helper()
	for _, text := range b.foreignTimes() {
		b.t.Errorf("%s shows %s", page, text)
	}
	if sum, ok := ask[float64](b, shifts); !ok || sum > maxShift {
		b.t.Errorf("%s jumped by %.3f", page, sum)
	}
}

// exactUTC is how a time is written where the pointer rests on it.
const exactUTC = "2006-01-02 15:04:05.000 UTC"

// kolkata is where every reader of these tests is.
var kolkata = time.FixedZone("Asia/Kolkata", 5*3600+1800)

// foreignTimes are those on the page that are not in the reader's zone, or have
// no exact UTC in their title.
func (b *tab) foreignTimes() (out []string) {
	b.t.Helper()
	shown, _ := ask[[][]string](b, "[...document.querySelectorAll('time')].map((t) => [t.textContent, t.title])")
	for _, s := range shown {
		at, err := time.Parse(exactUTC, s[1])
		text, here := strings.ReplaceAll(s[0], "\u202f", " "), at.In(kolkata)
		if err != nil || text != here.Format("Jan 2, 03:04 PM") && text != here.Format("Jan 2, 2006, 03:04 PM") {
			out = append(out, fmt.Sprintf("%q for %q", text, s[1]))
		}
	}
	return out
}

// shifts is how far the parts of the page have jumped by themselves since it
// was opened, as the browser counts it, up to the first thing that the reader
// did: what an act changes may come late on a busy machine, and would count.
const shifts = `(() => { const first = new PerformanceObserver(() => {}); first.observe({type: "first-input", buffered: true});
	const until = first.takeRecords()[0]?.startTime ?? Infinity;
	const o = new PerformanceObserver(() => {}); o.observe({type: "layout-shift", buffered: true});
	return o.takeRecords().filter((e) => !e.hadRecentInput && e.startTime < until).reduce((sum, e) => sum + e.value, 0) })()`

// maxShift is what a reader hardly notices.
const maxShift = 0.1

// heading is where the page's heading stands.
func (b *tab) heading() float64 {
	b.t.Helper()
	y, ok := ask[float64](b, "document.querySelector('h1').getBoundingClientRect().top")
	if !ok {
		b.t.Error("the page has no heading")
	}
	return y
}
