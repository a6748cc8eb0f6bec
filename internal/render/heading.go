package render

import (
	"strconv"
	"strings"
	"unicode"
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
