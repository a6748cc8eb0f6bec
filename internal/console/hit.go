package console

import (
	"slices"

	"sheaf.dev/internal/sheaf"
)

// found is a hit of a search.
type found struct {
	sheaf.Hit
	Pieces []piece // of the snippet
	In     string  // the name of the project that a document is in
}

// Path returns the address of the hit's page within the workspace, without its identifier.
func (f found) Path() string { return string(f.Type) + "s" }

// Icon returns the icon of the hit's kind.
func (f found) Icon() string {
	return map[sheaf.SearchType]string{sheaf.SearchFolder: "folder", sheaf.SearchProject: "book-open", sheaf.SearchDocument: "file"}[f.Type]
}

// piece is a part of a snippet. A match of the query is marked.
type piece struct {
	Text string
	Hit  bool
}

// pieces cuts a snippet at its ranges, which are in order and count code points. A range outside
// the text is ignored.
func pieces(snippet string, ranges [][2]int) (out []piece) {
	letters, at := []rune(snippet), 0
	for _, r := range ranges {
		from, to := r[0], r[0]+r[1]
		if from < at || to <= from || to > len(letters) {
			continue
		}
		if at < from {
			out = append(out, piece{Text: string(letters[at:from])})
		}
		out = append(out, piece{Text: string(letters[from:to]), Hit: true})
		at = to
	}
	if at < len(letters) {
		out = append(out, piece{Text: string(letters[at:])})
	}
	return out
}

// projectsOf returns the names of the hits' projects.
func (v *visit) projectsOf(hits []sheaf.Hit) (map[sheaf.ProjectID]string, error) {
	var ids []sheaf.ProjectID
	for _, h := range hits {
		if h.ProjectID != nil && !slices.Contains(ids, *h.ProjectID) {
			ids = append(ids, *h.ProjectID)
		}
	}
	return v.console.app.ProjectNames(v.r.Context(), v.caller, ids)
}
