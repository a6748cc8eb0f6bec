package docs

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest/markdown"
)

// changing is what differs from run to run: ids, times, secrets, keys, addresses of shares and how long something took.
var changing = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}` +
	`|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{3})?Z?|whsec_\w+|shf_\w+|/s/\w{22}|\b\d+(?:\.\d+)?(?:ms|µs|s)\b`)

// names maps what the page shows to what this run has in its place.
type names map[string]string

// folded is what a page writes for a part of an answer that it leaves out.
const folded = "…"

// compare fails unless the answer is the page's: the same id in two places stands for the same thing, what the page
// folds is anything, and everything else is equal.
func (n names) compare(t *testing.T, b markdown.Block, answer string) {
	t.Helper()
	page := b.Text[:max(len(b.Text)-1, 0)]
	real, same := match(page, answer)
	if !same {
		t.Errorf("%s shows\n%s\nand what is printed is\n%s\n(go test ./test/docs -update writes the pages anew)", b.Where(), page, answer)
		return
	}
	for i, shown := range changing.FindAllString(page, -1) {
		if !isName(shown) {
			continue
		}
		if known, ok := n[shown]; ok && known != real[i] {
			t.Errorf("%s: %s stood for %s and stands for %s now", b.Where(), shown, known, real[i])
		}
		n[shown] = real[i]
	}
}

// match reports whether an answer is the one that a page shows, and returns what it has in place of what differs from run
// to run.
func match(page, answer string) (real []string, same bool) {
	var pattern strings.Builder
	literal := func(s string) {
		parts := strings.Split(s, folded)
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		pattern.WriteString(strings.Join(parts, `(?s:.*?)`))
	}
	at := 0
	for _, found := range changing.FindAllStringIndex(page, -1) {
		literal(page[at:found[0]])
		pattern.WriteString("(" + changing.String() + ")")
		at = found[1]
	}
	literal(page[at:])
	groups := regexp.MustCompile(`^` + pattern.String() + `$`).FindStringSubmatch(answer)
	if groups == nil {
		return nil, false
	}
	return groups[1:], true
}

// isName tells an id from a time or a duration. Two times may be equal in one run and differ in another.
func isName(s string) bool {
	if _, err := time.ParseDuration(s); err == nil {
		return false
	}
	return !regexp.MustCompile(`^\d{4}-\d\d-\d\d[T ]`).MatchString(s)
}

func TestMatch_FoldsWhatThePageLeavesOut(t *testing.T) {
	const one, two = "01a1e34f-23bb-7e50-b5f3-df0257e4ea3f", "01a1e34f-23bb-7e50-b5f3-df0257e4ea40"
	for _, c := range []struct {
		page, answer string
		same         bool
	}{
		{`{"id":"` + one + `",…,"n":1}`, `{"id":"` + two + `","name":"x","n":1}`, true},
		{`{"id":"` + one + `",…,"n":1}`, `{"id":"` + two + `","name":"x","n":2}`, false},
		{`{"id":"` + one + `",…}`, `{"id":"` + two + `"}`, false},
		{`{"id":"` + one + `"}`, `{"id":"` + two + `","more":1}`, false},
		{`a.b`, `a.b`, true},
		{`a.b`, `acb`, false},
	} {
		if real, same := match(c.page, c.answer); same != c.same || same && strings.Contains(c.page, one) && real[0] != two {
			t.Errorf("%s and %s: %v, %v", c.page, c.answer, real, same)
		}
	}
}
