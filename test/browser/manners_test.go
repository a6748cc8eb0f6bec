package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// exactUTC is how a time is written where the pointer rests on it.
const exactUTC = "2006-01-02 15:04:05.000 UTC"

// kolkata is where every reader of these tests is.
var kolkata = time.FixedZone("Asia/Kolkata", 5*3600+1800)

// local fails the test unless every time on the page is the reader's, with the
// exact UTC in its title.
func (b *tab) local(page string) {
	b.t.Helper()
	shown, _ := ask[[][]string](b, "[...document.querySelectorAll('time')].map((t) => [t.textContent, t.title])")
	for _, s := range shown {
		at, err := time.Parse(exactUTC, s[1])
		text, here := strings.ReplaceAll(s[0], "\u202f", " "), at.In(kolkata)
		if err != nil || text != here.Format("Jan 2, 03:04 PM") && text != here.Format("Jan 2, 2006, 03:04 PM") {
			b.t.Errorf("%s shows %q for %q", page, s[0], s[1])
		}
	}
}

// shifts is how far the parts of the page have jumped by themselves since it
// was opened, as the browser counts it.
const shifts = `(() => { const o = new PerformanceObserver(() => {}); o.observe({type: "layout-shift", buffered: true});
	return o.takeRecords().filter((e) => !e.hadRecentInput).reduce((sum, e) => sum + e.value, 0) })()`

// maxShift is what a reader hardly notices.
const maxShift = 0.1

// steady fails the test for a page that jumped.
func (b *tab) steady(page string) {
	b.t.Helper()
	if sum, ok := ask[float64](b, shifts); !ok || sum > maxShift {
		b.t.Errorf("%s jumped by %.3f", page, sum)
	}
}

// heading is where the page's heading stands.
func (b *tab) heading() float64 {
	b.t.Helper()
	y, ok := ask[float64](b, "document.querySelector('h1').getBoundingClientRect().top")
	if !ok {
		b.t.Error("the page has no heading")
	}
	return y
}

// A page that jumps is found.
func TestSteady_FindsWhatIsPlanted(t *testing.T) {
	t.Parallel()
	b := newTab(t, startService(t))
	b.open("/sign-in")
	b.arrive("Sign in")
	b.steady("sign-in")
	b.until("a jump", fmt.Sprintf(`(() => { document.querySelector("main").prepend(document.createElement("hr")); return %s > %v })()`, shifts, maxShift))
}
