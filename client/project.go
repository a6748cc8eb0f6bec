package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Project groups documents.
type Project struct {
	Received
	ID            string            `json:"id"`
	Name          string            `json:"name"`
	Description   *string           `json:"description"`
	Icon          *string           `json:"icon"`
	Color         *string           `json:"color"`
	FolderID      *string           `json:"folder_id"` // nil: at the root level
	SortOrder     int32             `json:"sort_order"`
	Visibility    string            `json:"visibility"`  // private
	ExternalID    *string           `json:"external_id"` // id of the record in another system
	URL           *string           `json:"url"`         // address of the record in another system
	Metadata      map[string]string `json:"metadata"`    // nil: none
	Review        *Review           `json:"review"`      // nil: its documents change without review
	DocumentCount int               `json:"document_count"`
	CreatedAt     time.Time         `json:"created_at"`
	UpdatedAt     time.Time         `json:"updated_at"`
	// Documents are those changed last, at most 100, without their ProjectID. They are in the
	// answer of Get alone.
	Documents []Document `json:"documents"`
}

// Review says how many approvals a change of the project's documents needs.
type Review struct {
	Approvals int `json:"approvals"` // of other people, 1 to 3
}

// NewProject is a project to create; empty fields are left out.
type NewProject struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Icon        string            `json:"icon,omitempty"`
	Color       string            `json:"color,omitempty"`     // #RRGGBB
	FolderID    string            `json:"folder_id,omitempty"` // empty: at the root level
	SortOrder   int32             `json:"sort_order,omitempty"`
	Visibility  string            `json:"visibility,omitempty"`
	ExternalID  string            `json:"external_id,omitempty"`
	URL         string            `json:"url,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Review      *Review           `json:"review,omitempty"` // needs the scope projects:admin
}

// ProjectChange are the fields to change; those that are left out stay as they are. [Null] clears a
// description, icon or color, and moves the project to the root level as FolderID.
type ProjectChange struct {
	Name        Opt[string] `json:"name,omitzero"`
	Description Opt[string] `json:"description,omitzero"`
	Icon        Opt[string] `json:"icon,omitzero"`
	Color       Opt[string] `json:"color,omitzero"`
	FolderID    Opt[string] `json:"folder_id,omitzero"`
	SortOrder   Opt[int32]  `json:"sort_order,omitzero"`
	Visibility  Opt[string] `json:"visibility,omitzero"`
	ExternalID  Opt[string] `json:"external_id,omitzero"`
	URL         Opt[string] `json:"url,omitzero"`
	Review      Opt[Review] `json:"review,omitzero"` // needs the scope projects:admin; Null: no review
	// Metadata is merged by Update: names that are left out stay, and a value of nil removes one. Put
	// takes it as a whole.
	Metadata Opt[map[string]*string] `json:"metadata,omitzero"`
}

// ProjectFilter narrows a list of projects.
type ProjectFilter struct {
	FolderID     string    // the folder that they are directly in; None: the root level
	Query        string    // text in name or description
	ExternalID   string    // only the record with this external id
	UpdatedSince time.Time // changed last at this time or later; zero: any
	Sort         string    // sort_order, name, created_at or updated_at
	Paging
}

func (f ProjectFilter) values() url.Values {
	q := f.Paging.values()
	set(q, "folder_id", f.FolderID)
	set(q, "q", f.Query)
	setReferences(q, f.ExternalID, f.UpdatedSince)
	set(q, "sort", f.Sort)
	return q
}

// Projects are the operations on projects. Reading needs the scope projects:read, all others
// projects:write.
type Projects struct{ c *Client }

const projectsPath = "/api/v1/projects"

// List returns one page.
func (s Projects) List(ctx context.Context, f ProjectFilter, opts ...Option) (Page[Project], error) {
	return list[Project](ctx, s.c, projectsPath, f.values(), opts)
}

// All returns every project that matches, page after page; after an error it ends. Changes made
// meanwhile may let it miss or repeat some.
func (s Projects) All(ctx context.Context, f ProjectFilter, opts ...Option) iter.Seq2[Project, error] {
	return all(f.Paging, func(p Paging) (Page[Project], error) {
		f.Paging = p
		return s.List(ctx, f, opts...)
	})
}

// Get returns one project, with its documents.
func (s Projects) Get(ctx context.Context, id string, opts ...Option) (Project, error) {
	return send[Project](ctx, s.c, request{method: http.MethodGet, path: projectsPath + "/" + escape(id)}, opts)
}

// Create creates a project. If the folder does not exist, it returns ErrNotFound.
func (s Projects) Create(ctx context.Context, in NewProject, opts ...Option) (Project, error) {
	return send[Project](ctx, s.c, request{method: http.MethodPost, path: projectsPath, body: in}, opts)
}

// Update changes the fields that are set, and returns the whole project.
func (s Projects) Update(ctx context.Context, id string, change ProjectChange, opts ...Option) (Project, error) {
	return send[Project](ctx, s.c, request{method: http.MethodPatch, path: projectsPath + "/" + escape(id), body: change}, opts)
}

// Put changes the project of that external id, or makes it where there is none, for which a name is
// needed. The same again changes nothing, so it may be repeated.
func (s Projects) Put(ctx context.Context, externalID string, change ProjectChange, opts ...Option) (Project, error) {
	return send[Project](ctx, s.c, putRequest(projectsPath, externalID, change), opts)
}

// Delete removes the project for ever. Its documents stay, in no project.
func (s Projects) Delete(ctx context.Context, id string, opts ...Option) error {
	return s.c.exec(ctx, request{method: http.MethodDelete, path: projectsPath + "/" + escape(id)}, opts)
}

// Move puts the project into a folder, or with an empty id at the root level.
func (s Projects) Move(ctx context.Context, id, folderID string, opts ...Option) (Project, error) {
	return send[Project](ctx, s.c, request{method: http.MethodPost, path: projectsPath + "/" + escape(id) + "/move",
		body: map[string]any{"folder_id": nullable(folderID)}}, opts)
}

// DocumentTree has all documents of a project in reading order: each is followed by the documents below it.
type DocumentTree struct {
	Received
	Data  []TreeEntry `json:"data"`
	Total int         `json:"total"`
}

// TreeEntry is a document in the tree of its project.
type TreeEntry struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	ParentID  *string   `json:"parent_id"` // nil: at the top level
	Depth     int       `json:"depth"`     // 1 to 5
	SortOrder int64     `json:"sort_order"`
	Children  int       `json:"children"` // number of documents directly below it
	Version   int64     `json:"version"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Tree returns all documents of a project in reading order. It needs the scopes projects:read and
// documents:read. For a project with more than 10,000 documents it returns ErrValidation: list the documents
// by ParentID there, with Sort "sort_order".
func (s Projects) Tree(ctx context.Context, id string, opts ...Option) (DocumentTree, error) {
	return send[DocumentTree](ctx, s.c, request{method: http.MethodGet, path: projectsPath + "/" + escape(id) + "/tree"}, opts)
}

// putRequest writes the record of an external id.
func putRequest(path, externalID string, body any) request {
	return request{method: http.MethodPut, path: path, query: url.Values{"external_id": {externalID}}, body: body}
}

// setReferences adds the filters of an external id and of a time.
func setReferences(q url.Values, externalID string, since time.Time) {
	set(q, "external_id", externalID)
	if !since.IsZero() {
		q.Set("updated_since", since.UTC().Format(time.RFC3339Nano))
	}
}

// nullable is null when the id is empty.
func nullable(id string) any {
	if id == "" {
		return nil
	}
	return id
}
