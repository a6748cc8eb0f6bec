package render

import (
	"strings"

	"github.com/yuin/goldmark/ast"
)

// Limits on the outline of a page. Headings after the first maxHeadings are left out.
const (
	maxHeadings = 300
	maxWords    = 300 // characters of a heading, and of the opening
)

// A Heading is a heading of the page, in any block.
type Heading struct {
	Level int    // 1 to 6
	ID    string // id of its element
	Text  string
	First bool // the page begins with it
}

// Headings returns the first maxHeadings headings of the page, in order. They must not be changed.
func (p *Page) Headings() []Heading { return p.headings }

// Opening returns the text of the first paragraph, without markup, shortened to maxWords
// characters. It is "" if the page has no paragraph outside of other blocks.
func (p *Page) Opening() string { return p.opening }

// Titled reports whether the page begins with that title, as a heading of level 1 that consists of
// words only, and returns the heading's id. Case and white space do not count. A page that is shown
// below its title leaves that heading out ([Refs.Title]).
func (p *Page) Titled(title string) (id string, ok bool) {
	if p.titleEnd == 0 || len(p.headings) == 0 || title == "" || !strings.EqualFold(p.headings[0].Text, clipWords([]byte(title))) {
		return "", false
	}
	return p.headings[0].ID, true
}

// outlined adds a heading to the outline.
func (w *writer) outlined(n *ast.Heading, id string, words []byte) {
	if len(w.headings) < maxHeadings {
		w.headings = append(w.headings, Heading{Level: n.Level, ID: id, Text: clipWords(words), First: len(w.out) == 0})
	}
}

// opens records the text of the first paragraph outside of other blocks.
func (w *writer) opens(n *ast.Paragraph) {
	if w.opening == "" && n.Parent().Kind() == ast.KindDocument {
		w.opening = clipWords(w.plain(n))
	}
}

// clipWords returns the start of a text, with single spaces.
func clipWords(words []byte) string {
	text := []rune(strings.Join(strings.Fields(string(words)), " "))
	if len(text) > maxWords {
		return strings.TrimSpace(string(text[:maxWords-1])) + "…"
	}
	return string(text)
}
