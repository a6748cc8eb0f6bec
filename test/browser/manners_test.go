package browser

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// steady fails the test for a page that jumped.
func (b *tab) steady(page string) {
	b.t.Helper()
	if sum, ok := ask[float64](b, shifts); !ok || sum > maxShift {
		b.t.Errorf("%s jumped by %.3f", page, sum)
	}
}

// mannerly fails the test for a page that shows a time in another zone, or that
// differs in some detail from all other pages.
func (b *tab) mannerly(page string) {
	b.t.Helper()
	b.tidy(page)
	for _, text := range b.foreignTimes() {
		b.t.Errorf("%s shows %s", page, text)
	}
}

// tidy fails the test for each small thing of the page that is not as it is everywhere.
func (b *tab) tidy(page string) {
	b.t.Helper()
	for _, fault := range b.untidy() {
		b.t.Errorf("%s: %s", page, fault)
	}
}

// untidy lists them: a name that is cut off and has no tooltip, a box of another size, a sentence that a
// relative time does not complete ("since 5 minutes ago"), one of many ("1 documents"), and a heading that has no room.
func (b *tab) untidy() []string {
	b.t.Helper()
	faults, ok := ask[[]string](b, `(() => {
		const out = [], shown = (e) => e.checkVisibility({ visibilityProperty: true });
		const all = [...document.querySelectorAll("body *")].filter(shown);
		for (const e of all) {
			if (e.scrollWidth <= e.clientWidth || getComputedStyle(e).textOverflow !== "ellipsis" || e.matches("input, #jump-list .grow small, .found .grow small")) continue;
			if (!e.closest("[title]") && !e.querySelector("[title]")) out.push("cut off, without a tooltip: " + e.outerHTML.slice(0, 300));
		}
		for (const e of all.filter((e) => e.matches("input[type=checkbox], input[type=radio]"))) {
			const own = getComputedStyle(e), box = own.appearance === "none" ? getComputedStyle(e, "::before") : own;
			if (own.opacity === "0" && !e.matches(".pickbox") || e.closest(".prose")) continue; // its label is drawn instead, or it is of a text
			if (box.width !== "17px" || box.height !== "17px") out.push("a box of " + box.width + " by " + box.height + ": " + e.outerHTML.slice(0, 200));
		}
		for (const e of all.filter((e) => e.matches("time:not([data-clock])"))) {
			const before = (e.previousSibling?.textContent || "").trim();
			if (/\b(since|until|before|after|from|at|on)$/.test(before)) out.push("no sentence: " + before.slice(-40) + " " + e.textContent);
		}
		for (const one of document.body.innerText.matchAll(/(?<![\d.,:-])1 ((held |failed |deleted )?(deliverie|document|project|folder|subfolder|branding|attempt|version|webhook|event type|key|member|file|link|hit|time|byte|record|choice|node)s|are|were|have)\b/g))
			out.push("one of many: " + one[0]);
		for (const h of all.filter((e) => e.matches("h1:not(.sr)"))) if (h.clientWidth < 160 && h.clientHeight > 80) out.push("a squeezed heading: " + h.innerText);
		return out })()`)
	if !ok {
		b.t.Error("the page was not looked at")
	}
	return faults
}

// exactUTC is how a time is written where the pointer rests on it.
const exactUTC = "2006-01-02 15:04:05.000 UTC"

// kolkata is where every reader of these tests is.
var kolkata = time.FixedZone("Asia/Kolkata", 5*3600+1800)

// foreignTimes are those on the page that are neither told relatively and rightly nor in the reader's zone,
// or have no exact UTC in their title.
func (b *tab) foreignTimes() (out []string) {
	b.t.Helper()
	shown, _ := ask[[][]string](b, "[...document.querySelectorAll('time')].map((t) => [t.textContent, t.title])")
	for _, s := range shown {
		at, err := time.Parse(exactUTC, s[1])
		text, here := strings.ReplaceAll(s[0], "\u202f", " "), at.In(kolkata)
		if err != nil || !near(text, at) && text != here.Format("Jan 2, 03:04 PM") && text != here.Format("Jan 2, 2006, 03:04 PM") {
			out = append(out, fmt.Sprintf("%q for %q", text, s[1]))
		}
	}
	return out
}

var (
	units    = map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}
	relative = regexp.MustCompile(`^(in )?(\d+) (minute|hour|day)s?( ago)?$`)
)

// near reports whether a text says of a time how long ago it was, or when it will be. The page may have been
// looked at a while ago.
func near(text string, at time.Time) bool {
	const slow = patience
	away := time.Since(at)
	switch text {
	case "just now":
		return away > -slow && away < time.Minute+slow
	case "in a moment":
		return away > -time.Minute && away < slow
	case "yesterday":
		return away > 24*time.Hour && away < 48*time.Hour+slow
	case "tomorrow":
		return -away > 24*time.Hour-slow && -away < 48*time.Hour
	}
	m := relative.FindStringSubmatch(text)
	if m == nil || (m[1] == "") == (m[4] == "") {
		return false
	}
	if m[1] != "" {
		away = -away
	}
	n, _ := strconv.Atoi(m[2])
	unit := units[m[3]]
	return away > time.Duration(n)*unit-slow && away < time.Duration(n+1)*unit+slow
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
