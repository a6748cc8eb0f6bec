package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// searchPage is the data of search.html.
type searchPage struct {
	Query string
	Fault string // what is wrong with the words
	Found []found
	Total int64
	From  int    // how many stand before these
	More  string // where the next ones are; empty at the end
}

// found is a hit, as the page shows it.
type found struct {
	sheaf.Hit
	Pieces []piece // of the snippet
	In     string  // the name of the project that a document is in
}

// Path is where the hit is shown, within the workspace: its noun, which the identifier follows.
func (f found) Path() string { return string(f.Type) + "s" }

// Icon is the drawing of the hit's kind.
func (f found) Icon() string {
	return map[sheaf.SearchType]string{sheaf.SearchFolder: "folder", sheaf.SearchProject: "book-open", sheaf.SearchDocument: "file"}[f.Type]
}

// piece is a part of a snippet; one that is a hit is marked.
type piece struct {
	Text string
	Hit  bool
}

// pieces cuts a snippet at its ranges, which are in order and count code points. A range that lies
// outside the text marks nothing.
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

// pageHits is how many hits a page shows.
const pageHits = 25

// search answers GET /w/{workspace}/search: it finds projects, folders and documents.
func (c *Console) search(v *visit) error {
	p := searchPage{Query: strings.TrimSpace(v.r.URL.Query().Get("q")), From: v.offset()}
	if p.Query != "" {
		if err := v.find(&p, pageHits); err != nil {
			return err
		}
	}
	return v.showBeside(http.StatusOK, "search", "", p)
}

// projectsOf are the names of the projects that the hits are in.
func (v *visit) projectsOf(hits []sheaf.Hit) (map[sheaf.ProjectID]string, error) {
	var ids []sheaf.ProjectID
	for _, h := range hits {
		if h.ProjectID != nil && !slices.Contains(ids, *h.ProjectID) {
			ids = append(ids, *h.ProjectID)
		}
	}
	return v.console.app.ProjectNames(v.r.Context(), v.caller, ids)
}

// Left is how many hits stand behind these.
func (p searchPage) Left() int64 { return p.Total - int64(p.From) - int64(len(p.Found)) }

// find fills in what the search finds. Words that are wrong are told on the page, beside the field.
func (v *visit) find(p *searchPage, limit int) error {
	hits, err := v.console.app.Search(v.r.Context(), v.caller, sheaf.SearchQuery{Text: p.Query, Paging: sheaf.Paging{Limit: limit, Offset: p.From}})
	if sheaf.KindOf(err) == sheaf.Invalid {
		p.Fault = faultOf(err)
		return nil
	}
	if err != nil {
		return err
	}
	names, err := v.projectsOf(hits.Items)
	if err != nil {
		return err
	}
	for _, h := range hits.Items {
		f := found{Hit: h, Pieces: pieces(h.Snippet, h.Ranges)}
		if h.Type == sheaf.SearchDocument && h.ProjectID != nil {
			f.In = names[*h.ProjectID]
		}
		p.Found = append(p.Found, f)
	}
	p.Total = hits.Total
	if hits.More() {
		p.More = "?" + url.Values{"q": {p.Query}, "from": {strconv.Itoa(p.From + limit)}}.Encode()
	}
	return nil
}
