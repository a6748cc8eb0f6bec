package sheaf

import "time"

// Document is what projects group. It belongs to one project, or to none.
type Document struct {
	ID          DocumentID
	Title       string
	Description *string
	ProjectID   *ProjectID // nil: in no project
	ExternalID  *string    // what another system calls it; no other document of the workspace has it
	URL         *string    // where it is in another system
	Metadata    Metadata
	// Version counts the changes of its title and its text, and is 1 at its creation.
	Version int64
	// ContentBytes and ContentSHA256, in hexadecimal digits, are of its text, which is a record of
	// its own: only DocumentText has it.
	ContentBytes  int64
	ContentSHA256 string
	CreatedAt     time.Time
	UpdatedAt     time.Time

	// Number counts what was created in the workspace: it orders documents that are equal otherwise.
	Number int64
	// Revision rises when the document's own fields change. ETag and If-Match carry it.
	Revision int64
	// Deleted is when the document was deleted; nil for one that is there. A deleted one is in no
	// list and no count, and can be restored.
	Deleted *time.Time
}

// Fields appends the document as lists, answers and events show it.
func (d *Document) Fields(o *Object) {
	o.Text("id", string(d.ID))
	o.Text("title", d.Title)
	o.OptText("description", d.Description)
	o.OptText("project_id", (*string)(d.ProjectID))
	o.OptText("external_id", d.ExternalID)
	o.OptText("url", d.URL)
	o.Metadata("metadata", d.Metadata)
	d.contentFields(o)
	o.Time("created_at", d.CreatedAt)
	o.Time("updated_at", d.UpdatedAt)
}

// contentFields appends what is shown of the text where the text itself is not.
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

// DeletedDocument is a document as the list of deleted ones shows it.
type DeletedDocument Document

// Fields appends the document, and when it was deleted.
func (d *DeletedDocument) Fields(o *Object) {
	(*Document)(d).Fields(o)
	o.OptTime("deleted_at", d.Deleted)
}

// embedded is a document as it stands in the answer of its project, whose id it need not repeat.
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

// DocumentFilter narrows a list of documents; the zero value narrows nothing.
type DocumentFilter struct {
	Project Opt[ProjectID] // null: in no project
	// MustExist returns NotFound for a Project that is not there. Otherwise it selects nothing.
	MustExist bool
	Query     string // is part of the title or the description, whatever the case
	// ExternalID is that of one document at most; empty: of any, or of none.
	ExternalID string
	// UpdatedSince is the earliest UpdatedAt; nil: any.
	UpdatedSince *time.Time
	// Deleted selects the deleted ones, and those alone.
	Deleted bool
	Sort    DocumentSort
	Paging
}

// DocumentSort is what a list of documents is ordered by; those that are equal in it are in the
// order of their creation.
type DocumentSort string

// The orders of documents.
const (
	DocumentsByCreated DocumentSort = "created_at"
	DocumentsByUpdated DocumentSort = "updated_at"
	DocumentsByTitle   DocumentSort = "title"
	DocumentsByDeleted DocumentSort = "deleted_at" // for deleted ones alone
)

// DocumentChange is what a client sends to create or change a document.
type DocumentChange struct {
	Title       Opt[string]
	Description Opt[string]
	ProjectID   Opt[ProjectID]
	Content     Opt[string] // Markdown; null is the empty text
	ExternalID  Opt[string]
	URL         Opt[string]
	Metadata    Opt[MetadataChange]
}

// Empty reports whether no writable field was sent.
func (c DocumentChange) Empty() bool {
	return !(c.Title.Set || c.Description.Set || c.ProjectID.Set || c.Content.Set ||
		c.ExternalID.Set || c.URL.Set || c.Metadata.Set)
}

// Check returns Invalid for the first fault of the fields that were sent. It knows nothing of what
// is stored, such as whether the project exists.
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
	return checkReferences(c.ExternalID, c.URL, c.Metadata)
}

// Apply returns d with the fields that were sent, but for the text: whoever keeps that knows its
// hash.
func (c DocumentChange) Apply(d Document) Document {
	if c.Title.Set {
		d.Title = c.Title.Value
	}
	if c.Description.Set {
		d.Description = c.Description.Pointer()
	}
	if c.ProjectID.Set {
		d.ProjectID = c.ProjectID.Pointer()
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
