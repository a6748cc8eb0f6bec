package sheaf

import (
	"fmt"
	"io"
	"time"
)

// Shareable is what a share can show: a document, a project with all its documents, or a folder
// with all projects in it and below it.
type Shareable string

// The kinds of shared records.
const (
	ShareOfDocument Shareable = "document"
	ShareOfProject  Shareable = "project"
	ShareOfFolder   Shareable = "folder"
)

// Limits of a share's password, in Unicode code points.
const (
	MinSharePassword = 8
	MaxSharePassword = 200
)

// shareToken is the number of characters of a share's token: 62^22 is more than 2^130.
const shareToken = 22

// SharePath precedes the token in the address of a share.
const SharePath = "/s/"

// NewShareToken returns the secret part of a share's address.
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

// Share is an address at which people without an account read a document, a project with all its
// documents, or a folder with all its projects.
type Share struct {
	ID           ShareID
	ResourceType Shareable
	ResourceID   string // id of the document, project or folder
	// Token is the secret end of the address. It is stored as plain text: the address is shown to
	// callers who may read shares, and is in the events.
	Token string
	// URL is the whole address. It is not stored, because the address of the service may change.
	URL string
	// PasswordHash is the hash of the readers' password, in PHC's format. Empty means no password.
	PasswordHash string
	ExpiresAt    *time.Time // nil: never
	BrandingID   *BrandingID
	Listed       bool // search engines may list it
	// Release is what a share of a project shows: NewestRelease, the id of a release, or nil for the
	// documents as they are stored now.
	Release *string
	// ShowReleases lets readers switch between the releases of the project.
	ShowReleases bool
	CreatedAt    time.Time
	UpdatedAt    time.Time

	// Views is the number of views, and LastViewedAt the time of the last. Both are updated with a
	// delay, and are not among the share's own fields.
	Views        int64
	LastViewedAt *time.Time

	// MadeByKey is the key that creates the record, or NoKey. It is only written: no read returns it.
	MadeByKey KeyID
	// Number counts the records created in the workspace. Shares are sorted by it.
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
	o.OptText("release", s.Release)
	o.Bool("show_releases", s.ShowReleases)
	o.Derived("views", s.Views)
	o.DerivedTime("last_viewed_at", s.LastViewedAt)
	o.Time("created_at", s.CreatedAt)
	o.Time("updated_at", s.UpdatedAt)
}

// Expired reports whether the share has expired at the time `now`.
func (s *Share) Expired(now time.Time) bool {
	return s.ExpiresAt != nil && !now.Before(*s.ExpiresAt)
}

// Shared is a share that a reader has requested, with what decides the answer.
type Shared struct {
	Share
	Workspace WorkspaceID
	// Version is the workspace's version, under which pages are cached. It is 0 while the workspace
	// is being changed: then nothing may be answered from a cache.
	Version int64
	// Switched is the release to which the reader has switched; empty: what the share shows by itself.
	Switched ReleaseID
}

// NewestRelease is the Release of a share that shows the newest release of its project.
const NewestRelease = "newest"

// ShareFilter limits a list of shares. The zero value has no limits.
type ShareFilter struct {
	ResourceID string // the shared record; empty: any
	Paging
}

// ShareChange is what a client sends to create or change a share.
type ShareChange struct {
	ResourceType Opt[string] // only to create a share
	ResourceID   Opt[string] // only to create a share
	Password     Opt[string] // null: no password
	ExpiresAt    Opt[time.Time]
	BrandingID   Opt[BrandingID]
	Listed       Opt[bool]
	Release      Opt[string] // only of a share of a project
	ShowReleases Opt[bool]   // only of a share of a project
}

// Empty reports whether no field that can be changed was sent.
func (c ShareChange) Empty() bool {
	return !(c.Password.Set || c.ExpiresAt.Set || c.BrandingID.Set || c.Listed.Set || c.Release.Set || c.ShowReleases.Set)
}

// Check returns Invalid for the first bad field of those that were sent. It checks neither the time
// nor what is stored.
func (c ShareChange) Check() error {
	if c.Listed.Null {
		return InvalidField("listed", "listed must not be null: say true or false")
	}
	if c.ShowReleases.Null {
		return InvalidField("show_releases", "show_releases must not be null: say true or false")
	}
	if _, isID := ParseUUID(c.Release.Value); c.Release.Given() && !isID && c.Release.Value != NewestRelease {
		return InvalidField("release", "release must be %q, the id of a release, or null for the documents as they are now", NewestRelease)
	}
	if !c.Password.Given() {
		return nil
	}
	if err := CheckLength("password", c.Password.Value, MaxSharePassword); err != nil {
		return err
	}
	if n := len([]rune(c.Password.Value)); n < MinSharePassword {
		return InvalidField("password", "password has %d characters, at least %d are needed: choose a longer one, or null for none", n, MinSharePassword).
			ForPerson(fmt.Sprintf("The password has %d characters, and at least %d are needed: choose a longer one, or none.", n, MinSharePassword))
	}
	return nil
}

// CheckNew is Check for a new share.
func (c ShareChange) CheckNew() error {
	switch Shareable(c.ResourceType.Value) {
	case ShareOfDocument, ShareOfProject, ShareOfFolder:
	default:
		return InvalidField("resource_type", "resource_type must be document, project or folder: name what to share")
	}
	if !c.ResourceID.Given() {
		return InvalidField("resource_id", "resource_id is required: the id of the %s to share", c.ResourceType.Value)
	}
	if err := c.Check(); err != nil {
		return err
	}
	return c.CheckReleases(Shareable(c.ResourceType.Value))
}

// CheckReleases returns Invalid if a field about releases was sent for a share that is not of a project.
func (c ShareChange) CheckReleases(of Shareable) error {
	switch {
	case of == ShareOfProject:
	case c.Release.Given():
		return InvalidField("release", "release is for shares of projects: a %s has no releases", of)
	case c.ShowReleases.Value:
		return InvalidField("show_releases", "show_releases is for shares of projects: a %s has no releases", of)
	}
	return nil
}

// Apply returns s with the fields that were sent, except the password: the caller stores that and
// knows its hash.
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
	if c.Release.Set {
		s.Release = c.Release.Pointer()
	}
	if c.ShowReleases.Set {
		s.ShowReleases = c.ShowReleases.Value
	}
	return s
}
