package render

import (
	"html"
	"strconv"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// link writes one, or the text of one that leads nowhere we would send a reader.
func (w *writer) link(n *ast.Link, depth int) {
	a := w.meter.readAddress(n.Destination)
	if !w.open(a, w.attribute(n.Title)) {
		w.children(n, depth)
		return
	}
	w.children(n, depth)
	w.end()
}

// autoLink writes an address that stands for itself.
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

// open begins a link. It writes nothing and returns false when the address is none, or a link is
// open already.
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

// own is the address of a document or a medium as the text has it.
func (a address) own() string {
	if a.kind == mediaAddress {
		return "media:" + a.id
	}
	return "document:" + a.id + a.fragment
}

// markBytes is about what a mark takes in memory.
const markBytes = 400

// mark remembers a reference, from start to what was written last.
func (w *writer) mark(start int, a address, p *picture) {
	w.meter.spend(0, markBytes)
	w.marks = append(w.marks, mark{start: start, end: len(w.out), kind: a.kind, id: a.id, fragment: a.fragment, picture: p})
}

// image writes a picture: of a host that the operator allows, as one; of another, as a link to it;
// one of the media, as a link that becomes a picture once somebody knows its address. Within a link
// only the first can be.
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

// noteReference writes the number that leads to a footnote.
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

// noteReturn writes the way back to where a footnote is referred to.
func (w *writer) noteReturn(n *east.FootnoteBacklink) {
	w.tags(` <a href="#`, notedID(n.Index, n.RefIndex), `" aria-label="Back to the text">↩︎</a>`)
}

// notedID is the id of a place that refers to a footnote; one may have several.
func notedID(note, place int) string {
	id := notedPrefix + strconv.Itoa(note)
	if place > 0 {
		id += "-" + strconv.Itoa(place+1)
	}
	return id
}
