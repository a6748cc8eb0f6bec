package sheaf

import "time"

// EntityType is what a folder holds.
type EntityType string

// The types of folders.
const (
	ProjectFolder  EntityType = "project"
	BrandingFolder EntityType = "branding"
)

// ParseEntityType returns the type of that name.
func ParseEntityType(s string) (EntityType, error) {
	switch t := EntityType(s); t {
	case ProjectFolder, BrandingFolder:
		return t, nil
	}
	return "", InvalidField("entity_type", "entity_type must be project or branding, not %q", Clip(s))
}

// Limits of folders.
const (
	MaxDepth           = 3 // levels of folders; a folder at the root is at level 1
	DefaultFolderColor = "#6b7280"
)

// Folder holds projects or brandings, and folders of its own type.
type Folder struct {
	ID            FolderID
	Name          string
	EntityType    EntityType
	ParentID      *FolderID // nil: at the root
	Color         string
	SortOrder     int32
	ExternalID    *string // identifier in another system; unique among the folders of the workspace
	Depth         int     // its level, from 1 to MaxDepth; derived from its parents
	ProjectCount  int64   // number of projects directly in it; kept in their transactions
	BrandingCount int64   // number of brandings directly in it
	CreatedAt     time.Time
	UpdatedAt     time.Time

	// Number counts the records created in the workspace. Folders that are otherwise equal are
	// sorted by it.
	Number int64
	// Revision rises when the folder's own fields change. ETag and If-Match carry it.
	Revision int64
}

// Fields appends the folder as lists, answers and events show it.
func (f *Folder) Fields(o *Object) {
	o.Text("id", string(f.ID))
	o.Text("name", f.Name)
	o.Text("entity_type", string(f.EntityType))
	o.OptText("parent_id", (*string)(f.ParentID))
	o.Text("color", f.Color)
	o.Int("sort_order", int64(f.SortOrder))
	o.OptText("external_id", f.ExternalID)
	o.Derived("depth", int64(f.Depth))
	o.Derived("project_count", f.ProjectCount)
	o.Derived("branding_count", f.BrandingCount)
	o.Time("created_at", f.CreatedAt)
	o.Time("updated_at", f.UpdatedAt)
}

// Filed returns the number of records directly in the folder.
func (f *Folder) Filed() int64 { return f.ProjectCount + f.BrandingCount }

// FolderFilter limits a list of folders. The zero value has no limits.
type FolderFilter struct {
	EntityType EntityType
	Parent     Opt[FolderID] // null: root level
	// Top selects the folders that are in no other folder that the caller sees. Without a restriction
	// these are the folders at the root level.
	Top   bool
	Query string // part of the name, folded as in all searches
	// ExternalID selects at most one folder. Empty means no limit.
	ExternalID string
	// UpdatedSince is the earliest UpdatedAt; nil: any.
	UpdatedSince *time.Time
	Sort         ProjectSort
	Paging
}

// FolderChange is what a client sends to create or change a folder. EntityType and ParentID are
// used only to create one, and by PUT.
type FolderChange struct {
	Name       Opt[string]
	Color      Opt[string]
	SortOrder  Opt[int32]
	ExternalID Opt[string]
	EntityType Opt[string]
	ParentID   Opt[FolderID]
}

// Empty reports whether no field that PATCH writes was sent.
func (c FolderChange) Empty() bool {
	return !(c.Name.Set || c.Color.Set || c.SortOrder.Set || c.ExternalID.Set)
}

// Check returns Invalid for the first bad field of those that were sent, except EntityType and
// ParentID, which are checked when a folder is created.
func (c FolderChange) Check() error {
	switch {
	case c.Name.Null:
		return InvalidField("name", "name must not be null: give it 1 to %d characters", MaxName)
	case c.SortOrder.Null:
		return InvalidField("sort_order", "sort_order must not be null: send a whole number, or leave it out")
	}
	if c.Name.Set {
		if err := CheckName("name", c.Name.Value, MaxName); err != nil {
			return err
		}
	}
	if c.Color.Given() {
		if err := CheckColor(c.Color.Value); err != nil {
			return err
		}
	}
	return checkReferences(c.ExternalID, Opt[string]{}, Opt[MetadataChange]{})
}

// Apply returns f with the fields that were sent. A null color means the default.
func (c FolderChange) Apply(f Folder) Folder {
	if c.Name.Set {
		f.Name = c.Name.Value
	}
	if c.Color.Set {
		f.Color = DefaultFolderColor
		if c.Color.Given() {
			f.Color = c.Color.Value
		}
	}
	if c.SortOrder.Set {
		f.SortOrder = c.SortOrder.Value
	}
	if c.ExternalID.Set {
		f.ExternalID = c.ExternalID.Pointer()
	}
	return f
}
