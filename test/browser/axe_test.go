package browser

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

//go:embed testdata/axe.min.js
var axe string

// finding is what axe-core holds against a page.
type finding struct {
	Rule, Impact, Help string
	Nodes              []string
}

// findings looks at the page as it is now, with all rules or those named, and
// returns what is serious or critical. Of a page behind a dialog nothing can be
// reached: another look is for it.
func (b *tab) findings(rules ...string) []finding {
	b.t.Helper()
	if known, _ := ask[bool](b, "!!window.axe"); !known {
		if _, ok := ask[bool](b, axe+"; true"); !ok {
			b.t.Fatal("axe-core was not loaded")
		}
	}
	// What is pressed is 24 pixels large, or has as much room around it.
	options := "{preload: false, selectors: false, resultTypes: ['violations'], rules: {'target-size': {enabled: true}}"
	if len(rules) > 0 {
		options += ", runOnly: ['" + strings.Join(rules, "', '") + "']"
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	found, err := chromedp.Run(ctx, chromedp.Evaluate[[]finding]("axe.run(document.querySelector('dialog[open]') || document, "+options+`}).then((r) => r.violations
		.filter((v) => v.impact === "serious" || v.impact === "critical")
		.map((v) => ({Rule: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.map((n) => n.html + " " + n.failureSummary)})))`, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("axe-core: %v", err)
	}
	return found
}

// accessible fails the test for each finding.
func (b *tab) accessible(page string, rules ...string) {
	b.t.Helper()
	for _, f := range b.findings(rules...) {
		b.t.Errorf("%s: %s (%s): %s\n%s", page, f.Rule, f.Impact, f.Help, strings.Join(f.Nodes, "\n"))
	}
}

// The looks at every page could find something: planted faults are found, and
// nothing else.
func TestLooks_FindWhatIsPlanted(t *testing.T) {
	t.Parallel()
	b := newTab(t, startService(t))
	b.open("/sign-in")
	b.arrive("Sign in")
	b.wantFindings("")
	if _, ok := ask[bool](b, `(() => { const $ = (s) => document.querySelector(s);
		$("h1").style.color = "light-dark(#bbb, #444)";
		$("[name=email]").closest("label").replaceWith($("[name=email]"));
		$("button[type=submit]").textContent = "";
		for (const name of ["One", "Two"]) $("main").append(Object.assign(document.createElement("button"), {textContent: name, style: "min-height: 0; height: 12px; padding: 0; font-size: 8px; line-height: 1; display: block"}));
		document.documentElement.removeAttribute("lang"); return true })()`); !ok {
		t.Fatal("nothing was planted")
	}
	b.wantFindings("button-name color-contrast html-has-lang label target-size")
	b.prefer("dark")
	b.wantFindings("color-contrast", "color-contrast")

	b.steady("sign-in")
	b.mannerly("sign-in")
	// What moves within half a second of a change of the window does not count.
	b.until("a jump", fmt.Sprintf(`(() => { const s = document.querySelector("main").style; s.marginTop = (parseInt(s.marginTop || 0) + 130) %% 400 + "px"; return %s > %v })()`, shifts, maxShift))
	if _, ok := ask[bool](b, `(() => { const add = (text, title) => document.body.append(Object.assign(document.createElement("time"), {textContent: text, title: title}));
		add("Nov 14, 05:30 AM", "2026-11-14 00:00:00.000 UTC"); add("Nov 14, 12:00 AM", "2026-11-14 00:00:00.000 UTC"); add("Nov 14, 05:30 AM", ""); return true })()`); !ok {
		t.Fatal("nothing was planted")
	}
	if got := b.foreignTimes(); len(got) != 2 {
		t.Errorf("of two foreign times it finds %q", got)
	}
	b.plantUntidy()
}

// plantUntidy plants one of each small thing that is looked for, beside one that is as it should be.
func (b *tab) plantUntidy() {
	b.t.Helper()
	b.tidy("sign-in")
	b.tidyAfter(`<p class="clip" data-width="4rem" title="A very long name">A very long name</p>`)
	b.tidyAfter(`<p class="clip" data-width="4rem">A very long name</p>`, "cut off, without a tooltip")
	b.tidyAfter(`<input type="checkbox" aria-label="A">`)
	b.tidyAfter(`<input type="checkbox" aria-label="A" data-width="13px">`, "a box of 13px by 17px")
	b.tidyAfter(`<p>changed <time>just now</time>, and since <time data-clock>Nov 14, 05:30 AM</time></p>`)
	b.tidyAfter(`<p>Deactivated since <time>just now</time></p>`, "no sentence: Deactivated since just now")
	b.tidyAfter(`<h1>A heading of several words that has room</h1>`)
	b.tidyAfter(`<h1 data-width="4rem">A heading without room</h1>`, "a squeezed heading")
	b.tidyAfter(`<p>1 document, 2 documents, 11 documents and 1 held delivery</p>`)
	b.tidyAfter(`<p>1 documents, 1 held deliveries, 1 are left</p>`, "one of many: 1 documents", "one of many: 1 held deliveries", "one of many: 1 are")
}

// tidyAfter adds an element to the page, wants those faults to be found, each by its beginning, and takes it away.
func (b *tab) tidyAfter(html string, want ...string) {
	b.t.Helper()
	if _, ok := ask[bool](b, `(() => { document.querySelector("main").insertAdjacentHTML("beforeend", '<div id=planted>' + `+quote(html)+` + '</div>');
		for (const e of document.querySelectorAll("#planted [data-width]")) e.style.width = e.dataset.width; // not as an attribute, which the page refuses
		return true })()`); !ok {
		b.t.Fatal("nothing was planted")
	}
	got := b.untidy()
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		b.t.Errorf("of %s it finds %q, want %q", html, got, want)
	}
	ask[bool](b, `(() => { document.querySelector("#planted").remove(); return true })()`)
}

func (b *tab) wantFindings(want string, rules ...string) {
	b.t.Helper()
	var got []string
	for _, f := range b.findings(rules...) {
		got = append(got, f.Rule)
	}
	slices.Sort(got)
	if s := strings.Join(got, " "); s != want {
		b.t.Errorf("found %q, want %q", s, want)
	}
}

func TestAxe_IsTheFileThatWasVendored(t *testing.T) {
	b, err := os.ReadFile("testdata/VENDORED.md")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(axe))
	if want := fmt.Sprintf("| 4.14.0 | MPL-2.0, see `LICENSE.axe` and `LICENSE-3RD-PARTY.axe` | `%s` |", hex.EncodeToString(sum[:])); !strings.Contains(string(b), want) {
		t.Error("axe.min.js is another file than VENDORED.md says")
	}
}
