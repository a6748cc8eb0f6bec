package search

import (
	"bytes"
	"unicode/utf8"

	"sheaf.dev/internal/sheaf"
)

// words are the folded words of a query.
type words struct {
	long  []string // two characters or more; found in titles and bodies
	short []string // one character; found only in titles and names
}

// parseWords folds the words of a query.
func parseWords(q sheaf.SearchQuery) (w words, err error) {
	list, err := q.Words()
	for _, word := range list {
		folded := Fold(word)
		if utf8.RuneCountInString(folded) < 2 {
			w.short = append(w.short, folded)
		} else {
			w.long = append(w.long, folded)
		}
	}
	return w, err
}

// match reports whether all words occur in title or body, and whether all occur in the title. body
// is called only if the title is not enough.
func (w words) match(title []byte, body func() []byte) (found, inTitle bool) {
	if !w.shortIn(title) {
		return false, false
	}
	if w.allIn(title) {
		return true, true
	}
	text := body()
	for _, word := range w.long {
		if !contains(text, word) && !contains(title, word) {
			return false, false
		}
	}
	return true, false
}

// shortIn reports whether every short word occurs in the title.
func (w words) shortIn(title []byte) bool {
	for _, word := range w.short {
		if !contains(title, word) {
			return false
		}
	}
	return true
}

// allIn reports whether every long word occurs in the title.
func (w words) allIn(title []byte) bool {
	for _, word := range w.long {
		if !contains(title, word) {
			return false
		}
	}
	return true
}

func contains(text []byte, word string) bool { return bytes.Contains(text, []byte(word)) }
