package render

import (
	"html"
	"slices"
	"strings"
)

// A Page is a rendered text. It does not change, and is safe for concurrent use.
type Page struct {
	html  []byte
	marks []mark // in the order of the page
	plain bool

	headings []Heading
	opening  string
	selves   []self // in the order of the page
	titleEnd int    // end of the heading with which the page begins; 0 if it is no title
	source   source
}

// A mark is a reference to a document or a medium: the bytes of the page that an address replaces.
type mark struct {
	start, end int
	kind       addressKind
	id         string
	fragment   string // begins with #, or is empty
	picture    *picture
}

// A picture is what a mark becomes if the medium has an address. Its texts are escaped.
type picture struct{ alt, title string }

// Refs returns the addresses of documents and media for the reader of the page.
type Refs struct {
	// Document and Media return the address for an id. They return "" if it does not exist or the
	// reader may not see it: then only the text of the link is shown. If one of them is nil,
	// references of its kind are left as written.
	Document, Media func(id string) string
	// Selves gives each heading a link to itself.
	Selves bool
	// Title is shown above the page already. If the page begins with it, it is left out there.
	Title string
	// Part begins the ids of the headings and footnotes, and the links to them, so that several texts can
	// be on one page without two elements of the same id. It has letters, digits and dashes.
	Part string
}

// HTML returns the page: elements for a body, in UTF-8. With the zero Refs, references to documents
// and media are left as in the text: href="document:…", and headings have no links to themselves.
// The bytes must not be changed.
func (p *Page) HTML(refs Refs) []byte {
	if refs.Part == "" {
		return p.whole(refs)
	}
	return []byte(inPart(refs.Part).Replace(string(p.whole(refs))))
}

// inPart puts the name of a part into ids and into links within the page. Quotes in texts are escaped, so
// these characters are found in attributes alone.
func inPart(name string) *strings.Replacer {
	name = headingPrefix + name + "-"
	return strings.NewReplacer(` id="`, ` id="`+name, `href="#"`, `href="#"`, `href="#`, `href="#`+name)
}

// whole is HTML without Part.
func (p *Page) whole(refs Refs) []byte {
	marks, selves, from := p.marks, p.selves, 0
	if refs.Document == nil && refs.Media == nil {
		marks = nil
	}
	if !refs.Selves {
		selves = nil
	}
	if _, ok := p.Titled(refs.Title); ok {
		from = p.titleEnd
		selves = selves[min(1, len(selves)):]
	}
	if len(marks) == 0 && len(selves) == 0 {
		return p.html[from:]
	}
	out := make([]byte, 0, len(p.html)+len(p.html)/8)
	for len(marks) > 0 || len(selves) > 0 {
		if len(marks) == 0 || len(selves) > 0 && selves[0].at <= marks[0].start {
			s := selves[0]
			out = append(out, p.html[from:s.at]...)
			out = s.append(out, p.html)
			selves, from = selves[1:], s.at
			continue
		}
		m := marks[0]
		out = append(out, p.html[from:m.start]...)
		out = append(out, m.with(refs, p.html[m.start:m.end])...)
		marks, from = marks[1:], m.end
	}
	return append(out, p.html[from:]...)
}

// with returns what replaces the mark.
func (m mark) with(refs Refs, written []byte) string {
	find := refs.Document
	if m.kind == mediaAddress {
		find = refs.Media
	}
	if find == nil {
		return string(written)
	}
	found := find(m.id)
	switch {
	case found == "" && m.picture != nil:
		return `<span class="gone">` + m.picture.text() + `</span>`
	case found == "":
		return ` class="gone"`
	case m.picture != nil:
		return `<img src="` + html.EscapeString(found) + `" alt="` + m.picture.alt + `"` + titleAttribute(m.picture.title) + ` loading="lazy">`
	}
	return ` href="` + html.EscapeString(found+m.fragment) + `"`
}

// text returns the text shown in place of a picture.
func (p *picture) text() string {
	if p.alt == "" {
		return "picture"
	}
	return p.alt
}

func titleAttribute(title string) string {
	if title == "" {
		return ""
	}
	return ` title="` + title + `"`
}

// Documents returns the ids of the documents that the page refers to, each once, sorted.
func (p *Page) Documents() []string { return p.ids(documentAddress) }

// Media returns the ids of the media that the page refers to, each once, sorted.
func (p *Page) Media() []string { return p.ids(mediaAddress) }

// Picture returns the id of the first medium that the page shows as a picture, and the text that stands
// for it, escaped for HTML. id is "" if the page shows none.
func (p *Page) Picture() (id, alt string) {
	for _, m := range p.marks {
		if m.picture != nil {
			return m.id, m.picture.alt
		}
	}
	return "", ""
}

func (p *Page) ids(kind addressKind) (ids []string) {
	for _, m := range p.marks {
		if m.kind == kind {
			ids = append(ids, m.id)
		}
	}
	slices.SortFunc(ids, strings.Compare)
	return slices.Compact(ids)
}

// Plain reports whether the text is shown as it was written, because rendering it as Markdown would
// cost too much.
func (p *Page) Plain() bool { return p.plain }

// size returns about how many bytes the page takes.
func (p *Page) size() int {
	return cap(p.html) + 160*len(p.marks) + 256*len(p.headings) + len(p.opening) + 24*len(p.selves) + linkBytes*len(p.source.links) + 16*len(p.source.comments)
}
