package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"sheaf.dev/client"
	"sheaf.dev/internal/markdown"
	"sheaf.dev/internal/sheaf"
)

// importer carries out a plan, one request at a time: the server's rate limit is the pace, and the
// targets of links are made first, after the documents above them. If it is interrupted, another run continues.
type importer struct {
	api *client.Client
	lib *markdown.Library
	// The ids of the server's records, by external id. Folders and projects are read when one is
	// needed.
	documents, folders, projects map[string]string
	media                        markdown.KnownMedia
	into                         into
	baseline                     *markdown.Baseline // of --versions; nil without it
}

// into is the folder of the server below which an import makes folders and projects. The zero value is
// the root level.
type into struct {
	id, name string
	depth    int // 1 to 3; 0 for the root level
}

// folderInto reads the folder that --into names. It returns an error unless the folder contains projects.
func folderInto(ctx context.Context, api *client.Client, id string) (into, error) {
	if id == "" || isRoot(id) {
		return into{}, nil
	}
	f, err := api.Folders.Get(ctx, id)
	if err != nil {
		return into{}, err
	}
	if f.EntityType != client.ProjectFolder {
		return into{}, sheaf.Invalidf("--into must be a folder of projects; %q has brandings", sheaf.Clip(f.Name))
	}
	return into{f.ID, f.Name, f.Depth}, nil
}

func newImporter(api *client.Client, lib *markdown.Library, have []markdown.Document, media markdown.KnownMedia, below into) *importer {
	m := &importer{api: api, lib: lib, documents: map[string]string{}, media: media, into: below}
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
			return fileError(f.Path, err)
		}
	}
	for _, d := range plan.Detach {
		if _, err := m.api.Documents.Update(ctx, d.ID, client.DocumentChange{ParentID: client.Null[string]()}); err != nil {
			return fileError(d.Title, err)
		}
	}
	again, err := m.place(ctx, plan.Place)
	if err != nil {
		return err
	}
	for _, u := range plan.Update {
		if err := m.update(ctx, u.Entry, u.Fields); err != nil {
			return fileError(u.Path, err)
		}
	}
	for _, e := range again {
		if err := m.update(ctx, e, []string{"content"}); err != nil {
			return fileError(e.Path, err)
		}
	}
	for _, d := range plan.Trash {
		if err := m.api.Documents.Delete(ctx, d.ID); err != nil {
			return fileError(d.Title, err)
		}
	}
	return nil
}

// upload makes a medium of a file. If the file has changed since it was checked, upload deletes the
// medium and fails.
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

// send uploads a file: in one request, or a long one in several.
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

// sendLong copies the content into a temporary file first, because a piece may have to be sent
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

// place creates and moves documents. It returns those that link to a document that had no id yet.
func (m *importer) place(ctx context.Context, changes []markdown.Change) (again []*markdown.Entry, err error) {
	if len(changes) == 0 {
		return nil, nil
	}
	if err := m.known(ctx); err != nil {
		return nil, err
	}
	for _, c := range changes {
		whole := true
		if c.Document.ID == "" {
			whole, err = m.put(ctx, c.Entry)
		} else {
			err = m.move(ctx, c.Entry)
		}
		if err != nil {
			return nil, fileError(c.Path, err)
		}
		if !whole {
			again = append(again, c.Entry)
		}
	}
	return again, nil
}

// known reads the ids of the source's folders and projects.
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

// put makes one document, or restores it from the trash. It returns whether the ids for all its
// links were known.
func (m *importer) put(ctx context.Context, e *markdown.Entry) (whole bool, err error) {
	place, err := m.placeOf(ctx, e)
	if err != nil {
		return false, err
	}
	text, whole, err := m.lib.Content(e, m.id, m.media)
	if err != nil {
		return false, err
	}
	change := m.change(e, []string{"title", "description", "url", "metadata"})
	change.ProjectID, change.ParentID, change.SortOrder, change.Content = place.ProjectID, place.ParentID, place.SortOrder, client.Set(text)
	d, err := m.api.Documents.Put(ctx, e.ExternalID, change)
	if err != nil {
		return false, err
	}
	m.documents[e.ExternalID] = d.ID
	return whole, nil
}

// move puts an existing document in its place.
func (m *importer) move(ctx context.Context, e *markdown.Entry) error {
	place, err := m.placeOf(ctx, e)
	if err != nil {
		return err
	}
	_, err = m.api.Documents.Put(ctx, e.ExternalID, place)
	return err
}

// placeOf returns the fields for the place of an entry. It makes the project if that does not exist.
func (m *importer) placeOf(ctx context.Context, e *markdown.Entry) (c client.DocumentChange, err error) {
	project, err := m.project(ctx, m.above(e))
	if err != nil {
		return c, err
	}
	if c.ProjectID = client.Set(project); m.lib.AsProject {
		c.ParentID, c.SortOrder = client.Null[string](), client.Set(e.SortOrder)
	}
	if e.Parent != nil {
		c.ParentID = client.Set(m.documents[e.Parent.ExternalID])
	}
	return c, nil
}

// above returns the folders and the project of an entry.
func (m *importer) above(e *markdown.Entry) markdown.Place {
	folder := e.Folder()
	if m.lib.AsProject {
		folder = ""
	}
	return markdown.PlaceOf(folder, m.lib.Source, m.into.depth)
}

// newPlace returns where a new document will be, with the names of the folders and the project. It
// returns "" if the project exists already, because that may be anywhere.
func (m *importer) newPlace(e *markdown.Entry) string {
	place := m.above(e)
	if _, ok := m.projects[markdown.ExternalID(m.lib.Source, place.Project.Path)]; ok {
		return ""
	}
	names := []string{m.into.name}
	for _, dir := range place.Folders {
		names = append(names, dir.Name)
	}
	return strings.Join(append(names, place.Project.Name), " / ")
}

func (m *importer) id(e *markdown.Entry) (string, bool) {
	id, ok := m.documents[e.ExternalID]
	return id, ok
}

// update sends the fields of a document that differ, except those of its place.
func (m *importer) update(ctx context.Context, e *markdown.Entry, fields []string) error {
	fields = slices.DeleteFunc(slices.Clone(fields), func(f string) bool { return f == "project_id" || f == "parent_id" || f == "sort_order" })
	if len(fields) == 0 {
		return nil
	}
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

// change returns a change of these fields to the values in the file's front matter. A field that
// the front matter lacks is cleared.
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
			metadata := m.lib.Metadata(e, m.media)
			if c.Metadata = client.Null[map[string]*string](); len(metadata) > 0 { // Put replaces all of it
				values := make(map[string]*string, len(metadata))
				for name, value := range metadata {
					values[name] = &value
				}
				c.Metadata = client.Set(values)
			}
		}
	}
	return c
}

// project returns the id of the project of a place. It makes the project and its folders if they do
// not exist, and neither moves nor renames existing ones.
func (m *importer) project(ctx context.Context, place markdown.Place) (id string, err error) {
	externalID := markdown.ExternalID(m.lib.Source, place.Project.Path)
	if id, ok := m.projects[externalID]; ok {
		return id, nil
	}
	parent := m.into.id
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
