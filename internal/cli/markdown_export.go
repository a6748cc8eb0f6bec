package cli

import (
	"context"
	"errors"
	"fmt"

	"sheaf.dev/client"
	"sheaf.dev/internal/markdown"
)

type exportMarkdown struct {
	apiCommand
	Dir    string `arg:"" help:"Folder to make; an empty one is taken too."`
	Source string `placeholder:"NAME" help:"Only the documents that were imported from this source."`
}

// Run writes a folder that is there whole or, when something fails, not at all.
func (c *exportMarkdown) Run(ctx context.Context, p *Program) error {
	return c.callWith(ctx, p, patience, func(ctx context.Context, api *client.Client) error {
		paths, err := c.layout(ctx, api)
		if err != nil {
			return err
		}
		w, err := markdown.NewWriter(c.Dir)
		if err != nil {
			return err
		}
		n, err := fill(ctx, api, w, paths)
		if err != nil {
			return errors.Join(err, w.Abort())
		}
		if err := w.Finish(); err != nil {
			return err
		}
		return c.one(p, asJSON(map[string]any{"dir": c.Dir, "files": n}), func() string {
			return fmt.Sprintf("wrote %s to %s\n", counted(n, "file"), c.Dir)
		})
	})
}

// layout reads what is in the workspace, all but the texts, and finds the path of every document.
func (c *exportMarkdown) layout(ctx context.Context, api *client.Client) (map[string]string, error) {
	documents, err := serverDocuments(ctx, api)
	if err != nil {
		return nil, err
	}
	if documents = c.wanted(documents); len(documents) == 0 {
		return nil, errors.New("there is no document to export")
	}
	var folders []markdown.Folder
	for f, err := range api.Folders.All(ctx, client.FolderFilter{EntityType: client.ProjectFolder, Sort: "created_at"}) {
		if err != nil {
			return nil, err
		}
		folders = append(folders, markdown.Folder{ID: f.ID, ParentID: or(f.ParentID, ""), Name: f.Name, ExternalID: or(f.ExternalID, ""), Depth: f.Depth})
	}
	var projects []markdown.Project
	for v, err := range api.Projects.All(ctx, client.ProjectFilter{Sort: "created_at"}) {
		if err != nil {
			return nil, err
		}
		projects = append(projects, markdown.Project{ID: v.ID, FolderID: or(v.FolderID, ""), Name: v.Name, ExternalID: or(v.ExternalID, "")})
	}
	return markdown.Layout(folders, projects, documents), nil
}

// wanted are the documents of the source, or all.
func (c *exportMarkdown) wanted(all []markdown.Document) (out []markdown.Document) {
	for _, d := range all {
		if source, _, ok := markdown.Origin(d.ExternalID, d.Metadata); c.Source == "" || ok && source == c.Source {
			out = append(out, d)
		}
	}
	return out
}

// fill writes the file of every document, read one at a time. One that was deleted meanwhile has
// none.
func fill(ctx context.Context, api *client.Client, w *markdown.Writer, paths map[string]string) (n int, err error) {
	export := markdown.NewExport(paths)
	for _, id := range export.IDs() {
		d, err := api.Documents.Get(ctx, id)
		if errors.Is(err, client.ErrNotFound) {
			continue
		}
		if err != nil {
			return n, err
		}
		page := markdownDocument(d).Page
		page.Content = or(d.Content, "")
		path, data := export.File(id, page)
		if err := w.Write(path, data); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
