package search

import (
	"bytes"
	"unicode/utf8"

	"sheaf.dev/internal/sheaf"
)

// words are what a search looks for, folded.
type words struct {
	long  []string // of two characters or more: anywhere
	short []string // of one: in titles and names alone
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

// match tells whether every word occurs in a record of that folded title, and of the body that is
// asked for where it is needed, and whether all of them do in the title.
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
