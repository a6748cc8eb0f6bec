package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// searchPage is the data of search.html.
type searchPage struct {
	Query string
	Fault string // what is wrong with the query; empty if nothing is
	Found []found
	Total int64
	From  int    // the number of hits on earlier pages
	More  string // the address of the next page; empty on the last
}

// Left returns the number of hits on later pages.
func (p searchPage) Left() int64 { return p.Total - int64(p.From) - int64(len(p.Found)) }

// pageHits is the number of hits on a page.
const pageHits = 25

// search answers GET /w/{workspace}/search: projects, folders and documents that match the query.
// If the query is invalid, the page says why beside the field.
func (c *Console) search(v *visit) error {
	p := searchPage{Query: strings.TrimSpace(v.r.URL.Query().Get("q")), From: v.offset("from")}
	if p.Query == "" {
		return v.showWithTree(http.StatusOK, "search", "", p)
	}
	hits, err := c.app.Search(v.r.Context(), v.caller, sheaf.SearchQuery{Text: p.Query, Reading: true, Paging: sheaf.Paging{Limit: pageHits, Offset: p.From}})
	if sheaf.KindOf(err) == sheaf.Invalid {
		p.Fault = faultOf(err)
		return v.showWithTree(http.StatusOK, "search", "", p)
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
		p.More = "?" + url.Values{"q": {p.Query}, "from": {strconv.Itoa(p.From + pageHits)}}.Encode()
	}
	return v.showWithTree(http.StatusOK, "search", "", p)
}
