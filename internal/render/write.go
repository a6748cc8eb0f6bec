package render

import (
	"html"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	markdown "github.com/yuin/goldmark/renderer/html"
)

// A writer turns the parsed text into HTML. Every element and attribute that can occur is written
// out in this package. Content of the text is written only by text, raw and attribute, which escape
// it.
type writer struct {
	meter  *meter
	source []byte
	images map[string]bool // hosts whose pictures are shown
	out    []byte
	marks  []mark
	ids    headingIDs
	inLink bool // a link is open, and links cannot be nested
	colour int  // number of bytes of code highlighted so far

	headings []Heading
	opening  string // text of the first paragraph
	selves   []self

	headingStart int // where the last heading begins
	longer       int // bytes that the links of the headings to themselves add to the page
	titleEnd     int // end of the heading with which the page begins; 0 if it is no title
}

// maxOutput is the largest size of a page. If a long definition of an address is used in every
// word, it is written each time.
const maxOutput = 8 << 20

// page returns the finished page.
func (w *writer) page() *Page {
	return &Page{html: w.out, marks: w.marks, headings: w.headings, opening: w.opening, selves: w.selves, titleEnd: w.titleEnd, source: w.meter.source}
}

// tags writes markup of this package, unescaped.
func (w *writer) tags(parts ...string) {
	for _, part := range parts {
		w.out = append(w.out, part...)
	}
	w.meter.require(len(w.out)+w.longer <= maxOutput)
}

// text writes a text of the Markdown: it resolves escapes and entities, and escapes the result for
// HTML.
func (w *writer) text(value []byte) { markdown.DefaultWriter.Write(w, value) }

// raw writes a text as it is, escaped.
func (w *writer) raw(value []byte) { markdown.DefaultWriter.RawWrite(w, value) }

// attribute returns a text of the Markdown, escaped for use in a quoted attribute.
func (w *writer) attribute(value []byte) string {
	start := len(w.out)
	w.text(value)
	s := string(w.out[start:])
	w.out = w.out[:start]
	return s
}

// children writes the children of a node.
func (w *writer) children(n ast.Node, depth int) {
	w.meter.require(depth <= maxDepth)
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.meter.spend(inlineSteps, 0)
		w.node(c, depth+1)
	}
}

// within writes the children of a node between two tags.
func (w *writer) within(n ast.Node, depth int, open, end string) {
	w.tags(open)
	w.children(n, depth)
	w.tags(end)
}

// node writes a block or an inline node.
func (w *writer) node(n ast.Node, depth int) {
	switch n := n.(type) {
	case *ast.Paragraph:
		if w.blank(n) {
			return
		}
		w.opens(n)
		w.within(n, depth, "<p>", "</p>\n")
	case *ast.TextBlock:
		w.children(n, depth)
		if n.NextSibling() != nil {
			w.tags("\n")
		}
	case *ast.Heading:
		w.heading(n, depth)
	case *ast.Blockquote:
		w.quote(n, depth)
	case *ast.List:
		w.list(n, depth)
	case *ast.ListItem:
		w.item(n, depth)
	case *ast.CodeBlock:
		w.code(n, "")
	case *ast.FencedCodeBlock:
		w.code(n, string(n.Language(w.source)))
	case *ast.ThematicBreak:
		w.tags("<hr>\n")
	case *ast.LinkReferenceDefinition, *commentBlock:
	case *fold:
		w.fold(n, depth)
	case *foldTitle:
		w.within(n, depth, "<summary>", "</summary>\n")
	case *east.Table:
		w.table(n, depth)
	case *east.FootnoteList:
		w.within(n, depth, `<section class="footnotes" aria-label="Footnotes">`+"\n<ol>\n", "</ol>\n</section>\n")
	case *east.Footnote:
		w.within(n, depth, `<li id="`+notePrefix+strconv.Itoa(n.Index)+`">`+"\n", "</li>\n")
	default:
		w.inline(n, depth)
	}
}

// inline writes an inline node.
func (w *writer) inline(n ast.Node, depth int) {
	switch n := n.(type) {
	case *ast.Text:
		w.words(n)
	case *tagNode:
		w.tag(n)
	case *commentNode:
	case *ast.CodeSpan:
		w.codeSpan(n)
	case *ast.Emphasis:
		if n.Level == 2 {
			w.within(n, depth, "<strong>", "</strong>")
		} else {
			w.within(n, depth, "<em>", "</em>")
		}
	case *east.Strikethrough:
		w.within(n, depth, "<del>", "</del>")
	case *ast.Link:
		w.link(n, depth)
	case *ast.AutoLink:
		w.autoLink(n)
	case *ast.Image:
		w.image(n)
	case *east.TaskCheckBox:
		w.checkBox(n)
	case *east.FootnoteLink:
		w.noteReference(n)
	case *east.FootnoteBacklink:
		w.noteReturn(n)
	default:
		w.children(n, depth)
	}
}

// blank reports whether a paragraph consists of comments, which are not shown.
func (w *writer) blank(n *ast.Paragraph) bool {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.meter.spend(inlineSteps, 0)
		if !showsNothing(c, w.source) {
			return false
		}
	}
	return true
}

func (w *writer) words(n *ast.Text) {
	if n.IsRaw() {
		w.raw(n.Segment.Value(w.source))
		return
	}
	w.text(n.Segment.Value(w.source))
	switch {
	case n.HardLineBreak():
		w.tags("<br>\n")
	case n.SoftLineBreak():
		w.tags("\n")
	}
}

