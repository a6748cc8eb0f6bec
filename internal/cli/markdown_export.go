package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"sheaf.dev/client"
	"sheaf.dev/internal/markdown"
)

type exportMarkdown struct {
	apiCommand
	Dir    string `arg:"" help:"Folder to create; it may exist if it is empty."`
	Source string `placeholder:"NAME" help:"Only the documents that were imported from this source."`

	Project  string `placeholder:"ID|NAME|none" complete:"projects" help:"Only this project, as a tree that import-markdown --as-project reads. Its top level is written to the root of the folder."`
	Versions string `placeholder:"FILE" help:"Write the document and the version of each file here, for import-markdown --propose --versions."`

	Release string `placeholder:"ID|NAME" complete:"releases" help:"The documents of a project as this release has them. To name it by its name, name the project with --project."`
}

// Run writes a folder, completely or not at all.
func (c *exportMarkdown) Run(ctx context.Context, p *Program) error {
	return c.callWith(ctx, p, manyRetries, func(ctx context.Context, api *client.Client) error {
		named := c.in(projects, &c.Project)
		if c.Release != "" {
			named = named.on(releasesOf(&c.Project), &c.Release)
		}
		if err := named.resolve(ctx, api); err != nil {
			return err
		}
		f, err := c.filler(ctx, api)
		if err != nil {
			return err
		}
		defer f.close()
		if f.w, err = markdown.NewWriter(c.Dir); err != nil {
			return err
		}
		if err := f.fill(ctx); err != nil {
			return errors.Join(err, f.w.Abort())
		}
		if err := errors.Join(f.w.Finish(), c.writeVersions(f)); err != nil {
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

// writeVersions writes the file of --versions. It is written as a whole or not at all.
func (c *exportMarkdown) writeVersions(f *filler) error {
	if c.Versions == "" {
		return nil
	}
	data, err := json.MarshalIndent(f.versions, "", " ") // a line for each value, for differences
	if err != nil {
		return err
	}
	next := c.Versions + ".new"
	if err := os.WriteFile(next, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, c.Versions)
}

// filler reads where the documents and media are written, without their texts and bytes.
func (c *exportMarkdown) filler(ctx context.Context, api *client.Client) (*filler, error) {
	if c.Release != "" {
		if c.Versions != "" {
			return nil, errors.New("--versions is for documents as they are now: leave out --release")
		}
		return c.releaseFiller(ctx, api)
	}
	places, documents, err := c.layout(ctx, api)
	if err != nil {
		return nil, err
	}
	media, forbidden := serverMedia(ctx, api, true)
	if forbidden != nil && !errors.Is(forbidden, client.ErrForbidden) {
		return nil, forbidden
	}
	export := markdown.NewExport(places, markdown.MediaPaths(places.Paths, documents, media))
	return &filler{export: export, versions: export.NewBaseline(), forbidden: forbidden, done: map[string]bool{},
		page: func(ctx context.Context, id string) (markdown.Document, error) {
			d, err := api.Documents.Get(ctx, id)
			page := markdownDocument(d)
			page.Content = or(d.Content, "")
			return page, err
		},
		medium: func(ctx context.Context, id string, to io.Writer) error { return api.Media.Download(ctx, id, to) },
		close:  func() error { return nil }}, nil
}

// errNothingToExport is the error for flags that no document matches.
var errNothingToExport = errors.New("there is no document to export: check --project and --source, or create a document first")

// chosen reports whether the document is of the source to export.
func (c *exportMarkdown) chosen(d markdown.Document) bool {
	source, _, ok := markdown.Origin(d.ExternalID, d.Metadata)
	return c.Source == "" || ok && source == c.Source
}

// layout reads the workspace without the texts, and returns the documents of the project or the
// source, or all, with their places.
func (c *exportMarkdown) layout(ctx context.Context, api *client.Client) (places markdown.Places, documents []markdown.Document, err error) {
	all, err := serverDocuments(ctx, api, place(c.Project))
	if err != nil {
		return places, nil, err
	}
	for _, d := range all {
		if c.chosen(d) {
			documents = append(documents, d)
		}
	}
	if len(documents) == 0 {
		return places, nil, errNothingToExport
	}
	if c.Project != "" {
		return markdown.LayoutProject(documents), documents, nil
	}
	var folders []markdown.Folder
	for f, err := range api.Folders.All(ctx, client.FolderFilter{EntityType: client.ProjectFolder, Sort: "created_at"}) {
		if err != nil {
			return places, nil, err
		}
		folders = append(folders, markdown.Folder{ID: f.ID, ParentID: or(f.ParentID, ""), Name: f.Name, ExternalID: or(f.ExternalID, ""), Depth: f.Depth})
	}
	var projects []markdown.Project
	for v, err := range api.Projects.All(ctx, client.ProjectFilter{Sort: "created_at"}) {
		if err != nil {
			return places, nil, err
		}
		projects = append(projects, markdown.Project{ID: v.ID, FolderID: or(v.FolderID, ""), Name: v.Name, ExternalID: or(v.ExternalID, "")})
	}
	return markdown.Layout(folders, projects, documents), documents, nil
}

// filler writes the files of documents, and of the media that they show or link to.
type filler struct {
	w        *markdown.Writer
	export   *markdown.Export
	versions *markdown.Baseline // nil: of a release
	// page returns a document with its text, and medium writes the bytes of a medium. Both return
	// client.ErrNotFound for what was deleted meanwhile. close releases what they use.
	page   func(ctx context.Context, id string) (markdown.Document, error)
	medium func(ctx context.Context, id string, to io.Writer) error
	close  func() error
	// forbidden is the error if the key may not read media, otherwise nil. It matters only if a
	// text uses a medium.
	forbidden error
	done      map[string]bool // paths of media that were written

	files, media int
}

// fill writes the files of all documents. It reads one document at a time, and skips one that was
// deleted meanwhile.
func (f *filler) fill(ctx context.Context) error {
	for _, id := range f.export.IDs() {
		page, err := f.page(ctx, id)
		if errors.Is(err, client.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if err := f.writeMedia(ctx, page.Content); err != nil {
			return err
		}
		path, data := f.export.File(id, page.Page)
		if err := f.w.Write(path, data); err != nil {
			return err
		}
		if f.versions != nil {
			f.versions.Add(path, page, data)
		}
		f.files++
	}
	return nil
}

// writeMedia writes the media that a text shows or links to, each once. A medium that was deleted
// gets no file, and links to it stay unchanged.
func (f *filler) writeMedia(ctx context.Context, text string) error {
	for _, id := range markdown.MediaIn(text) {
		if f.forbidden != nil {
			return f.forbidden
		}
		path, known := f.export.MediumPath(id)
		if !known || f.done[path] {
			continue
		}
		err := f.w.WriteFrom(path, func(to io.Writer) error { return f.medium(ctx, id, to) })
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
