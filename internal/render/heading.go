package render

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// Prefixes of the ids on a page. The console's pages and scripts use no such names, so they never
// find an element that a text created.
const (
	headingPrefix = "h-"
	notePrefix    = "fn-"
	notedPrefix   = "fnref-"
)

// maxSlug is the largest number of characters in the id of a heading.
const maxSlug = 80

// headingIDs gives each heading of a page a unique id.
type headingIDs struct {
	used map[string]bool
	next map[string]int // the number to try next if a name is taken
}

// of returns the id for a heading: its letters and digits in lower case, with dashes for spaces. A
// second heading with the same name gets a number, as elsewhere.
func (h *headingIDs) of(title string) string {
	name := headingPrefix + slug(title)
	if h.used == nil {
		h.used, h.next = map[string]bool{}, map[string]int{}
	}
	id := name
	for h.used[id] {
		h.next[name]++
		id = name + "-" + strconv.Itoa(h.next[name])
	}
	h.used[id] = true
	return id
}

func slug(title string) string {
	var b strings.Builder
	length := 0
	for _, r := range strings.TrimSpace(title) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			b.WriteRune(unicode.ToLower(r))
		case unicode.IsSpace(r) || r == '-' || r == '_':
			b.WriteByte('-')
		default:
			continue
		}
		if length++; length == maxSlug {
			break
		}
	}
	if b.Len() == 0 {
		return "section"
	}
	return b.String()
}

// A self is where a heading's link to itself may be put, and where its id is in the page.
type self struct{ at, id, idEnd int }

const (
	selfStart = `<a class="self" href="#`
	selfEnd   = `" aria-label="Link to this section"></a>`
)

// self records the end of a heading with that id, which is escaped already. The page pays for the link,
// so that it is within its bound with all links.
func (w *writer) self(id string) {
	end := w.headingStart + len(`<h1 id="`) + len(id)
	w.meter.spend(0, 2*24)
	w.selves = append(w.selves, self{at: len(w.out), id: end - len(id), idEnd: end})
	w.longer += len(selfStart) + len(id) + len(selfEnd)
}

// append appends the link to a page that is being put together. html is the page without links.
func (s self) append(out, html []byte) []byte {
	out = append(out, selfStart...)
	out = append(out, html[s.id:s.idEnd]...)
	return append(out, selfEnd...)
}

// title records where the page ends that has nothing but this heading, if the heading may be left out:
// it is the first one, of level 1, and has only words.
func (w *writer) title(n *ast.Heading) {
	if w.headingStart == 0 && n.Level == 1 && onlyWords(n) {
		w.titleEnd = len(w.out)
		w.meter.noteTitle(n, w.source)
	}
}

// onlyWords reports whether a heading has no link, picture or note, which a page that leaves the heading
// out would lose.
func onlyWords(n ast.Node) bool {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c.(type) {
		case *ast.Link, *ast.AutoLink, *ast.Image, *east.FootnoteLink:
			return false
		}
		if !onlyWords(c) {
			return false
		}
	}
	return true
}