func (w *writer) codeSpan(n *ast.CodeSpan) {
	w.tags("<code>")
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			value := t.Segment.Value(w.source)
			if last := len(value) - 1; last >= 0 && value[last] == '\n' {
				w.raw(value[:last])
				w.tags(" ")
				continue
			}
			w.raw(value)
		}
	}
	w.tags("</code>")
}

func (w *writer) heading(n *ast.Heading, depth int) {
	level := string("0123456"[n.Level])
	words := w.plain(n)
	id := w.ids.of(string(words))
	w.outlined(n, id, words)
	w.headingStart = len(w.out)
	w.tags("<h" + level + ` id="` + html.EscapeString(id) + `">`)
	w.children(n, depth)
	w.self(html.EscapeString(id))
	w.tags("</h" + level + ">\n")
	w.title(n)
}

func (w *writer) list(n *ast.List, depth int) {
	switch {
	case !n.IsOrdered():
		w.within(n, depth, "<ul>\n", "</ul>\n")
	case n.Start != 1:
		w.within(n, depth, `<ol start="`+strconv.Itoa(n.Start)+"\">\n", "</ol>\n")
	default:
		w.within(n, depth, "<ol>\n", "</ol>\n")
	}
}

func (w *writer) item(n *ast.ListItem, depth int) {
	open := "<li>"
	if isTask(n) {
		open = `<li class="task">`
	}
	if first := n.FirstChild(); first != nil && first.Kind() != ast.KindTextBlock {
		open += "\n"
	}
	w.within(n, depth, open, "</li>\n")
}

// isTask reports whether an item begins with a check box.
func isTask(n *ast.ListItem) bool {
	if n.FirstChild() == nil {
		return false
	}
	_, ok := n.FirstChild().FirstChild().(*east.TaskCheckBox)
	return ok
}

func (w *writer) checkBox(n *east.TaskCheckBox) {
	if n.IsChecked {
		w.tags(`<input type="checkbox" disabled checked aria-label="done"> `)
	} else {
		w.tags(`<input type="checkbox" disabled aria-label="to do"> `)
	}
}

// table writes a table in a box that scrolls if the table is wider than the page.
func (w *writer) table(n *east.Table, depth int) {
	w.tags(`<div class="table" tabindex="0">`, "\n<table>\n")
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		_, head := row.(*east.TableHeader)
		if head {
			w.tags("<thead>\n")
		}
		w.row(row, head, depth+1)
		if head {
			w.tags("</thead>\n<tbody>\n")
		}
	}
	w.tags("</tbody>\n</table>\n</div>\n")
}

func (w *writer) row(row ast.Node, head bool, depth int) {
	tag := "td"
	if head {
		tag = "th"
	}
	w.tags("<tr>\n")
	for c := row.FirstChild(); c != nil; c = c.NextSibling() {
		open := "<" + tag + ">"
		if cell, ok := c.(*east.TableCell); ok {
			switch cell.Alignment {
			case east.AlignRight:
				open = "<" + tag + ` class="right">`
			case east.AlignCenter:
				open = "<" + tag + ` class="center">`
			}
		}
		w.within(c, depth, open, "</"+tag+">\n")
	}
	w.tags("</tr>\n")
}

// plain returns the text in a node: the alternative text of a picture, the text of a heading.
func (w *writer) plain(n ast.Node) []byte {
	start := len(w.out)
	w.plainChildren(n, 0)
	words := []byte(html.UnescapeString(string(w.out[start:])))
	w.out = w.out[:start]
	w.meter.spend(4*len(words), 2*len(words))
	return words
}

func (w *writer) plainChildren(n ast.Node, depth int) {
	w.meter.require(depth <= maxDepth)
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.meter.spend(inlineSteps, 0)
		switch c := c.(type) {
		case *ast.Text:
			if c.IsRaw() {
				w.raw(c.Segment.Value(w.source))
			} else {
				w.text(c.Segment.Value(w.source))
			}
			if c.SoftLineBreak() || c.HardLineBreak() {
				w.tags(" ")
			}
		case *ast.AutoLink:
			w.raw(c.Label(w.source))
		case *tagNode:
			w.plainTag(c)
		default:
			w.plainChildren(c, depth+1)
		}
	}
}

// The methods below let goldmark's escaping write to the writer. They never fail and buffer
// nothing.

// Write implements [io.Writer].
func (w *writer) Write(p []byte) (int, error) {
	w.out = append(w.out, p...)
	w.meter.spend(len(p), 0)
	w.meter.require(len(w.out)+w.longer <= maxOutput)
	return len(p), nil
}

// WriteString implements [io.StringWriter].
func (w *writer) WriteString(s string) (int, error) {
	w.tags(s)
	return len(s), nil
}

// WriteByte implements [io.ByteWriter].
func (w *writer) WriteByte(c byte) error {
	w.out = append(w.out, c)
	return nil
}

// WriteRune appends a character.
func (w *writer) WriteRune(r rune) (int, error) {
	before := len(w.out)
	w.out = utf8.AppendRune(w.out, r)
	return len(w.out) - before, nil
}

// Available returns how many bytes can be written without another allocation.
func (w *writer) Available() int { return cap(w.out) - len(w.out) }

// Buffered returns 0: nothing is buffered.
func (w *writer) Buffered() int { return 0 }

// Flush does nothing.
func (w *writer) Flush() error { return nil }

// escape escapes a text for HTML, also for use in quotes.
func escape(s string) string { return html.EscapeString(strings.ToValidUTF8(s, "\ufffd")) }
