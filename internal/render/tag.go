package render

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A few HTML tags are rendered: <br>, <kbd>, <sub>, <sup>, <mark>, <details>, <summary>. Everything
// else that looks like HTML is text, except comments, which are dropped (comment.go).
//
// A tag of the text is never copied. The parser makes a node of it, and two passes pair the nodes:
//
//   - <kbd>, <sub>, <sup> and <mark> are paired with a closing tag of the same parent (tag_pair.go);
//   - <details> and <summary> become blocks around whole blocks (tag_block.go).
//
// The writer writes an element for a pair, at the same depth of the tree. So elements are balanced
// and end with their parent, whatever the text is. A tag without its other half is written as text.

// tagNames are the names of the rendered tags. tagNode.name is one of these strings.
var tagNames = []string{"br", "kbd", "sub", "sup", "mark", "details", "summary"}

// isFlow reports whether the tag of that name is a block around other blocks.
func isFlow(name string) bool { return name == "details" || name == "summary" }

// A tagNode is a tag of the text.
type tagNode struct {
	ast.BaseInline
	name    string
	closing bool
	open    bool // <details open>
	paired  bool // its other half was found; always true for <br>
	source  text.Segment
}

var tagKind, commentKind = ast.NewNodeKind("Tag"), ast.NewNodeKind("Comment")

// Kind implements [ast.Node].
func (*tagNode) Kind() ast.NodeKind { return tagKind }

// Dump implements [ast.Node].
func (t *tagNode) Dump(source []byte, level int) { ast.DumpHelper(t, source, level, nil, nil) }

// readTag reads the tag at the start of a line. It returns its length, or 0 if there is none.
func readTag(line []byte) (t tagNode, length int) {
	const longest = 64 // with as many spaces as anybody writes
	line = line[:min(len(line), longest)]
	end := bytes.IndexByte(line, '>')
	if end < 2 || line[0] != '<' {
		return t, 0
	}
	inside := line[1:end]
	if inside[0] == '/' {
		t.closing, inside = true, inside[1:]
	}
	length = 0
	for length < len(inside) && util.IsAlphaNumeric(inside[length]) {
		length++
	}
	for _, name := range tagNames {
		if bytes.EqualFold(inside[:length], []byte(name)) {
			t.name = name
		}
	}
	rest := bytes.TrimRight(inside[length:], " \t")
	switch {
	case t.name == "":
		return t, 0
	case len(rest) == 0:
	case t.closing:
		return t, 0
	case t.name == "br" && string(bytes.TrimLeft(rest, " \t")) == "/":
	case t.name == "details" && isOpen(rest):
		t.open = true
	default:
		return t, 0
	}
	t.paired = t.name == "br"
	if t.paired && t.closing {
		return t, 0
	}
	return t, end + 1
}

// isOpen reports whether the attributes of a tag are the attribute open and nothing else.
func isOpen(attributes []byte) bool {
	word := bytes.TrimLeft(attributes, " \t")
	return len(word) < len(attributes) && (bytes.EqualFold(word, []byte("open")) || bytes.EqualFold(word, []byte(`open=""`)))
}

// tags reads tags and comments within a paragraph.
type tags struct{}

// Trigger implements [parser.InlineParser].
func (tags) Trigger() []byte { return []byte{'<'} }

// Parse implements [parser.InlineParser].
func (tags) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	m := meterOf(pc)
	line, segment := block.PeekLine()
	if bytes.HasPrefix(line, commentStart) {
		return m.inlineComment(block)
	}
	read, length := readTag(line)
	if length == 0 {
		m.inline(nil)
		return nil
	}
	t := read // a copy, so that a text of a million "<" allocates nothing for them
	t.source = segment.WithStop(segment.Start + length)
	block.Advance(length)
	m.inline(&t)
	m.tags++
	if isFlow(t.name) {
		m.flowTags++
	}
	return &t
}

// tag writes a tag: the tag of an element if it is paired, else its text.
func (w *writer) tag(t *tagNode) {
	switch {
	case !t.paired:
		w.raw(t.source.Value(w.source))
	case t.closing:
		w.tags("</", t.name, ">")
	default:
		w.tags("<", t.name, ">")
	}
}

// plainTag writes a tag in a text without markup, such as the name of a heading.
func (w *writer) plainTag(t *tagNode) {
	switch {
	case t.name == "br":
		w.tags(" ")
	case !t.paired:
		w.raw(t.source.Value(w.source))
	}
}
