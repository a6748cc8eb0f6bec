package publish

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// hitsPerPage is the number of documents on a page of search results.
const hitsPerPage = 20

// searchPage is the data of the page with the results of a search in a project or a folder.
type searchPage struct {
	Home  string
	Fault string // what is wrong with the words
	Total int64
	// Partly means that only the titles of some documents were searched.
	Partly bool
	Hits   []hit
	Pages  pager
}

// hit is a document that was found.
type hit struct {
	Address, Title string
	In             string  // name of its project in a shared folder
	Pieces         []piece // parts of the snippet
}

// piece is a part of a text. Found means that it is one of the words.
type piece struct {
	Text  string
	Found bool
}

// search shows the documents of the shared project or folder that contain every word. Its pages are not
// cached.
func (v *visit) search() error {
	home, err := v.publisher.App.SharedHome(v.r.Context(), v.share)
	if err != nil {
		return err
	}
	n, err := v.number()
	if err != nil {
		return err
	}
	words := v.r.URL.Query().Get("q")
	data := searchPage{Home: v.home()}
	page, err := v.find(words, sheaf.Paging{Limit: hitsPerPage, Offset: (n - 1) * hitsPerPage})
	switch {
	case sheaf.KindOf(err) == sheaf.Invalid:
		data.Fault = "Use at most ten words, and 200 characters in total."
	case err != nil:
		return err
	}
	data.Total, data.Partly = page.Total, page.Partly
	for _, h := range page.Items {
		found := hit{Address: v.below(h.ID), Title: h.Title, Pieces: pieces(h.Snippet, h.Ranges)}
		if h.ProjectID != nil {
			found.In = page.Projects[*h.ProjectID]
		}
		data.Hits = append(data.Hits, found)
	}
	data.Pages = pagesOf(n, hitsPerPage, page.Total, func(page int) string {
		return fmt.Sprintf("%s/search?q=%s&page=%d", v.home(), url.QueryEscape(words), page)
	})
	l := layout{Title: "Search in " + home.Name, Home: v.home(), Project: home.Name, Query: words, Brand: v.brandOf(home.Branding),
		Icon: v.iconOf(home.Project, home.Branding)}
	body, err := v.page("search", l, data)
	if err != nil {
		return err
	}
	v.Header().Set("X-Robots-Tag", "noindex")
	return v.send(&answer{body: body, kind: htmlType, etag: tagOf(body), brand: l.Brand})
}

// find searches for the words. Without words it finds nothing, and returns no error.
func (v *visit) find(words string, p sheaf.Paging) (page app.SharedHits, err error) {
	if strings.TrimSpace(words) == "" {
		return page, nil
	}
	if !utf8.ValidString(words) || strings.ContainsRune(words, 0) {
		return page, sheaf.InvalidField("q", "q must be valid UTF-8 text")
	}
	return v.publisher.App.SearchShared(v.r.Context(), v.share, words, p)
}

// pieces splits a snippet at the starts and ends of the words. ranges count code points.
func pieces(snippet string, ranges [][2]int) (out []piece) {
	text, at := []rune(snippet), 0
	for _, r := range ranges {
		start, end := min(r[0], len(text)), min(r[0]+r[1], len(text))
		if start < at {
			continue
		}
		if start > at {
			out = append(out, piece{Text: string(text[at:start])})
		}
		out = append(out, piece{string(text[start:end]), true})
		at = end
	}
	if at < len(text) {
		out = append(out, piece{Text: string(text[at:])})
	}
	return out
}
