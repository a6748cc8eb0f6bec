package mcp

import (
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

func listProjects(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	f := sheaf.ProjectFilter{Folder: readPlace[sheaf.FolderID](in, "folder_id"), Paging: readPaging(in, maxPage, usualPage), MustExist: true}
	if err := in.Err(); err != nil {
		return nil, err
	}
	list, err := c.server.App.Projects(c.ctx, c.Caller, f)
	if err != nil {
		return nil, err
	}
	places := make([]app.Placed, len(list.Items))
	for i := range list.Items {
		places[i] = app.Placed{Folder: list.Items[i].FolderID}
	}
	paths, err := c.paths(places)
	if err != nil {
		return nil, err
	}
	return recordResult(page(list, func(i int, p *sheaf.Project, o *sheaf.Object) {
		projectFields(p, o)
		optionalText(o, "path", &paths[i])
	}), nil), nil
}

func projectFields(p *sheaf.Project, o *sheaf.Object) {
	o.Text("id", string(p.ID))
	o.Text("name", p.Name)
	optionalText(o, "description", p.Description)
	optionalText(o, "folder_id", p.FolderID)
	o.Int("documents", p.DocumentCount)
	o.Int("revision", p.Revision)
}

// projectResult returns the result of a tool that created or changed a project.
func projectResult(p sheaf.Project, err error) (*sdk.CallToolResult, error) {
	if err != nil {
		return nil, err
	}
	return recordResult(sheaf.RecordFunc(func(o *sheaf.Object) { projectFields(&p, o) }), nil), nil
}

func createProject(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	change := sheaf.ProjectChange{Name: in.Text("name"), Description: in.Text("description"), FolderID: readPlace[sheaf.FolderID](in, "folder_id")}
	if err := in.Err(); err != nil {
		return nil, err
	}
	return projectResult(c.server.App.CreateProject(c.ctx, c.Caller, change))
}

func editProject(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id, match := readID[sheaf.ProjectID](in, "project_id").Value, readRevision(in)
	change := sheaf.ProjectChange{Name: in.Text("name"), Description: in.Text("description"), FolderID: readPlace[sheaf.FolderID](in, "folder_id")}
	if err := in.Err(); err != nil {
		return nil, err
	}
	if change.Empty() {
		return nil, sheaf.Invalidf("nothing to change: send name, description or folder_id")
	}
	p, err := c.server.App.UpdateProject(c.ctx, c.Caller, id, change, match)
	return projectResult(p, c.projectConflict(err, match, id))
}

func deleteProject(c *call, in *strict.Fields) (*sdk.CallToolResult, error) {
	id, match := readID[sheaf.ProjectID](in, "project_id").Value, readRevision(in)
	if err := in.Err(); err != nil {
		return nil, err
	}
	c.LiftDeadlines() // it may have a hundred thousand documents
	if err := c.server.App.DeleteProject(c.ctx, c.Caller, id, match); err != nil {
		return nil, c.projectConflict(err, match, id)
	}
	return deletedResult(string(id), "it is gone for good; its documents are there, in no project"), nil
}

// projectConflict is explainConflict for a project.
func (c *call) projectConflict(err error, match sheaf.Match, id sheaf.ProjectID) error {
	return c.explainConflict(err, match, "project", func() (int64, error) {
		p, err := c.server.App.Project(c.ctx, c.Caller, id)
		return p.Revision, err
	})
}
