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

func folderFields(_ int, f *sheaf.Folder, o *sheaf.Object) {
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
	return folderResult(c.server.App.CreateFolder(c.ctx, c.Caller, change))
}

// folderResult returns the result of a tool that created or changed a folder.
func folderResult(f sheaf.Folder, err error) (*sdk.CallToolResult, error) {
	if err != nil {
		return nil, err
	}
	return recordResult(sheaf.RecordFunc(func(o *sheaf.Object) { folderFields(0, &f, o) }), nil), nil
}

func editFolder(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id, name, parent := readID[sheaf.FolderID](in, "folder_id").Value, in.Text("name"), readPlace[sheaf.FolderID](in, "parent_id")
	if err := in.Err(); err != nil {
		return nil, err
	}
	switch {
	case name.Given() == parent.Set:
		return nil, sheaf.Invalidf("send name to rename the folder, or parent_id to move it: one of both in a call")
	case parent.Set:
		return folderResult(c.server.App.MoveFolder(c.ctx, c.Caller, id, parent.Pointer(), sheaf.Match{}))
	}
	return folderResult(c.server.App.UpdateFolder(c.ctx, c.Caller, id, sheaf.FolderChange{Name: name}, sheaf.Match{}))
}

func deleteFolder(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id := readID[sheaf.FolderID](in, "folder_id").Value
	if err := in.Err(); err != nil {
		return nil, err
	}
	c.LiftDeadlines() // it may have a hundred thousand projects
	if err := c.server.App.DeleteFolder(c.ctx, c.Caller, id, sheaf.Match{}); err != nil {
		return nil, err
	}
	return deletedResult(string(id), "it is gone for good, with the folders in it; their projects are there, in no folder"), nil
}
