package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"sheaf.dev/client"
	"sheaf.dev/internal/markdown"
	"sheaf.dev/internal/sheaf"
)

// importer brings what a plan says to a server, one request after the other: the server's limit is
// the pace, and what links lead to is made first. Whatever interrupts it, another run goes on.
type importer struct {
	api *client.Client
	lib *markdown.Library
	// The ids of what is there, by external id. Folders and projects are asked for when one is
	// needed.
	documents, folders, projects map[string]string
	media                        markdown.KnownMedia
}

func newImporter(api *client.Client, lib *markdown.Library, have []markdown.Document, media markdown.KnownMedia) *importer {
	m := &importer{api: api, lib: lib, documents: map[string]string{}, media: media}
	for _, d := range have {
		if d.ExternalID != "" {
			m.documents[d.ExternalID] = d.ID
		}
	}
	return m
}

func (m *importer) run(ctx context.Context, plan markdown.Plan) error {
	for _, f := range plan.Upload {
		if err := m.upload(ctx, f); err != nil {
			return of(f.Path, err)
		}
	}
	again, err := m.create(ctx, plan.Create)
	if err != nil {
		return err
	}
	for _, u := range plan.Update {
		if err := m.update(ctx, u.Entry, u.Fields); err != nil {
			return of(u.Path, err)
		}
	}
	for _, e := range again {
		if err := m.update(ctx, e, []string{"content"}); err != nil {
			return of(e.Path, err)
		}
	}
	for _, d := range plan.Trash {
		if err := m.api.Documents.Delete(ctx, d.ID); err != nil {
			return of(d.Title, err)
		}
	}
	return nil
}

// upload makes a medium of a file. What is stored must be what was judged.
func (m *importer) upload(ctx context.Context, f *markdown.File) error {
	in := client.NewMedium{Filename: f.Name}
	medium, err := m.send(ctx, in, f)
	if err != nil {
		return err
	}
	if medium.SHA256 != f.SHA256 {
		return errors.Join(errors.New("it has changed meanwhile: import again"), m.api.Media.Delete(ctx, medium.ID))
	}
	m.media.Add(f, medium.ID)
	return nil
}

// send uploads a file in one request, or a long one in several.
func (m *importer) send(ctx context.Context, in client.NewMedium, f *markdown.File) (client.Medium, error) {
	r, err := m.lib.OpenFile(f)
	if err != nil {
		return client.Medium{}, err
	}
	defer r.Close()
	if f.Bytes > sheaf.MaxUpload {
		return m.sendLong(ctx, in, f, r)
	}
	content, err := io.ReadAll(io.LimitReader(r, sheaf.MaxUpload))
	if err != nil {
		return client.Medium{}, err
	}
	return m.api.Media.Upload(ctx, in, content)
}

// sendLong writes a file of an archive out first, into one without a name: a piece may have to be sent
// again.
func (m *importer) sendLong(ctx context.Context, in client.NewMedium, f *markdown.File, r io.Reader) (client.Medium, error) {
	spool, err := os.CreateTemp("", "sheaf-medium-*")
	if err != nil {
		return client.Medium{}, err
	}
	defer spool.Close()
	if err := os.Remove(spool.Name()); err != nil {
		return client.Medium{}, err
	}
	n, err := io.Copy(spool, io.LimitReader(r, f.Bytes))
	if err != nil {
		return client.Medium{}, err
	}
	return m.api.Media.UploadFrom(ctx, in, spool, n)
}

// create makes documents, and returns those that link to one which had no id yet.
func (m *importer) create(ctx context.Context, entries []*markdown.Entry) (again []*markdown.Entry, err error) {
	if len(entries) == 0 {
		return nil, nil
	}
	if err := m.known(ctx); err != nil {
		return nil, err
	}
	for _, e := range entries {
		whole, err := m.put(ctx, e)
		if err != nil {
			return nil, of(e.Path, err)
		}
		if !whole {
			again = append(again, e)
		}
	}
	return again, nil
}

