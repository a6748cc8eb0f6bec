package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Document is a text with a title. It can belong to a project.
type Document struct {
	Received
	ID          string  `json:"id"`
	Title       string  `json:"title"`
	Description *string `json:"description"`
	ProjectID   *string `json:"project_id"` // nil: in no project
	ParentID    *string `json:"parent_id"`  // the document above it; nil: at the top level
	SortOrder   int64   `json:"sort_order"` // its position among those with the same parent
	// Version counts the changes of title and text, from 1 on.
	Version       int64  `json:"version"`
	ContentBytes  int64  `json:"content_bytes"`
	ContentSHA256 string `json:"content_sha256"` // SHA-256 of the text, in hex
	// Content is the text, in Markdown. Only Get returns it; elsewhere it is nil.
	Content    *string           `json:"content"`
	ExternalID *string           `json:"external_id"` // id of the record in another system
	URL        *string           `json:"url"`         // address of the record in another system
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
	ParentID    string            `json:"parent_id,omitempty"` // a document of the same project
	SortOrder   Opt[int64]        `json:"sort_order,omitzero"` // left out: after those that exist
	Content     string            `json:"content,omitempty"`   // Markdown
	ExternalID  string            `json:"external_id,omitempty"`
	URL         string            `json:"url,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

// DocumentChange has the fields to change. Fields that are left out stay as they are. [Null] clears the
// description. As ProjectID, Null takes the document out of its project. As ParentID, it moves the
// document to the top level. If ProjectID changes and ParentID is left out, the document goes to
// the top level of the new project.
type DocumentChange struct {
	Title       Opt[string] `json:"title,omitzero"`
	Description Opt[string] `json:"description,omitzero"`
	ProjectID   Opt[string] `json:"project_id,omitzero"`
	ParentID    Opt[string] `json:"parent_id,omitzero"`
	SortOrder   Opt[int64]  `json:"sort_order,omitzero"`
	Content     Opt[string] `json:"content,omitzero"`
	ExternalID  Opt[string] `json:"external_id,omitzero"`
	URL         Opt[string] `json:"url,omitzero"`
	// Metadata is merged by Update: entries that are not named stay, and an entry with the value nil is
	// removed. Put replaces all entries.
	Metadata Opt[map[string]*string] `json:"metadata,omitzero"`
}

// DocumentFilter narrows a list of documents.
type DocumentFilter struct {
	ProjectID    string    // None: in no project
	ParentID     string    // the document directly above them; None: the top level
	Query        string    // text in title or description
	ExternalID   string    // only the record with this external id
	UpdatedSince time.Time // changed last at this time or later; zero: any
	Deleted      bool      // the deleted ones, and those alone
	Sort         string    // created_at, updated_at, title, sort_order, or of deleted ones deleted_at
	Paging
}

func (f DocumentFilter) values() url.Values {
	q := f.Paging.values()
	set(q, "project_id", f.ProjectID)
	set(q, "parent_id", f.ParentID)
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

// Put changes the document with that external id. If it is deleted, Put restores it; if there is none, Put
// creates it, as Projects.Put does.
func (s Documents) Put(ctx context.Context, externalID string, change DocumentChange, opts ...Option) (Document, error) {
	return send[Document](ctx, s.c, putRequest(documentsPath, externalID, change), opts)
}

// Purge removes a deleted document for good, with its text and versions. One that is not deleted, or that
// is in releases, is ErrConflict.
func (s Documents) Purge(ctx context.Context, id string, opts ...Option) error {
	return s.purge(ctx, id, nil, opts)
}

// PurgeWithReleases is Purge, and takes the document out of all releases that have it. It also needs the
// scope releases:write.
func (s Documents) PurgeWithReleases(ctx context.Context, id string, opts ...Option) error {
	return s.purge(ctx, id, url.Values{"releases": {"true"}}, opts)
}

func (s Documents) purge(ctx context.Context, id string, query url.Values, opts []Option) error {
	return s.c.exec(ctx, request{method: http.MethodDelete, path: documentsPath + "/" + escape(id) + "/permanent", query: query}, opts)
}

// DocumentMove is the new place of a document. If ProjectID or ParentID is left out,
// the value of the neighbour is used; without a neighbour, the document keeps its own. As
// ProjectID, [Null] means no project; as ParentID, it means the top level.
type DocumentMove struct {
	ProjectID Opt[string] `json:"project_id,omitzero"`
	ParentID  Opt[string] `json:"parent_id,omitzero"`
	// BeforeID or AfterID is the neighbour. Without one, the document goes to the end of its level.
	BeforeID string `json:"before_id,omitempty"`
	AfterID  string `json:"after_id,omitempty"`
}

// Move moves the document, with everything below it. It returns ErrValidation if
// the parent is the document itself or below it, is in another project, or is too deep.
func (s Documents) Move(ctx context.Context, id string, to DocumentMove, opts ...Option) (Document, error) {
	return send[Document](ctx, s.c, request{method: http.MethodPost, path: documentsPath + "/" + escape(id) + "/move", body: to}, opts)
}

// Delete moves the document and everything below it to the trash; Restore brings them back.
func (s Documents) Delete(ctx context.Context, id string, opts ...Option) error {
	return s.c.exec(ctx, request{method: http.MethodDelete, path: documentsPath + "/" + escape(id)}, opts)
}

// Restore brings a deleted document back, with the documents below it that were deleted with it. If its
// project is gone, it is in none. If its parent is gone, it is at the top level.
func (s Documents) Restore(ctx context.Context, id string, opts ...Option) (Document, error) {
	return send[Document](ctx, s.c, request{method: http.MethodPost, path: documentsPath + "/" + escape(id) + "/restore"}, opts)
}
