package mcp

import (
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

func listFolders(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	f := sheaf.FolderFilter{EntityType: sheaf.ProjectFolder, Paging: readPaging(in, maxPage, usualPage)}
	if err := in.Err(); err != nil {
		return nil, err
	}
	list, err := c.server.App.Folders(c.ctx, c.Caller, f)
	if err != nil {
		return nil, err
	}
	return recordResult(page(list, folderFields), nil), nil
}

func folderFields(f *sheaf.Folder, o *sheaf.Object) {
	o.Text("id", string(f.ID))
	o.Text("name", f.Name)
	optionalText(o, "parent_id", f.ParentID)
	o.Int("projects", f.ProjectCount)
}

func createFolder(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	change := sheaf.FolderChange{Name: in.Text("name"), EntityType: sheaf.Some(string(sheaf.ProjectFolder)), ParentID: readPlace[sheaf.FolderID](in, "parent_id")}
	if err := in.Err(); err != nil {
		return nil, err
	}
	f, err := c.server.App.CreateFolder(c.ctx, c.Caller, change)
	if err != nil {
		return nil, err
	}
	return recordResult(sheaf.RecordFunc(func(o *sheaf.Object) { folderFields(&f, o) }), nil), nil
}
