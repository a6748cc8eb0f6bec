package publish

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// shown returns a navigation as text: one line per document, with * for the page and + for an open one.
func shown(items []*navItem, indent string) string {
	var b strings.Builder
	for _, n := range items {
		mark := ""
		if n.Open {
			mark = "+"
		}
		if n.Current {
			mark = "*"
		}
		fmt.Fprintf(&b, "%s%s%s\n%s", indent, n.Title, mark, shown(n.Items, indent+" "))
	}
	return b.String()
}

// entries returns a tree with these titles, one per line, indented by their level. The titles are the
// ids too.
func entries(text string) (tree []sheaf.TreeEntry) {
	for line := range strings.Lines(text) {
		title := strings.TrimSpace(line)
		tree = append(tree, sheaf.TreeEntry{ID: sheaf.DocumentID(title), Title: title, Depth: 1 + len(strings.TrimRight(line, "\n")) - len(title)})
	}
	return tree
}

func newVisit() *visit {
	return &visit{Exchange: &front.Exchange{}, r: httptest.NewRequest("GET", "/", nil), publisher: &Publisher{}}
}

// D164: the documents above the shown one are open. A project with many documents shows only what is
// beside the shown one, and beside those above it.
func TestNavigation_OpensThePathToThePage(t *testing.T) {
	t.Parallel()
	small := "a\n b\n  c\n  d\n e\nf\n g\n"
	if got, want := shown(newVisit().navigation(entries(small), "c"), ""), "a+\n b+\n  c*\n  d\n e\nf\n g\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	large := small + strings.Repeat("x\n y\n", navMost/2)
	got := shown(newVisit().navigation(entries(large), "c"), "")
	if want := "a+\n b+\n  c*\n  d\n e\nf\n" + strings.Repeat("x\n", navMost/2); got != want {
		t.Errorf("of a large project, got\n%.200swant\n%.200s", got, want)
	}
}

// D164: previous and next follow the reading order, from one level to another.
func TestPlaceOf_FollowsTheReadingOrder(t *testing.T) {
	t.Parallel()
	tree := entries("a\n b\n  c\n d\ne\n")
	for id, want := range map[sheaf.DocumentID]string{"a": " <  > b: bd", "b": "a < a > c: c", "c": "ab < b > d: ", "d": "a < c > e: ", "e": " < d > : ", "z": " <  > : "} {
		p := placeOf(tree, id, true)
		got := ""
		for _, above := range p.Above {
			got += above.Title
		}
		got += " < "
		if p.Previous != nil {
			got += p.Previous.Title
		}
		got += " > "
		if p.Next != nil {
			got += p.Next.Title
		}
		got += ": "
		for _, below := range p.Below {
			got += below.Title
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
	if p := placeOf(tree, "c", false); len(p.Above) != 2 || p.Below != nil || p.Previous != nil || p.Next != nil {
		t.Errorf("in a part of a tree: %+v", p)
	}
}
