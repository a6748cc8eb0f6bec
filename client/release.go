package client

import (
	"context"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Release is the state of a project's documents at one moment, under a name.
type Release struct {
	Received
	ID        string    `json:"id"`
	ProjectID string    `json:"project_id"`
	Name      string    `json:"name"`      // unique in the project
	Notes     *string   `json:"notes"`     // Markdown; nil: none
	Documents int       `json:"documents"` // the number of its documents
	UserID    string    `json:"user_id"`
	KeyID     *string   `json:"key_id"` // nil: the console
	CreatedAt time.Time `json:"created_at"`
}

// NewRelease is a release to make.
type NewRelease struct {
	Name  string `json:"name"`            // such as 1.0
	Notes string `json:"notes,omitempty"` // Markdown
}

// ReleaseChange has the fields of a release that can change. [Null] removes the notes.
type ReleaseChange struct {
	Notes Opt[string] `json:"notes,omitzero"`
}

// ReleaseFilter narrows a list of releases.
type ReleaseFilter struct {
	Name string // only the release of this name
	Paging
}

func (f ReleaseFilter) values() url.Values {
	q := f.Paging.values()
	set(q, "name", f.Name)
	return q
}

// NewestRelease is the Release of a share that shows the newest release of its project.
const NewestRelease = "newest"

// Present names the documents of a project as they are now, in Releases.Diff.
const Present = "present"

// DocumentName is a document in a [ReleaseDiff].
type DocumentName struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// ReleaseDiff is what differs between a release and a later state of its project.
type ReleaseDiff struct {
	Received
	Added   []DocumentName `json:"added"`
	Removed []DocumentName `json:"removed"`
	Changed []DocumentName `json:"changed"` // with another title, text or other field
	Moved   []DocumentName `json:"moved"`   // below another document, or in another order
}

// Releases are the operations on releases. Reading releases needs the scope releases:read. Making, changing
// and deleting them needs releases:write. Reading the documents of a release also needs documents:read, and
// reading its media needs documents:read and media:read.
type Releases struct{ c *Client }

func releasesPath(project string) string { return projectsPath + "/" + escape(project) + "/releases" }

func releasePath(id, part string) string { return "/api/v1/releases/" + escape(id) + part }

func releasedPath(id, document, part string) string {
	return releasePath(id, "/documents/"+escape(document)+part)
}

// List returns one page of the releases of a project, oldest first.
func (s Releases) List(ctx context.Context, project string, f ReleaseFilter, opts ...Option) (Page[Release], error) {
	return list[Release](ctx, s.c, releasesPath(project), f.values(), opts)
}

// All returns every release of a project that matches, as Projects.All does.
func (s Releases) All(ctx context.Context, project string, f ReleaseFilter, opts ...Option) iter.Seq2[Release, error] {
	return all(f.Paging, func(p Paging) (Page[Release], error) {
		f.Paging = p
		return s.List(ctx, project, f, opts...)
	})
}

// Get returns one release.
func (s Releases) Get(ctx context.Context, id string, opts ...Option) (Release, error) {
	return send[Release](ctx, s.c, request{method: http.MethodGet, path: releasePath(id, "")}, opts)
}

// Create freezes the documents of a project under a name. If another release of the project has the name,
// it returns ErrConflict. If the project has 100 releases, it returns ErrReleaseLimit.
func (s Releases) Create(ctx context.Context, project string, in NewRelease, opts ...Option) (Release, error) {
	return send[Release](ctx, s.c, request{method: http.MethodPost, path: releasesPath(project), body: in}, opts)
}

// Update changes the notes of a release. Nothing else of it can change.
func (s Releases) Update(ctx context.Context, id string, change ReleaseChange, opts ...Option) (Release, error) {
	return send[Release](ctx, s.c, request{method: http.MethodPatch, path: releasePath(id, ""), body: change}, opts)
}

// Delete deletes a release. If a share names it, Delete returns ErrConflict.
func (s Releases) Delete(ctx context.Context, id string, opts ...Option) error {
	return s.c.exec(ctx, request{method: http.MethodDelete, path: releasePath(id, "")}, opts)
}

// Tree returns all documents of a release in reading order.
func (s Releases) Tree(ctx context.Context, id string, opts ...Option) (DocumentTree, error) {
	return send[DocumentTree](ctx, s.c, request{method: http.MethodGet, path: releasePath(id, "/tree")}, opts)
}

// Diff returns what differs between a release and `to`: the id of another release of its project, or
// [Present], which an empty text means too.
func (s Releases) Diff(ctx context.Context, id, to string, opts ...Option) (ReleaseDiff, error) {
	r := request{method: http.MethodGet, path: releasePath(id, "/diff"), query: url.Values{}}
	set(r.query, "to", to)
	return send[ReleaseDiff](ctx, s.c, r, opts)
}

// Document returns a document as the release has it, with its text.
func (s Releases) Document(ctx context.Context, id, document string, opts ...Option) (Document, error) {
	return send[Document](ctx, s.c, request{method: http.MethodGet, path: releasedPath(id, document, "")}, opts)
}

// Content returns the text of a document as the release has it, in Markdown.
func (s Releases) Content(ctx context.Context, id, document string, opts ...Option) (string, error) {
	return s.content(ctx, id, document, nil, opts)
}

// HTML returns the text of a document of the release as HTML, as Documents.HTML does.
func (s Releases) HTML(ctx context.Context, id, document string, opts ...Option) (string, error) {
	return s.content(ctx, id, document, url.Values{"format": {"html"}}, opts)
}

func (s Releases) content(ctx context.Context, id, document string, query url.Values, opts []Option) (string, error) {
	res, err := s.c.do(ctx, request{method: http.MethodGet, path: releasedPath(id, document, "/content"), query: query}, opts)
	if err != nil {
		return "", err
	}
	return string(res.body), nil
}

// ReleasedMedium has what a release keeps of a medium, except its bytes.
type ReleasedMedium struct {
	Filename string
	SHA256   string // in hexadecimal digits
}

// Medium returns the name and the hash of a medium that a text of the release names. They exist even if
// the medium itself was deleted since.
func (s Releases) Medium(ctx context.Context, id, medium string, opts ...Option) (ReleasedMedium, error) {
	first := func(r *request) { r.header.Set("Range", "bytes=0-0") } // the headers have both, and no medium is empty
	res, err := s.c.do(ctx, request{method: http.MethodGet, path: releasedMediumPath(id, medium)}, append(opts[:len(opts):len(opts)], first))
	if err != nil {
		return ReleasedMedium{}, err
	}
	_, params, err := mime.ParseMediaType(res.header.Get("Content-Disposition"))
	if err != nil {
		return ReleasedMedium{}, s.c.unreadable(err)
	}
	return ReleasedMedium{Filename: params["filename"], SHA256: strings.Trim(res.header.Get("Etag"), `"`)}, nil
}

// DownloadMedium writes the bytes of a medium that a text of the release names to w, as Media.Download does.
func (s Releases) DownloadMedium(ctx context.Context, id, medium string, w io.Writer, opts ...Option) error {
	return Media(s).download(ctx, releasedMediumPath(id, medium), w, opts)
}

func releasedMediumPath(id, medium string) string {
	return releasePath(id, "/media/"+escape(medium)+"/content")
}
