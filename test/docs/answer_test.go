package docs

import (
	"regexp"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest/markdown"
)

// changing is what differs from run to run: ids, times, secrets, keys, addresses of shares and how long something took.
var changing = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}` +
	`|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{3})?Z?|whsec_\w+|shf_\w+|/s/\w{22}|\b\d+(?:\.\d+)?(?:ms|µs|s)\b`)

// names maps what the page shows to what this run has in its place.
type names map[string]string

// compare fails unless the answer is the page's: the same id in two places stands for the same thing, and everything
// else is equal.
func (n names) compare(t *testing.T, b markdown.Block, answer string) {
	t.Helper()
	const mark = "…"
	page := b.Text[:max(len(b.Text)-1, 0)]
	if changing.ReplaceAllString(answer, mark) != changing.ReplaceAllString(page, mark) {
		t.Errorf("%s shows\n%s\nand what is printed is\n%s\n(go test ./test/docs -update writes the pages anew)", b.Where(), page, answer)
		return
	}
	shown, real := changing.FindAllString(page, -1), changing.FindAllString(answer, -1)
	for i := range shown {
		known, ok := n[shown[i]]
		if !isName(shown[i]) {
			continue
		}
		if ok && known != real[i] {
			t.Errorf("%s: %s stood for %s and stands for %s now", b.Where(), shown[i], known, real[i])
		}
		n[shown[i]] = real[i]
	}
}

// isName tells an id from a time or a duration, of which two may fall together in one run and not in another.
func isName(s string) bool {
	if _, err := time.ParseDuration(s); err == nil {
		return false
	}
	return !regexp.MustCompile(`^\d{4}-\d\d-\d\d[T ]`).MatchString(s)
}
