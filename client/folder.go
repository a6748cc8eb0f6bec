package client

import (
	"context"
	"iter"
	"net/http"
	"time"
)

// The types of folders.
const (
	ProjectFolder  = "project"
	BrandingFolder = "branding"
)

// Folder holds projects or brandings, and folders of its own type, three levels deep.
type Folder struct {
	Received
	ID            string    `json:"id"`
	Name          string    `json:"name"`
	EntityType    string    `json:"entity_type"`
	ParentID      *string   `json:"parent_id"` // nil: at the root level
	Color         string    `json:"color"`
	SortOrder     int32     `json:"sort_order"`
	ExternalID    *string   `json:"external_id"`    // id of the record in another system
	Depth         int       `json:"depth"`          // 1 to 3
	ProjectCount  int       `json:"project_count"`  // directly in it
	BrandingCount int       `json:"branding_count"` // directly in it
	CreatedAt     time.Time `json:"created_at"`
	UpdatedAt     time.Time `json:"updated_at"`
}

// NewFolder is a folder to create; empty fields are left out.
type NewFolder struct {
	Name       string `json:"name"`
	EntityType string `json:"entity_type"` // ProjectFolder or BrandingFolder
	ParentID   string `json:"parent_id,omitempty"`
	Color      string `json:"color,omitempty"` // #RRGGBB
	SortOrder  int32  `json:"sort_order,omitempty"`
	ExternalID string `json:"external_id,omitempty"`
}

// FolderChange has the fields to change. Fields that are left out stay as they are. [Null] as color means the
// default. Move changes the parent; the type never changes.
type FolderChange struct {
	Name       Opt[string] `json:"name,omitzero"`
	Color      Opt[string] `json:"color,omitzero"`
	SortOrder  Opt[int32]  `json:"sort_order,omitzero"`
	ExternalID Opt[string] `json:"external_id,omitzero"`
}

// FolderPut has the fields of a folder to create or change. Fields that are left out stay as they are. A new
// folder needs a name and a type.
type FolderPut struct {
	FolderChange
	EntityType string      `json:"entity_type,omitempty"` // never changes
	ParentID   Opt[string] `json:"parent_id,omitzero"`    // moves it; Null: to the root level
}

// FolderFilter narrows a list of folders.
type FolderFilter struct {
	EntityType   string
	ParentID     string    // the folder that they are directly in; None: the root level
	Query        string    // text in the name
	ExternalID   string    // only the record with this external id
	UpdatedSince time.Time // changed last at this time or later; zero: any
	Sort         string    // sort_order, name, created_at or updated_at
	Paging
}

// Folders are the operations on folders. Reading needs the scope projects:read, all others
// projects:write. Making and changing folders needs a plan that includes their type: else
// ErrPlanRequired.
type Folders struct{ c *Client }

const foldersPath = "/api/v1/folders"

// List returns one page.
func (s Folders) List(ctx context.Context, f FolderFilter, opts ...Option) (Page[Folder], error) {
	q := f.Paging.values()
	set(q, "entity_type", f.EntityType)
	set(q, "parent_id", f.ParentID)
	set(q, "q", f.Query)
	setReferences(q, f.ExternalID, f.UpdatedSince)
	set(q, "sort", f.Sort)
	return list[Folder](ctx, s.c, foldersPath, q, opts)
}

// All returns every folder that matches, as Projects.All does.
func (s Folders) All(ctx context.Context, f FolderFilter, opts ...Option) iter.Seq2[Folder, error] {
	return all(f.Paging, func(p Paging) (Page[Folder], error) {
		f.Paging = p
		return s.List(ctx, f, opts...)
	})
}

// Get returns one folder.
func (s Folders) Get(ctx context.Context, id string, opts ...Option) (Folder, error) {
	return send[Folder](ctx, s.c, request{method: http.MethodGet, path: foldersPath + "/" + escape(id)}, opts)
}

// Create makes a folder.
func (s Folders) Create(ctx context.Context, in NewFolder, opts ...Option) (Folder, error) {
	return send[Folder](ctx, s.c, request{method: http.MethodPost, path: foldersPath, body: in}, opts)
}

// Update changes the fields that are set, and returns the whole folder.
func (s Folders) Update(ctx context.Context, id string, change FolderChange, opts ...Option) (Folder, error) {
	return send[Folder](ctx, s.c, request{method: http.MethodPatch, path: foldersPath + "/" + escape(id), body: change}, opts)
}

// Put changes the folder with that external id, or creates it, as Projects.Put does.
func (s Folders) Put(ctx context.Context, externalID string, in FolderPut, opts ...Option) (Folder, error) {
	return send[Folder](ctx, s.c, putRequest(foldersPath, externalID, in), opts)
}

// Delete removes the folder and all folders below it. Their projects, or brandings, stay, at the root
// level.
func (s Folders) Delete(ctx context.Context, id string, opts ...Option) error {
	return s.c.exec(ctx, request{method: http.MethodDelete, path: foldersPath + "/" + escape(id)}, opts)
}

// Move moves the folder and its content into another folder. An empty id means the root level.
func (s Folders) Move(ctx context.Context, id, parentID string, opts ...Option) (Folder, error) {
	return send[Folder](ctx, s.c, request{method: http.MethodPost, path: foldersPath + "/" + escape(id) + "/move",
		body: map[string]any{"parent_id": nullable(parentID)}}, opts)
}
