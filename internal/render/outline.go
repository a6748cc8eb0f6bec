package render

import (
	"strings"

	"github.com/yuin/goldmark/ast"
)

// Bounds of the outline of a page. Headings beyond maxHeadings are left out.
const (
	maxHeadings = 300
	maxWords    = 300 // characters of a heading, and of the opening
)

// A Heading is one of the page, whatever block it stands in.
type Heading struct {
	Level int    // 1 to 6
	ID    string // of its element
	Text  string
	First bool // the page begins with it
}

// Headings returns the headings of the page, in order; of a very long page the first few hundred.
// They must not be changed.
func (p *Page) Headings() []Heading { return p.headings }

// Opening returns the words of the first paragraph, as plain text, cut off where they are many. It is
// empty where the page has no paragraph of its own.
func (p *Page) Opening() string { return p.opening }

// outlined notes a heading.
func (w *writer) outlined(n *ast.Heading, id string, words []byte) {
	if len(w.headings) < maxHeadings {
		w.headings = append(w.headings, Heading{Level: n.Level, ID: id, Text: clipWords(words), First: len(w.out) == 0})
	}
}

// opens notes the words of the first paragraph that stands in no other block.
func (w *writer) opens(n *ast.Paragraph) {
	if w.opening == "" && n.Parent().Kind() == ast.KindDocument {
		w.opening = clipWords(w.plain(n))
	}
}

// clipWords is the beginning of a text, with single spaces.
func clipWords(words []byte) string {
	text := []rune(strings.Join(strings.Fields(string(words)), " "))
	if len(text) > maxWords {
		return strings.TrimSpace(string(text[:maxWords-1])) + "…"
	}
	return string(text)
}
