package sheaf

import (
	"io"
	"time"
)

// Shareable is what a share can show: a document, or a project with all its documents.
type Shareable string

// The kinds of what is shared.
const (
	ShareOfDocument Shareable = "document"
	ShareOfProject  Shareable = "project"
)

// The bounds of a share's password, in Unicode code points.
const (
	MinSharePassword = 8
	MaxSharePassword = 200
)

// shareToken is how many characters a share's address ends with: 62^22 is more than 2^130.
const shareToken = 22

// SharePath stands before the token in the address of a share.
const SharePath = "/s/"

// NewShareToken returns what only those know to whom a share's address was given.
func NewShareToken(random io.Reader) string { return RandomBase62(random, shareToken) }

// IsShareToken reports whether s could be the token of a share.
func IsShareToken(s string) bool {
	if len(s) != shareToken {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !('0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z') {
			return false
		}
	}
	return true
}

// Share is an address under which people without an account read a document, or a project with all
// its documents.
type Share struct {
	ID           ShareID
	ResourceType Shareable
	ResourceID   string // of the document or the project
	// Token is the secret end of the address. It is stored as it is: the address is shown to whoever
	// may read shares, and stands in the events.
	Token string
	// URL is the whole address. The store does not keep it: where the service is reached may change.
	URL string
	// PasswordHash is that of the password that readers are asked for, in PHC's format; empty: they
	// are asked for none.
	PasswordHash string
	ExpiresAt    *time.Time // nil: never
	BrandingID   *BrandingID
	Listed       bool // search engines may list it
	CreatedAt    time.Time
	UpdatedAt    time.Time

	// Views is how often it was seen, and LastViewedAt when last. Both are counted now and then, and
	// are no fields of its own.
	Views        int64
	LastViewedAt *time.Time

	// Number counts what was created in the workspace: it orders shares.
	Number int64
	// Revision rises when the share's own fields change. ETag and If-Match carry it.
	Revision int64
}

// Fields appends the share as lists, answers and events show it.
func (s *Share) Fields(o *Object) {
	o.Text("id", string(s.ID))
	o.Text("resource_type", string(s.ResourceType))
	o.Text("resource_id", s.ResourceID)
	o.Text("url", s.URL)
	o.Bool("has_password", s.PasswordHash != "")
	o.OptTime("expires_at", s.ExpiresAt)
	o.OptText("branding_id", (*string)(s.BrandingID))
	o.Bool("listed", s.Listed)
	o.Derived("views", s.Views)
	o.DerivedTime("last_viewed_at", s.LastViewedAt)
	o.Time("created_at", s.CreatedAt)
	o.Time("updated_at", s.UpdatedAt)
}

// Expired reports whether the share shows nothing any more at that time.
func (s *Share) Expired(now time.Time) bool {
	return s.ExpiresAt != nil && !now.Before(*s.ExpiresAt)
}

// Shared is a share that a reader asks for, with what decides on the answer.
type Shared struct {
	Share
	Workspace WorkspaceID
	// Version is that of the workspace, under which pages are cached. It is 0 while the workspace is
	// being changed: nothing may be answered from a cache then.
	Version int64
}

// ShareFilter narrows a list of shares; the zero value narrows nothing.
type ShareFilter struct {
	ResourceID string // of what they show; empty: of anything
	Paging
}

// ShareChange is what a client sends to create or change a share.
type ShareChange struct {
	ResourceType Opt[string] // when it is created
	ResourceID   Opt[string] // likewise
	Password     Opt[string] // null: readers are asked for none
	ExpiresAt    Opt[time.Time]
	BrandingID   Opt[BrandingID]
	Listed       Opt[bool]
}

// Empty reports whether no field was sent that a share's change may have.
func (c ShareChange) Empty() bool {
	return !(c.Password.Set || c.ExpiresAt.Set || c.BrandingID.Set || c.Listed.Set)
}

// Check returns Invalid for the first fault of the fields that were sent. It knows neither the time
// nor what is stored.
func (c ShareChange) Check() error {
	if c.Listed.Null {
		return InvalidField("listed", "listed must not be null: say true or false")
	}
	if !c.Password.Given() {
		return nil
	}
	if err := CheckLength("password", c.Password.Value, MaxSharePassword); err != nil {
		return err
	}
	if n := len([]rune(c.Password.Value)); n < MinSharePassword {
		return InvalidField("password", "password has %d characters, at least %d are needed: choose a longer one, or null for none", n, MinSharePassword)
	}
	return nil
}

// CheckNew is Check for a share that is to be made.
func (c ShareChange) CheckNew() error {
	switch Shareable(c.ResourceType.Value) {
	case ShareOfDocument, ShareOfProject:
	default:
		return InvalidField("resource_type", "resource_type must be document or project: say what is to be shared")
	}
	if !c.ResourceID.Given() {
		return InvalidField("resource_id", "resource_id is required: the id of the %s that is to be shared", c.ResourceType.Value)
	}
	return c.Check()
}

// Apply returns s with the fields that were sent, but for the password: whoever keeps that knows its
// hash.
func (c ShareChange) Apply(s Share) Share {
	if c.ExpiresAt.Set {
		s.ExpiresAt = c.ExpiresAt.Pointer()
	}
	if c.BrandingID.Set {
		s.BrandingID = c.BrandingID.Pointer()
	}
	if c.Listed.Set {
		s.Listed = c.Listed.Value
	}
	return s
}
