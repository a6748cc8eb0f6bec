package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Document is what projects group.
type Document struct {
	Received
	ID          string    `json:"id"`
	Title       string    `json:"title"`
	Description *string   `json:"description"`
	ProjectID   *string   `json:"project_id"` // nil: in no project
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

// NewDocument is a document to create; empty fields are left out.
type NewDocument struct {
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	ProjectID   string `json:"project_id,omitempty"`
}

// DocumentChange are the fields to change; those that are left out stay as they are. [Null] clears
// a description, and takes the document out of its project as ProjectID.
type DocumentChange struct {
	Title       Opt[string] `json:"title,omitzero"`
	Description Opt[string] `json:"description,omitzero"`
	ProjectID   Opt[string] `json:"project_id,omitzero"`
}

// DocumentFilter narrows a list of documents.
type DocumentFilter struct {
	ProjectID string // None: in no project
	Query     string // text in title or description
	Sort      string // created_at, updated_at or title
	Paging
}

func (f DocumentFilter) values() url.Values {
	q := f.Paging.values()
	set(q, "project_id", f.ProjectID)
	set(q, "q", f.Query)
	set(q, "sort", f.Sort)
	return q
}

// Documents are the operations on documents. Reading needs the scope documents:read, all others
// documents:write.
type Documents struct{ c *Client }

const documentsPath = "/api/v1/documents"

// List returns one page.
func (s Documents) List(ctx context.Context, f DocumentFilter, opts ...Option) (Page[Document], error) {
	return list[Document](ctx, s.c, documentsPath, f.values(), opts)
}

// All returns every document that matches, as Projects.All does.
func (s Documents) All(ctx context.Context, f DocumentFilter, opts ...Option) iter.Seq2[Document, error] {
	return all(f.Paging, func(p Paging) (Page[Document], error) {
		f.Paging = p
		return s.List(ctx, f, opts...)
	})
}

// Get returns one document.
func (s Documents) Get(ctx context.Context, id string, opts ...Option) (Document, error) {
	return send[Document](ctx, s.c, request{method: http.MethodGet, path: documentsPath + "/" + escape(id)}, opts)
}

// Create makes a document.
func (s Documents) Create(ctx context.Context, in NewDocument, opts ...Option) (Document, error) {
	return send[Document](ctx, s.c, request{method: http.MethodPost, path: documentsPath, body: in}, opts)
}

// Update changes the fields that are set, and returns the whole document.
func (s Documents) Update(ctx context.Context, id string, change DocumentChange, opts ...Option) (Document, error) {
	return send[Document](ctx, s.c, request{method: http.MethodPatch, path: documentsPath + "/" + escape(id), body: change}, opts)
}

// Delete removes the document from every list; Restore brings it back.
func (s Documents) Delete(ctx context.Context, id string, opts ...Option) error {
	return s.c.exec(ctx, request{method: http.MethodDelete, path: documentsPath + "/" + escape(id)}, opts)
}

// Restore brings a deleted document back, in no project if its own is gone.
func (s Documents) Restore(ctx context.Context, id string, opts ...Option) (Document, error) {
	return send[Document](ctx, s.c, request{method: http.MethodPost, path: documentsPath + "/" + escape(id) + "/restore"}, opts)
}
