package mcp

import (
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

func find(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	q := sheaf.SearchQuery{Text: in.Text("query").Value, Paging: readPaging(in),
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
	if _, err := q.Words(); err != nil {
		return nil, sheaf.Invalidf("query%s", strings.TrimPrefix(err.Error(), "q")).At("query")
	}
	hits, err := c.server.App.Search(c.ctx, c.caller, q)
	if err != nil {
		return nil, err
	}
	return told(page(hits, hitFields), nil), nil
}

func hitFields(h *sheaf.Hit, o *sheaf.Object) {
	o.Text("type", string(h.Type))
	o.Text("id", h.ID)
	o.Text("title", h.Title)
	given(o, "snippet", &h.Snippet)
	given(o, "project_id", h.ProjectID)
	given(o, "folder_id", h.FolderID)
	o.Time("updated_at", h.UpdatedAt)
}
