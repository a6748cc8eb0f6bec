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

func shareFields(s *sheaf.Share, o *sheaf.Object) {
	o.Text("id", string(s.ID))
	o.Text("url", s.URL)
	o.Text("resource_type", string(s.ResourceType))
	o.Text("resource_id", s.ResourceID)
	o.Bool("has_password", s.PasswordHash != "")
	if s.ExpiresAt != nil {
		o.Time("expires_at", *s.ExpiresAt)
	}
}

func shareDocument(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	return c.share(in, sheaf.ShareOfDocument, sheaf.Some(string(readDocumentID(in).Value)))
}

func shareProject(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	return c.share(in, sheaf.ShareOfProject, readID[string](in, "project_id"))
}

func shareFolder(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	return c.share(in, sheaf.ShareOfFolder, readID[string](in, "folder_id"))
}

// share publishes a document, a project or a folder.
func (c *call) share(in *strict.Fields, kind sheaf.Shareable, id sheaf.Opt[string]) (*sdk.CallToolResult, error) {
	change := sheaf.ShareChange{ResourceType: sheaf.Some(string(kind)), ResourceID: id, Password: in.Text("password"), ExpiresAt: in.Time("expires_at")}
	if err := in.Err(); err != nil {
		return nil, err
	}
	s, err := c.server.App.CreateShare(c.ctx, c.Caller, change)
	if err != nil {
		return nil, err
	}
	return recordResult(sheaf.RecordFunc(func(o *sheaf.Object) { shareFields(&s, o) }), nil), nil
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