// known reads which folders and projects of the source are there.
func (m *importer) known(ctx context.Context) error {
	m.folders, m.projects = map[string]string{}, map[string]string{}
	for f, err := range m.api.Folders.All(ctx, client.FolderFilter{EntityType: client.ProjectFolder}) {
		if err != nil {
			return err
		}
		m.note(m.folders, f.ExternalID, f.ID)
	}
	for p, err := range m.api.Projects.All(ctx, client.ProjectFilter{}) {
		if err != nil {
			return err
		}
		m.note(m.projects, p.ExternalID, p.ID)
	}
	return nil
}

func (m *importer) note(ids map[string]string, externalID *string, id string) {
	if strings.HasPrefix(or(externalID, ""), m.lib.Source+":") {
		ids[*externalID] = id
	}
}

// put makes one document, or brings it back from the trash, and reports whether all its links are
// right.
func (m *importer) put(ctx context.Context, e *markdown.Entry) (whole bool, err error) {
	project, err := m.project(ctx, markdown.PlaceOf(e.Folder(), m.lib.Source))
	if err != nil {
		return false, err
	}
	text, whole, err := m.lib.Content(e, m.id, m.media)
	if err != nil {
		return false, err
	}
	change := m.change(e, []string{"title", "description", "url", "metadata"})
	change.ProjectID, change.Content = client.Set(project), client.Set(text)
	d, err := m.api.Documents.Put(ctx, e.ExternalID, change)
	if err != nil {
		return false, err
	}
	m.documents[e.ExternalID] = d.ID
	return whole, nil
}

func (m *importer) id(e *markdown.Entry) (string, bool) {
	id, ok := m.documents[e.ExternalID]
	return id, ok
}

// update sends the fields of a document that differ.
func (m *importer) update(ctx context.Context, e *markdown.Entry, fields []string) error {
	change := m.change(e, fields)
	for _, name := range fields {
		if name == "content" {
			text, _, err := m.lib.Content(e, m.id, m.media)
			if err != nil {
				return err
			}
			change.Content = client.Set(text)
		}
	}
	_, err := m.api.Documents.Put(ctx, e.ExternalID, change)
	return err
}

// change has the fields that a file's front matter gives; those that it lacks are cleared.
func (m *importer) change(e *markdown.Entry, fields []string) (c client.DocumentChange) {
	for _, name := range fields {
		switch name {
		case "title":
			c.Title = client.Set(e.Title)
		case "description":
			c.Description = change(&e.Description)
		case "url":
			c.URL = change(&e.URL)
		case "metadata":
			c.Metadata = wholeMetadata(m.lib.Metadata(e, m.media))
		}
	}
	return c
}

// wholeMetadata is all that a document is to have, which Put takes as a whole.
func wholeMetadata(m map[string]string) client.Opt[map[string]*string] {
	if len(m) == 0 {
		return client.Null[map[string]*string]()
	}
	out := make(map[string]*string, len(m))
	for name, value := range m {
		out[name] = &value
	}
	return client.Set(out)
}

// project finds or makes the project of a place and the folders that it is in. What is there stays
// where it is and is called what it is called.
func (m *importer) project(ctx context.Context, place markdown.Place) (id string, err error) {
	externalID := markdown.ExternalID(m.lib.Source, place.Project.Path)
	if id, ok := m.projects[externalID]; ok {
		return id, nil
	}
	parent := ""
	for _, dir := range place.Folders {
		if parent, err = m.folder(ctx, dir, parent); err != nil {
			return "", err
		}
	}
	p, err := m.api.Projects.Put(ctx, externalID, client.ProjectChange{Name: client.Set(place.Project.Name), FolderID: change(&parent)})
	if err != nil {
		return "", err
	}
	m.projects[externalID] = p.ID
	return p.ID, nil
}

func (m *importer) folder(ctx context.Context, dir markdown.Dir, parent string) (string, error) {
	externalID := markdown.ExternalID(m.lib.Source, dir.Path)
	if id, ok := m.folders[externalID]; ok {
		return id, nil
	}
	f, err := m.api.Folders.Put(ctx, externalID, client.FolderPut{
		FolderChange: client.FolderChange{Name: client.Set(dir.Name)}, EntityType: client.ProjectFolder, ParentID: change(&parent)})
	if err != nil {
		return "", err
	}
	m.folders[externalID] = f.ID
	return f.ID, nil
}
