package render

import (
	"bytes"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// Markdown gives a page in the language of its text. It replaces parts of the text, and leaves all else
// as it was written:
//
//	[a](document:…)     the address that Refs returns       [a](https://…)
//	                    no address: the text of the link    a
//	[b](../b.md)        an address that pages do not write  b
//	[c]: media:…        the address                         [c]: https://…
//	                    none                                [c]: <>
//	<!-- d -->          pages drop comments                 <!---->
//
// What is left out must not turn the rest into another link or another block: of [[x](y)](z), only the inner
// brackets are a link. So a link keeps its brackets, with an empty address, if it is within brackets, has some
// within it, has no words, or has a word right after it. A comment stays one, on the same lines if it is a block.

// source is what Markdown replaces in the text of a page, as offsets in the cleaned text.
type source struct {
	links    []sourceLink
	comments []span // what is between <!-- and -->; of a block, on each line
	title    span   // lines of the heading that is the title; empty if there is none
}

// A span is a part of a text.
type span struct{ start, stop int }

// A sourceLink is a link, a picture, or the definition of an address, unless the address is one of the web
// as it is usually written.
type sourceLink struct {
	open   span // `[` or `![`; empty for a definition
	tail   span // from `]` to the end
	to     span // the address; empty if a definition has it
	inner  bool // a bracket before it is open
	target target
}

// target is a document or a medium. Of any other address, which no page writes, it has no id.
type target struct {
	kind         addressKind
	id, fragment string
}

// linkBytes is about the size of a sourceLink in memory.
const linkBytes = 200

// Markdown returns the text that the page was rendered from, with the addresses of refs. text must be
// that text. Documents and media that the page does not refer to are treated as missing.
func (p *Page) Markdown(text string, refs Refs) []byte {
	text = clean(text)
	known := map[target]string{}
	for _, m := range p.marks {
		known[target{kind: m.kind, id: m.id}] = ""
	}
	for t := range known {
		if of := refs.of(t.kind); of != nil {
			known[t] = of(t.id)
		}
	}
	var parts replacements
	for _, l := range p.source.links {
		if l.target.id == "" || refs.of(l.target.kind) != nil {
			l.replace(&parts, text, known[target{kind: l.target.kind, id: l.target.id}])
		}
	}
	for _, c := range p.source.comments {
		parts.add(c, "")
	}
	if _, ok := p.Titled(refs.Title); ok {
		parts.add(p.source.title, "")
	}
	return parts.in(text)
}

// of returns what finds the addresses of that kind.
func (r Refs) of(kind addressKind) func(id string) string {
	if kind == mediaAddress {
		return r.Media
	}
	return r.Document
}

// replace adds what replaces the link. found is its address, "" for none.
func (l *sourceLink) replace(parts *replacements, text, found string) {
	definition := l.open == span{}
	switch {
	case found != "" && l.to != span{}:
		parts.add(l.to, found+l.target.fragment)
	case found != "", definition && l.to == span{}: // the definition is replaced
	case definition && text[l.to.start-1] == '<':
		parts.add(l.to, "")
	case definition:
		parts.add(l.to, "<>")
	case l.inner, !endsWord(text[l.tail.stop:]), !hasWords(text[l.open.stop:l.tail.start]):
		parts.add(l.tail, "](<>)")
	default:
		parts.add(l.open, "")
		parts.add(l.tail, "")
	}
}

// endsWord reports whether a word before the text would end there. Else it could become a part of what
// follows, such as an address.
func endsWord(text string) bool {
	return text == "" || strings.IndexByte(" \t\n.,;:!?)'\"|<", text[0]) >= 0
}

// hasWords reports whether the text of a link is more than white space, and has no bracket.
func hasWords(text string) bool {
	return strings.TrimSpace(text) != "" && !strings.Contains(text, "[")
}

// replacements are parts of a text, and what replaces each.
type replacements []replacement

type replacement struct {
	span
	with string
}

func (r *replacements) add(s span, with string) { *r = append(*r, replacement{s, with}) }

// in returns the text with the replacements. A part within another one is gone with it.
func (r replacements) in(text string) []byte {
	slices.SortStableFunc(r, func(a, b replacement) int { return a.start - b.start })
	out, at := make([]byte, 0, len(text)+len(text)/8), 0
	for _, part := range r {
		if part.start < at {
			continue
		}
		out = append(append(out, text[at:part.start]...), part.with...)
		at = part.stop
	}
	return append(out, text[at:]...)
}

// noteLink records the link or picture that ends before the position of block, and whose `]` is at `close`.
func (m *meter) noteLink(node ast.Node, block text.Reader, close int) {
	open := span{node.Pos(), node.Pos() + 1}
	var to []byte
	var reference *ast.ReferenceLink
	switch n := node.(type) {
	case *ast.Link:
		to, reference = n.Destination, n.Reference
	case *ast.Image:
		to, reference = n.Destination, n.Reference
		open.stop++
	default:
		return
	}
	t, other := m.targetOf(to)
	if !other {
		return
	}
	m.spend(0, linkBytes)
	_, end := block.Position()
	found := sourceLink{open: open, tail: span{close, end.Start}, inner: len(m.paragraph.brackets) > 0, target: t}
	if reference == nil {
		found.to = spanOf(block.Source(), found.tail, to)
	}
	m.source.links = append(m.source.links, found)
}

// noteDefinitions records the definitions before a paragraph, from the node after `before` on.
func (m *meter) noteDefinitions(parent, before ast.Node, source []byte) {
	first := parent.FirstChild()
	if before != nil {
		first = before.NextSibling()
	}
	for n := first; n != nil; n = n.NextSibling() {
		d, ok := n.(*ast.LinkReferenceDefinition)
		if !ok {
			return
		}
		t, other := m.targetOf(d.Destination)
		if !other {
			continue
		}
		lines := d.Lines()
		all := span{lines.At(0).Start, lines.At(lines.Len() - 1).Stop}
		m.spend(all.stop-all.start, linkBytes)
		all.start = labelEnd(source, all)
		m.source.links = append(m.source.links, sourceLink{to: spanOf(source, all, d.Destination), target: t})
	}
}

// targetOf returns what an address leads to. other is false for an address of the web or a place on the
// page, as it is usually written: it stays.
func (m *meter) targetOf(address []byte) (t target, other bool) {
	for _, usual := range []string{"https://", "http://", "mailto:", "#"} {
		if bytes.HasPrefix(address, []byte(usual)) {
			return t, false
		}
	}
	a := m.readAddress(address)
	switch a.kind {
	case documentAddress, mediaAddress, noAddress:
		return target{a.kind, a.id, a.fragment}, true
	}
	return t, false
}

// spanOf returns where `part` is in the span. It is empty if it is not there.
func spanOf(source []byte, in span, part []byte) span {
	i := bytes.Index(source[in.start:in.stop], part)
	if i < 0 || len(part) == 0 {
		return span{}
	}
	return span{in.start + i, in.start + i + len(part)}
}

// labelEnd returns the position after the label of a definition, which begins the span.
func labelEnd(source []byte, in span) int {
	for i := in.start; i < in.stop; i++ {
		switch source[i] {
		case '\\':
			i++
		case ']':
			return i + 1
		}
	}
	return in.stop
}

// noteComment records a part of a comment. The shortest comments, <!--> and <!--->, have none.
func (m *meter) noteComment(start, stop int) {
	if stop <= start {
		return
	}
	m.spend(0, linkBytes)
	m.source.comments = append(m.source.comments, span{start, stop})
}

// noteTitle records the lines of the heading that may be the title of the page.
func (m *meter) noteTitle(n *ast.Heading, source []byte) {
	lines := n.Lines()
	if lines.Len() == 0 {
		return
	}
	start := bytes.LastIndexByte(source[:lines.At(0).Start], '\n') + 1
	stop := lineEnd(source, max(start, lines.At(lines.Len()-1).Stop-1))
	if !strings.HasPrefix(strings.TrimLeft(string(source[start:min(stop, start+8)]), " "), "#") {
		stop = lineEnd(source, stop) // the line of = below the words
	}
	m.source.title = span{start, stop}
}

// lineEnd returns the start of the line after the position.
func lineEnd(source []byte, at int) int {
	if i := bytes.IndexByte(source[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(source)
}
