package search

import (
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Matcher looks for the words of a query in records that no index has.
type Matcher struct{ view View }

// NewMatcher returns the Matcher of a query. It returns Invalid for bad words.
func NewMatcher(q sheaf.SearchQuery) (*Matcher, error) {
	w, err := parseWords(q)
	return &Matcher{View{query: q, words: w}}, err
}

// Match reports whether the record contains all words, and whether its title does.
func (m *Matcher) Match(f *store.Findable) (inTitle, ok bool) {
	found, _, ok := m.view.match(f)
	return ok && found.inTitle, ok
}

// Hit returns a record that matches as results show it.
func (m *Matcher) Hit(f *store.Findable) sheaf.Hit {
	return m.view.hitOf(f, newRecord(f).body)
}
