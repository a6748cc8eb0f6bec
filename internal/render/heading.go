package render

import (
	"strconv"
	"strings"
	"unicode"
)

// What the ids of a page begin with. A page of the console, or a script, that looks for an element
// by its name can never meet one that somebody wrote: its own names have no such beginning.
const (
	headingPrefix = "h-"
	notePrefix    = "fn-"
	notedPrefix   = "fnref-"
)

// maxSlug bounds the ids of headings, in characters.
const maxSlug = 80

// headingIDs gives each heading of a page an id of its own.
type headingIDs struct {
	used map[string]bool
	next map[string]int // the number that is tried first when a name is taken
}

// of returns the id for a heading: its letters and digits in lower case, with dashes for spaces. A
// second heading of the same name gets a number, as elsewhere.
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
