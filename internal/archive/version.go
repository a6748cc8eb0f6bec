package archive

import (
	"errors"
	"fmt"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// A document's line has its present text, and the author and the time of that version. Each past
// version has a line of its own after it, so that no line has more than one text.

// documentFields are those of a document with its present version.
func documentFields(d *sheaf.Document, v *sheaf.VersionText) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		o.Text("id", string(d.ID))
		o.Text("title", d.Title)
		o.OptText("description", d.Description)
		o.OptText("project_id", (*string)(d.ProjectID))
		o.OptText("parent_id", (*string)(d.ParentID))
		o.Int("sort_order", d.SortOrder)
		o.OptText("external_id", d.ExternalID)
		o.OptText("url", d.URL)
		o.Metadata("metadata", d.Metadata)
		o.Text("content", v.Content)
		o.Int("version", d.Version)
		o.OptText("version_user_id", (*string)(v.UserID))
		o.OptText("version_key_id", (*string)(v.KeyID))
		if v.ProposalID != nil {
			o.Text("version_proposal_id", string(*v.ProposalID))
		}
		o.Time("version_created_at", v.CreatedAt)
		o.OptInt("restored_version", v.Restored)
		o.Time("created_at", d.CreatedAt)
		o.Time("updated_at", d.UpdatedAt)
	}
}

// versionFields are those of a past version.
func versionFields(of sheaf.DocumentID, v *sheaf.VersionText) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		o.Text("document_id", string(of))
		o.Int("version", v.Number)
		o.Text("title", v.Title)
		o.Text("content", v.Content)
		o.OptText("user_id", (*string)(v.UserID))
		o.OptText("key_id", (*string)(v.KeyID))
		if v.ProposalID != nil {
			o.Text("proposal_id", string(*v.ProposalID))
		}
		o.Time("created_at", v.CreatedAt)
		o.OptInt("restored_version", v.Restored)
	}
}

// readPresent reads the present version from a document's line. It returns nil if an older program,
// which had no versions, wrote the line.
func readPresent(f *strict.Fields) *app.ImportVersion {
	number := f.Int("version", 1, sheaf.MaxNumber)
	v := app.ImportVersion{Number: number.Value, UserID: referenceTo[sheaf.UserID](f, "version_user_id").Pointer(),
		KeyID: referenceTo[sheaf.KeyID](f, "version_key_id").Pointer(), ProposalID: referenceTo[sheaf.ProposalID](f, "version_proposal_id").Pointer(),
		CreatedAt: f.Time("version_created_at").Pointer(), Restored: readRestored(f)}
	if !number.Given() {
		if v.UserID != nil || v.KeyID != nil || v.ProposalID != nil || v.CreatedAt != nil || v.Restored != nil {
			f.Refuse(errors.New("version is required if version_user_id, version_key_id, version_proposal_id, version_created_at or restored_version is given: add it"))
		}
		return nil
	}
	return &v
}

// readRestored reads the number of the earlier version that a version restored; nil if it restored none.
func readRestored(f *strict.Fields) *int64 {
	return f.Int("restored_version", 1, sheaf.MaxNumber).Pointer()
}

// readVersion reads the line of a past version.
func readVersion(f *strict.Fields) app.ImportRecord {
	required(f, "document_id")
	number, created := f.Int("version", 1, sheaf.MaxNumber), f.Time("created_at")
	if !number.Given() || !created.Given() {
		f.Refuse(errors.New("version and created_at are required: give them"))
	}
	return app.ImportRecord{ID: referenceTo[string](f, "document_id").Value, CreatedAt: created.Pointer(), Version: &app.ImportVersion{
		Number: number.Value, Title: f.Text("title"), Content: f.Text("content"),
		UserID: referenceTo[sheaf.UserID](f, "user_id").Pointer(), KeyID: referenceTo[sheaf.KeyID](f, "key_id").Pointer(),
		ProposalID: referenceTo[sheaf.ProposalID](f, "proposal_id").Pointer(), Restored: readRestored(f)}}
}

// history checks that the versions of a document follow it, newest first, without a gap.
type history struct {
	document string
	next     int64 // the number that a version has that may follow; 0: none may
}

func (h *history) line(l *line) error {
	r := &l.record
	if l.kind != kindVersion {
		*h = history{}
		if r.Document != nil && r.Version != nil {
			*h = history{r.ID, r.Version.Number - 1}
		}
		return nil
	}
	if h.next == 0 || r.ID != h.document || r.Version.Number != h.next {
		return fmt.Errorf("is version %d of document %s, which does not belong here: past versions follow the document's own line, "+
			"newest first and without gaps, and are older than the document's own version", r.Version.Number, r.ID)
	}
	h.next--
	return nil
}
