package archive

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// MaxLine is more than any record needs, even if every byte of its text is escaped.
const MaxLine = 6*sheaf.MaxContent + 64<<10

// line is one line of an export.
type line struct {
	kind    string
	record  app.ImportRecord
	headers []string         // names of custom headers of a subscription; the file has no values
	bytes   []byte           // a part of the bytes of a medium
	behind  int64            // offset of the next line in the file
	records sheaf.Opt[int64] // number of records, in the last line
}

// errNoExport refuses a file that something else wrote.
var errNoExport = fmt.Errorf("the file is not an export of sheaf, whose first line is {\"kind\":%q,\"form\":%d}", kindHead, form)

// lineReader reads the lines of an export. It holds one at a time.
type lineReader struct {
	r      *bufio.Reader
	number int   // number of the line that was read last
	offset int64 // offset of the next line
}

func newLineReader(in io.Reader) *lineReader { return &lineReader{r: bufio.NewReaderSize(in, MaxLine)} }

// next returns the next line without its end, or io.EOF. It is valid until the next call.
func (l *lineReader) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	l.offset += int64(len(line))
	if errors.Is(err, io.EOF) && len(line) == 0 {
		return nil, io.EOF
	}
	l.number++
	switch {
	case errors.Is(err, bufio.ErrBufferFull) && l.number == 1:
		return nil, errNoExport
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("is longer than %d bytes, which no record can be: correct it", MaxLine)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	}
	return bytes.TrimSuffix(line, []byte("\n")), nil
}

// kindFields are the fields that a line of each kind may have in addition to "kind".
var kindFields = map[string][]string{
	kindHead:   {"form"},
	kindFolder: {"id", "name", "entity_type", "parent_id", "color", "sort_order", "external_id", "created_at", "updated_at"},
	kindBranding: {"id", "name", "folder_id", "logo_media_id", "color_primary", "font", "footer", "sort_order", "default",
		"created_at", "updated_at"},
	kindProject: {"id", "name", "description", "icon", "color", "folder_id", "sort_order", "visibility", "external_id", "url", "metadata", "review",
		"created_at", "updated_at"},
	kindDocument: {"id", "title", "description", "project_id", "parent_id", "sort_order", "external_id", "url", "metadata",
		"content", "version", "version_user_id", "version_key_id", "version_proposal_id", "version_created_at", "restored_version", "created_at", "updated_at"},
	kindVersion: {"document_id", "version", "title", "content", "user_id", "key_id", "proposal_id", "created_at", "restored_version"},
	kindProposal: {"id", "title", "message", "state", "revision", "changes", "people", "user_id", "key_id", "note", "created_at", "updated_at",
		"decided_at", "decided_by"},
	kindText:    {"proposal_id", "content"},
	kindComment: {"proposal_id", "number", "change", "body", "user_id", "key_id", "created_at", "updated_at"},
	kindMedium:  {"id", "filename", "document_id", "bytes", "sha256", "created_at"},
	kindBytes:   {"base64"},
	kindRelease: {"id", "project_id", "name", "notes", "documents", "user_id", "key_id", "created_at"},
	kindReleased: {"release_id", "id", "title", "description", "parent_id", "sort_order", "number", "external_id", "url", "metadata", "version",
		"content", "content_sha256", "created_at", "updated_at"},
	kindReleaseMedium: {"release_id", "id", "filename", "bytes", "sha256", "with_bytes", "created_at"},
	kindReleaseEnd:    {"release_id"},
	kindShare: {"id", "resource_type", "resource_id", "has_password", "expires_at", "branding_id", "listed", "release", "show_releases",
		"created_at", "updated_at"},
	kindSubscription: {"id", "name", "url", "events", "header_names", "filter", "created_at", "updated_at"},
	kindEnd:          {"records"},
}

// parseLine reads one line. Its error is for a person, and its text continues a sentence that
// begins with the number of the line.
func parseLine(text []byte) (line, error) {
	if len(bytes.Trim(text, " \t\r")) == 0 {
		return line{}, errors.New("is empty: every line is one JSON object")
	}
	o, err := strict.ParseObject(text)
	if err != nil {
		return line{}, lineError(err)
	}
	f := o.Fields()
	out := line{kind: required(f, "kind")}
	if f.Err() == nil {
		f.Refuse(knownFields(out.kind, o.Names()))
	}
	if f.Err() == nil {
		out.read(f)
	}
	return out, lineError(f.Err())
}

// lineError rewords an error of the reader of JSON, which names a body and not a line.
func lineError(err error) error {
	var field *strict.FieldError
	if !errors.As(err, &field) {
		return err
	}
	if field.Field == "body" {
		return errors.New(field.Text)
	}
	return fmt.Errorf("%s %s", field.Field, field.Text)
}

func knownFields(kind string, names []string) error {
	may, ok := kindFields[kind]
	if !ok {
		return fmt.Errorf("kind %q is unknown: it is folder, project, document, version, proposal, proposal_text, comment, medium, bytes, release, release_document, release_medium, release_end, branding, share or subscription", sheaf.Clip(kind))
	}
	for _, name := range names {
		if name != "kind" && !slices.Contains(may, name) {
			return fmt.Errorf("the field %q is unknown: leave it out, a %s has %s", sheaf.Clip(name), kind, strings.Join(may, ", "))
		}
	}
	return nil
}

// required reads a text that must be there.
func required(f *strict.Fields, name string) string {
	v := f.Text(name)
	if !v.Given() {
		f.Refuse(fmt.Errorf("%s is required: give it", name))
	}
	return v.Value
}

