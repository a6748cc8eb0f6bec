package mcp

import (
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

func find(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	q := sheaf.SearchQuery{Text: in.Text("query").Value, Paging: readPaging(in, maxPage, usualPage), MustExist: true,
		Project: readID[sheaf.ProjectID](in, "project_id").Pointer(), Folder: readID[sheaf.FolderID](in, "folder_id").Pointer()}
	kind := in.Text("type")
	if err := in.Err(); err != nil {
		return nil, err
	}
	if kind.Given() {
		types, err := sheaf.ParseSearchTypes(kind.Value)
		if err != nil {
			return nil, err
		}
		q.Types = types
	}
	words, err := q.Words()
	if err != nil {
		return nil, sheaf.InvalidField("query", "query%s", strings.TrimPrefix(err.Error(), "q"))
	}
	hits, err := c.server.App.Search(c.ctx, c.Caller, q)
	if err != nil {
		return nil, err
	}
	if hits.Total == 0 {
		return c.foundNothing(q, words)
	}
	return c.foundThese(hits)
}

// foundNothing answers a search that finds nothing with the words that are nowhere in what it searched.
// Each word is searched for alone, 10 at most.
func (c *call) foundNothing(q sheaf.SearchQuery, words []string) (*sdk.CallToolResult, error) {
	missing := words
	if len(words) > 1 {
		missing = nil
		for _, w := range words {
			q.Text, q.Paging = `"`+w+`"`, sheaf.Paging{Limit: 1}
			hits, err := c.server.App.Search(c.ctx, c.Caller, q)
			if err != nil {
				return nil, err
			}
			if hits.Total == 0 {
				missing = append(missing, w)
			}
		}
	}
	return recordResult(sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Raw("data", []byte("[]"))
		o.Int("total", 0)
		if len(missing) > 0 {
			o.Texts("not_found", missing)
			o.Text("note", "these words are nowhere in what was searched: words are found as they are written, also inside longer ones, so try a shorter form, such as restart for restarting")
			return
		}
		o.Text("note", "each word is somewhere, and none has all of them: search for fewer")
	}), nil), nil
}

// foundThese answers with the hits and the path of each.
func (c *call) foundThese(hits sheaf.Page[sheaf.Hit]) (*sdk.CallToolResult, error) {
	places := make([]app.Placed, len(hits.Items))
	for i := range hits.Items {
		places[i] = app.Placed{Project: hits.Items[i].ProjectID, Folder: hits.Items[i].FolderID}
	}
	names, err := c.server.App.PlaceNames(c.ctx, c.Caller, places)
	if err != nil {
		return nil, err
	}
	return recordResult(page(hits, func(i int, h *sheaf.Hit, o *sheaf.Object) {
		o.Text("type", string(h.Type))
		named(o, h.ID, h.Title, joinPath(append(names[i], h.Path...)))
		optionalText(o, "snippet", &h.Snippet)
		optionalText(o, "project_id", h.ProjectID)
		if h.Type != sheaf.SearchDocument {
			optionalText(o, "folder_id", h.FolderID)
		}
	}), nil), nil
}
