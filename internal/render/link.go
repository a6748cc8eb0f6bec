package render

import (
	"html"
	"strconv"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// link writes a link, or only its text if the address is not allowed.
func (w *writer) link(n *ast.Link, depth int) {
	a := w.meter.readAddress(n.Destination)
	if !w.open(a, w.attribute(n.Title)) {
		w.children(n, depth)
		return
	}
	w.children(n, depth)
	w.end()
}

// autoLink writes an address that is its own text.
func (w *writer) autoLink(n *ast.AutoLink) {
	label, href := n.Label(w.source), n.URL(w.source)
	if n.AutoLinkType == ast.AutoLinkEmail {
		href = append([]byte("mailto:"), href...)
	}
	if !w.open(w.meter.readAddress(href), "") {
		w.raw(label)
		return
	}
	w.raw(label)
	w.end()
}

// open begins a link. It writes nothing and returns false if the address is not allowed, or if a
// link is open already.
func (w *writer) open(a address, title string) bool {
	if a.kind == noAddress || w.inLink {
		return false
	}
	w.inLink = true
	w.tags("<a")
	switch a.kind {
	case webAddress:
		w.tags(` href="`, html.EscapeString(a.href), `" rel="noopener nofollow"`)
	case documentAddress, mediaAddress:
		start := len(w.out)
		w.tags(` href="`, html.EscapeString(a.own()), `"`)
		w.mark(start, a, nil)
	default:
		w.tags(` href="`, html.EscapeString(a.href), `"`)
	}
	w.tags(titleAttribute(title), ">")
	return true
}

func (w *writer) end() {
	w.tags("</a>")
	w.inLink = false
}

// own returns the address of a document or a medium as the text has it.
func (a address) own() string {
	if a.kind == mediaAddress {
		return "media:" + a.id
	}
	return "document:" + a.id + a.fragment
}

// markBytes is about the size of a mark in memory.
const markBytes = 400

// mark records a reference, from `start` to the end of the output.
func (w *writer) mark(start int, a address, p *picture) {
	w.meter.spend(0, markBytes)
	w.marks = append(w.marks, mark{start: start, end: len(w.out), kind: a.kind, id: a.id, fragment: a.fragment, picture: p})
}

// image writes a picture. A picture from an allowed host is shown, and one from another host is a
// link to it. A medium is a link, which becomes a picture when its address is known. Within a link,
// only a picture from an allowed host or a medium can be shown.
func (w *writer) image(n *ast.Image) {
	a := w.meter.readAddress(n.Destination)
	p := &picture{alt: escape(string(w.plain(n))), title: w.attribute(n.Title)}
	switch {
	case a.kind == webAddress && a.secure && w.images[a.host]:
		w.tags(`<img src="`, html.EscapeString(a.href), `" alt="`, p.alt, `"`, titleAttribute(p.title),
			` loading="lazy" referrerpolicy="no-referrer">`)
	case a.kind == mediaAddress && !w.inLink:
		start := len(w.out)
		w.tags(`<a href="`, html.EscapeString(a.own()), `"`, titleAttribute(p.title), `>`, p.text(), `</a>`)
		w.mark(start, a, p)
	case a.kind == mediaAddress:
		start := len(w.out)
		w.tags(p.text())
		w.mark(start, a, p)
	case a.kind == webAddress && w.open(a, p.title):
		w.tags(p.text())
		w.end()
	default:
		w.tags(p.text())
	}
}

// noteReference writes the number that links to a footnote.
func (w *writer) noteReference(n *east.FootnoteLink) {
	note := strconv.Itoa(n.Index)
	w.tags(`<sup id="`, notedID(n.Index, n.RefIndex), `">`)
	if w.inLink {
		w.tags(note)
	} else {
		w.tags(`<a href="#`, notePrefix, note, `" aria-label="Footnote `, note, `">`, note, `</a>`)
	}
	w.tags(`</sup>`)
}

// noteReturn writes the link back to where a footnote is referenced.
func (w *writer) noteReturn(n *east.FootnoteBacklink) {
	w.tags(` <a href="#`, notedID(n.Index, n.RefIndex), `" aria-label="Back to the text">↩︎</a>`)
}

// notedID returns the id of a reference to a footnote. A footnote may have several.
func notedID(note, place int) string {
	id := notedPrefix + strconv.Itoa(note)
	if place > 0 {
		id += "-" + strconv.Itoa(place+1)
	}
	return id
}
