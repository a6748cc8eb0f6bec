package sheaf

import "time"

// Private is the only visibility.
const Private = "private"

// Project groups documents. Clients may write its own fields.
type Project struct {
	ID          ProjectID
	Name        string
	Description *string
	Icon        *string   // an id of the catalogue, or one of the client's
	Color       *string   // #RRGGBB
	FolderID    *FolderID // nil: at the root level
	SortOrder   int32
	Visibility  string  // Private
	ExternalID  *string // identifier in another system; unique among the projects of the workspace
	URL         *string // address in another system
	Metadata    Metadata
	// Approvals is how many other people must approve a change of the project's documents. 0: it needs
	// no review.
	Approvals     int64
	DocumentCount int64 // without deleted ones; kept in the documents' transactions
	CreatedAt     time.Time
	UpdatedAt     time.Time

	// Number counts the records created in the workspace. Projects that are otherwise equal are
	// sorted by it.
	Number int64
	// Revision rises when the project's own fields change. ETag and If-Match carry it.
	Revision int64
}

// Fields appends the project as lists, answers and events show it.
func (p *Project) Fields(o *Object) {
	o.Text("id", string(p.ID))
	o.Text("name", p.Name)
	o.OptText("description", p.Description)
	o.OptText("icon", p.Icon)
	o.OptText("color", p.Color)
	o.OptText("folder_id", (*string)(p.FolderID))
	o.Int("sort_order", int64(p.SortOrder))
	o.Text("visibility", p.Visibility)
	o.OptText("external_id", p.ExternalID)
	o.OptText("url", p.URL)
	o.Metadata("metadata", p.Metadata)
	o.Review(p.Approvals)
	o.Derived("document_count", p.DocumentCount)
	o.Time("created_at", p.CreatedAt)
	o.Time("updated_at", p.UpdatedAt)
}

// MaxApprovals is the largest number of approvals that a project may ask for.
const MaxApprovals = 3

// Review appends what a project asks for before its documents change: null, or an object.
func (o *Object) Review(approvals int64) {
	if approvals == 0 {
		o.Null("review")
		return
	}
	o.Record("review", RecordFunc(func(o *Object) { o.Int("approvals", approvals) }))
}

// ProjectDetail is a project with its most recently changed documents, at most MaxEmbedded.
type ProjectDetail struct {
	Project
	Documents []Document
}

// MaxEmbedded is the largest number of documents in a project's answer.
const MaxEmbedded = 100

// Fields appends the project, then its documents in their short form.
func (d *ProjectDetail) Fields(o *Object) {
	d.Project.Fields(o)
	list := []byte{'['}
	for i := range d.Documents {
		if i > 0 {
			list = append(list, ',')
		}
		list = AppendJSON(list, (*embedded)(&d.Documents[i]))
	}
	o.Raw("documents", append(list, ']'))
}

// ProjectFilter limits a list of projects. The zero value has no limits.
type ProjectFilter struct {
	Folder Opt[FolderID] // null: at the root level
	// Top selects the projects that are in no folder that the caller sees. Without a restriction these
	// are the projects at the root level.
	Top bool
	// MustExist makes a Folder that does not exist NotFound. Otherwise it selects no projects.
	MustExist bool
	Query     string // part of the name or the description, ignoring case
	// ExternalID selects at most one project. Empty means no limit.
	ExternalID string
	// UpdatedSince is the earliest UpdatedAt; nil: any.
	UpdatedSince *time.Time
	Sort         ProjectSort
	Paging
}

// ProjectSort is the order of a list of projects or folders. Records that are equal in it are in
// the order of creation.
type ProjectSort string

// The orders of projects and folders.
const (
	ByOrder   ProjectSort = "sort_order"
	ByName    ProjectSort = "name"
	ByCreated ProjectSort = "created_at"
	ByUpdated ProjectSort = "updated_at"
)

// ProjectChange is what a client sends to create or change a project.
type ProjectChange struct {
	Name        Opt[string]
	Description Opt[string]
	Icon        Opt[string]
	Color       Opt[string]
	FolderID    Opt[FolderID]
	SortOrder   Opt[int32]
	Visibility  Opt[string]
	ExternalID  Opt[string]
	URL         Opt[string]
	Metadata    Opt[MetadataChange]
	Approvals   Opt[int64] // null: no review
}

// Empty reports whether no writable field was sent.
func (c ProjectChange) Empty() bool {
	return !(c.Name.Set || c.Description.Set || c.Icon.Set || c.Color.Set ||
		c.FolderID.Set || c.SortOrder.Set || c.Visibility.Set || c.ExternalID.Set || c.URL.Set || c.Metadata.Set || c.Approvals.Set)
}

// Check returns Invalid for the first bad field of those that were sent. It does not check what is
// stored, such as whether the folder exists.
func (c ProjectChange) Check() error {
	switch {
	case c.Name.Null:
		return InvalidField("name", "name must not be null: give it 1 to %d characters", MaxName)
	case c.SortOrder.Null:
		return InvalidField("sort_order", "sort_order must not be null: send a whole number, or leave it out")
	case c.Visibility.Null || c.Visibility.Set && c.Visibility.Value != Private:
		return InvalidField("visibility", "visibility must be %q, the only value", Private)
	}
	if c.Name.Set {
		if err := CheckName("name", c.Name.Value, MaxName); err != nil {
			return err
		}
	}
	if err := CheckLength("description", c.Description.Value, MaxDescription); err != nil {
		return err
	}
	if c.Icon.Given() && c.Icon.Value == "" {
		return InvalidField("icon", "icon must not be empty: give an identifier of 1 to %d characters, or null for none", MaxIcon)
	}
	if err := CheckLength("icon", c.Icon.Value, MaxIcon); err != nil {
		return err
	}
	if c.Color.Given() {
		if err := CheckColor(c.Color.Value); err != nil {
			return err
		}
	}
	if c.Approvals.Given() && (c.Approvals.Value < 1 || c.Approvals.Value > MaxApprovals) {
		return InvalidField("review", "review must be null, or {\"approvals\": 1 to %d}", MaxApprovals)
	}
	return checkReferences(c.ExternalID, c.URL, c.Metadata)
}

// Apply returns p with the fields that were sent.
func (c ProjectChange) Apply(p Project) Project {
	if c.Name.Set {
		p.Name = c.Name.Value
	}
	if c.Description.Set {
		p.Description = c.Description.Pointer()
	}
	if c.Icon.Set {
		p.Icon = c.Icon.Pointer()
	}
	if c.Color.Set {
		p.Color = c.Color.Pointer()
	}
	if c.FolderID.Set {
		p.FolderID = c.FolderID.Pointer()
	}
	if c.SortOrder.Set {
		p.SortOrder = c.SortOrder.Value
	}
	if c.Visibility.Set {
		p.Visibility = c.Visibility.Value
	}
	if c.ExternalID.Set {
		p.ExternalID = c.ExternalID.Pointer()
	}
	if c.URL.Set {
		p.URL = c.URL.Pointer()
	}
	if c.Approvals.Set {
		p.Approvals = c.Approvals.Value
	}
	p.Metadata = applyMetadata(p.Metadata, c.Metadata)
	return p
}
