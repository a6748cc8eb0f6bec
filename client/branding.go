package client

import (
	"context"
	"iter"
	"net/http"
	"time"
)

// The fonts of brandings.
const (
	SystemFont = "system"
	SerifFont  = "serif"
	MonoFont   = "mono"
)

// Branding is the look of shared pages. Sheaf derives all colours of light and dark pages from
// ColorPrimary, so that text is always readable.
type Branding struct {
	Received
	ID           string    `json:"id"`
	Name         string    `json:"name"`
	FolderID     *string   `json:"folder_id"`     // nil: at the root level
	LogoMediaID  *string   `json:"logo_media_id"` // a picture; nil: no logo
	ColorPrimary string    `json:"color_primary"` // #RRGGBB
	Font         string    `json:"font"`          // SystemFont, SerifFont or MonoFont
	Footer       *string   `json:"footer"`        // plain text
	SortOrder    int32     `json:"sort_order"`
	CreatedAt    time.Time `json:"created_at"`
	UpdatedAt    time.Time `json:"updated_at"`
}

// NewBranding is a branding to create; empty fields are left out.
type NewBranding struct {
	Name         string `json:"name"`
	FolderID     string `json:"folder_id,omitempty"` // empty: at the root level
	LogoMediaID  string `json:"logo_media_id,omitempty"`
	ColorPrimary string `json:"color_primary,omitempty"` // #RRGGBB
	Font         string `json:"font,omitempty"`
	Footer       string `json:"footer,omitempty"`
	SortOrder    int32  `json:"sort_order,omitempty"`
}

// BrandingChange has the fields to change. Fields that are left out stay as they are. [Null] clears the logo
// or the footer; as color or font it means the default, and as FolderID the root level.
type BrandingChange struct {
	Name         Opt[string] `json:"name,omitzero"`
	FolderID     Opt[string] `json:"folder_id,omitzero"`
	LogoMediaID  Opt[string] `json:"logo_media_id,omitzero"`
	ColorPrimary Opt[string] `json:"color_primary,omitzero"`
	Font         Opt[string] `json:"font,omitzero"`
	Footer       Opt[string] `json:"footer,omitzero"`
	SortOrder    Opt[int32]  `json:"sort_order,omitzero"`
}

// BrandingFilter narrows a list of brandings.
type BrandingFilter struct {
	FolderID     string    // the folder that they are directly in; None: the root level
	Query        string    // text in the name
	UpdatedSince time.Time // changed last at this time or later; zero: any
	Sort         string    // sort_order, name, created_at or updated_at
	Paging
}

// Brandings are the operations on brandings. Reading needs the scope brandings:read, all others
// brandings:write. Making, changing and moving them needs the Business plan; otherwise they return ErrPlanRequired.
type Brandings struct{ c *Client }

const brandingsPath = "/api/v1/brandings"

// List returns one page.
func (s Brandings) List(ctx context.Context, f BrandingFilter, opts ...Option) (Page[Branding], error) {
	q := f.Paging.values()
	set(q, "folder_id", f.FolderID)
	set(q, "q", f.Query)
	setReferences(q, "", f.UpdatedSince)
	set(q, "sort", f.Sort)
	return list[Branding](ctx, s.c, brandingsPath, q, opts)
}

// All returns every branding that matches, as Projects.All does.
func (s Brandings) All(ctx context.Context, f BrandingFilter, opts ...Option) iter.Seq2[Branding, error] {
	return all(f.Paging, func(p Paging) (Page[Branding], error) {
		f.Paging = p
		return s.List(ctx, f, opts...)
	})
}

// Get returns one branding.
func (s Brandings) Get(ctx context.Context, id string, opts ...Option) (Branding, error) {
	return send[Branding](ctx, s.c, request{method: http.MethodGet, path: brandingsPath + "/" + escape(id)}, opts)
}

// Create creates a branding. If the folder or the logo does not exist, it returns ErrNotFound.
func (s Brandings) Create(ctx context.Context, in NewBranding, opts ...Option) (Branding, error) {
	return send[Branding](ctx, s.c, request{method: http.MethodPost, path: brandingsPath, body: in}, opts)
}

// Update changes the fields that are set, and returns the whole branding.
func (s Brandings) Update(ctx context.Context, id string, change BrandingChange, opts ...Option) (Branding, error) {
	return send[Branding](ctx, s.c, request{method: http.MethodPatch, path: brandingsPath + "/" + escape(id), body: change}, opts)
}

// Delete removes the branding for ever.
func (s Brandings) Delete(ctx context.Context, id string, opts ...Option) error {
	return s.c.exec(ctx, request{method: http.MethodDelete, path: brandingsPath + "/" + escape(id)}, opts)
}

// Move puts the branding into a folder, or with an empty id at the root level.
func (s Brandings) Move(ctx context.Context, id, folderID string, opts ...Option) (Branding, error) {
	return send[Branding](ctx, s.c, request{method: http.MethodPost, path: brandingsPath + "/" + escape(id) + "/move",
		body: map[string]any{"folder_id": nullable(folderID)}}, opts)
}
