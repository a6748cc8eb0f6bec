package mcp

import (
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

func listShares(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	f := sheaf.ShareFilter{ResourceID: readID[string](in, "resource_id").Value, Paging: readPaging(in, maxPage, usualPage)}
	if err := in.Err(); err != nil {
		return nil, err
	}
	list, err := c.server.App.Shares(c.ctx, c.Caller, f)
	if err != nil {
		return nil, err
	}
	return recordResult(page(list, shareFields), nil), nil
}

func shareFields(_ int, s *sheaf.Share, o *sheaf.Object) {
	o.Text("id", string(s.ID))
	o.Text("url", s.URL)
	o.Text("resource_type", string(s.ResourceType))
	o.Text("resource_id", s.ResourceID)
	if s.PasswordHash != "" {
		o.Bool("has_password", true)
	}
	if s.ExpiresAt != nil {
		o.Time("expires_at", *s.ExpiresAt)
	}
}

// share publishes a document, a project or a folder.
func share(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	change := sheaf.ShareChange{Password: in.Text("password"), ExpiresAt: in.Time("expires_at")}
	given := 0
	for kind, id := range map[sheaf.Shareable]string{sheaf.ShareOfDocument: string(readDocumentID(in).Value),
		sheaf.ShareOfProject: readID[string](in, "project_id").Value, sheaf.ShareOfFolder: readID[string](in, "folder_id").Value} {
		if id != "" {
			given++
			change.ResourceType, change.ResourceID = sheaf.Some(string(kind)), sheaf.Some(id)
		}
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	if given != 1 {
		return nil, sheaf.Invalidf("send document_id, project_id or folder_id: one of them")
	}
	s, err := c.server.App.CreateShare(c.ctx, c.Caller, change)
	if err != nil {
		return nil, err
	}
	return recordResult(sheaf.RecordFunc(func(o *sheaf.Object) { shareFields(0, &s, o) }), nil), nil
}

func unshare(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id := readID[sheaf.ShareID](in, "share_id").Value
	if err := in.Err(); err != nil {
		return nil, err
	}
	if err := c.server.App.DeleteShare(c.ctx, c.Caller, id, sheaf.Match{}); err != nil {
		return nil, err
	}
	return deletedResult(string(id), "its address is not found from now on"), nil
}
