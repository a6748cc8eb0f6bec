package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Share is an address under which people without an account read a document, a project with all its
// documents, or a folder with all its projects.
type Share struct {
	Received
	ID           string     `json:"id"`
	ResourceType string     `json:"resource_type"` // document, project or folder
	ResourceID   string     `json:"resource_id"`
	URL          string     `json:"url"` // public address of the share
	HasPassword  bool       `json:"has_password"`
	ExpiresAt    *time.Time `json:"expires_at"`  // nil: never
	BrandingID   *string    `json:"branding_id"` // nil: the workspace's default look
	Listed       bool       `json:"listed"`      // search engines may list it
	// Release is what a share of a project shows: NewestRelease, the id of a release, or nil for the documents
	// as they are now.
	Release      *string    `json:"release"`
	ShowReleases bool       `json:"show_releases"`  // readers can switch between the releases of the project
	Views        int64      `json:"views"`          // number of views
	LastViewedAt *time.Time `json:"last_viewed_at"` // nil: never
	CreatedAt    time.Time  `json:"created_at"`
	UpdatedAt    time.Time  `json:"updated_at"`
}

// NewShare is a share to create; empty fields are left out.
type NewShare struct {
	ResourceType string     `json:"resource_type"` // document, project or folder
	ResourceID   string     `json:"resource_id"`
	Password     string     `json:"password,omitempty"`
	ExpiresAt    *time.Time `json:"expires_at,omitempty"`
	BrandingID   string     `json:"branding_id,omitempty"`
	Listed       bool       `json:"listed,omitempty"`
	Release      string     `json:"release,omitempty"`       // NewestRelease or the id of a release; empty: the documents as they are
	ShowReleases bool       `json:"show_releases,omitempty"` // readers can switch between the releases
}

// ShareChange are the fields to change; those that are left out stay as they are. [Null] takes away a
// password, an expiry or a look. As Release, it means the documents as they are now.
type ShareChange struct {
	Password     Opt[string]    `json:"password,omitzero"`
	ExpiresAt    Opt[time.Time] `json:"expires_at,omitzero"`
	BrandingID   Opt[string]    `json:"branding_id,omitzero"`
	Listed       Opt[bool]      `json:"listed,omitzero"`
	Release      Opt[string]    `json:"release,omitzero"`
	ShowReleases Opt[bool]      `json:"show_releases,omitzero"`
}

// ShareFilter narrows a list of shares.
type ShareFilter struct {
	ResourceID string // only the shares of this document, project or folder
	Paging
}

func (f ShareFilter) values() url.Values {
	q := f.Paging.values()
	set(q, "resource_id", f.ResourceID)
	return q
}

// Shares are the operations on shares. Reading needs the scope shares:read, all others shares:write;
// making and changing one also those to read what it shows: documents:read, media:read, and for a
// project projects:read.
type Shares struct{ c *Client }

const sharesPath = "/api/v1/shares"

// List returns one page.
func (s Shares) List(ctx context.Context, f ShareFilter, opts ...Option) (Page[Share], error) {
	return list[Share](ctx, s.c, sharesPath, f.values(), opts)
}

// All returns every share that matches, as Projects.All does.
func (s Shares) All(ctx context.Context, f ShareFilter, opts ...Option) iter.Seq2[Share, error] {
	return all(f.Paging, func(p Paging) (Page[Share], error) {
		f.Paging = p
		return s.List(ctx, f, opts...)
	})
}

// Get returns one share.
func (s Shares) Get(ctx context.Context, id string, opts ...Option) (Share, error) {
	return send[Share](ctx, s.c, request{method: http.MethodGet, path: sharesPath + "/" + escape(id)}, opts)
}

// Create makes a share.
func (s Shares) Create(ctx context.Context, in NewShare, opts ...Option) (Share, error) {
	return send[Share](ctx, s.c, request{method: http.MethodPost, path: sharesPath, body: in}, opts)
}

// Update changes the fields that are set, and returns the whole share.
func (s Shares) Update(ctx context.Context, id string, change ShareChange, opts ...Option) (Share, error) {
	return send[Share](ctx, s.c, request{method: http.MethodPatch, path: sharesPath + "/" + escape(id), body: change}, opts)
}

// Delete ends the share; its address is then not found.
func (s Shares) Delete(ctx context.Context, id string, opts ...Option) error {
	return s.c.exec(ctx, request{method: http.MethodDelete, path: sharesPath + "/" + escape(id)}, opts)
}
