package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

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
		paths, documents, err := c.layout(ctx, api)
		if err != nil {
			return err
		}
		media, forbidden := serverMedia(ctx, api, true)
		if forbidden != nil && !errors.Is(forbidden, client.ErrForbidden) {
			return forbidden
		}
		w, err := markdown.NewWriter(c.Dir)
		if err != nil {
			return err
		}
		f := filler{api: api, w: w, export: markdown.NewExport(paths, markdown.MediaPaths(paths, documents, media)), forbidden: forbidden, done: map[string]bool{}}
		if err := f.fill(ctx); err != nil {
			return errors.Join(err, w.Abort())
		}
		if err := w.Finish(); err != nil {
			return err
		}
		return c.one(p, asJSON(map[string]any{"dir": c.Dir, "files": f.files, "media": f.media}), func() string {
			also := ""
			if f.media > 0 {
				also = fmt.Sprintf(" and %d media", f.media)
			}
			return fmt.Sprintf("wrote %s%s to %s\n", counted(f.files, "file"), also, c.Dir)
		})
	})
}

// layout reads what is in the workspace, all but the texts, and finds the path of every document.
func (c *exportMarkdown) layout(ctx context.Context, api *client.Client) (paths map[string]string, documents []markdown.Document, err error) {
	documents, err = serverDocuments(ctx, api)
	if err != nil {
		return nil, nil, err
	}
	if documents = c.wanted(documents); len(documents) == 0 {
		return nil, nil, errors.New("there is no document to export")
	}
	var folders []markdown.Folder
	for f, err := range api.Folders.All(ctx, client.FolderFilter{EntityType: client.ProjectFolder, Sort: "created_at"}) {
		if err != nil {
			return nil, nil, err
		}
		folders = append(folders, markdown.Folder{ID: f.ID, ParentID: or(f.ParentID, ""), Name: f.Name, ExternalID: or(f.ExternalID, ""), Depth: f.Depth})
	}
	var projects []markdown.Project
	for v, err := range api.Projects.All(ctx, client.ProjectFilter{Sort: "created_at"}) {
		if err != nil {
			return nil, nil, err
		}
		projects = append(projects, markdown.Project{ID: v.ID, FolderID: or(v.FolderID, ""), Name: v.Name, ExternalID: or(v.ExternalID, "")})
	}
	return markdown.Layout(folders, projects, documents), documents, nil
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

// filler writes the files of documents and of the media that they show or lead to.
type filler struct {
	api    *client.Client
	w      *markdown.Writer
	export *markdown.Export
	// forbidden is why the key may not read media; nil where it may. It matters when a text has one.
	forbidden error
	done      map[string]bool // paths of media that were written

	files, media int
}

// fill writes the file of every document, read one at a time. One that was deleted meanwhile has
// none.
func (f *filler) fill(ctx context.Context) error {
	for _, id := range f.export.IDs() {
		d, err := f.api.Documents.Get(ctx, id)
		if errors.Is(err, client.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		page := markdownDocument(d).Page
		page.Content = or(d.Content, "")
		if err := f.writeMedia(ctx, page.Content); err != nil {
			return err
		}
		path, data := f.export.File(id, page)
		if err := f.w.Write(path, data); err != nil {
			return err
		}
		f.files++
	}
	return nil
}

// writeMedia writes the media that a text shows or leads to, each once. One that is gone has no file, and
// links to it stay as they are.
func (f *filler) writeMedia(ctx context.Context, text string) error {
	for _, id := range markdown.MediaIn(text) {
		if f.forbidden != nil {
			return f.forbidden
		}
		path, known := f.export.MediumPath(id)
		if !known || f.done[path] {
			continue
		}
		err := f.w.WriteFrom(path, func(to io.Writer) error { return f.api.Media.Download(ctx, id, to) })
		switch {
		case errors.Is(err, client.ErrNotFound):
			f.export.Forget(id)
		case err != nil:
			return err
		default:
			f.done[path] = true
			f.media++
		}
	}
	return nil
}
