package sheaf

import "time"

// Document is a text with a title. It belongs to one project, or to none.
type Document struct {
	ID          DocumentID
	Title       string
	Description *string
	ProjectID   *ProjectID  // nil: in no project
	ParentID    *DocumentID // document above it, in the same project; nil: at the top level
	// SortOrder is its position among the documents with the same parent. DefaultOrder is stored as
	// unset.
	SortOrder  int64
	ExternalID *string // identifier in another system; unique among the documents of the workspace
	URL        *string // address in another system
	Metadata   Metadata
	// Version counts the changes of title and text. It is 1 at the creation.
	Version int64
	// ContentBytes and ContentSHA256 (in hexadecimal digits) describe the text, which is stored
	// separately: only DocumentText has it.
	ContentBytes  int64
	ContentSHA256 string
	CreatedAt     time.Time
	UpdatedAt     time.Time

	// Number counts the records created in the workspace. Documents that are otherwise equal are
	// sorted by it.
	Number int64
	// Revision rises when the document's own fields change. ETag and If-Match carry it.
	Revision int64
	// Deleted is when the document was deleted, or nil. A deleted document is in no list or count,
	// and can be restored.
	Deleted *time.Time
	// Deletion is the number of the deletion that the document shares with others, negative for the
	// document that was deleted itself; 0: none.
	Deletion int64
}

// Fields appends the document as lists, answers and events show it.
func (d *Document) Fields(o *Object) {
	o.Text("id", string(d.ID))
	o.Text("title", d.Title)
	o.OptText("description", d.Description)
	o.OptText("project_id", (*string)(d.ProjectID))
	o.OptText("parent_id", (*string)(d.ParentID))
	o.Int("sort_order", d.SortOrder)
	o.OptText("external_id", d.ExternalID)
	o.OptText("url", d.URL)
	o.Metadata("metadata", d.Metadata)
	d.contentFields(o)
	o.Time("created_at", d.CreatedAt)
	o.Time("updated_at", d.UpdatedAt)
}

// contentFields appends the fields that describe the text, without the text itself.
func (d *Document) contentFields(o *Object) {
	o.Int("version", d.Version)
	o.Int("content_bytes", d.ContentBytes)
	o.Text("content_sha256", d.ContentSHA256)
}

// DocumentText is a document with its text.
type DocumentText struct {
	Document
	Content string
}

// Fields appends the document, and its text as content.
func (d *DocumentText) Fields(o *Object) {
	d.Document.Fields(o)
	o.Text("content", d.Content)
}

// DeletedDocument is a document as the list of deleted documents shows it.
type DeletedDocument Document

// Fields appends the document, and when it was deleted.
func (d *DeletedDocument) Fields(o *Object) {
	(*Document)(d).Fields(o)
	o.OptTime("deleted_at", d.Deleted)
}

// embedded is a document in the answer of its project, without the project's id.
type embedded Document

func (d *embedded) Fields(o *Object) {
	o.Text("id", string(d.ID))
	o.Text("title", d.Title)
	o.OptText("description", d.Description)
	o.OptText("external_id", d.ExternalID)
	(*Document)(d).contentFields(o)
	o.Time("created_at", d.CreatedAt)
	o.Time("updated_at", d.UpdatedAt)
}

// DocumentFilter limits a list of documents. The zero value has no limits.
type DocumentFilter struct {
	Project Opt[ProjectID]  // null: in no project
	Parent  Opt[DocumentID] // direct children of that document; null: top level
	// MustExist makes a Project or Parent that does not exist NotFound. Otherwise it selects no documents.
	MustExist bool
	Query     string // part of the title or the description, ignoring case
	// ExternalID selects at most one document. Empty means no limit.
	ExternalID string
	// UpdatedSince is the earliest UpdatedAt; nil: any.
	UpdatedSince *time.Time
	// Deleted selects only deleted documents.
	Deleted bool
	// Apart leaves out deleted documents whose parent was deleted with them and is still in the
	// trash.
	Apart bool
	Sort  DocumentSort
	Paging
}

// DocumentSort is the order of a list of documents. Documents that are equal in it are in the order
// of creation.
type DocumentSort string

// The orders of documents.
const (
	DocumentsByCreated DocumentSort = "created_at"
	DocumentsByUpdated DocumentSort = "updated_at"
	DocumentsByTitle   DocumentSort = "title"
	DocumentsByOrder   DocumentSort = "sort_order"
	DocumentsByDeleted DocumentSort = "deleted_at" // only for deleted documents
)

// DocumentChange is what a client sends to create or change a document.
type DocumentChange struct {
	Title       Opt[string]         `json:"title,omitzero"`
	Description Opt[string]         `json:"description,omitzero"`
	ProjectID   Opt[ProjectID]      `json:"project_id,omitzero"`
	ParentID    Opt[DocumentID]     `json:"parent_id,omitzero"`
	SortOrder   Opt[int64]          `json:"sort_order,omitzero"`
	Content     Opt[string]         `json:"content,omitzero"` // Markdown; null is the empty text
	ExternalID  Opt[string]         `json:"external_id,omitzero"`
	URL         Opt[string]         `json:"url,omitzero"`
	Metadata    Opt[MetadataChange] `json:"metadata,omitzero"`
}

// Empty reports whether no writable field was sent.
func (c DocumentChange) Empty() bool {
	return !(c.Title.Set || c.Description.Set || c.ProjectID.Set || c.ParentID.Set || c.SortOrder.Set ||
		c.Content.Set || c.ExternalID.Set || c.URL.Set || c.Metadata.Set)
}

// Check returns Invalid for the first bad field of those that were sent. It does not check what is
// stored, such as whether the project exists.
func (c DocumentChange) Check() error {
	if c.Title.Null {
		return InvalidField("title", "title must not be null: give it 1 to %d characters", MaxName)
	}
	if c.Title.Set {
		if err := CheckName("title", c.Title.Value, MaxName); err != nil {
			return err
		}
	}
	if err := CheckLength("description", c.Description.Value, MaxDescription); err != nil {
		return err
	}
	if err := CheckContent("content", c.Content.Value); err != nil {
		return err
	}
	switch order := c.SortOrder; {
	case order.Null:
		return InvalidField("sort_order", "sort_order must not be null: send a whole number, or leave it out")
	case order.Value < -MaxNumber || order.Value > MaxNumber:
		return InvalidField("sort_order", "sort_order must be a whole number from %d to %d", int64(-MaxNumber), int64(MaxNumber))
	}
	return checkReferences(c.ExternalID, c.URL, c.Metadata)
}

// Apply returns d with the fields that were sent, except the text: the caller stores that and knows
// its hash. If the project changes and no parent was sent, the document goes to the top level.
func (c DocumentChange) Apply(d Document) Document {
	if c.Title.Set {
		d.Title = c.Title.Value
	}
	if c.Description.Set {
		d.Description = c.Description.Pointer()
	}
	if c.ProjectID.Set {
		to := c.ProjectID.Pointer()
		if !SameID(d.ProjectID, to) {
			d.ParentID = nil
		}
		d.ProjectID = to
	}
	if c.ParentID.Set {
		d.ParentID = c.ParentID.Pointer()
	}
	if c.SortOrder.Set {
		d.SortOrder = c.SortOrder.Value
	}
	if c.ExternalID.Set {
		d.ExternalID = c.ExternalID.Pointer()
	}
	if c.URL.Set {
		d.URL = c.URL.Pointer()
	}
	d.Metadata = applyMetadata(d.Metadata, c.Metadata)
	return d
}
