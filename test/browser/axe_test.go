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
	options := "{preload: false, selectors: false, resultTypes: ['violations']"
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
		document.documentElement.removeAttribute("lang"); return true })()`); !ok {
		t.Fatal("nothing was planted")
	}
	b.wantFindings("button-name color-contrast html-has-lang label")
	b.prefer("dark")
	b.wantFindings("color-contrast", "color-contrast")

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
