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
	ID          string  `json:"id"`
	Title       string  `json:"title"`
	Description *string `json:"description"`
	ProjectID   *string `json:"project_id"` // nil: in no project
	// Version counts the changes of title and text, from 1 on.
	Version       int64  `json:"version"`
	ContentBytes  int64  `json:"content_bytes"`
	ContentSHA256 string `json:"content_sha256"` // of the text, hexadecimal
	// Content is the text, which is Markdown. Get alone has it; elsewhere it is nil.
	Content    *string           `json:"content"`
	ExternalID *string           `json:"external_id"` // what another system calls it
	URL        *string           `json:"url"`         // where it is in another system
	Metadata   map[string]string `json:"metadata"`    // nil: none
	CreatedAt  time.Time         `json:"created_at"`
	UpdatedAt  time.Time         `json:"updated_at"`
	DeletedAt  *time.Time        `json:"deleted_at"` // in lists of deleted ones alone
}

// NewDocument is a document to create; empty fields are left out.
type NewDocument struct {
	Title       string            `json:"title"`
	Description string            `json:"description,omitempty"`
	ProjectID   string            `json:"project_id,omitempty"`
	Content     string            `json:"content,omitempty"` // Markdown
	ExternalID  string            `json:"external_id,omitempty"`
	URL         string            `json:"url,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

// DocumentChange are the fields to change; those that are left out stay as they are. [Null] clears
// a description, and takes the document out of its project as ProjectID.
type DocumentChange struct {
	Title       Opt[string] `json:"title,omitzero"`
	Description Opt[string] `json:"description,omitzero"`
	ProjectID   Opt[string] `json:"project_id,omitzero"`
	Content     Opt[string] `json:"content,omitzero"`
	ExternalID  Opt[string] `json:"external_id,omitzero"`
	URL         Opt[string] `json:"url,omitzero"`
	// Metadata is merged by Update: names that are left out stay, and a value of nil removes one. Put
	// takes it as a whole.
	Metadata Opt[map[string]*string] `json:"metadata,omitzero"`
}

// DocumentFilter narrows a list of documents.
type DocumentFilter struct {
	ProjectID    string    // None: in no project
	Query        string    // text in title or description
	ExternalID   string    // of one at most
	UpdatedSince time.Time // changed last at this time or later; zero: any
	Deleted      bool      // the deleted ones, and those alone
	Sort         string    // created_at, updated_at, title, or of deleted ones deleted_at
	Paging
}

func (f DocumentFilter) values() url.Values {
	q := f.Paging.values()
	set(q, "project_id", f.ProjectID)
	set(q, "q", f.Query)
	setReferences(q, f.ExternalID, f.UpdatedSince)
	if f.Deleted {
		q.Set("deleted", "true")
	}
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

// Put changes the document of that external id, brings it back where it is deleted, or makes it where
// there is none, as Projects.Put does.
func (s Documents) Put(ctx context.Context, externalID string, change DocumentChange, opts ...Option) (Document, error) {
	return send[Document](ctx, s.c, putRequest(documentsPath, externalID, change), opts)
}

// Purge removes a deleted document for good, with its text and versions. One that is not deleted is
// ErrConflict.
func (s Documents) Purge(ctx context.Context, id string, opts ...Option) error {
	return s.c.exec(ctx, request{method: http.MethodDelete, path: documentsPath + "/" + escape(id) + "/permanent"}, opts)
}

// Delete removes the document from every list; Restore brings it back.
func (s Documents) Delete(ctx context.Context, id string, opts ...Option) error {
	return s.c.exec(ctx, request{method: http.MethodDelete, path: documentsPath + "/" + escape(id)}, opts)
}

// Restore brings a deleted document back, in no project if its own is gone.
func (s Documents) Restore(ctx context.Context, id string, opts ...Option) (Document, error) {
	return send[Document](ctx, s.c, request{method: http.MethodPost, path: documentsPath + "/" + escape(id) + "/restore"}, opts)
}
