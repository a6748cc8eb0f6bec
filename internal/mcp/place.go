package mcp

import (
	"net/url"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// named appends the id and the title of a record, and the path of what it is in.
func named(o *sheaf.Object, id, title, path string) {
	o.Text("id", id)
	o.Text("title", title)
	optionalText(o, "path", &path)
}

// placed returns where a document is.
func placed(d *sheaf.Document) app.Placed {
	return app.Placed{Project: d.ProjectID, Parent: d.ParentID}
}

// paths returns the path of what each of the records is in: folders, project and documents. It leaves out what
// the caller may not read.
func (c *call) paths(of []app.Placed) ([]string, error) {
	paths := make([]string, len(of))
	if !c.Caller.May(sheaf.DocumentsRead) && !c.Caller.May(sheaf.ProjectsRead) {
		return paths, nil
	}
	names, err := c.server.App.PlaceNames(c.ctx, c.Caller, of)
	for i := range names {
		paths[i] = joinPath(names[i])
	}
	return paths, err
}

// path is paths of one record.
func (c *call) path(of app.Placed) (string, error) {
	paths, err := c.paths([]app.Placed{of})
	return paths[0], err
}

func joinPath(names []string) string { return strings.Join(names, " / ") }

// addressed returns what the address names: a document, or the token of a share. Both are empty if it is no address
// of the console, a share or a resource. Of an address only the path counts, because a server has several names.
func addressed(address string) (document, token string) {
	if id, ok := strings.CutPrefix(address, documentScheme); ok {
		return id, ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", ""
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	for i, name := range parts[:len(parts)-1] {
		next, after := parts[i+1], parts[i+2:]
		switch {
		case name == "documents":
			return next, ""
		case name != "s" || !sheaf.IsShareToken(next):
		case len(after) > 0:
			if id, ok := sheaf.ParseUUID(strings.TrimSuffix(after[0], ".md")); ok {
				return id, ""
			}
			return "", next
		default:
			return "", next
		}
	}
	return "", ""
}

// readShared reads document_id, which may be the address of a share too.
func (c *call) readShared(in *strict.Fields) sheaf.DocumentID {
	_, token := addressed(in.Text("document_id").Value)
	if token == "" {
		return readDocumentID(in).Value
	}
	kind, id, err := c.server.App.SharedRecord(c.ctx, c.Caller, token)
	switch {
	case err != nil:
		in.Refuse(err)
	case kind == sheaf.ShareOfProject:
		in.Refuse(sheaf.InvalidField("document_id", "this address shows a whole project: call read_tree with project_id %s, and read_document with the id of a document in it", id))
	case kind == sheaf.ShareOfFolder:
		in.Refuse(sheaf.InvalidField("document_id", "this address shows a whole folder: call list_projects with folder_id %s, or find with it", id))
	}
	return sheaf.DocumentID(id)
}
