package sheaf

import (
	"strings"
	"time"
	"unicode"
)

// MaxUpload is the largest size in bytes of a medium that arrives in one request: the limit of
// every body.
const MaxUpload = 10 << 20

// Untitled is the name of a file that was sent without one.
const Untitled = "untitled"

// Medium is a file: a picture in a text, a video, or anything else that is stored with documents.
type Medium struct {
	ID       MediumID
	Filename string
	// ContentType is the type found from the bytes, not the type that the client sent.
	ContentType string
	Bytes       int64
	SHA256      string // hash of the bytes, in hexadecimal digits
	// Width and Height are the size of a picture in pixels; nil if the file does not have it.
	Width, Height *int64
	DocumentID    *DocumentID // document that it belongs to; nil: none
	CreatedAt     time.Time

	// Number counts the records created in the workspace. Lists are sorted by it.
	Number int64
	// Revision rises when its name or its document changes. ETag and If-Match carry it.
	Revision int64
}

// Fields appends the medium as lists, answers and events show it.
func (m *Medium) Fields(o *Object) {
	o.Text("id", string(m.ID))
	o.Text("filename", m.Filename)
	o.Text("content_type", m.ContentType)
	o.Int("bytes", m.Bytes)
	o.Text("sha256", m.SHA256)
	o.OptInt("width", m.Width)
	o.OptInt("height", m.Height)
	o.OptText("document_id", (*string)(m.DocumentID))
	o.Text("url", m.URL())
	o.Time("created_at", m.CreatedAt)
}

// URL returns the path of the bytes, without a host: a stored event must not name a host that the
// service may no longer have.
func (m *Medium) URL() string { return "/api/v1/media/" + string(m.ID) + "/content" }

// MediumFilter limits a list of media. The zero value has no limits.
type MediumFilter struct {
	Document Opt[DocumentID] // null: those of no document
	// ContentType is the start of the type, such as "image/". Empty means any.
	ContentType string
	Paging
}

// MaxContentType limits the filter of that name, in characters. No type is longer.
const MaxContentType = 100

// MediumChange is what a client sends to change a medium. Its bytes never change.
type MediumChange struct {
	Filename   Opt[string]
	DocumentID Opt[DocumentID]
}

// Empty reports whether no writable field was sent.
func (c MediumChange) Empty() bool { return !(c.Filename.Set || c.DocumentID.Set) }

// Check returns Invalid for the first bad field of those that were sent. It does not check what is
// stored, such as whether the document exists.
func (c MediumChange) Check() error {
	switch {
	case c.Filename.Null:
		return InvalidField("filename", "filename must not be null: give it 1 to %d characters", MaxName)
	case c.Filename.Set:
		return CheckFilename(c.Filename.Value)
	}
	return nil
}

// Apply returns m with the fields that were sent.
func (c MediumChange) Apply(m Medium) Medium {
	if c.Filename.Set {
		m.Filename = c.Filename.Value
	}
	if c.DocumentID.Set {
		m.DocumentID = c.DocumentID.Pointer()
	}
	return m
}

// CheckFilename returns Invalid unless s is the name of a file: 1 to 200 characters, without path
// separators and without invisible characters. So saving a file under this name cannot write
// elsewhere.
func CheckFilename(s string) error {
	if err := CheckName("filename", s, MaxName); err != nil {
		return err
	}
	if i := strings.IndexFunc(s, unsafeInName); i >= 0 || s == "." || s == ".." {
		return InvalidField("filename", "filename %q must be the name of a file, without a path, / or \\, and without control characters", Clip(s))
	}
	return nil
}

func unsafeInName(r rune) bool {
	return r == '/' || r == '\\' || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// Binary is the type of every file that is not shown inline, whatever it is. So a file with a
// script never runs in our origin.
const Binary = "application/octet-stream"

// Inline reports whether a browser may show the file: a picture, video or sound. All other files
// can only be downloaded.
func (m *Medium) Inline() bool { return m.ContentType != Binary }

// Picture reports whether it is a picture that a page can show.
func (m *Medium) Picture() bool { return m.Inline() && strings.HasPrefix(m.ContentType, "image/") }
