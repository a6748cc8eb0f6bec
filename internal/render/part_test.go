package render

import (
	"regexp"
	"strings"
	"testing"
)

// Two texts on one page have no id in common, and their links stay within them. A text that looks like an
// attribute stays as it was written.
func TestPage_InParts(t *testing.T) {
	t.Parallel()
	text := "# Start\n\n## More\n\n[up](#start) [top](#) [out](https://example.com/#start) a[^1] <kbd>x</kbd>\n\n `a id=\"h-start\" href=\"#h-start\"` and id=\"h-start\" href=\"#h-start\"\n\n[^1]: note\n"
	page := New(Options{}).page(t, text)
	plain := string(page.HTML(Refs{Selves: true}))
	seen := map[string]bool{}
	for _, part := range []string{"now", "proposed"} {
		html := string(page.HTML(Refs{Selves: true, Part: part}))
		if back := strings.ReplaceAll(html, "h-"+part+"-", ""); back != plain {
			t.Errorf("%s changes more than ids:\n%s\n%s", part, html, plain)
		}
		ids := map[string]bool{}
		for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(html, -1) {
			if seen[m[1]] || !strings.HasPrefix(m[1], "h-"+part+"-") {
				t.Errorf("%s has the id %q", part, m[1])
			}
			seen[m[1]], ids["#"+m[1]] = true, true
		}
		links := regexp.MustCompile(`href="(#[^"]+)"`).FindAllStringSubmatch(html, -1)
		for _, m := range links {
			if !ids[m[1]] {
				t.Errorf("%s: %q leads nowhere", part, m[1])
			}
		}
		if len(ids) != 4 || len(links) != 5 || !strings.Contains(html, `href="#"`) || !strings.Contains(html, `href="https://example.com/#start"`) {
			t.Errorf("%d ids and %d links in\n%s", len(ids), len(links), html)
		}
	}
}