// referenceTo reads the id of a record, or null.
func referenceTo[T ~string](f *strict.Fields, name string) sheaf.Opt[T] {
	v := f.Text(name)
	out := sheaf.Opt[T]{Set: v.Set, Null: v.Null}
	if v.Given() {
		id, ok := sheaf.ParseUUID(v.Value)
		if !ok {
			f.Refuse(fmt.Errorf("%s: %q is not a UUID such as 0198c0de-0000-7000-8000-000000000000: correct it", name, sheaf.Clip(v.Value)))
		}
		out.Value = T(id)
	}
	return out
}

// read reads the fields of the line's kind.
func (out *line) read(f *strict.Fields) {
	switch out.kind {
	case kindHead:
		if is := f.Int("form", 0, sheaf.MaxNumber); is.Value != form {
			f.Refuse(fmt.Errorf("form is %d, and this program reads form %d: use the program that wrote it", is.Value, form))
		}
		return
	case kindEnd:
		out.records = f.Int("records", 0, sheaf.MaxNumber)
		return
	}
	switch out.kind {
	case kindVersion:
		out.record = readVersion(f)
		return
	case kindText:
		out.record = readText(f)
		return
	case kindComment:
		out.record = readComment(f)
		return
	case kindBytes:
		out.bytes = readBytes(f)
		return
	case kindReleased:
		out.record = readReleased(f)
		return
	case kindReleaseMedium:
		out.record = readReleasedMedium(f)
		return
	case kindReleaseEnd:
		out.record = readReleaseEnd(f)
		return
	}
	required(f, "id")
	out.record = app.ImportRecord{ID: referenceTo[string](f, "id").Value, CreatedAt: f.Time("created_at").Pointer(), UpdatedAt: f.Time("updated_at").Pointer()}
	switch r := &out.record; out.kind {
	case kindFolder:
		r.Folder = &sheaf.FolderChange{Name: f.Text("name"), Color: f.Text("color"), SortOrder: f.Int32("sort_order"),
			ExternalID: f.Text("external_id"), EntityType: f.Text("entity_type"), ParentID: referenceTo[sheaf.FolderID](f, "parent_id")}
	case kindBranding:
		r.Branding = &sheaf.BrandingChange{Name: f.Text("name"), FolderID: referenceTo[sheaf.FolderID](f, "folder_id"),
			LogoMediaID: referenceTo[sheaf.MediumID](f, "logo_media_id"), ColorPrimary: f.Text("color_primary"), Font: f.Text("font"),
			Footer: f.Text("footer"), SortOrder: f.Int32("sort_order")}
		r.DefaultBranding = f.Bool("default").Value
	case kindProject:
		r.Project = &sheaf.ProjectChange{Name: f.Text("name"), Description: f.Text("description"), Icon: f.Text("icon"),
			Color: f.Text("color"), FolderID: referenceTo[sheaf.FolderID](f, "folder_id"), SortOrder: f.Int32("sort_order"), Visibility: f.Text("visibility"),
			ExternalID: f.Text("external_id"), URL: f.Text("url"), Metadata: metadata(f), Approvals: f.IntIn("review", "approvals", 1, sheaf.MaxApprovals)}
	case kindDocument:
		r.Version = readPresent(f)
		r.Document = &sheaf.DocumentChange{Title: f.Text("title"), Description: f.Text("description"), Content: f.Text("content"),
			ProjectID: referenceTo[sheaf.ProjectID](f, "project_id"), ParentID: referenceTo[sheaf.DocumentID](f, "parent_id"),
			SortOrder: f.Int("sort_order", -sheaf.MaxNumber, sheaf.MaxNumber), ExternalID: f.Text("external_id"), URL: f.Text("url"), Metadata: metadata(f)}
	case kindProposal:
		r.Proposal = readProposal(f)
	case kindMedium:
		r.Medium = readMedium(f)
	case kindRelease:
		r.Release = readRelease(f)
	case kindShare:
		r.Share = &app.ImportShare{HasPassword: f.Bool("has_password").Value, ShareChange: sheaf.ShareChange{ResourceType: f.Text("resource_type"),
			ResourceID: referenceTo[string](f, "resource_id"), ExpiresAt: f.Time("expires_at"),
			BrandingID: referenceTo[sheaf.BrandingID](f, "branding_id"), Listed: f.Bool("listed"),
			Release: f.Text("release"), ShowReleases: f.Bool("show_releases")}}
	case kindSubscription:
		r.Subscription = &sheaf.SubscriptionChange{Name: f.Text("name"), URL: f.Text("url"), Events: f.Texts("events"), Filter: filter(f)}
		out.headers = f.Texts("header_names").Value
	}
}

// filter reads of what a subscription gets events.
func filter(f *strict.Fields) sheaf.Opt[sheaf.Filter] {
	object := f.Object("filter")
	if !object.Given() || f.Err() != nil {
		return sheaf.Opt[sheaf.Filter]{Set: object.Set, Null: object.Null}
	}
	in := object.Value.Fields()
	out := sheaf.Filter{Projects: strict.IDs[sheaf.ProjectID](in, "project_ids").Value,
		Folders: strict.IDs[sheaf.FolderID](in, "folder_ids").Value, Resources: strict.IDs[string](in, "resource_ids").Value}
	f.Refuse(in.Err())
	return sheaf.Some(out)
}

// metadata reads the metadata of a record, all of it.
func metadata(f *strict.Fields) sheaf.Opt[sheaf.MetadataChange] {
	pairs := f.TextMap("metadata")
	out := sheaf.Opt[sheaf.MetadataChange]{Set: pairs.Set, Null: pairs.Null}
	for _, p := range pairs.Value {
		out.Value.Entries = append(out.Value.Entries, sheaf.MetadataEntry{Name: p.Name, Value: &p.Value})
	}
	return out
}
